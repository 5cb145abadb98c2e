//! Encodes lists of tokens as the columns of stream `values` (§7.3, §7.4).
//!
//! The columns lie back to back. Most of them share one xz block, where the compressor finds
//! what they have in common. A long column that is unlike all others gets a block of its own
//! with its own tuning; these columns are stored last.

use hashbrown::HashMap;

use crate::pack::context::EncodeContext;
use crate::pack::fitted_block::fitted_block;
use crate::pack::options::Layout;
use crate::pack::stream_set::Body;
use hypostyle_core::compress::xz::encode::{self as xz, Tuning};
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// Up to this size all columns are compressed as one.
const MAX_SINGLE_BLOCK_BYTES: usize = 16 << 10;

/// Bytes of all columns by which separate blocks are chosen.
const SAMPLE_BYTES: usize = 512 << 10;

/// Estimated compressed bytes from which a column may get a block: each block starts with an
/// empty model.
const MIN_BLOCK_COST: f64 = 8192.0;

/// Bytes of a shingle; one shingle in `SHINGLE_STRIDE` is compared with other columns.
const SHINGLE_BYTES: usize = 8;
const SHINGLE_STRIDE: u64 = 4;

/// The share of its shingles that a column with its own block may have in common with others.
const MAX_SHARED: f64 = 0.1;

/// Estimated bytes that a block needs until its model has adapted to the content.
const ADAPTATION_COST: f64 = 120.0;

/// Columns with their own block, at most: each block has a header.
const MAX_OWN_BLOCKS: usize = 64;

/// Token columns as they are written.
#[derive(Debug)]
pub(in crate::pack) struct EncodedTokenColumns {
    /// The column number that each list got.
    pub(in crate::pack) numbers: Vec<u64>,
    /// Stream `value_index`.
    pub(in crate::pack) index: Body,
    /// Stream `values`.
    pub(in crate::pack) values: Body,
}

/// The order of lists, and which of them share an xz block.
#[derive(Debug)]
pub(in crate::pack) struct Arrangement {
    /// The lists in the order of their column numbers.
    order: Vec<usize>,
    /// The number of lists at the start that share a block.
    shared: usize,
    /// Whether the content is too short for several blocks.
    is_single: bool,
}

impl Arrangement {
    /// Finds the lists that are smaller with a block for each of them, and puts them last.
    pub(in crate::pack) fn find(
        lists: &[Vec<u8>],
        gap: &[u8],
        context: &EncodeContext<'_>,
    ) -> Result<Self> {
        let search = context.search;
        let total: usize = lists.iter().map(Vec::len).sum();
        let is_single = total <= MAX_SINGLE_BLOCK_BYTES
            || search.is_quick()
            || search.layout == Layout::Published;
        let separate = if is_single { Vec::new() } else { separate_lists(lists, gap, context)? };
        let mut order: Vec<usize> =
            (0..lists.len()).filter(|list| !separate.contains(list)).collect();
        let shared = order.len();
        order.extend(separate);
        Ok(Self { order, shared, is_single })
    }

    /// Returns the column number that each list gets.
    pub(in crate::pack) fn numbers(&self) -> Vec<u64> {
        let mut numbers = vec![0; self.order.len()];
        for (number, &list) in (0_u64..).zip(&self.order) {
            if let Some(slot) = numbers.get_mut(list) {
                *slot = number;
            }
        }
        numbers
    }

    /// Returns the content of stream `value_index`.
    pub(in crate::pack) fn index(&self, lists: &[Vec<u8>]) -> Vec<u8> {
        let mut index = Vec::new();
        put::uv(&mut index, lists.len() as u64);
        for &list in &self.order {
            put::uv(&mut index, lists.get(list).map_or(0, Vec::len) as u64);
        }
        index
    }

    /// Returns the content of each block of stream `values`.
    pub(in crate::pack) fn blocks(&self, lists: &[Vec<u8>], gap: &[u8]) -> Vec<Vec<u8>> {
        let joined = |some: &[usize]| {
            let list = |&list: &usize| lists.get(list).map(Vec::as_slice).unwrap_or_default();
            some.iter().map(list).collect::<Vec<_>>().join(gap)
        };
        match self.order.split_at_checked(self.shared) {
            Some((shared, separate)) if !separate.is_empty() => {
                let mut contents: Vec<Vec<u8>> =
                    separate.iter().map(|&list| joined(&[list])).collect();
                if !shared.is_empty() {
                    contents.insert(0, joined(shared));
                }
                let last = contents.len() - 1;
                contents.iter_mut().take(last).for_each(|content| content.extend_from_slice(gap));
                contents
            }
            _ => vec![joined(&self.order)],
        }
    }

    /// Compresses the content of stream `values`.
    pub(in crate::pack) fn compress(
        &self,
        contents: &[Vec<u8>],
        context: &EncodeContext<'_>,
    ) -> Result<Body> {
        match contents {
            [only] if self.is_single => Body::fitted(only, context.search),
            contents => blocks(contents, context),
        }
    }
}

/// Orders lists and encodes them, with `gap` between neighbours.
pub(in crate::pack) fn encode(
    lists: &[Vec<u8>],
    gap: &[u8],
    context: &EncodeContext<'_>,
) -> Result<EncodedTokenColumns> {
    let arrangement = Arrangement::find(lists, gap, context)?;
    let values = arrangement.compress(&arrangement.blocks(lists, gap), context)?;
    let index = Body::fitted(&arrangement.index(lists), context.search)?;
    Ok(EncodedTokenColumns { numbers: arrangement.numbers(), index, values })
}

/// Compresses contents into one xz stream with a block for each.
fn blocks(contents: &[Vec<u8>], context: &EncodeContext<'_>) -> Result<Body> {
    let blocks =
        parallel::map(contents, context.threads, |content| fitted_block(content, context.search))?;
    Ok(Body::xz(xz::stream(&blocks)))
}

/// Returns the lists that are smaller with a block for each of them; none if one block for all
/// lists is smaller.
fn separate_lists(
    lists: &[Vec<u8>],
    gap: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Vec<usize>> {
    let samples = samples(lists);
    let total = |lens: &mut dyn Iterator<Item = usize>| lens.sum::<usize>() as f64;
    let scale = total(&mut lists.iter().map(Vec::len))
        / total(&mut samples.iter().map(|sample| sample.len())).max(1.0);
    let shares = shared_shares(&samples);
    let cost = |bytes: &[u8]| context.search.estimate(bytes, Tuning::flat(3));
    let mut separate: Vec<usize> = Vec::new();
    let mut separate_cost = 0.0;
    for (list, (sample, share)) in samples.iter().zip(shares).enumerate() {
        if share >= MAX_SHARED || sample.len() as f64 * scale < MIN_BLOCK_COST {
            continue;
        }
        let cost = cost(sample)?;
        if cost * scale >= MIN_BLOCK_COST && separate.len() < MAX_OWN_BLOCKS {
            separate.push(list);
            separate_cost += cost;
        }
    }
    let joint_cost = cost(&samples.join(gap))?;
    let rest = samples.iter().enumerate().filter(|(list, _)| !separate.contains(list));
    let rest: Vec<&[u8]> = rest.map(|(_, sample)| *sample).collect();
    separate_cost += cost(&rest.join(gap))?;
    // The cost of adaptation does not grow with the length of a block.
    let scaled = |cost: f64, blocks: f64| {
        (cost - blocks * ADAPTATION_COST) * scale + blocks * ADAPTATION_COST
    };
    let joint_cost = scaled(joint_cost, 1.0);
    let separate_cost = scaled(separate_cost, separate.len() as f64 + 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
    (context.report_estimate)(joint_cost.min(separate_cost) as usize);
    Ok(if separate_cost < joint_cost { separate } else { Vec::new() })
}

/// Returns the start of each list, the same share of every list.
fn samples(lists: &[Vec<u8>]) -> Vec<&[u8]> {
    let total: usize = lists.iter().map(Vec::len).sum();
    let share = SAMPLE_BYTES as f64 / total.max(1) as f64;
    let sample_len = |list: &Vec<u8>| {
        #[expect(clippy::cast_possible_truncation, reason = "a sample may be a byte shorter")]
        #[expect(clippy::cast_sign_loss, reason = "lengths are positive")]
        let len = (list.len() as f64 * share) as usize;
        len.min(list.len())
    };
    lists.iter().map(|list| list.get(..sample_len(list)).unwrap_or_default()).collect()
}

/// Returns for each list the share of its distinct shingles that other lists contain too.
fn shared_shares(lists: &[&[u8]]) -> Vec<f64> {
    /// The owner of a shingle that several lists contain.
    const SEVERAL: usize = usize::MAX;
    let mut owners: HashMap<u64, usize> = HashMap::new();
    for (number, list) in lists.iter().enumerate() {
        for shingle in shingles(list) {
            let owner = owners.entry(shingle).or_insert(number);
            if *owner != number {
                *owner = SEVERAL;
            }
        }
    }
    let mut counts = vec![(0_usize, 0_usize); lists.len()];
    let mut seen: HashMap<u64, usize> = HashMap::new();
    for ((number, list), (shared, all)) in lists.iter().enumerate().zip(&mut counts) {
        for shingle in shingles(list) {
            if seen.insert(shingle, number) == Some(number) {
                continue;
            }
            *shared += usize::from(owners.get(&shingle) == Some(&SEVERAL));
            *all += 1;
        }
    }
    counts.iter().map(|&(shared, all)| shared as f64 / all.max(1) as f64).collect()
}

/// Returns some shingles of a list. Their hash selects them, so that equal shingles of two
/// lists are both selected.
fn shingles(list: &[u8]) -> impl Iterator<Item = u64> {
    list.windows(SHINGLE_BYTES).filter_map(|window| {
        let shingle = u64::from_le_bytes(window.try_into().ok()?);
        let mixed = shingle.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 40).is_multiple_of(SHINGLE_STRIDE).then_some(shingle)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_shingles_show_which_lists_are_alike() {
        let list = |first: u64, last: u64| {
            let token = |i: u64| format!("{:016x}\n", i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            (first..last).map(token).collect::<String>().into_bytes()
        };
        let (one, other, apart) = (list(0, 500), list(250, 750), list(1000, 1500));
        let shares = shared_shares(&[&one, &other, &apart, b""]);
        assert!((0.4..0.6).contains(&shares[0]) && (0.4..0.6).contains(&shares[1]));
        assert!(shares[2] < 0.05 && shares[3] < 0.05);
    }

    #[test]
    fn samples_are_the_same_share_of_every_list() {
        let lists =
            [vec![b'a'; SAMPLE_BYTES * 3], vec![b'b'; SAMPLE_BYTES], Vec::new(), vec![b'c'; 8]];
        let lengths: Vec<usize> = samples(&lists).iter().map(|sample| sample.len()).collect();
        assert!(
            lengths[0].abs_diff(SAMPLE_BYTES * 3 / 4) < 100
                && lengths[1].abs_diff(SAMPLE_BYTES / 4) < 100
        );
        assert_eq!(lengths[2], 0);
        let whole = samples(&lists[2..]);
        assert_eq!(whole, [&b""[..], b"cccccccc"]);
    }
}
