//! Cutting several strings at once.
//!
//! [`Matcher::cut`] waits for memory several times for each token. Here some strings are
//! cut in step, so that the wait for one is the work on another, and no step depends on a
//! guess: not which token is found, nor where a string ends.

#![expect(unsafe_code, reason = "bounds checks would take a third of the time")]

use std::hint::select_unpredictable;
use std::ops::Range;

use crate::matcher::{self, FIRST, Matcher, STEPS, first, places};
use crate::{MAX_TOKEN_SIZE, Strings};

#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod wide;

/// Strings that are cut at the same time, and those of them that are cut in step without
/// vectors: more would not fit into registers and the nearest cache.
const LANES: usize = 32;
const NARROW: usize = 8;

/// Parts that there are for each lane, unless they would be too small or too large.
const PARTS: usize = 2;
const SMALLEST: usize = 64;
const LARGEST: usize = 4 << 10;

/// The most bytes that are cut in lanes: places have 32 bits.
const LONGEST: usize = 1 << 30;

/// Codes of some strings.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    pub(crate) codes: Vec<u16>,
    /// How many each string has.
    pub(crate) counts: Vec<u32>,
    /// Strings one behind the other, and 16 bytes more.
    text: Vec<u8>,
    /// Where each string ends. Behind the strings of each part the last end once more.
    ends: Vec<u32>,
    /// Where the codes of each string end, as many as `ends`.
    marks: Vec<u32>,
    parts: Vec<Part>,
    /// Where lanes write.
    room: Vec<u16>,
}

/// Some strings.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Its first byte.
    start: u32,
    /// Where its codes go. It has a place more than bytes: one code is written before it is
    /// known not to be wanted.
    out: u32,
    /// The first of its strings in `ends`, and the place behind the last.
    first: u32,
    last: u32,
}

/// How far a lane is.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// Where it reads, and where it writes.
    at: u32,
    out: u32,
    /// The string, and the place behind the last one.
    row: u32,
    last: u32,
}

/// How lanes go on: [`run`], or its twin with vectors.
type Run = unsafe fn(&mut [Lane; LANES], &Matcher, &[u8], &[u32], &mut [u16], &mut [u32]);

impl Cut {
    /// Forgets all codes.
    pub(crate) fn clear(&mut self) {
        self.codes.clear();
        self.counts.clear();
    }

    /// Appends the codes of some rows.
    pub(crate) fn rows(
        &mut self,
        matcher: &Matcher,
        strings: &(impl Strings + ?Sized),
        rows: Range<usize>,
    ) {
        let sizes = rows.clone().map(|row| strings.get(row).len());
        let bytes = sizes.fold(0_usize, usize::saturating_add);
        if bytes.max(rows.len()) > LONGEST {
            return self.one_by_one(matcher, strings, rows);
        }
        self.text.clear();
        self.ends.clear();
        self.parts.clear();
        self.text.reserve(bytes + MAX_TOKEN_SIZE);
        let most = (bytes / (LANES * PARTS)).clamp(SMALLEST, LARGEST);
        let mut part = Part { start: 0, out: 0, first: 0, last: 0 };
        for row in rows.clone() {
            self.text.extend_from_slice(strings.get(row));
            // At most 2^30, and as many rows.
            let end = place(self.text.len());
            self.ends.push(end);
            if self.text.len() >= part.start as usize + most || row + 1 == rows.end {
                part.last = place(self.ends.len());
                self.parts.push(part);
                self.ends.push(end);
                let out = end + place(self.parts.len());
                part = Part { start: end, out, first: place(self.ends.len()), last: 0 };
            }
        }
        self.in_lanes(matcher, fastest());
    }

    fn one_by_one(
        &mut self,
        matcher: &Matcher,
        strings: &(impl Strings + ?Sized),
        rows: Range<usize>,
    ) {
        for row in rows {
            let before = self.codes.len();
            matcher.cut(strings.get(row), &mut self.codes);
            // A row has less than 4 GiB.
            self.counts.push(u32::try_from(self.codes.len() - before).unwrap_or(u32::MAX));
        }
    }

    fn in_lanes(&mut self, matcher: &Matcher, run: Run) {
        let Some(idle) = self.ends.len().checked_sub(1) else { return };
        let len = self.text.len();
        self.text.resize(len + MAX_TOKEN_SIZE, 0);
        // A string gives at most as many codes as it has bytes.
        let room = len + self.parts.len() + 1;
        if self.room.len() < room {
            self.room.resize(room, 0);
        }
        self.marks.clear();
        self.marks.resize(self.ends.len(), 0);
        // A lane without a part has come to its end.
        let (at, out, idle) = (place(len), place(room - 1), place(idle));
        let mut lanes = [Lane { at, out, row: idle, last: idle }; LANES];
        let mut parts = self.parts.iter();
        loop {
            let mut is_busy = false;
            for lane in &mut lanes {
                if lane.row == lane.last
                    && let Some(part) = parts.next()
                {
                    let Part { start, out, first, last } = *part;
                    *lane = Lane { at: start, out, row: first, last };
                }
                is_busy |= lane.row != lane.last;
            }
            if !is_busy {
                break;
            }
            // SAFETY: the parts were made from `text` and `ends` such that a lane that starts
            // with one has what is asked for, and a run keeps that. 16 bytes are behind the
            // text, `room` and `marks` are as long as they must be, and `fastest` gives
            // nothing that this machine does not have.
            unsafe {
                run(&mut lanes, matcher, &self.text, &self.ends, &mut self.room, &mut self.marks);
            }
        }
        for part in &self.parts {
            let marks = self.marks.get(part.first as usize..part.last as usize).unwrap_or_default();
            let mut before = part.out;
            self.counts.extend(marks.iter().map(|&mark| {
                let count = mark - before;
                before = mark;
                count
            }));
            let codes = self.room.get(part.out as usize..before as usize);
            self.codes.extend_from_slice(codes.unwrap_or_default());
        }
    }
}

fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The fastest way that this machine has.
fn fastest() -> Run {
    #[cfg(target_arch = "x86_64")]
    if wide::is_there() {
        return wide::run;
    }
    run
}

/// Steps that are taken before it is seen to lanes that have come to their end.
const TURN: usize = 16;

/// Looks for a token.
#[derive(Clone, Copy, Debug, Default)]
struct Search {
    words: [u64; 2],
    span: usize,
    /// The last string that was found.
    found: usize,
}

/// Takes some steps in all lanes: in each a token is found, unless a string has ended.
///
/// # Safety
///
/// For each lane `row <= last < ends.len()`; `marks` has as many elements as `ends`, and
/// `ends` ascend from `row` to `last`. `at` is at most the end of `row`, and all ends are
/// below the length of `text` by 16 at least. From `out` on, `room` has an element for each
/// byte from `at` to the end of the last row, and one more.
unsafe fn run(
    lanes: &mut [Lane; LANES],
    matcher: &Matcher,
    text: &[u8],
    ends: &[u32],
    room: &mut [u16],
    marks: &mut [u32],
) {
    let (lanes, _) = lanes.as_chunks_mut::<NARROW>();
    for lanes in lanes {
        let mut searches = [Search::default(); NARROW];
        for _ in 0..TURN {
            for (search, lane) in searches.iter_mut().zip(&*lanes) {
                // SAFETY: `row` is an index of `ends`.
                let end = *unsafe { ends.get_unchecked(lane.row as usize) };
                let at = lane.at as usize;
                // SAFETY: `at` is at most an end, and 16 bytes are behind each.
                let bytes = unsafe { text.get_unchecked(at..at + MAX_TOKEN_SIZE) };
                let words = bytes.first_chunk().map_or([0; 2], matcher::words);
                let [byte, ..] = bytes else { continue };
                search.words = first((end - lane.at) as usize, words);
                (search.span, search.found) = (FIRST, matcher.place_of(*byte));
            }
            for step in STEPS {
                for search in &mut searches {
                    // SAFETY: every span that comes from the first by these steps is 1 to 16.
                    unsafe { search.step(matcher, step) };
                }
            }
            for (search, lane) in searches.iter().zip(&mut *lanes) {
                // SAFETY: `row` is an index of `ends`.
                let end = *unsafe { ends.get_unchecked(lane.row as usize) };
                let left = (end - lane.at) as usize;
                // SAFETY: what is found is a place of the table, or that of a byte.
                let (token, len) = unsafe { search.result(matcher, left) };
                // SAFETY: there is an element, since `out` moves on by one if `at` does by one
                // or more.
                *unsafe { room.get_unchecked_mut(lane.out as usize) } = token;
                let is_token = left != 0;
                lane.at += select_unpredictable(is_token, len, 0);
                lane.out += u32::from(is_token);
                // SAFETY: `row` is an index of `ends`, and `marks` has as many elements.
                *unsafe { marks.get_unchecked_mut(lane.row as usize) } = lane.out;
                lane.row += u32::from(lane.at == end) & u32::from(lane.row < lane.last);
            }
        }
    }
}

impl Search {
    /// # Safety
    ///
    /// The span is 1 to 16.
    #[inline(always)]
    unsafe fn step(&mut self, matcher: &Matcher, (more, less): (usize, usize)) {
        let (one, other, print) = places(self.words, self.span, &matcher.salts, matcher.last());
        // SAFETY: `places` gives indexes of the table.
        let is_one = *unsafe { matcher.prints.get_unchecked(one) } == print;
        // SAFETY: the same.
        let is_other = *unsafe { matcher.prints.get_unchecked(other) } == print;
        let is_there = is_one | is_other;
        let place = select_unpredictable(is_one, one, other);
        self.found = select_unpredictable(is_there, place, self.found);
        self.span = select_unpredictable(is_there, self.span + more, self.span.wrapping_sub(less));
    }

    /// The token, and its length, which is at most `left` unless that is 0.
    ///
    /// # Safety
    ///
    /// `found` is a place of the table, or that of a byte.
    #[inline(always)]
    unsafe fn result(&self, matcher: &Matcher, left: usize) -> (u16, u32) {
        // SAFETY: the table has an entry for each place, and for each byte.
        let entry = *unsafe { matcher.entries.get_unchecked(self.found) };
        // SAFETY: invariant 2 of the matcher.
        let witness = *unsafe { matcher.words.get_unchecked(usize::from(entry.witness())) };
        let is_true = usize::from(entry.span()) == self.span
            && self.span <= left
            && first(self.span, witness) == first(self.span, self.words);
        match is_true || left == 0 {
            // Invariant 3 of the matcher: it has no more bytes than the span.
            true => (entry.token(), entry.len().into()),
            false => in_doubt(matcher, self.words, left),
        }
    }
}

/// What is looked up with a comparison for each length.
#[cold]
fn in_doubt(matcher: &Matcher, words: [u64; 2], left: usize) -> (u16, u32) {
    let [byte, ..] = words[0].to_le_bytes();
    let (token, len) = matcher.longest_in_doubt(words, left, byte).unwrap_or((0, 1));
    // At most 16, and at most what is left.
    (token, place(len))
}
