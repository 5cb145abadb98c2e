//! The syntax of delimited text, as the block reader needs it.

use crate::text::format::{TextFormat, TextKind};
use crate::text::options::{Encoding, Ragged, TextOptions};

/// The syntax of delimited text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Syntax {
    pub(crate) delimiter: u8,
    /// A cell may be quoted.
    pub(crate) quotes: bool,
    /// Lines that start with `##` precede the header, which starts with `#`.
    pub(crate) comments: bool,
    pub(crate) header: bool,
    pub(crate) ragged: Ragged,
    pub(crate) encoding: Encoding,
    /// The minimum number of columns.
    pub(crate) columns: usize,
}

impl Syntax {
    /// Returns the syntax of a format.
    pub(crate) fn of(format: TextFormat, options: &TextOptions) -> Self {
        match format.kind {
            TextKind::Delimited { delimiter } => Self::delimited(delimiter, format.header, options),
            _ => Self::variant_calls(format.header, options),
        }
    }

    /// Returns the syntax of CSV with this delimiter.
    fn delimited(delimiter: u8, header: bool, options: &TextOptions) -> Self {
        Self {
            delimiter,
            quotes: true,
            comments: false,
            header,
            ragged: options.ragged,
            encoding: options.encoding,
            columns: options.columns,
        }
    }

    /// Returns the syntax of VCF.
    fn variant_calls(header: bool, options: &TextOptions) -> Self {
        Self { quotes: false, comments: true, ..Self::delimited(b'\t', header, options) }
    }
}
