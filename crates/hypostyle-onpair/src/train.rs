//! Finding the tokens that strings have in common.
//!
//! Strings of a sample are cut into the longest tokens that there are so far, at first
//! single bytes. Two neighbours that have met often enough become a token. So far this
//! is OnPair. A merge is decided by what was seen until then and is never taken back;
//! therefore more tokens are made than are wanted, the sample is cut again with them,
//! and those that save least are dropped. Which width is best is known from growing:
//! how many codes strings take while there are so many tokens.

use std::thread;

use crate::MAX_TOKEN_SIZE;
use crate::kernel::prefetch;
use crate::lanes::Cut;
use crate::matcher::{self, Matcher};
use crate::sample::Sample;

/// A token and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    bytes: [u8; MAX_TOKEN_SIZE],
    len: u8,
}

impl Token {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut token = Self { bytes: [0; MAX_TOKEN_SIZE], len: 0 };
        for (to, from) in token.bytes.iter_mut().zip(bytes) {
            *to = *from;
            token.len += 1;
        }
        token
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn len(&self) -> u8 {
        self.len
    }

    /// The bytes, and zeros behind them.
    #[inline]
    pub(crate) fn words(&self) -> [u64; 2] {
        matcher::words(&self.bytes)
    }
}

/// The 256 single bytes, which every dictionary has.
pub(crate) const BYTES: usize = 256;

/// How hard good tokens are searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// What one look at a small sample gives.
    Quick,
    /// The best of more tokens than are wanted.
    #[default]
    Usual,
    /// Many times over on a large sample.
    Thorough,
}

impl Effort {
    /// Bytes to learn from.
    pub(crate) fn sample(self, bits: Option<u32>) -> usize {
        self.bytes(self.widest(bits.unwrap_or(16)))
    }

    /// Bytes to learn the tokens of a width from: few tokens need more each, since fewer
    /// of them are rare.
    fn bytes(self, bits: u32) -> usize {
        let most = match self {
            Self::Quick => 6 << 20,
            Self::Usual => 8 << 20,
            Self::Thorough => 24 << 20,
        };
        match bits {
            16 => most,
            15 => most * 5 / 8,
            14 => most * 3 / 8,
            13 => most / 4,
            12 => most * 3 / 16,
            11 => most / 8,
            10 => most / 12,
            _ => most / 24,
        }
    }

    /// The width up to which tokens grow that are dropped again to have `bits`.
    fn widest(self, bits: u32) -> u32 {
        if self == Self::Quick { bits } else { (bits + 1).min(16) }
    }

    /// How often the least useful tokens give way to others, and which share of them.
    fn rounds(self) -> &'static [f64] {
        match self {
            Self::Quick => &[],
            Self::Usual => &[0.2],
            Self::Thorough => &[0.3, 0.2, 0.15, 0.1],
        }
    }
}

/// The bits that the codes of so many tokens have.
pub(crate) fn width(tokens: usize) -> u32 {
    tokens.max(2).next_power_of_two().trailing_zeros().clamp(9, 16)
}

/// Learns tokens, at most as many as codes of these bits can name; of the best width if
/// none is given.
pub(crate) fn dictionary(
    sample: &Sample,
    bits: Option<u32>,
    effort: Effort,
    threads: usize,
) -> Vec<Token> {
    let pieces = &sample.pieces()[..];
    let mut growth = Growth::new(pieces, threads);
    let most = effort.widest(bits.unwrap_or(16));
    // Where there is little to learn from, nothing is learned from it many times over.
    let scale = sample.len() as f64 / effort.bytes(most) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
    let bytes_for = |bits: u32| (effort.bytes(bits) as f64 * scale.min(1.0)) as usize;
    // The least that all strings take, and the width.
    let mut least = (f64::INFINITY, 9);
    for bits in 9..=most {
        let bytes = bytes_for(bits).saturating_sub(growth.seen);
        let codes = growth.grow(1 << bits, bytes.max(LEAST));
        let cost = sample.cost(codes, &growth.tokens);
        if cost < least.0 {
            least = (cost, bits);
        }
        // It will not become less again, or there is nothing more to learn.
        if cost > least.0 * HOPELESS || growth.tokens.len() < 1 << bits {
            break;
        }
    }
    let mut losses = growth.losses();
    let bits = match bits {
        // One token above a power of two would cost a bit for every code.
        Some(bits) if growth.tokens.len() >= 1 << bits => bits,
        _ => {
            let mut cost = losses.cost(sample, &growth.tokens);
            let mut tried = None;
            loop {
                let (tokens, judged) =
                    tried.as_ref().map_or((&growth, &losses), |(growth, losses)| (growth, losses));
                let bits = width(tokens.tokens.len());
                // While growing, fewer may have been seen to take less, beyond some that do not.
                if bits <= least.1 && !judged.may_narrow(sample, &tokens.tokens) {
                    break;
                }
                let fewer = tokens.pruned(judged, 1 << (bits - 1));
                let fewer_losses = fewer.losses();
                let fewer_cost = fewer_losses.cost(sample, &fewer.tokens);
                if fewer_cost < cost {
                    (growth, losses, cost) = (fewer, fewer_losses, fewer_cost);
                    tried = None;
                } else if bits - 1 > least.1 {
                    tried = Some((fewer, fewer_losses));
                } else {
                    break;
                }
            }
            width(growth.tokens.len())
        }
    };
    let wanted = 1 << bits;
    for (round, share) in effort.rounds().iter().enumerate() {
        if round > 0 {
            losses = growth.losses();
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
        let keep = (growth.tokens.len().min(wanted) as f64 * (1.0 - share)) as usize;
        growth = growth.pruned(&losses, keep);
        growth.grow(wanted, bytes_for(bits));
    }
    match growth.tokens.len() > wanted {
        true => growth.pruned(&losses, wanted).tokens,
        // After a round there are no more than that.
        false => growth.tokens,
    }
}

/// Bytes that each width is judged by, at least.
const LEAST: usize = 16 << 10;

/// How much more than the best a width may take for a wider one to be looked at.
const HOPELESS: f64 = 1.15;

/// Bytes for each token by which it is judged what tokens save.
const JUDGED: usize = 128;

/// What strings would take without tokens.
#[derive(Debug)]
struct Losses {
    /// The bytes that they were judged by, and the codes of these with all tokens.
    bytes: usize,
    codes: u64,
    /// The codes that each token saves, and its number; least first.
    tokens: Vec<(u64, usize)>,
}

impl Losses {
    /// What all strings take.
    fn cost(&self, sample: &Sample, tokens: &[Token]) -> f64 {
        sample.cost(self.codes as f64 / self.bytes as f64, tokens)
    }

    /// Whether all strings may take less with codes of one bit less, and without the
    /// tokens that this leaves no room for.
    fn may_narrow(&self, sample: &Sample, tokens: &[Token]) -> bool {
        let bits = width(tokens.len());
        let drop = tokens.len().saturating_sub(1 << (bits - 1));
        // If no token that is dropped were what another would be replaced by.
        let lost: u64 = self.tokens.iter().take(drop).map(|&(lost, _)| lost).sum();
        let codes = (self.codes + lost) as f64 / self.bytes as f64;
        let kept = self.tokens.iter().skip(drop).filter_map(|&(_, at)| tokens.get(at));
        bits > 9 && sample.cost_with(codes, bits - 1, kept) < self.cost(sample, tokens)
    }
}

/// Tokens that become more.
struct Growth<'p> {
    pieces: &'p [&'p [u8]],
    /// The next piece to learn from.
    next: usize,
    tokens: Vec<Token>,
    counts: Counts,
    /// Bytes that were learned from.
    seen: usize,
    /// Threads that judge tokens.
    threads: usize,
}

/// Tokens that there are for each that is learned before strings are cut with it.
const LAG: usize = 500;

/// The fewest and the most bytes that are cut in one go.
const CUT: [usize; 2] = [1 << 10, 6 << 10];

impl<'p> Growth<'p> {
    fn new(pieces: &'p [&'p [u8]], threads: usize) -> Self {
        let tokens: Vec<Token> = (0..=u8::MAX).map(|byte| Token::new(&[byte])).collect();
        Self { pieces, next: 0, tokens, counts: Counts::new(1 << 12), seen: 0, threads }
    }

    /// Merges neighbours until there are `most` tokens, or `bytes` were seen twice over.
    /// Says how many codes a byte took towards the end.
    fn grow(&mut self, most: usize, bytes: usize) -> f64 {
        let mut pace = Pace::new(most.saturating_sub(self.tokens.len()), bytes);
        let mut matcher = Matcher::new(std::mem::take(&mut self.tokens), most);
        let (mut seen, mut codes) = (0, 0);
        // Where the last part begins, by which it is judged.
        let mut mark = (0, 0);
        let (mut cut, mut left) = (Cut::default(), self.pieces.len());
        while left > 0 && matcher.tokens().len() < most && seen < bytes * 2 {
            if seen - mark.0 > bytes / 4 {
                mark = (seen, codes);
            }
            // So many bytes that few tokens are learned from them.
            let share = bytes / (most.saturating_sub(matcher.tokens().len())).max(1);
            let wanted = (share * matcher.tokens().len() / LAG).clamp(CUT[0], CUT[1]);
            let pieces = self.pieces.get(self.next..).unwrap_or_default();
            let mut len = 0;
            let fits = pieces.iter().take_while(|piece| {
                let is_first = len < wanted;
                len += piece.len();
                is_first
            });
            let count = fits.count().min(left);
            let pieces = pieces.get(..count).unwrap_or_default();
            left -= count;
            self.next += count;
            if self.next >= self.pieces.len() {
                self.next = 0;
            }
            cut.clear();
            cut.rows(&matcher, pieces, 0..count);
            codes += cut.codes.len();
            self.learn(&cut, pieces, &mut matcher, most, &mut pace, seen);
            seen += pieces.iter().map(|piece| piece.len()).sum::<usize>();
        }
        self.tokens = matcher.into_tokens();
        self.seen += seen;
        if seen - mark.0 < bytes / 16 {
            mark = (0, 0);
        }
        (codes - mark.1) as f64 / (seen - mark.0).max(1) as f64
    }

    /// Learns from pieces that were cut.
    fn learn(
        &mut self,
        cut: &Cut,
        pieces: &[&[u8]],
        matcher: &mut Matcher,
        most: usize,
        pace: &mut Pace,
        mut seen: usize,
    ) {
        let mut rest = &cut.codes[..];
        for (piece, &count) in pieces.iter().zip(&cut.counts) {
            let (codes, after) = rest.split_at_checked(count as usize).unwrap_or((rest, &[]));
            let (mut last, mut end): (Option<(u16, usize)>, usize) = (None, 0);
            for (at, &token) in codes.iter().enumerate() {
                if let Some(&[one, other]) = rest.get(at + AHEAD..at + AHEAD + 2) {
                    self.counts.prepare(one, other);
                }
                let len = matcher.tokens().get(usize::from(token)).map_or(1, |it| it.len().into());
                end += len;
                let short = last.filter(|(_, before)| before + len <= MAX_TOKEN_SIZE);
                last = Some((token, len));
                let Some((before, before_len)) = short else { continue };
                if !self.counts.bump(before, token, pace.threshold)
                    || matcher.tokens().len() >= most
                {
                    continue;
                }
                // The two stand side by side in the piece.
                let merged = piece.get(end - before_len - len..end).unwrap_or_default();
                if let Some(number) = matcher.insert(Token::new(merged)) {
                    last = Some((number, before_len + len));
                    pace.created(seen + end);
                }
            }
            seen += piece.len();
            rest = after;
        }
    }

    /// The pieces that tokens are judged by: so many that most are met a few times.
    fn judges(&self) -> &'p [&'p [u8]] {
        let mut bytes = self.tokens.len() * JUDGED;
        let enough = self.pieces.iter().position(|piece| {
            bytes = bytes.saturating_sub(piece.len());
            bytes == 0
        });
        enough.and_then(|enough| self.pieces.get(..enough)).unwrap_or(self.pieces)
    }

    /// What each token saves: how often it is used, times the codes that its bytes would
    /// take without it, less one.
    fn losses(&self) -> Losses {
        let matcher = Matcher::new(self.tokens.clone(), 0);
        let uses = uses(&matcher, self.judges(), self.threads);
        let codes = uses.iter().map(|&uses| u64::from(uses)).sum();
        let all = (0..=u16::MAX).zip(matcher.tokens()).zip(&uses);
        let long = all.filter(|((_, token), _)| token.len() > 1);
        let mut tokens: Vec<(u64, usize)> = long
            .map(|((number, _), &uses)| {
                let saved = if uses == 0 { 0 } else { matcher.without(number) - 1 };
                (u64::from(uses) * u64::from(saved), usize::from(number))
            })
            .collect();
        tokens.sort_unstable();
        let bytes = self.judges().iter().map(|piece| piece.len()).sum();
        Losses { bytes, codes, tokens }
    }

    /// The same without the tokens that save least, so that `keep` are left.
    fn pruned(&self, losses: &Losses, keep: usize) -> Self {
        let drop = self.tokens.len().saturating_sub(keep.max(BYTES));
        let mut dropped = vec![false; self.tokens.len()];
        for &(_, index) in losses.tokens.iter().take(drop) {
            if let Some(dropped) = dropped.get_mut(index) {
                *dropped = true;
            }
        }
        let kept = self.tokens.iter().zip(dropped).filter(|(_, dropped)| !dropped);
        let tokens: Vec<Token> = kept.map(|(token, _)| *token).collect();
        let counts = Counts::new(tokens.len());
        Self { tokens, counts, ..*self }
    }
}

/// Pairs that are asked for in advance.
const AHEAD: usize = 12;

/// How often each token is used.
fn uses(matcher: &Matcher, pieces: &[&[u8]], threads: usize) -> Vec<u32> {
    let share = pieces.len().div_ceil(threads.max(1)).max(BATCH);
    thread::scope(|scope| {
        let mut shares = pieces.chunks(share);
        let first = shares.next().unwrap_or_default();
        let others: Vec<_> =
            shares.map(|pieces| scope.spawn(|| uses_in(matcher, pieces))).collect();
        let mut all = uses_in(matcher, first);
        for other in others.into_iter().filter_map(|other| other.join().ok()) {
            all.iter_mut().zip(other).for_each(|(uses, other)| *uses += other);
        }
        all
    })
}

fn uses_in(matcher: &Matcher, pieces: &[&[u8]]) -> Vec<u32> {
    let mut uses = vec![0_u32; matcher.tokens().len()];
    let mut cut = Cut::default();
    for pieces in pieces.chunks(BATCH) {
        cut.clear();
        cut.rows(matcher, pieces, 0..pieces.len());
        for &code in &cut.codes {
            if let Some(uses) = uses.get_mut(usize::from(code)) {
                *uses += 1;
            }
        }
    }
    uses
}

/// Pieces that are cut in one go.
const BATCH: usize = 4096;

/// How often two tokens must meet, so that the dictionary is full when the sample ends.
#[derive(Debug)]
struct Pace {
    threshold: u8,
    every: usize,
    created: usize,
    left: usize,
    bytes: usize,
    /// Where the last look was.
    last: usize,
}

impl Pace {
    fn new(slots: usize, bytes: usize) -> Self {
        Self { threshold: 2, every: (slots / 128).max(64), created: 0, left: slots, bytes, last: 0 }
    }

    fn created(&mut self, seen: usize) {
        self.created += 1;
        self.left = self.left.saturating_sub(1);
        if self.created < self.every {
            return;
        }
        let now = self.every as f64 / (seen - self.last).max(1) as f64;
        let wanted = self.left as f64 / self.bytes.saturating_sub(seen).max(1) as f64;
        if now > wanted * 2.0 {
            self.threshold = self.threshold.saturating_add(1);
        } else if now < wanted * 0.5 {
            self.threshold = (self.threshold - 1).max(2);
        }
        (self.created, self.last) = (0, seen);
    }
}

/// How often pairs of tokens were met.
#[derive(Debug)]
struct Counts {
    /// A pair in the upper bits, how often in the lowest eight; 0 is empty.
    entries: Vec<u64>,
    used: usize,
}

impl Counts {
    fn new(tokens: usize) -> Self {
        Self { entries: vec![0; (tokens * 2).next_power_of_two().max(1 << 14)], used: 0 }
    }

    /// Asks for the place of a pair that will be counted soon.
    #[inline]
    fn prepare(&self, one: u16, other: u16) {
        prefetch(&self.entries, hash(key(one, other)) & (self.entries.len() - 1));
    }

    /// Counts a pair; says whether it was met often enough, and never again then.
    #[inline]
    fn bump(&mut self, one: u16, other: u16, threshold: u8) -> bool {
        let key = key(one, other);
        let mut at = hash(key);
        let mask = self.entries.len() - 1;
        loop {
            let Some(entry) = self.entries.get_mut(at & mask) else { return false };
            if *entry >> 8 == key {
                let count = *entry & 0xFF;
                if count == DONE {
                    return false;
                }
                let is_enough = count + 1 >= u64::from(threshold.min(254));
                *entry += if is_enough { DONE - count } else { 1 };
                return is_enough;
            }
            if *entry == 0 {
                *entry = key << 8 | 1;
                self.used += 1;
                if self.used * 4 > self.entries.len() * 3 {
                    self.grow();
                }
                return false;
            }
            at += 1;
        }
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.entries);
        self.entries = vec![0; old.len() * 2];
        let mask = self.entries.len() - 1;
        for entry in old.into_iter().filter(|&entry| entry != 0) {
            let mut at = hash(entry >> 8);
            while let Some(place) = self.entries.get_mut(at & mask) {
                if *place == 0 {
                    *place = entry;
                    break;
                }
                at += 1;
            }
        }
    }
}

/// The count of a pair that has become a token.
const DONE: u64 = 0xFF;

/// A pair, never 0.
#[inline]
fn key(one: u16, other: u16) -> u64 {
    (u64::from(one) << 20 | u64::from(other)) + 1
}

/// A place in a table, from which the lowest bits are taken.
#[inline]
fn hash(key: u64) -> usize {
    // The upper bits depend on all bits of the key.
    usize::try_from(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).unwrap_or(0)
}
