//! What the footer of a Parquet file says about its columns.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::RowGroupMetaData;

use crate::guard::catch_panics;
use hypostyle_core::cast;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::number::decimal::Decimal;
use hypostyle_core::predicate::{CellPresence, NumberBounds, PruningStatistics, TextBounds};
use hypostyle_core::reader::ColumnStatistics;

/// The statistics of one column, for each row group; entries that are not known are null.
#[derive(Debug)]
pub(super) struct ChunkStatistics {
    name: String,
    min: ArrayRef,
    max: ArrayRef,
    is_exact: Vec<bool>,
    null_counts: Vec<Option<u64>>,
    rows: Vec<u64>,
}

impl ChunkStatistics {
    /// Reads the statistics of every column; `None` for nested ones and unusable statistics.
    pub(super) fn of_columns(metadata: &ArrowReaderMetadata) -> Vec<Option<Self>> {
        let schema = metadata.schema();
        let mut names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        names.sort_unstable();
        // The converter finds columns by name.
        let is_unique = |name: &str| names.iter().filter(|&&known| known == name).count() == 1;
        let of = |field: &std::sync::Arc<arrow_schema::Field>| {
            if field.data_type().is_nested() || !is_unique(field.name()) {
                return None;
            }
            catch_panics("statistics", || Self::read(field.name(), metadata)).ok()
        };
        schema.fields().iter().map(of).collect()
    }

    fn read(name: &str, metadata: &ArrowReaderMetadata) -> Result<Self> {
        let failed =
            |err: parquet::errors::ParquetError| Error::malformed("statistics", err.to_string());
        let converter =
            StatisticsConverter::try_new(name, metadata.schema(), metadata.parquet_schema())
                .map_err(failed)?
                .with_missing_null_counts_as_zero(false);
        let groups = metadata.metadata().row_groups();
        let exact = |exact: arrow_array::BooleanArray| -> Vec<bool> {
            exact.iter().map(|exact| exact.unwrap_or(false)).collect()
        };
        let min_is_exact = exact(converter.row_group_is_min_value_exact(groups).map_err(failed)?);
        let max_is_exact = exact(converter.row_group_is_max_value_exact(groups).map_err(failed)?);
        let both = min_is_exact.into_iter().zip(max_is_exact).map(|(min, max)| min && max);
        // Old writers compared bytes as signed numbers.
        let is_old = |group: &RowGroupMetaData| {
            let index = converter.parquet_column_index().unwrap_or(usize::MAX);
            let statistics = group.columns().get(index).and_then(|chunk| chunk.statistics());
            statistics.is_some_and(|statistics| statistics.is_min_max_deprecated())
        };
        if groups.iter().any(is_old) {
            return Err(Error::unsupported("statistics in the old order"));
        }
        Ok(Self {
            name: name.to_owned(),
            min: converter.row_group_mins(groups).map_err(failed)?,
            max: converter.row_group_maxes(groups).map_err(failed)?,
            is_exact: both.collect(),
            null_counts: converter.row_group_null_counts(groups).map_err(failed)?.iter().collect(),
            rows: groups.iter().map(|g| u64::try_from(g.num_rows()).unwrap_or(0)).collect(),
        })
    }

    /// Returns the statistics of the whole column.
    pub(super) fn of_table(&self) -> ColumnStatistics {
        let mut whole = ColumnStatistics::default();
        whole.null_count = self.null_counts.iter().copied().sum();
        // Bounds of several row groups are compared as values of one type.
        let knows_all = self.rows.iter().enumerate().all(|(group, &rows)| {
            let is_empty = rows == 0 || self.null_counts.get(group) == Some(&Some(rows));
            is_empty || (self.min.is_valid(group) && self.max.is_valid(group))
        });
        if knows_all && !self.min.is_empty() {
            whole.min = extreme(&self.min, true);
            whole.max = extreme(&self.max, false);
            whole.is_exact = self.is_exact.iter().all(|&exact| exact);
        }
        whole
    }
}

/// Returns the smallest or largest value of an array, as an array of one row.
fn extreme(values: &ArrayRef, smallest: bool) -> Option<ArrayRef> {
    let options = arrow_schema::SortOptions { descending: !smallest, nulls_first: false };
    let first = arrow_ord::sort::sort_limit(values, Some(options), Some(1)).ok()?;
    first.is_valid(0).then_some(first)
}

/// The statistics of one row group, for predicates.
#[derive(Debug)]
pub(super) struct RowGroupStatistics<'a> {
    columns: &'a [Option<ChunkStatistics>],
    group: usize,
    /// The smallest and the largest text of each column.
    texts: Vec<Option<(Vec<u8>, Vec<u8>)>>,
}

impl<'a> RowGroupStatistics<'a> {
    pub(super) fn new(columns: &'a [Option<ChunkStatistics>], group: usize) -> Self {
        let texts = columns.iter().map(|column| column.as_ref()?.texts(group)).collect();
        Self { columns, group, texts }
    }

    fn find(&self, name: &str) -> Option<(usize, &'a ChunkStatistics)> {
        self.columns.iter().enumerate().find_map(|(index, column)| {
            column.as_ref().filter(|column| column.name == name).map(|column| (index, column))
        })
    }
}

impl ChunkStatistics {
    fn texts(&self, group: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        let text = |values: &ArrayRef| {
            if !is_text(values.data_type()) || values.is_null(group) {
                return None;
            }
            let value = cast::cast(&values.slice(group, 1), &DataType::Utf8).ok()?;
            Some(value.as_string::<i32>().value(0).as_bytes().to_vec())
        };
        Some((text(&self.min)?, text(&self.max)?))
    }

    fn numbers(&self, group: usize) -> Option<(Decimal, Decimal)> {
        let number = |values: &ArrayRef| {
            // A float of 32 bits prints as another number than the one it is.
            let is_short = matches!(values.data_type(), DataType::Float16 | DataType::Float32);
            let is_number = values.data_type().is_numeric() && !is_short;
            let value = Some(values).filter(|_| is_number)?.slice(group, 1);
            let text = cast::cast(&value, &DataType::Utf8).ok()?;
            let text = text.as_string::<i32>();
            text.is_valid(0).then(|| Decimal::parse(text.value(0).as_bytes()))?
        };
        Some((number(&self.min)?, number(&self.max)?))
    }

    /// Returns whether a row group has nulls, and whether it has values.
    fn presence(&self, group: usize) -> (bool, bool) {
        match (self.null_counts.get(group), self.rows.get(group)) {
            (Some(&Some(nulls)), Some(&rows)) => (nulls > 0, nulls < rows),
            _ => (true, true),
        }
    }
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

impl PruningStatistics for RowGroupStatistics<'_> {
    fn numbers(&self, column: &str) -> NumberBounds {
        let bounds = self.find(column).and_then(|(_, column)| column.numbers(self.group));
        bounds.map_or(NumberBounds::Unknown, |(min, max)| NumberBounds::Between(min, max))
    }

    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        let (index, _) = self.find(column)?;
        let (min, max) = self.texts.get(index)?.as_ref()?;
        Some(TextBounds { min, max })
    }

    fn cells(&self, column: &str) -> CellPresence {
        let Some((index, column)) = self.find(column) else { return CellPresence::default() };
        let (nulls, values) = column.presence(self.group);
        let empty_text = match self.texts.get(index) {
            Some(Some((min, _))) => min.is_empty(),
            _ => is_text(column.min.data_type()) && values,
        };
        CellPresence { blank: nulls || empty_text, filled: values }
    }
}
