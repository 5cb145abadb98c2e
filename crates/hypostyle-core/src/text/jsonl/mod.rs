//! JSON Lines: an object on each line.
//!
//! A column is a key of the objects, in the order in which keys first appear; an
//! object without the key has null there. Numbers stay numbers, and what no
//! column type holds (arrays, objects, integers beyond 64 bits) is kept as its
//! own JSON text. [`import()`] reads, [`Writer`] writes.

mod cells;
mod import;
mod object;
#[cfg(test)]
mod tests;
mod write;

pub use import::import;
pub use write::Writer;
