//! Searching for rows that are equal to one of several strings.
//!
//! If the split of rows into tokens is known, the search tokenizes the strings in the same way
//! and compares codes. If not, it follows the tokens of each row through the sorted strings.

use std::collections::HashSet;
use std::ops::{Range, Sub};
use std::sync::OnceLock;

use super::needle::NeedleTokenizer;
use super::scan::{self, CodeMarks, CodeReader, EdgeMarks, Side};
use crate::{Column, MAX_TOKEN_SIZE, Offset, Offsets};

/// Number of tokens that can be sorted in the time that comparing one row token by token takes.
const TOKENS_PER_ROW: usize = 16;

/// The strings to search for.
#[derive(Debug)]
pub(super) struct Equal {
    /// Sorted and distinct.
    strings: Vec<Vec<u8>>,
    /// The codes of the strings, if the split into tokens is known.
    tokenized: OnceLock<Option<TokenizedStrings>>,
}

/// The codes of the strings.
#[derive(Debug)]
struct TokenizedStrings {
    codes: HashSet<Vec<u16>>,
    /// Whether any string has this number of codes.
    counts: Vec<bool>,
    /// The codes that strings end with.
    edge_marks: EdgeMarks,
}

impl Equal {
    pub(super) fn new<'s>(strings: impl Iterator<Item = &'s [u8]>) -> Self {
        let mut strings: Vec<Vec<u8>> = strings.map(<[u8]>::to_vec).collect();
        strings.sort_unstable();
        strings.dedup();
        Self { strings, tokenized: OnceLock::new() }
    }

    /// Returns whether these codes are any of the strings, token by token.
    pub(super) fn is_any(&self, column: &Column<'_>, codes: Range<usize>) -> bool {
        let (mut left, mut len) = (&self.strings[..], 0);
        for at in codes {
            let token = column.decode_table().token(column.code(at));
            left = continuing_with(left, len, token);
            len += token.len();
            if left.is_empty() {
                return false;
            }
        }
        // A string equal to the row sorts before all others that start with it.
        left.first().is_some_and(|string| string.len() == len)
    }

    pub(super) fn scan(
        &self,
        column: &Column<'_>,
        rows: Range<usize>,
        each: &mut dyn FnMut(usize),
    ) {
        if are_few(column, &rows) && self.tokenized.get().is_none() {
            return self.by_tokens(column, rows, each);
        }
        match self.tokenized.get_or_init(|| self.tokenize(column)) {
            Some(codes) => codes.scan(column, rows, each),
            None => self.by_tokens(column, rows, each),
        }
    }

    fn tokenize(&self, column: &Column<'_>) -> Option<TokenizedStrings> {
        let tokenizer = NeedleTokenizer::new(column)?;
        let codes = self.strings.iter().filter_map(|string| tokenizer.tokenize(string));
        Some(TokenizedStrings::new(codes.collect()))
    }

    /// Follows the tokens of every row whose first token any of the strings starts with.
    fn by_tokens(&self, column: &Column<'_>, rows: Range<usize>, each: &mut dyn FnMut(usize)) {
        let lens = || self.strings.iter().map(Vec::len);
        let (Some(shortest), Some(longest)) = (lens().min(), lens().max()) else { return };
        let mut look = |row, codes: Range<usize>| {
            let max_len = codes.len().saturating_mul(MAX_TOKEN_SIZE);
            if codes.len() <= longest && max_len >= shortest && self.is_any(column, codes) {
                each(row);
            }
        };
        if are_few(column, &rows) {
            return scan::each_row(column, rows, look);
        }
        let mark = |code| {
            let token = column.decode_table().token(code);
            u8::from(!continuing_with(&self.strings, 0, token).is_empty())
        };
        let tokens = scan::tokens(column);
        let marks = CodeMarks::new(tokens.map(mark));
        let edge_marks = EdgeMarks { side: Side::Start, marks, empty: u8::from(shortest == 0) };
        edge_marks.each(column, rows, &mut |row, codes, _| look(row, codes));
    }
}

/// Returns whether there are too few rows to pay for a pass over all tokens.
fn are_few(column: &Column<'_>, rows: &Range<usize>) -> bool {
    rows.len() < column.parts().token_count() / TOKENS_PER_ROW
}

/// Returns those of the sorted strings, which are equal up to `len`, that continue with a
/// token.
#[inline]
fn continuing_with<'s>(strings: &'s [Vec<u8>], len: usize, token: &[u8]) -> &'s [Vec<u8>] {
    if let [string] = strings {
        return if bytes_at(string, len, token.len()) == token { strings } else { &[] };
    }
    let start = strings.partition_point(|string| bytes_at(string, len, token.len()) < token);
    let rest = strings.get(start..).unwrap_or_default();
    let end = rest.partition_point(|string| bytes_at(string, len, token.len()) == token);
    rest.get(..end).unwrap_or_default()
}

/// Returns up to `max_len` bytes of a string from `start` on.
#[inline]
fn bytes_at(string: &[u8], start: usize, max_len: usize) -> &[u8] {
    let rest = string.get(start..).unwrap_or_default();
    rest.get(..max_len).unwrap_or(rest)
}

impl TokenizedStrings {
    fn new(codes: Vec<Vec<u16>>) -> Self {
        let max_count = codes.iter().map(Vec::len).max();
        let mut counts = vec![false; max_count.map_or(0, |max_count| max_count + 1)];
        let mut lasts = CodeMarks::new(std::iter::empty());
        for codes in &codes {
            counts.get_mut(codes.len()).into_iter().for_each(|count| *count = true);
            let last = codes.last().and_then(|&last| lasts.get_mut(last));
            last.into_iter().for_each(|last| *last = 1);
        }
        let empty = u8::from(counts.first() == Some(&true));
        // Rows often share a start and rarely share an end.
        let edge_marks = EdgeMarks { side: Side::End, marks: lasts, empty };
        Self { codes: codes.into_iter().collect(), counts, edge_marks }
    }

    fn scan(&self, column: &Column<'_>, rows: Range<usize>, each: &mut dyn FnMut(usize)) {
        let mut all = self.codes.iter();
        if let (Some(codes), None) = (all.next(), all.next()) {
            return match &column.parts().row_offsets {
                Offsets::Narrow(offsets) => scan_single(codes, column, offsets, rows, each),
                Offsets::Wide(offsets) => scan_single(codes, column, offsets, rows, each),
            };
        }
        let reader = CodeReader::new(column);
        let mut row_codes = Vec::new();
        self.edge_marks.each(column, rows, &mut |row, codes, _| {
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

/// Number of rows per block, one bit for each.
const ROWS_PER_BLOCK: usize = 64;

/// Finds the rows that have exactly these codes.
///
/// Most rows have another number of codes. The search finds the others without a branch per
/// row, and compares the last codes first, as many as fit into a word, since rows often share a
/// start.
fn scan_single<O: Copy + PartialEq + Sub<Output = O> + TryFrom<usize> + Offset>(
    codes: &[u16],
    column: &Column<'_>,
    offsets: &[O],
    rows: Range<usize>,
    each: &mut dyn FnMut(usize),
) {
    let reader = CodeReader::new(column);
    let Ok(wanted) = O::try_from(codes.len()) else { return };
    let (before, word, mask) = reader.last_word_of(codes);
    let is_it = |start: usize| {
        reader.word(start + before.len()) & mask == word
            && before.iter().enumerate().all(|(at, &code)| reader.code(start + at) == code)
    };
    let offsets = offsets.get(rows.start..=rows.end).unwrap_or_default();
    for first in (0..rows.len()).step_by(ROWS_PER_BLOCK) {
        let Some(rest) = offsets.get(first..) else { return };
        let mut left = match rest.first_chunk() {
            Some(offsets) => rows_of_count(offsets, wanted),
            None => rest.windows(2).zip(0..).fold(0, |bits, (pair, at)| match pair {
                &[start, end] => bits | u64::from(end - start == wanted) << at,
                _ => bits,
            }),
        };
        while left != 0 {
            let row = first + left.trailing_zeros() as usize;
            left &= left - 1;
            if offsets.get(row).and_then(|start| start.to_usize()).is_some_and(is_it) {
                each(rows.start + row);
            }
        }
    }
}

/// Returns a bit for each row that has `wanted` codes.
#[inline]
fn rows_of_count<O: Copy + PartialEq + Sub<Output = O>>(
    offsets: &[O; ROWS_PER_BLOCK + 1],
    wanted: O,
) -> u64 {
    let (Some(starts), Some(ends)) =
        (offsets.first_chunk::<ROWS_PER_BLOCK>(), offsets.last_chunk::<ROWS_PER_BLOCK>())
    else {
        return 0;
    };
    // Compare into bytes, which the compiler vectorizes, then gather the bits of eight bytes
    // with a multiplication.
    let mut bytes = [0_u8; ROWS_PER_BLOCK];
    for ((byte, &start), &end) in bytes.iter_mut().zip(starts).zip(ends) {
        *byte = u8::from(end - start == wanted);
    }
    let (eights, _) = bytes.as_chunks();
    let bits = eights.iter().map(|&eight| {
        u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> (ROWS_PER_BLOCK - 8)
    });
    bits.rev().fold(0, |all, bits| all << 8 | bits)
}
