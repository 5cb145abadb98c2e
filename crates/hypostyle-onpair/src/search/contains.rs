//! Rows that have a needle somewhere.
//!
//! Wherever a needle is, each of its bytes is in some token. For one of its bytes those
//! tokens are the rarest that can be there, and only next to one of them is the needle
//! looked for: most of the column is but a table of one byte per code. A needle of which
//! every byte is common is looked for from row to row, with no step per byte.

use std::ops::Range;
use std::sync::OnceLock;

use super::scan::{self, Marks, Reader};
use super::window::{Case, MAX_WINDOW, Window, borders, longer};
use crate::Column;
use crate::bits::GROUP;

/// Groups of codes that say how common tokens are.
const SAMPLE: usize = 2048;

/// If more than one code in so many is one to look near, it does not pay to.
const RARE: usize = 20;

/// Marks of tokens that have a part of the window, and that have all of it.
const SOME: u8 = 1;
const WHOLE: u8 = 2;

/// Codes that are unpacked in one go, a multiple of [`GROUP`].
const BLOCK: usize = 1024;

/// A needle that is looked for anywhere.
#[derive(Debug)]
pub(super) struct Contains {
    /// Folded.
    needle: Vec<u8>,
    borders: Vec<usize>,
    case: Case,
    plan: OnceLock<Plan>,
}

/// What is found out about all tokens before many rows are searched.
#[derive(Debug)]
struct Plan {
    window: Window,
    /// Where each token fits.
    places: Vec<u64>,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// There are no tokens for some byte of the needle.
    Nowhere,
    /// Near tokens that can be on byte `byte` of the window.
    Near { byte: usize, marks: Marks },
    /// Code by code: how much of the window each token ends with.
    Through(Marks),
}

impl Contains {
    pub(super) fn new(needle: &[u8], case: Case) -> Self {
        let needle: Vec<u8> = needle.iter().map(|&byte| case.fold(byte)).collect();
        Self { borders: borders(&needle), needle, case, plan: OnceLock::new() }
    }

    /// Whether the needle is in these codes, byte by byte.
    pub(super) fn is_in(&self, column: &Column<'_>, codes: Range<usize>) -> bool {
        let mut found = 0;
        self.needle.is_empty()
            || codes.flat_map(|at| column.table().token(column.code(at))).any(|&byte| {
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
        // A plan is made of all tokens, and pays for as many codes.
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
        match &plan.way {
            Way::Nowhere => {}
            Way::Near { byte, marks } => {
                let near = Near { contains: self, column, plan, byte: *byte };
                near.scan(marks, rows, each);
            }
            Way::Through(firsts) => self.through(column, plan, firsts, rows, each),
        }
    }

    fn plan(&self, column: &Column<'_>, codes: Range<usize>) -> Plan {
        let sample = sample(column, codes);
        // Of a long needle a few parts are tried; any of them is in a row that has all.
        let last = self.needle.len().saturating_sub(MAX_WINDOW);
        let mut starts = vec![0, last / 2, last];
        starts.dedup();
        let plans = starts.iter().map(|&start| self.plan_at(column, start, &sample));
        let best = plans.min_by_key(|&(share, _)| share).map(|(_, plan)| plan);
        best.unwrap_or_else(|| self.plan_at(column, 0, &sample).1)
    }

    /// A plan for the part of the needle from `start` on, and how common its rarest byte
    /// is.
    fn plan_at(&self, column: &Column<'_>, start: usize, sample: &[u16]) -> (usize, Plan) {
        let window = Window::new(self.needle.get(start..).unwrap_or_default(), self.case);
        let table = column.table();
        let tokens = || scan::tokens(column);
        let places: Vec<u64> = tokens().map(|code| window.places(table.token(code))).collect();
        let covered = |code: u16| {
            let places = places.get(usize::from(code)).copied().unwrap_or(0);
            window.covered(places, table.length(code))
        };
        let first = |code: u16| {
            let places = places.get(usize::from(code)).copied().unwrap_or(0);
            window.step(0, places, table.length(code))
        };
        let is_whole = |code| first(code) >= window.len();
        // How often each byte is met, and how many tokens there are for it.
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
        let way = if uses.clone().any(|(_, &(_, tokens))| tokens == 0) {
            Way::Nowhere
        } else if share * RARE <= sample.len() {
            let mark = |code| match covered(code) >> byte & 1 {
                0 => 0,
                _ if is_whole(code) => WHOLE,
                _ => SOME,
            };
            Way::Near { byte, marks: Marks::new(tokens().map(mark)) }
        } else {
            let first = |code| u8::try_from(first(code)).unwrap_or(u8::MAX);
            Way::Through(Marks::new(tokens().map(first)))
        };
        (share, Plan { window, places, way })
    }

    /// Looks for the window in every row, and for the whole needle where it is.
    fn through(
        &self,
        column: &Column<'_>,
        plan: &Plan,
        firsts: &Marks,
        rows: Range<usize>,
        each: &mut dyn FnMut(usize),
    ) {
        let mut unpacked = [0; BLOCK];
        let mut block = 0..0;
        scan::each_row(column, rows, |row, codes| {
            let (mut at, mut found) = (codes.start, 0);
            while at < codes.end {
                if !block.contains(&at) {
                    let start = at / GROUP * GROUP;
                    block = start..(start + BLOCK).min(column.parts().code_count);
                    let room = unpacked.get_mut(..block.len()).unwrap_or_default();
                    scan::unpack_into(column, start, room);
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

    /// Whether the window is all that is looked for.
    fn is_whole(&self, plan: &Plan) -> bool {
        self.needle.len() == plan.window.len()
    }
}

impl Plan {
    #[inline]
    fn step(&self, column: &Column<'_>, found: usize, code: u16) -> usize {
        let places = self.places.get(usize::from(code)).copied().unwrap_or(0);
        self.window.step(found, places, column.table().length(code))
    }
}

/// A search near tokens that can be on one byte of the window.
struct Near<'s> {
    contains: &'s Contains,
    column: &'s Column<'s>,
    plan: &'s Plan,
    byte: usize,
}

impl Near<'_> {
    fn scan(&self, marks: &Marks, rows: Range<usize>, each: &mut dyn FnMut(usize)) {
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
            // A row that has the window but not the needle is done with too.
            codes.end
        });
    }

    /// Whether the window is in these codes and starts before the code at `at` ends.
    #[inline]
    fn is_near(&self, at: usize, codes: Range<usize>) -> bool {
        let (table, reader) = (self.column.table(), Reader::new(self.column));
        // The window starts no more than `byte` bytes before that code.
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
            // If what was found starts behind that code, it is for another to find.
            behind += if here > at { table.length(code) } else { 0 };
            if here >= at && found <= behind {
                return false;
            }
        }
        false
    }
}

/// Some of these codes, from everywhere.
fn sample(column: &Column<'_>, codes: Range<usize>) -> Vec<u16> {
    let groups = codes.len() / GROUP;
    let step = groups.div_ceil(SAMPLE).max(1);
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
