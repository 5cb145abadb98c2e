//! Primitives of the wire formats: integers, strings, bitmaps and checksums.
//!
//! Only this module touches raw input. All reads are bounds-checked, arithmetic on
//! lengths cannot overflow, and nothing panics or allocates by a number that the input
//! claims.

pub mod bitmap;
mod checksum;
mod cursor;
pub mod numbers;
pub mod prefixed;
pub mod put;

pub use checksum::{Crc32, crc32};
pub use cursor::Cursor;
