//! Blocks without nulls, decoded as a scan moves on.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, OffsetSizeTrait};
use arrow_buffer::MutableBuffer;

use super::block_format::DecodeContext;
use super::block_stream::{BlockStream, BlockStreams, number_values};
use super::column_stream::ColumnStream;
use super::layout::ColumnEntry;
use super::plain::report_leftover;
use super::text;
use hypostyle_core::error::Result;
use hypostyle_core::types::ColumnType;
use hypostyle_core::wire::numbers::Order;
use hypostyle_core::wire::prefixed::{Extent, Prefix, check_rows, unprefix};

/// Starts to decode a block: numbers in this byte order, or texts after a prefix `P`.
///
/// The caller has checked that numbers of all rows fit in the block.
pub(crate) fn open<P: Prefix + Send + Sync + 'static>(
    blocks: &BlockStreams,
    order: Order,
    entry: &ColumnEntry,
    rows: u64,
    leftover_code: &'static str,
) -> Result<Box<dyn ColumnStream>> {
    let block = blocks.open(&entry.block);
    let width = entry.column_type.width();
    let Some(width) = width.and_then(|width| usize::try_from(width).ok()) else {
        check_rows::<P>(entry.block.raw, rows)?;
        let prefix = PhantomData;
        return Ok(Box::new(Texts::<P> {
            block,
            entry: entry.clone(),
            rest: Rest { leftover_code, values_end: None },
            row: 0,
            text_end: None,
            prefix,
        }));
    };
    let rest = Rest { leftover_code, values_end: None };
    Ok(Box::new(Numbers { block, entry: entry.clone(), order, width, rest }))
}

/// Numbers one after the other.
struct Numbers {
    block: BlockStream,
    entry: ColumnEntry,
    order: Order,
    width: usize,
    rest: Rest,
}

impl ColumnStream for Numbers {
    fn seek(&mut self, row: u64) -> Result<()> {
        self.block.skip_to(row.saturating_mul(self.width as u64))
    }

    fn read(&mut self, rows: usize, _: &DecodeContext<'_>) -> Result<ArrayRef> {
        numbers(&mut self.block, rows, self.entry.column_type, self.order)
    }

    fn finish(&mut self, cx: &DecodeContext<'_>) -> Result<u64> {
        self.rest.finish(&mut self.block, &self.entry, cx)
    }
}

fn numbers(
    block: &mut BlockStream,
    rows: usize,
    column_type: ColumnType,
    order: Order,
) -> Result<ArrayRef> {
    Ok(match column_type {
        ColumnType::Int32 => Arc::new(Int32Array::new(number_values(block, rows, order)?, None)),
        ColumnType::Float64 => {
            Arc::new(Float64Array::new(number_values(block, rows, order)?, None))
        }
        // Texts have no width, so only integers are left.
        ColumnType::Int64 | ColumnType::Text => {
            Arc::new(Int64Array::new(number_values(block, rows, order)?, None))
        }
    })
}

/// What follows the last value of a block.
struct Rest {
    leftover_code: &'static str,
    /// Where the values end; set when the last one was decoded.
    values_end: Option<u64>,
}

impl Rest {
    /// Reports bytes after the last value, and verifies the checksum.
    fn finish(
        &mut self,
        block: &mut BlockStream,
        entry: &ColumnEntry,
        cx: &DecodeContext<'_>,
    ) -> Result<u64> {
        let values_end = *self.values_end.get_or_insert_with(|| block.position());
        let after_stream = block.finish()?;
        report_leftover(entry.block.raw, values_end, entry, self.leftover_code, cx)?;
        Ok(after_stream)
    }
}

/// Texts, each after its length.
struct Texts<P> {
    block: BlockStream,
    entry: ColumnEntry,
    rest: Rest,
    row: u64,
    /// The end of the text of `row`, if it is being skipped.
    text_end: Option<u64>,
    prefix: PhantomData<P>,
}

impl<P: Prefix> Texts<P> {
    /// Finds the next texts among the bytes that are available.
    ///
    /// Returns the number of bytes to make available before the next one can be found.
    fn walk(&self, extent: &mut Extent, rows: usize) -> Result<Option<usize>> {
        extent.walk::<P>(self.block.bytes(), rows, self.block.left()).map_err(|err| {
            let row = err.row().map(|row| row.saturating_add(self.row));
            err.at_row(row.unwrap_or(self.row))
        })
    }

    fn array<O: OffsetSizeTrait>(
        &self,
        extent: Extent,
        cx: &DecodeContext<'_>,
    ) -> Result<ArrayRef> {
        let bytes = self.block.bytes();
        let mut content = MutableBuffer::new(extent.bytes);
        content.extend_from_slice(bytes.get(..extent.bytes).unwrap_or(bytes));
        let found = unprefix::<P, O>(content.as_slice_mut(), extent.rows)?;
        content.truncate(found.offsets.last().map_or(0, |end| end.as_usize()));
        text::array::<O>(found.offsets, content.into(), None, self.row, &self.entry, cx)
    }
}

impl<P: Prefix + Send + Sync> ColumnStream for Texts<P> {
    fn seek(&mut self, row: u64) -> Result<()> {
        loop {
            if let Some(end) = self.text_end {
                self.block.skip_to(end)?;
                self.row = self.row.saturating_add(1);
                self.text_end = None;
            }
            let rows = usize::try_from(row.saturating_sub(self.row)).unwrap_or(usize::MAX);
            let mut extent = Extent::default();
            let needed = self.walk(&mut extent, rows)?;
            self.block.consume(extent.bytes);
            self.row = self.row.saturating_add(extent.rows as u64);
            match needed.map(|needed| needed.saturating_sub(extent.bytes)) {
                None => return Ok(()),
                // A text that is longer than the bytes at hand need not be held.
                Some(len) if len > P::BYTES => {
                    self.text_end = Some(self.block.position().saturating_add(len as u64));
                }
                Some(len) => {
                    self.block.fill(len)?;
                }
            }
        }
    }

    fn read(&mut self, rows: usize, cx: &DecodeContext<'_>) -> Result<ArrayRef> {
        let mut extent = Extent::default();
        while let Some(needed) = self.walk(&mut extent, rows)? {
            self.block.fill(needed)?;
        }
        let array = match i32::try_from(self.entry.block.raw) {
            Ok(_) => self.array::<i32>(extent, cx)?,
            Err(_) => self.array::<i64>(extent, cx)?,
        };
        self.block.consume(extent.bytes);
        self.row = self.row.saturating_add(rows as u64);
        Ok(array)
    }

    fn finish(&mut self, cx: &DecodeContext<'_>) -> Result<u64> {
        self.rest.finish(&mut self.block, &self.entry, cx)
    }
}
