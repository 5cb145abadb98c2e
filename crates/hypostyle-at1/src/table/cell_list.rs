//! Finds cells in the decompressed text of a block.

use std::ops::Range;
use std::sync::OnceLock;

use memchr::{memchr, memchr_iter};

use super::newlines::Newlines;

/// Bytes in which newlines are counted at once.
const COUNTED_BYTES: usize = 4096;

/// Cells that are passed one by one, because counting newlines would take longer.
const FEW_CELLS: usize = 128;

/// A place in a [`CellList`]: the index of a cell, and where it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CellPlace {
    pub(super) cell: usize,
    pub(super) offset: usize,
}

/// The cells of one column in one row group, with a newline between two cells.
#[derive(Debug)]
pub(super) struct CellList {
    text: Vec<u8>,
    /// The number of cells, perhaps more than there are rows.
    pub(super) cells: usize,
    /// Which of [`MARKS`] the text has; found when it is first needed.
    marks: OnceLock<[bool; MARKS.len()]>,
}

/// Bytes that make cells differ from their content.
const MARKS: [u8; 3] = [b'"', b'\r', b'\\'];

impl CellList {
    /// Wraps the text of a block; fails with the number of cells if they are fewer than
    /// `rows`.
    pub(super) fn try_new(text: Vec<u8>, rows: usize) -> Result<Self, usize> {
        let cells = memchr_iter(b'\n', &text).count() + 1;
        if cells < rows {
            return Err(cells);
        }
        Ok(Self { text, cells, marks: OnceLock::new() })
    }

    fn marks(&self) -> [bool; MARKS.len()] {
        *self.marks.get_or_init(|| MARKS.map(|mark| memchr(mark, &self.text).is_some()))
    }

    /// Whether some cell may be in quotes.
    pub(super) fn has_quotes(&self) -> bool {
        let [quotes, _, _] = self.marks();
        quotes
    }

    /// Whether some cell may end with a carriage return.
    pub(super) fn has_returns(&self) -> bool {
        let [_, returns, _] = self.marks();
        returns
    }

    /// Whether some cell may have a JSON escape.
    pub(super) fn has_escapes(&self) -> bool {
        let [_, _, escapes] = self.marks();
        escapes
    }

    /// The size of the text.
    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns the text from a place on.
    pub(super) fn text_from(&self, place: CellPlace) -> &[u8] {
        self.text.get(place.offset..).unwrap_or_default()
    }

    /// Returns the place of a cell at or after `from`.
    pub(super) fn seek(&self, from: CellPlace, cell: usize) -> CellPlace {
        let mut left = cell.saturating_sub(from.cell);
        let mut offset = from.offset;
        if left <= FEW_CELLS {
            let Some(last) = left.checked_sub(1) else { return from };
            let rest = self.text_from(from);
            let newline = Newlines::new(rest).nth(last).unwrap_or(rest.len());
            return CellPlace { cell, offset: offset + newline + 1 };
        }
        while left > 0 {
            let rest = self.text.get(offset..).unwrap_or_default();
            let part = rest.get(..COUNTED_BYTES).unwrap_or(rest);
            let newlines = memchr_iter(b'\n', part).count();
            if newlines < left && part.len() < rest.len() {
                left -= newlines;
                offset += part.len();
                continue;
            }
            let at = memchr_iter(b'\n', part).nth(left - 1).unwrap_or(part.len());
            offset += at + 1;
            left = 0;
        }
        CellPlace { cell: cell.max(from.cell), offset }
    }
}

/// Runs of cells of a list, in ascending order, from a known place on.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellRuns<'a> {
    pub(super) list: &'a CellList,
    pub(super) from: CellPlace,
    pub(super) runs: &'a [Range<usize>],
}

impl<'a> CellRuns<'a> {
    /// The number of cells.
    pub(super) fn len(&self) -> usize {
        self.runs.iter().map(ExactSizeIterator::len).sum()
    }

    /// Returns one of the cells.
    pub(super) fn nth(&self, index: usize) -> &'a [u8] {
        let (mut next, mut found) = (0, &b""[..]);
        // The error stops at the cell.
        let _ = self.for_each(|cell| {
            found = cell;
            next += 1;
            if next > index { Err(()) } else { Ok(()) }
        });
        found
    }

    /// Calls `each` with every cell; returns the place after the last.
    #[inline]
    pub(super) fn for_each<E>(
        &self,
        mut each: impl FnMut(&'a [u8]) -> Result<(), E>,
    ) -> Result<CellPlace, E> {
        self.for_each_start(|text, len| each(text.get(..len).unwrap_or_default()))
    }

    /// Calls `each` with the text from each cell on and the length of the cell; returns the
    /// place after the last cell.
    #[inline]
    pub(super) fn for_each_start<E>(
        &self,
        mut each: impl FnMut(&'a [u8], usize) -> Result<(), E>,
    ) -> Result<CellPlace, E> {
        let mut place = self.from;
        let (mut rest, mut base) = (self.list.text_from(place), place.offset);
        let mut newlines = Newlines::new(rest);
        for run in self.runs {
            let gap = run.start.saturating_sub(place.cell);
            if gap > FEW_CELLS {
                place = self.list.seek(place, run.start);
                (rest, base) = (self.list.text_from(place), place.offset);
                newlines = Newlines::new(rest);
            } else if let Some(last) = gap.checked_sub(1) {
                let newline = newlines.nth(last).unwrap_or(rest.len());
                place = CellPlace { cell: run.start, offset: base + newline + 1 };
            }
            let mut start = place.offset - base;
            for _ in 0..run.len() {
                let end = newlines.next().unwrap_or(rest.len());
                each(rest.get(start..).unwrap_or_default(), end.saturating_sub(start))?;
                start = end + 1;
            }
            place = CellPlace { cell: run.end, offset: base + start };
        }
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_from_any_place() {
        let cells: Vec<String> =
            (0..5000).map(|cell: u64| "x".repeat((cell * cell % 7) as usize)).collect();
        let list = CellList::try_new(cells.join("\n").into_bytes(), cells.len()).unwrap();
        for (from, to) in [(0, 0), (0, 1), (3, 3), (10, 4999), (0, 4999), (2000, 2500)] {
            let from = list.seek(CellPlace::default(), from);
            let place = list.seek(from, to);
            let mut found = Vec::new();
            let run = to..to + 1;
            let one = CellRuns { list: &list, from: place, runs: std::slice::from_ref(&run) };
            let after = one.for_each(|cell| {
                found.push(cell.to_vec());
                Ok::<(), ()>(())
            });
            assert_eq!(found, [cells[to].as_bytes()]);
            assert_eq!(after.unwrap(), list.seek(place, to + 1));
        }
        let runs = [1..3, 5..6, 4000..4002];
        let mut found = Vec::new();
        let runs = CellRuns { list: &list, from: CellPlace::default(), runs: &runs };
        let place = runs.for_each(|cell| {
            found.push(cell.to_vec());
            Ok::<(), ()>(())
        });
        assert_eq!(place.unwrap().cell, 4002);
        let want = [1, 2, 5, 4000, 4001].map(|cell: usize| cells[cell].clone().into_bytes());
        assert_eq!(found, want);
        assert_eq!(CellList::try_new(b"a\nb".to_vec(), 3).unwrap_err(), 2);
    }
}
