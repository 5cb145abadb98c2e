//! What it costs to read a list, and to cut it into blocks.

use super::contents::{LineContents, List};
use crate::codec::Codec;
use crate::pack::context::EncodeContext;
use crate::pack::sample::middle_run;
use crate::pack::search::SearchParams;
use hypostyle_core::compress::xz::encode::Tuning;
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;

/// Lists of fewer bytes are never cut.
const MIN_LIST_BYTES: usize = 2 << 10;

/// Bytes of a block besides its data: header, padding, check and its record in the index.
const BLOCK_COST: f64 = 30.0;

/// Bytes that a cut loses in any case, because the model of the next block must adapt again.
const MIN_CUT_LOSS: f64 = 60.0;

/// Bytes on each side of a cut by which its loss is measured, in the largest lists.
const CUT_SAMPLE_BYTES: usize = 24 << 10;
const MEASURED_CUTS: usize = 32;

/// What a cut loses in all, as a multiple of what it loses in the sample. In columns of numbers
/// and of short words it was 2.2 to 3.8.
const LOSS_PER_SAMPLED: f64 = 3.0;

/// The numbers of the blocks of small lists, and of large lists that are not separate.
const SMALL_BLOCK: usize = 0;
const LARGE_BLOCK: usize = 1;

/// A list is large if reading it costs so much.
const MIN_LARGE_WEIGHT: f64 = 16e3;

/// A large list has a block of its own if that loses at most this fraction of it.
const MAX_SEPARATE_LOSS: f64 = 0.01;

/// What a block of its own loses, as a fraction of its size, if that is not measured.
const UNMEASURED_LOSS: f64 = 0.5;

/// Bytes of all columns by which is measured what columns have in common.
const JOINT_SAMPLE_BYTES: usize = 512 << 10;

/// Bytes of content that take as long to decompress as one byte of an archive takes to read.
const RAW_PER_STORED: f64 = 256.0;

/// The groups by which the cost of cuts is measured, roughly.
const MEASURED_GROUPS: usize = 8;

/// Bytes of all lists by which the cost of cuts is measured.
const MEASURED_BYTES: usize = 8 << 20;

/// Bytes of a list that are measured in any case.
const MIN_MEASURED_BYTES: usize = 128 << 10;

/// The size of the output of xz, as a fraction of that of zstd.
const XZ_PER_ZSTD: f64 = 0.8;

/// The level of zstd, with a window over all of a list.
const ZSTD_LEVEL: i32 = 3;

/// The costs of the lists that may be cut.
pub(super) struct ListCosts {
    /// Those with the greatest weight first.
    pub(super) lists: Vec<ListCost>,
    /// The estimated bytes of the archive.
    pub(super) archive: f64,
    joint: Joint,
}

/// What is known of a list.
pub(super) struct ListCost {
    pub(super) index: usize,
    /// What reading the list costs, in bytes of the archive.
    pub(super) weight: f64,
    /// What a cut into blocks loses, besides the blocks themselves.
    loss: f64,
    /// The groups by which the loss was measured.
    measured: usize,
    /// Whether it is a column that shares an xz block with others.
    is_shared: bool,
    /// What a cut loses because the model of the next block must adapt again.
    adaptation: f64,
    /// What a block of its own loses, because similar columns are in other blocks.
    apart: f64,
}

impl ListCost {
    /// Returns what a cut into so many blocks adds to the archive.
    pub(super) fn of(&self, groups: usize) -> f64 {
        let cuts = (groups - 1) as f64;
        // The first cuts lose the most of what repeats after a long distance.
        let far = self.loss * (cuts / (self.measured.max(2) - 1) as f64).max(0.6);
        self.apart + far.max(self.adaptation * cuts) + BLOCK_COST * groups as f64
    }
}

impl ListCosts {
    /// Estimates the costs by zstd. They are too low: a cut also loses what is nearby, and what
    /// other columns have in common.
    pub(super) fn estimate(contents: &LineContents, threads: usize) -> Result<Self> {
        let total: usize = contents.lists.iter().map(|list| list.content.len()).sum();
        let share = (MEASURED_BYTES as f64 / total.max(1) as f64).min(1.0);
        let measured: Vec<Option<ListSizes>> =
            parallel::map(&contents.lists, threads, |list| measure(list, contents.runs, share))?;
        let (streams, columns) =
            measured.split_at_checked(contents.first_column).unwrap_or_default();
        let size =
            |lists: &[Option<ListSizes>]| lists.iter().flatten().map(|it| it.whole).sum::<f64>();
        let (rest, apart) = (size(streams), size(columns));
        let joint = Joint::new(contents.columns(), total)?;
        let archive = (joint.size.min(apart) + rest) * XZ_PER_ZSTD;
        let per_own = if apart > 0.0 { (joint.size / apart).min(1.0) } else { 1.0 };
        let has_own_block = own_blocks(contents);
        let mut lists = Vec::new();
        for (index, (list, found)) in contents.lists.iter().zip(measured).enumerate() {
            let Some(sizes) = found else { continue };
            let column = index.checked_sub(contents.first_column);
            let scale = XZ_PER_ZSTD * if column.is_some() { per_own } else { 1.0 };
            let is_shared = column.is_some_and(|column| has_own_block.get(column) == Some(&false));
            lists.push(ListCost {
                index,
                weight: sizes.whole * scale + list.content.len() as f64 / RAW_PER_STORED,
                loss: (sizes.cut - sizes.whole).max(0.0) * scale,
                measured: sizes.groups,
                is_shared,
                adaptation: MIN_CUT_LOSS,
                apart: 0.0,
            });
        }
        lists.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        Ok(Self { lists, archive, joint })
    }

    /// Returns which lists share a block: small ones, large ones with something in common, and
    /// each other large one has its own.
    ///
    /// A reader of some columns of small lists then need not read large ones.
    pub(super) fn blocks(&self, contents: &LineContents) -> Vec<usize> {
        let mut blocks = vec![SMALL_BLOCK; contents.lists.len()];
        if contents.codec != Codec::Json {
            return blocks;
        }
        for cost in self.lists.iter().filter(|cost| cost.weight >= MIN_LARGE_WEIGHT) {
            let loses_little = cost.apart <= cost.weight * MAX_SEPARATE_LOSS;
            if let Some(block) = blocks.get_mut(cost.index) {
                *block = if loses_little { LARGE_BLOCK + 1 + cost.index } else { LARGE_BLOCK };
            }
        }
        blocks
    }

    /// Measures what cuts of the largest lists lose nearby, and without other columns.
    pub(super) fn measure_largest(
        &mut self,
        contents: &LineContents,
        context: &EncodeContext<'_>,
    ) -> Result<()> {
        let count = self.lists.len().min(MEASURED_CUTS);
        let largest = self.lists.get(..count).unwrap_or_default();
        let losses = parallel::map(largest, context.threads, |cost| {
            let list = contents.lists.get(cost.index);
            let content = list.map(|list| list.content.as_ref()).unwrap_or_default();
            let column = cost.index.checked_sub(contents.first_column).filter(|_| cost.is_shared);
            let columns = contents.columns();
            let apart = column.map_or(Ok(0.0), |column| self.joint.loss_apart(columns, column))?;
            Ok((cut_loss(content, context.search)?, apart * XZ_PER_ZSTD))
        })?;
        let mut losses = losses.into_iter();
        for cost in &mut self.lists {
            match losses.next() {
                Some((loss, apart)) => {
                    cost.adaptation = (loss * LOSS_PER_SAMPLED).max(MIN_CUT_LOSS);
                    cost.apart = apart;
                }
                None if cost.is_shared => cost.apart = cost.weight * UNMEASURED_LOSS,
                None => {}
            }
        }
        Ok(())
    }
}

/// The size of a list by zstd.
struct ListSizes {
    whole: f64,
    /// If each of some groups is compressed by itself.
    cut: f64,
    groups: usize,
}

/// Compresses the first groups of a list; `None` for a list that is never cut.
fn measure(list: &List, runs: usize, share: f64) -> Result<Option<ListSizes>> {
    let len = list.content.len();
    if len < MIN_LIST_BYTES {
        return Ok(None);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sample")]
    let enough = ((len as f64 * share) as usize).max(MIN_MEASURED_BYTES);
    let step = runs.div_ceil(MEASURED_GROUPS).max(1);
    let (mut cut, mut groups, mut end) = (0, 0, 0);
    for run in (0..runs).step_by(step) {
        end = runs.min(run + step);
        cut += zstd::compress_far(list.part(run..end), ZSTD_LEVEL)?.len();
        groups += 1;
        if groups > 1 && list.part(0..end).len() >= enough {
            break;
        }
    }
    let measured = list.part(0..end);
    let whole = zstd::compress_far(measured, ZSTD_LEVEL)?.len();
    let scale = len as f64 / measured.len().max(1) as f64;
    // What a cut loses does not depend on how long the list is.
    let lost = cut as f64 - whole as f64;
    Ok(Some(ListSizes { whole: whole as f64 * scale, cut: whole as f64 * scale + lost, groups }))
}

/// Returns what a cut in the middle of a list loses nearby, by xz.
fn cut_loss(content: &[u8], search: &SearchParams) -> Result<f64> {
    let sample = content.get(middle_run(content.len(), 2 * CUT_SAMPLE_BYTES)).unwrap_or_default();
    let (before, after) = sample.split_at_checked(sample.len() / 2).unwrap_or_default();
    let size = |bytes: &[u8]| search.rough_estimate(bytes, Tuning::flat(3));
    Ok(size(before)? + size(after)? - size(sample)? - BLOCK_COST)
}

/// The columns as zstd compresses them together.
struct Joint {
    /// The part of each column that is compressed.
    share: f64,
    /// The size of all columns, and that of the sample.
    size: f64,
    sample_size: usize,
}

impl Joint {
    /// Compresses a sample of the columns, which are a part of `total` bytes.
    fn new(columns: &[List], total: usize) -> Result<Self> {
        let share = (JOINT_SAMPLE_BYTES as f64 / total.max(1) as f64).min(1.0);
        let sample_size = Self::sample_size(columns, share, None)?;
        Ok(Self { share, size: sample_size as f64 / share, sample_size })
    }

    /// Compresses the start of all columns but one.
    fn sample_size(columns: &[List], share: f64, without: Option<usize>) -> Result<usize> {
        let mut joint = Vec::new();
        for (column, list) in columns.iter().enumerate() {
            if Some(column) != without {
                joint.extend_from_slice(start(&list.content, share));
            }
        }
        Ok(zstd::compress_far(&joint, ZSTD_LEVEL)?.len())
    }

    /// Returns what is lost if a column is compressed without the others.
    fn loss_apart(&self, columns: &[List], column: usize) -> Result<f64> {
        let list = columns.get(column).map(|list| list.content.as_ref()).unwrap_or_default();
        let own = zstd::compress_far(start(list, self.share), ZSTD_LEVEL)?.len();
        let others = Self::sample_size(columns, self.share, Some(column))?;
        Ok((own + others).saturating_sub(self.sample_size) as f64 / self.share)
    }
}

/// Returns a share of a list.
fn start(content: &[u8], share: f64) -> &[u8] {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sample")]
    let len = (content.len() as f64 * share) as usize;
    content.get(..len.min(content.len())).unwrap_or_default()
}

/// Returns for each column whether it has an xz block of its own.
fn own_blocks(contents: &LineContents) -> Vec<bool> {
    let blocks = column_blocks(contents);
    let shares = |block: usize| blocks.iter().filter(|&&other| other == block).count();
    blocks.iter().map(|&block| shares(block) == 1).collect()
}

/// Returns the xz block that each column starts in.
pub(super) fn column_blocks(contents: &LineContents) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut end = 0;
    for &bytes in &contents.value_blocks {
        end += bytes;
        ends.push(end);
    }
    let mut start = 0_u64;
    let mut blocks = Vec::new();
    for list in contents.columns() {
        blocks.push(ends.partition_point(|&end| end <= start));
        start += (list.content.len() + contents.gap().len()) as u64;
    }
    blocks
}
