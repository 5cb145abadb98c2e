//! Finds cells in the decompressed text of a block.

use std::ops::Range;
use std::sync::OnceLock;

use arrow_buffer::BooleanBuffer;
use memchr::{memchr, memchr_iter};

use super::newlines::Newlines;
use hypostyle_core::row_selection::RowSelection;

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
    /// Whether many cells equal the ones before them, so that it pays to search for runs.
    pub(super) is_repetitive: bool,
    /// Which of [`MARKS`] the text has; found when it is first needed.
    marks: OnceLock<[bool; MARKS.len()]>,
}

/// The compression ratio from which on runs of equal cells are likely.
const REPETITIVE_RATIO: u64 = 64;

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
        Ok(Self { text, cells, is_repetitive: false, marks: OnceLock::new() })
    }

    /// Adds the size of the block, which tells whether cells are repeated.
    pub(super) fn with_block_bytes(mut self, bytes: u64) -> Self {
        self.is_repetitive = self.text.len() as u64 / REPETITIVE_RATIO >= bytes;
        self
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
            let at = Newlines::new(part).nth(left - 1).unwrap_or(part.len());
            offset += at + 1;
            left = 0;
        }
        CellPlace { cell: cell.max(from.cell), offset }
    }
}

/// Rows of a window, in ascending order.
#[derive(Clone, Copy, Debug)]
pub(super) enum WindowRows<'a> {
    /// Ranges of rows.
    Runs(&'a [Range<usize>]),
    /// Rows whose bit is set, and how many there are.
    Bits(&'a BooleanBuffer, usize),
}

/// The share of selected rows from which on bits are faster than runs: one of so many.
const DENSE_ROWS: usize = 8;

impl<'a> WindowRows<'a> {
    /// Returns the rows of a selection in the form that is walked faster.
    pub(super) fn of(selection: &'a RowSelection) -> Self {
        match (selection.truths(), selection.len()) {
            (Some(bits), count) if count >= bits.len() / DENSE_ROWS => Self::Bits(bits, count),
            _ => Self::Runs(selection.runs()),
        }
    }

    /// The number of rows.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Runs(runs) => runs.iter().map(ExactSizeIterator::len).sum(),
            Self::Bits(_, count) => count,
        }
    }

    /// Returns one of the rows.
    pub(super) fn nth(self, index: usize) -> Option<usize> {
        match self {
            Self::Runs(runs) => runs.iter().cloned().flatten().nth(index),
            Self::Bits(bits, _) => bits.set_indices().nth(index),
        }
    }
}

/// Cells of a list, in ascending order, from a known place on.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellRuns<'a> {
    pub(super) list: &'a CellList,
    pub(super) from: CellPlace,
    pub(super) rows: WindowRows<'a>,
    /// The cell that the rows are counted from.
    pub(super) first: usize,
}

impl<'a> CellRuns<'a> {
    /// Returns runs of cells of a list.
    pub(super) fn new(list: &'a CellList, runs: &'a [Range<usize>]) -> Self {
        Self { list, from: CellPlace::default(), rows: WindowRows::Runs(runs), first: 0 }
    }

    /// The number of cells.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
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

    /// Calls `each` with the text from each cell on, and the length of the cell; returns the
    /// place after the last cell.
    #[inline]
    pub(super) fn for_each_start<E>(
        &self,
        mut each: impl FnMut(&'a [u8], usize) -> Result<(), E>,
    ) -> Result<CellPlace, E> {
        self.walk::<false, E>(|text, len, _| each(text, len))
    }

    /// Calls `each` with the text from each cell on, the length of the cell, and how many
    /// equal cells there are in a row; returns the place after the last cell.
    #[inline]
    pub(super) fn for_each_run<E>(
        &self,
        each: impl FnMut(&'a [u8], usize, usize) -> Result<(), E>,
    ) -> Result<CellPlace, E> {
        self.walk::<true, E>(each)
    }

    #[inline]
    fn walk<const REPEATS: bool, E>(
        &self,
        mut each: impl FnMut(&'a [u8], usize, usize) -> Result<(), E>,
    ) -> Result<CellPlace, E> {
        let runs = match self.rows {
            WindowRows::Runs(runs) => runs,
            WindowRows::Bits(bits, _) => return self.walk_bits(bits, each),
        };
        let mut place = self.from;
        let (mut rest, mut base) = (self.list.text_from(place), place.offset);
        let mut newlines = Newlines::new(rest);
        for run in runs {
            let first = self.first.saturating_add(run.start);
            let gap = first.saturating_sub(place.cell);
            if gap > FEW_CELLS {
                place = self.list.seek(place, first);
                (rest, base) = (self.list.text_from(place), place.offset);
                newlines = Newlines::new(rest);
            } else if let Some(last) = gap.checked_sub(1) {
                let newline = newlines.nth(last).unwrap_or(rest.len());
                place = CellPlace { cell: first, offset: base + newline + 1 };
            }
            let (mut start, mut left) = (place.offset - base, run.len());
            while left > 0 {
                let end = newlines.next().unwrap_or(rest.len());
                let len = end.saturating_sub(start);
                let text = rest.get(start..).unwrap_or_default();
                let more = if REPEATS { repeats(text, len + 1).min(left - 1) } else { 0 };
                each(text, len, more + 1)?;
                start = end + 1 + more * (len + 1);
                left -= more + 1;
                if more > FEW_CELLS {
                    base += start;
                    rest = rest.get(start..).unwrap_or_default();
                    start = 0;
                    newlines = Newlines::new(rest);
                } else if let Some(last) = more.checked_sub(1) {
                    newlines.nth(last);
                }
            }
            place = CellPlace { cell: first.saturating_add(run.len()), offset: base + start };
        }
        Ok(place)
    }

    /// Walks cells by the bits of their rows.
    ///
    /// Where runs are short, their ends cannot be predicted. So the ends of as many cells as a
    /// word has bits are found first, and those of the selected ones are taken.
    #[inline]
    fn walk_bits<E>(
        &self,
        bits: &BooleanBuffer,
        mut each: impl FnMut(&'a [u8], usize, usize) -> Result<(), E>,
    ) -> Result<CellPlace, E> {
        const WORD: usize = u64::BITS as usize;
        let place = self.list.seek(self.from, self.first);
        let rest = self.list.text_from(place);
        let mut newlines = Newlines::new(rest);
        let chunks = bits.bit_chunks();
        let mut rows = bits.len();
        let mut start = 0;
        let mut ends = [0_usize; WORD];
        for mut word in chunks.iter_padded() {
            let count = rows.min(WORD);
            rows -= count;
            let Some(last) = count.checked_sub(1) else { break };
            if word == 0 {
                start = newlines.nth(last).unwrap_or(rest.len()) + 1;
                continue;
            }
            for end in ends.iter_mut().take(count) {
                *end = newlines.next().unwrap_or(rest.len());
            }
            while word != 0 {
                let index = word.trailing_zeros() as usize;
                word &= word - 1;
                let end = ends.get(index).copied().unwrap_or_default();
                let before = ends.get(index.wrapping_sub(1)).map_or(start, |end| end + 1);
                each(rest.get(before..).unwrap_or_default(), end.saturating_sub(before), 1)?;
            }
            start = ends.get(last).map_or(start, |end| end + 1);
        }
        let cell = self.first.saturating_add(bits.len());
        Ok(CellPlace { cell, offset: place.offset + start })
    }
}

/// Returns how often the first `step` bytes of a text, which end with a newline, are repeated
/// after them; some repetitions before the end of the text may be left out.
#[inline]
fn repeats(text: &[u8], step: usize) -> usize {
    let Some(first) = text.first_chunk::<8>() else { return 0 };
    let Some(next) = text.get(step..).and_then(|next| next.first_chunk::<8>()) else { return 0 };
    // Most cells differ from the next one.
    if step > 8 || (u64::from_le_bytes(*first) ^ u64::from_le_bytes(*next)) << (64 - 8 * step) != 0
    {
        return 0;
    }
    long_repeats(text, step)
}

fn long_repeats(text: &[u8], step: usize) -> usize {
    const CHUNK: usize = 64;
    let later = text.get(step..).unwrap_or_default();
    let chunks = text.chunks_exact(CHUNK).zip(later.chunks_exact(CHUNK));
    let alike = chunks.take_while(|(one, other)| one == other).count() * CHUNK;
    let (one, other) = (text.get(alike..), later.get(alike..));
    let rest = one.unwrap_or_default().iter().zip(other.unwrap_or_default());
    (alike + rest.take_while(|(one, other)| one == other).count()) / step
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
            let mut one = CellRuns::new(&list, std::slice::from_ref(&run));
            one.from = place;
            let after = one.for_each(|cell| {
                found.push(cell.to_vec());
                Ok::<(), ()>(())
            });
            assert_eq!(found, [cells[to].as_bytes()]);
            assert_eq!(after.unwrap(), list.seek(place, to + 1));
        }
        let runs = [1..3, 5..6, 4000..4002];
        let mut found = Vec::new();
        let runs = CellRuns::new(&list, &runs);
        let place = runs.for_each(|cell| {
            found.push(cell.to_vec());
            Ok::<(), ()>(())
        });
        assert_eq!(place.unwrap().cell, 4002);
        let want = [1, 2, 5, 4000, 4001].map(|cell: usize| cells[cell].clone().into_bytes());
        assert_eq!(found, want);
        assert_eq!(CellList::try_new(b"a\nb".to_vec(), 3).unwrap_err(), 2);
    }

    #[test]
    fn cells_of_bits_are_those_of_runs() {
        let cells: Vec<String> =
            (0..900).map(|cell: u64| "x".repeat((cell * cell % 5) as usize)).collect();
        let list = CellList::try_new(cells.join("\n").into_bytes(), cells.len()).unwrap();
        for (first, count) in [(0, 900), (0, 64), (7, 65), (130, 500), (3, 0), (899, 1)] {
            for seed in [1_usize, 2, 3, 70] {
                let bits: BooleanBuffer = (0..count)
                    .map(|row: usize| (row * row + row / 3).is_multiple_of(seed))
                    .collect();
                let set = bits.count_set_bits();
                let rows = WindowRows::Bits(&bits, set);
                let from = CellPlace::default();
                let mut found = Vec::new();
                let runs = CellRuns { list: &list, from, rows, first };
                let place = runs.for_each(|cell| {
                    found.push(cell.len());
                    Ok::<(), ()>(())
                });
                let want: Vec<usize> =
                    bits.set_indices().map(|at| cells[first + at].len()).collect();
                assert_eq!((found, rows.len()), (want, set), "{first} {count} {seed}");
                let end = list.seek(from, first + count);
                assert_eq!(place.unwrap(), end, "{first} {count} {seed}");
                assert_eq!(rows.nth(set), None);
            }
        }
    }

    #[test]
    fn equal_cells_in_a_row_are_counted() {
        let cells: Vec<String> = [("7", 300), ("", 5), ("12", 1), ("7", 2), ("abcdefghij", 90)]
            .iter()
            .flat_map(|(cell, times)| vec![(*cell).to_owned(); *times])
            .collect();
        let list = CellList::try_new(cells.join("\n").into_bytes(), cells.len()).unwrap();
        let list = list.with_block_bytes(1);
        let all = 0..cells.len();
        let some = [0..3, 290..304, 305..308, 397..398];
        for of_runs in [std::slice::from_ref(&all), &some] {
            let (mut found, mut calls) = (Vec::new(), 0);
            let runs = CellRuns::new(&list, of_runs);
            let end = runs.for_each_run(|text, len, times| {
                found.extend(vec![String::from_utf8(text[..len].to_vec()).unwrap(); times]);
                calls += 1;
                Ok::<(), ()>(())
            });
            let want: Vec<String> =
                of_runs.iter().cloned().flatten().map(|at| cells[at].clone()).collect();
            assert_eq!(found, want);
            assert!(calls < 100, "{calls}");
            assert_eq!(end.unwrap(), list.seek(CellPlace::default(), cells.len()));
        }
    }
}
