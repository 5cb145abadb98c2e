//! COLM: a header, a column table, and one zlib block per column, little-endian.
//!
//! `docs/specs/colm.md` specifies every byte. Comments cite its sections (§2.1), and its
//! section 4 by M-numbers. A file is:
//!
//! ```text
//! "COLM" │ version u32 │ columns u32 │ rows u32 │ table offset u64 │ data offset u64
//! per column: name length u32 │ name │ type u8 │ stored u64 │ raw u64 │ offset u64
//! per column: zlib( rows × i32 │ rows × f64 │ rows × (length u32, UTF-8) )
//! ```
//!
//! To read a file, `layout` parses the header and the column table, `schema` maps the type
//! codes, and `decode` turns blocks into arrays. To write one, `encode` turns arrays into
//! blocks, and `layout` writes the header.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;

use super::columnfile::{
    self, BlockFormat, BlockLocation, BlockStreams, ColumnEntry, ColumnFileLayout, ColumnStream,
    ColumnToWrite, DecodeContext, DeviationCodes,
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

/// The format COLM.
#[derive(Clone, Copy, Debug)]
pub struct Colm;

impl Format for Colm {
    fn id(&self) -> FormatId {
        Self::ID
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["colm", "colfile"]
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

impl BlockFormat for Colm {
    const ID: FormatId = FormatId::Colm;
    const CODES: DeviationCodes = layout::CODES;
    const CAPABILITIES: Capabilities = Capabilities {
        nulls: false,
        int64: false,
        numbers: true,
        binary: false,
        arrow_types: false,
    };
    const ABSENT_WHEN_EMPTY: bool = false; // M11
    type Entry = ColumnEntry;

    fn parse_layout(
        source: &dyn ByteSource,
        options: &ReadOptions,
        deviations: &Deviations,
    ) -> Result<ColumnFileLayout> {
        layout::parse(source, options, deviations)
    }

    fn decode(
        content: MutableBuffer,
        entry: &ColumnEntry,
        rows: usize,
        cx: &DecodeContext<'_>,
    ) -> Result<ArrayRef> {
        decode::block(content, entry, rows, cx)
    }

    fn stream(
        blocks: &BlockStreams,
        entry: &ColumnEntry,
        rows: u64,
        cx: &DecodeContext<'_>,
    ) -> Result<Box<dyn ColumnStream>> {
        decode::stream(blocks, entry, rows, cx)
    }

    fn check_absent(entry: &ColumnEntry, rows: u64, cx: &DecodeContext<'_>) -> Result<()> {
        decode::check_absent(entry, rows, cx)
    }

    fn null_count(_: &ColumnEntry, _: u64) -> Option<u64> {
        Some(0)
    }

    fn check(columns: &[ColumnToWrite], rows: u64, options: &WriteOptions) -> Result<()> {
        encode::check(columns, rows, options)
    }

    fn header_len(columns: &[ColumnToWrite], _rows: u64) -> Result<u64> {
        Ok(layout::header_len(columns))
    }

    fn header(columns: &[ColumnToWrite], blocks: &[BlockLocation], rows: u64) -> Result<Vec<u8>> {
        layout::write(columns, blocks, rows)
    }

    fn encode(column: &ColumnToWrite, arrays: &[ArrayRef], out: &mut Vec<u8>) -> Result<()> {
        encode::block(column, arrays, out)
    }
}
