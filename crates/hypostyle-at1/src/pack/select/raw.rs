//! Compresses bytes without structure (§4), unless the structured form is smaller.

use crate::pack::options::Layout;
use crate::pack::sample::spaced_runs;
use crate::pack::search::SearchParams;
use crate::pack::select::structured_size::StructuredSize;
use crate::pack::stream_set::Body;
use hypostyle_core::compress::xz::encode::{self as xz, Block, Effort, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;

/// Levels of zstd, with matches from any distance, and a lower bound of the size that xz
/// reaches, as a fraction of the size that zstd reaches at that level.
///
/// On 17 files, tables and logs, xz took at least 0.58 of level 3 and 0.70 of level 9.
const XZ_LOWER_BOUNDS: [(i32, f64); 2] = [(3, 0.5), (9, 0.685)];

/// Longer content is sampled before xz compresses it, which takes a second for each megabyte.
const MAX_UNSAMPLED_BYTES: usize = 8 << 20;

/// Pieces of such a sample, and the bytes of each.
const SAMPLE_PIECES: usize = 2;
const SAMPLE_PIECE_BYTES: usize = 1 << 20;

/// The lower bound of the size of xz, as a fraction of what the last level of zstd takes
/// multiplied by the ratio of both for a sample.
///
/// On 9 files, tables and logs, `xz -9e` took at least 0.92 of that.
const SAMPLED_LOWER_BOUND: f64 = 0.9;

/// The lower bound of the size at a quick level, as a fraction of zstd at level 1.
const QUICK_LOWER_BOUND: f64 = 0.75;

/// The tuning for text without columns.
const TEXT: Tuning = Tuning::flat(4).with_effort(Effort::Extreme);

/// The lower bound of the size with any tuning, as a fraction of `xz -9e`.
const TUNED_LOWER_BOUND: f64 = 0.96;

/// Pieces by which two tunings are compared, and the bytes of each.
const TUNING_PIECES: usize = 3;
const TUNING_PIECE_BYTES: usize = 128 << 10;

/// Shorter content is never taken for noise.
const MIN_NOISE_BYTES: usize = 1024;

/// Returns the smallest body for some bytes, never larger than `xz -9e` makes it; `None`
/// if the structured form is smaller.
///
/// `zstd_size` is the size that zstd reaches at level 1.
pub(in crate::pack) fn body(
    original: &[u8],
    zstd_size: usize,
    structured: &StructuredSize,
    search: &SearchParams,
) -> Result<Option<Body>> {
    let unless_larger =
        |best: Body| Ok((!structured.is_finally_below(best.bytes.len())).then_some(best));
    if search.is_quick() {
        if structured.is_below(zstd_size as f64 * QUICK_LOWER_BOUND) {
            return Ok(None);
        }
        let zstd = zstd::compress(original, search.zstd_level)?;
        return unless_larger(Body::zstd(zstd).min(Body::stored(original.to_vec())));
    }
    // Each step gives a tighter lower bound and takes longer.
    let (mut lower_bound, mut last_zstd) = (0.0_f64, (0, 0.0));
    for (level, fraction) in XZ_LOWER_BOUNDS {
        if structured.is_absent() {
            break;
        }
        let zstd_size = zstd::compress_far(original, level)?.len();
        last_zstd = (level, zstd_size as f64);
        // Content can always be stored uncompressed.
        lower_bound = (zstd_size as f64 * fraction).min(original.len() as f64);
        if structured.is_below(lower_bound) {
            return Ok(None);
        }
    }
    if original.len() > MAX_UNSAMPLED_BYTES && !structured.is_absent() {
        let (level, zstd_size) = last_zstd;
        let sample = SampledSizes::of(original, level)?;
        // Neither this size nor the estimate of the structured form knows of repeats over
        // long distances. If that form is likely to be smaller, its final size is awaited.
        structured.wait_if_estimated_below(sample.xz * original.len() as f64 / sample.bytes);
        lower_bound = lower_bound.max(zstd_size * sample.xz / sample.zstd * SAMPLED_LOWER_BOUND);
        if structured.is_below(lower_bound) {
            return Ok(None);
        }
    }
    let compress = |tuning, lower_bound: f64| {
        xz::compress_while(original, tuning, |written| {
            !structured.is_below(lower_bound.max(written as f64))
        })
    };
    let Some(xz) = compress(Tuning::XZ_9E, lower_bound)? else { return Ok(None) };
    let mut best = Body::xz(xz);
    if search.layout == Layout::Reference {
        best = best.min(Body::stored(original.to_vec()));
        // zstd is best at long runs of one byte.
        if best.bytes.len() < 256 || best.bytes.len() < original.len() / 500 {
            best = best.min(Body::zstd(zstd::compress(original, 19)?));
        }
    }
    let lower_bound = best.bytes.len() as f64 * TUNED_LOWER_BOUND;
    if structured.is_below(lower_bound) {
        return Ok(None);
    }
    if is_better(original, TEXT)? {
        let Some(xz) = compress(TEXT, lower_bound)? else { return Ok(None) };
        best = best.min(Body::xz(xz));
    }
    unless_larger(best)
}

/// Returns the bytes of the smallest RAW archive, without its header and trailer.
pub(in crate::pack) fn smallest_size(original: &[u8], search: &SearchParams) -> Result<usize> {
    let no_structure = StructuredSize::default();
    drop(no_structure.reporter());
    let zstd_size = zstd::compress(original, 1)?.len();
    let body = body(original, zstd_size, &no_structure, search)?;
    Ok(body.map_or(0, |body| body.bytes.len() + 1))
}

/// The sizes of a sample, compressed in two ways.
struct SampledSizes {
    bytes: f64,
    xz: f64,
    zstd: f64,
}

impl SampledSizes {
    /// Compresses pieces of some content with `xz -9e` and with a level of zstd.
    fn of(original: &[u8], zstd_level: i32) -> Result<Self> {
        let mut sizes = Self { bytes: 0.0, xz: 0.0, zstd: 0.0 };
        for range in spaced_runs(original.len(), SAMPLE_PIECE_BYTES, SAMPLE_PIECES) {
            let piece = original.get(range).unwrap_or_default();
            sizes.bytes += piece.len() as f64;
            sizes.xz += Block::new(piece, Tuning::XZ_9E)?.cost() as f64;
            sizes.zstd += zstd::compress_far(piece, zstd_level)?.len() as f64;
        }
        Ok(sizes)
    }
}

/// Returns whether a tuning makes pieces of some bytes smaller than that of `xz -9e`.
fn is_better(original: &[u8], tuning: Tuning) -> Result<bool> {
    let pieces = if original.len() > TUNING_PIECE_BYTES + 1 { TUNING_PIECES } else { 1 };
    let (mut with, mut without) = (0.0, 0.0);
    for range in spaced_runs(original.len(), TUNING_PIECE_BYTES, pieces) {
        let piece = original.get(range).unwrap_or_default();
        with += Block::new(piece, tuning.with_effort(Effort::Quick))?.cost() as f64;
        without += Block::new(piece, Tuning::XZ_9E.with_effort(Effort::Quick))?.cost() as f64;
    }
    Ok(with < without)
}

/// Returns whether the bytes look random, so that no compressor makes them smaller.
///
/// `zstd_size` is the size that zstd reaches at level 1.
pub(in crate::pack) fn is_noise(original: &[u8], zstd_size: usize) -> bool {
    original.len() > MIN_NOISE_BYTES && zstd_size >= original.len()
}
