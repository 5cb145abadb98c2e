//! Text tables: CSV, TSV, JSON Lines, VCF, logs and plain lines, to columns and back.
//!
//! `docs/text-tables.md` says which table a text is. [`detect()`] finds the [`TextFormat`] of a
//! text from its name and its first bytes. Text has no types, so one pass over it infers
//! them: [`TextSummary`]. With it, [`TextTable`] reads the text in parts, as typed arrays,
//! and only the columns and rows that are asked for.
//!
//! `csv`, `jsonl` and [`lines`] parse and write their syntax, [`log`] takes log lines apart,
//! [`stamp`] finds time stamps in them, [`typed`] builds arrays from cells, and
//! [`number`](crate::number) defines how numbers are printed and read.

#[cfg(feature = "csv")]
pub mod csv;
mod detect;
mod format;
mod input;
#[cfg(feature = "json")]
pub mod jsonl;
mod line_blocks;
mod line_rows;
pub mod lines;
pub mod log;
mod options;
mod position;
mod resolve;
mod row_blocks;
mod row_index;
mod sizes;
mod skipped;
mod source;
pub mod stamp;
#[cfg_attr(
    not(all(feature = "csv", feature = "json")),
    expect(dead_code, reason = "each syntax uses a part of it")
)]
mod state;
mod statistics;
mod summarise;
#[cfg_attr(
    not(all(feature = "csv", feature = "json")),
    expect(dead_code, unused_imports, reason = "each syntax uses a part of it")
)]
mod summary;
mod table;
#[cfg(test)]
mod tests;
pub mod typed;

pub use detect::{HEAD_BYTES, NotText, detect, not_text};
pub use format::{TextFormat, TextKind};
pub use input::BOM;
#[doc(hidden)]
pub use line_blocks::{LineBlock, LineBlocks};
pub use options::{Encoding, Ragged, TextOptions};
pub use position::RowPosition;
pub use skipped::Skipped;
pub use source::{SourceText, TextSource};
pub use state::{DecimalRange, Infer, InferredState, SpelledRange};
pub use summary::{
    ColumnState, ColumnSummary, ObjectState, OddToken, TextRange, TextSummary, ValueState,
};
pub use table::TextTable;
