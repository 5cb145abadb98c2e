//! Bytes to integers and back: the only code that touches raw input.
//!
//! Nothing here panics or allocates on a number that the input states; reads
//! are checked, and arithmetic on lengths cannot overflow.

pub mod bitmap;
mod checksum;
mod cursor;
pub mod numbers;
pub mod prefixed;
pub mod put;

pub use checksum::crc32;
pub use cursor::Cursor;
