//! Arguments of `hyp grep`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;

use clap::ValueEnum;
use hypostyle::line_search::{LineMatcher, LinePattern, PatternOptions, TimeRange};

use crate::args::ReadArgs;
use crate::failure::{Failure, InFile, Result};
use crate::path_arg::input_name;

/// Arguments of `hyp grep`.
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "hyp grep [OPTIONS] PATTERN [FILE]...\n       hyp grep [OPTIONS] -e PATTERN... [FILE]...",
    after_help = "\
Examples:
  hyp grep timeout app.log.at1                  the lines that `grep timeout app.log` prints
  hyp grep -c 'status=5\\d\\d' logs/              count lines of each file in a folder
  hyp grep -F -e 10.0.0.1 -e 10.0.0.2 *.at1     one of several strings
  hyp grep error --and disk --since '2024-03-01 08:00' app.log.at1
  hyp grep -g '*.log' panic backup.at1          members of a bundle, by name
  hyp grep panic backup.at1/web/app.log         one member of a bundle

FILE is a text, an archive of any kind, or a text that gzip, zstd or xz compressed; a folder stands
for all files in it, - and no FILE at all for standard input. hyp decodes only those parts of an
archive that can have a matching line. A file with a zero byte is binary: hyp says that it matches,
and prints its lines only with --binary.

Patterns are regular expressions as the Rust crate regex reads them. A pattern matches within one
line. A line without a time stamp is left out by --since and --until; a stamp without a year is
compared by month, day and time.

Exit codes: 0 if a line is selected, 1 if none is, 2 after any error."
)]
pub(crate) struct Args {
    /// The pattern, unless -e or -f gives it; then the files, folders, quoted globs or bundles
    #[arg(value_name = "PATTERN or FILE")]
    words: Vec<OsString>,

    /// Search for this pattern; can be repeated, and one of them must match
    #[arg(long = "regexp", short = 'e', value_name = "PATTERN", allow_hyphen_values = true)]
    patterns: Vec<OsString>,

    /// Search for the patterns in this file, one per line
    #[arg(long = "file", short = 'f', value_name = "FILE")]
    pattern_files: Vec<PathBuf>,

    /// A further pattern that the line must match; can be repeated
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    and: Vec<OsString>,

    /// Patterns are strings, not regular expressions
    #[arg(long, short = 'F')]
    fixed_strings: bool,

    /// Letters match in upper and lower case
    #[arg(long, short)]
    ignore_case: bool,

    /// Select the lines that do not match
    #[arg(long, short = 'v')]
    invert_match: bool,

    /// A match must be a whole word
    #[arg(long, short)]
    word_regexp: bool,

    /// A match must be the whole line
    #[arg(long, short = 'x')]
    line_regexp: bool,

    /// Select lines from this time on, such as 2024-03-01 or '2024-03-01 08:15:00'
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Select lines up to this time; a day or a minute includes all of it
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Print the number of selected lines of each file
    #[arg(long, short, help_heading = "Output")]
    count: bool,

    /// Print the names of files with selected lines
    #[arg(long, short = 'l', help_heading = "Output")]
    files_with_matches: bool,

    /// Print the names of files without selected lines
    #[arg(long, short = 'L', help_heading = "Output", conflicts_with = "files_with_matches")]
    files_without_match: bool,

    /// Print nothing; stop at the first selected line
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,

    /// Print the numbers of lines in the original text
    #[arg(long, short = 'n', help_heading = "Output")]
    line_number: bool,

    /// Print each match on a line of its own, and not the rest of its line
    #[arg(long, short, help_heading = "Output")]
    only_matching: bool,

    /// Stop after this many selected lines of each file
    #[arg(long, short, value_name = "N", help_heading = "Output")]
    max_count: Option<u64>,

    /// Print this many lines after each selected line
    #[arg(long, short = 'A', value_name = "N", help_heading = "Output")]
    after_context: Option<usize>,

    /// Print this many lines before each selected line
    #[arg(long, short = 'B', value_name = "N", help_heading = "Output")]
    before_context: Option<usize>,

    /// Print this many lines before and after each selected line
    #[arg(long, short = 'C', value_name = "N", help_heading = "Output")]
    context: Option<usize>,

    /// Print the name of the file before each line
    #[arg(long, short = 'H', help_heading = "Output")]
    with_filename: bool,

    /// Print no names of files before lines
    #[arg(long, short = 'I', help_heading = "Output", conflicts_with = "with_filename")]
    no_filename: bool,

    /// Print JSON Lines as `rg --json` does
    #[arg(
        long,
        help_heading = "Output",
        conflicts_with_all = ["count", "files_with_matches", "files_without_match", "only_matching"]
    )]
    json: bool,

    /// When to colour names, numbers and matches
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = "Output")]
    color: Color,

    /// Print to standard error what was searched and how much of it was decoded
    #[arg(long, help_heading = "Output")]
    pub(super) stats: bool,

    /// Print lines of binary files too
    #[arg(long, short = 'a')]
    binary: bool,

    /// In folders and bundles, search files with this name or path only; can be repeated, and a
    /// leading ! leaves files out
    #[arg(long, short, value_name = "GLOB", value_parser = glob)]
    glob: Vec<NameGlob>,

    /// Decode all of an archive, whatever its search filters say
    #[arg(long)]
    no_index: bool,

    /// Print no messages about files that cannot be searched
    #[arg(long, short = 's')]
    no_messages: bool,

    #[command(flatten)]
    pub(super) read: ReadArgs,
}

/// A glob that names of files must match, or must not.
#[derive(Clone, Debug)]
pub(super) struct NameGlob {
    pattern: glob::Pattern,
    excludes: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    Auto,
    Always,
    Never,
}

/// What is printed of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Lines,
    Json,
    Count,
    Names,
    NamesWithout,
    Quiet,
}

impl Args {
    /// Compiles what is searched for; also returns the words that name files.
    pub(super) fn matcher(&self) -> Result<(LineMatcher, &[OsString])> {
        let mut patterns: Vec<Vec<u8>> = Vec::new();
        for pattern in &self.patterns {
            patterns.push(bytes_of(pattern)?);
        }
        for path in &self.pattern_files {
            let content = fs::read(path).in_file(input_name(path))?;
            let content = content.strip_suffix(b"\n").unwrap_or(&content);
            patterns.extend(content.split(|&byte| byte == b'\n').map(<[u8]>::to_vec));
        }
        let is_given = !self.patterns.is_empty() || !self.pattern_files.is_empty();
        let words = match self.words.split_first() {
            _ if is_given => self.words.as_slice(),
            Some((first, rest)) => {
                patterns.push(bytes_of(first)?);
                rest
            }
            None => return Err(Failure::usage("no pattern is given: hyp grep PATTERN FILE...")),
        };
        let options = PatternOptions {
            is_fixed: self.fixed_strings,
            ignores_case: self.ignore_case,
            is_word: self.word_regexp,
            is_line: self.line_regexp,
        };
        let mut matcher = LineMatcher::new(LinePattern::new(&patterns, options)?);
        for pattern in &self.and {
            matcher = matcher.and(LinePattern::new(&[bytes_of(pattern)?], options)?);
        }
        let times = TimeRange::new(self.since.as_deref(), self.until.as_deref())?;
        Ok((matcher.inverted(self.invert_match).within(times), words))
    }

    pub(super) fn mode(&self) -> Mode {
        match self {
            Self { quiet: true, .. } => Mode::Quiet,
            Self { files_with_matches: true, .. } => Mode::Names,
            Self { files_without_match: true, .. } => Mode::NamesWithout,
            Self { count: true, .. } => Mode::Count,
            Self { json: true, .. } => Mode::Json,
            _ => Mode::Lines,
        }
    }

    pub(super) fn is_json(&self) -> bool {
        self.mode() == Mode::Json
    }

    /// The lines before each selected one.
    pub(super) fn before(&self) -> usize {
        if self.only_matching { 0 } else { self.before_context.or(self.context).unwrap_or(0) }
    }

    /// The lines after each selected one.
    pub(super) fn after(&self) -> usize {
        if self.only_matching { 0 } else { self.after_context.or(self.context).unwrap_or(0) }
    }

    pub(super) fn max_lines(&self) -> Option<u64> {
        let is_enough = matches!(self.mode(), Mode::Quiet | Mode::Names | Mode::NamesWithout);
        if is_enough { Some(self.max_count.unwrap_or(1).min(1)) } else { self.max_count }
    }

    pub(super) fn shows_numbers(&self) -> bool {
        self.line_number
    }

    pub(super) fn shows_only_matches(&self) -> bool {
        self.only_matching
    }

    pub(super) fn prints_binary(&self) -> bool {
        self.binary
    }

    pub(super) fn uses_index(&self) -> bool {
        !self.no_index
    }

    pub(super) fn is_silent(&self) -> bool {
        self.no_messages
    }

    /// Returns whether lines are printed with names, by default if there are several files.
    pub(super) fn shows_names(&self, by_default: bool) -> bool {
        self.with_filename || (by_default && !self.no_filename)
    }

    pub(super) fn is_colored(&self, is_terminal: bool) -> bool {
        match self.color {
            Color::Auto => {
                let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                is_terminal && !no_color
            }
            Color::Always => true,
            Color::Never => false,
        }
    }

    /// Returns whether the globs choose a file in a folder or bundle.
    pub(super) fn chooses(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let matches = |glob: &NameGlob| glob.pattern.matches(path) || glob.pattern.matches(name);
        let (excluding, including): (Vec<_>, Vec<_>) =
            self.glob.iter().partition(|glob| glob.excludes);
        let is_included = including.is_empty() || including.into_iter().any(matches);
        is_included && !excluding.into_iter().any(matches)
    }
}

fn glob(text: &str) -> Result<NameGlob, String> {
    let (excludes, pattern) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let pattern = glob::Pattern::new(pattern).map_err(|err| err.to_string())?;
    Ok(NameGlob { pattern, excludes })
}

/// Returns the bytes of a pattern.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have arguments that are not bytes")]
fn bytes_of(pattern: &OsStr) -> Result<Vec<u8>> {
    Ok(std::os::unix::ffi::OsStrExt::as_bytes(pattern).to_vec())
}

/// Returns the bytes of a pattern.
#[cfg(not(unix))]
fn bytes_of(pattern: &OsStr) -> Result<Vec<u8>> {
    let text = pattern.to_str().ok_or_else(|| Failure::usage("a pattern is not Unicode"))?;
    Ok(text.as_bytes().to_vec())
}
