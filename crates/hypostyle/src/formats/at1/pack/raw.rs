//! Bytes without structure (§4), and when to do without it.

use super::container::Body;
use super::effort::Search;
use super::options::Layout;
use crate::compress::xz::encode::{self as xz, Block, Effort, Tuning};
use crate::compress::zstd;
use crate::error::Result;

/// Shares of what zstd takes, with matches from anywhere, at a level of it: what is
/// below them is below what xz takes as well.
///
/// Of 17 files, tables and logs, xz took 0.58 of level 3 and 0.70 of level 9 or more.
const SURE: [(i32, f64); 2] = [(3, 0.5), (9, 0.685)];

/// The same for what zstd takes at level 1, when time is short.
const SURE_QUICK: f64 = 0.75;

/// What suits text without columns.
const TEXT: Tuning = Tuning::flat(4).with_effort(Effort::Extreme);

/// Bytes of a piece that tunings are judged by.
const PIECE: usize = 128 << 10;

/// The smallest body for these bytes; never larger than what `xz -9e` makes.
///
/// With a `rival` of so many bytes it may be a little larger than it could be if
/// the rival is smaller anyway.
pub(super) fn body(original: &[u8], rival: Option<usize>, search: &Search) -> Result<Body> {
    if search.is_quick() {
        let zstd = zstd::compress(original, search.zstd)?;
        return Ok(Body::zstd(zstd).min(Body::stored(original)));
    }
    let mut best = Body::xz(xz::compress(original, Tuning::XZ_9E)?);
    let loses = rival.is_some_and(|rival| rival < best.bytes.len());
    if !loses && suits_better(original, TEXT)? {
        best = best.min(Body::xz(xz::compress(original, TEXT)?));
    }
    if search.layout == Layout::Reference {
        best = best.min(Body::stored(original));
        // Long runs of one byte are what zstd is best at.
        if best.bytes.len() < 256 || best.bytes.len() < original.len() / 500 {
            best = best.min(Body::zstd(zstd::compress(original, 19)?));
        }
    }
    Ok(best)
}

/// Whether a tuning makes pieces of these bytes smaller than that of `xz -9e`.
fn suits_better(original: &[u8], tuning: Tuning) -> Result<bool> {
    let step = original.len().saturating_sub(PIECE) / 2;
    let (mut with, mut without) = (0.0, 0.0);
    for part in 0..if step > 0 { 3 } else { 1 } {
        let end = (part * step).saturating_add(PIECE).min(original.len());
        let piece = original.get(part * step..end).unwrap_or_default();
        with += Block::new(piece, tuning.with_effort(Effort::Quick))?.cost() as f64;
        without += Block::new(piece, Tuning::XZ_9E.with_effort(Effort::Quick))?.cost() as f64;
    }
    Ok(with < without)
}

/// Whether the bytes are all alike to any compressor: nothing is to be had.
///
/// `quick` bytes are what zstd makes of them at level 1.
pub(super) fn is_noise(original: &[u8], quick: usize) -> bool {
    original.len() > 1024 && quick >= original.len()
}

/// Whether a structured form of so many bytes is smaller than any body, for sure.
///
/// If it is not sure, the body must be made and compared. `quick` bytes are what
/// zstd makes of it at level 1.
pub(super) fn is_beaten(
    original: &[u8],
    structured: usize,
    quick: usize,
    search: &Search,
) -> Result<bool> {
    if search.is_quick() {
        return Ok((structured as f64) < quick as f64 * SURE_QUICK);
    }
    for (level, share) in SURE {
        let size = zstd::compress_far(original, level)?.len();
        if (structured as f64) < size as f64 * share {
            return Ok(true);
        }
    }
    Ok(false)
}
