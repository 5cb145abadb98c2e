//! Text tables: CSV, TSV, JSON Lines and plain lines, into columns and out again.
//!
//! Text has no types, so the type of a column is a decision, and one that only
//! the last cell settles. [`infer`] makes it for the whole column, [`number`]
//! holds the one way in which numbers are printed, and [`csv`] and [`jsonl`]
//! know the syntax. [`lines`] has no more of it than the newline.

pub mod csv;
mod digits;
pub mod infer;
pub mod jsonl;
pub mod lines;
pub mod number;
pub(crate) mod stamp;
#[cfg(test)]
mod tests;

pub use infer::{CellType, ImportOptions, Imported, Infer, Skipped};

/// Most columns of a table: each costs memory, even if it has hardly a value.
const COLUMNS: usize = 1 << 20;

/// Most bytes of a row, which must be in memory as a whole; a quote that is
/// left open would otherwise take in the rest of the file.
const ROW: usize = 2 << 30;
