//! JSON Lines: one object per line.
//!
//! Each key becomes a column, in the order in which keys first appear; an object without
//! the key has null there. Numbers stay numbers. Values that no column type can store
//! (arrays, objects, integers beyond 64 bits) become text, as they are spelled in JSON.
//!
//! [`import()`] reads blocks of lines; `object` parses a line, and `key_values` collects
//! the values of a key and builds its array. [`Writer`] writes batches as objects.

mod array;
mod import;
mod infer;
mod key_values;
mod lines;
mod object;
mod raw;
pub(super) mod row_blocks;
pub(super) mod summary;
#[cfg(test)]
mod tests;
mod write;

pub use array::array_of_values;
pub use import::import;
pub use write::Writer;
