//! Text tables: CSV, TSV, JSON Lines and plain lines, into columns and out again.
//!
//! Text has no types, so the type of a column is a decision, and one that only
//! the last cell settles. [`infer`] makes it for the whole column, [`number`](crate::number)
//! holds the one way in which numbers are printed, and [`csv`] and [`jsonl`]
//! know the syntax. [`lines`] has no more of it than the newline.

#[cfg(feature = "csv")]
pub mod csv;
#[cfg_attr(
    not(all(feature = "csv", feature = "json")),
    expect(dead_code, reason = "each syntax uses a part of it")
)]
pub mod infer;
#[cfg(feature = "json")]
pub mod jsonl;
pub mod lines;
pub mod stamp;
#[cfg(test)]
mod tests;

pub use infer::{ImportOptions, Imported, Infer, Skipped};

#[cfg(any(feature = "csv", feature = "json"))]
/// Most columns of a table: each costs memory, even if it has hardly a value.
const COLUMNS: usize = 1 << 20;

/// Most bytes of a row, which must be in memory as a whole; a quote that is
/// left open would otherwise take in the rest of the file.
const ROW: usize = 2 << 30;

/// The byte order mark of UTF-8, which is no part of the first cell.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Told of the bytes read so far.
pub type Progress<'a> = &'a mut dyn FnMut(u64);
