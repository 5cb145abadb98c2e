//! Compares Hypostyle's AT-1 reader with the vendor's decoder: agreement and speed.

use std::env;
use std::process::ExitCode;

mod agree;
mod child;
mod encoder_check;
mod inputs;
mod mutate;
mod pack;
mod rng;
mod samples;
mod speed;
mod wire;

const HELP: &str = "\
usage: hypostyle-oracle COMMAND

  pack KIND IN OUT [--backend xz|zstd|stored] [--xz-blocks] [--rows-per-group N]
        packs a text file with a simple writer; KIND is columnar, qcolumnar or qjson
  agree [--count N] [--seed N] [--keep DIR] FILES_OR_FOLDERS...
        decodes N mutants of archives with both decoders and compares the results
  packed [--count N] [--seed N] [--levels 1,6] [FILES...]
        packs files and N random inputs with our encoder; checks that the vendor restores them
  look FILES...
        prints the parts of archives and the result of each decoder
  speed [--runs N] [--rounds N] FILES...
        times both decoders on archives and prints a table
";

/// The result of a command; errors are messages for the user.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["pack", rest @ ..] => pack::run(rest),
        ["packed", rest @ ..] => encoder_check::run(rest),
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

/// A command line. Methods remove options of the form `--name value`; the rest are arguments.
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

    pub(crate) fn number(&mut self, name: &str, default: u64) -> Result<u64> {
        match self.value(name)? {
            Some(value) => {
                Ok(value.parse().map_err(|_| format!("{name}: `{value}` is not a number"))?)
            }
            None => Ok(default),
        }
    }

    pub(crate) fn rest(self) -> Result<Vec<&'a str>> {
        match self.words.iter().find(|word| word.starts_with("--")) {
            Some(word) => Err(format!("unknown option `{word}`").into()),
            None => Ok(self.words),
        }
    }
}
