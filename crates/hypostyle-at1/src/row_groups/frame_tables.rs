//! The tables of a frame, and its lines that are not in a table.

use std::ops::Range;

use bytes::Bytes;

use super::grouped_table::GroupedTable;
use super::source::StreamDirectory;
use crate::cell_syntax::Syntax;
use crate::codecs::context::DecodeContext;
use crate::codecs::entry::GroupedCodec;
use crate::codecs::groups::{self, BlockIndex, GroupsMeta};
use crate::codecs::qjson;
use crate::group_index::{Checksums, INDEX, SUMS, TextIndex};
use crate::json_scan::JsonMembers;
use crate::streams::{LineList, StreamCursor, Streams};
use hypostyle_core::error::Result;

/// A frame whose streams, except the blocks, have been parsed.
#[derive(Debug)]
pub(crate) struct FrameTables {
    pub(crate) tables: Vec<GroupedTable>,
    /// For each line the index of its table plus one, or 0 for a verbatim line.
    pub(crate) map: Bytes,
    /// The verbatim lines.
    pub(crate) verbatim: Bytes,
    /// Whether the text ends in the middle of a line.
    pub(crate) open: bool,
}

impl FrameTables {
    /// Returns a raw frame, all of whose lines are verbatim.
    pub(super) fn raw(text: &Bytes) -> Self {
        let open = !text.ends_with(b"\n");
        let lines = if open { text.clone() } else { text.slice(..text.len() - 1) };
        let count =
            if text.is_empty() { 0 } else { memchr::memchr_iter(b'\n', &lines).count() + 1 };
        let map = vec![0; count].into();
        Self { tables: Vec::new(), map, verbatim: lines, open }
    }

    /// Returns the verbatim lines in order.
    pub(crate) fn verbatim_lines(&self) -> LineList<'_> {
        StreamCursor::new("verbatim", &self.verbatim).lines()
    }

    /// Parses a structured frame; `None` if it cannot be queried.
    pub(super) fn parse(
        codec: GroupedCodec,
        directory: &StreamDirectory,
        streams: &Streams,
        context: &DecodeContext<'_>,
    ) -> Result<Option<Self>> {
        let mut parser = TableParser {
            codec,
            directory,
            streams,
            context,
            index: streams.shared(INDEX),
            sums: Checksums::read(&streams.shared(SUMS))?,
        };
        let mut tables = Vec::new();
        for prefix in (codec.prefixes)(context)? {
            let Some(table) = parser.table(&prefix)? else { return Ok(None) };
            tables.push(table);
        }
        let lines = if codec.line_map {
            mapped_lines(streams, tables.len())?
        } else {
            let Some(table) = tables.first() else { return Ok(None) };
            lines_of_one_table(table, streams)?
        };
        let (map, trailing) = lines;
        let (verbatim, open) = (streams.shared("verbatim"), !trailing);
        Ok(Some(Self { tables, map, verbatim, open }))
    }
}

/// The table of each line, and whether the text ends with a newline.
type LineMap = (Bytes, bool);

/// Reads which table each line belongs to from `line_map`.
fn mapped_lines(streams: &Streams, tables: usize) -> Result<LineMap> {
    let mut meta = streams.read("meta");
    let lines = meta.uv("line count")?;
    let trailing = meta.u8("trailing")? != 0;
    let mut choices = streams.read("line_map");
    let mut map = Vec::new();
    for _ in 0..lines {
        let choice = choices.size("template of a line")?;
        let table = u8::try_from(choice).ok().filter(|_| choice <= tables);
        map.push(table.ok_or_else(|| {
            let why = format!("{choice} is out of range: the frame has {tables} templates");
            choices.malformed("template of a line", why)
        })?);
    }
    Ok((map.into(), trailing))
}

/// Reads which lines are verbatim from the modes of the only table.
fn lines_of_one_table(table: &GroupedTable, streams: &Streams) -> Result<LineMap> {
    let modes = table.meta.modes(streams, "")?;
    let map = if modes.iter().any(|&mode| mode > 1) {
        modes.iter().map(|&mode| mode.min(1)).collect()
    } else {
        modes
    };
    Ok((map, table.meta.trailing))
}

/// Parses the tables of a frame in order.
struct TableParser<'p> {
    codec: GroupedCodec,
    directory: &'p StreamDirectory,
    streams: &'p Streams,
    context: &'p DecodeContext<'p>,
    /// The text index and the checksums of the tables that follow.
    index: Bytes,
    sums: Checksums,
}

impl TableParser<'_> {
    /// Parses the table whose stream names start with `prefix`; `None` if it cannot be
    /// queried.
    fn table(&mut self, prefix: &str) -> Result<Option<GroupedTable>> {
        let streams = self.streams;
        let meta = GroupsMeta::read(streams, prefix, self.codec.delimited, self.context)?;
        // Without columns there are no blocks that bound the number of rows.
        if meta.delimiter.contains(&b'\n') || meta.columns == 0 {
            return Ok(None);
        }
        let Some((blocks, len)) = self.directory.blocks(&format!("{prefix}blocks")) else {
            return Ok(None);
        };
        let modes = meta.modes(streams, prefix)?;
        let rows = modes.iter().filter(|&&mode| mode != 0).count();
        let groups = rows.div_ceil(meta.group_rows);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let name = format!("{prefix}index");
        groups::charge_index(streams, &name, groups, &meta)?;
        let index = BlockIndex::read(streams.bytes(&name), groups, &meta, len)?;
        let mut texts = Bytes::new();
        if !self.index.is_empty() {
            let mut stream = StreamCursor::new(INDEX, &self.index);
            texts = self.index.slice_ref(stream.lp("index of a table")?);
            self.index = self.index.slice_ref(stream.rest());
        }
        let texts = TextIndex::read(texts, &meta.types, groups)?;
        let sums = self.sums.take(index.ends.len());
        let mut table = GroupedTable {
            index,
            blocks,
            rows,
            groups,
            syntax: Syntax::of_delimiter(&meta.delimiter),
            segments: Vec::new(),
            names: Vec::new(),
            nested: Vec::new(),
            texts,
            sums,
            meta,
        };
        if self.codec.delimited {
            return Ok(Some(table));
        }
        // A template with verbatim rows would leave gaps in the line map.
        if self.codec.line_map && rows != modes.len() {
            return Ok(None);
        }
        Ok(self.add_template(prefix, &mut table)?.then_some(table))
    }

    /// Adds the template and the names of a table of JSON objects; `false` if the names do
    /// not match the template.
    fn add_template(&self, prefix: &str, table: &mut GroupedTable) -> Result<bool> {
        table.syntax = Syntax::Json;
        table.names = groups::paths(self.streams, prefix, &table.meta, self.context)?;
        let template = format!("{prefix}template");
        let segments = qjson::segments(self.streams, &template, table.meta.columns)?;
        table.segments = segments.into_iter().map(<[u8]>::to_vec).collect();
        // A line with the value 0 in each hole shows the objects and arrays around them.
        let Some(members) = JsonMembers::of(&table.segments.join(&b'0')) else { return Ok(false) };
        if !members.values.iter().eq(&holes(table)) || members.has_twins() {
            return Ok(false);
        }
        table.nested = members.nested().cloned().collect();
        Ok(true)
    }
}

/// Returns the names of the columns of a template, and the ranges of their cells in a line
/// where each cell has one byte.
fn holes(table: &GroupedTable) -> Vec<(String, Range<usize>)> {
    let mut at = 0;
    let mut hole = |(name, segment): (&String, &Vec<u8>)| {
        at += segment.len() + 1;
        (name.clone(), at - 1..at)
    };
    table.names.iter().zip(&table.segments).map(&mut hole).collect()
}
