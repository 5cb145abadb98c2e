//! Row groups: what qcolumnar and qjson share (§6).
//!
//! Structured rows are cut into groups of a fixed number of rows. A group has a
//! block for each column, compressed by itself, which holds the cells of that
//! column as a list. The index says how long each block is, and between what
//! bounds its numbers lie. Groups are expanded and put together in parallel.

use bytes::Bytes;
use memchr::memchr_iter;

use super::{Job, trailing};
use crate::compress::{xz, zstd};
use crate::error::{Error, Result};
use crate::formats::at1::describe::{ColumnInfo, FrameInfo, Zone};
use crate::formats::at1::output::Output;
use crate::formats::at1::streams::{Lines, Stream, Streams, stray};
use crate::parallel;

/// The streams of both codecs that lines are made of; `paths` is for queries.
pub(super) const STREAMS: [&str; 6] =
    ["meta", "template", "row_modes", "verbatim", "index", "blocks"];

/// The tag of a block that is a zstd frame; any other is xz (A9).
const ZSTD: u8 = 1;

/// The `meta` stream.
#[derive(Debug)]
pub(super) struct Meta<'a> {
    pub(super) lines: u64,
    pub(super) trailing: bool,
    pub(super) delimiter: &'a [u8],
    pub(super) columns: usize,
    /// Rows in a group, but for the last.
    pub(super) group_rows: usize,
    /// A type per column: 1 integer, 2 decimal, else text.
    pub(super) types: &'a [u8],
}

impl<'a> Meta<'a> {
    pub(super) fn read(
        streams: &'a Streams,
        prefix: &str,
        delimited: bool,
        job: &Job<'_>,
    ) -> Result<Self> {
        let name = format!("{prefix}meta");
        let mut stream = Stream::new("meta", streams.bytes(&name));
        let lines = stream.uv("line count")?;
        let trailing = trailing(stream.u8("trailing")?, false, job)?;
        let delimiter = if delimited { stream.lp("delimiter")? } else { &[] };
        let columns = stream.size("column count")?;
        let at = stream.clone();
        let group_rows = stream.size("rows per group")?;
        if group_rows == 0 {
            return Err(at.malformed("rows per group", "is 0"));
        }
        let structured = stream.uv("structured rows")?;
        let groups = stream.uv("groups")?;
        if structured.div_ceil(group_rows as u64) != groups {
            let message = format!("{groups} groups are stated for {structured} rows");
            job.deviations.report("A17", 0, message)?;
        }
        let types = stream.take(columns, "column types")?;
        Ok(Self { lines, trailing, delimiter, columns, group_rows, types })
    }
}

/// The lines and blocks of a frame.
#[derive(Debug)]
pub(super) struct Groups<'a> {
    meta: &'a Meta<'a>,
    modes: &'a [u8],
    verbatim: Lines<'a>,
    blocks: Bytes,
    /// Where each block ends in `blocks`, by group and column.
    ends: Vec<usize>,
}

impl<'a> Groups<'a> {
    pub(super) fn new(streams: &'a Streams, prefix: &str, meta: &'a Meta<'a>) -> Result<Self> {
        let lines = usize::try_from(meta.lines).unwrap_or(usize::MAX);
        let modes = streams.bytes(&format!("{prefix}row_modes"));
        let Some(modes) = modes.get(..lines) else {
            let why = format!("has {} bytes for {} lines", modes.len(), meta.lines);
            return Err(Error::malformed("row modes", why).in_stream("row_modes"));
        };
        let structured = modes.iter().filter(|&&mode| mode != 0).count();
        let verbatim = Stream::new("verbatim", streams.bytes(&format!("{prefix}verbatim"))).lines();
        let blocks = streams.shared(&format!("{prefix}blocks"));
        let index = streams.bytes(&format!("{prefix}index"));
        let groups = structured.div_ceil(meta.group_rows);
        let ends = ends(index, groups, meta, blocks.len())?;
        Ok(Self { meta, modes, verbatim, blocks, ends })
    }

    /// The cells of one column in one group.
    fn cells(&self, group: usize, column: usize, job: &Job<'_>) -> Result<Cells> {
        let at = group.saturating_mul(self.meta.columns).saturating_add(column);
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(at).copied().unwrap_or_default();
        let block = self.blocks.slice(start.unwrap_or_default()..end);
        let text = expand(&block, job)
            .map_err(|err| err.at(start.unwrap_or_default() as u64).in_stream("blocks"))
            .map_err(|err| err.in_column(column, ""))?;
        Cells::new(text)
    }
}

/// Where each block ends; blocks that lines need must all be there.
fn ends(index: &[u8], groups: usize, meta: &Meta<'_>, blocks: usize) -> Result<Vec<usize>> {
    let mut ends = Vec::new();
    let mut end = 0_usize;
    let mut stream = Stream::new("index", index);
    for _ in 0..groups {
        for &kind in meta.types {
            let at = stream.clone();
            let (len, _) = index_entry(&mut stream, kind)?;
            end =
                end.checked_add(len).filter(|&end| len > 0 && end <= blocks).ok_or_else(|| {
                    at.malformed("block length", format!("{len} is 0 or runs past the blocks"))
                })?;
            ends.push(end);
        }
    }
    Ok(ends)
}

/// The length of a block and its zone map.
fn index_entry(stream: &mut Stream<'_>, kind: u8) -> Result<(usize, Option<Zone>)> {
    let len = stream.size("block length")?;
    let zone = match kind {
        1 => Some(Zone::Int(stream.sv("least")?, stream.sv("most")?)),
        2 => {
            let mut float = || -> Result<f64> {
                let bytes = stream.take(8, "bound")?;
                let bytes = bytes.first_chunk().copied().unwrap_or_default();
                Ok(f64::from_le_bytes(bytes))
            };
            Some(Zone::Float(float()?, float()?))
        }
        _ => None,
    };
    Ok((len, zone))
}

/// The columns and zone maps of a frame; no block is expanded for it.
pub(super) fn describe(streams: &Streams, prefix: &str, meta: &Meta<'_>) -> Result<FrameInfo> {
    let name = format!("{prefix}paths");
    let mut paths = streams.read(&name);
    let mut names = Vec::new();
    if !paths.is_empty() {
        for _ in 0..paths.count(1, "path count")? {
            names.push(String::from_utf8_lossy(paths.lp("path")?).into_owned());
        }
    }
    let mut names = names.into_iter();
    let mut columns: Vec<ColumnInfo> = meta
        .types
        .iter()
        .map(|kind| {
            let kind = match kind {
                1 => "integer",
                2 => "decimal",
                _ => "text",
            };
            ColumnInfo { name: names.next(), kind, bytes: 0 }
        })
        .collect();
    let index = streams.bytes(&format!("{prefix}index"));
    let mut stream = Stream::new("index", index);
    let mut zones = Vec::new();
    while !stream.is_empty() && !meta.types.is_empty() {
        for (&kind, column) in meta.types.iter().zip(&mut columns) {
            let (len, zone) = index_entry(&mut stream, kind)?;
            column.bytes = column.bytes.saturating_add(len as u64);
            zones.push(zone);
        }
    }
    let group_rows = Some(meta.group_rows as u64);
    Ok(FrameInfo { rows: meta.lines, columns, group_rows, zones })
}

fn expand(block: &Bytes, job: &Job<'_>) -> Result<Vec<u8>> {
    match block.split_first() {
        Some((&ZSTD, frame)) => whole(zstd::expand(frame, job.limits)?, frame, "zstd", job),
        Some((&tag, stream)) => {
            if tag != 0 {
                job.deviations.report("A9", 0, format!("block tag {tag} is read as xz"))?;
            }
            whole(xz::expand(stream, job.limits, 1)?, stream, "xz", job)
        }
        None => Err(Error::malformed("block", "is empty")),
    }
}

/// What a block expanded to; bytes after it are noted.
fn whole(
    (text, used): (Vec<u8>, usize),
    packed: &[u8],
    backend: &str,
    job: &Job<'_>,
) -> Result<Vec<u8>> {
    stray(packed.len(), used, job.offset_of("blocks"), backend, job.deviations)?;
    Ok(text)
}

/// The cells of a block.
#[derive(Debug)]
struct Cells {
    text: Vec<u8>,
    ends: Vec<u32>,
}

impl Cells {
    fn new(text: Vec<u8>) -> Result<Self> {
        let too_long = || Error::malformed("block", "expands to more than 4 GiB");
        let mut ends = Vec::with_capacity(text.len() / 8);
        for newline in memchr_iter(b'\n', &text) {
            ends.push(u32::try_from(newline).map_err(|_| too_long())?);
        }
        ends.push(u32::try_from(text.len()).map_err(|_| too_long())?);
        Ok(Self { text, ends })
    }

    #[inline]
    fn get(&self, row: usize) -> Option<&[u8]> {
        let start = match row.checked_sub(1) {
            None => 0,
            Some(before) => *self.ends.get(before)? as usize + 1,
        };
        self.text.get(start..*self.ends.get(row)? as usize)
    }
}

/// How cells become a line.
#[derive(Debug)]
pub(super) enum Shape<'a> {
    /// A delimiter between them.
    Delimited(&'a [u8]),
    /// Text before, between and after them.
    Template(&'a [&'a [u8]]),
}

/// Lines that belong together: those of one group, and what stands before them.
struct Run<'a> {
    group: usize,
    lines: std::ops::Range<usize>,
    verbatim: Lines<'a>,
}

/// Writes all lines.
pub(super) fn write(
    table: &Groups<'_>,
    shape: &Shape<'_>,
    job: &Job<'_>,
    out: &mut Output<'_>,
) -> Result<()> {
    let runs = runs(table)?;
    let work = |index: usize| match runs.get(index) {
        Some(run) => lines(table, run, shape, job),
        None => Err(Error::invalid_argument("no such group")),
    };
    parallel::in_order(runs.len(), job.threads, work, |_, text| out.put(&text))?;
    if table.meta.trailing {
        out.byte(b'\n')?;
    }
    Ok(())
}

/// Cuts the lines where a new group starts.
fn runs<'a>(table: &Groups<'a>) -> Result<Vec<Run<'a>>> {
    let mut runs = Vec::new();
    let mut verbatim = table.verbatim.clone();
    let mut now = Run { group: 0, lines: 0..0, verbatim: verbatim.clone() };
    let mut structured = 0_usize;
    for (line, &mode) in table.modes.iter().enumerate() {
        if mode == 0 {
            verbatim.line("verbatim line").map_err(|err| err.in_row(line as u64))?;
        } else {
            let group = structured / table.meta.group_rows;
            if group != now.group {
                now.lines.end = line;
                let next = Run { group, lines: line..line, verbatim: verbatim.clone() };
                runs.push(std::mem::replace(&mut now, next));
            }
            structured += 1;
        }
    }
    now.lines.end = table.modes.len();
    runs.push(now);
    Ok(runs)
}

/// The text of a run of lines, each behind its newline.
fn lines(table: &Groups<'_>, run: &Run<'_>, shape: &Shape<'_>, job: &Job<'_>) -> Result<Vec<u8>> {
    let modes = table.modes.get(run.lines.clone()).unwrap_or_default();
    let needed = modes.iter().any(|&mode| mode != 0);
    let columns = if needed { table.meta.columns } else { 0 };
    let cells = (0..columns)
        .map(|column| table.cells(run.group, column, job))
        .collect::<Result<Vec<_>>>()?;
    let mut verbatim = run.verbatim.clone();
    let mut out = Vec::with_capacity(cells.iter().map(|c| c.text.len()).sum::<usize>() * 5 / 4);
    let mut row = 0;
    for (&mode, line) in modes.iter().zip(run.lines.clone()) {
        if line > 0 {
            out.push(b'\n');
        }
        if mode == 0 {
            out.extend_from_slice(verbatim.line("verbatim line")?);
            continue;
        }
        for (column, cells) in cells.iter().enumerate() {
            match shape {
                Shape::Delimited(delimiter) if column > 0 => out.extend_from_slice(delimiter),
                Shape::Delimited(_) => {}
                Shape::Template(segments) => {
                    out.extend_from_slice(segments.get(column).copied().unwrap_or_default());
                }
            }
            let cell = cells.get(row).ok_or_else(|| {
                let why = format!("has only {} cells", cells.ends.len());
                Error::malformed("block", why)
                    .in_row(line as u64)
                    .in_column(column, "")
                    .in_stream("blocks")
            })?;
            out.extend_from_slice(cell);
        }
        if let Shape::Template(segments) = shape {
            out.extend_from_slice(segments.last().copied().unwrap_or_default());
        }
        row += 1;
    }
    Ok(out)
}
