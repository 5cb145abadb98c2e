//! The engine as a database of sqllogictest.

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::DataFusionError;
use datafusion::prelude::SessionContext;
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType};

pub(crate) struct Database(pub(crate) SessionContext);

#[async_trait]
impl AsyncDB for Database {
    type Error = DataFusionError;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, DataFusionError> {
        let frame = self.0.sql(sql).await?;
        let schema = frame.schema().inner().clone();
        let batches = frame.collect().await?;
        if schema.fields().is_empty() {
            return Ok(DBOutput::StatementComplete(0));
        }
        let types = schema.fields().iter().map(|field| column_type(field.data_type())).collect();
        let rows = batches.iter().flat_map(rows_of).collect();
        Ok(DBOutput::Rows { types, rows })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "datafusion"
    }
}

fn column_type(data_type: &DataType) -> DefaultColumnType {
    match data_type {
        DataType::Dictionary(_, values) => column_type(values),
        of if of.is_integer() => DefaultColumnType::Integer,
        of if of.is_numeric() => DefaultColumnType::FloatingPoint,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DefaultColumnType::Text,
        _ => DefaultColumnType::Any,
    }
}

/// Returns the cells of a batch as text.
pub(crate) fn rows_of(batch: &RecordBatch) -> Vec<Vec<String>> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<_> = batch
        .columns()
        .iter()
        .map(|array| ArrayFormatter::try_new(array, &options).unwrap())
        .collect();
    let cell = |text: String| match text.as_str() {
        "" => "(empty)".to_owned(),
        _ => text.replace('\n', "\\n"),
    };
    let row = |row| columns.iter().map(|column| cell(column.value(row).to_string())).collect();
    (0..batch.num_rows()).map(row).collect()
}
