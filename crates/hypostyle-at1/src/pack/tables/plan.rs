//! Decides which fields become a column, and which encodings to try for each column.
//!
//! A cell may contain delimiters, so neighbouring fields can share one column. Sharing
//! stores correlated fields once, and lets more columns be derived from others. The
//! planner finds the best columns by trial: it encodes a sample of the rows in each chunk
//! type of a candidate column, compresses it, and extrapolates the size to the whole text.
//! It starts with one column per field and repeatedly merges the two neighbours that save
//! most, until no union saves anything. A query of one field reads the whole column, so
//! columns are divided again where sharing saves little for what it makes queries read.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::pack::sample::spaced_runs;
use crate::pack::search::SearchParams;
use crate::pack::tables::column::{ChunkType, ColumnEncoder};
use crate::pack::tables::interned::InternedCells;
use crate::pack::tables::split::SplitRows;
use crate::pack::tables::tuning::{candidate_tunings, first_tuning, layout_allows};
use hypostyle_core::compress::xz::encode::Tuning;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;

/// Pieces by which the size of long content is estimated.
const ESTIMATE_PIECES: usize = 3;

/// Bytes of each piece of a dictionary or a map, and of cells to compare tunings by.
const SMALL_PIECE_BYTES: usize = 20 << 10;

/// Bytes of each piece of the cells of a sample.
const CELL_PIECE_BYTES: usize = 400 << 10;

/// Maximum product of the distinct cells of a source column and the rows of the table.
///
/// Some decoders compare every row with all distinct cells; they take half a second for
/// this many comparisons.
const MAX_DERIVE_COMPARISONS: usize = 400_000_000;

/// Bytes that a column costs besides its content: its block header and its metadata.
const COLUMN_OVERHEAD_BYTES: f64 = 28.0;

/// The share of a table that a merge must save.
const MIN_MERGE_GAIN: f64 = 0.002;

/// Bytes that a merge must save besides.
const MIN_MERGE_BYTES: f64 = 8.0;

/// Maximum distance between a column and its source, unless both have the same pattern.
const MAX_SOURCE_DISTANCE: usize = 48;

/// A column with more distinct cells than this fraction of the rows is no source: a map
/// with an entry for each of them is hardly smaller than the derived column itself.
const MAX_SOURCE_DISTINCT_RATIO: f64 = 0.9;

/// The encoding of one column.
#[derive(Clone, Debug)]
pub(in crate::pack) enum ColumnEncoding {
    /// By itself.
    Standalone(ChunkType, Tuning),
    /// From a column before it: `map` has a cell for each distinct cell of the source.
    Derived { source: usize, map: Vec<u32>, tuning: Tuning },
}

/// The columns of a table.
#[derive(Debug)]
pub(in crate::pack) struct TablePlan<'a> {
    pub(in crate::pack) columns: Vec<PlannedColumn<'a>>,
    /// The estimated bytes of all columns.
    pub(in crate::pack) estimate: usize,
}

/// A column, and the encodings to try for it, the most promising first.
#[derive(Debug)]
pub(in crate::pack) struct PlannedColumn<'a> {
    candidate: Arc<CandidateColumn<'a>>,
    pub(in crate::pack) encodings: Vec<ColumnEncoding>,
    /// The estimated bytes of the first encoding.
    pub(in crate::pack) estimate: f64,
}

impl<'a> PlannedColumn<'a> {
    pub(in crate::pack) fn encoder(&self) -> &ColumnEncoder<'a> {
        &self.candidate.encoder
    }
}

/// A column of one field or more, and its estimated costs.
#[derive(Debug)]
struct CandidateColumn<'a> {
    encoder: ColumnEncoder<'a>,
    /// The chunk types and the cost of each, the cheapest first.
    costs: Vec<(ChunkType, f64)>,
    /// A hash of the cell numbers: columns with equal numbers determine each other.
    pattern: u64,
    /// The cost by entropy alone.
    entropy: f64,
}

impl CandidateColumn<'_> {
    fn cost(&self) -> f64 {
        self.costs.first().map_or(f64::INFINITY, |&(_, cost)| cost)
    }

    fn span(&self) -> FieldSpan {
        (self.encoder.cells.fields.start, self.encoder.cells.fields.end)
    }

    fn distinct(&self) -> usize {
        self.encoder.cells.distinct()
    }
}

/// The sample of a column in one chunk type.
#[derive(Debug)]
enum SampledChunk {
    /// All cells are equal, and the column is a dictionary.
    Constant { cells: usize },
    /// Pieces that are compressed apart, and the entries of a dictionary.
    Pieces { pieces: Vec<Vec<u8>>, entries: Vec<u8> },
}

/// The estimated costs of a table, in bytes.
#[derive(Clone, Copy, Debug)]
struct TableCost {
    /// The size of all columns.
    bytes: f64,
    /// What queries of one field read, summed over all fields.
    reads: f64,
}

impl TableCost {
    /// Returns the cost if a byte that a query reads is worth `read_weight` bytes of the table.
    fn weighed(self, read_weight: f64) -> f64 {
        self.bytes + self.reads * read_weight
    }
}

/// The first field of a column, and the one after its last.
type FieldSpan = (usize, usize);

/// Searches for the columns of a table and their encodings.
pub(in crate::pack) struct TablePlanner<'r, 'a> {
    rows: &'r SplitRows<'a>,
    search: &'r SearchParams,
    /// Whether columns are cut into row groups.
    is_divided: bool,
    threads: usize,
    sample: Vec<Range<usize>>,
    /// The rows of the table for each row of the sample.
    scale: f64,
    /// The candidates so far; `None` for a union that entropy ruled out.
    candidates: HashMap<FieldSpan, Option<Arc<CandidateColumn<'a>>>>,
    /// The cost of deriving the second column from the first; `None` if that is impossible.
    derived_costs: HashMap<(FieldSpan, FieldSpan), Option<f64>>,
}

impl<'r, 'a> TablePlanner<'r, 'a> {
    pub(in crate::pack) fn new(
        rows: &'r SplitRows<'a>,
        search: &'r SearchParams,
        is_divided: bool,
        threads: usize,
    ) -> Self {
        let sample = search.sample_rows(rows.len(), rows.cell_bytes);
        let sampled: usize = sample.iter().map(Range::len).sum();
        let scale = rows.len() as f64 / sampled.max(1) as f64;
        let (candidates, derived_costs) = Default::default();
        Self { rows, search, is_divided, threads, sample, scale, candidates, derived_costs }
    }

    /// Plans the columns of the table.
    pub(in crate::pack) fn plan(mut self) -> Result<TablePlan<'a>> {
        let fields: Vec<usize> = (0..self.rows.width).collect();
        let mut columns = parallel::map(&fields, self.threads, |&field| {
            let cells = InternedCells::of_field(self.rows, field);
            let encoder = ColumnEncoder::new(cells, self.rows);
            let entropy = encoder.entropy();
            self.candidate(encoder, entropy).map(Arc::new)
        })?;
        for column in &columns {
            self.candidates.insert(column.span(), Some(Arc::clone(column)));
        }
        if columns.len() <= self.search.max_columns_for_unions {
            self.merge(&mut columns)?;
            self.divide(&mut columns)?;
        }
        self.choose_encodings(columns)
    }

    /// Estimates the cost of a column in each of its chunk types.
    fn candidate(&self, encoder: ColumnEncoder<'a>, entropy: f64) -> Result<CandidateColumn<'a>> {
        let pattern = pattern(&encoder.cells.ids);
        let mut types = encoder.likely_types(self.search.try_all_types);
        types.retain(|&chunk_type| layout_allows(self.search.layout, chunk_type));
        if types.is_empty() {
            types.push(ChunkType::Text);
        }
        let mut costs = Vec::new();
        for chunk_type in types {
            let tuning = first_tuning(chunk_type, encoder.cells.distinct());
            let sample = self.sampled_chunk(&encoder, chunk_type);
            costs.push((chunk_type, self.cost(&sample, tuning, CELL_PIECE_BYTES)?));
        }
        costs.sort_by(|one, other| one.1.total_cmp(&other.1));
        Ok(CandidateColumn { encoder, costs, pattern, entropy })
    }

    /// Encodes the sample of a column in one chunk type.
    fn sampled_chunk(&self, encoder: &ColumnEncoder<'_>, chunk_type: ChunkType) -> SampledChunk {
        if encoder.cells.distinct() <= 1 && matches!(chunk_type, ChunkType::Dict(_)) {
            return SampledChunk::Constant { cells: encoder.cells.len() };
        }
        // Pieces of a column are compressed apart, and so are the runs of its sample.
        let runs_per_piece = if self.is_divided { 1 } else { self.sample.len().max(1) };
        let pieces = self.sample.chunks(runs_per_piece);
        let ChunkType::Dict(order) = chunk_type else {
            let pieces = pieces.map(|runs| encoder.partial_chunk(chunk_type, runs)).collect();
            return SampledChunk::Pieces { pieces, entries: Vec::new() };
        };
        let dictionary = encoder.dictionary(order);
        let ranks = |runs: &[Range<usize>]| {
            let mut ranks = Vec::new();
            for rows in runs {
                encoder.put_ranks(&dictionary, rows.clone(), &mut ranks);
            }
            ranks
        };
        let pieces = pieces.map(ranks).collect();
        SampledChunk::Pieces { pieces, entries: dictionary.bytes }
    }

    /// Estimates the cost of a column by its sample, and by parts of that of `bytes` bytes if
    /// it is long.
    fn cost(&self, chunk: &SampledChunk, tuning: Tuning, bytes: usize) -> Result<f64> {
        let (pieces, entries) = match chunk {
            SampledChunk::Constant { cells } => {
                return Ok(COLUMN_OVERHEAD_BYTES + *cells as f64 / 4000.0);
            }
            SampledChunk::Pieces { pieces, entries } => (pieces, entries),
        };
        let mut cells = 0.0;
        for piece in pieces {
            cells += self.estimate(piece, bytes / pieces.len(), tuning)?;
        }
        let entries = match entries.is_empty() {
            true => 0.0,
            false => self.estimate(entries, SMALL_PIECE_BYTES, tuning)?,
        };
        Ok(cells * self.scale + entries + COLUMN_OVERHEAD_BYTES)
    }

    /// Estimates the compressed size of some bytes; of many, by evenly spaced pieces.
    fn estimate(&self, bytes: &[u8], piece: usize, tuning: Tuning) -> Result<f64> {
        let piece = piece.saturating_mul(self.search.piece_scale);
        if bytes.len() <= piece.saturating_mul(ESTIMATE_PIECES + 1) {
            return self.search.estimate(bytes, tuning);
        }
        let pieces: Vec<&[u8]> = spaced_runs(bytes.len(), piece, ESTIMATE_PIECES)
            .filter_map(|range| bytes.get(range))
            .collect();
        let scale = bytes.len() as f64 / (piece * ESTIMATE_PIECES) as f64;
        Ok(self.search.estimate(&pieces.concat(), tuning)? * scale)
    }

    /// Estimates the cost of a column that is derived from `source`; returns `None` if the
    /// source does not determine it, or if decoders would be slow.
    fn derived_cost(
        &self,
        source: &CandidateColumn<'a>,
        column: &CandidateColumn<'a>,
    ) -> Result<Option<f64>> {
        if source.distinct().saturating_mul(self.rows.len()) > MAX_DERIVE_COMPARISONS {
            return Ok(None);
        }
        match source.encoder.cells.determines(&column.encoder.cells) {
            None => Ok(None),
            Some(map) => {
                let bytes = column.encoder.map_bytes(&map);
                let map = self.estimate(&bytes, SMALL_PIECE_BYTES, Tuning::flat(3))?;
                Ok(Some(map + COLUMN_OVERHEAD_BYTES))
            }
        }
    }

    /// Returns the column before `index` from which it is cheapest to derive, and the cost.
    fn best_source(
        &mut self,
        columns: &[Arc<CandidateColumn<'a>>],
        index: usize,
    ) -> Result<Option<(usize, f64)>> {
        let mut best: Option<(usize, f64)> = None;
        let Some(column) = columns.get(index).cloned() else { return Ok(None) };
        if column.distinct() <= 1 {
            return Ok(None);
        }
        for (at, source) in columns.iter().enumerate().take(index) {
            let is_near = at + MAX_SOURCE_DISTANCE >= index;
            if !is_near && source.pattern != column.pattern {
                continue;
            }
            if source.distinct() as f64 > self.rows.len() as f64 * MAX_SOURCE_DISTINCT_RATIO {
                continue;
            }
            let key = (source.span(), column.span());
            let cost = match self.derived_costs.get(&key) {
                Some(&cost) => cost,
                None => {
                    let cost = self.derived_cost(source, &column)?;
                    self.derived_costs.insert(key, cost);
                    cost
                }
            };
            if let Some(cost) = cost
                && best.is_none_or(|(_, cheapest)| cost < cheapest)
            {
                best = Some((at, cost));
            }
        }
        Ok(best)
    }

    /// Returns the cost of a table of these columns.
    fn table_cost(&mut self, columns: &[Arc<CandidateColumn<'a>>]) -> Result<TableCost> {
        let mut total = TableCost { bytes: 0.0, reads: 0.0 };
        for (index, column) in columns.iter().enumerate() {
            let standalone = column.cost();
            let derived = self.best_source(columns, index)?.map_or(f64::INFINITY, |best| best.1);
            let bytes = standalone.min(derived);
            total.bytes += bytes;
            total.reads += bytes * column.encoder.cells.fields.len() as f64;
        }
        Ok(total)
    }

    /// Merges neighbouring columns for as long as that makes the table smaller.
    fn merge(&mut self, columns: &mut Vec<Arc<CandidateColumn<'a>>>) -> Result<()> {
        let mut total = self.table_cost(columns)?.bytes;
        loop {
            self.estimate_unions(columns)?;
            let mut best = None;
            for at in 0..columns.len().saturating_sub(1) {
                let Some(merged) = self.merged_at(columns, at) else { continue };
                let bytes = self.table_cost(&merged)?.bytes;
                if best.as_ref().is_none_or(|&(least, _)| bytes < least) {
                    best = Some((bytes, merged));
                }
            }
            match best {
                Some((bytes, merged))
                    if bytes < total - total * MIN_MERGE_GAIN - MIN_MERGE_BYTES =>
                {
                    total = bytes;
                    *columns = merged;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Divides columns of several fields for as long as queries of one field then read so
    /// much less that it is worth the bytes.
    fn divide(&mut self, columns: &mut Vec<Arc<CandidateColumn<'a>>>) -> Result<()> {
        let weight = self.search.read_weight;
        if weight == 0.0 {
            return Ok(());
        }
        let mut total = self.table_cost(columns)?.weighed(weight);
        loop {
            self.estimate_divisions(columns)?;
            let mut best = None;
            for (at, column) in columns.iter().enumerate() {
                let (start, end) = column.span();
                for middle in start + 1..end {
                    let Some(divided) = self.divided_at(columns, at, middle) else { continue };
                    let cost = self.table_cost(&divided)?.weighed(weight);
                    if best.as_ref().is_none_or(|&(least, _)| cost < least) {
                        best = Some((cost, divided));
                    }
                }
            }
            match best {
                Some((cost, divided)) if cost < total => {
                    total = cost;
                    *columns = divided;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Adds both parts of each division of a column to the candidates.
    fn estimate_divisions(&mut self, columns: &[Arc<CandidateColumn<'a>>]) -> Result<()> {
        let mut unknown = Vec::new();
        for column in columns {
            let (start, end) = column.span();
            for middle in start + 1..end {
                for part in [(start, middle), (middle, end)] {
                    // Entropy ruled out unions with what was beside them then.
                    if self.candidates.get(&part).is_none_or(Option::is_none) {
                        unknown.push(part);
                    }
                }
            }
        }
        let parts = parallel::map(&unknown, self.threads, |&(start, end)| {
            let mut fields = (start..end).filter_map(|at| self.candidates.get(&(at, at + 1)));
            let cells = |field: &Option<Arc<CandidateColumn<'a>>>| {
                field.as_ref().map(|field| field.encoder.cells.clone())
            };
            let first = fields.next().and_then(cells);
            let cells = fields.flatten().fold(first, |merged, field| {
                merged.map(|merged| InternedCells::merge(&merged, &field.encoder.cells))
            });
            let candidate = cells.map(|cells| {
                let encoder = ColumnEncoder::new(cells, self.rows);
                let entropy = encoder.entropy();
                self.candidate(encoder, entropy).map(Arc::new)
            });
            Ok(((start, end), candidate.transpose()?))
        })?;
        self.candidates.extend(parts);
        Ok(())
    }

    /// Returns the columns with the one at `at` divided before the field `middle`.
    fn divided_at(
        &self,
        columns: &[Arc<CandidateColumn<'a>>],
        at: usize,
        middle: usize,
    ) -> Option<Vec<Arc<CandidateColumn<'a>>>> {
        let (start, end) = columns.get(at)?.span();
        let part = |span| self.candidates.get(&span)?.clone();
        let parts = [part((start, middle))?, part((middle, end))?];
        let mut divided = columns.to_vec();
        divided.splice(at..=at, parts);
        Some(divided)
    }

    /// Adds the unions of neighbouring columns to the candidates.
    fn estimate_unions(&mut self, columns: &[Arc<CandidateColumn<'a>>]) -> Result<()> {
        let mut unknown = Vec::new();
        for pair in columns.windows(2) {
            let [left, right] = pair else { continue };
            let span = (left.span().0, right.span().1);
            let fields = span.1 - span.0;
            if fields <= self.search.max_fields_per_column && !self.candidates.contains_key(&span) {
                unknown.push((span, left, right));
            }
        }
        let unions = parallel::map(&unknown, self.threads, |(span, left, right)| {
            Ok((*span, self.union(left, right)?.map(Arc::new)))
        })?;
        self.candidates.extend(unions);
        Ok(())
    }

    /// Returns the union of two columns; `None` if its entropy rules it out.
    fn union(
        &self,
        left: &CandidateColumn<'a>,
        right: &CandidateColumn<'a>,
    ) -> Result<Option<CandidateColumn<'a>>> {
        let cells = InternedCells::merge(&left.encoder.cells, &right.encoder.cells);
        let encoder = ColumnEncoder::new(cells, self.rows);
        let (entropy, apart) = (encoder.entropy(), left.entropy + right.entropy);
        if entropy > apart * self.search.max_union_entropy_ratio {
            return Ok(None);
        }
        self.candidate(encoder, entropy).map(Some)
    }

    /// Returns the columns with the one at `at` and the next one merged.
    fn merged_at(
        &self,
        columns: &[Arc<CandidateColumn<'a>>],
        at: usize,
    ) -> Option<Vec<Arc<CandidateColumn<'a>>>> {
        let (left, right) = (columns.get(at)?, columns.get(at + 1)?);
        let union = self.candidates.get(&(left.span().0, right.span().1))?.as_ref()?;
        let mut merged = columns.to_vec();
        merged.splice(at..at + 2, [Arc::clone(union)]);
        Some(merged)
    }

    /// Chooses the encodings to try for the final columns.
    fn choose_encodings(
        &mut self,
        columns: Vec<Arc<CandidateColumn<'a>>>,
    ) -> Result<TablePlan<'a>> {
        let mut sourced = Vec::with_capacity(columns.len());
        for (index, column) in columns.iter().enumerate() {
            sourced.push((column, self.best_source(&columns, index)?));
        }
        let mut planned = Vec::with_capacity(columns.len());
        let mut estimate = 0.0;
        parallel::for_each(
            &sourced,
            self.threads,
            |(column, source)| self.encodings(column, *source, &columns),
            |(column, _), (cost, encodings)| {
                estimate += cost;
                let candidate = Arc::clone(column);
                planned.push(PlannedColumn { candidate, encodings, estimate: cost });
                Ok(())
            },
        )?;
        #[expect(clippy::cast_possible_truncation, reason = "at most the size of the text")]
        #[expect(clippy::cast_sign_loss, reason = "costs are not negative")]
        Ok(TablePlan { columns: planned, estimate: estimate as usize })
    }

    /// Returns the encodings to try for a column, the cheapest first, and the cost of that.
    fn encodings(
        &self,
        candidate: &CandidateColumn<'a>,
        source: Option<(usize, f64)>,
        columns: &[Arc<CandidateColumn<'a>>],
    ) -> Result<(f64, Vec<ColumnEncoding>)> {
        let (encoder, distinct) = (&candidate.encoder, candidate.distinct());
        let effort = self.search.effort;
        let mut encodings: Vec<(f64, ColumnEncoding)> = Vec::new();
        let max_cost = candidate.cost() * self.search.max_tuned_ratio;
        let types = candidate.costs.iter().take_while(|&&(_, cost)| cost <= max_cost);
        for &(chunk_type, first_cost) in types.take(self.search.max_tuned_types) {
            if distinct <= 1 {
                let encoding = ColumnEncoding::Standalone(chunk_type, Tuning::flat(0));
                encodings.push((first_cost, encoding));
                continue;
            }
            // Small pieces are enough to compare a tuning with the first one.
            let sample = self.sampled_chunk(encoder, chunk_type);
            let small = |tuning| self.cost(&sample, tuning, SMALL_PIECE_BYTES);
            let first = first_tuning(chunk_type, distinct);
            let small_first = small(first)?;
            for &tuning in candidate_tunings(self.search, chunk_type, distinct) {
                let cost = if tuning == first {
                    first_cost
                } else {
                    first_cost * small(tuning)? / small_first
                };
                let tuning = tuning.with_effort(effort);
                encodings.push((cost, ColumnEncoding::Standalone(chunk_type, tuning)));
            }
        }
        if let Some((source, cost)) = source
            && let Some(column) = columns.get(source)
            && let Some(map) = column.encoder.cells.determines(&encoder.cells)
        {
            let tuning = Tuning::flat(3).with_effort(effort);
            encodings.push((cost, ColumnEncoding::Derived { source, map, tuning }));
        }
        encodings.sort_by(|one, other| one.0.total_cmp(&other.0));
        let cheapest = encodings.first().map_or(0.0, |encoding| encoding.0);
        encodings.retain(|encoding| encoding.0 <= cheapest * self.search.max_full_ratio);
        encodings.truncate(self.search.max_full_encodings);
        Ok((cheapest, encodings.into_iter().map(|encoding| encoding.1).collect()))
    }
}

/// Hashes the cell numbers of a column.
fn pattern(ids: &[u32]) -> u64 {
    // Any fixed mixing will do: a collision costs one comparison.
    ids.iter().fold(0, |sum: u64, &id| {
        (sum.rotate_left(5) ^ u64::from(id)).wrapping_mul(0x517C_C1B7_2722_0A95)
    })
}
