//! The buffers of a column.

use std::borrow::Cow;

use crate::MAX_TOKEN_SIZE;
use crate::bits::{check_width, first_beyond, packed_len};
use crate::error::{Error, ErrorKind, Result, Section};

/// A compressed column as plain buffers, owned or borrowed.
///
/// Use this type to store and exchange columns. Its content may be anything:
/// [`Parts::validate`] checks it, and [`Column`](crate::Column) is a checked column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The width of a code in bits, 9 to 16.
    pub bits: u32,
    /// The position of each token in `dict_bytes`, followed by the end of the last token.
    pub dict_offsets: Cow<'a, [u32]>,
    /// The bytes of the tokens, followed by enough padding that 16 bytes can be read from the
    /// start of the last token.
    pub dict_bytes: Cow<'a, [u8]>,
    /// The codes, packed from the lowest bit on. Bytes after the last code are ignored.
    pub codes: Cow<'a, [u8]>,
    /// The number of codes.
    pub code_count: usize,
    /// The index of the first code of each row, followed by the end of the last row.
    pub row_offsets: Offsets<'a>,
    /// The length of each row in bytes, if stored.
    pub row_lengths: Option<Cow<'a, [u32]>>,
    /// How rows were split into tokens.
    pub parse: Parse,
}

/// How rows are split into tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parse {
    /// The longest token at each position. Equal strings have equal codes, and the codes of a
    /// prefix are known.
    Greedy,
    /// As few codes as possible. Equal strings have equal codes.
    Fewest,
    /// Unknown. Equal strings may have different codes.
    #[default]
    Unknown,
}

/// Offsets of 32 or 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offsets<'a> {
    /// Offsets of 32 bits.
    Narrow(Cow<'a, [u32]>),
    /// Offsets of 64 bits.
    Wide(Cow<'a, [u64]>),
}

impl Offsets<'_> {
    /// Returns the offset at an index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<usize> {
        match self {
            Self::Narrow(offsets) => offsets.get(index).map(|&offset| offset as usize),
            Self::Wide(offsets) => offsets.get(index).and_then(|&it| usize::try_from(it).ok()),
        }
    }

    /// Returns the number of offsets.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(offsets) => offsets.len(),
            Self::Wide(offsets) => offsets.len(),
        }
    }

    /// Returns whether there are no offsets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn borrowed(&self) -> Offsets<'_> {
        match self {
            Self::Narrow(offsets) => Offsets::Narrow(Cow::Borrowed(offsets)),
            Self::Wide(offsets) => Offsets::Wide(Cow::Borrowed(offsets)),
        }
    }

    /// Fails unless there are offsets, none is less than the one before, and none exceeds
    /// `max`.
    fn check(&self, max: usize) -> Result<()> {
        fn first_decrease<T: Copy + PartialOrd>(offsets: &[T]) -> Option<usize> {
            let at = offsets.windows(2).position(|pair| matches!(pair, [a, b] if a > b));
            at.map(|at| at + 1)
        }
        let at = match self {
            Self::Narrow(offsets) => first_decrease(offsets),
            Self::Wide(offsets) => first_decrease(offsets),
        };
        let wrong = |at, kind| Err(Error::new(Section::RowOffsets, at, kind));
        if self.is_empty() {
            return wrong(0, ErrorKind::FirstOffset);
        }
        match at {
            Some(at) => wrong(at, ErrorKind::Order),
            None if self.get(self.len() - 1).is_none_or(|last| last > max) => {
                wrong(self.len() - 1, ErrorKind::TooShort)
            }
            None => Ok(()),
        }
    }
}

impl Parts<'_> {
    /// Returns the number of tokens.
    pub fn token_count(&self) -> usize {
        self.dict_offsets.len().saturating_sub(1)
    }

    /// Returns the number of rows.
    pub fn row_count(&self) -> usize {
        self.row_offsets.len().saturating_sub(1)
    }

    /// Returns the token of a code; empty if the code is not in the dictionary.
    #[inline]
    pub fn token(&self, index: usize) -> &[u8] {
        let offset = |at: usize| self.dict_offsets.get(at).map(|&offset| offset as usize);
        match (offset(index), offset(index + 1)) {
            (Some(start), Some(end)) => self.dict_bytes.get(start..end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Returns the same buffers, borrowed.
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

    /// Checks the dictionary: its offsets, the lengths of tokens, and that 16 bytes can be read
    /// from the start of each token.
    ///
    /// # Errors
    ///
    /// Returns the first violation.
    pub fn validate_dictionary(&self) -> Result<()> {
        check_width(self.bits)?;
        let wrong = |at, kind| Err(Error::new(Section::DictOffsets, at, kind));
        if self.dict_offsets.first() != Some(&0) {
            return wrong(0, ErrorKind::FirstOffset);
        }
        if self.token_count() > 1 << self.bits {
            return wrong((1 << self.bits) + 1, ErrorKind::TooMany);
        }
        // First check all pairs without a branch, then locate an error only if there is one.
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
    /// Of the stored row lengths, only the number is checked here. Decoding a row checks its
    /// length.
    ///
    /// # Errors
    ///
    /// Returns the first violation.
    pub fn validate(&self) -> Result<()> {
        self.validate_dictionary()?;
        if packed_len(self.code_count, self.bits).is_none_or(|len| len > self.codes.len()) {
            return Err(Error::new(Section::Codes, self.codes.len(), ErrorKind::TooShort));
        }
        let tokens = self.token_count();
        // If every code has a token, no code can be out of range.
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

    /// Returns whether the tokens are in strictly ascending order of their bytes.
    pub fn is_sorted(&self) -> bool {
        (1..self.token_count()).all(|index| self.token(index - 1) < self.token(index))
    }

    /// Returns whether every single byte is a token, so that the dictionary can encode any
    /// string.
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

    /// Returns the total size of all buffers in bytes, with codes at their exact size.
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
