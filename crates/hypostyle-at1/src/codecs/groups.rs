//! Row groups, which qcolumnar, qjson and qjson2 share (§6).
//!
//! Structured rows are split into groups of a fixed number of rows. A group has a block for
//! each column, which is the list of its cells, compressed independently. The index has the
//! length of each block and the statistics of its numbers. Groups are decompressed and
//! assembled in parallel.

use std::ops::Range;

use bytes::Bytes;
use memchr::memchr_iter;

use super::context::DecodeContext;
use super::line_flags::{check_modes, trailing};
use crate::description::{ColumnInfo, FrameInfo};
use crate::output::Output;
use crate::row_buffer::{InlineCell, PaddedDict, RowBuffer};
use crate::statistics::{DECIMAL, GroupStatistics, INTEGER};
use crate::streams::{Backend, LineList, StreamCursor, Streams, report_stray};
use hypostyle_core::buffer_pool::BufferPool;
use hypostyle_core::compress::{xz, zstd};
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::parallel;

/// The streams that lines are decoded from; only queries need `paths`.
pub(super) const STREAMS: [&str; 6] =
    ["meta", "template", "row_modes", "verbatim", "index", "blocks"];

/// The tag of a block that is a zstd frame; every other tag is read as xz (A9).
pub(crate) const ZSTD: u8 = 1;
/// The tag that our writer gives to xz blocks.
pub(crate) const XZ: u8 = 0;

/// The `meta` stream.
#[derive(Debug)]
pub(crate) struct GroupsMeta {
    pub(super) lines: u64,
    pub(crate) trailing: bool,
    pub(crate) delimiter: Vec<u8>,
    pub(crate) columns: usize,
    /// The number of rows in each group but the last.
    pub(crate) group_rows: usize,
    /// The type of each column: 1 integer, 2 decimal, else text.
    pub(crate) types: Vec<u8>,
    /// The stated numbers of structured rows and groups; readers count both instead.
    stated: (u64, u64),
}

impl GroupsMeta {
    /// Reads the `meta` stream of the table whose stream names start with `prefix`.
    pub(crate) fn read(
        streams: &Streams,
        prefix: &str,
        delimited: bool,
        context: &DecodeContext<'_>,
    ) -> Result<Self> {
        let name = format!("{prefix}meta");
        let mut stream = StreamCursor::new("meta", streams.bytes(&name));
        let lines = stream.uv("line count")?;
        let trailing = trailing(stream.u8("trailing")?, false, context)?;
        let delimiter = if delimited { stream.lp("delimiter")?.to_vec() } else { Vec::new() };
        let columns = stream.size("column count")?;
        let at = stream.clone();
        let group_rows = stream.size("rows per group")?;
        if group_rows == 0 {
            return Err(at.malformed("rows per group", "is 0"));
        }
        let structured = stream.uv("structured rows")?;
        let groups = stream.uv("groups")?;
        let types = stream.take(columns, "column types")?.to_vec();
        let stated = (structured, groups);
        Ok(Self { lines, trailing, delimiter, columns, group_rows, types, stated })
    }

    /// Returns a byte for each line: 0 verbatim, else a row.
    pub(crate) fn modes(&self, streams: &Streams, prefix: &str) -> Result<Bytes> {
        let modes = streams.shared(&format!("{prefix}row_modes"));
        let lines = usize::try_from(self.lines).unwrap_or(usize::MAX);
        if lines > modes.len() {
            let why = format!("has {} bytes for {} lines", modes.len(), self.lines);
            return Err(Error::malformed("row modes", why).in_stream("row_modes"));
        }
        Ok(modes.slice(..lines))
    }
}

/// The lines and blocks of one table.
#[derive(Debug)]
pub(super) struct RowGroups<'a> {
    meta: &'a GroupsMeta,
    modes: Bytes,
    verbatim: LineList<'a>,
    blocks: Bytes,
    /// The offset of the blocks in the file, and whether they are stored without compression.
    place: (u64, bool),
    index: BlockIndex,
}

impl<'a> RowGroups<'a> {
    pub(super) fn new(
        streams: &'a Streams,
        prefix: &str,
        meta: &'a GroupsMeta,
        context: &DecodeContext<'_>,
    ) -> Result<Self> {
        let modes = meta.modes(streams, prefix)?;
        check_modes(&modes, &format!("{prefix}row_modes"), context)?;
        let structured = modes.iter().filter(|&&mode| mode != 0).count();
        let verbatim =
            StreamCursor::new("verbatim", streams.bytes(&format!("{prefix}verbatim"))).lines();
        let groups = structured.div_ceil(meta.group_rows);
        if meta.stated != (structured as u64, groups as u64) {
            let (rows, stated) = meta.stated;
            let message = format!(
                "{rows} structured rows in {stated} groups are stated, but there are \
                 {structured} in {groups}"
            );
            context.deviations.report(
                "A17",
                context.offset_of(&format!("{prefix}meta")),
                message,
            )?;
        }
        let name = format!("{prefix}blocks");
        let blocks = streams.shared(&name);
        let place = place(&name, context)?;
        streams.charge::<GroupLines<'_>>(groups, "row groups")?;
        let name = format!("{prefix}index");
        charge_index(streams, &name, groups, meta)?;
        let index = BlockIndex::read(streams.bytes(&name), groups, meta, blocks.len())?;
        if index.odd {
            let message = "a zone map has a bound of more than 128 bits and is ignored";
            context.deviations.report("A11", context.offset_of(&name), message)?;
        }
        Ok(Self { meta, modes, verbatim, blocks, place, index })
    }

    /// Decompresses the list of cells of one column in one group.
    fn cells(&self, group: usize, column: usize, context: &DecodeContext<'_>) -> Result<Vec<u8>> {
        let at = group.saturating_mul(self.meta.columns).saturating_add(column);
        let Range { start, end } = self.index.block(at);
        let block = self.blocks.slice(start..end);
        let place = match self.place {
            (offset, true) => (offset.saturating_add(start as u64), true),
            compressed => compressed,
        };
        decompress(&block, place, context)
            .map_err(|err| err.at(start as u64).in_stream("blocks"))
            .map_err(|err| err.in_column(column, ""))
    }
}

/// Returns the offset of the blocks in the file, and whether they are stored without
/// compression (A15).
fn place(name: &str, context: &DecodeContext<'_>) -> Result<(u64, bool)> {
    let Some(packed) = context.compressed(name) else { return Ok((0, true)) };
    let stored = packed.backend == Backend::Stored;
    if !stored {
        let message = format!("`{name}` is compressed by {}, not stored", packed.backend.name());
        context.deviations.report("A15", packed.offset, message)?;
    }
    Ok((packed.offset, stored))
}

/// The `index` stream: the end and the statistics of each block, group by group.
#[derive(Debug)]
pub(crate) struct BlockIndex {
    /// The end of each block in `blocks`.
    pub(crate) ends: Vec<usize>,
    /// The statistics of each block, for columns of numbers.
    pub(crate) statistics: Vec<Option<GroupStatistics>>,
    /// Whether the statistics of a block were ignored (A11).
    odd: bool,
}

impl BlockIndex {
    /// Returns the range of a block in `blocks`.
    pub(crate) fn block(&self, at: usize) -> Range<usize> {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        start.unwrap_or_default()..self.ends.get(at).copied().unwrap_or_default()
    }

    /// Reads the index of `groups` groups; fails if it runs past `blocks` bytes.
    pub(crate) fn read(
        index: &[u8],
        groups: usize,
        meta: &GroupsMeta,
        blocks: usize,
    ) -> Result<Self> {
        let mut read = Self { ends: Vec::new(), statistics: Vec::new(), odd: false };
        let mut end = 0_usize;
        let mut stream = StreamCursor::new("index", index);
        for _ in 0..groups {
            for &kind in &meta.types {
                let at = stream.clone();
                let (len, statistics) = index_entry(&mut stream, kind)?;
                read.odd |= kind == INTEGER && statistics.is_none();
                end = end.checked_add(len).filter(|&end| len > 0 && end <= blocks).ok_or_else(
                    || at.malformed("block length", format!("{len} is 0 or runs past the blocks")),
                )?;
                read.ends.push(end);
                read.statistics.push(statistics);
            }
        }
        Ok(read)
    }
}

/// Charges the index of `groups` groups to the limit of a read.
pub(crate) fn charge_index(
    streams: &Streams,
    name: &str,
    groups: usize,
    meta: &GroupsMeta,
) -> Result<()> {
    // Each block has at least a byte in the index.
    let blocks = groups.saturating_mul(meta.types.len()).min(streams.bytes(name).len());
    streams.charge::<(usize, Option<GroupStatistics>)>(blocks, "index of blocks")
}

/// Reads the length of a block and its statistics.
fn index_entry(
    stream: &mut StreamCursor<'_>,
    column_type: u8,
) -> Result<(usize, Option<GroupStatistics>)> {
    let len = stream.size("block length")?;
    Ok((len, GroupStatistics::read(stream, column_type)?))
}

/// Returns the prefix of a frame with one table, which is empty.
pub(super) fn one_table(_: &DecodeContext<'_>) -> Result<Vec<String>> {
    Ok(vec![String::new()])
}

/// Describes each table of a frame; decompresses no block.
pub(super) fn describe(
    prefixes: &[String],
    delimited: bool,
    context: &DecodeContext<'_>,
) -> Result<Vec<FrameInfo>> {
    let streams = context.decompress(|name| !name.ends_with("blocks"))?;
    let table = |prefix: &String| {
        let meta = GroupsMeta::read(&streams, prefix, delimited, context)?;
        describe_table(&streams, prefix, &meta, !delimited, context)
    };
    prefixes.iter().map(table).collect()
}

/// Describes the columns and statistics of one table.
fn describe_table(
    streams: &Streams,
    prefix: &str,
    meta: &GroupsMeta,
    named: bool,
    context: &DecodeContext<'_>,
) -> Result<FrameInfo> {
    // Each block has at least a byte in the index.
    let index = streams.bytes(&format!("{prefix}index"));
    context.check_described::<ColumnInfo>(meta.types.len(), "columns")?;
    context.check_described::<Option<GroupStatistics>>(index.len(), "statistics")?;
    let names = if named { paths(streams, prefix, meta, context)? } else { Vec::new() };
    let mut names = names.into_iter();
    let mut columns: Vec<ColumnInfo> = meta
        .types
        .iter()
        .map(|kind| {
            let kind = match *kind {
                INTEGER => "integer",
                DECIMAL => "decimal",
                _ => "text",
            };
            ColumnInfo { name: names.next(), kind, bytes: 0 }
        })
        .collect();
    let mut stream = StreamCursor::new("index", index);
    let mut statistics = Vec::new();
    while !stream.is_empty() && !meta.types.is_empty() {
        for (&kind, column) in meta.types.iter().zip(&mut columns) {
            let (len, of_block) = index_entry(&mut stream, kind)?;
            column.bytes = column.bytes.saturating_add(len as u64);
            statistics.push(of_block);
        }
    }
    let group_rows = Some(meta.group_rows as u64);
    Ok(FrameInfo { rows: meta.lines, columns, group_rows, statistics })
}

/// Reads the names of the columns; returns none if their number does not match (A23).
pub(crate) fn paths(
    streams: &Streams,
    prefix: &str,
    meta: &GroupsMeta,
    context: &DecodeContext<'_>,
) -> Result<Vec<String>> {
    let name = format!("{prefix}paths");
    let mut stream = streams.read(&name);
    let mut read = || -> Result<Vec<String>> {
        let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        (0..stream.count(1, "path count")?).map(|_| stream.lp("path").map(text)).collect()
    };
    match read() {
        Ok(names) if names.len() == meta.columns => Ok(names),
        _ => {
            let message =
                format!("`{name}` does not have a name for each of {} columns", meta.columns);
            context.deviations.report("A23", context.offset_of(&name), message)?;
            Ok(Vec::new())
        }
    }
}

/// Decompresses a block.
///
/// `place` is the offset of the block and `true`, or that of its stream and `false` if the
/// stream is compressed.
pub(crate) fn decompress(
    block: &[u8],
    place: (u64, bool),
    context: &DecodeContext<'_>,
) -> Result<Vec<u8>> {
    let Some((&tag, packed)) = block.split_first() else {
        return Err(Error::malformed("block", "is empty"));
    };
    let ((text, used), backend) = match tag {
        ZSTD => (zstd::decompress(packed, context.limits)?, "zstd"),
        _ => (xz::decompress(packed, context.limits, 1)?, "xz"),
    };
    let (at, exact) = place;
    if tag > ZSTD {
        context.deviations.report("A9", at, format!("block tag {tag} is read as xz"))?;
    }
    // Stray bytes follow the tag and the compressed data.
    let after = if exact { (used as u64).saturating_add(1) } else { 0 };
    report_stray(packed.len(), used, at.saturating_add(after), backend, context.deviations)?;
    Ok(text)
}

/// The text before each cell of a row, and after the last.
#[derive(Debug)]
pub(super) struct CellSeparators {
    entries: PaddedDict,
    /// The texts before cells as inline cells, if all of them are short.
    leads: Option<Vec<InlineCell>>,
}

impl CellSeparators {
    /// Returns separators with a delimiter between cells.
    pub(super) fn delimited(delimiter: &[u8], columns: usize) -> Self {
        let mut entries = PaddedDict::default();
        entries.push(&[]);
        if columns > 1 {
            entries.push(delimiter);
            (2..columns).for_each(|_| entries.push_again());
        }
        Self::new(entries, columns)
    }

    /// Returns separators from the segments of a template.
    pub(super) fn template(segments: &[&[u8]]) -> Self {
        Self::new(segments.iter().copied().collect(), segments.len().saturating_sub(1))
    }

    fn new(entries: PaddedDict, columns: usize) -> Self {
        let leads = (0..columns).map(|column| InlineCell::of_entry(entries.get(column)?)).collect();
        Self { entries, leads }
    }
}

/// The lines from the start of one group to the start of the next.
struct GroupLines<'a> {
    group: usize,
    lines: Range<usize>,
    verbatim: LineList<'a>,
}

/// The lines of a group, and how much of them has been written.
struct GroupWriter<'a> {
    lines: Range<usize>,
    /// The number of cells of the first line that have been written.
    columns: usize,
    /// The blocks of the group, and the offset of the next cell of each.
    blocks: Vec<(Vec<u8>, Option<usize>)>,
    verbatim: LineList<'a>,
}

/// Writes all lines.
pub(super) fn write(
    table: &RowGroups<'_>,
    separators: &CellSeparators,
    context: &DecodeContext<'_>,
    out: &mut Output<'_>,
) -> Result<()> {
    let runs = runs(table)?;
    let buffers = BufferPool::<RowBuffer>::default();
    let decode = |run| {
        let mut writing = table.start(run, context)?;
        let mut buffer = buffers.take();
        table.fill(&mut writing, separators, &mut buffer)?;
        Ok((writing, buffer))
    };
    let threads = table.threads(runs.len(), context);
    parallel::for_each(&runs, threads, decode, |_, (mut writing, mut buffer)| {
        out.put(buffer.text())?;
        while !writing.lines.is_empty() {
            buffer.clear();
            table.fill(&mut writing, separators, &mut buffer)?;
            out.put(buffer.text())?;
        }
        buffer.clear();
        buffers.give(buffer);
        Ok(())
    })?;
    if table.meta.trailing {
        out.byte(b'\n')?;
    }
    Ok(())
}

/// Splits the lines where a new group starts.
fn runs<'a>(table: &RowGroups<'a>) -> Result<Vec<GroupLines<'a>>> {
    let mut runs = Vec::new();
    let mut verbatim = table.verbatim.clone();
    let mut current = GroupLines { group: 0, lines: 0..0, verbatim: verbatim.clone() };
    let mut rows = 0_usize;
    for (line, &mode) in table.modes.iter().enumerate() {
        if mode == 0 {
            verbatim.line("verbatim line").map_err(|err| err.in_row(line as u64))?;
            continue;
        }
        // Without columns there are no blocks, and all lines are one group.
        if rows == table.meta.group_rows && table.meta.columns > 0 {
            current.lines.end = line;
            let group = current.group.saturating_add(1);
            let next = GroupLines { group, lines: line..line, verbatim: verbatim.clone() };
            runs.push(std::mem::replace(&mut current, next));
            rows = 0;
        }
        rows += 1;
    }
    current.lines.end = table.modes.len();
    runs.push(current);
    Ok(runs)
}

impl<'a> RowGroups<'a> {
    /// Returns how many threads may each decompress a group within the limit of a read.
    fn threads(&self, groups: usize, context: &DecodeContext<'_>) -> usize {
        let raw_size = |at: usize| {
            let (&tag, packed) = self.blocks.get(self.index.block(at))?.split_first()?;
            match tag {
                ZSTD => zstd::content_size(packed),
                _ => xz::Blocks::find(packed).map(|blocks| blocks.raw_total()),
            }
        };
        let columns = self.meta.columns;
        let group_size = |group: usize| {
            let blocks =
                group.saturating_mul(columns)..group.saturating_add(1).saturating_mul(columns);
            blocks.map(raw_size).try_fold(0_u64, |sum, size| sum.checked_add(size?))
        };
        // The buffer of the rows takes as much again.
        let largest = (0..groups).map(group_size).try_fold(1_u64, |max, size| Some(max.max(size?)));
        let Some(largest) = largest else { return 1 };
        let fitting = context.limits.read_bytes / largest.saturating_mul(2);
        context.threads.min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1)
    }

    /// Decompresses the blocks of a group.
    fn start(&self, run: &GroupLines<'a>, context: &DecodeContext<'_>) -> Result<GroupWriter<'a>> {
        let modes = self.modes.get(run.lines.clone()).unwrap_or_default();
        let needed = modes.iter().any(|&mode| mode != 0);
        let columns = if needed { self.meta.columns } else { 0 };
        let (mut blocks, mut asked) = (Vec::new(), 0_u64);
        for column in 0..columns {
            let cells = self.cells(run.group, column, context)?;
            asked = asked.saturating_add(cells.len() as u64);
            let (what, limit) = ("size of a row group", context.limits.read_bytes);
            if asked > limit {
                return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
            }
            blocks.push((cells, Some(0)));
        }
        let (lines, verbatim) = (run.lines.clone(), run.verbatim.clone());
        Ok(GroupWriter { lines, columns: 0, blocks, verbatim })
    }

    /// Appends lines, each after a newline, until they end or the buffer is full.
    fn fill(
        &self,
        writing: &mut GroupWriter<'_>,
        separators: &CellSeparators,
        buffer: &mut RowBuffer,
    ) -> Result<()> {
        let GroupWriter { lines, columns, blocks, verbatim } = writing;
        let cells: usize = blocks.iter().map(|(block, _)| block.len()).sum();
        buffer.reserve(cells.saturating_mul(5) / 4);
        let mut lists: Vec<Option<&[u8]>> =
            blocks.iter().map(|(block, at)| at.and_then(|at| block.get(at..))).collect();
        let modes = self.modes.get(lines.clone()).unwrap_or_default();
        for &mode in modes {
            let line = lines.start;
            if *columns == 0 && line > 0 {
                buffer.byte(b'\n');
            }
            if mode == 0 {
                buffer.put(verbatim.line("verbatim line")?);
            } else {
                if let Some(leads) = separators.leads.as_ref().filter(|_| *columns == 0) {
                    *columns = buffer.lines(leads, &mut lists);
                    if *columns < self.meta.columns {
                        return Err(too_few(blocks, line, *columns));
                    }
                }
                for (column, list) in lists.iter_mut().enumerate().skip(*columns) {
                    if let Some(before) = separators.entries.get(column) {
                        buffer.entry(before);
                    }
                    if !buffer.line(list) {
                        return Err(too_few(blocks, line, column));
                    }
                    if buffer.is_full() {
                        *columns = column + 1;
                        break;
                    }
                }
                if buffer.is_full() && *columns < self.meta.columns {
                    break;
                }
                if let Some(after) = separators.entries.get(self.meta.columns) {
                    buffer.entry(after);
                }
                *columns = 0;
            }
            lines.start += 1;
            if buffer.is_full() {
                break;
            }
        }
        let remaining: Vec<Option<usize>> =
            lists.into_iter().map(|list| list.map(<[u8]>::len)).collect();
        for ((block, at), rest) in blocks.iter_mut().zip(remaining) {
            *at = rest.and_then(|rest| block.len().checked_sub(rest));
        }
        Ok(())
    }
}

fn too_few(blocks: &[(Vec<u8>, Option<usize>)], line: usize, column: usize) -> Error {
    let cells = blocks.get(column).map_or(0, |(block, _)| memchr_iter(b'\n', block).count() + 1);
    Error::malformed("block", format!("has only {cells} cells"))
        .in_row(line as u64)
        .in_column(column, "")
        .in_stream("blocks")
}
