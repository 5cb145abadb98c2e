//! Arrays of numbers or records as embed (§7.8).
//!
//! What is at the same place in each element is alike, so it is compressed by itself:
//! signs and exponents of floating-point numbers, high bytes of integers. Bytes that
//! are noise then do not spoil the others.

use crate::pack::context::EncodeContext;
use crate::pack::options::Layout;
use crate::pack::sample::aligned_pieces;
use crate::pack::science::dicom;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream};
use hypostyle_core::compress::xz::encode::{self as xz, Block, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// Bytes in an element at most.
const WIDEST: usize = 32;

/// Pieces that content is judged by, and the bytes of each.
const PIECES: usize = 6;
const PIECE: usize = 16 << 10;

/// Bytes of each plane in a piece by which tunings are judged.
const TUNED: usize = 8 << 10;

/// Bytes of a plane that distances are judged by.
const NEAR: usize = 4 << 10;

/// The share of what all bytes take together that planes must take to be worth it.
const CLEARLY: f64 = 0.97;

/// The share of its bytes above which what a plane takes is not worth the time.
const NOISE: f64 = 0.998;

/// Content of no more bytes is compressed in other encoders too.
const SMALL: usize = 4 << 10;

/// What a plan of a plane is guessed to take at least, in shares of its trial.
const SURELY: f64 = 0.9;

/// Whether content looks like an array.
pub(in crate::pack) fn suits(bytes: &[u8]) -> bool {
    if npy(bytes).is_some() {
        return true;
    }
    let as_it_is = pieces(bytes, 1, PIECE).concat();
    // Images know more of their pixels than that they are numbers.
    if is_text(&as_it_is) || dicom::suits(bytes) {
        return false;
    }
    let Ok(whole) = zstd::compress(&as_it_is, 1) else { return false };
    ranked(bytes).first().is_some_and(|&(least, _)| least < whole.len() as f64 * CLEARLY)
}

/// The streams of an array; any content is one of bytes at least.
pub(in crate::pack) fn streams(
    bytes: &[u8],
    job: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let start = npy(bytes).unwrap_or(0);
    let body = bytes.get(start..).unwrap_or_default();
    let plan = Plan::best(body, job)?;
    let odd = body.len() % plan.width;
    let (header, elements) = bytes.split_at_checked(start + odd).unwrap_or_default();
    (job.report_estimate)(plan.guess(elements.len()));
    let mut meta = Vec::new();
    put::uv(&mut meta, plan.width as u64);
    put::lp(&mut meta, header);
    put::uv(&mut meta, (elements.len() / plan.width) as u64);
    Ok(Some(vec![
        Stream { name: "meta".into(), body: Body::smallest(&meta, job.search.layout)? },
        Stream { name: "data".into(), body: plan.data(elements, job)? },
    ]))
}

/// How the planes of elements are compressed.
#[derive(Debug)]
struct Plan {
    width: usize,
    planes: Vec<How>,
    /// What the planes of a sample took, and the bytes of it.
    cost: f64,
    sampled: usize,
}

/// How one plane is compressed.
#[derive(Clone, Copy, Debug)]
enum How {
    Stored,
    Tuned(Tuning),
}

impl Plan {
    /// The plan that takes least, of the most promising widths.
    fn best(body: &[u8], job: &EncodeContext<'_>) -> Result<Self> {
        let search = job.search;
        let tried = if search.is_quick() { 1 } else { search.max_tuned_types };
        let mut best: Option<Self> = None;
        for (_, width) in ranked(body).into_iter().take(tried) {
            let plan = Self::new(body, width, job)?;
            if best.as_ref().is_none_or(|best| plan.cost < best.cost) {
                best = Some(plan);
            }
        }
        Ok(best.unwrap_or(Self { width: 1, planes: vec![How::Stored], cost: 0.0, sampled: 0 }))
    }

    fn new(body: &[u8], width: usize, job: &EncodeContext<'_>) -> Result<Self> {
        let piece = (TUNED * width).max(PIECE) * job.search.piece_scale;
        let sample = planes(&pieces(body, width, piece), width);
        let mut plan = Self { width, planes: Vec::new(), cost: 0.0, sampled: 0 };
        let work = |at: usize| {
            let plane = sample.get(at).map(Vec::as_slice).unwrap_or_default();
            Ok((plane.len(), tuned(plane, job.search)?))
        };
        parallel::in_order(width, job.threads, work, |_, (len, (how, cost))| {
            plan.planes.push(how);
            plan.cost += cost;
            plan.sampled += len;
            Ok(())
        })?;
        Ok(plan)
    }

    /// What all planes will take; rather too little, so that nobody gives up too soon.
    fn guess(&self, bytes: usize) -> usize {
        let least = self.cost * bytes as f64 / self.sampled.max(1) as f64 * SURELY;
        // A share of bytes that are in memory.
        #[expect(clippy::cast_possible_truncation, reason = "it is a guess")]
        #[expect(clippy::cast_sign_loss, reason = "costs are positive")]
        let least = least as usize;
        least
    }

    /// All planes of elements.
    fn data(&self, elements: &[u8], job: &EncodeContext<'_>) -> Result<Body> {
        let search = job.search;
        let all = || planes(&[elements], self.width).concat();
        if search.is_quick() {
            let all = all();
            let zstd = Body::zstd(zstd::compress(&all, search.zstd_level)?);
            return Ok(zstd.min(Body::stored(all)));
        }
        let mut blocks = Vec::with_capacity(self.width);
        let work = |at: usize| {
            let plane = plane(elements, self.width, at);
            match self.planes.get(at) {
                Some(How::Tuned(tuning)) => Block::new(&plane, tuning.with_effort(search.effort)),
                // Whole vectors may be there twice, which a sample does not show.
                _ if zstd::compress_far(&plane, 1)?.len() as f64 <= plane.len() as f64 * NOISE => {
                    Block::new(&plane, Tuning::flat(0))
                }
                _ => Ok(Block::stored(&plane)),
            }
        };
        if !elements.is_empty() {
            parallel::in_order(self.width, job.threads, work, |_, block| {
                blocks.push(block);
                Ok(())
            })?;
        }
        let body = Body::xz(xz::stream(&blocks));
        if search.layout == Layout::Published {
            return Ok(body);
        }
        let all = all();
        let body = match all.len() <= SMALL {
            true => body.min(Body::smallest(&all, search.layout)?),
            false => body,
        };
        Ok(body.min(Body::stored(all)))
    }
}

/// How a plane is best compressed, by a sample of it, and what that takes.
fn tuned(plane: &[u8], search: &SearchParams) -> Result<(How, f64)> {
    let mut best = (How::Stored, plane.len() as f64);
    let near = distance(plane);
    let mut tunings = vec![Tuning::flat(0), Tuning::flat(3)];
    if search.max_tuned_types > 1 {
        tunings.extend([Tuning::flat(1), Tuning { pb: 2, ..Tuning::flat(0) }]);
    }
    if search.try_all_types {
        tunings.extend([Tuning::flat(2), Tuning::flat(4), Tuning::pairs(0), Tuning::pairs(3)]);
        tunings.push(Tuning { lp: 2, pb: 2, ..Tuning::flat(0) });
    }
    let mut all: Vec<Tuning> = Vec::new();
    for &tuning in &tunings {
        let apart = [0, 1, near].into_iter().map(|delta| Tuning { delta, ..tuning });
        all.extend(apart.take(if near > 1 { 3 } else { 1 + usize::from(near) }));
    }
    for tuning in all {
        let cost = search.estimate(plane, tuning)?;
        if cost < best.1 * if matches!(best.0, How::Stored) { NOISE } else { 1.0 } {
            best = (How::Tuned(tuning), cost);
        }
        if search.is_quick() {
            break;
        }
    }
    Ok(best)
}

/// How far apart those bytes of a plane are whose differences have least entropy; 0 if
/// the bytes themselves have less.
fn distance(plane: &[u8]) -> u8 {
    let start = plane.len().saturating_sub(NEAR) / 2;
    let some = plane.get(start..).unwrap_or_default();
    let some = some.get(..NEAR).unwrap_or(some);
    let mut best = (Counts::of(some.iter().copied()).bits() / some.len() as f64, 0);
    // A delta filter looks back 256 bytes; distances are kept in one byte here.
    for far in 1..=u8::MAX {
        let back = some.get(usize::from(far)..).unwrap_or_default();
        if back.is_empty() || back.len() < some.len() / 2 {
            break;
        }
        let apart = back.iter().zip(some).map(|(&this, &one)| this.wrapping_sub(one));
        let found = Counts::of(apart).bits() / back.len() as f64;
        // The same may be seen at every multiple: the nearest is what counts.
        if found < best.0 * 0.99 {
            best = (found, far);
        }
    }
    best.1
}

/// How often each byte is there.
struct Counts([u32; 256]);

impl Counts {
    fn of(bytes: impl Iterator<Item = u8>) -> Self {
        let mut counts = [0; 256];
        for byte in bytes {
            if let Some(count) = counts.get_mut(usize::from(byte)) {
                *count += 1;
            }
        }
        Self(counts)
    }

    fn present(&self) -> impl Iterator<Item = f64> {
        self.0.iter().filter(|&&count| count > 0).map(|&count| f64::from(count))
    }

    fn distinct(&self) -> f64 {
        self.present().map(|_| 1.0).sum()
    }

    /// What the bytes take if they know nothing of each other.
    fn bits(&self) -> f64 {
        let all: f64 = self.present().sum();
        self.present().map(|count| count * (all / count).log2()).sum()
    }
}

/// What some of the content takes in elements of each width, by entropy; least first.
fn ranked(bytes: &[u8]) -> Vec<(f64, usize)> {
    /// Bits for each byte that a plane has: what a coder learns of them is not for free.
    const LEARNED: f64 = 6.0;
    let cost = |plane: &Vec<u8>| {
        let counts = Counts::of(plane.iter().copied());
        let before = std::iter::once(&0).chain(plane);
        let apart =
            Counts::of(plane.iter().zip(before).map(|(&this, &one)| this.wrapping_sub(one)));
        let [one, other] =
            [counts, apart].map(|counts| counts.bits() + counts.distinct() * LEARNED);
        one.min(other) / 8.0
    };
    let widths = (1..=WIDEST).filter(|&width| width <= bytes.len() / 16 || width == 1);
    let mut ranked: Vec<(f64, usize)> = widths
        .map(|width| (planes(&pieces(bytes, width, PIECE), width).iter().map(cost).sum(), width))
        .collect();
    ranked.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    ranked
}

/// Pieces of so many bytes from all over elements of a width. The bytes before the
/// first whole element, if any, are in none.
fn pieces(bytes: &[u8], width: usize, len: usize) -> Vec<&[u8]> {
    let body = bytes.get(bytes.len() % width..).unwrap_or_default();
    aligned_pieces(body, len, PIECES, width)
}

/// The planes of pieces, which are whole elements.
fn planes(pieces: &[&[u8]], width: usize) -> Vec<Vec<u8>> {
    let one = |at: usize| pieces.iter().flat_map(|piece| plane(piece, width, at)).collect();
    (0..width).map(one).collect()
}

/// The bytes at a place of each element.
fn plane(elements: &[u8], width: usize, at: usize) -> Vec<u8> {
    elements.iter().skip(at).step_by(width).copied().collect()
}

/// Whether nearly all bytes are those of text.
fn is_text(bytes: &[u8]) -> bool {
    let plain = |&&byte: &&u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    bytes.iter().filter(plain).count() >= bytes.len() - bytes.len() / 10
}

/// Where the elements of a NumPy file start.
fn npy(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    let (&[version, _], rest) = rest.split_first_chunk()?;
    let (len, before) = match version {
        1 => (u16::from_le_bytes(*rest.first_chunk()?).into(), 10),
        2 | 3 => (usize::try_from(u32::from_le_bytes(*rest.first_chunk()?)).ok()?, 12),
        _ => return None,
    };
    let end = before + len;
    let header = bytes.get(before..end)?;
    header.trim_ascii().starts_with(b"{").then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_numpy_files_end_where_they_say() {
        let header = b"{'descr': '<f4', 'shape': (3,), }\n";
        let old = [&b"\x93NUMPY\x01\x00\x22\x00"[..], header, &[0; 12]].concat();
        assert_eq!(npy(&old), Some(10 + 34));
        let new = [&b"\x93NUMPY\x03\x00\x22\x00\x00\x00"[..], header].concat();
        assert_eq!(npy(&new), Some(12 + 34));
        assert_eq!(npy(&new[..45]), None);
        assert_eq!(npy(b"\x93NUMPY\x04\x00\x22\x00\x00\x00{}"), None);
        assert_eq!(npy(b"\x93NUMPY\x01\x00\x02\x00xy"), None);
        assert_eq!(npy(b""), None);
    }

    #[test]
    fn the_width_of_elements_shows() {
        let bytes = |of: fn(u32) -> Vec<u8>| (0..4000).flat_map(of).collect::<Vec<u8>>();
        for (width, bytes) in [
            (4, bytes(|at| (at * 5).to_le_bytes().to_vec())),
            (5, bytes(|at| [&mixed(at)[..], &[7]].concat())),
            (3, bytes(|at| vec![1, 200, mixed(at)[3]])),
        ] {
            assert_eq!(ranked(&bytes).first().map(|&(_, width)| width), Some(width));
        }
    }

    #[test]
    fn the_distance_of_bytes_that_are_alike_shows() {
        let noise = |at: u32| mixed(at)[3];
        let rows: Vec<u8> =
            (0..4000).map(|at| noise(at % 13).wrapping_add(noise(at) % 3)).collect();
        assert_eq!(distance(&rows), 13);
        let rising: Vec<u8> = (0..4000).map(|at: u32| (at * 3).to_le_bytes()[0]).collect();
        assert_eq!(distance(&rising), 1);
        assert_eq!(distance(&(0..4000).map(noise).collect::<Vec<u8>>()), 0);
        assert_eq!(distance(&[]), 0);
    }

    /// Bytes of which the last knows nothing of its neighbours.
    fn mixed(at: u32) -> [u8; 4] {
        let at = (at ^ at >> 7).wrapping_mul(0x9E37_79B9);
        ((at ^ at >> 15).wrapping_mul(0x85EB_CA6B) ^ at).to_le_bytes()
    }
}
