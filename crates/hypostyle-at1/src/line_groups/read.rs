//! Decodes single line groups of an archive.

#![deny(clippy::arithmetic_side_effects)]

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::GROUPS;
use super::directory::ListDirectory;
use super::lists::{GroupedStream, StreamRole, layout};
use super::metadata::{GroupText, GroupsMetadata};
use super::stored_list::{StoredStream, elements, part_starts};
use crate::codec::Codec;
use crate::codecs;
use crate::codecs::json::{JsonPart, reached_columns, rule_sources};
use crate::frame_checksums::ArchiveChecksums;
use crate::frames::FrameReader;
use crate::group_statistics::TableStatistics;
use crate::output::Output;
use crate::streams::{Backend, CompressedStream, StreamCursor, StreamSet};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::text::{RowPosition, TextSummary};
use hypostyle_core::wire::{crc32, put};

/// The line groups of a whole-file archive.
#[derive(Debug)]
pub(crate) struct LineGroups {
    pub(super) archive: Arc<FrameReader>,
    layout: &'static [GroupedStream],
    pub(super) metadata: GroupsMetadata,
    /// The offset of the text of each group, and of its end.
    pub(super) offsets: Vec<u64>,
    /// Whether the last line has a newline.
    trailing: bool,
    /// The streams of the layout.
    streams: Vec<StoredStream>,
    /// Where the parts of each stream start, if it is not cut.
    part_starts: Vec<OnceLock<Vec<usize>>>,
    columns: Vec<Column>,
    /// The content of the streams that all groups share.
    shared: Vec<(&'static str, Bytes)>,
    pub(super) statistics: TableStatistics,
}

/// A column of `values`.
#[derive(Debug)]
struct Column {
    place: Range<u64>,
    part_starts: OnceLock<Vec<usize>>,
}

impl LineGroups {
    /// Opens the groups of an archive; `None` if it has none.
    ///
    /// Decompresses only the streams that all groups share.
    pub(crate) fn open(
        archive: &Arc<FrameReader>,
        checksums: Option<&ArchiveChecksums>,
    ) -> Result<Option<Self>> {
        match ListDirectory::read(archive, checksums)? {
            Some(directory) => Self::of(&directory),
            None => Ok(None),
        }
    }

    /// Opens the groups of an archive whose directory was read; `None` if it has none.
    pub(crate) fn of(directory: &ListDirectory) -> Result<Option<Self>> {
        if !directory.has(GROUPS) {
            return Ok(None);
        }
        let ListDirectory { archive, layout, read, .. } = directory;
        let (layout, container) = (*layout, archive.container());
        let mut meta = read.read("meta");
        let is_records = container.codec == Codec::JsonDoc;
        // The skeleton of records has its newlines.
        let trailing = if is_records {
            false
        } else {
            meta.uv("line count")?;
            meta.u8("trailing")? == 1
        };
        let columns = columns(read.read("value_index"), layout)?;
        let sources = match container.codec {
            Codec::Json => rule_sources(read.bytes("rules"), columns.len())?,
            _ => Vec::new(),
        };
        let content = read.shared(GROUPS);
        let parsed = GroupsMetadata::parse(&content, layout, columns.len(), &sources)?;
        let Some(metadata) = parsed else { return Ok(None) };
        let mut streams = Vec::with_capacity(layout.len());
        let mut shared = Vec::new();
        for (stream, parts) in layout.iter().zip(&metadata.streams) {
            if stream.role == StreamRole::Shared {
                let content = read.shared(stream.name);
                if parts.crc != Some(crc32(&content)) {
                    let err = Error::malformed("stream", "does not match its checksum");
                    return Err(err.in_stream(stream.name));
                }
                shared.push((stream.name, content));
            }
            let place = directory.place(stream.name);
            streams.push(StoredStream::new(stream.name, place, parts.crc));
        }
        let mut offsets = vec![0_u64];
        for group in &metadata.groups {
            let start = offsets.last().copied().unwrap_or_default();
            let end = start.checked_add(group.bytes);
            offsets.push(end.ok_or_else(|| Error::malformed("text of a group", "is too large"))?);
        }
        let mut stream = StreamCursor::new(GROUPS, &metadata.statistics);
        let (groups, paths) = (metadata.groups.len(), metadata.paths.len());
        let statistics = TableStatistics::read(&mut stream, &metadata.statistics, groups, paths)?;
        if !stream.is_empty() {
            return Err(stream.malformed("statistics", "do not end with the stream"));
        }
        Ok(Some(Self {
            archive: archive.clone(),
            layout,
            offsets,
            trailing,
            part_starts: streams.iter().map(|_| OnceLock::new()).collect(),
            streams,
            columns,
            shared,
            statistics,
            metadata,
        }))
    }

    /// The number of groups.
    pub(crate) fn len(&self) -> usize {
        self.metadata.groups.len()
    }

    /// Returns the group that a byte of the text is in, and the offset of its text.
    pub(crate) fn group_at(&self, offset: u64) -> Option<(usize, u64)> {
        let group = self.offsets.partition_point(|&start| start <= offset).checked_sub(1)?;
        (group < self.len()).then_some((group, *self.offsets.get(group)?))
    }

    /// Returns the range of the text that a group is.
    pub(crate) fn text_range(&self, group: usize) -> Option<Range<u64>> {
        let end = self.offsets.get(group.checked_add(1)?)?;
        Some(*self.offsets.get(group)?..*end)
    }

    /// The size of the text.
    pub(crate) fn text_bytes(&self) -> u64 {
        self.offsets.last().copied().unwrap_or_default()
    }

    /// Returns where the row groups of the table start: each line is a row.
    pub(crate) fn positions(&self) -> Vec<RowPosition> {
        let (mut row, mut positions) = (0_u64, Vec::new());
        for (group, &offset) in self.metadata.groups.iter().zip(&self.offsets) {
            positions.push(RowPosition { row, offset, line: row });
            row = row.saturating_add(group.lines);
        }
        positions
    }

    /// Fails unless the groups are the row groups of a summary.
    pub(crate) fn check_summary(&self, summary: &TextSummary) -> Result<()> {
        let mut positions = self.positions();
        // A byte order mark is before the first row.
        if let (Some(first), Some(stated)) = (positions.first_mut(), summary.row_index.first()) {
            first.offset = stated.offset;
        }
        let groups = &self.metadata.groups;
        let lines = groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.lines));
        let fits = lines == summary.rows
            && self.text_bytes() == summary.bytes
            && positions == summary.row_index;
        if fits {
            return Ok(());
        }
        let why = "do not fit the rows of the table";
        Err(Error::malformed("line groups", why).in_stream(GROUPS))
    }

    /// Returns what is stated of the text of a group.
    pub(crate) fn group(&self, group: usize) -> Result<GroupText> {
        let found = self.metadata.groups.get(group).copied();
        found.ok_or_else(|| Error::invalid_argument("a line group that does not exist"))
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.layout.iter().position(|stream| stream.name == name)
    }

    /// Returns the content of a stream that all groups share.
    pub(crate) fn shared(&self, name: &str) -> &[u8] {
        self.shared.iter().find(|(known, _)| *known == name).map_or(&[], |(_, content)| content)
    }

    /// Returns the part of a stream that belongs to a group; `None` if it has no elements.
    pub(crate) fn part(&self, name: &str, group: usize) -> Result<Option<Bytes>> {
        let missing = || Error::internal("a stream that the codec does not have");
        let index = self.index(name).ok_or_else(missing)?;
        let (Some(stream), Some(role), Some(starts), Some(parts)) = (
            self.streams.get(index),
            self.layout.get(index).map(|stream| stream.role),
            self.part_starts.get(index),
            self.metadata.streams.get(index).map(|stream| &stream.parts),
        ) else {
            return Err(missing());
        };
        let lines: Vec<u64>;
        let parts = match role {
            StreamRole::Flags => {
                lines = self.metadata.groups.iter().map(|group| group.lines).collect();
                &lines
            }
            _ => parts,
        };
        let count = parts.get(group).copied().unwrap_or_default();
        let is_bytes = role != StreamRole::Elements;
        let (part, ends_list) = if stream.has_blocks() {
            let all = 0..stream.raw_len(&self.archive)?;
            let first = stream.blocks_of(&self.archive, &all, self.len())?;
            let part = stream.block(&self.archive, first.saturating_add(group))?;
            (part, group.saturating_add(1) == self.len())
        } else {
            let content = stream.content(&self.archive)?;
            let starts = match starts.get() {
                Some(starts) => starts,
                None => {
                    let found = part_starts(&content, parts, is_bytes);
                    let found = found.ok_or_else(|| not_the_parts(stream.name))?;
                    starts.get_or_init(|| found)
                }
            };
            part_of(&content, starts, group)
        };
        if is_bytes {
            if part.len() as u64 != count {
                return Err(not_the_parts(stream.name));
            }
            return Ok(Some(part));
        }
        elements(part, ends_list, count).map_err(|err| err.in_stream(stream.name))
    }

    /// Returns the part of a column that belongs to a group; `None` if it has no elements.
    pub(crate) fn column_part(&self, column: usize, group: usize) -> Result<Option<Bytes>> {
        const VALUES: &str = "values";
        let stream = self.index(VALUES).and_then(|index| self.streams.get(index));
        let (Some(stream), Some(stored), Some(parts)) =
            (stream, self.columns.get(column), self.metadata.columns.get(column))
        else {
            return Err(Error::internal("a column that does not exist"));
        };
        let count = parts.parts.get(group).copied().unwrap_or_default();
        let place = stored.place.clone();
        let (part, ends_list) = if parts.is_cut {
            let first =
                stream.blocks_of(&self.archive, &self.cut_place(column, &place), self.len())?;
            let mut part = stream.block(&self.archive, first.saturating_add(group))?;
            let is_last = group.saturating_add(1) == self.len();
            if is_last {
                // The byte between two columns.
                let extra = self.cut_place(column, &place).end.saturating_sub(place.end);
                let extra = usize::try_from(extra).unwrap_or(usize::MAX);
                part.truncate(part.len().saturating_sub(extra));
            }
            (part, is_last)
        } else {
            let content = stream.range(&self.archive, place)?;
            let starts = match stored.part_starts.get() {
                Some(starts) => starts,
                None => {
                    let found = part_starts(&content, &parts.parts, false);
                    let found = found.ok_or_else(|| not_the_parts(VALUES))?;
                    stored.part_starts.get_or_init(|| found)
                }
            };
            part_of(&content, starts, group)
        };
        elements(part, ends_list, count).map_err(|err| err.in_stream(VALUES))
    }

    /// Returns the place of the blocks of a column, with the gap to the next column.
    fn cut_place(&self, column: usize, place: &Range<u64>) -> Range<u64> {
        let next = column.checked_add(1).and_then(|next| self.columns.get(next));
        place.start..next.map_or(place.end, |next| next.place.start)
    }

    /// Returns byte ranges of the archive that a group is decoded from, without the lists that
    /// all groups share.
    ///
    /// Unless all members of objects are needed, only the tape tells which columns of `values`
    /// are.
    pub(crate) fn ranges(&self, group: usize, needs_all: bool) -> Vec<Range<u64>> {
        let is_needed = needs_all || self.archive.codec() != Codec::Json;
        self.ranges_of(group, |_| true, |_| is_needed)
    }

    /// Returns the same ranges of those streams and columns of `values` that are needed.
    pub(crate) fn ranges_of(
        &self,
        group: usize,
        needs_stream: impl Fn(&str) -> bool,
        is_needed: impl Fn(usize) -> bool,
    ) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        for stream in self.streams.iter().filter(|stream| stream.whole_place() != (0..0)) {
            let is_values = stream.name == "values";
            if !stream.has_blocks() || is_values || !needs_stream(stream.name) {
                continue;
            }
            ranges.extend(stream.place(&self.archive, group));
        }
        let values = self.streams.iter().find(|stream| stream.name == "values");
        let Some(values) = values else { return ranges };
        for (column, (stored, parts)) in self.columns.iter().zip(&self.metadata.columns).enumerate()
        {
            if parts.is_cut && is_needed(column) {
                let place = self.cut_place(column, &stored.place);
                let first = values.blocks_of(&self.archive, &place, self.len());
                let block = first.map(|first| first.saturating_add(group));
                ranges.extend(block.and_then(|block| values.place(&self.archive, block)));
            }
        }
        ranges
    }

    /// Decodes the text of a group.
    pub(crate) fn text(&self, group: usize) -> Result<Bytes> {
        let GroupText { bytes, crc, .. } = self.group(group)?;
        let text = match self.archive.codec() {
            Codec::Json => self.json(group, None)?,
            Codec::JsonDoc => self.records(group)?,
            codec => self.lines(group, codec)?,
        };
        if text.len() as u64 != bytes || crc32(&text) != crc {
            let why = format!("of group {group} does not match its checksum");
            return Err(Error::malformed("text", why).in_stream(GROUPS));
        }
        Ok(text.into())
    }

    /// Decodes the text of a group, in which objects may have the named members only.
    pub(crate) fn members(&self, group: usize, names: &[&str]) -> Result<Bytes> {
        if self.archive.codec() != Codec::Json {
            return self.text(group);
        }
        let lines = self.group(group)?.lines;
        let text = self.json(group, Some(names))?;
        let newlines = memchr::memchr_iter(b'\n', &text).count() as u64;
        let is_open = text.last().is_some_and(|&last| last != b'\n');
        if newlines.saturating_add(u64::from(is_open)) != lines {
            let why = format!("of group {group} has other lines than stated");
            return Err(Error::malformed("text", why).in_stream(GROUPS));
        }
        Ok(text.into())
    }

    /// Returns whether the last line of a group has a newline.
    fn ends_with_newline(&self, group: usize) -> bool {
        self.trailing || group.saturating_add(1) < self.len()
    }

    fn json(&self, group: usize, names: Option<&[&str]>) -> Result<Vec<u8>> {
        let tape = self.part("tape", group)?.unwrap_or_default();
        let (keys, rules) = (self.shared("keyvocab"), self.shared("rules"));
        let selection = match names {
            None => None,
            Some(names) => {
                let wanted = StreamCursor::new("keyvocab", keys).lines().map(|key| {
                    let name = serde_json::from_slice::<std::borrow::Cow<'_, str>>(key);
                    // A key that cannot be read may be any name.
                    name.map_or(true, |name| names.contains(&&*name))
                });
                Some(reached_columns(&tape, rules, self.columns.len(), wanted.collect())?)
            }
        };
        let is_needed = |column: usize| {
            let needed = selection.as_ref().map(|selection| selection.columns.get(column));
            needed.is_none_or(|needed| needed.copied().unwrap_or_default())
        };
        let mut columns = Vec::with_capacity(self.columns.len());
        for column in 0..self.columns.len() {
            let part = if is_needed(column) { self.column_part(column, group)? } else { None };
            columns.push(part);
        }
        let verbatim = self.part("verbatim", group)?;
        let flags = self.part("flags", group)?.unwrap_or_default();
        let before = group.checked_sub(1);
        let last = self
            .metadata
            .last
            .iter()
            .filter_map(|(column, tokens)| Some((*column, tokens.get(before?)?.as_ref())));
        let part = JsonPart {
            flags: &flags,
            verbatim: verbatim.as_deref(),
            tape: &tape,
            keys,
            rules,
            columns: columns.iter().map(Option::as_deref).collect(),
            last: last.collect(),
            trailing: self.ends_with_newline(group),
        };
        let mut text = Vec::new();
        let limits = self.archive.limits();
        let mut out = Output::new(&mut text, false, limits);
        part.decode(selection.as_ref(), limits.output_bytes, &mut out)?;
        out.finish(None)?;
        Ok(text)
    }

    /// Decodes a group of a log in records.
    fn records(&self, group: usize) -> Result<Vec<u8>> {
        let (mut index, mut values) = (Vec::new(), Vec::new());
        put::uv(&mut index, self.columns.len() as u64);
        for column in 0..self.columns.len() {
            let part = self.column_part(column, group)?.unwrap_or_default();
            put::uv(&mut index, part.len() as u64);
            values.extend_from_slice(&part);
        }
        let mut streams = vec![
            stored("meta", vec![1].into()),
            stored("value_index", index.into()),
            stored("values", values.into()),
        ];
        for name in ["skeleton", "colids"] {
            streams.push(stored(name, self.part(name, group)?.unwrap_or_default()));
        }
        self.decode(streams)
    }

    /// Decodes a group of a codec whose streams are lists.
    fn lines(&self, group: usize, codec: Codec) -> Result<Vec<u8>> {
        let mut meta = Vec::new();
        put::uv(&mut meta, self.group(group)?.lines);
        meta.push(u8::from(self.ends_with_newline(group)));
        let mut streams = vec![stored("meta", meta.into())];
        for stream in layout(codec).unwrap_or_default() {
            let part = match stream.role {
                StreamRole::Shared => Some(Bytes::copy_from_slice(self.shared(stream.name))),
                _ => self.part(stream.name, group)?,
            };
            streams.push(stored(stream.name, part.unwrap_or_default()));
        }
        self.decode(streams)
    }

    fn decode(&self, streams: Vec<CompressedStream>) -> Result<Vec<u8>> {
        let set = StreamSet { streams };
        let mut text = Vec::new();
        let mut out = Output::new(&mut text, false, self.archive.limits());
        let decode = codecs::entry(self.archive.codec()).decode;
        decode(&self.archive.context(&set), &mut out)?;
        out.finish(None)?;
        Ok(text)
    }
}

fn not_the_parts(name: &'static str) -> Error {
    let why = "its groups do not add up to it";
    Error::malformed("stream", why).in_stream(name)
}

/// Returns a part of a list, and whether the list ends with it.
fn part_of(list: &Bytes, starts: &[usize], group: usize) -> (Bytes, bool) {
    let start = starts.get(group).copied().unwrap_or_default();
    let end = starts.get(group.saturating_add(1)).copied().unwrap_or_default();
    let ends_list = end > list.len();
    let end = end.min(list.len());
    (list.slice(start.min(end)..end), ends_list)
}

fn stored(name: &'static str, bytes: Bytes) -> CompressedStream {
    CompressedStream { name: name.to_owned(), backend: Backend::Stored, offset: 0, bytes }
}

/// Returns the columns of `values`.
fn columns(mut index: StreamCursor<'_>, layout: &[GroupedStream]) -> Result<Vec<Column>> {
    let gap = layout.iter().find_map(|stream| match stream.role {
        StreamRole::Values { gap } => Some(gap as u64),
        _ => None,
    });
    let Some(gap) = gap else { return Ok(Vec::new()) };
    let count = index.count(1, "column count")?;
    let (mut columns, mut start) = (Vec::with_capacity(count), 0_u64);
    for _ in 0..count {
        let len = index.uv("column length")?;
        let too_long = || index.malformed("column length", "runs past the end of `values`");
        let end = start.checked_add(len).ok_or_else(too_long)?;
        columns.push(Column { place: start..end, part_starts: OnceLock::new() });
        start = end.checked_add(gap).ok_or_else(too_long)?;
    }
    Ok(columns)
}
