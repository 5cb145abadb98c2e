//! What the metadata of a file say about its rows, for the optimizer.

use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};

use crate::open_file::OpenFile;

/// How much larger a file is in memory than on disk, if nothing else is known.
const EXPANSION: usize = 8;

/// Returns the statistics of a file, for the columns of the table that it belongs to.
pub(crate) fn of_file(file: &OpenFile, table: &Schema) -> Statistics {
    let rows = usize::try_from(file.reader.rows()).map_or(Precision::Absent, Precision::Exact);
    let columns = table.fields().iter().map(|field| {
        let Some((index, own)) = file.schema.column_with_name(field.name()) else {
            // The column is null in every row.
            return ColumnStatistics { null_count: rows, ..ColumnStatistics::default() };
        };
        let found = file.reader.column_statistics(index);
        let null_count = found.null_count.and_then(|count| usize::try_from(count).ok());
        // The engine orders NaN and zeros in another way than the formats do.
        let of = own.data_type();
        // The engine would return a bound of a dictionary as one, where it computes a plain value.
        let is_dictionary = matches!(of, DataType::Dictionary(..));
        let is_exact = found.is_exact && !has_floats(of) && !is_dictionary;
        let bound = |value: Option<&datafusion::arrow::array::ArrayRef>| {
            let value = value.and_then(|array| cast(array, field.data_type()).ok());
            let value = value.and_then(|array| ScalarValue::try_from_array(&array, 0).ok());
            match value.filter(|value| !value.is_null()) {
                Some(value) if is_exact => Precision::Exact(value),
                Some(value) => Precision::Inexact(value),
                None => Precision::Absent,
            }
        };
        ColumnStatistics {
            null_count: null_count.map_or(Precision::Absent, Precision::Exact),
            min_value: bound(found.min.as_ref()),
            max_value: bound(found.max.as_ref()),
            ..ColumnStatistics::default()
        }
    });
    let column_statistics = columns.collect();
    Statistics { num_rows: rows, total_byte_size: decoded_size(file), column_statistics }
}

fn has_floats(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64)
}

/// Estimates the bytes that all columns take in memory.
fn decoded_size(file: &OpenFile) -> Precision<usize> {
    let all: Vec<usize> = (0..file.schema.fields().len()).collect();
    let groups = 0..file.reader.row_groups();
    let known: Option<u64> = groups.map(|group| file.reader.column_bytes(group, &all)).sum();
    let size = known.unwrap_or_else(|| file.meta.size.saturating_mul(EXPANSION as u64));
    Precision::Inexact(usize::try_from(size).unwrap_or(usize::MAX))
}
