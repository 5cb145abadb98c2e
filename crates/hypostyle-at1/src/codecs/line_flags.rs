//! The flags and indexes that the line codecs share (§3).

use super::context::DecodeContext;
use crate::output::Output;
use crate::streams::{StreamCursor, Streams};
use hypostyle_core::error::Result;

/// Writes a newline before each line but the first (§3).
#[derive(Debug, Default)]
pub(super) struct Joiner {
    started: bool,
}

impl Joiner {
    /// Starts the next line; must be called before each line.
    #[inline]
    pub(super) fn next(&mut self, out: &mut Output<'_>) -> Result<()> {
        if self.started {
            out.byte(b'\n')?;
        }
        self.started = true;
        Ok(())
    }
}

/// Returns whether a `trailing` byte says that the text ends with a newline (A14).
///
/// With `only_one`, bytes other than 1 mean no; otherwise only 0 means no.
pub(super) fn trailing(byte: u8, only_one: bool, context: &DecodeContext<'_>) -> Result<bool> {
    let set = flag(byte, "the flag for the last newline", "meta", context)?;
    Ok(if only_one { byte == 1 } else { set })
}

/// Returns whether a flag is not 0; reports a flag that is neither 0 nor 1 (A14).
pub(super) fn flag(
    byte: u8,
    what: &str,
    stream: &str,
    context: &DecodeContext<'_>,
) -> Result<bool> {
    if byte > 1 {
        let message = format!("{what} is {byte}");
        context.deviations.report("A14", context.offset_of(stream), message)?;
    }
    Ok(byte != 0)
}

/// Reports the first byte of a stream of modes that is neither 0 nor 1 (A14).
pub(super) fn check_modes(modes: &[u8], name: &str, context: &DecodeContext<'_>) -> Result<()> {
    let odd = modes.iter().enumerate().find(|&(_, &mode)| mode > 1);
    if let Some((line, &mode)) = odd {
        let what = format!("`{name}`: the flag of line {}", line.saturating_add(1));
        flag(mode, &what, name, context)?;
    }
    Ok(())
}

/// A stream with a byte for each line: 0 verbatim, 1 structured (§3).
#[derive(Debug)]
pub(super) struct Modes<'a> {
    name: &'a str,
    stream: StreamCursor<'a>,
    /// Whether a byte above 1 was reported; one report is enough.
    reported: bool,
}

impl<'a> Modes<'a> {
    pub(super) fn new(streams: &'a Streams, name: &'a str) -> Self {
        Self { name, stream: streams.read(name), reported: false }
    }

    /// Returns whether the next line is structured.
    #[inline]
    pub(super) fn structured(&mut self, context: &DecodeContext<'_>) -> Result<bool> {
        let mode = self.stream.u8("flag")?;
        if mode > 1 && !self.reported {
            self.reported = true;
            let what = format!("`{}`: the flag of line {}", self.name, self.stream.offset());
            return flag(mode, &what, self.name, context);
        }
        Ok(mode != 0)
    }
}

/// Reads an index into `items`, and returns that item.
#[inline]
pub(super) fn pick<'t, T>(
    stream: &mut StreamCursor<'_>,
    items: &'t [T],
    what: &'static str,
) -> Result<&'t T> {
    let start = stream.offset();
    let index = stream.uv(what)?;
    let found = usize::try_from(index).ok().and_then(|index| items.get(index));
    found.ok_or_else(|| {
        let why = format!("{index} is not below {}, the number of items", items.len());
        stream.malformed_at(start, what, why)
    })
}
