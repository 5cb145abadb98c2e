//! Text tables: CSV, TSV and JSON Lines, into columns and out again.
//!
//! Text has no types, so the type of a column is a decision, and one that only
//! the last cell settles. [`infer`] makes it for the whole column, [`number`]
//! holds the one way in which numbers are printed, and [`csv`] and [`jsonl`]
//! know the syntax.

pub mod csv;
mod digits;
pub mod infer;
pub mod jsonl;
pub mod number;

pub use infer::{CellType, ImportOptions, Imported, Infer};
