//! Learning the tokens of a dictionary from a sample.
//!
//! [`TokenGrower`] tokenizes the sample with the tokens learned so far, at first the single
//! bytes, and merges two neighbouring tokens once the pair has occurred often enough. This is
//! the OnPair algorithm. It decides each merge by what it has seen up to then and never undoes
//! it. Therefore the grower learns more tokens than wanted, tokenizes the sample again, and
//! drops the tokens that save the fewest codes. To choose the width of codes, [`dictionary`]
//! compares the estimated size of all strings after each power of two of tokens.

use std::thread;

use crate::MAX_TOKEN_SIZE;
use crate::kernel::prefetch;
use crate::matcher::Matcher;
use crate::sample::Sample;
use crate::threads;
use crate::token::{Token, width};
use crate::tokenize::TokenizedBatch;

/// Number of single-byte tokens; every dictionary has all of them.
pub(crate) const SINGLE_BYTES: usize = 256;

/// How much time training spends on the dictionary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// Learns from one pass over a small sample.
    Quick,
    /// Learns more tokens than wanted and keeps the best.
    #[default]
    Usual,
    /// Replaces the weakest tokens several times, with a large sample.
    Thorough,
}

impl Effort {
    /// Returns the size of the sample in bytes, for codes of `bits` or of any width.
    pub(crate) fn sample_bytes(self, bits: Option<u32>) -> usize {
        self.bytes(self.grown_bits(bits.unwrap_or(16)))
    }

    /// Returns the number of bytes to learn the tokens of a width from. Fewer tokens need more
    /// bytes per token, since fewer of them are rare.
    fn bytes(self, bits: u32) -> usize {
        let max_bytes = match self {
            Self::Quick => 6 << 20,
            Self::Usual => 8 << 20,
            Self::Thorough => 24 << 20,
        };
        match bits {
            16 => max_bytes,
            15 => max_bytes * 5 / 8,
            14 => max_bytes * 3 / 8,
            13 => max_bytes / 4,
            12 => max_bytes * 3 / 16,
            11 => max_bytes / 8,
            10 => max_bytes / 12,
            _ => max_bytes / 24,
        }
    }

    /// Returns the width to grow to before the dictionary is pruned to `bits`.
    fn grown_bits(self, bits: u32) -> u32 {
        if self == Self::Quick { bits } else { (bits + 1).min(16) }
    }

    /// Returns the share of tokens that each round replaces.
    fn rounds(self) -> &'static [f64] {
        match self {
            Self::Quick => &[],
            Self::Usual => &[0.2],
            Self::Thorough => &[0.3, 0.2, 0.15, 0.1],
        }
    }
}

/// Learns the tokens for codes of `bits`, or of the width with the smallest estimated size if
/// `bits` is `None`.
///
/// Returns at most `1 << bits` tokens; some may occur twice.
pub(crate) fn dictionary(
    sample: &Sample,
    bits: Option<u32>,
    effort: Effort,
    threads: usize,
) -> Vec<Token> {
    let pieces = &sample.pieces()[..];
    let mut grower = TokenGrower::new(pieces, threads);
    let max_bits = effort.grown_bits(bits.unwrap_or(16));
    // A small sample is not learned from more often than a large one.
    let scale = sample.len() as f64 / effort.bytes(max_bits) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
    let bytes_for = |bits: u32| (effort.bytes(bits) as f64 * scale.min(1.0)) as usize;
    // The smallest estimated size so far, and its width.
    let (mut best_cost, mut best_bits) = (f64::INFINITY, 9);
    for bits in 9..=max_bits {
        let bytes = bytes_for(bits).saturating_sub(grower.seen);
        let codes = grower.grow(1 << bits, bytes.max(MIN_WIDTH_BYTES));
        let cost = sample.cost(codes, &grower.tokens);
        if cost < best_cost {
            (best_cost, best_bits) = (cost, bits);
        }
        // A wider code will not help, or the sample has no more tokens to offer.
        if cost > best_cost * MAX_COST_RATIO || grower.tokens.len() < 1 << bits {
            break;
        }
    }
    let mut savings = grower.savings();
    let bits = match bits {
        // A token beyond the power of two would cost one bit per code.
        Some(bits) if grower.tokens.len() >= 1 << bits => bits,
        _ => {
            let mut cost = savings.cost(sample, &grower.tokens);
            let mut tried = None;
            loop {
                let (current, current_savings) = tried
                    .as_ref()
                    .map_or((&grower, &savings), |(grower, savings)| (grower, savings));
                let bits = width(current.tokens.len());
                // Growing may have measured a smaller size at a narrower width, so go on past a
                // width that does not help.
                if bits <= best_bits && !current_savings.may_save_a_bit(sample, &current.tokens) {
                    break;
                }
                let fewer = current.pruned(current_savings, 1 << (bits - 1));
                let fewer_savings = fewer.savings();
                let fewer_cost = fewer_savings.cost(sample, &fewer.tokens);
                if fewer_cost < cost {
                    (grower, savings, cost) = (fewer, fewer_savings, fewer_cost);
                    tried = None;
                } else if bits - 1 > best_bits {
                    tried = Some((fewer, fewer_savings));
                } else {
                    break;
                }
            }
            width(grower.tokens.len())
        }
    };
    let wanted = 1 << bits;
    for (round, share) in effort.rounds().iter().enumerate() {
        if round > 0 {
            savings = grower.savings();
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
        let keep = (grower.tokens.len().min(wanted) as f64 * (1.0 - share)) as usize;
        grower = grower.pruned(&savings, keep);
        grower.grow(wanted, bytes_for(bits));
    }
    // Without rounds, the dictionary may still have too many tokens.
    if grower.tokens.len() > wanted {
        grower.pruned(&savings, wanted).tokens
    } else {
        grower.tokens
    }
}

/// Minimum number of bytes that each width is estimated from.
const MIN_WIDTH_BYTES: usize = 16 << 10;

/// Ratio to the smallest estimated size at which growing stops.
const MAX_COST_RATIO: f64 = 1.15;

/// Number of bytes per token from which the savings of tokens are measured.
const JUDGED_BYTES_PER_TOKEN: usize = 128;

/// How many codes each token saves, measured on a part of the sample.
#[derive(Debug)]
struct TokenSavings {
    /// The size of that part, and the number of its codes with all tokens.
    bytes: usize,
    codes: u64,
    /// The number of codes that each token of two bytes or more saves, and its code, in
    /// ascending order.
    tokens: Vec<(u64, usize)>,
}

impl TokenSavings {
    /// Returns the estimated size of all strings with `tokens`.
    fn cost(&self, sample: &Sample, tokens: &[Token]) -> f64 {
        sample.cost(self.codes as f64 / self.bytes as f64, tokens)
    }

    /// Returns whether all strings may become smaller with codes of one bit less and without
    /// the tokens that then do not fit.
    fn may_save_a_bit(&self, sample: &Sample, tokens: &[Token]) -> bool {
        let bits = width(tokens.len());
        let drop = tokens.len().saturating_sub(1 << (bits - 1));
        // This underestimates the loss: tokens that would replace a dropped token may be
        // dropped too.
        let lost: u64 = self.tokens.iter().take(drop).map(|&(lost, _)| lost).sum();
        let codes = (self.codes + lost) as f64 / self.bytes as f64;
        let kept = self.tokens.iter().skip(drop).filter_map(|&(_, at)| tokens.get(at));
        bits > 9 && sample.cost_with(codes, bits - 1, kept) < self.cost(sample, tokens)
    }
}

/// Learns tokens by merging neighbours.
struct TokenGrower<'p> {
    pieces: &'p [&'p [u8]],
    /// Index of the next piece to learn from.
    next: usize,
    tokens: Vec<Token>,
    counts: PairCounts,
    /// Number of bytes that were learned from.
    seen: usize,
    /// Number of threads that measure savings.
    threads: usize,
}

/// Number of existing tokens per new token of a batch. New tokens are only used from the next
/// batch on.
const TOKENS_PER_NEW_TOKEN: usize = 500;

/// Size limits of a batch.
const MIN_BATCH_BYTES: usize = 1 << 10;
const MAX_BATCH_BYTES: usize = 6 << 10;

impl<'p> TokenGrower<'p> {
    fn new(pieces: &'p [&'p [u8]], threads: usize) -> Self {
        let tokens: Vec<Token> = (0..=u8::MAX).map(|byte| Token::new(&[byte])).collect();
        Self { pieces, next: 0, tokens, counts: PairCounts::new(1 << 12), seen: 0, threads }
    }

    /// Merges neighbours until there are `max_tokens` tokens, or `bytes * 2` bytes were seen.
    /// Returns the number of codes per byte towards the end.
    fn grow(&mut self, max_tokens: usize, bytes: usize) -> f64 {
        let mut pace = MergePace::new(max_tokens.saturating_sub(self.tokens.len()), bytes);
        let mut matcher = Matcher::new(std::mem::take(&mut self.tokens), max_tokens);
        let (mut seen, mut codes) = (0, 0);
        // Bytes and codes before the tail that the result is measured on.
        let mut tail_start = (0, 0);
        let (mut batch, mut pieces_left) = (TokenizedBatch::default(), self.pieces.len());
        while pieces_left > 0 && matcher.tokens().len() < max_tokens && seen < bytes * 2 {
            if seen - tail_start.0 > bytes / 4 {
                tail_start = (seen, codes);
            }
            // Choose the batch size such that a batch adds few tokens.
            let share = bytes / (max_tokens.saturating_sub(matcher.tokens().len())).max(1);
            let wanted = (share * matcher.tokens().len() / TOKENS_PER_NEW_TOKEN)
                .clamp(MIN_BATCH_BYTES, MAX_BATCH_BYTES);
            let pieces = self.pieces.get(self.next..).unwrap_or_default();
            let mut len = 0;
            let wanted_pieces = pieces.iter().take_while(|piece| {
                let is_wanted = len < wanted;
                len += piece.len();
                is_wanted
            });
            let count = wanted_pieces.count().min(pieces_left);
            let pieces = pieces.get(..count).unwrap_or_default();
            pieces_left -= count;
            self.next += count;
            if self.next >= self.pieces.len() {
                self.next = 0;
            }
            batch.clear();
            let batch_bytes = total_len(pieces);
            batch.append(&matcher, pieces.iter().copied(), batch_bytes);
            codes += batch.codes.len();
            self.learn(&batch, pieces, &mut matcher, max_tokens, &mut pace, seen);
            seen += batch_bytes;
        }
        self.tokens = matcher.into_tokens();
        self.seen += seen;
        if seen - tail_start.0 < bytes / 16 {
            tail_start = (0, 0);
        }
        (codes - tail_start.1) as f64 / (seen - tail_start.0).max(1) as f64
    }

    /// Counts neighbouring tokens of tokenized pieces, and merges them.
    fn learn(
        &mut self,
        batch: &TokenizedBatch,
        pieces: &[&[u8]],
        matcher: &mut Matcher,
        max_tokens: usize,
        pace: &mut MergePace,
        mut seen: usize,
    ) {
        let mut rest = &batch.codes[..];
        for (piece, &count) in pieces.iter().zip(&batch.counts) {
            let (codes, after) = rest.split_at_checked(count as usize).unwrap_or((rest, &[]));
            let (mut last, mut end): (Option<(u16, usize)>, usize) = (None, 0);
            for (at, &token) in codes.iter().enumerate() {
                if let Some(&[one, other]) = rest.get(at + PREFETCH_PAIRS..at + PREFETCH_PAIRS + 2)
                {
                    self.counts.prepare(one, other);
                }
                let len = matcher.tokens().get(usize::from(token)).map_or(1, |it| it.len().into());
                end += len;
                let mergeable = last.filter(|(_, before)| before + len <= MAX_TOKEN_SIZE);
                last = Some((token, len));
                let Some((before, before_len)) = mergeable else { continue };
                if !self.counts.bump(before, token, pace.threshold)
                    || matcher.tokens().len() >= max_tokens
                {
                    continue;
                }
                // The two tokens are adjacent in the piece.
                let merged = piece.get(end - before_len - len..end).unwrap_or_default();
                if let Some(code) = matcher.insert(Token::new(merged)) {
                    last = Some((code, before_len + len));
                    pace.token_created(seen + end);
                }
            }
            seen += piece.len();
            rest = after;
        }
    }

    /// Returns the pieces that savings are measured on: enough that most tokens occur several
    /// times.
    fn judged_pieces(&self) -> &'p [&'p [u8]] {
        let mut bytes = self.tokens.len() * JUDGED_BYTES_PER_TOKEN;
        let enough = self.pieces.iter().position(|piece| {
            bytes = bytes.saturating_sub(piece.len());
            bytes == 0
        });
        enough.and_then(|enough| self.pieces.get(..enough)).unwrap_or(self.pieces)
    }

    /// Measures what each token saves: its number of uses, times the number of codes that its
    /// bytes would take without it, minus one.
    fn savings(&self) -> TokenSavings {
        let matcher = Matcher::new(self.tokens.clone(), 0);
        let uses = count_uses(&matcher, self.judged_pieces(), self.threads);
        let codes = uses.iter().map(|&uses| u64::from(uses)).sum();
        let coded = (0..=u16::MAX).zip(matcher.tokens()).zip(&uses);
        let long = coded.filter(|((_, token), _)| token.len() > 1);
        let mut tokens: Vec<(u64, usize)> = long
            .map(|((code, _), &uses)| {
                let saved = if uses == 0 { 0 } else { matcher.codes_without(code) - 1 };
                (u64::from(uses) * u64::from(saved), usize::from(code))
            })
            .collect();
        tokens.sort_unstable();
        let bytes = total_len(self.judged_pieces());
        TokenSavings { bytes, codes, tokens }
    }

    /// Returns a grower without the tokens that save the fewest codes, with `keep` tokens.
    fn pruned(&self, savings: &TokenSavings, keep: usize) -> Self {
        let drop = self.tokens.len().saturating_sub(keep.max(SINGLE_BYTES));
        let mut dropped = vec![false; self.tokens.len()];
        for &(_, index) in savings.tokens.iter().take(drop) {
            if let Some(dropped) = dropped.get_mut(index) {
                *dropped = true;
            }
        }
        let kept = self.tokens.iter().zip(dropped).filter(|(_, dropped)| !dropped);
        let tokens: Vec<Token> = kept.map(|(token, _)| *token).collect();
        let counts = PairCounts::new(tokens.len());
        Self { tokens, counts, ..*self }
    }
}

/// Number of pairs by which the counters of a pair are prefetched.
const PREFETCH_PAIRS: usize = 12;

/// Counts the uses of each token in `pieces`.
fn count_uses(matcher: &Matcher, pieces: &[&[u8]], threads: usize) -> Vec<u32> {
    let share = pieces.len().div_ceil(threads.max(1)).max(PIECES_PER_BATCH);
    thread::scope(|scope| {
        let mut shares = pieces.chunks(share);
        let first = shares.next().unwrap_or_default();
        let workers: Vec<_> =
            shares.map(|pieces| scope.spawn(|| count_uses_in(matcher, pieces))).collect();
        let mut total = count_uses_in(matcher, first);
        for worker in workers {
            let more = threads::join(worker);
            total.iter_mut().zip(more).for_each(|(uses, more)| *uses += more);
        }
        total
    })
}

fn count_uses_in(matcher: &Matcher, pieces: &[&[u8]]) -> Vec<u32> {
    let mut uses = vec![0_u32; matcher.tokens().len()];
    let mut batch = TokenizedBatch::default();
    for pieces in pieces.chunks(PIECES_PER_BATCH) {
        batch.clear();
        batch.append(matcher, pieces.iter().copied(), total_len(pieces));
        for &code in &batch.codes {
            if let Some(uses) = uses.get_mut(usize::from(code)) {
                *uses += 1;
            }
        }
    }
    uses
}

fn total_len(pieces: &[&[u8]]) -> usize {
    pieces.iter().map(|piece| piece.len()).sum()
}

/// Number of pieces that are tokenized together.
const PIECES_PER_BATCH: usize = 4096;

/// How often a pair must occur to be merged. The threshold adapts so that the dictionary is
/// full when the sample ends.
#[derive(Debug)]
struct MergePace {
    threshold: u8,
    /// Number of new tokens between adjustments, and since the last one.
    interval: usize,
    created: usize,
    /// Number of tokens that are still wanted.
    tokens_left: usize,
    /// Size of the sample.
    sample_bytes: usize,
    /// Number of bytes seen at the last adjustment.
    adjusted_at: usize,
}

impl MergePace {
    fn new(tokens_left: usize, sample_bytes: usize) -> Self {
        let interval = (tokens_left / 128).max(64);
        Self { threshold: 2, interval, created: 0, tokens_left, sample_bytes, adjusted_at: 0 }
    }

    /// Adjusts the threshold after a merge; `seen` is the number of bytes seen so far.
    fn token_created(&mut self, seen: usize) {
        self.created += 1;
        self.tokens_left = self.tokens_left.saturating_sub(1);
        if self.created < self.interval {
            return;
        }
        let rate = self.interval as f64 / (seen - self.adjusted_at).max(1) as f64;
        let bytes_left = self.sample_bytes.saturating_sub(seen).max(1);
        let wanted = self.tokens_left as f64 / bytes_left as f64;
        if rate > wanted * 2.0 {
            self.threshold = self.threshold.saturating_add(1);
        } else if rate < wanted * 0.5 {
            self.threshold = (self.threshold - 1).max(2);
        }
        (self.created, self.adjusted_at) = (0, seen);
    }
}

/// A hash table of the number of occurrences of each pair of tokens.
#[derive(Debug)]
struct PairCounts {
    /// The pair in the upper bits and the count in the lowest eight; 0 if empty.
    entries: Vec<u64>,
    used: usize,
}

impl PairCounts {
    fn new(tokens: usize) -> Self {
        Self { entries: vec![0; (tokens * 2).next_power_of_two().max(1 << 14)], used: 0 }
    }

    /// Prefetches the counter of a pair that will be counted soon.
    #[inline]
    fn prepare(&self, first: u16, second: u16) {
        prefetch(&self.entries, hash(key(first, second)) & (self.entries.len() - 1));
    }

    /// Counts a pair; returns true once, when the count reaches the threshold.
    #[inline]
    fn bump(&mut self, first: u16, second: u16, threshold: u8) -> bool {
        let key = key(first, second);
        let mut at = hash(key);
        let mask = self.entries.len() - 1;
        loop {
            let Some(entry) = self.entries.get_mut(at & mask) else { return false };
            if *entry >> 8 == key {
                let count = *entry & 0xFF;
                if count == MERGED {
                    return false;
                }
                let is_enough = count + 1 >= u64::from(threshold.min(254));
                *entry += if is_enough { MERGED - count } else { 1 };
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

/// The count of a pair that has been merged.
const MERGED: u64 = 0xFF;

/// Returns the key of a pair, which is never 0.
#[inline]
fn key(first: u16, second: u16) -> u64 {
    (u64::from(first) << 20 | u64::from(second)) + 1
}

/// Returns a hash, of which the table uses the lowest bits.
#[inline]
fn hash(key: u64) -> usize {
    // The upper bits depend on all bits of the key.
    usize::try_from(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).unwrap_or(0)
}
