//! Row groups: blocks of cells, their index, and what we add to it (§6).

pub(super) mod index;
pub(super) mod qcolumnar;
pub(super) mod qjson;
pub(super) mod zones;

use crate::cell_syntax::Syntax;
use crate::codecs::groups::{XZ, ZSTD};
use crate::group_index::{INDEX, SUMS};
use crate::pack::groups::index::{Group, Index};
use crate::pack::groups::zones::Type;
use crate::pack::options::PackOptions;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream};
use hypostyle_core::compress::xz::encode::{self as xz, Effort, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// How much larger an archive may become, roughly, for having groups.
const PRICE: f64 = 0.023;

/// How much more a quick compressor may find to write for it.
const FAR: f64 = 0.04;

/// Bytes of the table that are looked at for that.
const SEEN: usize = 64 << 20;

/// Bytes of a column that tunings are judged by.
const SAMPLE: usize = 192 << 10;

/// Blocks that take more are not tried with zstd: it is better at little things only.
const LITTLE: usize = 2 << 10;

const TUNINGS: [Tuning; 4] = [Tuning::flat(3), Tuning::flat(4), Tuning::flat(0), Tuning::flat(2)];

/// Rows of cells.
pub(in crate::pack) trait Grid: Sync {
    fn rows(&self) -> usize;
    fn columns(&self) -> usize;
    fn cell(&self, row: usize, column: usize) -> &[u8];
}

/// A table that is to be written in groups.
pub(in crate::pack) struct Table<'a> {
    pub(in crate::pack) grid: &'a dyn Grid,
    pub(in crate::pack) syntax: Syntax,
    /// What the names of its streams start with.
    pub(in crate::pack) prefix: String,
    /// The delimiter, where there is one.
    pub(in crate::pack) delimiter: Option<&'a [u8]>,
    pub(in crate::pack) trailing: bool,
    /// For each line whether it is a row.
    pub(in crate::pack) modes: &'a [u8],
    pub(in crate::pack) verbatim: Vec<u8>,
    /// Streams that only one codec has.
    pub(in crate::pack) more: Vec<(&'static str, Vec<u8>)>,
}

/// A table as streams.
pub(in crate::pack) struct Written {
    /// Everything but the blocks.
    pub(in crate::pack) streams: Vec<Stream>,
    pub(in crate::pack) blocks: Stream,
    /// What we add to the index of blocks: see [`additions`].
    index: Vec<u8>,
    /// Bytes of each block.
    lens: Vec<usize>,
}

/// What is known of a column before its blocks are made.
struct Column {
    kind: Type,
    tuning: Tuning,
    /// Bytes of its cells.
    bytes: usize,
    /// Bytes that it takes in one block, roughly.
    size: f64,
}

impl Table<'_> {
    /// The streams of the table.
    pub(in crate::pack) fn write(
        self,
        search: &SearchParams,
        options: &PackOptions,
        threads: usize,
    ) -> Result<Written> {
        let indexed = options.index;
        let mut columns = Vec::with_capacity(self.grid.columns());
        let judge = |column| self.judge(column, search);
        parallel::in_order(self.grid.columns(), threads, judge, |_, column| {
            columns.push(column);
            Ok(())
        })?;
        let rows = self.grid.rows();
        let per_group = match options.rows_per_group {
            Some(rows) => rows.get(),
            None => rows.div_ceil(self.groups(&columns, threads)?).max(1),
        };
        let groups = rows.div_ceil(per_group);
        let width = columns.len();
        let (mut index, mut blocks, mut lens) = (Vec::new(), Vec::new(), Vec::new());
        let kinds: Vec<Type> = columns.iter().map(|column| column.kind).collect();
        let mut added = Index::new(&kinds);
        let work = |at: usize| {
            let (group, column) = (at / width.max(1), at % width.max(1));
            let range = group * per_group..rows.min((group + 1) * per_group);
            let known = columns.get(column);
            let (kind, tuning) = known.map_or((Type::Text, TUNINGS[0]), |it| (it.kind, it.tuning));
            let cells = range.map(|row| self.grid.cell(row, column));
            let last = column + 1 == width;
            let statistics =
                zones::statistics(kind, cells.clone().map(|cell| self.plain(cell, last)));
            let seen = (indexed && kind.id() == 0 && groups > 1)
                .then(|| Group::of(cells.clone().filter_map(|cell| self.syntax.value(cell, last))));
            let text = cells.collect::<Vec<_>>().join(&b'\n');
            Ok((statistics, seen, block(&text, tuning, search)?))
        };
        parallel::in_order(groups * width, threads, work, |_, (statistics, seen, block)| {
            put::uv(&mut index, block.len() as u64);
            if let Some(statistics) = statistics {
                statistics.write(&mut index);
            }
            added.push(seen, block.len());
            lens.push(block.len());
            blocks.extend_from_slice(&block);
            Ok(())
        })?;
        let mut meta = Vec::new();
        put::uv(&mut meta, self.modes.len() as u64);
        meta.push(self.trailing.into());
        if let Some(delimiter) = self.delimiter {
            put::lp(&mut meta, delimiter);
        }
        for number in [width, per_group, rows, groups] {
            put::uv(&mut meta, number as u64);
        }
        meta.extend(columns.iter().map(|column| column.kind.id()));
        let named = |name: &str| format!("{}{name}", self.prefix);
        let small = |name: &str, content: &[u8]| {
            let body = Body::smallest(content, search.layout)?;
            Ok::<_, hypostyle_core::error::Error>(Stream { name: named(name).into(), body })
        };
        let mut streams = vec![small("meta", &meta)?];
        for (name, content) in &self.more {
            streams.push(small(name, content)?);
        }
        streams.push(small("row_modes", self.modes)?);
        streams.push(small("verbatim", &self.verbatim)?);
        streams.push(small("index", &index)?);
        let blocks = Stream { name: named("blocks").into(), body: Body::stored(blocks) };
        Ok(Written { streams, blocks, index: added.finish(), lens })
    }

    /// The type of a column, and how its blocks are best compressed.
    fn judge(&self, column: usize, search: &SearchParams) -> Result<Column> {
        let rows = self.grid.rows();
        let last = column + 1 == self.grid.columns();
        let mut kind = Type::Nothing;
        let mut bytes = 0;
        for row in 0..rows {
            let cell = self.grid.cell(row, column);
            bytes += cell.len() + 1;
            if kind < Type::Text {
                kind = kind.max(Type::of(self.plain(cell, last)));
            }
        }
        let wanted = if bytes <= SAMPLE { rows } else { (rows * SAMPLE / bytes).max(1) };
        let start = (rows - wanted) / 2;
        let sample = (start..start + wanted).map(|row| self.grid.cell(row, column));
        let sample = sample.collect::<Vec<_>>().join(&b'\n');
        let mut best = (f64::INFINITY, TUNINGS[0]);
        for tuning in TUNINGS {
            let size = search.trial(&sample, tuning)?;
            if size < best.0 {
                best = (size, tuning.with_effort(search.effort));
            }
            if search.is_quick() || size < 256.0 {
                break;
            }
        }
        let size = best.0 * bytes as f64 / (sample.len().max(1)) as f64;
        Ok(Column { kind, tuning: best.1, bytes, size })
    }

    /// A cell without the carriage return that ends a line of delimited text.
    fn plain<'c>(&self, cell: &'c [u8], last: bool) -> &'c [u8] {
        match cell.strip_suffix(b"\r") {
            Some(rest) if last && self.syntax != Syntax::Json => rest,
            _ => cell,
        }
    }

    /// How many groups the table can have without becoming much larger.
    fn groups(&self, columns: &[Column], threads: usize) -> Result<usize> {
        let size: f64 = columns.iter().map(|column| column.size).sum();
        // A block starts without knowing what those before it have learnt.
        let price: f64 = columns.iter().map(|column| 45.0 + (column.size / 8.0).min(1000.0)).sum();
        #[expect(clippy::cast_possible_truncation, reason = "far below")]
        #[expect(clippy::cast_sign_loss, reason = "never negative")]
        let mut groups = (size * PRICE / price.max(1.0)) as usize + 1;
        // And without what they said: texts that come again far away.
        let bytes: usize = columns.iter().map(|column| column.bytes).sum();
        let rows = match self.grid.rows() {
            rows if bytes <= SEEN => rows,
            rows => rows * (SEEN >> 10) / (bytes >> 10),
        };
        let whole = self.far(rows, rows, threads)?;
        while groups > 1 {
            let per_group = self.grid.rows().div_ceil(groups);
            let less = groups - groups.div_ceil(4);
            // Cut the same way, it would come to the same.
            let is_new = per_group < self.grid.rows().div_ceil(less.max(1));
            if is_new && self.far(rows, per_group, threads)? as f64 <= whole as f64 * (1.0 + FAR) {
                break;
            }
            groups = less;
        }
        Ok(groups.max(1))
    }

    /// Bytes of the first rows in groups by a compressor that is quick, but finds what
    /// comes again from anywhere.
    fn far(&self, rows: usize, per_group: usize, threads: usize) -> Result<usize> {
        let mut total = 0;
        let work = |column| {
            let mut total = 0;
            for start in (0..rows).step_by(per_group.max(1)) {
                let cells = start..rows.min(start + per_group);
                let cells = cells.map(|row| self.grid.cell(row, column)).collect::<Vec<_>>();
                total += zstd::compress_far(&cells.join(&b'\n'), 3)?.len();
            }
            Ok(total)
        };
        parallel::in_order(self.grid.columns(), threads, work, |_, bytes| {
            total += bytes;
            Ok(())
        })?;
        Ok(total)
    }
}

/// A block: a tag, and the smaller of what xz and zstd make of the cells.
fn block(text: &[u8], tuning: Tuning, search: &SearchParams) -> Result<Vec<u8>> {
    let tagged = |tag, bytes: Vec<u8>| [&[tag][..], &bytes].concat();
    if search.is_quick() {
        return Ok(tagged(ZSTD, zstd::compress(text, search.zstd)?));
    }
    let mut best = tagged(XZ, xz::compress(text, tuning)?);
    let mut tunings = Vec::new();
    if best.len() < LITTLE {
        let zstd = tagged(ZSTD, zstd::compress(text, 19)?);
        if zstd.len() < best.len() {
            best = zstd;
        }
        tunings.extend([Tuning::flat(0), Tuning::pairs(0)]);
    }
    if search.effort == Effort::Extreme {
        tunings.extend(TUNINGS.map(|tuning| tuning.with_effort(search.effort)));
    }
    for tuning in tunings {
        let other = tagged(XZ, xz::compress(text, tuning)?);
        if other.len() < best.len() {
            best = other;
        }
    }
    Ok(best)
}

/// A checksum covers as many blocks as it takes to come to this many bytes.
const COVERED: usize = 400;

/// All streams of some tables: `first`, then what is small, then what we add, then
/// the blocks, so that a reader finds everything else near the start.
pub(in crate::pack) fn set(
    tables: Vec<Written>,
    first: Vec<Stream>,
    search: &SearchParams,
    options: &PackOptions,
) -> Result<Vec<Stream>> {
    let added = if options.index { additions(&tables, search)? } else { Vec::new() };
    let mut streams = first;
    let mut blocks = Vec::with_capacity(tables.len());
    for table in tables {
        streams.extend(table.streams);
        blocks.push(table.blocks);
    }
    streams.extend(added);
    streams.extend(blocks);
    Ok(streams)
}

/// The streams that we add for some tables, in their order (§6.5).
fn additions(tables: &[Written], search: &SearchParams) -> Result<Vec<Stream>> {
    let mut streams = Vec::new();
    let mut add = |name: &'static str, content: &[u8]| -> Result<()> {
        let body = Body::smallest(content, search.layout)?;
        streams.push(Stream { name: name.into(), body });
        Ok(())
    };
    if tables.iter().any(|table| !table.index.is_empty()) {
        let mut index = Vec::new();
        tables.iter().for_each(|table| put::lp(&mut index, &table.index));
        add(INDEX, &index)?;
    }
    let bytes: usize = tables.iter().flat_map(|table| &table.lens).sum();
    let count: usize = tables.iter().map(|table| table.lens.len()).sum();
    let span = (COVERED * count).div_ceil(bytes.max(1)).max(1);
    let mut sums = Vec::new();
    put::uv(&mut sums, span as u64);
    for Written { blocks, lens, .. } in tables {
        let mut rest = blocks.body.bytes.as_slice();
        for run in lens.chunks(span) {
            let (covered, after) = rest.split_at_checked(run.iter().sum()).unwrap_or((rest, &[]));
            sums.extend_from_slice(&hypostyle_core::wire::crc32(covered).to_le_bytes());
            rest = after;
        }
    }
    add(SUMS, &sums)?;
    Ok(streams)
}
