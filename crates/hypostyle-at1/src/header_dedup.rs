//! The line of names above a table, which may come again where text was appended.

use std::io::{self, Write};

use super::archive::Archive;
use super::codecs::{self, Codec, DecodeContext};
use super::container::Method;
use super::output::Output;
use super::streams::PackedSet;
use hypostyle_core::error::Result;

/// A first line that is longer is not looked for again.
const LONGEST: usize = 1 << 20;

/// The first line of a text that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct FirstLine {
    line: Vec<u8>,
    ended: bool,
}

impl FirstLine {
    /// Takes the next piece of the text.
    pub(super) fn push(&mut self, text: &[u8]) {
        if self.ended || self.line.len() > LONGEST {
            return;
        }
        let end = memchr::memchr(b'\n', text);
        self.line.extend_from_slice(text.get(..end.unwrap_or(text.len())).unwrap_or_default());
        self.ended = end.is_some();
    }

    /// Whether a text starts with the same line.
    pub(super) fn starts(&self, text: &[u8]) -> bool {
        let rest = text.strip_prefix(self.line.as_slice()).filter(|_| self.ended);
        rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'\n')))
            && self.line.len() <= LONGEST
    }
}

impl Archive {
    /// Writes the text of a table of row groups with one line of names.
    ///
    /// A line that says the same at the start of a later frame, and is in no row
    /// group, was above a text that was appended: queries leave it out, too.
    pub(super) fn unpack_named(&self, out: &mut dyn Write) -> Result<()> {
        if self.codec() != Codec::QColumnar || self.chunk_lines().is_none() {
            return self.unpack_rows(out, None, true).map(|_| ());
        }
        let mut once = Once { out, names: FirstLine::default(), open: false, skip: 0 };
        let mut limits = self.limits().clone();
        self.for_each_frame(|extent, body| {
            let written = match extent.method {
                Method::Raw => {
                    let text = self.expand_raw(extent, body)?;
                    once.start(&text);
                    let mut output = Output::new(&mut once, false, &limits);
                    output.put(&text)?;
                    output.finish(None)?
                }
                Method::Structured => {
                    let set = PackedSet::parse(body, extent.offset, self.noted())?;
                    let context = DecodeContext { pad: true, ..self.context(&set) };
                    let streams =
                        context.expand(|name| matches!(name, "row_modes" | "verbatim"))?;
                    let verbatim = streams.bytes("row_modes").first() == Some(&0);
                    once.start(if verbatim { streams.bytes("verbatim") } else { b"" });
                    let mut output = Output::new(&mut once, false, &limits);
                    codecs::decode(self.codec(), &context, &mut output)?;
                    output.finish(None)?
                }
            };
            limits.output_bytes = limits.output_bytes.saturating_sub(written);
            Ok(())
        })
    }
}

/// Hands text on, but for names that come again.
struct Once<'a> {
    out: &'a mut dyn Write,
    names: FirstLine,
    /// Whether the text so far ends in the middle of a line.
    open: bool,
    /// Bytes that are still to be left out.
    skip: usize,
}

impl Once<'_> {
    /// Gets ready for a frame, of which the verbatim lines are at hand if the first
    /// line is among them.
    fn start(&mut self, lines: &[u8]) {
        let again = !self.open && !lines.is_empty() && self.names.starts(lines);
        self.skip = if again { self.names.line.len() + 1 } else { 0 };
    }
}

impl Write for Once<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.names.push(text);
        if let Some(last) = text.last() {
            self.open = *last != b'\n';
        }
        let skipped = self.skip.min(text.len());
        self.skip -= skipped;
        self.out.write_all(text.get(skipped..).unwrap_or_default())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
