//! Searching for rows that start with a needle, with rows that have the longest token at each
//! position.
//!
//! A row that starts with the needle has the same codes as the needle, up to a token that
//! covers the rest of the needle and possibly more: up to there, the longest token is the same
//! for both. So the search compares the first codes as one word, and the code that differs
//! tells whether the row starts with the needle.

use std::ops::Range;

use super::needle::NeedleTokenizer;
use super::scan::{self, CodeMarks, CodeReader};
use crate::Column;

/// Number of bits that can be read from the start of any code.
const WORD_BITS: usize = 57;

/// The codes of a needle.
#[derive(Debug)]
pub(super) struct Prefix {
    /// The number of codes.
    len: usize,
    /// The first codes, packed, and the mask of their bits.
    word: u64,
    mask: u64,
    /// The number of equal codes, by the index of the first bit that differs; the last element
    /// is for no difference.
    same: [u8; 65],
    /// For each token, a bit for each number of codes after which the token covers the rest of
    /// the needle.
    rests: CodeMarks,
}

impl Prefix {
    /// Tokenizes a needle.
    ///
    /// Returns `None` if the rows have an unknown split into tokens, and if the needle has at
    /// most one code: then the first code of a row decides.
    pub(super) fn new(column: &Column<'_>, needle: &[u8]) -> Option<Self> {
        let codes = NeedleTokenizer::new(column)?.tokenize(needle)?;
        if codes.len() < 2 {
            return None;
        }
        let bits = column.parts().bits as usize;
        let compared = codes.len().min(WORD_BITS / bits);
        let (mut word, mut rests, mut rest) = (0, Vec::new(), needle);
        for (index, &code) in codes.iter().enumerate().take(compared) {
            word |= u64::from(code) << (index * bits);
            rests.push(rest);
            rest = rest.get(column.decode_table().length(code)..)?;
        }
        let mut same = [u8::try_from(compared).ok()?; 65];
        for (bit, same) in same.iter_mut().enumerate().take(compared * bits) {
            *same = u8::try_from(bit / bits).ok()?;
        }
        let tokens = scan::tokens(column);
        let mark = |code| {
            let token = column.decode_table().token(code);
            let bits = (0..).zip(&rests).filter(|(_, rest)| token.starts_with(rest));
            bits.fold(0, |mark, (bit, _)| mark | 1 << bit)
        };
        let rests = CodeMarks::new(tokens.map(mark));
        let mask = u64::MAX >> (64 - compared * bits);
        Some(Self { len: codes.len(), word, mask, same, rests })
    }

    /// Calls `each` with each row that may start with the needle, the positions of its codes,
    /// and whether the caller must check the rest.
    #[inline]
    pub(super) fn scan(
        &self,
        column: &Column<'_>,
        rows: Range<usize>,
        each: &mut dyn FnMut(usize, Range<usize>, bool),
    ) {
        let reader = CodeReader::new(column);
        let bits = column.parts().bits;
        let [.., compared] = self.same;
        scan::each_row(column, rows, |row, codes| {
            let word = reader.word(codes.start);
            let differ = (word ^ self.word) & self.mask;
            let same = self.same.get(differ.trailing_zeros() as usize).copied().unwrap_or(0);
            let [a, b, c, d, ..] = (word >> (u32::from(same) * bits)).to_le_bytes();
            let code = crate::bits::low(u32::from_le_bytes([a, b, c, d]), bits);
            // One branch for both cases, since it is hard to predict which one it is.
            let has_rest = (self.rests.get(code) >> (same & 7) & 1 == 1) & (same < compared);
            // The row may have fewer codes than the needle: its next token may cover the rest
            // of the needle and more.
            let has_all = (same == compared) & (usize::from(compared) <= codes.len());
            if has_all | (has_rest & (usize::from(same) < codes.len())) {
                each(row, codes, has_all & (self.len > usize::from(compared)));
            }
        });
    }
}
