//! Encodes medical images with codec dicom (§7.7).
//!
//! `elements` finds the pixels in the file. This module tries several transforms on pieces of
//! the pixels, each of which replaces pixels by differences to a neighbour or separates their
//! bytes, then compresses all pixels with the most promising ones and keeps the smallest.

mod elements;

use crate::codecs::dicom::Transform;
use crate::pack::context::EncodeContext;
use crate::pack::sample::aligned_pieces;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream};
use elements::DicomImage;
use hypostyle_core::compress::xz::encode::{self as xz, Block, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// Pieces by which plans are compared, and the bytes of each.
const SAMPLE_PIECES: usize = 8;
const PIECE_BYTES: usize = 64 << 10;

/// How much more than the best a plan may cost in trials to be encoded in full.
const MAX_FINAL_COST: f64 = 1.06;

/// The share of the estimated size that is reported. After a high estimate, the encoder of RAW
/// would not wait for the final size, and compress in vain.
const REPORTED_SHARE: f64 = 0.9;

/// Returns whether content is a DICOM file with uncompressed pixels.
pub(in crate::pack) fn suits(bytes: &[u8]) -> bool {
    elements::find_image(bytes).is_some()
}

/// Encodes an image; any other content is stored in stream `raw`.
pub(in crate::pack) fn streams(
    bytes: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let search = context.search;
    let stream = |name: &'static str, body| Stream { name: name.into(), body };
    let small = |content: &[u8]| Body::smallest(content, search.layout);
    let file = elements::find_image(bytes).and_then(|image| DicomFile::new(bytes, image));
    let Some(file) = file else {
        return Ok(Some(vec![
            stream("meta", small(&[0])?),
            stream("raw", Body::fitted(bytes, search)?),
            stream("pre", small(&[])?),
            stream("pix", small(&[])?),
            stream("suf", small(&[])?),
        ]));
    };
    let (plan, pixels) = file.encode_pixels(context)?;
    let mut meta = vec![1, plan.transform.id(), 0];
    put::uv(&mut meta, (file.elements() / plan.row) as u64);
    put::uv(&mut meta, (plan.row / plan.samples) as u64);
    put::uv(&mut meta, plan.samples as u64);
    put::uv(&mut meta, file.image.bits as u64);
    put::lp(&mut meta, file.padding);
    Ok(Some(vec![
        stream("meta", small(&meta)?),
        stream("raw", small(&[])?),
        stream("pre", Body::fitted(file.before, search)?),
        stream("pix", pixels),
        stream("suf", Body::fitted(file.after, search)?),
    ]))
}

/// A file split at its pixels.
#[derive(Debug)]
struct DicomFile<'a> {
    image: DicomImage,
    before: &'a [u8],
    /// Whole rows.
    pixels: &'a [u8],
    /// The byte that makes the length of the pixels even, if there is one.
    padding: &'a [u8],
    after: &'a [u8],
}

/// A transform, and the elements and samples of a row for it.
///
/// A row need not be that of the image: with rows of one pixel, `Transform::Down` subtracts
/// the pixel before, and with rows of a frame the same pixel of the frame before.
#[derive(Clone, Copy, Debug)]
struct PixelPlan {
    transform: Transform,
    row: usize,
    samples: usize,
}

/// A plan, its estimated size, and the tuning of each block.
#[derive(Debug)]
struct TriedPlan {
    plan: PixelPlan,
    cost: f64,
    tunings: Vec<Tuning>,
}

impl<'a> DicomFile<'a> {
    /// Splits a file at its pixels; bytes beyond the last whole row follow them.
    fn new(bytes: &'a [u8], image: DicomImage) -> Option<Self> {
        let (before, rest) = bytes.split_at_checked(image.start)?;
        let row = image.columns.checked_mul(image.samples)?.checked_mul(image.bits / 8)?;
        let whole = image.rows.checked_mul(row)?;
        let present = rest.len().min(image.len).min(whole);
        let (pixels, rest) = rest.split_at_checked(present / row * row)?;
        let is_padded = pixels.len() == whole && image.len == whole + 1 && !rest.is_empty();
        let (padding, after) = rest.split_at_checked(usize::from(is_padded))?;
        Some(Self { image, before, pixels, padding, after })
    }

    fn is_16_bit(&self) -> bool {
        self.image.bits == 16
    }

    /// Returns the number of samples of all pixels.
    fn elements(&self) -> usize {
        self.pixels.len() / (self.image.bits / 8)
    }

    /// Returns the plans that are tried.
    fn plans(&self) -> Vec<PixelPlan> {
        let DicomImage { columns, samples, rows, frames, .. } = self.image;
        let plan = |transform, row, samples| PixelPlan { transform, row, samples };
        let row = columns * samples;
        let mut plans =
            vec![plan(Transform::None, row, samples), plan(Transform::Down, row, samples)];
        if self.is_16_bit() {
            // For single bytes, the delta filter of xz does the same.
            plans.push(match samples {
                1 => plan(Transform::Across, row, 1),
                _ => plan(Transform::Down, samples, samples),
            });
            plans.push(plan(Transform::Planes, row, samples));
        }
        let frame = row.saturating_mul(rows / frames.max(1));
        if frames > 1 && frame > 0 && self.elements().is_multiple_of(frame) {
            plans.push(plan(Transform::Down, frame, samples));
        }
        plans
    }

    /// Encodes the pixels with the smallest plan, and returns that plan.
    fn encode_pixels(&self, context: &EncodeContext<'_>) -> Result<(PixelPlan, Body)> {
        let search = context.search;
        let mut tried =
            parallel::map(&self.plans(), context.threads, |&plan| self.try_plan(plan, search))?;
        tried.sort_by(|one, other| one.cost.total_cmp(&other.cost));
        let min_cost = tried.first().map_or(0.0, |first| first.cost);
        #[expect(clippy::cast_possible_truncation, reason = "it is an estimate")]
        #[expect(clippy::cast_sign_loss, reason = "costs are positive")]
        (context.report_estimate)((min_cost * REPORTED_SHARE) as usize);
        tried.retain(|one| one.cost <= min_cost * MAX_FINAL_COST);
        tried.truncate(if search.is_quick() { 1 } else { search.max_tuned_types });
        let mut best: Option<(PixelPlan, Body)> = None;
        let encode = |one| self.encode_plan(one, search);
        parallel::for_each(&tried, context.threads, encode, |one, body| {
            if best.as_ref().is_none_or(|(_, best)| body.bytes.len() < best.bytes.len()) {
                best = Some((one.plan, body));
            }
            Ok(())
        })?;
        let none = PixelPlan { transform: Transform::None, row: 1, samples: 1 };
        match best {
            Some(best) => Ok(best),
            None => Ok((none, Body::smallest(self.pixels, search.layout)?)),
        }
    }

    /// Estimates the size of a plan by pieces of each block, and tunes the blocks.
    fn try_plan(&self, plan: PixelPlan, search: &SearchParams) -> Result<TriedPlan> {
        let transformed = self.transform(plan);
        let mut tried = TriedPlan { plan, cost: 0.0, tunings: Vec::new() };
        for block in block_contents(&transformed, plan.transform) {
            let sample = aligned_pieces(block, PIECE_BYTES, SAMPLE_PIECES, 2).concat();
            let mut best: Option<(f64, Tuning)> = None;
            for tuning in self.tunings(plan, search) {
                let cost = search.estimate(&sample, tuning)?;
                if best.is_none_or(|(best_cost, _)| cost < best_cost) {
                    best = Some((cost, tuning));
                }
            }
            if let Some((cost, tuning)) = best {
                tried.cost += cost * block.len() as f64 / sample.len().max(1) as f64;
                tried.tunings.push(tuning);
            }
        }
        Ok(tried)
    }

    /// Returns the tunings that are tried for each block of a plan.
    fn tunings(&self, plan: PixelPlan, search: &SearchParams) -> Vec<Tuning> {
        if search.is_quick() {
            return vec![Tuning::flat(0)];
        }
        let has_single_bytes = !self.is_16_bit() || plan.transform == Transform::Planes;
        let pixel_bytes = self.image.samples * if has_single_bytes { 1 } else { 2 };
        let delta = u8::try_from(pixel_bytes).unwrap_or(0);
        let mut tunings = match (has_single_bytes, plan.transform) {
            (true, _) => vec![Tuning::flat(0), Tuning::flat(3)],
            (false, Transform::None) => vec![Tuning::pairs(3)],
            (false, _) => vec![Tuning::pairs(2)],
        };
        if search.try_all_types {
            tunings.extend([Tuning::flat(1), Tuning::flat(2), Tuning::flat(4)]);
            tunings.extend([Tuning::pairs(0), Tuning::pairs(1), Tuning::pairs(3)]);
        }
        // The delta filter subtracts bytes of neighbouring pixels after the transform.
        let all = tunings.iter().flat_map(|&tuning| [tuning, Tuning { delta, ..tuning }]);
        all.collect()
    }

    /// Compresses all pixels with a plan.
    fn encode_plan(&self, tried: &TriedPlan, search: &SearchParams) -> Result<Body> {
        let transformed = self.transform(tried.plan);
        if search.is_quick() {
            let zstd = Body::zstd(zstd::compress(&transformed, search.zstd_level)?);
            return Ok(zstd.min(Body::stored(transformed)));
        }
        let blocks = block_contents(&transformed, tried.plan.transform)
            .into_iter()
            .zip(&tried.tunings)
            .filter(|(content, _)| !content.is_empty())
            .map(|(content, tuning)| Block::new(content, tuning.with_effort(search.effort)));
        let blocks: Vec<Block> = blocks.collect::<Result<_>>()?;
        Ok(Body::xz(xz::stream(&blocks)))
    }

    /// Transforms all pixels.
    fn transform(&self, plan: PixelPlan) -> Vec<u8> {
        match (plan.transform, self.is_16_bit()) {
            (Transform::None, _) => self.pixels.to_vec(),
            (Transform::Planes, _) => {
                let elements = self.pixels.as_chunks::<2>().0;
                let high = elements.iter().map(|&[_, high]| high);
                high.chain(elements.iter().map(|&[low, _]| low)).collect()
            }
            (Transform::Across, true) => across::<2>(self.pixels, plan.row),
            (Transform::Across, false) => across::<1>(self.pixels, plan.row),
            (Transform::Down, true) => down::<2>(self.pixels, plan.row),
            (Transform::Down, false) => down::<1>(self.pixels, plan.row),
        }
    }
}

/// Splits transformed pixels into the contents of blocks: planes have a block each.
fn block_contents(transformed: &[u8], transform: Transform) -> Vec<&[u8]> {
    let planes = || transformed.split_at_checked(transformed.len() / 2);
    match planes().filter(|_| transform == Transform::Planes) {
        Some((high, low)) => vec![high, low],
        None => vec![transformed],
    }
}

/// Subtracts from each element of `N` bytes the one before it in its row.
fn across<const N: usize>(pixels: &[u8], row: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(pixels.len());
    for row in pixels.chunks(row * N) {
        let mut before = 0;
        for element in row.as_chunks::<N>().0 {
            let this = value(element);
            push::<N>(this.wrapping_sub(before), &mut out);
            before = this;
        }
    }
    out
}

/// Subtracts from each element of `N` bytes the one a row before it.
fn down<const N: usize>(pixels: &[u8], row: usize) -> Vec<u8> {
    let elements = pixels.as_chunks::<N>().0;
    let (first, rest) = elements.split_at_checked(row).unwrap_or((elements, &[]));
    let mut out = Vec::with_capacity(pixels.len());
    out.extend_from_slice(first.as_flattened());
    for (below, above) in rest.iter().zip(elements) {
        push::<N>(value(below).wrapping_sub(value(above)), &mut out);
    }
    out
}

/// Returns the value of a little-endian element of one or two bytes.
#[inline]
fn value<const N: usize>(element: &[u8; N]) -> u16 {
    element.iter().rev().fold(0, |value, &byte| value << 8 | u16::from(byte))
}

/// Appends the low `N` bytes of a difference.
#[inline]
fn push<const N: usize>(difference: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(difference.to_le_bytes().get(..N).unwrap_or_default());
}
