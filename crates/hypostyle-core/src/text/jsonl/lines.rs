//! The objects of a block of lines.

use std::borrow::Cow;

use memchr::memchr;
use serde::de::DeserializeSeed;
use serde_json::value::RawValue;

use super::infer::add_value;
use super::object::{JsonText, MembersSeed};
use crate::error::{Error, Result, clipped};
use crate::text::line_blocks::LineBlock;
use crate::text::skipped::Skipped;
use crate::text::summary::ValueState;

/// The members of an object, in order, with unparsed values.
pub(super) type Members<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// A line that holds an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectLine<'a> {
    text: &'a [u8],
    /// The number of the line, from 0; blank lines count.
    line: u64,
    offset: u64,
}

impl ObjectLine<'_> {
    /// Returns the offset in the input of a part of the line.
    fn offset_of(&self, part: *const u8) -> u64 {
        self.offset + part.addr().saturating_sub(self.text.as_ptr().addr()) as u64
    }

    /// Returns the error for a key that comes twice.
    pub(super) fn repeated_key(&self, key: &str) -> Error {
        let why = format!("has the key `{}` twice", clipped(key));
        Error::malformed("object", why).at(self.offset).in_row(self.line)
    }

    /// Returns the error for a value that has passed as JSON, and has a string that is not.
    pub(super) fn bad_value(&self, raw: &str) -> Error {
        let start = self.offset_of(raw.as_ptr());
        let found = serde_json::from_str::<JsonText<'_>>(raw).err();
        match found.filter(|_| raw.starts_with('"')) {
            Some(err) => malformed_line(&err, start).in_row(self.line),
            None => {
                let why = "is not a JSON object: a string has an escape that is not valid";
                Error::malformed("line", why).at(start).in_row(self.line)
            }
        }
    }
}

/// Parses the objects of a block of lines; returns the number of them.
///
/// With `skip`, malformed lines are recorded and passed over.
pub(super) fn for_each_object<'a>(
    block: &'a LineBlock,
    skip: bool,
    skipped: &mut Skipped,
    mut each: impl FnMut(ObjectLine<'a>, &Members<'a>) -> Result<()>,
) -> Result<usize> {
    let mut members: Members<'a> = Vec::new();
    let (mut rest, mut rows) = (block.text.as_slice(), 0);
    let (mut line, mut offset) = (block.start.line, block.start.offset);
    while !rest.is_empty() {
        let len = memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        let (text, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        let here = ObjectLine { text, line, offset };
        let trimmed = text.trim_ascii();
        if !trimmed.is_empty() {
            members.clear();
            match parse(trimmed, &mut members) {
                Ok(()) if !skip || is_sound(&members) => {
                    each(here, &members)?;
                    rows += 1;
                }
                Err(err) if !skip => {
                    let start = here.offset_of(trimmed.as_ptr());
                    return Err(malformed_line(&err, start).in_row(line));
                }
                _ => skipped.add(offset),
            }
        }
        (rest, line, offset) = (tail, line + 1, offset + len as u64);
    }
    Ok(rows)
}

fn parse<'a>(text: &'a [u8], members: &mut Members<'a>) -> Result<(), serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_slice(text);
    MembersSeed(members).deserialize(&mut parser)?;
    parser.end()
}

/// Returns whether no key comes twice and every string can be decoded.
fn is_sound(members: &Members<'_>) -> bool {
    let mut keys: Vec<&str> = members.iter().map(|(key, _)| &**key).collect();
    keys.sort_unstable();
    let decodes = |raw: &RawValue| add_value(&mut ValueState::default(), raw.get(), 0).is_ok();
    keys.windows(2).all(|pair| pair.first() != pair.last())
        && members.iter().all(|(_, raw)| decodes(raw))
}

/// Converts an error of the parser, which counts columns from 1 at `start`.
pub(super) fn malformed_line(err: &serde_json::Error, start: u64) -> Error {
    let why = err.to_string();
    // Drop the position in the line: the offset in the file replaces it.
    let why = why.split_once(" at line ").map_or(why.as_str(), |(why, _)| why);
    let at = start.saturating_add(err.column().saturating_sub(1) as u64);
    Error::malformed("line", format!("is not a JSON object: {why}")).at(at)
}
