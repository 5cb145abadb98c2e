//! Prints lines as JSON, with the messages of `rg --json`.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hypostyle::Error;
use hypostyle::line_search::{FoundLine, LineMatcher, LineSink};
use serde_json::{Value, json};

use super::{PrintLines, of_output};
use crate::failure::{Failure, Result};
use crate::output::Out;

/// Prints the lines of one text.
pub(super) struct JsonPrinter<'a> {
    name: &'a str,
    matcher: &'a LineMatcher,
    out: &'a mut dyn Out,
    has_begun: bool,
    failure: Option<Failure>,
}

impl<'a> JsonPrinter<'a> {
    pub(super) fn new(name: &'a str, matcher: &'a LineMatcher, out: &'a mut dyn Out) -> Self {
        Self { name, matcher, out, has_begun: false, failure: None }
    }

    /// Prints the end of a text of which lines were printed.
    pub(super) fn end(&mut self, lines: u64, bytes: u64) -> Result<()> {
        if !self.has_begun {
            return Ok(());
        }
        let stats = json!({ "matched_lines": lines, "bytes_searched": bytes });
        let data = json!({ "path": text(self.name.as_bytes()), "stats": stats });
        print("end", &data, self.out).map_err(of_output)
    }

    fn print(&mut self, line: &FoundLine<'_>) -> io::Result<()> {
        let path = text(self.name.as_bytes());
        if !std::mem::replace(&mut self.has_begun, true) {
            print("begin", &json!({ "path": path }), self.out)?;
        }
        let mut matches = Vec::new();
        if let Some(pattern) = self.matcher.shown().filter(|_| line.is_selected) {
            for place in pattern.matches(line.text) {
                let found = line.text.get(place.clone()).unwrap_or_default();
                matches.push(json!({
                    "match": text(found),
                    "start": place.start,
                    "end": place.end,
                }));
            }
        }
        let mut bytes = line.text.to_vec();
        if line.has_newline {
            bytes.push(b'\n');
        }
        let data = json!({
            "path": path,
            "lines": text(&bytes),
            "line_number": line.number,
            "absolute_offset": line.offset,
            "submatches": matches,
        });
        print(if line.is_selected { "match" } else { "context" }, &data, self.out)
    }
}

impl LineSink for JsonPrinter<'_> {
    fn line(&mut self, line: &FoundLine<'_>) -> hypostyle::Result<()> {
        self.print(line).map_err(|cause| {
            self.failure = Some(of_output(cause));
            Error::internal("the output failed")
        })
    }

    fn gap(&mut self) -> hypostyle::Result<()> {
        Ok(())
    }
}

impl PrintLines for JsonPrinter<'_> {
    fn start(&mut self, _: &[u8]) {}

    fn is_done(&self) -> bool {
        false
    }

    fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }
}

/// Prints a message.
pub(super) fn print(kind: &str, data: &Value, out: &mut dyn Out) -> io::Result<()> {
    writeln!(out, "{}", json!({ "type": kind, "data": data }))
}

/// Returns bytes as text, or in Base64 if they are not UTF-8.
fn text(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!({ "text": text }),
        Err(_) => json!({ "bytes": STANDARD.encode(bytes) }),
    }
}
