//! Which fields become a column, and how each column is coded.
//!
//! A cell may hold delimiters, so neighbouring fields may share one column: then
//! what goes together is said once, and more columns follow from others. Which
//! do is found by trial. Every candidate is coded in each of its types for a
//! sample of the rows and compressed; what that says of the whole file is its
//! estimate. Starting from one field each, the two neighbours whose union saves
//! most become one, until nothing is saved any more.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::pack::search::SearchParams;
use crate::pack::tables::column::{Column, Kind, Order};
use crate::pack::tables::interned::Cells;
use crate::pack::tables::split::Rows;
use hypostyle_core::compress::xz::encode::Tuning;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;

/// Pieces of a dictionary or a map that are compressed to judge all of it, and the
/// bytes of each.
const PIECES: usize = 3;
const PIECE: usize = 20 << 10;

/// The same for the cells of a sample.
const SLICE: usize = 400 << 10;

/// Distinct cells of a source times rows. There are decoders that go through all
/// distinct cells for each row, at half a second for so much.
const SLOW: usize = 400_000_000;

/// Bytes that a column costs beyond its content: its block, and its place in tables.
const COLUMN: f64 = 28.0;

/// Columns before it from which one may follow, unless both have the same pattern.
const REACH: usize = 48;

/// The share of rows with different values above which nothing follows from a column.
const NEARLY_ALL: f64 = 0.9;

/// How one column is coded.
#[derive(Clone, Debug)]
pub(in crate::pack) enum How {
    /// By itself.
    Alone(Kind, Tuning),
    /// From a column before it, whose every cell has an answer.
    From { source: usize, map: Vec<u32>, tuning: Tuning },
}

/// The columns of a table, and the encoders to code each, the most promising first.
#[derive(Debug)]
pub(in crate::pack) struct Plan<'a> {
    pub(in crate::pack) columns: Vec<(Arc<Candidate<'a>>, Vec<How>)>,
    /// Bytes that they will take, roughly.
    pub(in crate::pack) size: usize,
}

/// A column that may come to be.
#[derive(Debug)]
pub(in crate::pack) struct Candidate<'a> {
    pub(in crate::pack) column: Column<'a>,
    /// Its types and what each would cost, the cheapest first.
    kinds: Vec<(Kind, f64)>,
    /// What its pattern hashes to: columns with the same one follow from each other.
    pattern: u64,
    /// What it would cost by entropy alone.
    entropy: f64,
}

impl Candidate<'_> {
    fn cost(&self) -> f64 {
        self.kinds.first().map_or(f64::INFINITY, |&(_, cost)| cost)
    }

    fn fields(&self) -> (usize, usize) {
        (self.column.cells.fields.start, self.column.cells.fields.end)
    }
}

type Fields = (usize, usize);

/// A search under encoder.
pub(in crate::pack) struct Planner<'r, 'a> {
    rows: &'r Rows<'a>,
    search: &'r SearchParams,
    threads: usize,
    sample: Vec<Range<usize>>,
    /// How many rows there are for each of the sample.
    scale: f64,
    /// Columns that were judged; `None` if it was not worth it.
    known: HashMap<Fields, Option<Arc<Candidate<'a>>>>,
    /// What a column costs if it follows from another; `None` if it does not.
    maps: HashMap<(Fields, Fields), Option<f64>>,
}

impl<'r, 'a> Planner<'r, 'a> {
    pub(in crate::pack) fn new(
        rows: &'r Rows<'a>,
        search: &'r SearchParams,
        threads: usize,
    ) -> Self {
        let sample = search.sample(rows.len(), rows.judged);
        let taken: usize = sample.iter().map(Range::len).sum();
        let scale = rows.len() as f64 / taken.max(1) as f64;
        let (known, maps) = Default::default();
        Self { rows, search, threads, sample, scale, known, maps }
    }

    /// Finds the columns.
    pub(in crate::pack) fn plan(mut self) -> Result<Plan<'a>> {
        let mut columns = Vec::with_capacity(self.rows.width);
        let work = |field| {
            let column = Column::new(Cells::of_field(self.rows, field), self.rows);
            let entropy = column.entropy();
            self.judge(column, entropy)
        };
        parallel::in_order(self.rows.width, self.threads, work, |_, candidate| {
            columns.push(Arc::new(candidate));
            Ok(())
        })?;
        for column in &columns {
            self.known.insert(column.fields(), Some(Arc::clone(column)));
        }
        if columns.len() <= self.search.widest {
            self.merge(&mut columns)?;
        }
        self.refine(&columns)
    }

    /// What a column would cost in each of its types.
    fn judge(&self, column: Column<'a>, entropy: f64) -> Result<Candidate<'a>> {
        let pattern = pattern(&column.cells.ids);
        let mut likely = column.kinds(self.search.all_kinds);
        likely.retain(|&kind| self.search.allows(kind));
        if likely.is_empty() {
            likely.push(Kind::Text);
        }
        let mut kinds = Vec::new();
        for kind in likely {
            kinds.push((kind, self.cost(&column, kind, first_tuning(&column, kind), SLICE)?));
        }
        kinds.sort_by(|one, other| one.1.total_cmp(&other.1));
        Ok(Candidate { column, kinds, pattern, entropy })
    }

    /// What a column costs in one type, by pieces of its sample of so many bytes.
    fn cost(&self, column: &Column<'_>, kind: Kind, tuning: Tuning, piece: usize) -> Result<f64> {
        let size = |bytes: &[u8]| self.piece_cost(bytes, piece, tuning);
        let Kind::Dict(order) = kind else {
            return Ok(size(&column.part(kind, &self.sample))? * self.scale + COLUMN);
        };
        if column.cells.distinct() <= 1 {
            return Ok(COLUMN + column.cells.len() as f64 / 4000.0);
        }
        let dictionary = column.dictionary(order);
        let mut ranks = Vec::new();
        for rows in &self.sample {
            column.put_ranks(&dictionary, rows.clone(), &mut ranks);
        }
        Ok(size(&ranks)? * self.scale + self.piece_cost(&dictionary.bytes, PIECE, tuning)? + COLUMN)
    }

    /// What bytes cost, judged by pieces from all over them if they are many.
    fn piece_cost(&self, bytes: &[u8], piece: usize, tuning: Tuning) -> Result<f64> {
        let piece = piece.saturating_mul(self.search.pieces);
        if bytes.len() <= piece.saturating_mul(PIECES + 1) {
            return self.search.trial(bytes, tuning);
        }
        let step = (bytes.len() - piece) / (PIECES - 1);
        let parts = (0..PIECES).map(|at| bytes.get(at * step..at * step + piece));
        let parts: Vec<&[u8]> = parts.map(Option::unwrap_or_default).collect();
        let share = bytes.len() as f64 / (piece * PIECES) as f64;
        Ok(self.search.trial(&parts.concat(), tuning)? * share)
    }

    /// What a column costs if it follows from `source`, by a piece of its map.
    fn map_cost(&self, source: &Candidate<'a>, column: &Candidate<'a>) -> Result<Option<f64>> {
        let distinct = source.column.cells.distinct();
        if distinct.saturating_mul(self.rows.len()) > SLOW {
            return Ok(None);
        }
        match source.column.cells.decides(&column.column.cells) {
            None => Ok(None),
            Some(map) => {
                let bytes = column.column.map_bytes(&map);
                Ok(Some(self.piece_cost(&bytes, PIECE, Tuning::flat(3))? + COLUMN))
            }
        }
    }

    /// The column before `index` from which it best follows, and the cost then.
    fn best_source(
        &mut self,
        columns: &[Arc<Candidate<'a>>],
        index: usize,
    ) -> Result<Option<(usize, f64)>> {
        let mut best: Option<(usize, f64)> = None;
        let Some(column) = columns.get(index).cloned() else { return Ok(None) };
        if column.column.cells.distinct() <= 1 {
            return Ok(None);
        }
        for (at, source) in columns.iter().enumerate().take(index) {
            let near = at + REACH >= index;
            if !near && source.pattern != column.pattern {
                continue;
            }
            // What goes with each of so many values is hardly less than the column as it is.
            if source.column.cells.distinct() as f64 > self.rows.len() as f64 * NEARLY_ALL {
                continue;
            }
            let key = (source.fields(), column.fields());
            let cost = match self.maps.get(&key) {
                Some(&cost) => cost,
                None => {
                    let cost = self.map_cost(source, &column)?;
                    self.maps.insert(key, cost);
                    cost
                }
            };
            if let Some(cost) = cost
                && best.is_none_or(|(_, least)| cost < least)
            {
                best = Some((at, cost));
            }
        }
        Ok(best)
    }

    /// What a table of these columns costs.
    fn total(&mut self, columns: &[Arc<Candidate<'a>>]) -> Result<f64> {
        let mut total = 0.0;
        for (index, column) in columns.iter().enumerate() {
            let alone = column.cost();
            let derived = self.best_source(columns, index)?.map_or(f64::INFINITY, |best| best.1);
            total += alone.min(derived);
        }
        Ok(total)
    }

    /// Makes one column of two neighbours for as long as that saves something.
    fn merge(&mut self, columns: &mut Vec<Arc<Candidate<'a>>>) -> Result<()> {
        let mut total = self.total(columns)?;
        loop {
            self.judge_unions(columns)?;
            let mut best = None;
            for at in 0..columns.len().saturating_sub(1) {
                let Some(after) = self.union(columns, at) else { continue };
                let cost = self.total(&after)?;
                if best.as_ref().is_none_or(|&(least, _)| cost < least) {
                    best = Some((cost, after));
                }
            }
            match best {
                Some((cost, after)) if cost < total - total * 1e-4 - 8.0 => {
                    total = cost;
                    *columns = after;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Makes sure that the union of every two neighbours is known.
    fn judge_unions(&mut self, columns: &[Arc<Candidate<'a>>]) -> Result<()> {
        let mut unknown = Vec::new();
        for pair in columns.windows(2) {
            let [left, right] = pair else { continue };
            let fields = (left.fields().0, right.fields().1);
            if fields.1 - fields.0 <= self.search.union && !self.known.contains_key(&fields) {
                unknown.push((left, right));
            }
        }
        let work = |index: usize| {
            let (left, right) = unknown.get(index).copied().unzip();
            match (left, right) {
                (Some(left), Some(right)) => self.judge_union(left, right),
                _ => Ok(None),
            }
        };
        let mut found = Vec::new();
        parallel::in_order(unknown.len(), self.threads, work, |index, union| {
            found.extend(
                unknown.get(index).map(|(left, right)| {
                    ((left.fields().0, right.fields().1), union.map(Arc::new))
                }),
            );
            Ok(())
        })?;
        self.known.extend(found);
        Ok(())
    }

    /// The union of two columns; `None` if it cannot pay.
    fn judge_union(
        &self,
        left: &Candidate<'a>,
        right: &Candidate<'a>,
    ) -> Result<Option<Candidate<'a>>> {
        let cells = Cells::merge(&left.column.cells, &right.column.cells);
        let column = Column::new(cells, self.rows);
        let (entropy, apart) = (column.entropy(), left.entropy + right.entropy);
        if entropy > apart * self.search.hope {
            return Ok(None);
        }
        self.judge(column, entropy).map(Some)
    }

    /// The columns with those at `at` and after it made one.
    fn union(&self, columns: &[Arc<Candidate<'a>>], at: usize) -> Option<Vec<Arc<Candidate<'a>>>> {
        let (left, right) = (columns.get(at)?, columns.get(at + 1)?);
        let both = self.known.get(&(left.fields().0, right.fields().1))?.as_ref()?;
        let mut after = columns.to_vec();
        after.splice(at..at + 2, [Arc::clone(both)]);
        Some(after)
    }

    /// Chooses types and tunings for the columns that there are now.
    fn refine(&mut self, columns: &[Arc<Candidate<'a>>]) -> Result<Plan<'a>> {
        let mut sources = Vec::with_capacity(columns.len());
        for index in 0..columns.len() {
            sources.push(self.best_source(columns, index)?);
        }
        let mut planned = Vec::with_capacity(columns.len());
        let work = |index: usize| match (columns.get(index), sources.get(index)) {
            (Some(column), Some(source)) => self.encoders(column, *source, columns),
            _ => Ok((0.0, Vec::new())),
        };
        let mut size = 0.0;
        parallel::in_order(columns.len(), self.threads, work, |index, (cost, encoders)| {
            size += cost;
            planned.extend(columns.get(index).map(|column| (Arc::clone(column), encoders)));
            Ok(())
        })?;
        #[expect(clippy::cast_possible_truncation, reason = "no more than the text")]
        #[expect(clippy::cast_sign_loss, reason = "never negative")]
        Ok(Plan { columns: planned, size: size as usize })
    }

    /// The encoders to code a column, the cheapest first, and what that costs.
    fn encoders(
        &self,
        candidate: &Candidate<'a>,
        source: Option<(usize, f64)>,
        columns: &[Arc<Candidate<'a>>],
    ) -> Result<(f64, Vec<How>)> {
        let column = &candidate.column;
        let mut encoders: Vec<(f64, How)> = Vec::new();
        let limit = candidate.cost() * self.search.close;
        let kinds = candidate.kinds.iter().take_while(|&&(_, cost)| cost <= limit);
        for &(kind, first) in kinds.take(self.search.kinds) {
            if column.cells.distinct() <= 1 {
                encoders.push((first, How::Alone(kind, Tuning::flat(0))));
                continue;
            }
            // A tuning is judged by little, and by how it compares with the first one.
            let little = |tuning| self.cost(column, kind, tuning, PIECE);
            let before = little(first_tuning(column, kind))?;
            for &tuning in self.search.tunings(kind, column.cells.distinct()) {
                let cost = match tuning == first_tuning(column, kind) {
                    true => first,
                    false => first * little(tuning)? / before,
                };
                encoders.push((cost, How::Alone(kind, tuning.with_effort(self.search.effort))));
            }
        }
        if let Some((source, cost)) = source
            && let Some(before) = columns.get(source)
            && let Some(map) = before.column.cells.decides(&column.cells)
        {
            let tuning = Tuning::flat(3).with_effort(self.search.effort);
            encoders.push((cost, How::From { source, map, tuning }));
        }
        encoders.sort_by(|one, other| one.0.total_cmp(&other.0));
        let least = encoders.first().map_or(0.0, |encoder| encoder.0);
        encoders.retain(|encoder| encoder.0 <= least * self.search.doubt);
        encoders.truncate(self.search.finals);
        Ok((least, encoders.into_iter().map(|encoder| encoder.1).collect()))
    }
}

/// The tuning that a type is tried with at first.
fn first_tuning(column: &Column<'_>, kind: Kind) -> Tuning {
    match kind {
        Kind::Text => Tuning::flat(3),
        Kind::Dict(Order::Coarse) => Tuning::pairs(0),
        Kind::Dict(_) if column.cells.distinct() > 128 => Tuning::flat(3),
        _ => Tuning::flat(1),
    }
}

fn pattern(ids: &[u32]) -> u64 {
    // Any fixed mixing does: a clash costs one comparison.
    ids.iter().fold(0, |sum: u64, &id| {
        (sum.rotate_left(5) ^ u64::from(id)).wrapping_mul(0x517C_C1B7_2722_0A95)
    })
}
