//! Tokenizing many strings in parallel lanes on one thread.
//!
//! [`Matcher::tokenize`] waits for memory several times per token. This module advances
//! several strings in lockstep, so that one lane computes while another waits for memory. No
//! step branches on unpredictable data: neither on the token that is found nor on where a
//! string ends.

#![expect(unsafe_code, reason = "bounds checks would take a third of the time")]

use std::hint::select_unpredictable;
use std::mem;

use crate::MAX_TOKEN_SIZE;
use crate::matcher::{FIRST_SPAN, FewestState, Matcher, SPAN_STEPS, buckets, first_bytes};
use crate::token::to_words;

#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(test)]
mod tests;

/// Number of strings that are tokenized at the same time.
const LANES: usize = 32;

/// Number of lanes that [`advance`] steps together without vectors. More lanes would not fit
/// into the registers and the first-level cache.
const SCALAR_LANES: usize = 8;

/// Number of segments per lane, as long as segments stay within the sizes below.
const SEGMENTS_PER_LANE: usize = 2;
const MIN_SEGMENT_BYTES: usize = 64;
const MAX_SEGMENT_BYTES: usize = 4 << 10;

/// Maximum bytes, and maximum strings, that are copied before the lanes run: positions have 32
/// bits. Tests use a small limit so that they exceed it.
const MAX_TEXT_BYTES: usize = if cfg!(test) { 1 << 14 } else { 1 << 30 };

/// The codes of a batch of strings, and the buffers to compute them.
#[derive(Debug, Default)]
pub(crate) struct TokenizedBatch {
    /// The codes of all strings, in order.
    pub(crate) codes: Vec<u16>,
    /// The number of codes of each string.
    pub(crate) counts: Vec<u32>,
    /// The concatenated strings, followed by 16 bytes of padding while the lanes run.
    text: Vec<u8>,
    /// The end of each string in `text`. The last end of each segment appears twice.
    ends: Vec<u32>,
    /// The end of each string's codes in `code_buffer`, parallel to `ends`.
    code_ends: Vec<u32>,
    segments: Vec<Segment>,
    /// The codes as the lanes write them: those of each segment are contiguous.
    code_buffer: Vec<u16>,
    fewest_states: Vec<FewestState>,
}

/// Consecutive strings that one lane tokenizes.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    /// Position of the first byte in `text`.
    text_start: u32,
    /// Position of the first code in `code_buffer`. A segment has room for one code more than
    /// it has bytes, since a lane writes one code before it knows that the segment has ended.
    code_start: u32,
    /// Index in `ends` of the first string.
    first_row: u32,
    /// Index in `ends` after the last string.
    end_row: u32,
}

/// The state of one lane.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// Position in `text` of the next byte to read.
    text_at: u32,
    /// Position in `code_buffer` of the next code to write.
    code_at: u32,
    /// Index in `ends` of the current string.
    row: u32,
    /// Index in `ends` after the last string; the lane is idle once `row` reaches it.
    end_row: u32,
}

/// The type of [`advance`] and of its twin with vectors.
type Advance = unsafe fn(&mut [Lane; LANES], &Matcher, &[u8], &[u32], &mut [u16], &mut [u32]);

impl TokenizedBatch {
    /// Removes all codes and keeps the buffers.
    pub(crate) fn clear(&mut self) {
        self.codes.clear();
        self.counts.clear();
    }

    /// Removes and returns the codes and the number of codes of each string.
    pub(crate) fn take(&mut self) -> (Vec<u16>, Vec<u32>) {
        (mem::take(&mut self.codes), mem::take(&mut self.counts))
    }

    /// Appends the codes of `strings`, with the longest token at each position.
    ///
    /// `total_bytes` is the expected size of all strings. It only sizes segments and buffers:
    /// a wrong size costs time, and the codes do not depend on it.
    pub(crate) fn append<'s>(
        &mut self,
        matcher: &Matcher,
        strings: impl IntoIterator<Item = &'s [u8]>,
        total_bytes: usize,
    ) {
        self.append_with(matcher, strings, total_bytes, fastest());
    }

    fn append_with<'s>(
        &mut self,
        matcher: &Matcher,
        strings: impl IntoIterator<Item = &'s [u8]>,
        total_bytes: usize,
        advance: Advance,
    ) {
        let segment_bytes = total_bytes / (LANES * SEGMENTS_PER_LANE);
        let segment_bytes = segment_bytes.clamp(MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES);
        self.text.reserve(total_bytes.min(MAX_TEXT_BYTES) + MAX_TOKEN_SIZE);
        let mut segment = Segment::default();
        for string in strings {
            if self.text.len() + string.len() > MAX_TEXT_BYTES || self.ends.len() >= MAX_TEXT_BYTES
            {
                self.flush(matcher, &mut segment, advance);
                if string.len() > MAX_TEXT_BYTES {
                    self.append_long(matcher, string);
                    continue;
                }
            }
            self.text.extend_from_slice(string);
            self.ends.push(to_u32(self.text.len()));
            if self.text.len() >= segment.text_start as usize + segment_bytes {
                self.close(&mut segment);
            }
        }
        self.flush(matcher, &mut segment, advance);
    }

    /// Appends the codes of `strings`, with as few codes per string as possible.
    pub(crate) fn append_fewest<'s>(
        &mut self,
        matcher: &Matcher,
        strings: impl IntoIterator<Item = &'s [u8]>,
    ) {
        for string in strings {
            let before = self.codes.len();
            matcher.tokenize_fewest(string, &mut self.codes, &mut self.fewest_states);
            self.push_count(before);
        }
    }

    /// Appends the codes of a string that is too long for the lanes.
    #[cold]
    fn append_long(&mut self, matcher: &Matcher, string: &[u8]) {
        let before = self.codes.len();
        matcher.tokenize(string, &mut self.codes);
        self.push_count(before);
    }

    /// Appends the number of codes after `before`, which belong to one string.
    fn push_count(&mut self, before: usize) {
        // Callers refuse strings of 4 GiB and more.
        self.counts.push(to_u32(self.codes.len() - before));
    }

    /// Ends a segment after the last string of `ends` and starts the next one.
    #[inline]
    fn close(&mut self, segment: &mut Segment) {
        let text_end = to_u32(self.text.len());
        segment.end_row = to_u32(self.ends.len());
        self.segments.push(*segment);
        self.ends.push(text_end);
        *segment = Segment {
            text_start: text_end,
            code_start: text_end + to_u32(self.segments.len()),
            first_row: to_u32(self.ends.len()),
            end_row: 0,
        };
    }

    /// Tokenizes the strings that were copied, and empties the buffers for more.
    fn flush(&mut self, matcher: &Matcher, segment: &mut Segment, advance: Advance) {
        if self.ends.len() > segment.first_row as usize {
            self.close(segment);
        }
        self.run_lanes(matcher, advance);
        self.text.clear();
        self.ends.clear();
        self.segments.clear();
        *segment = Segment::default();
    }

    fn run_lanes(&mut self, matcher: &Matcher, advance: Advance) {
        let Some(idle) = self.ends.len().checked_sub(1) else { return };
        let len = self.text.len();
        self.text.resize(len + MAX_TOKEN_SIZE, 0);
        // A string has at most as many codes as bytes.
        let buffer_len = len + self.segments.len() + 1;
        if self.code_buffer.len() < buffer_len {
            self.code_buffer.resize(buffer_len, 0);
        }
        self.code_ends.clear();
        self.code_ends.resize(self.ends.len(), 0);
        // Lanes without a segment are idle at the end of the text.
        let (text_at, code_at, idle) = (to_u32(len), to_u32(buffer_len - 1), to_u32(idle));
        let mut lanes = [Lane { text_at, code_at, row: idle, end_row: idle }; LANES];
        let mut segments = self.segments.iter();
        loop {
            let mut is_busy = false;
            for lane in &mut lanes {
                if lane.row == lane.end_row
                    && let Some(segment) = segments.next()
                {
                    let Segment { text_start, code_start, first_row, end_row } = *segment;
                    *lane =
                        Lane { text_at: text_start, code_at: code_start, row: first_row, end_row };
                }
                is_busy |= lane.row != lane.end_row;
            }
            if !is_busy {
                break;
            }
            // SAFETY: `append_with` derives `ends` and `segments` from the length of `text`
            // after each copy, never from a length that a caller states. So a lane that starts
            // with a segment satisfies the conditions of `advance`, and `advance` maintains
            // them. The text has 16 bytes of padding, `code_buffer` and `code_ends` were
            // resized above, and `fastest` only returns what the processor supports.
            unsafe {
                advance(
                    &mut lanes,
                    matcher,
                    &self.text,
                    &self.ends,
                    &mut self.code_buffer,
                    &mut self.code_ends,
                );
            }
        }
        for segment in &self.segments {
            let rows = segment.first_row as usize..segment.end_row as usize;
            let mut before = segment.code_start;
            let code_ends = self.code_ends.get(rows).unwrap_or_default();
            self.counts.extend(code_ends.iter().map(|&end| {
                let count = end - before;
                before = end;
                count
            }));
            let codes = self.code_buffer.get(segment.code_start as usize..before as usize);
            self.codes.extend_from_slice(codes.unwrap_or_default());
        }
    }
}

fn to_u32(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// Returns the fastest implementation that the processor supports.
fn fastest() -> Advance {
    #[cfg(target_arch = "x86_64")]
    if avx512::is_supported() {
        return avx512::advance;
    }
    advance
}

/// Number of steps before idle lanes get a new segment.
const STEPS_PER_CALL: usize = 16;

/// A search for the longest token at one position.
#[derive(Clone, Copy, Debug, Default)]
struct Lookup {
    words: [u64; 2],
    span: usize,
    /// The entry of the last prefix that was found.
    entry: usize,
}

/// Advances every lane by some steps: each step finds one token, or moves to the next string.
///
/// # Safety
///
/// For each lane, `row <= end_row < ends.len()`, and `ends` does not decrease from `row` to
/// `end_row`. `text_at` is at most the end of `row`. `code_ends` has as many elements as
/// `ends`. Every end is at least 16 below the length of `text`. From `code_at` on,
/// `code_buffer` has an element for each byte from `text_at` to the end of the last row, and
/// one more.
unsafe fn advance(
    lanes: &mut [Lane; LANES],
    matcher: &Matcher,
    text: &[u8],
    ends: &[u32],
    code_buffer: &mut [u16],
    code_ends: &mut [u32],
) {
    let (lanes, _) = lanes.as_chunks_mut::<SCALAR_LANES>();
    for lanes in lanes {
        let mut lookups = [Lookup::default(); SCALAR_LANES];
        for _ in 0..STEPS_PER_CALL {
            for (lookup, lane) in lookups.iter_mut().zip(&*lanes) {
                // SAFETY: `row` is an index of `ends`.
                let end = *unsafe { ends.get_unchecked(lane.row as usize) };
                let at = lane.text_at as usize;
                // SAFETY: `text_at` is at most an end, and 16 bytes follow each end.
                let bytes = unsafe { text.get_unchecked(at..at + MAX_TOKEN_SIZE) };
                let words = bytes.first_chunk().map_or([0; 2], to_words);
                let [byte, ..] = bytes else { continue };
                lookup.words = first_bytes((end - lane.text_at) as usize, words);
                (lookup.span, lookup.entry) = (FIRST_SPAN, matcher.byte_entry(*byte));
            }
            for step in SPAN_STEPS {
                for lookup in &mut lookups {
                    // SAFETY: every span that these steps reach from the first one is 1 to 16.
                    unsafe { lookup.step(matcher, step) };
                }
            }
            for (lookup, lane) in lookups.iter().zip(&mut *lanes) {
                // SAFETY: `row` is an index of `ends`.
                let end = *unsafe { ends.get_unchecked(lane.row as usize) };
                let left = (end - lane.text_at) as usize;
                // SAFETY: the lookup found a bucket or the entry of a byte.
                let (token, len) = unsafe { lookup.result(matcher, left) };
                // SAFETY: `code_at` is an index, since it advances by one only if `text_at`
                // advances by one or more.
                *unsafe { code_buffer.get_unchecked_mut(lane.code_at as usize) } = token;
                let is_token = left != 0;
                lane.text_at += select_unpredictable(is_token, len, 0);
                lane.code_at += u32::from(is_token);
                // SAFETY: `row` is an index of `ends`, and `code_ends` has as many elements.
                *unsafe { code_ends.get_unchecked_mut(lane.row as usize) } = lane.code_at;
                lane.row += u32::from(lane.text_at == end) & u32::from(lane.row < lane.end_row);
            }
        }
    }
}

impl Lookup {
    /// Looks up the prefix of the current span, then lengthens or shortens the span.
    ///
    /// # Safety
    ///
    /// The span is 1 to 16.
    #[inline(always)]
    unsafe fn step(&mut self, matcher: &Matcher, (longer, shorter): (usize, usize)) {
        let (one, other, fingerprint) =
            buckets(self.words, self.span, &matcher.salts, matcher.bucket_mask());
        // SAFETY: `buckets` returns indexes of the table.
        let is_one = *unsafe { matcher.fingerprints.get_unchecked(one) } == fingerprint;
        // SAFETY: the same.
        let is_other = *unsafe { matcher.fingerprints.get_unchecked(other) } == fingerprint;
        let is_found = is_one | is_other;
        let bucket = select_unpredictable(is_one, one, other);
        self.entry = select_unpredictable(is_found, bucket, self.entry);
        self.span =
            select_unpredictable(is_found, self.span + longer, self.span.wrapping_sub(shorter));
    }

    /// Returns the token and its length, which is at most `left` unless `left` is 0.
    ///
    /// # Safety
    ///
    /// `entry` is a bucket of the table or the entry of a byte.
    #[inline(always)]
    unsafe fn result(&self, matcher: &Matcher, left: usize) -> (u16, u32) {
        // SAFETY: the table has an entry for each bucket and for each byte.
        let entry = *unsafe { matcher.entries.get_unchecked(self.entry) };
        // SAFETY: invariant 2 of the matcher.
        let witness = *unsafe { matcher.words.get_unchecked(usize::from(entry.witness())) };
        let is_verified = usize::from(entry.span()) == self.span
            && self.span <= left
            && first_bytes(self.span, witness) == first_bytes(self.span, self.words);
        if is_verified || left == 0 {
            // Invariant 3 of the matcher: the token is no longer than the span.
            (entry.token(), entry.len().into())
        } else {
            verified_lookup(matcher, self.words, left)
        }
    }
}

/// Repeats a lookup that a wrong fingerprint match misled, and compares bytes at each length.
#[cold]
fn verified_lookup(matcher: &Matcher, words: [u64; 2], left: usize) -> (u16, u32) {
    let [byte, ..] = words[0].to_le_bytes();
    let (token, len) = matcher.longest_verified(words, left, byte).unwrap_or((0, 1));
    // At most 16, and at most `left`.
    (token, to_u32(len))
}
