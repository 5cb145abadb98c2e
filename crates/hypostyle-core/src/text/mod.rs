//! Text tables: CSV, TSV, JSON Lines and plain lines, to columns and back.
//!
//! Text has no types, so the importer infers the type of each column from all of its
//! cells. `csv`, `jsonl` and [`lines`] parse and write their syntax, [`infer`] chooses the
//! types, and [`number`](crate::number) defines how numbers are printed and read.
//! [`stamp`] finds time stamps in log lines.

#[cfg(feature = "csv")]
pub mod csv;
#[cfg_attr(
    not(all(feature = "csv", feature = "json")),
    expect(dead_code, reason = "each syntax uses a part of it")
)]
pub mod infer;
mod input;
#[cfg(feature = "json")]
pub mod jsonl;
pub mod lines;
pub mod stamp;
#[cfg(test)]
mod tests;

pub use infer::{ImportOptions, Imported, Infer, Skipped};
pub use input::{BOM, Progress};
