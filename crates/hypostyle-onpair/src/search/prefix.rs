//! Rows that start with a needle, if it is known how they were cut.
//!
//! A row that starts with the needle has the same codes as the needle, up to a token that
//! has the rest of the needle and more: up to there, the longest token is the same for
//! both. So the first codes are compared as one word, and the code that differs says
//! whether the row starts with the needle.

use std::ops::Range;

use super::cut::Cutter;
use super::scan::{self, Marks, Reader};
use crate::Column;

/// Bits that can be read from wherever a code starts.
const WORD: usize = 57;

/// The codes of a needle.
#[derive(Debug)]
pub(super) struct Prefix {
    /// How many there are.
    len: usize,
    /// The first of them, packed, and the bits that they take.
    word: u64,
    mask: u64,
    /// How many codes of a row are the same, by the first bit in which it differs, and
    /// at the end if it does not.
    same: [u8; 65],
    /// For each token the places in the needle, by number of codes, where it has the
    /// rest and maybe more, as bits.
    rests: Marks,
}

impl Prefix {
    /// `None` if it is not known how rows were cut, and if the needle has no more than
    /// one code: then the first code of a row says it all.
    pub(super) fn new(column: &Column<'_>, needle: &[u8]) -> Option<Self> {
        let codes = Cutter::new(column)?.cut(needle)?;
        if codes.len() < 2 {
            return None;
        }
        let bits = column.parts().bits as usize;
        let compared = codes.len().min(WORD / bits);
        let (mut word, mut rests, mut rest) = (0, Vec::new(), needle);
        for (index, &code) in codes.iter().enumerate().take(compared) {
            word |= u64::from(code) << (index * bits);
            rests.push(rest);
            rest = rest.get(column.table().length(code)..)?;
        }
        let mut same = [u8::try_from(compared).ok()?; 65];
        for (bit, same) in same.iter_mut().enumerate().take(compared * bits) {
            *same = u8::try_from(bit / bits).ok()?;
        }
        let tokens = scan::tokens(column);
        let mark = |code| {
            let token = column.table().token(code);
            let bits = (0..).zip(&rests).filter(|(_, rest)| token.starts_with(rest));
            bits.fold(0, |mark, (bit, _)| mark | 1 << bit)
        };
        let rests = Marks::new(tokens.map(mark));
        let mask = u64::MAX >> (64 - compared * bits);
        Some(Self { len: codes.len(), word, mask, same, rests })
    }

    /// Calls `each` with rows that start with the needle, and whether that is to be
    /// checked.
    #[inline]
    pub(super) fn scan(
        &self,
        column: &Column<'_>,
        rows: Range<usize>,
        each: &mut dyn FnMut(usize, Range<usize>, bool),
    ) {
        let reader = Reader::new(column);
        let bits = column.parts().bits;
        let [.., compared] = self.same;
        scan::each_row(column, rows, |row, codes| {
            let word = reader.word(codes.start);
            let differ = (word ^ self.word) & self.mask;
            let same = self.same.get(differ.trailing_zeros() as usize).copied().unwrap_or(0);
            let [a, b, c, d, ..] = (word >> (u32::from(same) * bits)).to_le_bytes();
            let code = crate::bits::low(u32::from_le_bytes([a, b, c, d]), bits);
            // One branch for both, since it is rarely known which it is.
            let has_rest = (self.rests.get(code) >> (same & 7) & 1 == 1) & (same < compared);
            // The row may have fewer codes than the needle: its next token may hold the
            // rest of the needle and more.
            let has_all = (same == compared) & (usize::from(compared) <= codes.len());
            if has_all | (has_rest & (usize::from(same) < codes.len())) {
                each(row, codes, has_all & (self.len > usize::from(compared)));
            }
        });
    }
}
