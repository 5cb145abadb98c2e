//! Prints lines as grep does.

use std::io;
use std::ops::Range;

use hypostyle::Error;
use hypostyle::line_search::{FoundLine, LineMatcher, LineSink};

use super::arguments::Args;
use super::{PrintLines, of_output};
use crate::failure::{Failure, Result};
use crate::output::Out;

const NAME: &str = "\x1b[35m";
const NUMBER: &str = "\x1b[32m";
const MARK: &str = "\x1b[36m";
const MATCH: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";

/// Prints the lines of one text.
pub(super) struct Printer<'a> {
    name: Option<&'a str>,
    matcher: &'a LineMatcher,
    args: &'a Args,
    is_colored: bool,
    out: &'a mut dyn Out,
    has_printed: bool,
    /// Whether no line of this text was printed yet.
    is_first: bool,
    is_binary: bool,
    /// Whether a line of a binary text was selected.
    hides_lines: bool,
    failure: Option<Failure>,
}

impl<'a> Printer<'a> {
    /// Returns a printer; `has_printed` says whether a line of another text was printed.
    pub(super) fn new(
        name: Option<&'a str>,
        matcher: &'a LineMatcher,
        args: &'a Args,
        has_printed: bool,
        out: &'a mut dyn Out,
    ) -> Self {
        let is_colored = args.is_colored(out.terminal_width().is_some());
        Self {
            name,
            matcher,
            args,
            is_colored,
            out,
            has_printed,
            is_first: true,
            is_binary: false,
            hides_lines: false,
            failure: None,
        }
    }

    pub(super) fn has_printed(&self) -> bool {
        self.has_printed
    }

    /// Says what was not printed.
    pub(super) fn end(&mut self, name: &str) -> Result<()> {
        if self.hides_lines && self.failure.is_none() {
            writeln!(self.out, "{name}: binary file matches").map_err(of_output)?;
        }
        Ok(())
    }

    fn print(&mut self, line: &FoundLine<'_>) -> io::Result<()> {
        let mark = if line.is_selected { b':' } else { b'-' };
        if self.args.shows_only_matches() {
            if let Some(pattern) = self.matcher.shown() {
                for place in pattern.matches(line.text) {
                    let text = line.text.get(place).unwrap_or_default();
                    self.prefix(line.number, mark)?;
                    self.colored(MATCH, text)?;
                    self.out.write_all(b"\n")?;
                }
            }
            return Ok(());
        }
        self.prefix(line.number, mark)?;
        let pattern = self.matcher.shown().filter(|_| self.is_colored && line.is_selected);
        match pattern {
            None => self.out.write_all(line.text)?,
            Some(pattern) => {
                let places: Vec<Range<usize>> = pattern.matches(line.text).collect();
                let mut end = 0;
                for place in places {
                    let before = line.text.get(end..place.start).unwrap_or_default();
                    self.out.write_all(before)?;
                    end = place.end;
                    self.colored(MATCH, line.text.get(place).unwrap_or_default())?;
                }
                self.out.write_all(line.text.get(end..).unwrap_or_default())?;
            }
        }
        self.out.write_all(b"\n")
    }

    fn prefix(&mut self, number: u64, mark: u8) -> io::Result<()> {
        if let Some(name) = self.name {
            self.colored(NAME, name.as_bytes())?;
            self.colored(MARK, &[mark])?;
        }
        if self.args.shows_numbers() {
            self.colored(NUMBER, number.to_string().as_bytes())?;
            self.colored(MARK, &[mark])?;
        }
        Ok(())
    }

    fn colored(&mut self, color: &str, text: &[u8]) -> io::Result<()> {
        colored(self.is_colored, color, text, self.out)
    }

    /// Keeps the failure of the output, and ends the search.
    fn check(&mut self, printed: io::Result<()>) -> hypostyle::Result<()> {
        printed.map_err(|cause| {
            self.failure = Some(of_output(cause));
            Error::internal("the output failed")
        })
    }
}

impl LineSink for Printer<'_> {
    fn line(&mut self, line: &FoundLine<'_>) -> hypostyle::Result<()> {
        if !self.args.prints_binary() && (self.is_binary || line.text.contains(&0)) {
            (self.is_binary, self.hides_lines) = (true, true);
            return Ok(());
        }
        if std::mem::take(&mut self.is_first) && self.has_printed {
            self.gap()?;
        }
        self.has_printed = true;
        let printed = self.print(line);
        self.check(printed)
    }

    fn gap(&mut self) -> hypostyle::Result<()> {
        let has_context = self.args.before() > 0 || self.args.after() > 0;
        if self.is_binary || !has_context {
            return Ok(());
        }
        let printed = self.colored(MARK, b"--").and_then(|()| self.out.write_all(b"\n"));
        self.check(printed)
    }
}

impl PrintLines for Printer<'_> {
    fn start(&mut self, head: &[u8]) {
        self.is_binary = !self.args.prints_binary() && head.contains(&0);
    }

    fn is_done(&self) -> bool {
        self.hides_lines
    }

    fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }
}

/// Prints the name of a file.
pub(super) fn print_name(name: &str, args: &Args, out: &mut dyn Out) -> io::Result<()> {
    let is_colored = args.is_colored(out.terminal_width().is_some());
    colored(is_colored, NAME, name.as_bytes(), out)
}

fn colored(is_colored: bool, color: &str, text: &[u8], out: &mut dyn Out) -> io::Result<()> {
    if !is_colored {
        return out.write_all(text);
    }
    out.write_all(color.as_bytes())?;
    out.write_all(text)?;
    out.write_all(PLAIN.as_bytes())
}
