//! Divides the column chunks of a table into row groups (§5.7).
//!
//! A cut costs bytes, because each piece is compressed without the content before it, and
//! saves the reading of whole columns. The writer spends a budget on cuts where they save
//! most: see `docs/decisions/0011-row-groups-of-columnar.md`.

use crate::codecs::columnar::group_directory::{
    ColumnPieces, CutColumn, EntryOrder, GroupDirectory,
};
use crate::codecs::columnar::sections::{ChunkSections, GroupStates, RowGroups};
use crate::codecs::kind;
use crate::pack::grouping::Grouping;
use crate::pack::tables::encoded_column::EncodedColumn;
use crate::pack::tables::far_repeats::FarRepeats;
use hypostyle_core::compress::xz::encode::{Block, Effort, Tuning};
use hypostyle_core::error::Result;
use hypostyle_core::parallel;

/// Rows per row group below which more row groups do not pay: each one has statistics, and
/// a reader decodes it with some fixed work.
const MIN_ROWS: usize = 1024;

/// Maximum number of row groups of a frame: the directory grows with them.
const MAX_GROUPS: usize = 1024;

/// Maximum number of rows of the larger pieces by which the cost of a cut is measured.
const MAX_PROBE_ROWS: usize = 8 << 10;

/// Smaller pieces tell little about the row groups of a small table.
const MIN_PROBE_ROWS: usize = 1 << 10;

/// Otherwise the larger pieces are this part of the table, 1 divided by this number, so that
/// measuring takes less time than compressing.
const PROBE_DIVISOR: usize = 24;

/// The larger pieces have this many times the rows of the smaller ones.
const PROBE_RATIO: usize = 4;

/// Pieces with more than this many times the rows of the larger probes are cut at the same
/// cost.
const MAX_PROBE_RATIO: f64 = 4.0;

/// Maximum bytes of content of a piece of several row groups, which bounds the memory of a
/// reader.
const MAX_PIECE_BYTES: usize = 1 << 20;

/// Sections that compress to fewer bytes are not cut.
const MIN_CUT_BYTES: usize = 512;

/// With a given number of rows, a piece is at least this many times as large as the cut.
const MIN_PIECE_RATIO: f64 = 2.0;

/// If pieces lose more than this share of a column because it repeats itself, it is compressed
/// as a whole too, and what its cuts really cost is known.
const MAX_UNMEASURED_LOSS: f64 = 0.05;

/// Less than this share of the table does not matter.
const MIN_MEASURED_LOSS: f64 = 0.0002;

/// If they lose more than this share, the column should be planned as one that stays whole.
const MIN_REPEATED_LOSS: f64 = 0.25;

/// Measured cuts may cost this many times what was estimated.
const MAX_COST_RATIO: f64 = 1.25;

/// Bytes that they may cost besides.
const COST_SLACK_BYTES: f64 = 64.0;

/// Bytes of a section by which its size is estimated.
const SECTION_PROBE_BYTES: usize = 16 << 10;

/// Bytes of a dictionary by which tunings are compared.
const HEAD_PROBE_BYTES: usize = 8 << 10;

/// Bytes of the check of a block.
const CHECK_BYTES: f64 = 4.0;

/// A table that is divided into row groups.
#[derive(Debug)]
pub(in crate::pack) struct GroupedColumns {
    /// The blocks of each column, in order; `None` for one that is not cut.
    pub(in crate::pack) blocks: Vec<Option<Vec<Block>>>,
    pub(in crate::pack) directory: GroupDirectory,
}

/// The size of the sections of a column, and how much cuts add to them, in bytes.
#[derive(Debug)]
struct CutCost {
    size: f64,
    cut: Option<CostCurve>,
    /// The compressed head, if the column has one.
    head: Option<Block>,
    repeats: FarRepeats,
    /// Compressed bytes for each byte that is not a repeat.
    rate: f64,
    /// Whether the size is that of the compressed column, which repeats itself.
    is_measured: bool,
}

impl CutCost {
    /// Returns what pieces lose because they cannot copy from those before.
    fn loss(&self, pieces: f64) -> f64 {
        self.repeats.lost_bytes(pieces) * self.rate
    }

    /// Returns what it costs to cut the column into so many pieces instead of half as many.
    fn of_halving(&self, cut: CostCurve, pieces: f64, cells: usize) -> f64 {
        let far = match self.is_measured {
            true => self.loss(pieces) - self.loss(pieces / 2.0),
            false => 0.0,
        };
        pieces / 2.0 * cut.at(cells as f64 / pieces) + far
    }

    /// Returns what it costs to cut the column into so many pieces.
    fn of_pieces(&self, pieces: f64, cells: usize) -> f64 {
        let Some(cut) = self.cut else { return 0.0 };
        let counts = std::iter::successors(Some(2.0), |count| Some(count * 2.0));
        let counts = counts.take_while(|&count| count <= pieces);
        counts.map(|count| self.of_halving(cut, count, cells)).sum()
    }
}

/// What a cut costs that divides a piece into two of some rows.
///
/// The larger the pieces, the more does the second one lose that it could have copied from
/// the first one.
#[derive(Clone, Copy, Debug)]
struct CostCurve {
    /// Rows of each piece of the larger probe.
    rows: f64,
    /// The cost of its cut.
    cut: f64,
    /// The power of the rows by which the cost grows.
    exponent: f64,
}

impl CostCurve {
    /// Returns the curve through two measured costs: of pieces of `rows` rows, and of pieces
    /// with [`PROBE_RATIO`] times fewer.
    fn new(rows: usize, cut: f64, cut_of_smaller: f64) -> Self {
        let exponent = (cut / cut_of_smaller).ln() / (PROBE_RATIO as f64).ln();
        Self { rows: rows as f64, cut, exponent: exponent.clamp(0.0, 1.0) }
    }

    /// Returns the cost of a cut between two pieces of `rows` rows, which is never less than
    /// that of the smaller pieces: each block has a header.
    fn at(&self, rows: f64) -> f64 {
        let ratio = (rows / self.rows).clamp(1.0 / PROBE_RATIO as f64, MAX_PROBE_RATIO);
        self.cut * ratio.powf(self.exponent)
    }
}

/// Divides the columns of a table with `cells` rows; `None` if one row group is best.
///
/// Columns that repeat themselves are compressed.
pub(in crate::pack) fn divide(
    columns: &mut [EncodedColumn],
    cells: usize,
    grouping: Grouping,
    threads: usize,
) -> Result<Option<GroupedColumns>> {
    let rows = (cells / PROBE_DIVISOR).clamp(MIN_PROBE_ROWS, MAX_PROBE_ROWS).min(cells / 3);
    let rows = rows.next_multiple_of(8 * PROBE_RATIO);
    let probes = [rows, rows / PROBE_RATIO].map(|rows| RowGroups { cells, rows: rows.max(8) });
    let mut costs = parallel::map(&*columns, threads, |column| cut_cost(column, probes))?;
    let Some((_, pieces)) = choose(&costs, cells, grouping) else { return Ok(None) };
    measure(columns, &mut costs, &pieces, threads)?;
    let Some((groups, pieces)) = choose(&costs, cells, grouping) else { return Ok(None) };
    let limits: Vec<f64> = costs
        .iter()
        .zip(&pieces)
        .map(|(cost, &pieces)| match (cost.is_measured, grouping) {
            (false, _) => f64::INFINITY,
            (true, Grouping::Rows(_)) => cost.size / MIN_PIECE_RATIO,
            (true, Grouping::Budget(_)) => {
                cost.of_pieces(pieces, cells) * MAX_COST_RATIO + COST_SLACK_BYTES
            }
        })
        .collect();
    let (mut cuts, blocks) = cut_columns(columns, costs, pieces, &limits, groups, threads)?;
    if cuts.iter().all(Option::is_none) {
        return Ok(None);
    }
    let sources: Vec<usize> = columns.iter().filter_map(|column| column.source).collect();
    for (index, (column, cut)) in columns.iter().zip(&mut cuts).enumerate() {
        if let Some(cut) = cut
            && sources.contains(&index)
            && column.type_id == kind::DICT
        {
            cut.order = EntryOrder::of(&indexes(&column.chunk));
        }
    }
    let (verbatim, templates, sets, statistics) = Default::default();
    let pieces = |(column, cut): (&EncodedColumn, _)| match (cut, column.source) {
        (Some(cut), _) => ColumnPieces::Cut(cut),
        (None, Some(source)) => ColumnPieces::Derived { source },
        (None, None) => ColumnPieces::Whole,
    };
    let columns = columns.iter().zip(cuts).map(pieces).collect();
    let directory = GroupDirectory { groups, verbatim, templates, columns, sets, statistics };
    Ok(Some(GroupedColumns { blocks, directory }))
}

/// Makes a table with `cells` rows one row group.
pub(in crate::pack) fn undivided(columns: &[EncodedColumn], cells: usize) -> GroupedColumns {
    let groups = RowGroups { cells, rows: cells.next_multiple_of(8).max(8) };
    let (verbatim, templates, sets, statistics) = Default::default();
    let pieces = |column: &EncodedColumn| match column.source {
        Some(source) => ColumnPieces::Derived { source },
        None => ColumnPieces::Whole,
    };
    let columns: Vec<ColumnPieces> = columns.iter().map(pieces).collect();
    let blocks = columns.iter().map(|_| None).collect();
    let directory = GroupDirectory { groups, verbatim, templates, columns, sets, statistics };
    GroupedColumns { blocks, directory }
}

/// Compresses the columns whose repeats so many pieces would lose, so that their sizes are
/// known.
fn measure(
    columns: &mut [EncodedColumn],
    costs: &mut [CutCost],
    pieces: &[f64],
    threads: usize,
) -> Result<()> {
    let least_loss = costs.iter().map(|cost| cost.size).sum::<f64>() * MIN_MEASURED_LOSS;
    let mut suspects: Vec<(&mut EncodedColumn, &mut CutCost)> = columns
        .iter_mut()
        .zip(costs)
        .zip(pieces)
        .filter(|((column, cost), pieces)| {
            let least = column.chunk.len().div_ceil(MAX_PIECE_BYTES) as f64;
            let loss = cost.loss(pieces.max(least));
            loss > least_loss && loss > cost.size * MAX_UNMEASURED_LOSS
        })
        .map(|((column, cost), pieces)| {
            column.repeats = cost.loss(*pieces) > cost.size * MIN_REPEATED_LOSS;
            (column, cost)
        })
        .collect();
    let blocks = parallel::map(&suspects, threads, |(column, _)| column.compressed())?;
    for ((column, cost), block) in suspects.iter_mut().zip(blocks) {
        let head = cost.head.as_ref().map_or(0, Block::cost);
        cost.size = (block.cost() as f64 - head as f64).max(1.0);
        cost.is_measured = true;
        column.block = Some(block);
    }
    Ok(())
}

/// Measures what a cut of a column costs, by pieces of two sizes, the larger ones first.
fn cut_cost(column: &EncodedColumn, probes: [RowGroups; 2]) -> Result<CutCost> {
    let size = column.block.as_ref().map_or(column.estimate, |block| block.cost() as f64);
    let never = || CutCost {
        size,
        cut: None,
        head: None,
        repeats: FarRepeats::default(),
        rate: 0.0,
        is_measured: false,
    };
    let [large, small] = probes;
    if size < MIN_CUT_BYTES as f64 && column.chunk.len() <= MAX_PIECE_BYTES || large.count() < 3 {
        return Ok(never());
    }
    let sections_of = |probe| ChunkSections::of(column.type_id, &column.chunk, probe);
    let (Some(larger), Some(smaller)) = (sections_of(large)?, sections_of(small)?) else {
        return Ok(never());
    };
    let costs = (probed_cut(column, &larger, large)?, probed_cut(column, &smaller, small)?);
    let cut = CostCurve::new(large.rows, costs.0, costs.1);
    // The head is the same for any row groups.
    let head = column.chunk.get(..larger.head).filter(|head| !head.is_empty());
    let head = head.map(|head| Block::new(head, head_tuning(head, column)?)).transpose()?;
    let head_size = head.as_ref().map_or(0, Block::cost);
    let size = (size - head_size as f64).max(1.0);
    let mut repeats = FarRepeats::default();
    let mut bytes = 0;
    for borders in &larger.borders {
        let section = borders.first().zip(borders.last());
        let section = section.and_then(|(&start, &end)| column.chunk.get(start..end));
        let section = section.unwrap_or_default();
        repeats.add(section);
        bytes += section.len();
    }
    let rate = size / bytes.max(1) as f64;
    Ok(CutCost { size, cut: Some(cut), head, repeats, rate, is_measured: false })
}

/// Measures what one cut of a column costs: two neighbouring pieces are compressed together
/// and apart.
fn probed_cut(column: &EncodedColumn, sections: &ChunkSections, probe: RowGroups) -> Result<f64> {
    let tuning = column.tuning.with_effort(Effort::Quick);
    let middle = probe.count() / 2 - 1;
    let mut cut = 0.0;
    for borders in &sections.borders {
        let border = |group: usize| borders.get(group).copied().unwrap_or_default();
        let cost = |first, end| {
            let piece = column.chunk.get(border(first)..border(end)).unwrap_or_default();
            Ok::<_, hypostyle_core::error::Error>(Block::new(piece, tuning)?.cost() as f64)
        };
        let apart = cost(middle, middle + 1)? + cost(middle + 1, middle + 2)?;
        let together = cost(middle, middle + 2)?;
        cut += (apart - together).max(0.0) + CHECK_BYTES;
    }
    Ok(cut)
}

/// Returns the tuning that suits the entries of a dictionary best, judged by a part of them.
fn head_tuning(head: &[u8], column: &EncodedColumn) -> Result<Tuning> {
    let start = (head.len() / 2).saturating_sub(HEAD_PROBE_BYTES / 2);
    let probe = head.get(start..).unwrap_or(head);
    let probe = probe.get(..HEAD_PROBE_BYTES).unwrap_or(probe);
    let mut best: Option<(usize, Tuning)> = None;
    for tuning in [column.tuning, Tuning::flat(3), Tuning::flat(0), Tuning::flat(4)] {
        let cost = Block::new(probe, tuning.with_effort(Effort::Quick))?.cost();
        if best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, tuning));
        }
    }
    let tuning = best.map_or(column.tuning, |(_, tuning)| tuning);
    Ok(tuning.with_effort(column.tuning.effort))
}

/// Chooses the row groups, and the number of pieces of each column.
fn choose(costs: &[CutCost], cells: usize, grouping: Grouping) -> Option<(RowGroups, Vec<f64>)> {
    let (rows, pieces): (usize, Vec<f64>) = match grouping {
        Grouping::Rows(rows) => {
            let pieces = |cost: &CutCost| {
                let cut = cost.cut.map_or(f64::INFINITY, |cut| cut.at(rows as f64));
                let mut pieces = cost.size / (cut * MIN_PIECE_RATIO);
                while cost.is_measured
                    && pieces > 1.0
                    && cost.loss(pieces) * MIN_PIECE_RATIO > cost.size
                {
                    pieces /= 2.0;
                }
                pieces
            };
            (rows, costs.iter().map(pieces).collect())
        }
        Grouping::Budget(share) => {
            let budget = share * costs.iter().map(|cost| cost.size).sum::<f64>();
            let pieces = affordable_pieces(costs, cells, budget);
            let most = pieces.iter().copied().max().unwrap_or_default();
            (cells.div_ceil(most.max(1)), pieces.iter().map(|&pieces| pieces as f64).collect())
        }
    };
    let groups = RowGroups { cells, rows: rows.next_multiple_of(8).max(8) };
    (groups.count() > 1).then_some((groups, pieces))
}

/// Returns the pieces of each column, powers of 2 that cost at most `budget` bytes together.
///
/// A lookup of a row reads a piece of each column. So the pieces are halved first of the
/// column for which that saves a lookup most, compared to its cost.
fn affordable_pieces(costs: &[CutCost], cells: usize, mut budget: f64) -> Vec<usize> {
    let most = (cells / MIN_ROWS).min(MAX_GROUPS);
    let mut pieces = vec![1; costs.len()];
    loop {
        let mut best: Option<(f64, f64, &mut usize)> = None;
        for (cost, pieces) in costs.iter().zip(&mut pieces) {
            let Some(cut) = cost.cut.filter(|_| *pieces * 2 <= most) else { continue };
            let count = *pieces as f64;
            let spent = cost.of_halving(cut, 2.0 * count, cells);
            let gain = cost.size / (2.0 * count) / spent;
            if spent <= budget && best.as_ref().is_none_or(|best| gain > best.0) {
                best = Some((gain, spent, pieces));
            }
        }
        let Some((_, spent, halved)) = best else { return pieces };
        *halved *= 2;
        budget -= spent;
    }
}

/// A piece of a chunk as a range of bytes.
type PieceRange = std::ops::Range<usize>;

/// A column that is cut, if it is, and its blocks.
type CutBlocks = (Vec<Option<CutColumn>>, Vec<Option<Vec<Block>>>);

/// Cuts columns into so many pieces each, and compresses them.
///
/// Where that costs more than the limit of a column, it is cut into fewer.
fn cut_columns(
    columns: &[EncodedColumn],
    costs: Vec<CutCost>,
    mut pieces: Vec<f64>,
    limits: &[f64],
    groups: RowGroups,
    threads: usize,
) -> Result<CutBlocks> {
    let mut cuts: Vec<Option<CutColumn>> = columns.iter().map(|_| None).collect();
    let mut blocks: Vec<Option<Vec<Block>>> = columns.iter().map(|_| None).collect();
    let mut left: Vec<usize> = (0..columns.len()).collect();
    while !left.is_empty() {
        let cut = parallel::map(&left, threads, |&index| {
            let (column, cost) = (columns.get(index), costs.get(index));
            let (Some((column, cost)), Some(&pieces)) = (column.zip(cost), pieces.get(index))
            else {
                return Ok(None);
            };
            cut_column(column, pieces, !cost.is_measured, groups)
        })?;
        let jobs: Vec<(&EncodedColumn, PieceRange)> = left
            .iter()
            .zip(&cut)
            .filter_map(|(&index, cut)| Some((columns.get(index)?, cut.as_ref()?)))
            .flat_map(|(column, (_, ranges))| ranges.iter().map(move |it| (column, it.clone())))
            .collect();
        let compressed = parallel::map(&jobs, threads, |(column, piece)| {
            Block::new(column.chunk.get(piece.clone()).unwrap_or_default(), column.tuning)
        })?;
        let mut compressed = compressed.into_iter();
        for (index, cut) in std::mem::take(&mut left).into_iter().zip(cut) {
            let Some((cut, ranges)) = cut else { continue };
            let own: Vec<Block> = compressed.by_ref().take(ranges.len()).collect();
            let (Some(cost), Some(pieces)) = (costs.get(index), pieces.get_mut(index)) else {
                continue;
            };
            let bytes: f64 = own.iter().map(|block| block.cost() as f64 + CHECK_BYTES).sum();
            let limit = limits.get(index).copied().unwrap_or(f64::INFINITY);
            if bytes - cost.size > limit {
                *pieces = (*pieces / 2.0).min(ranges.len() as f64 / 2.0);
                left.push(index);
                continue;
            }
            let head = cost.head.clone();
            if let (Some(place), Some(blocks)) = (cuts.get_mut(index), blocks.get_mut(index)) {
                *place = Some(cut);
                *blocks = Some(head.into_iter().chain(own).collect());
            }
        }
    }
    Ok((cuts, blocks))
}

/// Decides where to cut a column, given how many pieces it deserves; `None` if it stays whole.
///
/// With `is_bounded`, pieces of several row groups have [`MAX_PIECE_BYTES`] at most.
fn cut_column(
    column: &EncodedColumn,
    pieces: f64,
    is_bounded: bool,
    groups: RowGroups,
) -> Result<Option<(CutColumn, Vec<PieceRange>)>> {
    let count = groups.count();
    let is_large = is_bounded && column.chunk.len() > MAX_PIECE_BYTES;
    if pieces < 1.5 && !is_large {
        return Ok(None);
    }
    let Some(sections) = ChunkSections::of(column.type_id, &column.chunk, groups)? else {
        return Ok(None);
    };
    let last = sections.borders.len().saturating_sub(1);
    let mut spans = Vec::with_capacity(sections.borders.len());
    let mut ranges: Vec<PieceRange> = Vec::new();
    for (section, borders) in sections.borders.iter().enumerate() {
        let border = |group: usize| borders.get(group.min(count)).copied().unwrap_or_default();
        let bytes = border(count) - border(0);
        let is_main = section == last || matches!(sections.state, GroupStates::Planes { .. });
        let mut span = if is_main { span_of(count, pieces) } else { count };
        if !is_main {
            let whole = column.chunk.get(border(0)..border(count)).unwrap_or_default();
            if compressed_size(whole, column.tuning)? >= MIN_CUT_BYTES {
                span = span_of(count, pieces);
            }
        }
        while is_bounded && span > 1 && bytes / count.div_ceil(span) > MAX_PIECE_BYTES {
            span = span.div_ceil(2);
        }
        spans.push(span);
        ranges.extend((0..count).step_by(span).map(|group| border(group)..border(group + span)));
    }
    let span = spans.last().copied().unwrap_or(1);
    let state = sections.state.by_piece(span, groups);
    Ok(Some((CutColumn { spans, state, order: EntryOrder::Unknown }, ranges)))
}

/// Estimates the compressed size of a section by its first bytes.
fn compressed_size(section: &[u8], tuning: Tuning) -> Result<usize> {
    let probe = section.get(..SECTION_PROBE_BYTES).unwrap_or(section);
    let cost = Block::new(probe, tuning.with_effort(Effort::Quick))?.cost();
    Ok(cost * (section.len() / probe.len().max(1)))
}

/// Returns the row groups of each piece, a power of 2, for this many pieces.
fn span_of(groups: usize, pieces: f64) -> usize {
    let mut span = 1;
    while (groups as f64) > pieces * std::f64::consts::SQRT_2 * span as f64 && span < groups {
        span *= 2;
    }
    span.min(groups)
}

/// Returns the indexes of a DICT chunk that our encoder made.
fn indexes(chunk: &[u8]) -> Vec<u32> {
    crate::codecs::columnar::values::dictionary_indexes(chunk).unwrap_or_default()
}
