//! The error type: what happened, and where.

use std::borrow::Cow;
use std::{fmt, io};

use crate::deviation::Deviation;
use crate::format_id::FormatId;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why reading or writing failed, and where.
///
/// One word wide, so results on the hot path stay small. Callers act on the kind;
/// the layers that know the format, column, row or byte offset add them.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    format: Option<FormatId>,
    stream: Option<String>,
    column: Option<ColumnRef>,
    row: Option<u64>,
    offset: Option<u64>,
}

/// The column that an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef {
    /// Position in the file, from 0.
    pub index: usize,
    /// The name in the file.
    pub name: String,
}

/// The cause of an [`Error`], in terms a caller can act on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input ended before `what` was complete.
    #[error("{what} needs {needed} bytes, {left} left")]
    Truncated {
        /// The field, in the words of the spec.
        what: &'static str,
        /// Bytes that the field takes.
        needed: u64,
        /// Bytes that remain.
        left: u64,
    },
    /// A field holds a value that the spec forbids.
    #[error("{what}: {why}")]
    Malformed {
        /// The field, in the words of the spec.
        what: &'static str,
        /// What is wrong.
        why: Cow<'static, str>,
    },
    /// The file asks for more than the caller's [`Limits`](crate::limits::Limits) allow.
    #[error("{what} is {asked}, over the limit of {limit}")]
    LimitExceeded {
        /// The quantity that is limited.
        what: &'static str,
        /// The value in the file.
        asked: u64,
        /// The limit of the caller.
        limit: u64,
    },
    /// The bytes are well formed, but use a feature that is not implemented.
    #[error("{0} is not supported")]
    Unsupported(Cow<'static, str>),
    /// The file is in no known format, or only looks like one.
    #[error("{0}")]
    UnknownFormat(Cow<'static, str>),
    /// The file deviates from its specification, and the caller asked for strict reading.
    #[error("{0}")]
    Strict(Deviation),
    /// The text input is not UTF-8, and the caller named no other encoding.
    #[error("text: is not UTF-8: name the encoding that it is in")]
    NotUtf8,
    /// A row of delimited text has another number of cells than the first row.
    #[error("row: {why}")]
    RaggedRow {
        /// How many cells the row has, and how many are expected.
        why: Cow<'static, str>,
        /// Whether the row has too few cells, so that it could be padded.
        short: bool,
    },
    /// The target format cannot store the data.
    #[error("{why}{}{way_out}", if way_out.is_empty() { "" } else { "; " })]
    Refused {
        /// The reason, for programs.
        reason: Refusal,
        /// The reason, for people: what does not fit.
        why: Cow<'static, str>,
        /// What the caller of this library can do about it, in terms of its API.
        way_out: Cow<'static, str>,
    },
    /// An argument of the caller is not valid.
    #[error("{0}")]
    InvalidArgument(Cow<'static, str>),
    /// The library checked its own output and found it wrong: a bug of the library.
    #[error("internal error: {0}")]
    Internal(Cow<'static, str>),
    /// The byte source or the sink failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Arrow rejected decoded columns or the batch of the caller.
    #[error(transparent)]
    Arrow(#[from] arrow_schema::ArrowError),
}

/// Why a target refuses data, for programs that turn the reason into advice of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// Two columns, or two files of a bundle, have the same name.
    DuplicateName,
    /// A column has no name.
    EmptyName,
    /// The names are longer than the target can store.
    NamesTooLong,
    /// A bundle cannot store a file of this name.
    UnsafeName,
    /// A column has nulls, and the target has none.
    NullsNotSupported,
    /// A column has 64-bit integers, and the target has none.
    IntegerTooWide,
    /// A value cannot be converted to the type of its column.
    ValueNotConvertible,
    /// A text is longer than the target can store.
    TextTooLong,
    /// The target has no columns of this type.
    TypeNotSupported,
    /// The table has no columns, or the bundle no files.
    Empty,
    /// The table has several columns, and the target stores one.
    SeveralColumns,
    /// The target stores files, not tables.
    TablesNotSupported,
    /// The target cannot store so many rows, columns, files or bytes.
    TooLarge,
    /// The archive has a codec to which nothing can be appended.
    NotAppendable,
    /// The text to append has another header than the table.
    OtherHeader,
    /// Appending would join two lines: the text before does not end with a newline.
    OpenLine,
    /// Two options contradict each other.
    ConflictingOptions,
}

impl Error {
    /// Creates an error of this kind, without a place.
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner {
            kind,
            format: None,
            stream: None,
            column: None,
            row: None,
            offset: None,
        }))
    }

    /// Creates an error for a field with a value that the specification forbids.
    pub fn malformed(what: &'static str, why: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Malformed { what, why: why.into() })
    }

    /// Creates an error for data that the target cannot store: the reason, the same in words, and
    /// what to do instead.
    pub fn refused(
        reason: Refusal,
        why: impl Into<Cow<'static, str>>,
        way_out: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(ErrorKind::Refused { reason, why: why.into(), way_out: way_out.into() })
    }

    /// Creates an error for a feature of the format that is not implemented.
    pub fn unsupported(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unsupported(what.into()))
    }

    /// Creates an error for an argument that is not valid.
    pub fn invalid_argument(why: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidArgument(why.into()))
    }

    /// Creates an error for a failed check of the output of this library.
    pub fn internal(why: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Internal(why.into()))
    }

    /// Returns the cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns why the target refuses the data, if the error is a refusal.
    pub fn refusal(&self) -> Option<Refusal> {
        match self.0.kind {
            ErrorKind::Refused { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Returns the format that was read or written, if known.
    pub fn format(&self) -> Option<FormatId> {
        self.0.format
    }

    /// Returns the stream inside the file, for formats that have streams.
    ///
    /// [`Error::offset`] then counts from the start of the decompressed stream.
    pub fn stream(&self) -> Option<&str> {
        self.0.stream.as_deref()
    }

    /// Returns the column, if known.
    pub fn column(&self) -> Option<&ColumnRef> {
        self.0.column.as_ref()
    }

    /// Returns the row, counted from 0, if known.
    pub fn row(&self) -> Option<u64> {
        self.0.row
    }

    /// Returns the byte offset in the file, if known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Removes the way out of a refusal, for callers that give advice of their own.
    #[must_use]
    pub fn without_way_out(mut self) -> Self {
        if let ErrorKind::Refused { way_out, .. } = &mut self.0.kind {
            *way_out = Cow::Borrowed("");
        }
        self
    }

    /// Adds the format, unless an inner layer did.
    #[must_use]
    pub fn in_format(mut self, format: FormatId) -> Self {
        self.0.format.get_or_insert(format);
        self
    }

    /// Adds the stream, unless an inner layer did.
    #[must_use]
    pub fn in_stream(mut self, name: &str) -> Self {
        self.0.stream.get_or_insert_with(|| name.to_owned());
        self
    }

    /// Adds the column, unless an inner layer did.
    #[must_use]
    pub fn in_column(mut self, index: usize, name: &str) -> Self {
        self.0.column.get_or_insert_with(|| ColumnRef { index, name: name.to_owned() });
        self
    }

    /// Adds the row, counted from 0, unless an inner layer did.
    #[must_use]
    pub fn in_row(mut self, row: u64) -> Self {
        self.0.row.get_or_insert(row);
        self
    }

    /// Sets the row, counted from 0, and replaces the row of an inner layer.
    ///
    /// For layers that know where the chunk of an inner layer starts.
    #[must_use]
    pub fn at_row(mut self, row: u64) -> Self {
        self.0.row = Some(row);
        self
    }

    /// Adds the byte offset, unless an inner layer did.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, format, stream, column, row, offset } = &*self.0;
        if let Some(format) = format {
            write!(f, "{format}: ")?;
        }
        if let Some(stream) = stream {
            write!(f, "stream `{}`: ", clipped(stream))?;
        }
        if let Some(ColumnRef { index, name }) = column {
            // People count columns and rows from 1; the API counts from 0.
            match name.as_str() {
                "" => write!(f, "column {}: ", index.saturating_add(1))?,
                name => write!(f, "column {} `{}`: ", index.saturating_add(1), clipped(name))?,
            }
        }
        if let Some(row) = row {
            write!(f, "row {}: ", row.saturating_add(1))?;
        }
        if let Some(offset) = offset {
            write!(f, "byte {offset}: ")?;
        }
        write!(f, "{kind}")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            // Transparent kinds already print their cause.
            ErrorKind::Io(cause) => cause.source(),
            ErrorKind::Arrow(cause) => cause.source(),
            _ => None,
        }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

impl From<io::Error> for Error {
    /// Wraps the cause, or takes the [`Error`] out of it again.
    fn from(cause: io::Error) -> Self {
        match cause.downcast::<Self>() {
            Ok(err) => err,
            Err(cause) => Self::new(cause.into()),
        }
    }
}

impl From<Error> for io::Error {
    /// Carries an error through a [`Read`](io::Read) or a [`Write`](io::Write), so that it
    /// comes out unchanged.
    fn from(err: Error) -> Self {
        Self::other(err)
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(cause: arrow_schema::ArrowError) -> Self {
        Self::new(cause.into())
    }
}

/// Shortens and escapes a name for a message: names may be long and contain control characters.
pub fn clipped(name: &str) -> String {
    const MAX_NAME_CHARS: usize = 60;
    let mut short: String =
        name.chars().take(MAX_NAME_CHARS).flat_map(char::escape_debug).collect();
    if name.chars().nth(MAX_NAME_CHARS).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_word_wide() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn the_message_goes_from_the_file_to_the_byte() {
        let err = Error::malformed("string length", "runs past the block")
            .at(96)
            .in_row(4)
            .in_column(1, "name")
            .in_format(FormatId::Colm)
            .at(7);
        assert_eq!(
            err.to_string(),
            "colm: column 2 `name`: row 5: byte 96: string length: runs past the block"
        );
    }

    #[test]
    fn a_refusal_has_a_reason_and_maybe_a_way_out() {
        let err = Error::refused(Refusal::TooLarge, "too many rows", "split the table").in_row(0);
        assert_eq!(err.refusal(), Some(Refusal::TooLarge));
        assert_eq!(err.to_string(), "row 1: too many rows; split the table");
        assert_eq!(err.without_way_out().to_string(), "row 1: too many rows");
    }

    #[test]
    fn a_long_or_odd_name_does_not_flood_the_message() {
        let err = Error::malformed("x", "y").in_column(0, &"n\n".repeat(70_000));
        assert!(err.to_string().len() < 200, "{err}");
        assert!(!err.to_string().contains('\n'));
    }
}
