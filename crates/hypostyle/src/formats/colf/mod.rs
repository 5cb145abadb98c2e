//! COLF: a JSON schema, nulls, and one zlib block per column, little-endian.
//!
//! `docs/specs/colf.md` specifies every byte. Comments cite its sections (§2.1), and its
//! section 4 by F-numbers. A file is:
//!
//! ```text
//! "COLF" │ version u8 │ endianness u8 │ header size u32 │ schema length u32 │ schema JSON
//! per column: offset u64 │ stored u64 │ raw u64 │ has nulls u8
//! per column: zlib( type u8 │ has nulls u8 │ [bitmap, 1 = null] │ values )
//! text values: rows × start u32 │ all bytes
//! ```
//!
//! To read a file, `schema` parses the JSON, `layout` the header and the column table, and
//! `decode` turns blocks into arrays, or `stream` parts of blocks. To write one, `encode` turns arrays into blocks, and
//! `layout` writes the header.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;

use self::layout::ColfEntry;
use super::columnfile::{
    self, BlockFormat, BlockLocation, BlockStreams, ColumnFileLayout, ColumnStream, ColumnToWrite,
    DecodeContext, DeviationCodes,
};
use hypostyle_core::column_source::ColumnSource;
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::Result;
use hypostyle_core::format::{Format, Sniff};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::{ReadOptions, WriteOptions};
use hypostyle_core::reader::Reader;
use hypostyle_core::sink::Sink;
use hypostyle_core::source::ByteSource;
use hypostyle_core::types::Capabilities;

mod decode;
mod encode;
mod layout;
mod schema;
mod stream;

/// The format COLF.
#[derive(Clone, Copy, Debug)]
pub struct Colf;

impl Format for Colf {
    fn id(&self) -> FormatId {
        Self::ID
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["colf"]
    }

    fn magics(&self) -> &'static [&'static [u8]] {
        &[&layout::MAGIC, &layout::SWAPPED_MAGIC]
    }

    fn capabilities(&self) -> Capabilities {
        Self::CAPABILITIES
    }

    fn sniff(&self, source: &dyn ByteSource) -> Result<Sniff> {
        layout::sniff(source)
    }

    fn open(&self, source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Arc<dyn Reader>> {
        columnfile::open::<Self>(source, options)
    }

    fn encode(
        &self,
        table: &dyn ColumnSource,
        sink: &mut dyn Sink,
        options: &WriteOptions,
    ) -> Result<()> {
        columnfile::encode::<Self>(table, sink, options)
    }
}

impl BlockFormat for Colf {
    const ID: FormatId = FormatId::Colf;
    const CODES: DeviationCodes = layout::CODES;
    const CAPABILITIES: Capabilities = Capabilities {
        nulls: true,
        int64: false,
        numbers: true,
        binary: false,
        arrow_types: false,
    };
    const ABSENT_WHEN_EMPTY: bool = false; // F13
    type Entry = ColfEntry;

    fn parse_layout(
        source: &dyn ByteSource,
        options: &ReadOptions,
        deviations: &Deviations,
    ) -> Result<ColumnFileLayout<ColfEntry>> {
        layout::parse(source, options, deviations)
    }

    fn headroom(entry: &ColfEntry, rows: usize) -> usize {
        decode::headroom(entry, rows)
    }

    fn decode(
        content: MutableBuffer,
        entry: &ColfEntry,
        rows: usize,
        cx: &DecodeContext<'_>,
    ) -> Result<ArrayRef> {
        decode::block(content, entry, rows, cx)
    }

    fn stream(
        blocks: &BlockStreams,
        entry: &ColfEntry,
        rows: u64,
        cx: &DecodeContext<'_>,
    ) -> Result<Box<dyn ColumnStream>> {
        stream::open(blocks, entry, rows, cx)
    }

    fn check_absent(entry: &ColfEntry, rows: u64, cx: &DecodeContext<'_>) -> Result<()> {
        decode::check_absent(&entry.column, rows, cx)
    }

    fn null_count(entry: &ColfEntry, rows: u64) -> Option<u64> {
        match entry {
            // Every row of such a column is null (F14).
            ColfEntry { column, .. } if column.block.stored == 0 => Some(rows),
            // A block that has nulls all the same is a deviation (F3).
            ColfEntry { null_flag: false, nullable: false, .. } => Some(0),
            _ => None,
        }
    }

    fn check(columns: &[ColumnToWrite], _rows: u64, options: &WriteOptions) -> Result<()> {
        encode::check(columns, options)
    }

    fn header_len(columns: &[ColumnToWrite], rows: u64) -> Result<u64> {
        layout::header_len(columns, rows)
    }

    fn header(columns: &[ColumnToWrite], blocks: &[BlockLocation], rows: u64) -> Result<Vec<u8>> {
        layout::write(columns, blocks, rows)
    }

    fn encode(column: &ColumnToWrite, arrays: &[ArrayRef], out: &mut Vec<u8>) -> Result<()> {
        encode::block(column, arrays, out)
    }
}
