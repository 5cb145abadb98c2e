//! Reading: chooses between whole columns and windows, and reads no byte of other columns.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::block_format::BlockFormat;
use super::block_stream::FIRST_PIECE_BYTES;
use super::column_file::{ColumnFile, MIN_PARALLEL_BYTES};
use super::layout::ColumnFileLayout;
use super::streamed_row_group::StreamedRowGroup;
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::reader::{
    ColumnStatistics, InFormat, Reader, RowGroupReader, RowGroupRequest, Section, WholeRowGroup,
    row_group_out_of_range,
};
use hypostyle_core::source::ByteSource;

/// Opens a file of the format `F`: reads and checks everything before the blocks.
pub(crate) fn open<F: BlockFormat>(
    source: Arc<dyn ByteSource>,
    options: &ReadOptions,
) -> Result<Arc<dyn Reader>> {
    InFormat::open(F::ID, || ColumnFile::<F>::open(source, options))
}

impl<F: BlockFormat> Reader for ColumnFile<F> {
    fn format(&self) -> FormatId {
        F::ID
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.layout.rows
    }

    fn row_groups(&self) -> usize {
        1
    }

    fn column_statistics(&self, column: usize) -> ColumnStatistics {
        let entry = self.layout.columns.get(column);
        let mut statistics = ColumnStatistics::default();
        statistics.null_count = entry.and_then(|entry| F::null_count(entry, self.layout.rows));
        statistics
    }

    fn ranges(&self, _: usize, columns: &[usize]) -> Vec<Range<u64>> {
        let entries = columns.iter().filter_map(|&column| self.layout.columns.get(column));
        let blocks = entries.map(|entry| &entry.as_ref().block);
        blocks.map(|block| block.offset..block.end()).collect()
    }

    fn first_ranges(
        &self,
        group: usize,
        columns: &[usize],
        request: &RowGroupRequest<'_>,
    ) -> Vec<Range<u64>> {
        let mut ranges = self.ranges(group, columns);
        if self.is_streamed(request) {
            for range in &mut ranges {
                range.end = range.end.min(range.start.saturating_add(FIRST_PIECE_BYTES));
            }
        }
        ranges
    }

    fn column_bytes(&self, _: usize, columns: &[usize]) -> Option<u64> {
        Some(self.memory_of(columns))
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        if group != 0 {
            return Err(row_group_out_of_range(group, 1));
        }
        let cost = self.check_cost(request.columns)?;
        let rows = usize::try_from(self.layout.rows).map_err(|_| {
            let (what, asked) = ("row count", self.layout.rows);
            Error::new(ErrorKind::LimitExceeded { what, asked, limit: usize::MAX as u64 })
        })?;
        if self.is_streamed(request) {
            return Ok(Box::new(StreamedRowGroup::new(self, request)));
        }
        let threads = if cost < MIN_PARALLEL_BYTES { 1 } else { request.threads };
        let decode = move |columns: &[usize]| self.decode_whole(columns, rows, threads);
        Ok(Box::new(WholeRowGroup::new(rows, decode)))
    }

    fn sections(&self) -> Vec<Section> {
        let ColumnFileLayout { header_end, table_start, table_end, columns, .. } = &self.layout;
        let section = |what, offset: u64, end: u64| Section {
            what,
            column: None,
            offset,
            stored: end.saturating_sub(offset),
            raw: None,
        };
        let mut sections = vec![
            section("header", 0, *header_end),
            section("column table", *table_start, *table_end),
        ];
        let entries = columns.iter().map(AsRef::as_ref).enumerate();
        sections.extend(entries.map(|(column, entry)| Section {
            what: "block",
            column: Some(column),
            offset: entry.block.offset,
            stored: entry.block.stored,
            raw: Some(entry.block.raw),
        }));
        sections.sort_by_key(|section| section.offset);
        // Bytes between sections are listed too, so that the sections cover the file.
        let (mut gaps, mut end) = (Vec::new(), 0);
        for next in &sections {
            if next.offset > end {
                gaps.push(section("unused", end, next.offset));
            }
            end = end.max(next.offset.saturating_add(next.stored));
        }
        if self.source.size() > end {
            gaps.push(section("unused", end, self.source.size()));
        }
        sections.extend(gaps);
        sections.sort_by_key(|section| section.offset);
        sections
    }

    fn deviations(&self) -> Vec<Deviation> {
        self.deviations.list()
    }
}
