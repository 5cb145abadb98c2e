//! Errors of this crate.

use std::fmt;

/// The result of a function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A malformed column, or a request that a column cannot serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The part of the column that is wrong.
    pub section: Section,
    /// The index of the wrong element in that part: a byte of a file or of bytes, an offset of
    /// offsets, a code of codes, a row of rows.
    pub at: u64,
    /// What is wrong.
    pub kind: ErrorKind,
}

/// The part of a column that an [`Error`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Section {
    /// The width of codes.
    Bits,
    /// The offsets of tokens in the dictionary.
    DictOffsets,
    /// The bytes of the tokens.
    DictBytes,
    /// The packed codes.
    Codes,
    /// The offsets of rows in the codes.
    RowOffsets,
    /// The stored lengths of rows.
    RowLengths,
    /// Packed counts ([`pack_counts`](crate::pack_counts)).
    Counts,
    /// The strings to compress, or the options of compression.
    Input,
    /// The buffer for decoded bytes.
    Output,
    /// The requested rows.
    Rows,
    /// A file of the C++ implementation.
    File,
}

/// The cause of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The width of codes is not 9 to 16 bits.
    Width,
    /// The first offset is missing or is not 0.
    FirstOffset,
    /// An offset of a token does not exceed the one before by 1 to 16, or an offset of a row or
    /// string is less than the one before.
    Order,
    /// The dictionary has more tokens than codes of this width can address.
    TooMany,
    /// The data ends too early.
    TooShort,
    /// The code lengths are not those of a complete prefix code, or an escaped count has a code
    /// of its own.
    Code,
    /// A code is not in the dictionary.
    NoSuchToken,
    /// The row is out of range.
    NoSuchRow,
    /// A row or string does not have the length that was stored or returned before.
    Length,
    /// The size of a buffer does not match its content.
    Size,
    /// The file does not start with the magic bytes.
    Magic,
    /// The size exceeds the address space or the layout.
    TooLarge,
}

impl Error {
    pub(crate) fn new(section: Section, at: usize, kind: ErrorKind) -> Self {
        Self { section, at: at as u64, kind }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bits => "width",
            Self::DictOffsets => "dictionary offsets",
            Self::DictBytes => "dictionary bytes",
            Self::Codes => "codes",
            Self::RowOffsets => "row offsets",
            Self::RowLengths => "row lengths",
            Self::Counts => "counts",
            Self::Input => "input",
            Self::Output => "output",
            Self::Rows => "rows",
            Self::File => "file",
        })
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Width => "codes have 9 to 16 bits",
            Self::FirstOffset => "the first offset is not 0",
            Self::Order => "an offset is out of order, or too far from the one before",
            Self::TooMany => "more tokens than codes of this width can address",
            Self::TooShort => "the data ends too early",
            Self::Code => "invalid code lengths, or an escaped count that has a code",
            Self::NoSuchToken => "a code is not in the dictionary",
            Self::NoSuchRow => "the row is out of range",
            Self::Length => "the length differs from the one stored or returned before",
            Self::Size => "the size does not match the content",
            Self::Magic => "the file does not start with `ONPAIR01`",
            Self::TooLarge => "a size is too large",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.section, self.at, self.kind)
    }
}

impl std::error::Error for Error {}
