//! How the rows of a text are written, as far as a codec can store them by column.

use hypostyle_core::text::{TextFormat, TextKind};

/// The largest part of a form that serves the table by which another form must be smaller
/// to be used: one percent.
const SERVING_DISCOUNT: f64 = 0.01;

/// How the rows of the table in a text are written.
///
/// A form of the text *serves* the table if its cells are the cells of the table: a query
/// then reads the columns that it needs. From any other form the text is decoded first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowSyntax {
    /// A row on each line, as cells between delimiters.
    Delimited {
        delimiter: u8,
        /// Whether the first line of this text names the columns.
        header: bool,
        /// The number of columns, if it is known.
        width: Option<usize>,
    },
    /// A JSON object on each line.
    Objects,
}

impl RowSyntax {
    /// Returns the syntax of a text of this format; `None` if no codec stores its cells.
    pub(super) fn of(format: TextFormat) -> Option<Self> {
        match format.kind {
            TextKind::Delimited { delimiter } => {
                Some(Self::Delimited { delimiter, header: format.header, width: None })
            }
            TextKind::JsonLines => Some(Self::Objects),
            _ => None,
        }
    }

    /// Returns the syntax of the text after the first frame, which has no header.
    pub(super) fn without_header(self) -> Self {
        match self {
            Self::Delimited { delimiter, width, .. } => {
                Self::Delimited { delimiter, header: false, width }
            }
            Self::Objects => Self::Objects,
        }
    }

    /// Returns the syntax of a table of this many columns.
    pub(super) fn with_width(self, width: usize) -> Self {
        match self {
            Self::Delimited { delimiter, header, .. } => {
                Self::Delimited { delimiter, header, width: Some(width) }
            }
            Self::Objects => Self::Objects,
        }
    }
}

/// Returns the size by which forms are compared: a form that serves the table wins unless
/// another one is more than one percent smaller.
pub(super) fn compared_size(bytes: usize, serves_table: bool) -> usize {
    if !serves_table {
        return bytes;
    }
    #[expect(clippy::cast_possible_truncation, reason = "smaller than a size in memory")]
    #[expect(clippy::cast_sign_loss, reason = "never negative")]
    let discount = (bytes as f64 * SERVING_DISCOUNT) as usize;
    bytes - discount
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_serves_the_table_may_be_one_percent_larger() {
        assert_eq!(compared_size(10_000, false), 10_000);
        assert_eq!(compared_size(10_000, true), 9_900);
        assert_eq!((compared_size(99, true), compared_size(0, true)), (99, 0));
    }
}
