//! The content of the stream `hyp.groups`.

#![deny(clippy::arithmetic_side_effects)]

use bytes::Bytes;

use super::GROUPS;
use super::lists::{GroupedStream, StreamRole};
use crate::streams::StreamCursor;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::wire::{crc32, put};

/// The version of the content.
const VERSION: u8 = 1;

/// The fewest bytes of a group: lines, bytes of text and a checksum.
const MIN_GROUP_BYTES: usize = 6;

/// The deepest path of statistics.
const MAX_DEPTH: usize = 64;

/// What the stream says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupsMetadata {
    pub(crate) groups: Vec<GroupText>,
    /// The streams of the codec, in the order of its table.
    pub(crate) streams: Vec<StreamParts>,
    /// The columns of `values`.
    pub(crate) columns: Vec<ColumnParts>,
    /// The columns that rules refer to, and their last token at the start of each group but
    /// the first.
    pub(crate) last: Vec<(usize, Vec<Bytes>)>,
    /// The values that have statistics.
    pub(crate) paths: Vec<StatisticsPath>,
    /// The statistics of these values (§6.7).
    pub(crate) statistics: Bytes,
}

/// The text of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupText {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
    pub(crate) crc: u32,
}

/// The parts of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamParts {
    /// The checksum of the content; `None` if its xz blocks have checks.
    pub(crate) crc: Option<u32>,
    /// The elements or bytes of each group, if the stream is a list.
    pub(crate) parts: Vec<u64>,
}

/// The parts of a column of `values`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnParts {
    pub(crate) is_cut: bool,
    /// The elements of each group.
    pub(crate) parts: Vec<u64>,
}

/// A value of the table: a column, or a value in its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatisticsPath {
    pub(crate) column: usize,
    pub(crate) keys: Vec<String>,
}

impl GroupsMetadata {
    /// Returns the content of the stream.
    pub(crate) fn content(&self, layout: &[GroupedStream]) -> Vec<u8> {
        let mut out = vec![VERSION];
        put::uv(&mut out, self.groups.len() as u64);
        self.groups.iter().for_each(|group| put::uv(&mut out, group.lines));
        self.groups.iter().for_each(|group| put::uv(&mut out, group.bytes));
        self.groups.iter().for_each(|group| out.extend_from_slice(&group.crc.to_le_bytes()));
        for (stream, StreamParts { crc, parts }) in layout.iter().zip(&self.streams) {
            out.push(u8::from(crc.is_none()));
            out.extend(crc.map(u32::to_le_bytes).iter().flatten());
            if stream.has_parts() {
                parts.iter().for_each(|&part| put::uv(&mut out, part));
            }
        }
        for ColumnParts { is_cut, parts } in &self.columns {
            out.push(u8::from(*is_cut));
            parts.iter().for_each(|&part| put::uv(&mut out, part));
        }
        self.last.iter().flat_map(|(_, tokens)| tokens).for_each(|token| put::lp(&mut out, token));
        put::uv(&mut out, self.paths.len() as u64);
        for StatisticsPath { column, keys } in &self.paths {
            put::uv(&mut out, *column as u64);
            put::uv(&mut out, keys.len() as u64);
            keys.iter().for_each(|key| put::lp(&mut out, key.as_bytes()));
        }
        out.extend_from_slice(&self.statistics);
        let sum = crc32(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// Parses the content of the stream; `None` if a later version of it has been written.
    ///
    /// `columns` is the number of columns of `values`, and `sources` are those that rules refer
    /// to.
    pub(crate) fn parse(
        content: &Bytes,
        layout: &[GroupedStream],
        columns: usize,
        sources: &[usize],
    ) -> Result<Option<Self>> {
        if content.first().is_some_and(|&version| version != VERSION) {
            return Ok(None);
        }
        let malformed = |why: &'static str| Error::malformed("line groups", why).in_stream(GROUPS);
        let Some((inner, sum)) = content.split_last_chunk::<4>() else {
            return Err(malformed("are too short"));
        };
        if crc32(inner) != u32::from_le_bytes(*sum) {
            return Err(malformed("do not match their checksum"));
        }
        let mut stream = StreamCursor::new(GROUPS, inner);
        stream.u8("version")?;
        let count = stream.count(MIN_GROUP_BYTES, "group count")?;
        if count < 2 {
            return Err(malformed("are fewer than two"));
        }
        let mut found = Self::default();
        let lines = numbers(&mut stream, count, "lines of a group")?;
        let bytes = numbers(&mut stream, count, "text of a group")?;
        for (lines, bytes) in lines.into_iter().zip(bytes) {
            if lines == 0 {
                return Err(malformed("have one without lines"));
            }
            found.groups.push(GroupText { lines, bytes, crc: u32_le(&mut stream)? });
        }
        let mut has_checked_values = false;
        for grouped in layout {
            let crc = if bit(&mut stream)? { None } else { Some(u32_le(&mut stream)?) };
            let parts = if grouped.has_parts() {
                numbers(&mut stream, count, "part of a stream")?
            } else {
                Vec::new()
            };
            if matches!(grouped.role, StreamRole::Values { .. }) {
                has_checked_values = crc.is_none();
            } else if matches!(grouped.role, StreamRole::Shared | StreamRole::Flags)
                && crc.is_none()
            {
                return Err(malformed("cut a stream that cannot be cut"));
            }
            found.streams.push(StreamParts { crc, parts });
        }
        for _ in 0..columns {
            let is_cut = bit(&mut stream)?;
            if is_cut && !has_checked_values {
                return Err(malformed("cut a column of a stream without blocks"));
            }
            let parts = numbers(&mut stream, count, "part of a column")?;
            found.columns.push(ColumnParts { is_cut, parts });
        }
        let token = |stream: &mut StreamCursor<'_>| -> Result<Bytes> {
            Ok(content.slice_ref(stream.lp("last token")?))
        };
        for &source in sources {
            let tokens = (1..count).map(|_| token(&mut stream)).collect::<Result<_>>()?;
            found.last.push((source, tokens));
        }
        for _ in 0..stream.count(2, "number of statistics")? {
            let column = stream.size("column of statistics")?;
            let depth = stream.count(1, "depth of statistics")?;
            if depth > MAX_DEPTH {
                return Err(malformed("have statistics that are nested too deeply"));
            }
            let mut keys = Vec::with_capacity(depth);
            for _ in 0..depth {
                let key = std::str::from_utf8(stream.lp("key of statistics")?);
                keys.push(key.map_err(|_| malformed("have a key that is not UTF-8"))?.to_owned());
            }
            found.paths.push(StatisticsPath { column, keys });
        }
        found.statistics = content.slice_ref(stream.rest());
        Ok(Some(found))
    }
}

/// Returns the lines and the bytes of text of each group that the content of a stream states.
pub(crate) fn text_sizes(content: &[u8]) -> Result<Vec<(u64, u64)>> {
    let mut stream = StreamCursor::new(GROUPS, content);
    stream.u8("version")?;
    let count = stream.count(MIN_GROUP_BYTES, "group count")?;
    let lines = numbers(&mut stream, count, "lines of a group")?;
    let bytes = numbers(&mut stream, count, "text of a group")?;
    Ok(lines.into_iter().zip(bytes).collect())
}

fn numbers(stream: &mut StreamCursor<'_>, count: usize, what: &'static str) -> Result<Vec<u64>> {
    (0..count).map(|_| stream.uv(what)).collect()
}

fn u32_le(stream: &mut StreamCursor<'_>) -> Result<u32> {
    let bytes = stream.take(4, "checksum")?;
    Ok(u32::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default()))
}

fn bit(stream: &mut StreamCursor<'_>) -> Result<bool> {
    let at = stream.offset();
    match stream.u8("form")? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(stream.malformed_at(at, "form", format!("{other} is not 0 or 1"))),
    }
}
