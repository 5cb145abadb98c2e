//! What can be wrong with a column.

use std::fmt;

/// The result of everything that can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A column that is malformed, or a request that it cannot answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Which part of the column it is about.
    pub section: Section,
    /// The element of that part, counted from 0: a byte of a file or of bytes, an
    /// offset of offsets, a code of codes.
    pub at: u64,
    /// What is wrong.
    pub kind: ErrorKind,
}

/// The parts of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Section {
    /// The scalar width of codes.
    Bits,
    /// Where tokens start and end in the dictionary.
    DictOffsets,
    /// The tokens.
    DictBytes,
    /// The packed codes.
    Codes,
    /// Which codes belong to which row.
    RowOffsets,
    /// How many bytes each row has.
    RowLengths,
    /// How many codes rows have, packed.
    Counts,
    /// Strings that are to be compressed.
    Input,
    /// Where decoded bytes are to go.
    Output,
    /// Rows that are asked for.
    Rows,
    /// A file of the C++ implementation.
    File,
}

/// What is wrong with a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Codes have 9 to 16 bits.
    Width,
    /// The first offset is 0, and there is always one.
    FirstOffset,
    /// Offsets of tokens increase, by 16 at most; those of rows do not decrease.
    Order,
    /// There are more tokens than codes can name.
    TooMany,
    /// It ends too early.
    TooShort,
    /// Lengths that are not those of codes, or a count that has a shorter one.
    Code,
    /// A code names no token.
    NoSuchToken,
    /// A row is asked for that is not there.
    NoSuchRow,
    /// A length that is stored is not the length that is there.
    Length,
    /// The output has another size than what is decoded, or is too small for it.
    Size,
    /// The file does not start as it must.
    Magic,
    /// More than this machine can address, or than the layout can say.
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
            Self::TooMany => "more tokens than codes can name",
            Self::TooShort => "it ends too early",
            Self::Code => "not the lengths of codes, or a count in the wrong place",
            Self::NoSuchToken => "a code names no token",
            Self::NoSuchRow => "there is no such row",
            Self::Length => "a stored length is not that of its row",
            Self::Size => "what is decoded has another size",
            Self::Magic => "it does not start with ONPAIR01",
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
