//! Lists of tokens, back to back in `values` (§7.3, §7.4).
//!
//! What lists have in common is found if they are compressed as one; what is unlike
//! all else is better off in a block of its own, with its own tuning.

use hashbrown::HashMap;

use crate::pack::context::EncodeContext;
use crate::pack::options::Layout;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::Body;
use hypostyle_core::compress::xz::encode::{self as xz, Block, Tuning};
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// Lists of no more bytes have no blocks.
const SMALL: usize = 16 << 10;

/// Bytes of all lists by which it is judged which of them stand alone.
const SAMPLE: usize = 512 << 10;

/// Lists that take fewer bytes never stand alone: a block has to learn everything anew.
const LEAST: f64 = 8192.0;

/// Bytes of a piece that is looked for in other lists, and one in how many is.
const SHINGLE: usize = 8;
const PLACES: u64 = 4;

/// The share of its pieces that a list which stands alone may have in common with others.
const SHARED: f64 = 0.1;

/// What is tried for a block, and the pieces by which it is judged.
const TUNINGS: [Tuning; 3] = [Tuning::flat(3), Tuning::flat(4), Tuning::flat(0)];
const PIECES: usize = 6;
const PIECE: usize = 48 << 10;

/// Bytes that it takes until a block has learned what its content is like.
const LEARNED: f64 = 120.0;

/// Lists that stand alone, at most: each block takes some bytes.
const ALONE: usize = 64;

/// Lists as they are written.
#[derive(Debug)]
pub(in crate::pack) struct Arranged {
    /// The number that each list got.
    pub(in crate::pack) numbers: Vec<u64>,
    pub(in crate::pack) index: Body,
    pub(in crate::pack) values: Body,
}

/// Puts lists into an order that suits them, with `gap` between neighbours.
pub(in crate::pack) fn arrange(
    lists: &[Vec<u8>],
    gap: &[u8],
    job: &EncodeContext<'_>,
) -> Result<Arranged> {
    let search = job.search;
    let total: usize = lists.iter().map(Vec::len).sum();
    let plain = total <= SMALL || search.is_quick() || search.layout == Layout::Published;
    let alone = if plain { Vec::new() } else { unlike(lists, gap, job)? };
    let mut order: Vec<usize> = (0..lists.len()).filter(|list| !alone.contains(list)).collect();
    let together = order.len();
    order.extend(alone);
    let joined = |some: &[usize]| {
        let list = |&list: &usize| lists.get(list).map(Vec::as_slice).unwrap_or_default();
        some.iter().map(list).collect::<Vec<_>>().join(gap)
    };
    let values = match order.split_at_checked(together) {
        Some((rest, alone)) if !alone.is_empty() => {
            let mut parts: Vec<Vec<u8>> = alone.iter().map(|&list| joined(&[list])).collect();
            if !rest.is_empty() {
                parts.insert(0, joined(rest));
            }
            let last = parts.len() - 1;
            parts.iter_mut().take(last).for_each(|part| part.extend_from_slice(gap));
            blocks(&parts, job)?
        }
        _ if plain => Body::fitted(&joined(&order), search)?,
        _ => blocks(&[joined(&order)], job)?,
    };
    let mut index = Vec::new();
    put::uv(&mut index, lists.len() as u64);
    let mut numbers = vec![0; lists.len()];
    for (number, &list) in (0_u64..).zip(&order) {
        put::uv(&mut index, lists.get(list).map_or(0, Vec::len) as u64);
        if let Some(place) = numbers.get_mut(list) {
            *place = number;
        }
    }
    Ok(Arranged { numbers, index: Body::fitted(&index, search)?, values })
}

/// One stream with a block for each part.
fn blocks(parts: &[Vec<u8>], job: &EncodeContext<'_>) -> Result<Body> {
    let part = |at: usize| parts.get(at).map(Vec::as_slice).unwrap_or_default();
    let mut blocks = Vec::with_capacity(parts.len());
    parallel::in_order(
        parts.len(),
        job.threads,
        |at| block(part(at), job.search),
        |_, block| {
            blocks.push(block);
            Ok(())
        },
    )?;
    Ok(Body::xz(xz::stream(&blocks)))
}

/// A block with the tuning that suits pieces of it best.
fn block(part: &[u8], search: &SearchParams) -> Result<Block> {
    let step = part.len() / PIECES;
    let pieces = (0..PIECES).filter_map(|at| part.get(at * step..at * step + step.min(PIECE)));
    let pieces = pieces.collect::<Vec<_>>().concat();
    let mut best = (f64::INFINITY, Tuning::flat(3));
    for tuning in TUNINGS {
        let cost = search.estimate(&pieces, tuning)?;
        if cost < best.0 {
            best = (cost, tuning);
        }
    }
    Block::new(part, best.1.with_effort(search.effort))
}

/// The lists that take less if each of them stands alone.
fn unlike(lists: &[Vec<u8>], gap: &[u8], job: &EncodeContext<'_>) -> Result<Vec<usize>> {
    let samples = samples(lists);
    let total = |lists: &mut dyn Iterator<Item = usize>| lists.sum::<usize>() as f64;
    let scale = total(&mut lists.iter().map(Vec::len))
        / total(&mut samples.iter().map(|sample| sample.len())).max(1.0);
    let shares = shares(&samples);
    let cost = |bytes: &[u8]| job.search.estimate(bytes, Tuning::flat(3));
    let mut alone: Vec<usize> = Vec::new();
    let mut apart = 0.0;
    for (list, (sample, share)) in samples.iter().zip(shares).enumerate() {
        if share >= SHARED || sample.len() as f64 * scale < LEAST {
            continue;
        }
        let cost = cost(sample)?;
        if cost * scale >= LEAST && alone.len() < ALONE {
            alone.push(list);
            apart += cost;
        }
    }
    let all = cost(&samples.join(gap))?;
    let rest = samples.iter().enumerate().filter(|(list, _)| !alone.contains(list));
    let rest: Vec<&[u8]> = rest.map(|(_, sample)| *sample).collect();
    apart += cost(&rest.join(gap))?;
    // What a block has to learn it learns once, however long it is.
    let full = |cost: f64, blocks: f64| (cost - blocks * LEARNED) * scale + blocks * LEARNED;
    let (all, apart) = (full(all, 1.0), full(apart, alone.len() as f64 + 1.0));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a guess")]
    (job.report_estimate)(all.min(apart) as usize);
    Ok(if apart < all { alone } else { Vec::new() })
}

/// The start of each list, the same share of all.
fn samples(lists: &[Vec<u8>]) -> Vec<&[u8]> {
    let total: usize = lists.iter().map(Vec::len).sum();
    let share = SAMPLE as f64 / total.max(1) as f64;
    let sample = |list: &Vec<u8>| {
        // Rounding is of no consequence.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded")]
        let len = (list.len() as f64 * share) as usize;
        len.min(list.len())
    };
    lists.iter().map(|list| list.get(..sample(list)).unwrap_or_default()).collect()
}

/// For each list the share of its distinct pieces that other lists have too.
fn shares(lists: &[&[u8]]) -> Vec<f64> {
    /// In place of a list: there are several.
    const SEVERAL: usize = usize::MAX;
    let mut owners: HashMap<u64, usize> = HashMap::new();
    for (number, list) in lists.iter().enumerate() {
        for piece in pieces(list) {
            let owner = owners.entry(piece).or_insert(number);
            if *owner != number {
                *owner = SEVERAL;
            }
        }
    }
    let mut counts = vec![(0_usize, 0_usize); lists.len()];
    let mut seen: HashMap<u64, usize> = HashMap::new();
    for (number, list) in lists.iter().enumerate() {
        let Some(count) = counts.get_mut(number) else { continue };
        for piece in pieces(list) {
            if seen.insert(piece, number) == Some(number) {
                continue;
            }
            count.0 += usize::from(owners.get(&piece) == Some(&SEVERAL));
            count.1 += 1;
        }
    }
    counts.iter().map(|&(shared, all)| shared as f64 / all.max(1) as f64).collect()
}

/// Some pieces of a list, chosen by what is in them.
fn pieces(list: &[u8]) -> impl Iterator<Item = u64> {
    list.windows(SHINGLE).filter_map(|piece| {
        let piece = u64::from_le_bytes(piece.try_into().ok()?);
        let mixed = piece.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 40).is_multiple_of(PLACES).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_tell_which_lists_are_alike() {
        let list = |first: u64, last: u64| {
            let token = |i: u64| format!("{:016x}\n", i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            (first..last).map(token).collect::<String>().into_bytes()
        };
        let (one, other, apart) = (list(0, 500), list(250, 750), list(1000, 1500));
        let shares = shares(&[&one, &other, &apart, b""]);
        assert!((0.4..0.6).contains(&shares[0]) && (0.4..0.6).contains(&shares[1]));
        assert!(shares[2] < 0.05 && shares[3] < 0.05);
    }

    #[test]
    fn samples_are_the_same_share_of_all() {
        let lists = [vec![b'a'; SAMPLE * 3], vec![b'b'; SAMPLE], Vec::new(), vec![b'c'; 8]];
        let lengths: Vec<usize> = samples(&lists).iter().map(|sample| sample.len()).collect();
        assert!(lengths[0].abs_diff(SAMPLE * 3 / 4) < 100 && lengths[1].abs_diff(SAMPLE / 4) < 100);
        assert_eq!(lengths[2], 0);
        let whole = samples(&lists[2..]);
        assert_eq!(whole, [&b""[..], b"cccccccc"]);
    }
}
