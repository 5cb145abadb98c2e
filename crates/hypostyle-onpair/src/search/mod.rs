//! Searches that run on codes.
//!
//! A search decodes no row. It computes once per token how the token relates to the needle, and
//! looks that up for each code. Only where [`Parse`](crate::Parse) says that rows have the
//! longest token at each position, and all tokens are distinct, does a search tokenize the
//! needle in the same way. All other searches work for any split into tokens.
//!
//! * `window` computes where tokens fit on a needle; `contains` and `affix` build on it;
//! * `equal` and `prefix` compare codes with needles that `needle` tokenizes;
//! * `order` compares rows;
//! * `scan` contains the loops over codes and rows.

mod affix;
mod contains;
mod equal;
mod needle;
mod order;
mod prefix;
mod scan;
#[cfg(test)]
mod tests;
mod window;

use std::ops::Range;

use crate::Column;
use affix::Affix;
use contains::Contains;
use equal::Equal;
use scan::Side;
use window::Case;

/// A predicate on rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pattern<'p> {
    /// Matches rows equal to this string.
    Equals(&'p [u8]),
    /// Matches rows equal to any of these strings.
    AnyOf(&'p [&'p [u8]]),
    /// Matches rows that start with this string.
    StartsWith(&'p [u8]),
    /// Matches rows that end with this string.
    EndsWith(&'p [u8]),
    /// Matches rows that contain this string; every row contains the empty string.
    Contains(&'p [u8]),
    /// Like [`Pattern::Contains`], but ignores the case of the ASCII letters `A` to `Z`. Other
    /// letters match only themselves.
    ContainsIgnoringCase(&'p [u8]),
}

/// A search for a pattern in a column.
///
/// A searcher keeps what it computes about the pattern, so that searching several ranges of
/// rows with one searcher is cheaper than several calls of [`Column::find`].
///
/// ```
/// use hypostyle_onpair::{Column, Config, Pattern, Searcher, compress};
///
/// let names = ["Berlin-Mitte", "Potsdam", "berlin-wedding", ""];
/// let column = Column::new(compress(&names[..], &Config::default())?)?;
/// assert_eq!(column.find(&Pattern::Contains(b"lin-")), [0, 2]);
///
/// let searcher = Searcher::new(&column, &Pattern::ContainsIgnoringCase(b"BERLIN"));
/// assert_eq!(searcher.find(), [0, 2]);
/// assert_eq!(searcher.find_in(1..4), [2]);
/// assert!(searcher.matches(0) && !searcher.matches(1));
/// # Ok::<(), hypostyle_onpair::Error>(())
/// ```
#[derive(Debug)]
pub struct Searcher<'c> {
    column: &'c Column<'c>,
    search: PatternSearch,
}

#[derive(Debug)]
enum PatternSearch {
    Equal(Equal),
    Affix(Affix),
    Contains(Contains),
}

impl<'c> Searcher<'c> {
    /// Creates a search for a pattern.
    pub fn new(column: &'c Column<'c>, pattern: &Pattern<'_>) -> Self {
        let search = match *pattern {
            Pattern::Equals(string) => PatternSearch::Equal(Equal::new(std::iter::once(string))),
            Pattern::AnyOf(strings) => PatternSearch::Equal(Equal::new(strings.iter().copied())),
            Pattern::StartsWith(needle) => PatternSearch::Affix(Affix::new(needle, Side::Start)),
            Pattern::EndsWith(needle) => PatternSearch::Affix(Affix::new(needle, Side::End)),
            Pattern::Contains(needle) => {
                PatternSearch::Contains(Contains::new(needle, Case::Sensitive))
            }
            Pattern::ContainsIgnoringCase(needle) => {
                PatternSearch::Contains(Contains::new(needle, Case::Insensitive))
            }
        };
        Self { column, search }
    }

    /// Returns the rows that match, in ascending order.
    pub fn find(&self) -> Vec<usize> {
        self.find_in(0..self.column.len())
    }

    /// Returns the rows in `rows` that match, in ascending order.
    ///
    /// Rows out of range are ignored.
    pub fn find_in(&self, rows: Range<usize>) -> Vec<usize> {
        let mut found = Vec::new();
        self.each_in(rows, &mut |row| found.push(row));
        found
    }

    /// Returns the number of rows that match.
    pub fn count(&self) -> usize {
        self.count_in(0..self.column.len())
    }

    /// Returns the number of rows in `rows` that match.
    pub fn count_in(&self, rows: Range<usize>) -> usize {
        let mut count = 0;
        self.each_in(rows, &mut |_| count += 1);
        count
    }

    /// Returns whether a row matches; false if the row is out of range.
    pub fn matches(&self, row: usize) -> bool {
        let codes = self.column.row_codes(row);
        row < self.column.len()
            && match &self.search {
                PatternSearch::Equal(equal) => equal.is_any(self.column, codes),
                PatternSearch::Affix(affix) => affix.is_at(self.column, codes),
                PatternSearch::Contains(contains) => contains.is_in(self.column, codes),
            }
    }

    fn each_in(&self, rows: Range<usize>, each: &mut dyn FnMut(usize)) {
        let rows = clamped(self.column, rows);
        if rows.is_empty() {
            return;
        }
        match &self.search {
            PatternSearch::Equal(equal) => equal.scan(self.column, rows, each),
            PatternSearch::Affix(affix) => affix.scan(self.column, rows, each),
            PatternSearch::Contains(contains) => contains.scan(self.column, rows, each),
        }
    }
}

impl Column<'_> {
    /// Returns the rows that match a pattern, in ascending order.
    ///
    /// Relies on [`Parts::parse`](crate::Parts::parse): if it is wrong, the result may lack
    /// rows.
    pub fn find(&self, pattern: &Pattern<'_>) -> Vec<usize> {
        Searcher::new(self, pattern).find()
    }

    /// Returns the rows in `rows` that match a pattern, in ascending order.
    ///
    /// Rows out of range are ignored.
    pub fn find_in(&self, rows: Range<usize>, pattern: &Pattern<'_>) -> Vec<usize> {
        Searcher::new(self, pattern).find_in(rows)
    }

    /// Returns the number of rows that match a pattern.
    pub fn count(&self, pattern: &Pattern<'_>) -> usize {
        Searcher::new(self, pattern).count()
    }

    /// Returns whether a row matches a pattern; false if the row is out of range.
    pub fn matches(&self, row: usize, pattern: &Pattern<'_>) -> bool {
        Searcher::new(self, pattern).matches(row)
    }
}

/// Limits a range to the rows of a column.
fn clamped(column: &Column<'_>, rows: Range<usize>) -> Range<usize> {
    rows.start.min(column.len())..rows.end.min(column.len())
}
