//! Compression of short strings with random access.
//!
//! The crate learns a dictionary of up to 65,536 tokens of 1 to 16 bytes from the strings
//! (OnPair), and stores each string as a row of codes of 9 to 16 bits. Decoding copies tokens.
//! Rows are independent of each other: decoding one row, or many rows in any order, costs
//! little more than reading them, and many searches run on the codes without decoding.
//!
//! ```
//! use hypostyle_onpair::{Column, Config, compress};
//!
//! let names = ["berlin-mitte", "berlin-wedding", "", "berlin-spandau"];
//! let parts = compress(&names[..], &Config::default())?;
//! let column = Column::new(parts)?;
//! assert_eq!(column.get(1)?, b"berlin-wedding");
//! # Ok::<(), hypostyle_onpair::Error>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bits;
mod column;
mod compress;
mod cpp;
mod error;
mod huffman;
mod kernel;
mod matcher;
#[cfg(test)]
mod naive;
mod parts;
mod sample;
mod search;
mod strings;
#[cfg(test)]
mod tests;
mod threads;
mod token;
mod tokenize;
mod train;

pub use bits::{pack, unpack};
pub use column::{Column, DecodedRows};
pub use compress::{Config, Dictionary, compress, decompress, decompress_into, decompress_rows};
pub use cpp::read_cpp;
pub use error::{Error, ErrorKind, Result, Section};
pub use huffman::{pack_counts, unpack_counts};
pub use parts::{Offsets, Parse, Parts};
pub use search::{Pattern, Searcher};
pub use strings::{Joined, Offset, Strings};
pub use train::Effort;

/// The maximum length of a token, in bytes.
pub const MAX_TOKEN_SIZE: usize = 16;
