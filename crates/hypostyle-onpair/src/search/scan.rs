//! Loops over packed codes and over rows.

use std::fmt;
use std::ops::Range;

use crate::bits::{GROUP, code, group, groups, low, of_width};
use crate::{Column, Offset, Offsets};

/// Number of codes of the maximum width. Tables of this size need no bounds check.
const ALL_CODES: usize = 1 << 16;

/// Number of groups that are tested with one branch.
const GROUPS_PER_STRIDE: usize = 2;

/// A byte for each code of any width.
pub(super) struct CodeMarks(Box<[u8; ALL_CODES]>);

impl CodeMarks {
    /// Assigns the bytes to the codes in order, and 0 to the remaining codes.
    pub(super) fn new(bytes: impl Iterator<Item = u8>) -> Self {
        let mut marks = vec![0; ALL_CODES];
        marks.iter_mut().zip(bytes).for_each(|(mark, byte)| *mark = byte);
        Self(marks.into_boxed_slice().try_into().unwrap_or_else(|_| Box::new([0; ALL_CODES])))
    }

    #[inline]
    pub(super) fn get(&self, code: u16) -> u8 {
        self.0.get(usize::from(code)).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, code: u16) -> Option<&mut u8> {
        self.0.get_mut(usize::from(code))
    }
}

impl fmt::Debug for CodeMarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CodeMarks({})", self.0.iter().filter(|&&mark| mark != 0).count())
    }
}

/// Returns the codes of all tokens.
pub(super) fn tokens(column: &Column<'_>) -> impl Iterator<Item = u16> {
    (0..=u16::MAX).take(column.parts().token_count())
}

/// Calls `each` with the index and mark of each code whose mark is not 0, in order. `each`
/// returns the index of the first code to continue with.
pub(super) fn each_marked(
    column: &Column<'_>,
    marks: &CodeMarks,
    codes: Range<usize>,
    each: &mut dyn FnMut(usize, u8) -> usize,
) {
    of_width!(column.parts().bits, each_marked_of(column, marks, codes, each));
}

fn each_marked_of<const BITS: usize>(
    column: &Column<'_>,
    marks: &CodeMarks,
    codes: Range<usize>,
    each: &mut dyn FnMut(usize, u8) -> usize,
) {
    let mut next = codes.start;
    let mut look = |at: usize, mark: u8| {
        if mark != 0 && at >= next {
            next = each(at, mark);
        }
    };
    let head = codes.start.next_multiple_of(GROUP).min(codes.end);
    for at in codes.start..head {
        look(at, marks.get(column.code(at)));
    }
    let groups = groups::<BITS>(&column.parts().codes, head..codes.end);
    let (strides, _) = groups.as_chunks::<GROUPS_PER_STRIDE>();
    for (index, stride) in strides.iter().enumerate() {
        // Test all codes of the stride with one branch.
        let codes = stride.iter().flat_map(group);
        if codes.fold(0, |any, code| any | marks.get(code)) != 0 {
            let first = head + index * GROUPS_PER_STRIDE * GROUP;
            let codes = stride.iter().flat_map(group).enumerate();
            codes.for_each(|(at, code)| look(first + at, marks.get(code)));
        }
    }
    for at in head + strides.len() * GROUPS_PER_STRIDE * GROUP..codes.end {
        look(at, marks.get(column.code(at)));
    }
}

/// Unpacks codes from `start` on, which is a group boundary.
pub(super) fn unpack_into(column: &Column<'_>, start: usize, out: &mut [u16]) {
    of_width!(column.parts().bits, unpack_into_of(column, start, out));
}

fn unpack_into_of<const BITS: usize>(column: &Column<'_>, start: usize, out: &mut [u16]) {
    let groups = groups::<BITS>(&column.parts().codes, start..start + out.len());
    let (whole, _) = out.as_chunks_mut::<GROUP>();
    whole.iter_mut().zip(groups).for_each(|(to, packed)| *to = group(packed));
    let done = groups.len() * GROUP;
    let (packed, bits) = (&column.parts().codes, column.parts().bits);
    for (at, to) in out.iter_mut().enumerate().skip(done) {
        *to = code(packed, bits, start + at);
    }
}

/// Calls `each` with each row and the positions of its codes, in order.
#[inline]
pub(super) fn each_row(
    column: &Column<'_>,
    rows: Range<usize>,
    each: impl FnMut(usize, Range<usize>),
) {
    match &column.parts().row_offsets {
        Offsets::Narrow(offsets) => each_row_of(offsets, rows, each),
        Offsets::Wide(offsets) => each_row_of(offsets, rows, each),
    }
}

#[inline]
fn each_row_of<O: Offset>(
    offsets: &[O],
    rows: Range<usize>,
    mut each: impl FnMut(usize, Range<usize>),
) {
    let offsets = offsets.get(rows.start..).unwrap_or_default();
    for (row, pair) in rows.zip(offsets.windows(2)) {
        if let [start, end] = pair {
            each(row, start.to_usize().unwrap_or(0)..end.to_usize().unwrap_or(0));
        }
    }
}

/// An end of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Start,
    End,
}

/// Selects rows by the code at their start or end.
#[derive(Debug)]
pub(super) struct EdgeMarks {
    pub(super) side: Side,
    pub(super) marks: CodeMarks,
    /// The mark of rows without codes.
    pub(super) empty: u8,
}

impl EdgeMarks {
    /// Calls `each` with each row whose mark is not 0, the positions of its codes, and the
    /// mark, in order.
    pub(super) fn each(
        &self,
        column: &Column<'_>,
        rows: Range<usize>,
        each: &mut dyn FnMut(usize, Range<usize>, u8),
    ) {
        of_width!(column.parts().bits, each_edge(self, column, rows, each));
    }
}

fn each_edge<const BITS: usize>(
    edge_marks: &EdgeMarks,
    column: &Column<'_>,
    rows: Range<usize>,
    each: &mut dyn FnMut(usize, Range<usize>, u8),
) {
    let reader = CodeReader::new(column);
    let at_start = matches!(edge_marks.side, Side::Start);
    each_row(column, rows, |row, codes| {
        let position = if at_start { codes.start } else { codes.end.saturating_sub(1) };
        let code = reader.code_of::<BITS>(position);
        let mark = if codes.is_empty() { edge_marks.empty } else { edge_marks.marks.get(code) };
        if mark != 0 {
            each(row, codes, mark);
        }
    });
}

/// Number of rows at which the binary search switches to counting.
const LINEAR_ROWS: usize = 16;

/// Returns the row of a code, which is `row` or a later one.
pub(super) fn row_of(column: &Column<'_>, row: usize, code: usize) -> usize {
    match &column.parts().row_offsets {
        Offsets::Narrow(offsets) => row_of_code(offsets, row, code),
        Offsets::Wide(offsets) => row_of_code(offsets, row, code),
    }
}

#[inline]
fn row_of_code<O: Offset>(offsets: &[O], row: usize, code: usize) -> usize {
    let ends = offsets.get(row + 1..).unwrap_or_default();
    let ends_before = |end: &O| end.to_usize().unwrap_or(usize::MAX) <= code;
    // Gallop, since the row is often near.
    let (mut low, mut step) = (0, LINEAR_ROWS);
    while ends.get(low + step).is_some_and(ends_before) {
        low += step;
        step *= 2;
    }
    let (mut low, mut high) = (low, (low + step).min(ends.len()));
    while high - low > LINEAR_ROWS {
        let middle = low + (high - low) / 2;
        if ends.get(middle).is_some_and(ends_before) {
            low = middle;
        } else {
            high = middle;
        }
    }
    // Count the last rows without a branch.
    let few = ends.get(low..high).unwrap_or_default();
    row + low + few.iter().map(|end| usize::from(ends_before(end))).sum::<usize>()
}

/// Reads codes of one width.
#[derive(Clone, Copy)]
pub(super) struct CodeReader<'c> {
    packed: &'c [u8],
    bits: u32,
}

impl<'c> CodeReader<'c> {
    pub(super) fn new(column: &'c Column<'_>) -> Self {
        Self { packed: &column.parts().codes, bits: column.parts().bits }
    }

    #[inline(always)]
    pub(super) fn code(self, index: usize) -> u16 {
        self.code_of_width(index, self.bits)
    }

    /// Does the same for a width that is known at compile time.
    #[inline(always)]
    fn code_of<const BITS: usize>(self, index: usize) -> u16 {
        self.code_of_width(index, u32::try_from(BITS).unwrap_or(self.bits))
    }

    #[inline(always)]
    fn code_of_width(self, index: usize, bits: u32) -> u16 {
        // The product does not overflow for codes in memory.
        let bit = (index as u64).wrapping_mul(bits.into());
        let at = usize::try_from(bit / 8).unwrap_or(usize::MAX);
        match self.packed.get(at..).and_then(<[u8]>::first_chunk) {
            Some(word) => low(u32::from_le_bytes(*word) >> (bit % 8), bits),
            None => self.last_code(index),
        }
    }

    /// Returns at least 57 bits from the code at an index on, and zeros after the last code.
    #[inline(always)]
    pub(super) fn word(self, index: usize) -> u64 {
        let bit = (index as u64).wrapping_mul(self.bits.into());
        let at = usize::try_from(bit / 8).unwrap_or(usize::MAX);
        let rest = self.packed.get(at..).unwrap_or_default();
        let word = rest.first_chunk().copied().unwrap_or_else(|| last_word(rest));
        u64::from_le_bytes(word) >> (bit % 8)
    }

    /// Splits codes into those that do not fit into a word and the last ones, packed as in
    /// [`CodeReader::word`], with the mask of their bits.
    pub(super) fn last_word_of(self, codes: &[u16]) -> (&[u16], u64, u64) {
        let few = codes.len().min(57 / self.bits as usize);
        let (before, last) = codes.split_at_checked(codes.len() - few).unwrap_or((codes, &[]));
        let word = last.iter().rev().fold(0, |word, &code| word << self.bits | u64::from(code));
        (before, word, (1 << (self.bits as usize * last.len())) - 1)
    }

    /// Returns a code near the end, where four bytes cannot be read.
    #[cold]
    fn last_code(self, index: usize) -> u16 {
        code(self.packed, self.bits, index)
    }
}

/// Pads less than eight bytes with zeros.
#[cold]
fn last_word(bytes: &[u8]) -> [u8; 8] {
    let mut word = [0; 8];
    word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    word
}
