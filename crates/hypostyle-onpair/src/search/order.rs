//! Comparing rows by their bytes.
//!
//! Equal codes mean equal bytes, so a comparison starts at the first code in which two rows
//! differ. It rarely goes further: two tokens differ in a byte unless one is a prefix of the
//! other.

use std::cmp::Ordering;
use std::ops::{Bound, Range};

use super::scan::{self, CodeMarks, CodeReader, EdgeMarks, Side};
use crate::Column;

impl Column<'_> {
    /// Compares two rows by their bytes.
    ///
    /// A row out of range counts as empty.
    pub fn compare_rows(&self, a: usize, b: usize) -> Ordering {
        self.compare_codes(self.row_codes(a), self.row_codes(b))
    }

    /// Compares a row with a string by their bytes.
    ///
    /// A row out of range counts as empty.
    pub fn compare_row(&self, row: usize, string: &[u8]) -> Ordering {
        compare(self.tokens(self.row_codes(row)), std::iter::once(string))
    }

    /// Returns the rows within bounds, in ascending order of their number.
    ///
    /// ```
    /// use std::ops::Bound::{Excluded, Included, Unbounded};
    /// use hypostyle_onpair::{Column, Config, compress};
    ///
    /// let fruit = ["fig", "apple", "cherry", "banana"];
    /// let column = Column::new(compress(&fruit[..], &Config::default())?)?;
    /// assert_eq!(column.find_between(Included(b"banana"), Excluded(b"fig")), [2, 3]);
    /// assert_eq!(column.find_between(Unbounded, Excluded(b"banana")), [1]);
    /// # Ok::<(), hypostyle_onpair::Error>(())
    /// ```
    pub fn find_between(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Vec<usize> {
        self.find_between_in(0..self.len(), lower, upper)
    }

    /// Does the same as [`Column::find_between`] for the rows in `rows`.
    ///
    /// Rows out of range are ignored.
    pub fn find_between_in(
        &self,
        rows: Range<usize>,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Vec<usize> {
        // Marks of first tokens: all rows that start with the token are within bounds, or the
        // rest of the row decides.
        const IN: u8 = 1;
        const UNDECIDED: u8 = 2;
        let mark = |code| {
            let token = self.decode_table().token(code);
            match (is_above(token, lower), is_below(token, upper)) {
                (Some(true), Some(true)) => IN,
                (Some(false), _) | (_, Some(false)) => 0,
                _ => UNDECIDED,
            }
        };
        let tokens = scan::tokens(self);
        let edge_marks = EdgeMarks {
            side: Side::Start,
            marks: CodeMarks::new(tokens.map(mark)),
            empty: UNDECIDED,
        };
        let mut found = Vec::new();
        edge_marks.each(self, super::clamped(self, rows), &mut |row, codes, mark| {
            let to = |bound| compare(self.tokens(codes.clone()), std::iter::once(bound));
            let is_above = || match lower {
                Bound::Included(bound) => to(bound).is_ge(),
                Bound::Excluded(bound) => to(bound).is_gt(),
                Bound::Unbounded => true,
            };
            let is_below = || match upper {
                Bound::Included(bound) => to(bound).is_le(),
                Bound::Excluded(bound) => to(bound).is_lt(),
                Bound::Unbounded => true,
            };
            if mark == IN || (is_above() && is_below()) {
                found.push(row);
            }
        });
        found
    }

    /// Returns the first row with the smallest bytes; `None` if there are no rows.
    pub fn min_row(&self) -> Option<usize> {
        self.extreme(Ordering::Less)
    }

    /// Returns the first row with the largest bytes; `None` if there are no rows.
    pub fn max_row(&self) -> Option<usize> {
        self.extreme(Ordering::Greater)
    }

    fn extreme(&self, wanted: Ordering) -> Option<usize> {
        // Marks the tokens that rows start with.
        let mut firsts = CodeMarks::new(std::iter::empty());
        let reader = CodeReader::new(self);
        let mut empty = None;
        scan::each_row(self, 0..self.len(), |row, codes| {
            if codes.is_empty() {
                empty = empty.or(Some(row));
            } else {
                firsts.get_mut(reader.code(codes.start)).into_iter().for_each(|it| *it = 1);
            }
        });
        let tokens = || scan::tokens(self);
        let used =
            tokens().filter(|&code| firsts.get(code) != 0).map(|it| self.decode_table().token(it));
        let first = match (wanted, empty) {
            (Ordering::Less, Some(row)) => return Some(row),
            (Ordering::Less, None) => used.min(),
            _ => used.max(),
        };
        // A row whose first token differs from `first` in a byte cannot be the extreme.
        let Some(first) = first else { return empty };
        let mark = |code| {
            let token = self.decode_table().token(code);
            u8::from(token.starts_with(first) || first.starts_with(token))
        };
        let marks = CodeMarks::new(tokens().map(mark));
        let edge_marks = EdgeMarks { side: Side::Start, marks, empty: 0 };
        let mut best: Option<(usize, Range<usize>)> = None;
        edge_marks.each(self, 0..self.len(), &mut |row, codes, _| {
            let is_better = best
                .as_ref()
                .is_none_or(|(_, best)| self.compare_codes(codes.clone(), best.clone()) == wanted);
            if is_better {
                best = Some((row, codes));
            }
        });
        best.map(|(row, _)| row)
    }

    #[inline]
    fn compare_codes(&self, a: Range<usize>, b: Range<usize>) -> Ordering {
        let reader = CodeReader::new(self);
        let pairs = a.clone().zip(b.clone());
        let common = pairs.take_while(|&(a, b)| reader.code(a) == reader.code(b));
        let same = common.count();
        let rest = |codes: Range<usize>| self.tokens(codes.start + same..codes.end);
        compare(rest(a), rest(b))
    }

    fn tokens(&self, codes: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let reader = CodeReader::new(self);
        codes.map(move |at| self.decode_table().token(reader.code(at)))
    }
}

/// Compares the concatenations of pieces.
#[inline]
fn compare<'t>(
    mut a: impl Iterator<Item = &'t [u8]>,
    mut b: impl Iterator<Item = &'t [u8]>,
) -> Ordering {
    let (mut left, mut right): (&[u8], &[u8]) = (&[], &[]);
    loop {
        // Pieces may be empty.
        while left.is_empty() {
            match a.next() {
                Some(piece) => left = piece,
                None => break,
            }
        }
        while right.is_empty() {
            match b.next() {
                Some(piece) => right = piece,
                None => break,
            }
        }
        let common = left.len().min(right.len());
        if common == 0 {
            return left.len().cmp(&right.len());
        }
        let (Some((one, rest)), Some((other, more))) =
            (left.split_at_checked(common), right.split_at_checked(common))
        else {
            return Ordering::Equal;
        };
        match one.cmp(other) {
            Ordering::Equal => (left, right) = (rest, more),
            order => return order,
        }
    }
}

/// Returns whether all strings that start with a token are above a bound, or none is; `None` if
/// the rest of the string decides.
fn is_above(token: &[u8], bound: Bound<&[u8]>) -> Option<bool> {
    match bound {
        Bound::Unbounded => Some(true),
        Bound::Included(bound) | Bound::Excluded(bound) => match token.cmp(bound) {
            _ if bound.starts_with(token) => None,
            order => Some(order.is_gt()),
        },
    }
}

/// Does the same for strings below a bound.
fn is_below(token: &[u8], bound: Bound<&[u8]>) -> Option<bool> {
    match bound {
        Bound::Unbounded => Some(true),
        bound => is_above(token, bound).map(|above| !above),
    }
}
