//! The buffers that a column is made of.

use std::borrow::Cow;

use crate::MAX_TOKEN_SIZE;
use crate::bits::{check_width, first_beyond, packed_len};
use crate::error::{Error, ErrorKind, Result, Section};

/// A compressed column as plain buffers, owned or borrowed.
///
/// This is what is stored and exchanged. Nothing is promised about the contents:
/// [`Parts::validate`] says whether they are a column, and [`Column`](crate::Column)
/// is one for which they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The width of a code, 9 to 16.
    pub bits: u32,
    /// Where tokens start in `dict_bytes`, and at the end where the last one ends.
    pub dict_offsets: Cow<'a, [u32]>,
    /// The tokens, and behind them whatever makes 16 bytes readable from the start of
    /// the last one.
    pub dict_bytes: Cow<'a, [u8]>,
    /// The codes, packed from the lowest bit on. Bytes past the last code are ignored.
    pub codes: Cow<'a, [u8]>,
    /// How many codes there are.
    pub code_count: usize,
    /// The first code of each row, and at the end the code after the last row.
    pub row_offsets: Offsets<'a>,
    /// The bytes of each row, if they were kept.
    pub row_lengths: Option<Cow<'a, [u32]>>,
    /// How rows were cut into tokens.
    pub parse: Parse,
}

/// How rows were cut into tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parse {
    /// At every place the longest token. Equal strings have equal codes, and what a
    /// prefix becomes is known.
    Greedy,
    /// Into as few codes as there can be. Equal strings have equal codes.
    Fewest,
    /// In any way: nothing is known but the bytes.
    #[default]
    Unknown,
}

/// Offsets of 32 or 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offsets<'a> {
    /// Of 32 bits each.
    Narrow(Cow<'a, [u32]>),
    /// Of 64 bits each.
    Wide(Cow<'a, [u64]>),
}

impl Offsets<'_> {
    /// The offset at an index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<usize> {
        match self {
            Self::Narrow(offsets) => offsets.get(index).map(|&offset| offset as usize),
            Self::Wide(offsets) => offsets.get(index).and_then(|&it| usize::try_from(it).ok()),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(offsets) => offsets.len(),
            Self::Wide(offsets) => offsets.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn borrowed(&self) -> Offsets<'_> {
        match self {
            Self::Narrow(offsets) => Offsets::Narrow(Cow::Borrowed(offsets)),
            Self::Wide(offsets) => Offsets::Wide(Cow::Borrowed(offsets)),
        }
    }

    /// Whether they never decrease and stay within `most`; if not, which does not.
    fn check(&self, most: usize) -> Result<()> {
        fn bad<T: Copy + PartialOrd>(offsets: &[T]) -> Option<usize> {
            let at = offsets.windows(2).position(|pair| matches!(pair, [a, b] if a > b));
            at.map(|at| at + 1)
        }
        let at = match self {
            Self::Narrow(offsets) => bad(offsets),
            Self::Wide(offsets) => bad(offsets),
        };
        let wrong = |at, kind| Err(Error::new(Section::RowOffsets, at, kind));
        if self.is_empty() {
            return wrong(0, ErrorKind::FirstOffset);
        }
        match at {
            Some(at) => wrong(at, ErrorKind::Order),
            None if self.get(self.len() - 1).is_none_or(|last| last > most) => {
                wrong(self.len() - 1, ErrorKind::TooShort)
            }
            None => Ok(()),
        }
    }
}

impl Parts<'_> {
    /// How many tokens there are.
    pub fn token_count(&self) -> usize {
        self.dict_offsets.len().saturating_sub(1)
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.row_offsets.len().saturating_sub(1)
    }

    /// A token; empty if there is none of this number.
    #[inline]
    pub fn token(&self, index: usize) -> &[u8] {
        let offset = |at: usize| self.dict_offsets.get(at).map(|&offset| offset as usize);
        match (offset(index), offset(index + 1)) {
            (Some(start), Some(end)) => self.dict_bytes.get(start..end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The same buffers, borrowed.
    pub fn borrowed(&self) -> Parts<'_> {
        Parts {
            bits: self.bits,
            dict_offsets: Cow::Borrowed(&self.dict_offsets),
            dict_bytes: Cow::Borrowed(&self.dict_bytes),
            codes: Cow::Borrowed(&self.codes),
            code_count: self.code_count,
            row_offsets: self.row_offsets.borrowed(),
            row_lengths: self.row_lengths.as_deref().map(Cow::Borrowed),
            parse: self.parse,
        }
    }

    /// Checks the dictionary: its offsets, the lengths of tokens, and that 16 bytes
    /// can be read from the start of each.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, and where.
    pub fn validate_dictionary(&self) -> Result<()> {
        check_width(self.bits)?;
        let wrong = |at, kind| Err(Error::new(Section::DictOffsets, at, kind));
        if self.dict_offsets.first() != Some(&0) {
            return wrong(0, ErrorKind::FirstOffset);
        }
        if self.token_count() > 1 << self.bits {
            return wrong((1 << self.bits) + 1, ErrorKind::TooMany);
        }
        // All at once, which is quick, and one by one only to say where.
        let is_bad = |pair: &[u32]| match *pair {
            [a, b] => b.wrapping_sub(a).wrapping_sub(1) as usize >= MAX_TOKEN_SIZE,
            _ => false,
        };
        let pairs = || self.dict_offsets.windows(2);
        if pairs().fold(false, |bad, pair| bad | is_bad(pair)) {
            return wrong(pairs().position(is_bad).unwrap_or(0) + 1, ErrorKind::Order);
        }
        let last = self.token_count().checked_sub(1).and_then(|last| self.dict_offsets.get(last));
        match last {
            Some(&last) if self.dict_bytes.len() < last as usize + MAX_TOKEN_SIZE => {
                Err(Error::new(Section::DictBytes, self.dict_bytes.len(), ErrorKind::TooShort))
            }
            _ => Ok(()),
        }
    }

    /// Checks everything: the dictionary, every code, and the rows.
    ///
    /// Lengths of rows, if there are any, are only compared in number: what they say is
    /// checked whenever a row is decoded.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, and where.
    pub fn validate(&self) -> Result<()> {
        self.validate_dictionary()?;
        if packed_len(self.code_count, self.bits).is_none_or(|len| len > self.codes.len()) {
            return Err(Error::new(Section::Codes, self.codes.len(), ErrorKind::TooShort));
        }
        let tokens = self.token_count();
        // If there are as many tokens as codes there is nothing to look for.
        if tokens < 1 << self.bits
            && let Some(at) = first_beyond(&self.codes, self.bits, self.code_count, tokens)
        {
            return Err(Error::new(Section::Codes, at, ErrorKind::NoSuchToken));
        }
        self.row_offsets.check(self.code_count)?;
        match &self.row_lengths {
            Some(lengths) if lengths.len() != self.row_count() => {
                Err(Error::new(Section::RowLengths, lengths.len(), ErrorKind::TooShort))
            }
            _ => Ok(()),
        }
    }

    /// Whether tokens are in strictly ascending order of their bytes.
    pub fn is_sorted(&self) -> bool {
        (1..self.token_count()).all(|index| self.token(index - 1) < self.token(index))
    }

    /// Whether every byte is a token, so that any string can be written.
    pub fn is_complete(&self) -> bool {
        let mut seen = [false; 256];
        for index in 0..self.token_count() {
            if let &[byte] = self.token(index)
                && let Some(seen) = seen.get_mut(usize::from(byte))
            {
                *seen = true;
            }
        }
        seen.iter().all(|&seen| seen)
    }

    /// Bytes that all buffers take, codes at their exact size.
    pub fn stored_len(&self) -> usize {
        let offsets = match &self.row_offsets {
            Offsets::Narrow(offsets) => offsets.len() * 4,
            Offsets::Wide(offsets) => offsets.len() * 8,
        };
        let lengths = self.row_lengths.as_ref().map_or(0, |lengths| lengths.len() * 4);
        let codes = packed_len(self.code_count, self.bits).unwrap_or(self.codes.len());
        self.dict_offsets.len() * 4 + self.dict_bytes.len() + codes + offsets + lengths
    }
}
