//! Text tables: CSV, TSV, JSON Lines and plain lines, to columns and back.
//!
//! Text has no types, so the importer infers the type of each column from all of its
//! cells. `csv`, `jsonl` and [`lines`] parse and write their syntax, [`infer`] chooses the
//! types, and [`number`](crate::number) defines how numbers are printed and read.
//! [`stamp`] finds time stamps in log lines.

#[cfg(feature = "csv")]
pub mod csv;
mod detect;
mod format;
#[cfg_attr(
    not(all(feature = "csv", feature = "json")),
    expect(dead_code, reason = "each syntax uses a part of it")
)]
pub mod infer;
mod input;
#[cfg(feature = "json")]
pub mod jsonl;
mod line_blocks;
mod line_rows;
pub mod lines;
pub mod log;
mod options;
mod position;
mod row_blocks;
mod row_index;
mod sizes;
mod source;
pub mod stamp;
mod state;
mod summarise;
mod summary;
mod table;
#[cfg(test)]
mod tests;
pub mod typed;

pub use detect::{HEAD_BYTES, NotText, detect, not_text};
pub use format::{TextFormat, TextKind};
pub use infer::{ImportOptions, Imported, Skipped};
pub use input::{BOM, Progress};
pub use options::{Encoding, Ragged, TextOptions};
pub use position::RowPosition;
pub use source::{SourceText, TextSource};
pub use state::{Infer, InferredState};
pub use summary::{
    ColumnState, ColumnSummary, ObjectState, OddToken, TextRange, TextSummary, ValueState,
};
pub use table::TextTable;
