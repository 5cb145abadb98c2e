//! The tables of a frame, and the lines that are in none.

use std::borrow::Cow;
use std::ops::Range;

use super::grouped_table::GroupedTable;
use super::source::StreamDirectory;
use crate::cell_syntax::Syntax;
use crate::codecs::groups::{self, BlockIndex, GroupsMeta};
use crate::codecs::{self, Codec, DecodeContext, qjson};
use crate::fields::Dialect;
use crate::group_index::{INDEX, SUMS, Sums, Texts};
use crate::json_scan::Members;
use crate::streams::{Lines, Stream, Streams};
use hypostyle_core::error::Result;

/// A frame that has been looked at.
#[derive(Debug)]
pub(super) struct FrameTables<'a> {
    pub(super) sets: Vec<GroupedTable<'a>>,
    /// For each line one more than its table, or 0 if it is in none.
    pub(super) map: Cow<'a, [u8]>,
    pub(super) verbatim: Lines<'a>,
    /// How lines are cut, for delimited text.
    pub(super) dialect: Option<Dialect>,
    /// Whether the text ends in the middle of a line.
    pub(super) open: bool,
}

impl<'a> FrameTables<'a> {
    /// A frame of text without structure.
    pub(super) fn raw(text: &'a [u8]) -> Self {
        let lines = text.strip_suffix(b"\n").unwrap_or(text);
        let count = if text.is_empty() { 0 } else { memchr::memchr_iter(b'\n', lines).count() + 1 };
        let verbatim = Stream::new("frame", lines).lines();
        let map = Cow::Owned(vec![0; count]);
        Self { sets: Vec::new(), map, verbatim, dialect: None, open: !text.ends_with(b"\n") }
    }

    /// The tables of a structured frame; `None` if their blocks are not stored as
    /// they are.
    pub(super) fn new(
        codec: Codec,
        directory: &StreamDirectory,
        streams: &'a Streams,
        context: &DecodeContext<'_>,
    ) -> Result<Option<Self>> {
        let delimited = codec == Codec::QColumnar;
        let mut index = Stream::new(INDEX, streams.bytes(INDEX));
        let mut sums = Sums::read(streams.bytes(SUMS))?;
        let mut sets = Vec::new();
        for prefix in codecs::prefixes(codec, context)? {
            let meta = GroupsMeta::read(streams, &prefix, delimited, context)?;
            // Lines without columns have nothing to be asked, and no blocks to bound them.
            if meta.delimiter.contains(&b'\n') || meta.columns == 0 {
                return Ok(None);
            }
            let Some((blocks, len)) = directory.blocks(&format!("{prefix}blocks")) else {
                return Ok(None);
            };
            let modes = meta.modes(streams, &prefix)?;
            let rows = modes.iter().filter(|&&mode| mode != 0).count();
            let groups = rows.div_ceil(meta.group_rows);
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            let entries =
                BlockIndex::read(streams.bytes(&format!("{prefix}index")), groups, &meta, len)?;
            let said = if index.is_empty() { &[][..] } else { index.lp("index of a table")? };
            let texts = Texts::read(said, meta.types, groups)?;
            let sums = sums.of_next(entries.ends.len());
            let mut set = GroupedTable {
                index: entries,
                blocks,
                rows,
                groups,
                syntax: Syntax::of_delimiter(meta.delimiter),
                segments: Vec::new(),
                names: Vec::new(),
                nested: Vec::new(),
                texts,
                sums,
                meta,
            };
            if !delimited {
                // Rows of a template that are verbatim there are in no table at all.
                if codec == Codec::QJson2 && rows != modes.len() {
                    return Ok(None);
                }
                set.syntax = Syntax::Json;
                set.names = groups::paths(streams, &prefix, &set.meta, context)?;
                let columns = set.meta.columns;
                let template = format!("{prefix}template");
                let segments = qjson::segments(streams, &template, columns)?;
                set.segments = segments.into_iter().map(<[u8]>::to_vec).collect();
                // A line of the template, to see what is in brackets.
                let Some(members) = Members::of(&set.segments.join(&b'0')) else {
                    return Ok(None);
                };
                if !members.values.iter().eq(&holes(&set)) || members.has_twins() {
                    return Ok(None);
                }
                set.nested = members.nested().cloned().collect();
            }
            sets.push(set);
        }
        let (map, trailing) = match codec {
            Codec::QJson2 => {
                let mut meta = streams.read("meta");
                let lines = meta.uv("line count")?;
                let trailing = meta.u8("trailing")? != 0;
                let mut choices = streams.read("line_map");
                let mut map = Vec::new();
                for _ in 0..lines {
                    let choice = choices.size("template of a line")?;
                    let table = u8::try_from(choice).ok().filter(|_| choice <= sets.len());
                    map.push(table.ok_or_else(|| {
                        let why = format!("there is no template {choice}");
                        choices.malformed("template of a line", why)
                    })?);
                }
                (Cow::Owned(map), trailing)
            }
            _ => {
                let Some(set) = sets.first() else { return Ok(None) };
                let modes = set.meta.modes(streams, "")?;
                let map = if modes.iter().any(|&mode| mode > 1) {
                    Cow::Owned(modes.iter().map(|&mode| mode.min(1)).collect())
                } else {
                    Cow::Borrowed(modes)
                };
                (map, set.meta.trailing)
            }
        };
        let (verbatim, open) = (streams.read("verbatim").lines(), !trailing);
        let dialect = sets.first().filter(|_| delimited).map(|set| Dialect {
            delimiter: set.meta.delimiter.to_vec(),
            quotes: set.syntax == Syntax::Csv,
        });
        Ok(Some(Self { sets, map, verbatim, dialect, open }))
    }
}

/// The names of the columns of a template, and where their cells are in a line whose
/// cells have one byte each.
fn holes(set: &GroupedTable<'_>) -> Vec<(String, Range<usize>)> {
    let mut at = 0;
    let mut hole = |(name, segment): (&String, &Vec<u8>)| {
        at += segment.len() + 1;
        (name.clone(), at - 1..at)
    };
    set.names.iter().zip(&set.segments).map(&mut hole).collect()
}
