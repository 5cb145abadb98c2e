//! Reads a text once, to find out what its table is.

use std::io::Read;

use super::format::{TextFormat, TextKind};
use super::line_rows;
use super::options::TextOptions;
use super::sizes::TextSizes;
use super::summary::TextSummary;
use crate::error::{Error, Result};

impl TextSummary {
    /// Reads a text from its start to its end, on several threads and in bounded memory.
    ///
    /// # Errors
    ///
    /// Fails if the text cannot be read, for malformed rows, and if a type was requested
    /// for a column that does not exist.
    pub fn of(input: &mut dyn Read, format: TextFormat, options: &TextOptions) -> Result<Self> {
        summarise(input, format.with_options(options), options, TextSizes::default())
    }
}

pub(super) fn summarise(
    input: &mut dyn Read,
    format: TextFormat,
    options: &TextOptions,
    sizes: TextSizes,
) -> Result<TextSummary> {
    match format.kind {
        #[cfg(feature = "csv")]
        TextKind::Delimited { .. } | TextKind::VariantCalls => {
            let syntax = super::csv::syntax::Syntax::of(format, options);
            super::csv::summary::summarise(input, format, syntax, options, sizes)
        }
        #[cfg(feature = "json")]
        TextKind::JsonLines => super::jsonl::summary::summarise(input, format, options, sizes),
        TextKind::JsonArray => Err(not_lines()),
        TextKind::Lines | TextKind::Log => line_rows::summarise(input, format, options, sizes),
        #[cfg(not(all(feature = "csv", feature = "json")))]
        kind => Err(not_compiled(kind)),
    }
}

/// Returns the error for an array that is not read as lines.
pub(super) fn not_lines() -> Error {
    Error::unsupported("an array of JSON objects without a table")
}

/// Returns the error for a kind that this build leaves out.
#[cfg(not(all(feature = "csv", feature = "json")))]
pub(super) fn not_compiled(kind: TextKind) -> crate::error::Error {
    crate::error::Error::unsupported(format!("{} in this build", kind.name()))
}
