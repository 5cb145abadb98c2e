//! Bytes without structure (§4), and when to do without it.

use super::container::Body;
use super::effort::Search;
use super::options::Layout;
use crate::compress::xz::encode::{self as xz, Effort, Tuning};
use crate::compress::zstd;
use crate::error::Result;
use crate::parallel;

/// Bytes that are compressed to judge how small all of them would be.
const PIECE: usize = 512 << 10;

/// How far below its estimate a structured form must be to be kept unseen.
const SURE: f64 = 0.8;

/// The smallest body for these bytes; never larger than what `xz -9e` makes.
pub(super) fn body(original: &[u8], search: &Search, threads: usize) -> Result<Body> {
    if search.is_quick() {
        let zstd = zstd::compress(original, search.zstd)?;
        return Ok(Body::zstd(zstd).min(Body::stored(original)));
    }
    let tunings = [Tuning::XZ_9E, Tuning::flat(4).with_effort(Effort::Extreme)];
    let published = search.layout == Layout::Published;
    let mut best = None;
    let work = |index: usize| {
        let tuning = tunings.get(index).copied().unwrap_or(Tuning::XZ_9E);
        xz::compress(original, tuning)
    };
    parallel::in_order(tunings.len(), threads, work, |_, bytes| {
        let fresh = Body::xz(bytes);
        best = Some(match best.take() {
            Some(best) => Body::min(best, fresh),
            None => fresh,
        });
        Ok(())
    })?;
    let mut best = best.unwrap_or_else(|| Body::stored(original));
    if !published {
        best = best.min(Body::stored(original));
        // A run of one byte, and little else, is what zstd is best at.
        if best.bytes.len() < 256 {
            best = best.min(Body::zstd(zstd::compress(original, 19)?));
        }
    }
    Ok(best)
}

/// Whether a structured form of so many bytes is smaller than any body, for sure.
///
/// If it is not sure, the body must be made and compared.
pub(super) fn is_beaten(original: &[u8], structured: usize, search: &Search) -> Result<bool> {
    if original.len() <= PIECE {
        return Ok(false);
    }
    let mut share = f64::INFINITY;
    for part in 0..3 {
        let start = (original.len() - PIECE) / 2 * part;
        let piece = original.get(start..start + PIECE).unwrap_or_default();
        share = share.min(search.trial(piece, Tuning::flat(3))? / PIECE as f64);
    }
    Ok((structured as f64) < share * SURE * original.len() as f64)
}
