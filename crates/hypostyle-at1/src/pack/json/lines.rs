//! Encodes lines of compact JSON with codec json (§7.3).

use crate::codec::Codec;
use crate::pack::context::EncodeContext;
use crate::pack::json::derived_strings::DerivedStrings;
use crate::pack::json::parse::{ParsedLines, TapeStep};
use crate::pack::json::token_columns::Arrangement;
use crate::pack::line_groups::LineStreams;
use crate::pack::lines::split_final_newline;
use crate::pack::newline_list::NewlineList;
use crate::pack::stream_set::{Body, Stream};
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// What is between two columns of `values`.
const GAP: &[u8] = b"\n";

/// Lines at the start by which a text is judged, and their bytes at most.
const SAMPLE_LINES: usize = 64;
const SAMPLE_BYTES: usize = 1 << 20;

/// Returns whether a text has several lines and most of the first ones are compact JSON.
pub(in crate::pack) fn suits(text: &[u8]) -> bool {
    let start = text.get(..SAMPLE_BYTES.min(text.len())).unwrap_or_default();
    let Some(end) = memchr::memchr_iter(b'\n', start).take(SAMPLE_LINES).last() else {
        return false;
    };
    let parsed = ParsedLines::new(text.get(..end).unwrap_or_default());
    let fit = parsed.flags.iter().filter(|&&flag| flag == 1).count();
    let several = parsed.flags.len() > 1 || text.len() > end + 1;
    several && fit * 2 > parsed.flags.len()
}

/// Encodes lines; returns `None` if none of them is compact JSON.
pub(in crate::pack) fn streams(
    text: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let (lines, trailing) = split_final_newline(text);
    let parsed = ParsedLines::new(lines);
    if parsed.verbatim.len() == parsed.flags.len() {
        return Ok(None);
    }
    let derived = DerivedStrings::new(lines, &parsed)?;
    let (lists, list_of_path) = token_lists(lines, &parsed, &derived);
    let arrangement = Arrangement::find(&lists, GAP, context)?;
    let numbers = arrangement.numbers();
    let columns: Vec<u64> = list_of_path
        .iter()
        .map(|&list| numbers.get(list as usize).copied().unwrap_or_default())
        .collect();
    let mut meta = Vec::new();
    put::uv(&mut meta, parsed.flags.len() as u64);
    meta.push(u8::from(trailing));
    let values = arrangement.blocks(&lists, GAP);
    let tape = tape(&parsed, &derived, &columns);
    let contents = LineStreams {
        codec: Codec::Json,
        streams: vec![
            ("meta", meta),
            ("flags", parsed.flags),
            ("verbatim", parsed.verbatim.join(&b'\n')),
            ("keyvocab", parsed.keys.join(&b'\n')),
            ("value_index", arrangement.index(&lists)),
            ("values", values.concat()),
            ("rules", derived.content(&columns)),
            ("tape", tape),
        ],
        value_blocks: values.iter().map(|block| block.len() as u64).collect(),
    };
    if let Some(streams) = contents.grouped(text, None, context)? {
        return Ok(Some(streams));
    }
    let stream = |(name, content): &(&'static str, Vec<u8>)| {
        let body = match *name {
            "values" => arrangement.compress(&values, context)?,
            _ => Body::fitted(content, context.search)?,
        };
        Ok(Stream { name: (*name).into(), body })
    };
    contents.streams.iter().map(stream).collect::<Result<_>>().map(Some)
}

/// Collects the tokens that are not derived in a list for each path.
///
/// Returns the lists, and for each path the index of its list, which is out of range for a
/// path without tokens.
fn token_lists(
    text: &[u8],
    parsed: &ParsedLines<'_>,
    derived: &DerivedStrings,
) -> (Vec<Vec<u8>>, Vec<u32>) {
    const NONE: u32 = u32::MAX;
    let mut lists: Vec<NewlineList> = Vec::new();
    let mut list_of_path = vec![NONE; parsed.paths];
    for (at, leaf) in parsed.leaves.iter().enumerate() {
        if derived.rule(at).is_some() {
            continue;
        }
        let Some(number) = list_of_path.get_mut(leaf.path as usize) else { continue };
        if *number == NONE {
            *number = u32::try_from(lists.len()).unwrap_or(NONE);
            lists.push(NewlineList::default());
        }
        if let Some(list) = lists.get_mut(*number as usize) {
            list.push(leaf.token(text));
        }
    }
    (lists.into_iter().map(|list| list.bytes).collect(), list_of_path)
}

/// Returns the content of stream `tape`; `columns` maps paths to column numbers.
fn tape(parsed: &ParsedLines<'_>, derived: &DerivedStrings, columns: &[u64]) -> Vec<u8> {
    let mut tape = Vec::with_capacity(parsed.ops.len() * 2);
    let mut leaves = parsed.leaves.iter().enumerate();
    for op in &parsed.ops {
        match op.step() {
            TapeStep::Leaf => {
                let Some((at, leaf)) = leaves.next() else { continue };
                let column = || columns.get(leaf.path as usize).copied().unwrap_or_default();
                let (opcode, number) = match derived.rule(at) {
                    Some(rule) => (3, rule),
                    None => (0, column()),
                };
                tape.push(opcode);
                put::uv(&mut tape, number);
            }
            TapeStep::Object(members) => {
                tape.push(1);
                put::uv(&mut tape, members.into());
            }
            TapeStep::Array(elements) => {
                tape.push(2);
                put::uv(&mut tape, elements.into());
            }
            TapeStep::Key(key) => put::uv(&mut tape, key.into()),
        }
    }
    tape
}
