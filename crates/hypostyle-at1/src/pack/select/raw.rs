//! Bytes without structure (§4), and when to do without it.

use std::cell::Cell;
use std::sync::mpsc::{Receiver, TryRecvError};

use crate::pack::options::Layout;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::Body;
use hypostyle_core::compress::xz::encode::{self as xz, Block, Effort, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;

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

/// The share of what `xz -9e` takes below which no tuning comes.
const SURE_TUNED: f64 = 0.96;

/// What is known of the structured form while it is made.
#[derive(Clone, Copy, Debug)]
pub(in crate::pack) enum Size {
    /// So many bytes, by what was tried.
    Guessed(usize),
    /// So many bytes.
    Known(usize),
}

/// The structured form that these bytes are compared with.
///
/// What is decided does not depend on when the news comes.
#[derive(Debug)]
pub(in crate::pack) struct Rival {
    news: Receiver<Size>,
    latest: Cell<Option<Size>>,
    gone: Cell<bool>,
}

impl Rival {
    /// A rival of whom `news` tells; if that ends without a known size there is none.
    pub(in crate::pack) fn new(news: Receiver<Size>) -> Self {
        Self { news, latest: Cell::default(), gone: Cell::default() }
    }

    /// Whether it is known that there is none.
    fn is_out(&self) -> bool {
        self.hear();
        self.gone.get() && !matches!(self.latest.get(), Some(Size::Known(_)))
    }

    /// Whether the rival is smaller; waits until that is known, or not to be expected by
    /// what is guessed.
    fn is_below(&self, bytes: f64) -> bool {
        loop {
            self.hear();
            match self.latest.get() {
                Some(Size::Known(size)) => return (size as f64) < bytes,
                _ if self.gone.get() => return false,
                Some(Size::Guessed(size)) if size as f64 >= bytes => return false,
                _ => match self.news.recv() {
                    Ok(size) => self.latest.set(Some(size)),
                    Err(_) => self.gone.set(true),
                },
            }
        }
    }

    /// Whether the rival turned out smaller. A guess is not enough for that.
    fn is_smaller(&self, bytes: usize) -> bool {
        while !self.gone.get() && !matches!(self.latest.get(), Some(Size::Known(_))) {
            match self.news.recv() {
                Ok(size) => self.latest.set(Some(size)),
                Err(_) => self.gone.set(true),
            }
        }
        matches!(self.latest.get(), Some(Size::Known(size)) if size < bytes)
    }

    fn hear(&self) {
        loop {
            match self.news.try_recv() {
                Ok(size) => self.latest.set(Some(size)),
                Err(TryRecvError::Disconnected) => return self.gone.set(true),
                Err(TryRecvError::Empty) => return,
            }
        }
    }
}

/// The smallest body for these bytes, never larger than what `xz -9e` makes; `None`
/// if the rival is smaller.
///
/// `quick` bytes are what zstd makes of it at level 1.
pub(in crate::pack) fn body(
    original: &[u8],
    quick: usize,
    rival: &Rival,
    search: &SearchParams,
) -> Result<Option<Body>> {
    let smallest = |best: Body| Ok((!rival.is_smaller(best.bytes.len())).then_some(best));
    if search.is_quick() {
        if rival.is_below(quick as f64 * SURE_QUICK) {
            return Ok(None);
        }
        let zstd = zstd::compress(original, search.zstd)?;
        return smallest(Body::zstd(zstd).min(Body::stored(original.to_vec())));
    }
    // Each step tells better how small it can become, and takes longer.
    let mut sure = 0.0;
    for (level, share) in SURE {
        if rival.is_out() {
            break;
        }
        // It can always be stored as it is.
        sure =
            (zstd::compress_far(original, level)?.len() as f64 * share).min(original.len() as f64);
        if rival.is_below(sure) {
            return Ok(None);
        }
    }
    let made = |tuning, sure| xz::compress_while(original, tuning, || !rival.is_below(sure));
    let Some(xz) = made(Tuning::XZ_9E, sure)? else { return Ok(None) };
    let mut best = Body::xz(xz);
    if search.layout == Layout::Reference {
        best = best.min(Body::stored(original.to_vec()));
        // Long runs of one byte are what zstd is best at.
        if best.bytes.len() < 256 || best.bytes.len() < original.len() / 500 {
            best = best.min(Body::zstd(zstd::compress(original, 19)?));
        }
    }
    let sure = best.bytes.len() as f64 * SURE_TUNED;
    if rival.is_below(sure) {
        return Ok(None);
    }
    if suits_better(original, TEXT)? {
        let Some(xz) = made(TEXT, sure)? else { return Ok(None) };
        best = best.min(Body::xz(xz));
    }
    smallest(best)
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
pub(in crate::pack) fn is_noise(original: &[u8], quick: usize) -> bool {
    original.len() > 1024 && quick >= original.len()
}
