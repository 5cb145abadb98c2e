//! Rows that are one of some strings.
//!
//! If it is known how rows were cut, the strings are cut the same way, and codes are
//! compared. If not, tokens are followed through the strings in order.

use std::collections::HashSet;
use std::ops::{Range, Sub};
use std::sync::OnceLock;

use super::cut::Cutter;
use super::scan::{self, Edges, Marks, Reader, Side};
use crate::{Column, MAX_TOKEN_SIZE, Offset, Offsets};

/// Tokens that can be put in order in the time that one row takes token by token.
const TOKENS_PER_ROW: usize = 16;

/// Strings that a row may be equal to.
#[derive(Debug)]
pub(super) struct Equal {
    /// In order, all different.
    strings: Vec<Vec<u8>>,
    /// The strings as rows would have them, if that is known.
    cuts: OnceLock<Option<Codes>>,
}

/// The strings as rows would have them.
#[derive(Debug)]
struct Codes {
    codes: HashSet<Vec<u16>>,
    /// Whether any has so many codes.
    counts: Vec<bool>,
    /// Codes that any ends with.
    edges: Edges,
}

impl Equal {
    pub(super) fn new<'s>(strings: impl Iterator<Item = &'s [u8]>) -> Self {
        let mut strings: Vec<Vec<u8>> = strings.map(<[u8]>::to_vec).collect();
        strings.sort_unstable();
        strings.dedup();
        Self { strings, cuts: OnceLock::new() }
    }

    /// Whether these codes are any of the strings, token by token.
    pub(super) fn is_any(&self, column: &Column<'_>, codes: Range<usize>) -> bool {
        let (mut left, mut len) = (&self.strings[..], 0);
        for at in codes {
            let token = column.table().token(column.code(at));
            left = going_on(left, len, token);
            len += token.len();
            if left.is_empty() {
                return false;
            }
        }
        // Of those that start with the row, the row itself comes first.
        left.first().is_some_and(|string| string.len() == len)
    }

    pub(super) fn scan(
        &self,
        column: &Column<'_>,
        rows: Range<usize>,
        each: &mut dyn FnMut(usize),
    ) {
        if is_small(column, &rows) && self.cuts.get().is_none() {
            return self.by_tokens(column, rows, each);
        }
        match self.cuts.get_or_init(|| self.cut(column)) {
            Some(codes) => codes.scan(column, rows, each),
            None => self.by_tokens(column, rows, each),
        }
    }

    fn cut(&self, column: &Column<'_>) -> Option<Codes> {
        let cutter = Cutter::new(column)?;
        let codes = self.strings.iter().filter_map(|string| cutter.cut(string));
        Some(Codes::new(codes.collect()))
    }

    /// Follows tokens in every row whose first token starts any of the strings.
    fn by_tokens(&self, column: &Column<'_>, rows: Range<usize>, each: &mut dyn FnMut(usize)) {
        let lens = || self.strings.iter().map(Vec::len);
        let (Some(shortest), Some(longest)) = (lens().min(), lens().max()) else { return };
        let mut look = |row, codes: Range<usize>| {
            let most = codes.len().saturating_mul(MAX_TOKEN_SIZE);
            if codes.len() <= longest && most >= shortest && self.is_any(column, codes) {
                each(row);
            }
        };
        if is_small(column, &rows) {
            return scan::each_row(column, rows, look);
        }
        let mark = |code| {
            let token = column.table().token(code);
            u8::from(!going_on(&self.strings, 0, token).is_empty())
        };
        let tokens = scan::tokens(column);
        let marks = Marks::new(tokens.map(mark));
        let edges = Edges { side: Side::Start, marks, empty: u8::from(shortest == 0) };
        edges.each(column, rows, &mut |row, codes, _| look(row, codes));
    }
}

/// Whether there are so few rows that it does not pay to look at all tokens.
fn is_small(column: &Column<'_>, rows: &Range<usize>) -> bool {
    rows.len() < column.parts().token_count() / TOKENS_PER_ROW
}

/// Of strings in order that are the same up to `len`, those that go on with a token.
#[inline]
fn going_on<'s>(strings: &'s [Vec<u8>], len: usize, token: &[u8]) -> &'s [Vec<u8>] {
    if let [string] = strings {
        return if next(string, len, token.len()) == token { strings } else { &[] };
    }
    let start = strings.partition_point(|string| next(string, len, token.len()) < token);
    let rest = strings.get(start..).unwrap_or_default();
    let end = rest.partition_point(|string| next(string, len, token.len()) == token);
    rest.get(..end).unwrap_or_default()
}

/// The bytes of a string from `start` on, up to so many.
#[inline]
fn next(string: &[u8], start: usize, most: usize) -> &[u8] {
    let rest = string.get(start..).unwrap_or_default();
    rest.get(..most).unwrap_or(rest)
}

impl Codes {
    fn new(codes: Vec<Vec<u16>>) -> Self {
        let most = codes.iter().map(Vec::len).max();
        let mut counts = vec![false; most.map_or(0, |most| most + 1)];
        let mut lasts = Marks::new(std::iter::empty());
        for codes in &codes {
            counts.get_mut(codes.len()).into_iter().for_each(|count| *count = true);
            let last = codes.last().and_then(|&last| lasts.get_mut(last));
            last.into_iter().for_each(|last| *last = 1);
        }
        let empty = u8::from(counts.first() == Some(&true));
        // Rows often start the same, and rarely end so.
        let edges = Edges { side: Side::End, marks: lasts, empty };
        Self { codes: codes.into_iter().collect(), counts, edges }
    }

    fn scan(&self, column: &Column<'_>, rows: Range<usize>, each: &mut dyn FnMut(usize)) {
        let mut all = self.codes.iter();
        if let (Some(codes), None) = (all.next(), all.next()) {
            return match &column.parts().row_offsets {
                Offsets::Narrow(offsets) => one(codes, column, offsets, rows, each),
                Offsets::Wide(offsets) => one(codes, column, offsets, rows, each),
            };
        }
        let reader = Reader::new(column);
        let mut row_codes = Vec::new();
        self.edges.each(column, rows, &mut |row, codes, _| {
            if self.counts.get(codes.len()) != Some(&true) {
                return;
            }
            row_codes.clear();
            row_codes.extend(codes.map(|at| reader.code(at)));
            if self.codes.contains(&row_codes) {
                each(row);
            }
        });
    }
}

/// Rows that are looked at in one go: one bit for each.
const BLOCK: usize = 64;

/// Rows of just these codes.
///
/// Most rows have another number of codes. Which do not is found without a guess for
/// each, and of those as many codes as a word has are looked at first: the last ones,
/// since rows often start the same.
fn one<O: Copy + PartialEq + Sub<Output = O> + TryFrom<usize> + Offset>(
    codes: &[u16],
    column: &Column<'_>,
    offsets: &[O],
    rows: Range<usize>,
    each: &mut dyn FnMut(usize),
) {
    let reader = Reader::new(column);
    let Ok(wanted) = O::try_from(codes.len()) else { return };
    let (before, word, mask) = reader.last_word_of(codes);
    let is_it = |start: usize| {
        reader.word(start + before.len()) & mask == word
            && before.iter().enumerate().all(|(at, &code)| reader.code(start + at) == code)
    };
    let offsets = offsets.get(rows.start..=rows.end).unwrap_or_default();
    for first in (0..rows.len()).step_by(BLOCK) {
        let Some(rest) = offsets.get(first..) else { return };
        let mut left = match rest.first_chunk() {
            Some(offsets) => of_size(offsets, wanted),
            None => rest.windows(2).zip(0..).fold(0, |bits, (pair, at)| match pair {
                &[start, end] => bits | u64::from(end - start == wanted) << at,
                _ => bits,
            }),
        };
        while left != 0 {
            let row = first + left.trailing_zeros() as usize;
            left &= left - 1;
            if offsets.get(row).and_then(|start| start.place()).is_some_and(is_it) {
                each(rows.start + row);
            }
        }
    }
}

/// A bit for each row that has so many codes.
#[inline]
fn of_size<O: Copy + PartialEq + Sub<Output = O>>(offsets: &[O; BLOCK + 1], wanted: O) -> u64 {
    let (Some(starts), Some(ends)) =
        (offsets.first_chunk::<BLOCK>(), offsets.last_chunk::<BLOCK>())
    else {
        return 0;
    };
    // Bytes first, which is work for vectors, and of eight of them a byte of bits.
    let mut bytes = [0_u8; BLOCK];
    for ((byte, &start), &end) in bytes.iter_mut().zip(starts).zip(ends) {
        *byte = u8::from(end - start == wanted);
    }
    let (eights, _) = bytes.as_chunks();
    let bits = eights
        .iter()
        .map(|&eight| u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> (BLOCK - 8));
    bits.rev().fold(0, |all, bits| all << 8 | bits)
}
