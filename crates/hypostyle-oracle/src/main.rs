//! Hypostyle's AT-1 reader beside the vendor's decoder: do they agree, and who is quicker?

use std::env;
use std::process::ExitCode;

mod agree;
mod child;
mod inputs;
mod mutate;
mod pack;
mod packed;
mod samples;
mod speed;
mod wire;

const HELP: &str = "\
usage: hypostyle-oracle COMMAND

  pack KIND IN OUT [--backend xz|zstd|stored] [--xz-blocks] [--rows-per-group N]
        packs a text file in the plainest way; KIND is columnar, qcolumnar or qjson
  agree [--count N] [--seed N] [--keep DIR] FILES_OR_FOLDERS...
        decodes N mutants of archives with both decoders and compares
  packed [--count N] [--seed N] [--levels 1,6] [FILES...]
        packs files and N random tables with our encoder; the vendor must give them back
  look FILES...
        prints the parts of archives, and what each decoder makes of them
  speed [--runs N] [--rounds N] FILES...
        times both decoders on archives; prints a table
";

/// What goes wrong, as a sentence.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["pack", rest @ ..] => pack::run(rest),
        ["packed", rest @ ..] => packed::run(rest),
        ["agree", rest @ ..] => agree::run(rest),
        ["look", rest @ ..] => agree::look(rest),
        ["speed", rest @ ..] => speed::run(rest),
        [child::VENDOR] => child::vendor_loop(),
        [speed::CHILD, rest @ ..] => speed::child(rest),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(err) => {
            eprintln!("error: {err}");
            ExitCode::FAILURE
        }
    }
}

/// Takes options of the form `--name value` off a command line; the rest are its words.
pub(crate) struct Args<'a> {
    words: Vec<&'a str>,
}

impl<'a> Args<'a> {
    pub(crate) fn new(words: &[&'a str]) -> Self {
        Self { words: words.to_vec() }
    }

    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| *word != name);
        self.words.len() != before
    }

    pub(crate) fn value(&mut self, name: &str) -> Result<Option<&'a str>> {
        let Some(at) = self.words.iter().position(|word| *word == name) else { return Ok(None) };
        if at + 1 >= self.words.len() {
            return Err(format!("{name} needs a value").into());
        }
        let value = self.words.remove(at + 1);
        self.words.remove(at);
        Ok(Some(value))
    }

    pub(crate) fn number(&mut self, name: &str, otherwise: u64) -> Result<u64> {
        match self.value(name)? {
            Some(value) => {
                Ok(value.parse().map_err(|_| format!("{name}: {value} is no number"))?)
            }
            None => Ok(otherwise),
        }
    }

    pub(crate) fn rest(self) -> Result<Vec<&'a str>> {
        match self.words.iter().find(|word| word.starts_with("--")) {
            Some(word) => Err(format!("there is no option {word}").into()),
            None => Ok(self.words),
        }
    }
}
