//! Searching for rows that start or end with a needle.
//!
//! A word of bits tells where a token fits on the needle ([`Window`]), so that most rows cost
//! one code and no bytes, for any split into tokens.

use std::ops::Range;
use std::sync::OnceLock;

use super::prefix::Prefix;
use super::scan::{self, CodeMarks, CodeReader, Side};
use super::window::{Case, MAX_WINDOW, Window};
use crate::Column;
use crate::kernel::DecodeTable;

/// Number of tokens that can be tested in the time that comparing one row byte by byte takes.
const TOKENS_PER_ROW: usize = 16;

/// Marks of tokens that match a part of the needle, and that contain all of it.
const PARTIAL: u8 = 1;
const WHOLE: u8 = 2;

/// A needle at the start or end of a row.
#[derive(Debug)]
pub(super) struct Affix {
    needle: Vec<u8>,
    side: Side,
    /// The bytes of the needle next to that end of the row.
    window: Window,
    /// The codes of the needle, if rows have the longest token at each position.
    prefix: OnceLock<Option<Prefix>>,
}

impl Affix {
    pub(super) fn new(needle: &[u8], side: Side) -> Self {
        let from = match side {
            Side::Start => 0,
            Side::End => needle.len().saturating_sub(MAX_WINDOW),
        };
        let window = Window::new(needle.get(from..).unwrap_or_default(), Case::Sensitive);
        Self { needle: needle.to_vec(), side, window, prefix: OnceLock::new() }
    }

    /// Returns whether the needle is at its end of these codes, byte by byte.
    pub(super) fn is_at(&self, column: &Column<'_>, codes: Range<usize>) -> bool {
        let tokens = codes.map(|at| column.decode_table().token(column.code(at)));
        let (fits, len) = match self.side {
            Side::Start => common_start(tokens, &self.needle),
            Side::End => common_end(tokens.rev(), &self.needle),
        };
        fits && len == self.needle.len()
    }

    pub(super) fn scan(
        &self,
        column: &Column<'_>,
        rows: Range<usize>,
        each: &mut dyn FnMut(usize),
    ) {
        if rows.len() < column.parts().token_count() / TOKENS_PER_ROW {
            let each_row = |row, codes| {
                if self.is_at(column, codes) {
                    each(row);
                }
            };
            return scan::each_row(column, rows, each_row);
        }
        if let Some(prefix) = self.prefix(column) {
            return prefix.scan(column, rows, &mut |row, codes, is_open| {
                if !is_open || self.is_at(column, codes) {
                    each(row);
                }
            });
        }
        let table = column.decode_table();
        let tokens = scan::tokens(column);
        let marks = CodeMarks::new(tokens.map(|code| self.mark(table.token(code))));
        let empty = if self.needle.is_empty() { WHOLE } else { 0 };
        let edge_marks = scan::EdgeMarks { side: self.side, marks, empty };
        let is_whole = self.window.len() == self.needle.len();
        let mut fits = TokenFits::new(&self.window, column);
        edge_marks.each(column, rows, &mut |row, codes, mark| {
            let is_at = mark == WHOLE
                || (match self.side {
                    Side::Start => fits.starts(codes.clone()),
                    Side::End => fits.ends(codes.clone()),
                } && (is_whole || self.is_at(column, codes)));
            if is_at {
                each(row);
            }
        });
    }

    fn prefix(&self, column: &Column<'_>) -> Option<&Prefix> {
        match self.side {
            Side::Start => self.prefix.get_or_init(|| Prefix::new(column, &self.needle)).as_ref(),
            Side::End => None,
        }
    }

    /// Returns the mark of a token at that end of a row.
    #[inline]
    fn mark(&self, token: &[u8]) -> u8 {
        let (outer, wanted) = match self.side {
            Side::Start => (token.first(), self.needle.first()),
            Side::End => (token.last(), self.needle.last()),
        };
        // Rules out most tokens quickly.
        if wanted.is_some() && outer != wanted {
            return 0;
        }
        let token = std::iter::once(token);
        let (fits, len) = match self.side {
            Side::Start => common_start(token, &self.needle),
            Side::End => common_end(token, &self.needle),
        };
        match (fits, len == self.needle.len()) {
            (false, _) => 0,
            (true, false) => PARTIAL,
            (true, true) => WHOLE,
        }
    }
}

/// Where tokens fit, computed on first use.
struct TokenFits<'s> {
    window: &'s Window,
    table: &'s DecodeTable,
    codes: CodeReader<'s>,
    /// 0 if not computed yet: every token fits before the needle.
    known: Vec<u64>,
}

impl<'s> TokenFits<'s> {
    fn new(window: &'s Window, column: &'s Column<'_>) -> Self {
        let known = vec![0; column.parts().token_count()];
        Self { window, table: column.decode_table(), codes: CodeReader::new(column), known }
    }

    /// Returns whether codes, of which the first fits, start with the window.
    #[inline]
    fn starts(&mut self, mut codes: Range<usize>) -> bool {
        let mut at = codes.next().map_or(0, |first| self.table.length(self.codes.code(first)));
        while at < self.window.len() {
            let Some(code) = codes.next().map(|next| self.codes.code(next)) else { return false };
            if !Window::fits(self.of(code), at) {
                return false;
            }
            at += self.table.length(code);
        }
        true
    }

    /// Returns whether codes end with the window.
    #[inline]
    fn ends(&mut self, mut codes: Range<usize>) -> bool {
        let mut end = self.window.len();
        while end > 0 {
            let Some(code) = codes.next_back().map(|last| self.codes.code(last)) else {
                return false;
            };
            match Window::start(self.of(code), end, self.table.length(code)) {
                Some(start) => end = start,
                None => return false,
            }
        }
        true
    }

    #[inline(always)]
    fn of(&mut self, code: u16) -> u64 {
        match self.known.get_mut(usize::from(code)) {
            Some(0) | None => self.compute(code),
            Some(known) => *known,
        }
    }

    #[cold]
    fn compute(&mut self, code: u16) -> u64 {
        let positions = self.window.positions(self.table.token(code));
        self.known.get_mut(usize::from(code)).into_iter().for_each(|known| *known = positions);
        positions
    }
}

/// Returns whether tokens and needle agree up to the end of either, and the number of bytes up
/// to there.
fn common_start<'t>(tokens: impl Iterator<Item = &'t [u8]>, needle: &[u8]) -> (bool, usize) {
    let mut rest = needle;
    for token in tokens {
        let common = token.len().min(rest.len());
        if token.get(..common) != rest.get(..common) {
            return (false, needle.len() - rest.len());
        }
        rest = rest.get(common..).unwrap_or_default();
        if rest.is_empty() {
            break;
        }
    }
    (true, needle.len() - rest.len())
}

/// Does the same from the end, for tokens in reverse order.
fn common_end<'t>(tokens: impl Iterator<Item = &'t [u8]>, needle: &[u8]) -> (bool, usize) {
    let mut rest = needle;
    for token in tokens {
        let left = rest.len().saturating_sub(token.len());
        let skipped = token.len().saturating_sub(rest.len());
        if token.get(skipped..) != rest.get(left..) {
            return (false, needle.len() - rest.len());
        }
        rest = rest.get(..left).unwrap_or_default();
        if rest.is_empty() {
            break;
        }
    }
    (true, needle.len() - rest.len())
}
