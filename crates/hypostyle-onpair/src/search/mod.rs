//! Questions that are answered on codes.
//!
//! A row is never decoded: what a token has to do with a needle is the same wherever it
//! is met, so it is found out once for each token and looked up for each code. That a
//! needle can be cut as rows were is only relied upon where [`Parse`](crate::Parse) says
//! that they were cut into the longest tokens and all tokens are different; everything
//! else holds for rows that were cut in any way.
//!
//! * `window` has where tokens fit on a needle, `contains` and `edges` follow from it;
//! * `equal` and `prefix` compare codes, with needles from `cut`;
//! * `order` compares rows;
//! * `scan` has the loops over codes and rows.

mod contains;
mod cut;
mod edges;
mod equal;
mod order;
mod prefix;
mod scan;
#[cfg(test)]
mod tests;
mod window;

use std::ops::Range;

use crate::Column;
use contains::Contains;
use edges::Edge;
use equal::Equal;
use scan::Side;
use window::Case;

/// What rows are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pattern<'p> {
    /// Rows that are this string.
    Equals(&'p [u8]),
    /// Rows that are any of these strings.
    AnyOf(&'p [&'p [u8]]),
    /// Rows that start with this; all do with the empty string.
    StartsWith(&'p [u8]),
    /// Rows that end with this; all do with the empty string.
    EndsWith(&'p [u8]),
    /// Rows that have this somewhere; all have the empty string.
    Contains(&'p [u8]),
    /// As [`Pattern::Contains`], whatever the case of the letters `A` to `Z`. Other
    /// letters, which take several bytes, only match themselves.
    ContainsIgnoringCase(&'p [u8]),
}

/// A search for a pattern in a column.
///
/// What is found out about the pattern is kept, so that it pays to ask for several
/// ranges of rows with one searcher; [`Column::find`] makes one each time.
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
    search: Search,
}

#[derive(Debug)]
enum Search {
    Equal(Equal),
    Edge(Edge),
    Contains(Contains),
}

impl<'c> Searcher<'c> {
    /// A search for a pattern.
    pub fn new(column: &'c Column<'c>, pattern: &Pattern<'_>) -> Self {
        let search = match *pattern {
            Pattern::Equals(string) => Search::Equal(Equal::new(std::iter::once(string))),
            Pattern::AnyOf(strings) => Search::Equal(Equal::new(strings.iter().copied())),
            Pattern::StartsWith(needle) => Search::Edge(Edge::new(needle, Side::Start)),
            Pattern::EndsWith(needle) => Search::Edge(Edge::new(needle, Side::End)),
            Pattern::Contains(needle) => Search::Contains(Contains::new(needle, Case::Kept)),
            Pattern::ContainsIgnoringCase(needle) => {
                Search::Contains(Contains::new(needle, Case::Ignored))
            }
        };
        Self { column, search }
    }

    /// The rows that match, in ascending order.
    pub fn find(&self) -> Vec<usize> {
        self.find_in(0..self.column.len())
    }

    /// Those of these rows that match, in ascending order.
    ///
    /// Rows that are not there are left out.
    pub fn find_in(&self, rows: Range<usize>) -> Vec<usize> {
        let mut found = Vec::new();
        self.each_in(rows, &mut |row| found.push(row));
        found
    }

    /// How many rows match.
    pub fn count(&self) -> usize {
        self.count_in(0..self.column.len())
    }

    /// How many of these rows match.
    pub fn count_in(&self, rows: Range<usize>) -> usize {
        let mut count = 0;
        self.each_in(rows, &mut |_| count += 1);
        count
    }

    /// Whether a row matches; a row that is not there does not.
    pub fn matches(&self, row: usize) -> bool {
        let codes = self.column.row_codes(row);
        row < self.column.len()
            && match &self.search {
                Search::Equal(equal) => equal.is_any(self.column, codes),
                Search::Edge(edge) => edge.is_at(self.column, codes),
                Search::Contains(contains) => contains.is_in(self.column, codes),
            }
    }

    fn each_in(&self, rows: Range<usize>, each: &mut dyn FnMut(usize)) {
        let rows = clamped(self.column, rows);
        if rows.is_empty() {
            return;
        }
        match &self.search {
            Search::Equal(equal) => equal.scan(self.column, rows, each),
            Search::Edge(edge) => edge.scan(self.column, rows, each),
            Search::Contains(contains) => contains.scan(self.column, rows, each),
        }
    }
}

impl Column<'_> {
    /// The rows that match a pattern, in ascending order.
    ///
    /// [`Parts::parse`](crate::Parts::parse) is taken at its word: rows are missed if it
    /// says that they were cut in a way in which they were not.
    pub fn find(&self, pattern: &Pattern<'_>) -> Vec<usize> {
        Searcher::new(self, pattern).find()
    }

    /// Those of these rows that match a pattern, in ascending order.
    ///
    /// Rows that are not there are left out.
    pub fn find_in(&self, rows: Range<usize>, pattern: &Pattern<'_>) -> Vec<usize> {
        Searcher::new(self, pattern).find_in(rows)
    }

    /// How many rows match a pattern.
    pub fn count(&self, pattern: &Pattern<'_>) -> usize {
        Searcher::new(self, pattern).count()
    }

    /// Whether a row matches a pattern; a row that is not there does not.
    pub fn matches(&self, row: usize, pattern: &Pattern<'_>) -> bool {
        Searcher::new(self, pattern).matches(row)
    }
}

/// Those of these rows that are there.
fn clamped(column: &Column<'_>, rows: Range<usize>) -> Range<usize> {
    rows.start.min(column.len())..rows.end.min(column.len())
}
