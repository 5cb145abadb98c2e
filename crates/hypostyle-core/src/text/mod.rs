//! Text tables: CSV, TSV, JSON Lines and plain lines, to columns and back.
//!
//! Text has no types, so the importer infers the type of each column from all of its
//! cells. `csv`, `jsonl` and [`lines`] parse and write their syntax, [`infer`] chooses the
//! types, and [`number`](crate::number) defines how numbers are printed and read.
//! [`stamp`] finds time stamps in log lines.

#[cfg(feature = "csv")]
pub mod csv;
mod format;
#[cfg_attr(
    not(all(feature = "csv", feature = "json")),
    expect(dead_code, reason = "each syntax uses a part of it")
)]
pub mod infer;
mod input;
#[cfg(feature = "json")]
pub mod jsonl;
pub mod lines;
mod options;
mod source;
pub mod stamp;
mod state;
mod summary;
#[cfg(test)]
mod tests;
pub mod typed;

pub use format::{HEAD_BYTES, NotText, TextFormat, TextKind, detect, not_text};
pub use infer::{ImportOptions, Imported, Skipped};
pub use input::{BOM, Progress};
pub use options::{Encoding, Ragged, TextOptions};
pub use source::{SourceText, TextSource};
pub use state::{Infer, InferredState};
pub use summary::{
    ColumnState, ColumnSummary, ObjectState, OddToken, RowPosition, TextRange, TextSummary,
    ValueState,
};
