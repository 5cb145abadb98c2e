//! Medical images as dicom (§7.7).
//!
//! Pixels are like their neighbours. Which neighbour tells most, and how the
//! differences compress, is tried on pieces of the image.

mod elements;

use crate::codecs::dicom::Transform;
use crate::pack::context::EncodeContext;
use crate::pack::sample::aligned_pieces;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream};
use elements::Image;
use hypostyle_core::compress::xz::encode::{self as xz, Block, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// Pieces that a way is judged by, and the bytes of each.
const PIECES: usize = 8;
const PIECE: usize = 64 << 10;

/// How much more than the best a way may take in trials to be made in full.
const CLOSE: f64 = 1.06;

/// What the trial of a piece says of the whole at least.
const SURELY: f64 = 0.9;

/// Whether content is a file with pixels that lie as they are.
pub(in crate::pack) fn suits(bytes: &[u8]) -> bool {
    elements::find(bytes).is_some()
}

/// The streams of an image; whatever else it is, it is stored as it is.
pub(in crate::pack) fn streams(
    bytes: &[u8],
    job: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let search = job.search;
    let stream = |name: &'static str, body| Stream { name: name.into(), body };
    let small = |content: &[u8]| Body::smallest(content, search.layout);
    let Some(parts) = elements::find(bytes).and_then(|image| Parts::new(bytes, image)) else {
        return Ok(Some(vec![
            stream("meta", small(&[0])?),
            stream("raw", Body::fitted(bytes, search)?),
            stream("pre", small(&[])?),
            stream("pix", small(&[])?),
            stream("suf", small(&[])?),
        ]));
    };
    let (plan, body) = parts.pixels_packed(job)?;
    let mut meta = vec![1, plan.transform.id(), 0];
    put::uv(&mut meta, (parts.elements() / plan.row) as u64);
    put::uv(&mut meta, (plan.row / plan.samples) as u64);
    put::uv(&mut meta, plan.samples as u64);
    put::uv(&mut meta, parts.image.bits as u64);
    put::lp(&mut meta, parts.pad);
    Ok(Some(vec![
        stream("meta", small(&meta)?),
        stream("raw", small(&[])?),
        stream("pre", Body::fitted(parts.before, search)?),
        stream("pix", body),
        stream("suf", Body::fitted(parts.after, search)?),
    ]))
}

/// A file around its pixels.
#[derive(Debug)]
struct Parts<'a> {
    image: Image,
    before: &'a [u8],
    /// Whole rows.
    pixels: &'a [u8],
    /// What makes the length of the pixels even.
    pad: &'a [u8],
    after: &'a [u8],
}

/// A transform of rows of so many elements.
///
/// A row need not be that of the image: with rows of one pixel what is above is the
/// pixel before, and with rows of a frame it is the same pixel of the frame before.
#[derive(Clone, Copy, Debug)]
struct Plan {
    transform: Transform,
    row: usize,
    samples: usize,
}

/// A plan, what it will take, and the tuning of each part that is compressed by itself.
#[derive(Debug)]
struct Tried {
    plan: Plan,
    cost: f64,
    tunings: Vec<Tuning>,
}

impl<'a> Parts<'a> {
    /// Cuts a file at its pixels; what is not whole rows comes after them.
    fn new(bytes: &'a [u8], image: Image) -> Option<Self> {
        let (before, rest) = bytes.split_at_checked(image.start)?;
        let row = image.columns.checked_mul(image.samples)?.checked_mul(image.bits / 8)?;
        let whole = image.rows.checked_mul(row)?;
        let there = rest.len().min(image.len).min(whole);
        let (pixels, rest) = rest.split_at_checked(there / row * row)?;
        let padded = pixels.len() == whole && image.len == whole + 1 && !rest.is_empty();
        let (pad, after) = rest.split_at_checked(usize::from(padded))?;
        Some(Self { image, before, pixels, pad, after })
    }

    fn wide(&self) -> bool {
        self.image.bits == 16
    }

    fn elements(&self) -> usize {
        self.pixels.len() / (self.image.bits / 8)
    }

    /// What may be worth it.
    fn plans(&self) -> Vec<Plan> {
        let Image { columns, samples, rows, frames, .. } = self.image;
        let plan = |transform, row, samples| Plan { transform, row, samples };
        let row = columns * samples;
        let mut plans =
            vec![plan(Transform::None, row, samples), plan(Transform::Down, row, samples)];
        if self.wide() {
            // Of single bytes the filter of xz does the same.
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

    /// The pixels in the way that takes least, and that encoder.
    fn pixels_packed(&self, job: &EncodeContext<'_>) -> Result<(Plan, Body)> {
        let search = job.search;
        let plans = self.plans();
        let work = |at: usize| plans.get(at).map(|&plan| self.tried(plan, search)).transpose();
        let mut tried: Vec<Tried> = Vec::new();
        parallel::in_order(plans.len(), job.threads, work, |_, one| {
            tried.extend(one);
            Ok(())
        })?;
        tried.sort_by(|one, other| one.cost.total_cmp(&other.cost));
        let least = tried.first().map_or(0.0, |first| first.cost);
        #[expect(clippy::cast_possible_truncation, reason = "it is a guess")]
        #[expect(clippy::cast_sign_loss, reason = "costs are positive")]
        (job.report_estimate)((least * SURELY) as usize);
        tried.retain(|one| one.cost <= least * CLOSE);
        tried.truncate(if search.is_quick() { 1 } else { search.max_tuned_types });
        let work = |at: usize| tried.get(at).map(|one| self.packed(one, search)).transpose();
        let mut best: Option<(Plan, Body)> = None;
        parallel::in_order(tried.len(), job.threads, work, |at, body| {
            if let Some((body, one)) = body.zip(tried.get(at))
                && best.as_ref().is_none_or(|(_, least)| body.bytes.len() < least.bytes.len())
            {
                best = Some((one.plan, body));
            }
            Ok(())
        })?;
        let none = Plan { transform: Transform::None, row: 1, samples: 1 };
        match best {
            Some(best) => Ok(best),
            None => Ok((none, Body::smallest(self.pixels, search.layout)?)),
        }
    }

    /// What a plan will take, by pieces of it, and how each part of it is best tuned.
    fn tried(&self, plan: Plan, search: &SearchParams) -> Result<Tried> {
        let transformed = self.transformed(plan);
        let mut tried = Tried { plan, cost: 0.0, tunings: Vec::new() };
        for part in parts(&transformed, plan.transform) {
            let sample = aligned_pieces(part, PIECE, PIECES, 2).concat();
            let mut best: Option<(f64, Tuning)> = None;
            for tuning in self.tunings(plan, search) {
                let cost = search.estimate(&sample, tuning)?;
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, tuning));
                }
            }
            if let Some((least, tuning)) = best {
                tried.cost += least * part.len() as f64 / sample.len().max(1) as f64;
                tried.tunings.push(tuning);
            }
        }
        Ok(tried)
    }

    /// The tunings that are tried for each part of what a plan makes.
    fn tunings(&self, plan: Plan, search: &SearchParams) -> Vec<Tuning> {
        if search.is_quick() {
            return vec![Tuning::flat(0)];
        }
        let one = !self.wide() || plan.transform == Transform::Planes;
        let pixel = self.image.samples * if one { 1 } else { 2 };
        let delta = u8::try_from(pixel).unwrap_or(0);
        let mut tunings = match (one, plan.transform) {
            (true, _) => vec![Tuning::flat(0), Tuning::flat(3)],
            (false, Transform::None) => vec![Tuning::pairs(3)],
            (false, _) => vec![Tuning::pairs(2)],
        };
        if search.try_all_types {
            tunings.extend([Tuning::flat(1), Tuning::flat(2), Tuning::flat(4)]);
            tunings.extend([Tuning::pairs(0), Tuning::pairs(1), Tuning::pairs(3)]);
        }
        // Differences of bytes, besides those that the transform makes.
        let all = tunings.iter().flat_map(|&tuning| [tuning, Tuning { delta, ..tuning }]);
        all.collect()
    }

    /// All of the pixels in a way that was tried.
    fn packed(&self, tried: &Tried, search: &SearchParams) -> Result<Body> {
        let transformed = self.transformed(tried.plan);
        if search.is_quick() {
            let zstd = Body::zstd(zstd::compress(&transformed, search.zstd_level)?);
            return Ok(zstd.min(Body::stored(transformed)));
        }
        let blocks = parts(&transformed, tried.plan.transform)
            .into_iter()
            .zip(&tried.tunings)
            .filter(|(part, _)| !part.is_empty())
            .map(|(part, tuning)| Block::new(part, tuning.with_effort(search.effort)));
        let blocks: Vec<Block> = blocks.collect::<Result<_>>()?;
        Ok(Body::xz(xz::stream(&blocks)))
    }

    fn transformed(&self, plan: Plan) -> Vec<u8> {
        match (plan.transform, self.wide()) {
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

/// What is compressed by itself of transformed pixels.
fn parts(transformed: &[u8], transform: Transform) -> Vec<&[u8]> {
    let planes = || transformed.split_at_checked(transformed.len() / 2);
    match planes().filter(|_| transform == Transform::Planes) {
        Some((high, low)) => vec![high, low],
        None => vec![transformed],
    }
}

/// Each element of `N` bytes less the one before it in its row.
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

/// Each element less the one a row before it.
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

/// The value of a little-endian element of one or two bytes.
#[inline]
fn value<const N: usize>(element: &[u8; N]) -> u16 {
    element.iter().rev().fold(0, |value, &byte| value << 8 | u16::from(byte))
}

/// Appends the low bytes of a difference.
#[inline]
fn push<const N: usize>(difference: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(difference.to_le_bytes().get(..N).unwrap_or_default());
}
