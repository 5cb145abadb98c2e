//! Encodes rows in row groups, so that an archive can be queried (§6).
//!
//! 1. `qcolumnar` splits delimited text into rows; `qjson` groups JSON lines by template.
//! 2. `writer` chooses the rows per group and compresses the cells of each column chunk as a
//!    block.
//! 3. `zones` finds the type of a column and the bounds of the numbers of each chunk.
//! 4. `text_index` makes text bounds and Bloom filters for chunks of text.
//! 5. `writer` puts the streams of all tables in order, and adds checksums.

pub(super) mod qcolumnar;
pub(super) mod qjson;
mod text_index;
mod writer;
mod zones;
