//! JSON Lines: one object per line.
//!
//! Each key becomes a column, in the order in which keys first appear; an object without
//! the key has null there. Numbers stay numbers, objects become structs and arrays lists.
//! Values of several kinds become text, as they are spelled in JSON.
//!
//! `lines` finds the objects of a block of lines, `raw` takes values apart, `infer` finds
//! the types of a text, `row_blocks` and `array` build arrays. [`Writer`] writes batches as
//! objects.

mod array;
pub(super) mod array_text;
mod infer;
mod lines;
mod object;
mod raw;
pub(super) mod row_blocks;
pub(super) mod summary;
#[cfg(test)]
mod tests;
mod write;

pub use array::array_of_values;
pub use write::Writer;
