//! Loops over packed codes and over rows.

use std::fmt;
use std::ops::Range;

use crate::bits::{GROUP, code, group, groups, low, of_width};
use crate::{Column, Offset, Offsets};

/// Entries of a table that any code is an index into, so that none is checked.
const CODES: usize = 1 << 16;

/// Groups that are looked at before it is asked whether there was anything.
const STRIDE: usize = 2;

/// A byte for every code of any width.
pub(super) struct Marks(Box<[u8; CODES]>);

impl Marks {
    /// The byte of each code; 0 for those that there are no more bytes for.
    pub(super) fn new(bytes: impl Iterator<Item = u8>) -> Self {
        let mut marks = vec![0; CODES];
        marks.iter_mut().zip(bytes).for_each(|(mark, byte)| *mark = byte);
        Self(marks.into_boxed_slice().try_into().unwrap_or_else(|_| Box::new([0; CODES])))
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

impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Marks({})", self.0.iter().filter(|&&mark| mark != 0).count())
    }
}

/// The numbers of all tokens.
pub(super) fn tokens(column: &Column<'_>) -> impl Iterator<Item = u16> {
    (0..=u16::MAX).take(column.parts().token_count())
}

/// Calls `each` with the places and the marks of codes that have one, in order. It says
/// which is the first code to go on with.
pub(super) fn each_marked(
    column: &Column<'_>,
    marks: &Marks,
    codes: Range<usize>,
    each: &mut dyn FnMut(usize, u8) -> usize,
) {
    of_width!(column.parts().bits, each_marked_of(column, marks, codes, each));
}

fn each_marked_of<const BITS: usize>(
    column: &Column<'_>,
    marks: &Marks,
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
    let (strides, _) = groups.as_chunks::<STRIDE>();
    for (index, stride) in strides.iter().enumerate() {
        // Without a branch for each code.
        let codes = stride.iter().flat_map(group);
        if codes.fold(0, |any, code| any | marks.get(code)) != 0 {
            let first = head + index * STRIDE * GROUP;
            let codes = stride.iter().flat_map(group).enumerate();
            codes.for_each(|(at, code)| look(first + at, marks.get(code)));
        }
    }
    for at in head + strides.len() * STRIDE * GROUP..codes.end {
        look(at, marks.get(column.code(at)));
    }
}

/// Unpacks the codes from `start` on, which starts at a byte.
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

/// Calls `each` with rows and their codes, in order.
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
            each(row, start.place().unwrap_or(0)..end.place().unwrap_or(0));
        }
    }
}

/// An end of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Start,
    End,
}

/// What rows are chosen by: a byte for the code at one of their ends.
#[derive(Debug)]
pub(super) struct Edges {
    pub(super) side: Side,
    pub(super) marks: Marks,
    /// That of rows without codes.
    pub(super) empty: u8,
}

impl Edges {
    /// Calls `each` with rows whose byte is not 0, their codes and the byte, in order.
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
    edges: &Edges,
    column: &Column<'_>,
    rows: Range<usize>,
    each: &mut dyn FnMut(usize, Range<usize>, u8),
) {
    let reader = Reader::new(column);
    let at_start = matches!(edges.side, Side::Start);
    each_row(column, rows, |row, codes| {
        let place = if at_start { codes.start } else { codes.end.saturating_sub(1) };
        let code = reader.code_of::<BITS>(place);
        let mark = if codes.is_empty() { edges.empty } else { edges.marks.get(code) };
        if mark != 0 {
            each(row, codes, mark);
        }
    });
}

/// Rows at the end of a search that are counted and not halved.
const BLOCK: usize = 16;

/// The row of a code, which is not before `row`.
pub(super) fn row_of(column: &Column<'_>, row: usize, code: usize) -> usize {
    match &column.parts().row_offsets {
        Offsets::Narrow(offsets) => row_of_code(offsets, row, code),
        Offsets::Wide(offsets) => row_of_code(offsets, row, code),
    }
}

#[inline]
fn row_of_code<O: Offset>(offsets: &[O], row: usize, code: usize) -> usize {
    let ends = offsets.get(row + 1..).unwrap_or_default();
    let ends_before = |end: &O| end.place().unwrap_or(usize::MAX) <= code;
    // Steps of growing size: the row is often near.
    let (mut low, mut step) = (0, BLOCK);
    while ends.get(low + step).is_some_and(ends_before) {
        low += step;
        step *= 2;
    }
    let (mut low, mut high) = (low, (low + step).min(ends.len()));
    while high - low > BLOCK {
        let middle = low + (high - low) / 2;
        match ends.get(middle).is_some_and(ends_before) {
            true => low = middle,
            false => high = middle,
        }
    }
    // The last few are counted without a branch.
    let few = ends.get(low..high).unwrap_or_default();
    row + low + few.iter().map(|end| usize::from(ends_before(end))).sum::<usize>()
}

/// Reads codes of one width.
#[derive(Clone, Copy)]
pub(super) struct Reader<'c> {
    packed: &'c [u8],
    bits: u32,
}

impl<'c> Reader<'c> {
    pub(super) fn new(column: &'c Column<'_>) -> Self {
        Self { packed: &column.parts().codes, bits: column.parts().bits }
    }

    #[inline(always)]
    pub(super) fn code(self, index: usize) -> u16 {
        self.code_of_width(index, self.bits)
    }

    /// The same if the width is known.
    #[inline(always)]
    fn code_of<const BITS: usize>(self, index: usize) -> u16 {
        self.code_of_width(index, u32::try_from(BITS).unwrap_or(self.bits))
    }

    #[inline(always)]
    fn code_of_width(self, index: usize, bits: u32) -> u16 {
        // No product is beyond 64 bits for codes that are in memory.
        let bit = (index as u64).wrapping_mul(bits.into());
        let at = usize::try_from(bit / 8).unwrap_or(usize::MAX);
        match self.packed.get(at..).and_then(<[u8]>::first_chunk) {
            Some(word) => low(u32::from_le_bytes(*word) >> (bit % 8), bits),
            None => self.last_code(index),
        }
    }

    /// The code at an index and those behind it, 57 bits at least; zeros behind the last.
    #[inline(always)]
    pub(super) fn word(self, index: usize) -> u64 {
        let bit = (index as u64).wrapping_mul(self.bits.into());
        let at = usize::try_from(bit / 8).unwrap_or(usize::MAX);
        let rest = self.packed.get(at..).unwrap_or_default();
        let word = rest.first_chunk().copied().unwrap_or_else(|| last_word(rest));
        u64::from_le_bytes(word) >> (bit % 8)
    }

    /// The codes before the last few, and the last few as [`Reader::word`] has them, with
    /// the bits that these take there.
    pub(super) fn last_word_of(self, codes: &[u16]) -> (&[u16], u64, u64) {
        let few = codes.len().min(57 / self.bits as usize);
        let (before, last) = codes.split_at_checked(codes.len() - few).unwrap_or((codes, &[]));
        let word = last.iter().rev().fold(0, |word, &code| word << self.bits | u64::from(code));
        (before, word, (1 << (self.bits as usize * last.len())) - 1)
    }

    /// A code that four bytes cannot be read for.
    #[cold]
    fn last_code(self, index: usize) -> u16 {
        code(self.packed, self.bits, index)
    }
}

/// Less than eight bytes, and zeros.
#[cold]
fn last_word(bytes: &[u8]) -> [u8; 8] {
    let mut word = [0; 8];
    word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    word
}
