//! Bytes without structure (§4), and when to do without it.

use super::container::Body;
use super::effort::Search;
use super::options::Layout;
use crate::compress::xz::encode::{self as xz, Effort, Tuning};
use crate::compress::zstd;
use crate::error::Result;
use crate::parallel;

/// Shares of what zstd takes, with matches from anywhere, at a level of it: what is
/// below them is below what xz takes as well.
///
/// Of 17 files, tables and logs, xz took 0.58 of level 3 and 0.70 of level 9 or more.
const SURE: [(i32, f64); 2] = [(3, 0.5), (9, 0.685)];

/// The same for what zstd takes at the level that is used when time is short.
const SURE_QUICK: f64 = 0.75;

/// The smallest body for these bytes; never larger than what `xz -9e` makes.
///
/// With a `rival` of so many bytes it may be a little larger than it could be if
/// the rival is smaller anyway.
pub(super) fn body(
    original: &[u8],
    rival: Option<usize>,
    search: &Search,
    threads: usize,
) -> Result<Body> {
    if search.is_quick() {
        let zstd = zstd::compress(original, search.zstd)?;
        return Ok(Body::zstd(zstd).min(Body::stored(original)));
    }
    let tunings = [Tuning::XZ_9E, Tuning::flat(4).with_effort(Effort::Extreme)];
    let tunings = tunings.get(..if rival.is_some() { 1 } else { 2 }).unwrap_or_default();
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
    if rival.is_some_and(|rival| rival >= best.bytes.len()) {
        return body(original, None, search, threads);
    }
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
    if search.is_quick() {
        let size = zstd::compress(original, 1)?.len();
        return Ok((structured as f64) < size as f64 * SURE_QUICK);
    }
    for (level, share) in SURE {
        let size = zstd::compress_far(original, level)?.len();
        if (structured as f64) < size as f64 * share {
            return Ok(true);
        }
    }
    Ok(false)
}
