//! Failures of commands: a message for people and an exit code.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

use hypostyle::ErrorKind;

use crate::plain::plain_lines;

/// The data failed a check.
pub(crate) const CHECK: u8 = 1;
/// The command line is wrong.
pub(crate) const USAGE: u8 = 2;
/// Reading or writing failed.
pub(crate) const IO: u8 = 3;
/// The input is corrupt or not supported.
pub(crate) const INPUT: u8 = 4;
/// The command found its own output wrong: a bug.
pub(crate) const INTERNAL: u8 = 5;

/// `hyp grep` found no line.
pub(crate) const NOT_FOUND: u8 = 1;
/// `hyp grep` could not search everything.
pub(crate) const NOT_SEARCHED: u8 = 2;

/// The user interrupted the command, as shells report it.
#[cfg(feature = "sql")]
pub(crate) const INTERRUPTED: u8 = 130;

/// A result whose error is a [`Failure`] unless stated otherwise.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a command did not complete.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    /// A flag that helps, or what to do.
    hint: Option<Cow<'static, str>>,
    /// The reader of the output closed the pipe, which is not an error.
    broken_pipe: bool,
    /// The message names the file that is to blame.
    is_placed: bool,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, broken_pipe: false, is_placed: false }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(INPUT, message)
    }

    pub(crate) fn io(what: impl Display, cause: &io::Error) -> Self {
        let broken_pipe = cause.kind() == io::ErrorKind::BrokenPipe;
        let message = format!("{what}: {cause}");
        Self { code: IO, message, hint: None, broken_pipe, is_placed: false }
    }

    /// The failure of an output. No other file is to blame, whatever was being read.
    pub(crate) fn of_output(name: impl Display, cause: &io::Error) -> Self {
        let failure = Self::io(format_args!("`{name}`: cannot write"), cause);
        Self { is_placed: true, ..failure }
    }

    /// Prefixes the message with the name of the file.
    pub(crate) fn in_file(mut self, name: impl Display) -> Self {
        if !self.is_placed {
            self.message = format!("`{name}`: {}", self.message);
        }
        self
    }

    /// Adds a hint, if there is one.
    pub(crate) fn with_hint(mut self, hint: Option<impl Into<Cow<'static, str>>>) -> Self {
        self.hint = hint.map(Into::into).or(self.hint);
        self
    }

    pub(crate) fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Returns whether writing the output failed, so that nothing else can be printed either.
    pub(crate) fn is_of_output(&self) -> bool {
        self.is_placed
    }

    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// Returns whether the reader of the output is gone.
    #[cfg(feature = "sql")]
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
    }

    /// Returns the message without the hint.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the message and, on a line of its own, the hint.
    pub(crate) fn report_text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\nhint: {hint}", self.message),
            None => self.message.clone(),
        }
    }

    /// Prints the message and returns the exit code.
    pub(crate) fn report(&self) -> u8 {
        if self.broken_pipe {
            return 0;
        }
        let _ = writeln!(io::stderr(), "error: {}", plain_lines(&self.report_text()));
        self.code
    }
}

impl From<hypostyle::Error> for Failure {
    fn from(err: hypostyle::Error) -> Self {
        let (code, broken_pipe) = match err.kind() {
            ErrorKind::Io(cause) => (IO, cause.kind() == io::ErrorKind::BrokenPipe),
            ErrorKind::Strict(_) | ErrorKind::Refused { .. } => (CHECK, false),
            ErrorKind::InvalidArgument(_) => (USAGE, false),
            ErrorKind::Internal(_) => (INTERNAL, false),
            _ => (INPUT, false),
        };
        let hint = (code == INTERNAL)
            .then_some("this is a bug in hyp, please report it; no output file was written".into());
        Self { code, message: err.to_string(), hint, broken_pipe, is_placed: false }
    }
}

impl From<io::Error> for Failure {
    fn from(cause: io::Error) -> Self {
        let broken_pipe = cause.kind() == io::ErrorKind::BrokenPipe;
        let message = cause.to_string();
        Self { code: IO, message, hint: None, broken_pipe, is_placed: false }
    }
}

impl From<arrow_schema::ArrowError> for Failure {
    fn from(cause: arrow_schema::ArrowError) -> Self {
        Self::input(cause.to_string())
    }
}

/// Prefixes an error with the name of the file.
pub(crate) trait InFile<T> {
    fn in_file(self, name: impl Display) -> Result<T>;
}

impl<T, E: Into<Failure>> InFile<T> for std::result::Result<T, E> {
    fn in_file(self, name: impl Display) -> Result<T> {
        self.map_err(|err| err.into().in_file(name))
    }
}

#[cfg(test)]
mod tests {
    use hypostyle::{Error, Refusal};

    use super::*;

    #[test]
    fn every_kind_of_error_has_its_exit_code() {
        for (err, code) in [
            (Error::refused(Refusal::TooLarge, "x", "y"), CHECK),
            (Error::invalid_argument("x"), USAGE),
            (io::Error::other("x").into(), IO),
            (Error::malformed("x", "y"), INPUT),
            (ErrorKind::NotUtf8.into(), INPUT),
            (Error::internal("x"), INTERNAL),
        ] {
            assert_eq!(Failure::from(err).code(), code);
        }
        let bug = Failure::from(Error::internal("x")).in_file("a").report_text();
        assert!(bug.starts_with("`a`: internal error: x\nhint: this is a bug"), "{bug}");
    }
}
