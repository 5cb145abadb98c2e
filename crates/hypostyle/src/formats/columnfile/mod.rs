//! What COLM, COLF and CLMN share: a header, a column table, and one zlib block per column.
//!
//! The three formats differ in their headers, their byte order and the content of a block.
//! Each implements [`BlockFormat`]; everything else is here, lowest layer first:
//!
//! - `layout`: [`ColumnEntry`] and [`ColumnFileLayout`], the checked positions of all blocks.
//! - `column_table`: reads a column table whose entries have variable length (COLM, CLMN).
//! - `block_stream`, `column_stream`: blocks and columns that are decoded piece by piece.
//! - `block_format`: the trait, and the types that its methods take.
//! - `text`, `values`: string arrays from bytes, and arrays to bytes.
//! - `plain`, `plain_stream`: blocks without nulls, value after value (COLM, CLMN).
//! - `checks`: refuses tables that a format cannot store.
//! - `reader`: [`open`] checks the layout, and decodes whole columns.
//! - `streamed_row_group`: decodes columns in windows, for scans that stop early or lack memory.
//! - `encode`: [`encode()`] writes blocks in schema order, and the header last.

mod block_format;
mod block_stream;
mod checks;
mod column_stream;
#[cfg(any(feature = "colm", feature = "clmn"))]
mod column_table;
mod encode;
mod layout;
#[cfg(any(feature = "colm", feature = "clmn"))]
pub(super) mod plain;
#[cfg(any(feature = "colm", feature = "clmn"))]
pub(super) mod plain_stream;
mod reader;
mod streamed_row_group;
pub(super) mod text;
pub(super) mod values;

pub(super) use block_format::{BlockFormat, ColumnToWrite, DecodeContext};
pub(super) use block_stream::BlockStreams;
#[cfg(feature = "colf")]
pub(super) use block_stream::{BlockStream, number_values};
pub(super) use checks::{check_columns, refuse_duplicates};
pub(super) use column_stream::ColumnStream;
#[cfg(any(feature = "colm", feature = "clmn"))]
pub(super) use column_table::{ColumnTableReader, EntryParse, column_name};
pub(super) use encode::encode;
pub(super) use layout::{BlockLocation, ColumnEntry, ColumnFileLayout, DeviationCodes};
pub(super) use reader::open;
