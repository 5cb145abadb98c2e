//! Parquet files, through the `parquet` crate.
//!
//! `footer` reads and checks the metadata, and `thrift` looks at it before the crate
//! parses it. `row_group` fetches column chunks through `chunk_source` and decodes them in
//! windows with `column_stream`; `pages` checks what pages claim before the crate decodes them.
//! `statistics` turns the statistics of the footer into bounds.
//! Nested columns stay nested. Every call of the crate is [guarded](crate::guard).

mod chunk_source;
mod column_stream;
mod footer;
mod pages;
mod row_group;
mod statistics;
mod thrift;
mod write;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use hashbrown::HashMap;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;

use self::column_stream::RowGroupColumn;
use self::row_group::{OpenColumn, ParquetRowGroup};
use self::statistics::{ChunkStatistics, RowGroupStatistics};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::limits::Limits;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::predicate::PruningStatistics;
use hypostyle_core::projection::column_out_of_range;
use hypostyle_core::reader::{
    ColumnStatistics, InFormat, Reader, RowGroupReader, RowGroupRequest, Section,
    row_group_out_of_range,
};
use hypostyle_core::source::ByteSource;

pub(crate) use write::{ParquetWriter, check_schema};

/// The bytes that a file starts with.
pub(crate) const MAGICS: &[&[u8]] = &[footer::MAGIC];

/// Opens a Parquet file: reads its footer.
///
/// # Errors
///
/// Fails for a footer that is damaged or over a limit.
pub(crate) fn open(source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Arc<dyn Reader>> {
    InFormat::open(FormatId::Parquet, || ParquetFile::open(source, options))
}

/// An open Parquet file.
#[derive(Debug)]
struct ParquetFile {
    source: Arc<dyn ByteSource>,
    metadata: ArrowReaderMetadata,
    schema: SchemaRef,
    /// The leaf columns of every column.
    leaves: Vec<Vec<usize>>,
    limits: Limits,
    statistics: Vec<Option<ChunkStatistics>>,
}

impl ParquetFile {
    fn open(source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Self> {
        let metadata = footer::read(source.as_ref(), &options.limits)?;
        let schema = metadata.schema().clone();
        let descriptor = metadata.parquet_schema();
        let mut leaves = vec![Vec::new(); schema.fields().len()];
        for leaf in 0..descriptor.num_columns() {
            if let Some(leaves) = leaves.get_mut(descriptor.get_column_root_idx(leaf)) {
                leaves.push(leaf);
            }
        }
        let statistics = ChunkStatistics::of_columns(&metadata);
        let limits = options.limits.clone();
        Ok(Self { source, metadata, schema, leaves, limits, statistics })
    }

    fn chunk_ranges(&self, group: usize, column: usize) -> Vec<Range<u64>> {
        let leaves = self.leaves.get(column).map(Vec::as_slice).unwrap_or_default();
        let chunks = self.metadata.metadata().row_groups().get(group).map(|g| g.columns());
        let chunk = |&leaf: &usize| footer::chunk_range(chunks?.get(leaf)?);
        leaves.iter().filter_map(chunk).collect()
    }
}

impl Reader for ParquetFile {
    fn format(&self) -> FormatId {
        FormatId::Parquet
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        (0..self.row_groups()).map(|group| self.row_group_rows(group)).sum()
    }

    fn row_groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        let group = self.metadata.metadata().row_groups().get(group);
        group.and_then(|group| u64::try_from(group.num_rows()).ok()).unwrap_or(0)
    }

    fn column_statistics(&self, column: usize) -> ColumnStatistics {
        let statistics = self.statistics.get(column).and_then(Option::as_ref);
        statistics.map(ChunkStatistics::of_table).unwrap_or_default()
    }

    fn pruning_statistics(&self, group: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        (group < self.row_groups()).then(|| {
            Box::new(RowGroupStatistics::new(&self.statistics, group)) as Box<dyn PruningStatistics>
        })
    }

    fn ranges(&self, group: usize, columns: &[usize]) -> Vec<Range<u64>> {
        columns.iter().flat_map(|&column| self.chunk_ranges(group, column)).collect()
    }

    fn column_bytes(&self, group: usize, columns: &[usize]) -> Option<u64> {
        let leaves = columns.iter().filter_map(|&column| self.leaves.get(column)).flatten();
        let chunks = self.metadata.metadata().row_groups().get(group).map(|g| g.columns())?;
        let bytes = leaves.filter_map(|&leaf| chunks.get(leaf)).map(footer::decoded_bytes);
        Some(bytes.fold(0, u64::saturating_add))
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        if group >= self.row_groups() {
            return Err(row_group_out_of_range(group, self.row_groups()));
        }
        let rows = usize::try_from(self.row_group_rows(group))
            .map_err(|_| Error::malformed("row count", "does not fit in memory"))?;
        let mut columns = HashMap::new();
        for &column in request.columns {
            let field = self.schema.fields().get(column);
            let field =
                field.ok_or_else(|| column_out_of_range(column, self.schema.fields().len()))?;
            let (metadata, data_type) = (self.metadata.clone(), field.data_type().clone());
            let limits = self.limits.clone();
            let decoded = RowGroupColumn { metadata, group, column, rows, data_type, limits };
            columns.insert(column, OpenColumn::new(decoded, self.chunk_ranges(group, column)));
        }
        let source = self.source.clone();
        Ok(Box::new(ParquetRowGroup::new(source, rows, columns, request.memory)))
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = Vec::new();
        for group in self.metadata.metadata().row_groups() {
            for (column, leaves) in self.leaves.iter().enumerate() {
                for chunk in leaves.iter().filter_map(|&leaf| group.columns().get(leaf)) {
                    let Some(range) = footer::chunk_range(chunk) else { continue };
                    sections.push(Section {
                        what: "column chunk",
                        column: Some(column),
                        offset: range.start,
                        stored: range.end.saturating_sub(range.start),
                        raw: u64::try_from(chunk.uncompressed_size()).ok(),
                    });
                }
            }
        }
        sections.sort_by_key(|section| section.offset);
        sections
    }
}
