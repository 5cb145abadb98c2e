//! Writes a table in row groups: blocks of cells, their index, and our additions (§6).

use crate::cell_syntax::Syntax;
use crate::codecs::groups::{XZ, ZSTD};
use crate::group_index::{INDEX, MAX_SPAN, SUMS};
use crate::pack::groups::text_index::{TextIndexBuilder, TextStatistics};
use crate::pack::groups::zones::{self, ZoneType};
use crate::pack::options::PackOptions;
use crate::pack::sample::middle_run;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream};
use crate::statistics::GroupStatistics;
use hypostyle_core::compress::xz::encode::{self as xz, Effort, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// How much larger row groups may make an archive, as a fraction, by estimate.
const MAX_GROUP_OVERHEAD: f64 = 0.023;

/// How much larger row groups may make the output of zstd, as a fraction.
const MAX_ZSTD_OVERHEAD: f64 = 0.04;

/// Bytes of cells that zstd compresses to measure this.
const MAX_ZSTD_BYTES: usize = 64 << 20;

/// Bytes of a column by which tunings are compared.
const SAMPLE_BYTES: usize = 192 << 10;

/// A sample that compresses to less is not tried with more tunings.
const TINY_SAMPLE_BYTES: f64 = 256.0;

/// Larger blocks are not tried with zstd, which only wins on small ones.
const MAX_ZSTD_BLOCK_BYTES: usize = 2 << 10;

/// Bytes of blocks that a checksum covers, on average.
const CHECKSUM_SPAN_BYTES: usize = 400;

const TUNINGS: [Tuning; 4] = [Tuning::flat(3), Tuning::flat(4), Tuning::flat(0), Tuning::flat(2)];

/// Rows and columns of cells.
pub(in crate::pack) trait CellGrid: Sync {
    fn rows(&self) -> usize;
    fn columns(&self) -> usize;
    fn cell(&self, row: usize, column: usize) -> &[u8];
}

/// A table to be written in row groups.
pub(in crate::pack) struct RowGroupTable<'a> {
    pub(in crate::pack) grid: &'a dyn CellGrid,
    pub(in crate::pack) syntax: Syntax,
    /// The prefix of the names of its streams.
    pub(in crate::pack) prefix: String,
    /// The delimiter; `None` for JSON.
    pub(in crate::pack) delimiter: Option<&'a [u8]>,
    /// Whether the text ends with a newline.
    pub(in crate::pack) trailing: bool,
    /// 1 for each line that is a row, 0 for each that is not.
    pub(in crate::pack) modes: &'a [u8],
    /// The lines that are not rows, joined by newlines.
    pub(in crate::pack) verbatim: Vec<u8>,
    /// Streams that only one codec has: names and contents.
    pub(in crate::pack) extra_streams: Vec<(&'static str, Vec<u8>)>,
}

/// The streams of a table.
pub(in crate::pack) struct EncodedTable {
    /// All streams but the blocks.
    streams: Vec<Stream>,
    blocks: Stream,
    /// The text index; empty if it would skip no group.
    text_index: Vec<u8>,
    /// Bytes of each block.
    block_lens: Vec<usize>,
}

/// What the writer learns of a column before it compresses its blocks.
struct ColumnProfile {
    zone_type: ZoneType,
    tuning: Tuning,
    /// Bytes of its cells, each with a newline.
    bytes: usize,
    /// The estimated bytes of the column as a single block.
    estimate: f64,
}

/// The cells of one column in one row group.
struct ColumnChunk<'p> {
    column: usize,
    profile: &'p ColumnProfile,
    rows: std::ops::Range<usize>,
}

impl RowGroupTable<'_> {
    /// Compresses the cells and returns the streams of the table.
    pub(in crate::pack) fn encode(
        self,
        search: &SearchParams,
        options: &PackOptions,
        threads: usize,
    ) -> Result<EncodedTable> {
        let numbers: Vec<usize> = (0..self.grid.columns()).collect();
        let profiles = parallel::map(&numbers, threads, |&column| self.profile(column, search))?;
        let rows = self.grid.rows();
        let per_group = match options.rows_per_group {
            Some(rows) => rows.get(),
            None => rows.div_ceil(self.group_count(&profiles, threads)?).max(1),
        };
        let groups = rows.div_ceil(per_group);
        let width = profiles.len();
        let chunks: Vec<ColumnChunk<'_>> = (0..groups)
            .map(|group| group * per_group..rows.min((group + 1) * per_group))
            .flat_map(|rows| {
                let columns = profiles.iter().enumerate();
                columns.map(move |(column, profile)| ColumnChunk {
                    column,
                    profile,
                    rows: rows.clone(),
                })
            })
            .collect();
        let indexed = options.index && groups > 1;
        let (mut index, mut blocks, mut block_lens) = (Vec::new(), Vec::new(), Vec::new());
        let mut text_index =
            TextIndexBuilder::new(profiles.iter().map(|profile| profile.zone_type.is_text()));
        parallel::for_each(
            &chunks,
            threads,
            |chunk| self.encode_chunk(chunk, indexed, search),
            |_, (statistics, texts, block)| {
                put::uv(&mut index, block.len() as u64);
                if let Some(statistics) = statistics {
                    statistics.write(&mut index);
                }
                text_index.push(texts, block.len());
                block_lens.push(block.len());
                blocks.extend_from_slice(&block);
                Ok(())
            },
        )?;
        let mut meta = Vec::new();
        put::uv(&mut meta, self.modes.len() as u64);
        meta.push(self.trailing.into());
        if let Some(delimiter) = self.delimiter {
            put::lp(&mut meta, delimiter);
        }
        for number in [width, per_group, rows, groups] {
            put::uv(&mut meta, number as u64);
        }
        meta.extend(profiles.iter().map(|profile| profile.zone_type.id()));
        let named = |name: &str| format!("{}{name}", self.prefix);
        let small = |name: &str, content: &[u8]| {
            let body = Body::smallest(content, search.layout)?;
            Ok::<_, Error>(Stream { name: named(name).into(), body })
        };
        let mut streams = vec![small("meta", &meta)?];
        for (name, content) in &self.extra_streams {
            streams.push(small(name, content)?);
        }
        streams.push(small("row_modes", self.modes)?);
        streams.push(small("verbatim", &self.verbatim)?);
        streams.push(small("index", &index)?);
        let blocks = Stream { name: named("blocks").into(), body: Body::stored(blocks) };
        Ok(EncodedTable { streams, blocks, text_index: text_index.finish(), block_lens })
    }

    /// Returns the bounds of the numbers of a chunk, the statistics of its texts if it has
    /// texts and is `indexed`, and its block.
    fn encode_chunk(
        &self,
        chunk: &ColumnChunk<'_>,
        indexed: bool,
        search: &SearchParams,
    ) -> Result<(Option<GroupStatistics>, Option<TextStatistics>, Vec<u8>)> {
        let ColumnProfile { zone_type, tuning, .. } = *chunk.profile;
        let cells = chunk.rows.clone().map(|row| self.grid.cell(row, chunk.column));
        let last = chunk.column + 1 == self.grid.columns();
        let plain = cells.clone().map(|cell| self.plain(cell, last));
        let statistics = zones::statistics(zone_type, plain);
        let texts = (indexed && zone_type.is_text()).then(|| {
            TextStatistics::of(cells.clone().filter_map(|cell| self.syntax.value(cell, last)))
        });
        let text = cells.collect::<Vec<_>>().join(&b'\n');
        Ok((statistics, texts, block(&text, tuning, search)?))
    }

    /// Finds the type of a column and the tuning for its blocks.
    fn profile(&self, column: usize, search: &SearchParams) -> Result<ColumnProfile> {
        let rows = self.grid.rows();
        let last = column + 1 == self.grid.columns();
        let mut zone_type = ZoneType::Unknown;
        let mut bytes = 0;
        for row in 0..rows {
            let cell = self.grid.cell(row, column);
            bytes += cell.len() + 1;
            if zone_type < ZoneType::Text {
                zone_type = zone_type.max(ZoneType::of(self.plain(cell, last)));
            }
        }
        let sample_rows =
            if bytes <= SAMPLE_BYTES { rows } else { (rows * SAMPLE_BYTES / bytes).max(1) };
        let sample = middle_run(rows, sample_rows).map(|row| self.grid.cell(row, column));
        let sample = sample.collect::<Vec<_>>().join(&b'\n');
        let mut best = (f64::INFINITY, TUNINGS[0]);
        for tuning in TUNINGS {
            let size = search.estimate(&sample, tuning)?;
            if size < best.0 {
                best = (size, tuning.with_effort(search.effort));
            }
            if search.is_quick() || size < TINY_SAMPLE_BYTES {
                break;
            }
        }
        let (size, tuning) = best;
        let estimate = size * bytes as f64 / (sample.len().max(1)) as f64;
        Ok(ColumnProfile { zone_type, tuning, bytes, estimate })
    }

    /// Returns a cell without the carriage return at the end of a line of delimited text.
    fn plain<'c>(&self, cell: &'c [u8], last: bool) -> &'c [u8] {
        match cell.strip_suffix(b"\r") {
            Some(rest) if last && self.syntax != Syntax::Json => rest,
            _ => cell,
        }
    }

    /// Returns how many groups the table can have without growing too much.
    fn group_count(&self, columns: &[ColumnProfile], threads: usize) -> Result<usize> {
        let size: f64 = columns.iter().map(|column| column.estimate).sum();
        // Each block has a header, and the compressor learns its statistics anew.
        let group_cost: f64 =
            columns.iter().map(|column| 45.0 + (column.estimate / 8.0).min(1000.0)).sum();
        #[expect(clippy::cast_possible_truncation, reason = "far below the limit")]
        #[expect(clippy::cast_sign_loss, reason = "estimates are not negative")]
        let mut groups = (size * MAX_GROUP_OVERHEAD / group_cost.max(1.0)) as usize + 1;
        // A block also loses matches with earlier blocks, which zstd measures.
        let bytes: usize = columns.iter().map(|column| column.bytes).sum();
        let rows = match self.grid.rows() {
            rows if bytes <= MAX_ZSTD_BYTES => rows,
            rows => rows * (MAX_ZSTD_BYTES >> 10) / (bytes >> 10),
        };
        let whole = self.zstd_size(rows, rows, threads)?;
        let max_size = whole as f64 * (1.0 + MAX_ZSTD_OVERHEAD);
        while groups > 1 {
            let per_group = self.grid.rows().div_ceil(groups);
            let fewer = groups - groups.div_ceil(4);
            // Rounding may make the next attempt the same as this one; measure it once.
            let is_new = per_group < self.grid.rows().div_ceil(fewer.max(1));
            if is_new && self.zstd_size(rows, per_group, threads)? as f64 <= max_size {
                break;
            }
            groups = fewer;
        }
        Ok(groups.max(1))
    }

    /// Returns the bytes of the first rows, in groups, if zstd compresses each chunk with a
    /// window over all of it.
    fn zstd_size(&self, rows: usize, per_group: usize, threads: usize) -> Result<usize> {
        let columns: Vec<usize> = (0..self.grid.columns()).collect();
        let sizes = parallel::map(&columns, threads, |&column| {
            let mut size = 0;
            for start in (0..rows).step_by(per_group.max(1)) {
                let cells = start..rows.min(start + per_group);
                let cells = cells.map(|row| self.grid.cell(row, column)).collect::<Vec<_>>();
                size += zstd::compress_far(&cells.join(&b'\n'), 3)?.len();
            }
            Ok(size)
        })?;
        Ok(sizes.into_iter().sum())
    }
}

/// Returns a block: a tag, and the smallest output of xz and zstd for the cells.
fn block(text: &[u8], tuning: Tuning, search: &SearchParams) -> Result<Vec<u8>> {
    let tagged = |tag, bytes: Vec<u8>| [&[tag][..], &bytes].concat();
    if search.is_quick() {
        return Ok(tagged(ZSTD, zstd::compress(text, search.zstd_level)?));
    }
    let mut best = tagged(XZ, xz::compress(text, tuning)?);
    let mut tunings = Vec::new();
    if best.len() < MAX_ZSTD_BLOCK_BYTES {
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

/// Returns all streams of some tables: `first`, the small streams, our additions, and the
/// blocks last, so that a reader finds all metadata near the start.
pub(in crate::pack) fn stream_set(
    tables: Vec<EncodedTable>,
    first: Vec<Stream>,
    search: &SearchParams,
) -> Result<Vec<Stream>> {
    let additions = additions(&tables, search)?;
    let mut streams = first;
    let mut blocks = Vec::with_capacity(tables.len());
    for table in tables {
        streams.extend(table.streams);
        blocks.push(table.blocks);
    }
    streams.extend(additions);
    streams.extend(blocks);
    Ok(streams)
}

/// Returns the streams that we add to the format: the text index and the checksums (§6.5).
fn additions(tables: &[EncodedTable], search: &SearchParams) -> Result<Vec<Stream>> {
    let mut streams = Vec::new();
    if tables.iter().any(|table| !table.text_index.is_empty()) {
        let mut index = Vec::new();
        tables.iter().for_each(|table| put::lp(&mut index, &table.text_index));
        streams.push(Stream::small(INDEX, &index, search.layout)?);
    }
    let bytes: usize = tables.iter().flat_map(|table| &table.block_lens).sum();
    let count: usize = tables.iter().map(|table| table.block_lens.len()).sum();
    let span = (CHECKSUM_SPAN_BYTES * count).div_ceil(bytes.max(1)).clamp(1, MAX_SPAN);
    let mut sums = Vec::new();
    put::uv(&mut sums, span as u64);
    for EncodedTable { blocks, block_lens, .. } in tables {
        let mut rest = blocks.body.bytes.as_slice();
        for run in block_lens.chunks(span) {
            let (covered, after) = rest.split_at_checked(run.iter().sum()).unwrap_or((rest, &[]));
            sums.extend_from_slice(&hypostyle_core::wire::crc32(covered).to_le_bytes());
            rest = after;
        }
    }
    streams.push(Stream::small(SUMS, &sums, search.layout)?);
    Ok(streams)
}
