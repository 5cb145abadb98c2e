//! How the rows of a text are written, as far as a codec can store them by column.

use hypostyle_core::text::{TextFormat, TextKind};

/// What a form of a text offers to a query of the table in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// The text, which is decoded first.
    Text,
    /// The columns of the table.
    Columns,
    /// The columns, in row groups.
    RowGroups,
}

impl Service {
    /// Returns the part of the form by which one that offers the text only must be smaller to
    /// be used.
    fn discount(self) -> f64 {
        match self {
            Self::Text => 0.0,
            Self::Columns => 0.01,
            // Row groups cost up to 2 % more.
            Self::RowGroups => 0.03,
        }
    }
}

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
/// another one is smaller by more than its service is worth.
pub(super) fn compared_size(bytes: usize, service: Service) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "smaller than a size in memory")]
    #[expect(clippy::cast_sign_loss, reason = "never negative")]
    let discount = (bytes as f64 * service.discount()) as usize;
    bytes - discount
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_serves_the_table_may_be_larger() {
        assert_eq!(compared_size(10_000, Service::Text), 10_000);
        assert_eq!(compared_size(10_000, Service::Columns), 9_900);
        assert_eq!(compared_size(10_000, Service::RowGroups), 9_700);
        assert_eq!(compared_size(99, Service::Columns), 99);
        assert_eq!(compared_size(0, Service::RowGroups), 0);
    }
}
