//! Encodes arrays of numbers or records with codec embed (§7.8).
//!
//! Bytes at the same offset of each element are similar: signs and exponents of floating-point
//! numbers, high bytes of integers. All bytes at one offset form a plane, and each plane is
//! compressed separately, so that random planes do not spoil the model of the others.

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

/// Bytes of an element, at most.
const MAX_WIDTH: usize = 32;

/// Pieces by which content is judged, and the bytes of each.
const SAMPLE_PIECES: usize = 6;
const PIECE_BYTES: usize = 16 << 10;

/// Bytes of each plane in a piece by which tunings are compared.
const TUNING_PLANE_BYTES: usize = 8 << 10;

/// Bytes of a plane by which delta distances are compared.
const DELTA_SAMPLE_BYTES: usize = 4 << 10;

/// The share of the size without planes that planes may take for content to suit.
const MAX_PLANES_SHARE: f64 = 0.97;

/// A plane that compresses to a larger share of its size is stored.
const MAX_COMPRESSED_SHARE: f64 = 0.998;

/// Content up to this size is also compressed as one with every backend.
const MAX_SMALL_BYTES: usize = 4 << 10;

/// The share of the estimated size that is reported. After a high estimate, the encoder of RAW
/// would not wait for the final size, and compress in vain.
const REPORTED_SHARE: f64 = 0.9;

/// Returns whether content looks like an array.
pub(in crate::pack) fn suits(bytes: &[u8]) -> bool {
    if npy_header_len(bytes).is_some() {
        return true;
    }
    let sample = sample_pieces(bytes, 1, PIECE_BYTES).concat();
    // Codec dicom knows the dimensions of an image.
    if is_text(&sample) || dicom::suits(bytes) {
        return false;
    }
    let Ok(whole) = zstd::compress(&sample, 1) else { return false };
    let max_cost = whole.len() as f64 * MAX_PLANES_SHARE;
    ranked_widths(bytes).first().is_some_and(|&(cost, _)| cost < max_cost)
}

/// Encodes an array; any content is at least an array of bytes.
pub(in crate::pack) fn streams(
    bytes: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let start = npy_header_len(bytes).unwrap_or(0);
    let body = bytes.get(start..).unwrap_or_default();
    let plan = ArrayPlan::smallest(body, context)?;
    let remainder = body.len() % plan.width;
    let (header, elements) = bytes.split_at_checked(start + remainder).unwrap_or_default();
    (context.report_estimate)(plan.estimated_size(elements.len()));
    let mut meta = Vec::new();
    put::uv(&mut meta, plan.width as u64);
    put::lp(&mut meta, header);
    put::uv(&mut meta, (elements.len() / plan.width) as u64);
    Ok(Some(vec![
        Stream { name: "meta".into(), body: Body::smallest(&meta, context.search.layout)? },
        Stream { name: "data".into(), body: plan.encode(elements, context)? },
    ]))
}

/// The width of elements and the encoding of each plane.
#[derive(Debug)]
struct ArrayPlan {
    width: usize,
    planes: Vec<PlaneEncoding>,
    /// The compressed size of the planes of a sample, and their original size.
    cost: f64,
    sampled: usize,
}

/// How a plane is compressed.
#[derive(Clone, Copy, Debug)]
enum PlaneEncoding {
    Stored,
    Tuned(Tuning),
}

impl ArrayPlan {
    /// Returns the smallest plan of the most promising widths.
    fn smallest(body: &[u8], context: &EncodeContext<'_>) -> Result<Self> {
        let search = context.search;
        let max_tried = if search.is_quick() { 1 } else { search.max_tuned_types };
        let mut best: Option<Self> = None;
        for (_, width) in ranked_widths(body).into_iter().take(max_tried) {
            let plan = Self::new(body, width, context)?;
            if best.as_ref().is_none_or(|best| plan.cost < best.cost) {
                best = Some(plan);
            }
        }
        let planes = vec![PlaneEncoding::Stored];
        Ok(best.unwrap_or(Self { width: 1, planes, cost: 0.0, sampled: 0 }))
    }

    /// Tunes the planes of a width on a sample.
    fn new(body: &[u8], width: usize, context: &EncodeContext<'_>) -> Result<Self> {
        let piece = (TUNING_PLANE_BYTES * width).max(PIECE_BYTES) * context.search.piece_scale;
        let sample = planes(&sample_pieces(body, width, piece), width);
        let mut plan = Self { width, planes: Vec::new(), cost: 0.0, sampled: 0 };
        let tune = |plane: &Vec<u8>| tune_plane(plane, context.search);
        parallel::for_each(&sample, context.threads, tune, |plane, (encoding, cost)| {
            plan.planes.push(encoding);
            plan.cost += cost;
            plan.sampled += plane.len();
            Ok(())
        })?;
        Ok(plan)
    }

    /// Estimates the size of all planes, [`REPORTED_SHARE`] of what the sample suggests.
    fn estimated_size(&self, bytes: usize) -> usize {
        let size = self.cost * bytes as f64 / self.sampled.max(1) as f64 * REPORTED_SHARE;
        #[expect(clippy::cast_possible_truncation, reason = "it is an estimate")]
        #[expect(clippy::cast_sign_loss, reason = "costs are positive")]
        let size = size as usize;
        size
    }

    /// Compresses all planes.
    fn encode(&self, elements: &[u8], context: &EncodeContext<'_>) -> Result<Body> {
        let search = context.search;
        let all = || planes(&[elements], self.width).concat();
        if search.is_quick() {
            let all = all();
            let zstd = Body::zstd(zstd::compress(&all, search.zstd_level)?);
            return Ok(zstd.min(Body::stored(all)));
        }
        let encode_plane = |(at, encoding): &(usize, PlaneEncoding)| {
            let plane = plane(elements, self.width, *at);
            match encoding {
                PlaneEncoding::Tuned(tuning) => {
                    Block::new(&plane, tuning.with_effort(search.effort))
                }
                PlaneEncoding::Stored if repeats(&plane)? => Block::new(&plane, Tuning::flat(0)),
                PlaneEncoding::Stored => Ok(Block::stored(&plane)),
            }
        };
        let encodings: Vec<(usize, PlaneEncoding)> =
            self.planes.iter().copied().enumerate().collect();
        let blocks = if elements.is_empty() {
            Vec::new()
        } else {
            parallel::map(&encodings, context.threads, encode_plane)?
        };
        let body = Body::xz(xz::stream(&blocks));
        if search.layout == Layout::Published {
            return Ok(body);
        }
        let all = all();
        let body = if all.len() <= MAX_SMALL_BYTES {
            body.min(Body::smallest(&all, search.layout)?)
        } else {
            body
        };
        Ok(body.min(Body::stored(all)))
    }
}

/// Returns whether a plane compresses over long distances: an array may repeat whole vectors,
/// which a sample does not show.
fn repeats(plane: &[u8]) -> Result<bool> {
    let compressed = zstd::compress_far(plane, 1)?;
    Ok(compressed.len() as f64 <= plane.len() as f64 * MAX_COMPRESSED_SHARE)
}

/// Returns the encoding that makes a sample of a plane smallest, and the size of the sample.
fn tune_plane(plane: &[u8], search: &SearchParams) -> Result<(PlaneEncoding, f64)> {
    let mut best = (PlaneEncoding::Stored, plane.len() as f64);
    let distance = delta_distance(plane);
    let mut tunings = vec![Tuning::flat(0), Tuning::flat(3)];
    if search.max_tuned_types > 1 {
        tunings.extend([Tuning::flat(1), Tuning { pb: 2, ..Tuning::flat(0) }]);
    }
    if search.try_all_types {
        tunings.extend([Tuning::flat(2), Tuning::flat(4), Tuning::pairs(0), Tuning::pairs(3)]);
        tunings.push(Tuning { lp: 2, pb: 2, ..Tuning::flat(0) });
    }
    let mut candidates: Vec<Tuning> = Vec::new();
    for &tuning in &tunings {
        let deltas = [0, 1, distance].into_iter().map(|delta| Tuning { delta, ..tuning });
        candidates.extend(deltas.take(if distance > 1 { 3 } else { 1 + usize::from(distance) }));
    }
    for tuning in candidates {
        let cost = search.estimate(plane, tuning)?;
        let is_stored = matches!(best.0, PlaneEncoding::Stored);
        if cost < best.1 * if is_stored { MAX_COMPRESSED_SHARE } else { 1.0 } {
            best = (PlaneEncoding::Tuned(tuning), cost);
        }
        if search.is_quick() {
            break;
        }
    }
    Ok(best)
}

/// Returns the distance at which differences of bytes have the lowest entropy; 0 if the bytes
/// themselves have less.
fn delta_distance(plane: &[u8]) -> u8 {
    let start = plane.len().saturating_sub(DELTA_SAMPLE_BYTES) / 2;
    let sample = plane.get(start..).unwrap_or_default();
    let sample = sample.get(..DELTA_SAMPLE_BYTES).unwrap_or(sample);
    let mut best = (ByteCounts::of(sample.iter().copied()).bits() / sample.len() as f64, 0);
    // The delta filter allows a distance of 256 too, which does not fit `Tuning::delta`.
    for distance in 1..=u8::MAX {
        let later = sample.get(usize::from(distance)..).unwrap_or_default();
        if later.is_empty() || later.len() < sample.len() / 2 {
            break;
        }
        let deltas = later.iter().zip(sample).map(|(&this, &before)| this.wrapping_sub(before));
        let bits = ByteCounts::of(deltas).bits() / later.len() as f64;
        // Multiples of a good distance are almost as good: the first one wins.
        if bits < best.0 * 0.99 {
            best = (bits, distance);
        }
    }
    best.1
}

/// How often each byte occurs.
struct ByteCounts([u32; 256]);

impl ByteCounts {
    fn of(bytes: impl Iterator<Item = u8>) -> Self {
        let mut counts = [0; 256];
        for byte in bytes {
            if let Some(count) = counts.get_mut(usize::from(byte)) {
                *count += 1;
            }
        }
        Self(counts)
    }

    fn non_zero(&self) -> impl Iterator<Item = f64> {
        self.0.iter().filter(|&&count| count > 0).map(|&count| f64::from(count))
    }

    /// Returns how many different bytes occur.
    fn distinct(&self) -> f64 {
        self.non_zero().map(|_| 1.0).sum()
    }

    /// Returns the entropy of all bytes, each taken by itself.
    fn bits(&self) -> f64 {
        let all: f64 = self.non_zero().sum();
        self.non_zero().map(|count| count * (all / count).log2()).sum()
    }
}

/// Estimates the size of a sample for each width by entropy; returns the smallest first.
fn ranked_widths(bytes: &[u8]) -> Vec<(f64, usize)> {
    /// Estimated bits that a coder needs to learn of a distinct byte.
    const LEARNING_BITS: f64 = 6.0;
    let cost = |plane: &Vec<u8>| {
        let counts = ByteCounts::of(plane.iter().copied());
        let before = std::iter::once(&0).chain(plane);
        let deltas = plane.iter().zip(before).map(|(&this, &before)| this.wrapping_sub(before));
        let deltas = ByteCounts::of(deltas);
        let [plain, deltas] =
            [counts, deltas].map(|counts| counts.bits() + counts.distinct() * LEARNING_BITS);
        plain.min(deltas) / 8.0
    };
    let widths = (1..=MAX_WIDTH).filter(|&width| width <= bytes.len() / 16 || width == 1);
    let mut ranked: Vec<(f64, usize)> = widths
        .map(|width| {
            let planes = planes(&sample_pieces(bytes, width, PIECE_BYTES), width);
            (planes.iter().map(cost).sum(), width)
        })
        .collect();
    ranked.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    ranked
}

/// Returns evenly spaced pieces of about `len` bytes, each of whole elements; one piece with
/// all elements if there are few.
///
/// The remainder that is not a whole element is at the start of `bytes`, and in no piece.
fn sample_pieces(bytes: &[u8], width: usize, len: usize) -> Vec<&[u8]> {
    let body = bytes.get(bytes.len() % width..).unwrap_or_default();
    aligned_pieces(body, len, SAMPLE_PIECES, width)
}

/// Returns the planes of some pieces, which consist of whole elements.
fn planes(pieces: &[&[u8]], width: usize) -> Vec<Vec<u8>> {
    let joined = |at: usize| pieces.iter().flat_map(|piece| plane(piece, width, at)).collect();
    (0..width).map(joined).collect()
}

/// Returns the bytes at an offset of each element.
fn plane(elements: &[u8], width: usize, at: usize) -> Vec<u8> {
    elements.iter().skip(at).step_by(width).copied().collect()
}

/// Returns whether nearly all bytes are printable ASCII characters or white space.
fn is_text(bytes: &[u8]) -> bool {
    let is_plain = |&&byte: &&u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    bytes.iter().filter(is_plain).count() >= bytes.len() - bytes.len() / 10
}

/// Returns the length of the header of a NumPy file; `None` for other content.
fn npy_header_len(bytes: &[u8]) -> Option<usize> {
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
    fn the_stated_length_ends_the_header_of_a_numpy_file() {
        let header = b"{'descr': '<f4', 'shape': (3,), }\n";
        let old = [&b"\x93NUMPY\x01\x00\x22\x00"[..], header, &[0; 12]].concat();
        assert_eq!(npy_header_len(&old), Some(10 + 34));
        let new = [&b"\x93NUMPY\x03\x00\x22\x00\x00\x00"[..], header].concat();
        assert_eq!(npy_header_len(&new), Some(12 + 34));
        assert_eq!(npy_header_len(&new[..45]), None);
        assert_eq!(npy_header_len(b"\x93NUMPY\x04\x00\x22\x00\x00\x00{}"), None);
        assert_eq!(npy_header_len(b"\x93NUMPY\x01\x00\x02\x00xy"), None);
        assert_eq!(npy_header_len(b""), None);
    }

    #[test]
    fn the_width_of_elements_is_found() {
        let bytes = |of: fn(u32) -> Vec<u8>| (0..4000).flat_map(of).collect::<Vec<u8>>();
        for (width, bytes) in [
            (4, bytes(|at| (at * 5).to_le_bytes().to_vec())),
            (5, bytes(|at| [&mixed(at)[..], &[7]].concat())),
            (3, bytes(|at| vec![1, 200, mixed(at)[3]])),
        ] {
            assert_eq!(ranked_widths(&bytes).first().map(|&(_, width)| width), Some(width));
        }
    }

    #[test]
    fn the_distance_of_similar_bytes_is_found() {
        let noise = |at: u32| mixed(at)[3];
        let rows: Vec<u8> =
            (0..4000).map(|at| noise(at % 13).wrapping_add(noise(at) % 3)).collect();
        assert_eq!(delta_distance(&rows), 13);
        let rising: Vec<u8> = (0..4000).map(|at: u32| (at * 3).to_le_bytes()[0]).collect();
        assert_eq!(delta_distance(&rising), 1);
        assert_eq!(delta_distance(&(0..4000).map(noise).collect::<Vec<u8>>()), 0);
        assert_eq!(delta_distance(&[]), 0);
    }

    /// Returns bytes of which the last one looks random.
    fn mixed(at: u32) -> [u8; 4] {
        let at = (at ^ at >> 7).wrapping_mul(0x9E37_79B9);
        ((at ^ at >> 15).wrapping_mul(0x85EB_CA6B) ^ at).to_le_bytes()
    }
}
