//! Delimited text as columnar (§5).

use std::ops::Range;

use crate::cell_syntax::Syntax;
use crate::codecs::kind;
use crate::codecs::project::FIELDS;
use crate::fields::Dialect;
use crate::pack::context::EncodeContext;
use crate::pack::lines::ended;
use crate::pack::options::Layout;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream, size};
use crate::pack::tables::column::Kind;
use crate::pack::tables::dialect;
use crate::pack::tables::plan::{How, Plan, Planner};
use crate::pack::tables::split::Rows;
use hypostyle_core::compress::xz::encode::{self as xz, Block, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// Columns whose blocks are smaller share one with their neighbours.
const SMALL: usize = 1 << 10;

/// A column as it is written.
struct Made {
    kind: u8,
    quoted: bool,
    chunk: Vec<u8>,
    /// The compressed chunk, unless all chunks are compressed as one.
    block: Option<Block>,
    tuning: Tuning,
}

impl Made {
    fn cost(&self) -> usize {
        self.block.as_ref().map_or(0, Block::cost)
    }
}

/// A table before its columns are chosen.
pub(in crate::pack) struct Table<'a> {
    pub(in crate::pack) rows: Rows<'a>,
    pub(in crate::pack) delimiter: &'a [u8],
    pub(in crate::pack) header: Option<&'a [u8]>,
    pub(in crate::pack) trailing: bool,
    pub(in crate::pack) tail: Tail,
}

/// Columns behind those of the rows: dictionaries (§5.2.5), all of a kind, and
/// compressed as one.
#[derive(Debug, Default)]
pub(in crate::pack) struct Tail {
    pub(in crate::pack) chunks: Vec<Vec<u8>>,
}

/// The streams of a frame; `None` if the text is not a table.
pub(in crate::pack) fn streams(
    text: &[u8],
    job: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let Some(dialect) = dialect::find(text)? else { return Ok(None) };
    let (lines, trailing) = ended(text);
    // Who reads the table again takes it for CSV, however it is best cut here.
    let quotes = Syntax::of_delimiter(&dialect.delimiter) == Syntax::Csv;
    let named = dialect::has_header(text, &Dialect { quotes, ..dialect.clone() });
    let (header, body) = match memchr::memchr(b'\n', lines).filter(|_| named) {
        Some(end) => (lines.get(..end), lines.get(end + 1..).unwrap_or_default()),
        None => (None, lines),
    };
    let Some(rows) = Rows::new(body, &dialect) else { return Ok(None) };
    let tail = Tail::default();
    let table = Table { rows, delimiter: &dialect.delimiter, header, trailing, tail };
    table.best(job).map(Some)
}

impl Table<'_> {
    /// The smallest streams that any search finds.
    pub(in crate::pack) fn best(&self, job: &EncodeContext<'_>) -> Result<Vec<Stream>> {
        let tail = self.tail.block(job.search)?;
        let mut best = self.streams(job.search, tail.as_ref(), job)?;
        if let Some(search) = job.other {
            let other = self.streams(search, tail.as_ref(), job)?;
            if size(&other) < size(&best) {
                best = other;
            }
        }
        Ok(best)
    }

    /// The streams of the columns that a search finds.
    fn streams(
        &self,
        search: &SearchParams,
        tail: Option<&Block>,
        job: &EncodeContext<'_>,
    ) -> Result<Vec<Stream>> {
        let rows = &self.rows;
        let plan = Planner::new(rows, search, job.threads).plan()?;
        (job.guess)(plan.size + tail.map_or(0, Block::cost));
        let made = make(&plan, search, job.threads)?;
        let fields: Vec<Range<usize>> =
            plan.columns.iter().map(|(column, _)| column.column.cells.fields.clone()).collect();

        let mut meta = Vec::new();
        put::uv(&mut meta, rows.modes.len() as u64);
        meta.push(self.trailing.into());
        meta.push(self.header.is_some().into());
        put::lp(&mut meta, self.delimiter);
        let width = made.len() + self.tail.chunks.len();
        put::uv(&mut meta, width as u64);
        let mut index = Vec::new();
        for chunk in made.iter().map(|column| &column.chunk).chain(&self.tail.chunks) {
            put::uv(&mut index, chunk.len() as u64);
        }
        let mut types: Vec<u8> = made.iter().map(|column| column.kind).collect();
        types.resize(width, kind::DICT);
        let mut quotes: Vec<u8> = made.iter().map(|column| column.quoted.into()).collect();
        quotes.resize(width, 0);
        let small = |name, content: &[u8]| Stream::small(name, content, search.layout);
        let mut streams = vec![
            small("meta", &meta)?,
            small("row_modes", &rows.modes)?,
            small("fieldcounts", &counts(rows, &fields, self.tail.chunks.len()))?,
            small("coltypes", &types)?,
            small("col_index", &index)?,
            Stream { name: "values".into(), body: self.values(&made, tail, search)? },
            small("quotemodes", &quotes)?,
            small("quotebits", &[])?,
            small("verbatim", &rows.verbatim())?,
            small("header", self.header.unwrap_or_default())?,
        ];
        // Decoders pass over what they do not know.
        let cut_at_delimiters = !self.delimiter.is_empty();
        if search.layout == Layout::Reference && cut_at_delimiters && fields.len() < rows.width {
            let mut widths = Vec::new();
            fields.iter().for_each(|fields| put::uv(&mut widths, fields.len() as u64));
            streams.push(small(FIELDS, &widths)?);
        }
        Ok(streams)
    }

    /// The chunks of all columns.
    fn values(&self, made: &[Made], tail: Option<&Block>, search: &SearchParams) -> Result<Body> {
        if search.is_quick() {
            let made = made.iter().map(|column| &column.chunk[..]);
            let chunks: Vec<&[u8]> =
                made.chain(self.tail.chunks.iter().map(|it| &it[..])).collect();
            return Ok(Body::zstd(zstd::compress(&chunks.concat(), search.zstd)?));
        }
        let mut blocks = blocks(made)?;
        blocks.extend(tail.cloned());
        Ok(Body::xz(xz::stream(&blocks)))
    }
}

impl Tail {
    fn block(&self, search: &SearchParams) -> Result<Option<Block>> {
        if self.chunks.is_empty() || search.is_quick() {
            return Ok(None);
        }
        let tuning = Tuning::flat(0).with_effort(search.effort);
        Block::new(&self.chunks.concat(), tuning).map(Some)
    }
}

/// The cells that each row has.
fn counts(rows: &Rows<'_>, columns: &[Range<usize>], tail: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let count = match rows.missing {
            0 => columns.len(),
            _ => {
                let fields = rows.fields(row);
                columns.iter().take_while(|column| column.start < fields).count()
            }
        };
        put::uv(&mut out, (count + tail) as u64);
    }
    out
}

/// Makes every column in its most promising forms and keeps the smallest.
fn make(plan: &Plan<'_>, search: &SearchParams, threads: usize) -> Result<Vec<Made>> {
    // The largest first, so that no thread is left with one at the end.
    let mut order: Vec<usize> = (0..plan.columns.len()).collect();
    let size = |&index: &usize| {
        plan.columns.get(index).map_or(0, |(column, encoders)| match encoders.first() {
            Some(How::Alone(Kind::Text, _)) => column.column.text_len(),
            _ => column.column.cells.distinct() * 8 + column.column.cells.len(),
        })
    };
    order.sort_by_key(|index| std::cmp::Reverse(size(index)));
    let work = |at: usize| {
        let Some((candidate, encoders)) = order.get(at).and_then(|&index| plan.columns.get(index))
        else {
            return Ok(None);
        };
        let mut best: Option<Made> = None;
        for how in encoders {
            let column = &candidate.column;
            let (kind, chunk, tuning) = match how {
                How::Alone(kind, tuning) => (kind.id(), column.chunk(*kind), *tuning),
                How::From { source, map, tuning } => {
                    (kind::DERIVED, column.derived(*source, map), *tuning)
                }
            };
            if search.is_quick() {
                let quoted = column.quoted;
                return Ok(Some(Made { kind, quoted, chunk, block: None, tuning }));
            }
            let block = Block::new(&chunk, tuning)?;
            if best.as_ref().is_none_or(|best| block.cost() < best.cost()) {
                let (quoted, block) = (column.quoted, Some(block));
                best = Some(Made { kind, quoted, chunk, block, tuning });
            }
        }
        Ok(best)
    };
    let mut made: Vec<(usize, Made)> = Vec::new();
    parallel::in_order(order.len(), threads, work, |at, column| {
        made.extend(order.get(at).copied().zip(column));
        Ok(())
    })?;
    made.sort_by_key(|&(index, _)| index);
    Ok(made.into_iter().map(|(_, column)| column).collect())
}

/// The blocks of `values`: one for each column, but small neighbours share one.
fn blocks(made: &[Made]) -> Result<Vec<Block>> {
    let is_small = |column: &Made| column.cost() < SMALL;
    let mut blocks = Vec::new();
    for run in made.chunk_by(|one, other| is_small(one) && is_small(other)) {
        let alone: usize = run.iter().map(|column| column.cost()).sum();
        if run.len() > 1 {
            let chunks: Vec<&[u8]> = run.iter().map(|column| &column.chunk[..]).collect();
            let largest = run.iter().max_by_key(|column| column.cost());
            let tuning = largest.map_or(Tuning::flat(1), |column| column.tuning);
            let together = Block::new(&chunks.concat(), tuning)?;
            if together.cost() < alone {
                blocks.push(together);
                continue;
            }
        }
        blocks.extend(run.iter().filter_map(|column| column.block.clone()));
    }
    Ok(blocks)
}
