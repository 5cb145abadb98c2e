//! Lines of compact JSON as json (§7.3).
//!
//! `parse` takes lines apart, `rules` finds strings that say what other values of the
//! line say already, and what is left are lists of tokens by path.

use crate::pack::context::EncodeContext;
use crate::pack::json::parse::{Parsed, Step, token};
use crate::pack::json::rules::Derived;
use crate::pack::json::token_columns as lists;
use crate::pack::lines::split_final_newline;
use crate::pack::stream_set::{Body, Stream};
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Lines that are looked at to see what a text is, and their bytes at most.
const GLANCE: usize = 64;
const GLANCE_BYTES: usize = 1 << 20;

/// Whether there are several lines, and most of the first ones are compact JSON.
pub(in crate::pack) fn suits(text: &[u8]) -> bool {
    let start = text.get(..GLANCE_BYTES.min(text.len())).unwrap_or_default();
    let Some(end) = memchr::memchr_iter(b'\n', start).take(GLANCE).last() else { return false };
    let parsed = Parsed::new(text.get(..end).unwrap_or_default());
    let fit = parsed.flags.iter().filter(|&&flag| flag == 1).count();
    let several = parsed.flags.len() > 1 || text.len() > end + 1;
    several && fit * 2 > parsed.flags.len()
}

/// The streams of lines; `None` if none of them is compact JSON.
pub(in crate::pack) fn streams(
    text: &[u8],
    job: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let (lines, trailing) = split_final_newline(text);
    let parsed = Parsed::new(lines);
    if parsed.verbatim.len() == parsed.flags.len() {
        return Ok(None);
    }
    let derived = Derived::new(lines, &parsed)?;
    let (tokens, columns) = tokens(lines, &parsed, &derived);
    let arranged = lists::arrange(&tokens, b"\n", job)?;
    let columns: Vec<u64> = columns
        .iter()
        .map(|&list| arranged.numbers.get(list as usize).copied().unwrap_or_default())
        .collect();
    let mut meta = Vec::new();
    put::uv(&mut meta, parsed.flags.len() as u64);
    meta.push(u8::from(trailing));
    let fitted = |content: &[u8]| Body::fitted(content, job.search);
    let stream = |name: &'static str, body| Stream { name: name.into(), body };
    Ok(Some(vec![
        stream("meta", fitted(&meta)?),
        stream("flags", fitted(&parsed.flags)?),
        stream("verbatim", fitted(&parsed.verbatim.join(&b'\n'))?),
        stream("keyvocab", fitted(&parsed.keys.join(&b'\n'))?),
        stream("value_index", arranged.index),
        stream("values", arranged.values),
        stream("rules", fitted(&derived.content(&columns))?),
        stream("tape", fitted(&tape(&parsed, &derived, &columns))?),
    ]))
}

/// A list for each path that has a leaf which is not derived, and the list of each path.
fn tokens(text: &[u8], parsed: &Parsed<'_>, derived: &Derived) -> (Vec<Vec<u8>>, Vec<u32>) {
    const NONE: u32 = u32::MAX;
    let mut lists: Vec<Vec<u8>> = Vec::new();
    let mut numbers = vec![NONE; parsed.paths];
    for (at, leaf) in parsed.leaves.iter().enumerate() {
        if derived.rule(at).is_some() {
            continue;
        }
        let Some(number) = numbers.get_mut(leaf.path as usize) else { continue };
        if *number == NONE {
            *number = u32::try_from(lists.len()).unwrap_or(NONE);
            lists.push(token(text, leaf).to_vec());
        } else if let Some(list) = lists.get_mut(*number as usize) {
            list.push(b'\n');
            list.extend_from_slice(token(text, leaf));
        }
    }
    (lists, numbers)
}

/// How lines are put together, with a column for each path.
fn tape(parsed: &Parsed<'_>, derived: &Derived, columns: &[u64]) -> Vec<u8> {
    let mut tape = Vec::with_capacity(parsed.ops.len() * 2);
    let mut leaves = parsed.leaves.iter().enumerate();
    for op in &parsed.ops {
        match op.step() {
            Step::Leaf => {
                let Some((at, leaf)) = leaves.next() else { continue };
                let column = || columns.get(leaf.path as usize).copied().unwrap_or_default();
                let (kind, number) = match derived.rule(at) {
                    Some(rule) => (3, rule),
                    None => (0, column()),
                };
                tape.push(kind);
                put::uv(&mut tape, number);
            }
            Step::Object(members) => {
                tape.push(1);
                put::uv(&mut tape, members.into());
            }
            Step::Array(elements) => {
                tape.push(2);
                put::uv(&mut tape, elements.into());
            }
            Step::Key(key) => put::uv(&mut tape, key.into()),
        }
    }
    tape
}
