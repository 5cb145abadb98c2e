//! The columns that a scan returns.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use datafusion::arrow::compute::CastOptions;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::{Result, cast_column};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;

use crate::open_file::OpenFile;
use crate::request::ScanRequest;

/// The columns that a scan returns, and where they come from.
pub(crate) struct OutputColumns {
    pub(crate) schema: SchemaRef,
    /// The columns of the file that are read.
    pub(crate) read: Vec<usize>,
    /// For each column of the output, its place among the columns that are read.
    places: Vec<Option<usize>>,
}

impl OutputColumns {
    pub(crate) fn new(
        file: &OpenFile,
        request: &ScanRequest,
        residual: Option<&Arc<dyn PhysicalExpr>>,
    ) -> Result<Self> {
        let mut columns = request.columns.clone();
        if let Some(residual) = residual {
            let mut more: Vec<usize> =
                collect_columns(residual).iter().map(|column| column.index()).collect();
            more.sort_unstable();
            columns.extend(more.into_iter().filter(|index| !request.columns.contains(index)));
        }
        let schema: Schema = request.file_schema.project(&columns)?;
        let (mut read, mut places) = (Vec::new(), Vec::new());
        for field in schema.fields() {
            let found = file.schema.column_with_name(field.name());
            places.push(found.map(|(index, _)| {
                read.push(index);
                read.len() - 1
            }));
        }
        Ok(Self { schema: Arc::new(schema), read, places })
    }

    /// Casts the columns of a batch of the file to the types of the table.
    pub(crate) fn adapt(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let column =
            |(place, field): (&Option<usize>, &Arc<datafusion::arrow::datatypes::Field>)| {
                let to = field.data_type();
                let found = place.and_then(|place| batch.columns().get(place));
                let Some(array) = found else { return Ok(new_null_array(to, rows)) };
                if array.data_type() == to {
                    return Ok(array.clone());
                }
                if array.null_count() == rows {
                    return Ok(new_null_array(to, rows));
                }
                cast_column(array, to, &options)
            };
        let arrays = self.places.iter().zip(self.schema.fields()).map(column);
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)?)
    }
}
