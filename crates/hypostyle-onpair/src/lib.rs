//! Short strings, compressed so that any of them can be had by itself.
//!
//! A dictionary of up to 65,536 tokens of 1 to 16 bytes is learned from the strings,
//! and each string becomes a row of codes of 9 to 16 bits. To decode is to copy tokens.
//! Rows are independent: one row, or many in any order, cost little more than reading
//! them, and much can be asked of a column without decoding it.
//!
//! ```
//! use hypostyle_onpair::{Column, Config, compress};
//!
//! let names = ["berlin-mitte", "berlin-wedding", "", "berlin-spandau"];
//! let parts = compress(&names[..], &Config::default())?;
//! let column = Column::new(parts)?;
//! let mut name = Vec::new();
//! column.row_into(1, &mut name)?;
//! assert_eq!(name, b"berlin-wedding");
//! # Ok::<(), hypostyle_onpair::Error>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bits;
mod column;
mod compress;
mod counts;
mod cpp;
mod error;
mod kernel;
mod lanes;
mod matcher;
#[cfg(test)]
mod naive;
mod parts;
mod sample;
mod search;
mod strings;
#[cfg(test)]
mod tests;
mod train;

pub use bits::{pack, unpack};
pub use column::Column;
pub use compress::{Config, Dictionary, compress, decompress, decompress_into};
pub use counts::{pack_counts, unpack_counts};
pub use cpp::read_cpp;
pub use error::{Error, ErrorKind, Result, Section};
pub use parts::{Offsets, Parse, Parts};
pub use search::{Pattern, Searcher};
pub use strings::{Joined, Offset, Strings};
pub use train::Effort;

/// The longest token, in bytes.
pub const MAX_TOKEN_SIZE: usize = 16;
