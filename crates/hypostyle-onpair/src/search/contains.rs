//! Searching for rows that contain a needle.
//!
//! Wherever the needle occurs, each of its bytes is in some token. The search chooses the byte
//! of the needle whose tokens are rarest in the column, and looks for the needle only near such
//! a token: for most codes, the search is one lookup in a table of bytes. If every byte of the
//! needle is common, the search goes through all codes, with one step per code.

use std::ops::Range;
use std::sync::OnceLock;

use super::scan::{self, CodeMarks, CodeReader};
use super::window::{Case, MAX_WINDOW, Window, borders, longer};
use crate::Column;
use crate::bits::GROUP;

/// Number of groups of codes in the sample that estimates how common tokens are.
const SAMPLE_GROUPS: usize = 2048;

/// Searching near tokens pays if at most one in this many codes is such a token.
const RARE_RATIO: usize = 20;

/// Marks of tokens that match a part of the window, and that contain all of it.
const PARTIAL: u8 = 1;
const WHOLE: u8 = 2;

/// Number of codes that are unpacked together, a multiple of [`GROUP`].
const UNPACKED_CODES: usize = 1024;

/// A needle that may occur anywhere in a row.
#[derive(Debug)]
pub(super) struct Contains {
    /// The needle, in lower case if case is ignored.
    needle: Vec<u8>,
    borders: Vec<usize>,
    case: Case,
    plan: OnceLock<SearchPlan>,
}

/// What the search computes about all tokens before it scans many rows.
#[derive(Debug)]
struct SearchPlan {
    window: Window,
    /// The positions at which each token fits.
    positions: Vec<u64>,
    strategy: Strategy,
}

#[derive(Debug)]
enum Strategy {
    /// No row matches, since some byte of the needle is in no token.
    NoMatch,
    /// Look near tokens that can cover byte `byte` of the window.
    NearRareByte { byte: usize, marks: CodeMarks },
    /// Go code by code. The marks say how many bytes of the window each token ends with.
    Sequential(CodeMarks),
}

impl Contains {
    pub(super) fn new(needle: &[u8], case: Case) -> Self {
        let needle: Vec<u8> = needle.iter().map(|&byte| case.fold(byte)).collect();
        Self { borders: borders(&needle), needle, case, plan: OnceLock::new() }
    }

    /// Returns whether the needle is in these codes, byte by byte.
    pub(super) fn is_in(&self, column: &Column<'_>, codes: Range<usize>) -> bool {
        let mut found = 0;
        self.needle.is_empty()
            || codes.flat_map(|at| column.decode_table().token(column.code(at))).any(|&byte| {
                found = longer(&self.needle, &self.borders, found, self.case.fold(byte));
                found == self.needle.len()
            })
    }

    pub(super) fn scan(
        &self,
        column: &Column<'_>,
        rows: Range<usize>,
        each: &mut dyn FnMut(usize),
    ) {
        let codes = column.row_codes(rows.start).start..column.row_codes(rows.end - 1).end;
        // A plan visits all tokens, so it pays only for as many codes.
        let is_small = codes.len() < column.parts().token_count();
        if self.needle.is_empty() || (is_small && self.plan.get().is_none()) {
            let each_row = |row, codes| {
                if self.is_in(column, codes) {
                    each(row);
                }
            };
            return scan::each_row(column, rows, each_row);
        }
        let plan = self.plan.get_or_init(|| self.plan(column, codes.clone()));
        match &plan.strategy {
            Strategy::NoMatch => {}
            Strategy::NearRareByte { byte, marks } => {
                let near = NearSearch { contains: self, column, plan, byte: *byte };
                near.scan(marks, rows, each);
            }
            Strategy::Sequential(firsts) => {
                self.scan_sequentially(column, plan, firsts, rows, each)
            }
        }
    }

    fn plan(&self, column: &Column<'_>, codes: Range<usize>) -> SearchPlan {
        let sample = sample(column, codes);
        // For a long needle, try several windows. A row that contains the needle contains all
        // of them.
        let last = self.needle.len().saturating_sub(MAX_WINDOW);
        let mut starts = vec![0, last / 2, last];
        starts.dedup();
        let plans = starts.iter().map(|&start| self.plan_at(column, start, &sample));
        let best = plans.min_by_key(|&(share, _)| share).map(|(_, plan)| plan);
        best.unwrap_or_else(|| self.plan_at(column, 0, &sample).1)
    }

    /// Returns a plan for the window from `start` on, and the number of sampled codes that can
    /// cover its rarest byte.
    fn plan_at(&self, column: &Column<'_>, start: usize, sample: &[u16]) -> (usize, SearchPlan) {
        let window = Window::new(self.needle.get(start..).unwrap_or_default(), self.case);
        let table = column.decode_table();
        let tokens = || scan::tokens(column);
        let positions: Vec<u64> =
            tokens().map(|code| window.positions(table.token(code))).collect();
        let covered = |code: u16| {
            let positions = positions.get(usize::from(code)).copied().unwrap_or(0);
            window.covered(positions, table.length(code))
        };
        let first = |code: u16| {
            let positions = positions.get(usize::from(code)).copied().unwrap_or(0);
            window.step(0, positions, table.length(code))
        };
        let is_whole = |code| first(code) >= window.len();
        // For each byte of the window, the number of sampled codes and of tokens that can cover
        // it.
        let mut uses = [(0_usize, 0_usize); MAX_WINDOW];
        for &code in sample {
            each_bit(covered(code), |byte| {
                uses.get_mut(byte).into_iter().for_each(|uses| uses.0 += 1);
            });
        }
        for code in tokens() {
            each_bit(covered(code), |byte| {
                uses.get_mut(byte).into_iter().for_each(|uses| uses.1 += 1);
            });
        }
        let uses = uses.iter().take(window.len()).enumerate();
        let rarest = uses.clone().min_by_key(|&(_, uses)| uses);
        let (byte, share) = rarest.map_or((0, 0), |(byte, uses)| (byte, uses.0));
        let strategy = if uses.clone().any(|(_, &(_, tokens))| tokens == 0) {
            Strategy::NoMatch
        } else if share * RARE_RATIO <= sample.len() {
            let mark = |code| match covered(code) >> byte & 1 {
                0 => 0,
                _ if is_whole(code) => WHOLE,
                _ => PARTIAL,
            };
            Strategy::NearRareByte { byte, marks: CodeMarks::new(tokens().map(mark)) }
        } else {
            let first = |code| u8::try_from(first(code)).unwrap_or(u8::MAX);
            Strategy::Sequential(CodeMarks::new(tokens().map(first)))
        };
        (share, SearchPlan { window, positions, strategy })
    }

    /// Looks for the window in every row, and for the whole needle in rows that contain it.
    fn scan_sequentially(
        &self,
        column: &Column<'_>,
        plan: &SearchPlan,
        firsts: &CodeMarks,
        rows: Range<usize>,
        each: &mut dyn FnMut(usize),
    ) {
        let mut unpacked = [0; UNPACKED_CODES];
        let mut block = 0..0;
        scan::each_row(column, rows, |row, codes| {
            let (mut at, mut found) = (codes.start, 0);
            while at < codes.end {
                if !block.contains(&at) {
                    let start = at / GROUP * GROUP;
                    block = start..(start + UNPACKED_CODES).min(column.parts().code_count);
                    let out = unpacked.get_mut(..block.len()).unwrap_or_default();
                    scan::unpack_into(column, start, out);
                }
                let end = codes.end.min(block.end);
                let part = unpacked.get(at - block.start..end - block.start);
                for &code in part.unwrap_or_default() {
                    found = match found {
                        0 => firsts.get(code).into(),
                        _ => plan.step(column, found, code),
                    };
                    if found >= plan.window.len() {
                        if self.is_whole(plan) || self.is_in(column, codes) {
                            each(row);
                        }
                        return;
                    }
                }
                at = end;
            }
        });
    }

    /// Returns whether the window is the whole needle.
    fn is_whole(&self, plan: &SearchPlan) -> bool {
        self.needle.len() == plan.window.len()
    }
}

impl SearchPlan {
    #[inline]
    fn step(&self, column: &Column<'_>, found: usize, code: u16) -> usize {
        let positions = self.positions.get(usize::from(code)).copied().unwrap_or(0);
        self.window.step(found, positions, column.decode_table().length(code))
    }
}

/// A search near tokens that can cover one byte of the window.
struct NearSearch<'s> {
    contains: &'s Contains,
    column: &'s Column<'s>,
    plan: &'s SearchPlan,
    byte: usize,
}

impl NearSearch<'_> {
    fn scan(&self, marks: &CodeMarks, rows: Range<usize>, each: &mut dyn FnMut(usize)) {
        let codes =
            self.column.row_codes(rows.start).start..self.column.row_codes(rows.end - 1).end;
        let is_whole = self.contains.is_whole(self.plan);
        let mut row = rows.start;
        scan::each_marked(self.column, marks, codes, &mut |at, mark| {
            row = scan::row_of(self.column, row, at);
            let codes = self.column.row_codes(row);
            if mark != WHOLE && !self.is_near(at, codes.clone()) {
                return at + 1;
            }
            if is_whole || self.contains.is_in(self.column, codes.clone()) {
                each(row);
            }
            // Whether the row matches or not, continue with the next row.
            codes.end
        });
    }

    /// Returns whether the window is in these codes and starts before the end of the code at
    /// `at`.
    #[inline]
    fn is_near(&self, at: usize, codes: Range<usize>) -> bool {
        let (table, reader) = (self.column.decode_table(), CodeReader::new(self.column));
        // The window starts at most `byte` bytes before that code.
        let (mut first, mut before) = (at, 0);
        while first > codes.start && before < self.byte {
            first -= 1;
            before += table.length(reader.code(first));
        }
        let (mut found, mut behind) = (0, 0);
        for here in first..codes.end {
            let code = reader.code(here);
            found = self.plan.step(self.column, found, code);
            if found >= self.plan.window.len() {
                return true;
            }
            // A match that starts after that code is found from another code.
            behind += if here > at { table.length(code) } else { 0 };
            if here >= at && found <= behind {
                return false;
            }
        }
        false
    }
}

/// Samples codes at regular distances.
fn sample(column: &Column<'_>, codes: Range<usize>) -> Vec<u16> {
    let groups = codes.len() / GROUP;
    let step = groups.div_ceil(SAMPLE_GROUPS).max(1);
    let starts = (0..groups).step_by(step).map(|group| codes.start + group * GROUP);
    starts.flat_map(|start| (start..start + GROUP).map(|at| column.code(at))).collect()
}

#[inline]
fn each_bit(mut bits: u64, mut each: impl FnMut(usize)) {
    while bits != 0 {
        each(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
