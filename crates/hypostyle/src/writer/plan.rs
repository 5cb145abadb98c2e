//! Which types the columns of a batch get before they are written.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use super::options::WriterOptions;
use crate::file_kind::FileKind;
use hypostyle_core::cast::{cast, spelled_text};
use hypostyle_core::coerce::storage_type;
use hypostyle_core::error::{Error, Refusal, Result, clipped};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::DuplicateNames;
use hypostyle_core::projection::{field_names, unknown_column};

/// The types of the batches, and what they are cast to.
#[derive(Debug)]
pub(super) struct ColumnPlan {
    /// What the caller announced.
    source: SchemaRef,
    /// What is written, or buffered for column files.
    pub(super) stored: SchemaRef,
    rows: u64,
}

impl ColumnPlan {
    pub(super) fn new(kind: FileKind, source: SchemaRef, options: &WriterOptions) -> Result<Self> {
        check_names(kind, &source, options.encode.duplicate_names)?;
        for (name, _) in &options.types {
            if !source.fields().iter().any(|field| field.name() == name) {
                return Err(unknown_column(name, field_names(&source)));
            }
        }
        let stored = |(index, field): (usize, &FieldRef)| {
            let requested = options.types.iter().find(|(name, _)| name == field.name());
            let to = match requested {
                Some((_, requested)) => requested.data_type(),
                None => stored_type(kind, field.data_type())
                    .map_err(|err| err.in_column(index, field.name()))?,
            };
            Ok(field.as_ref().clone().with_data_type(to))
        };
        let fields =
            source.fields().iter().enumerate().map(stored).collect::<Result<Vec<Field>>>()?;
        let stored = Arc::new(Schema::new_with_metadata(fields, source.metadata().clone()));
        Ok(Self { source, stored, rows: 0 })
    }

    /// Returns how many rows were cast.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Casts the columns of the next batch.
    pub(super) fn cast(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = batch.columns();
        if columns.len() != self.source.fields().len() {
            let (has, wants) = (columns.len(), self.source.fields().len());
            let why = format!("the batch has {has} columns where the file has {wants}");
            return Err(Error::invalid_argument(why));
        }
        let mut arrays = Vec::with_capacity(columns.len());
        for (index, array) in columns.iter().enumerate() {
            let (source, stored) = (self.source.field(index), self.stored.field(index));
            let array = cast_column(array, source, stored);
            arrays.push(array.map_err(|err| {
                let row = err.row().unwrap_or(0).saturating_add(self.rows);
                let err = if err.row().is_some() { err.at_row(row) } else { err };
                err.in_column(index, source.name())
            })?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(self.stored.clone(), arrays, &options)?;
        self.rows = self.rows.saturating_add(batch.num_rows() as u64);
        Ok(batch)
    }
}

fn cast_column(array: &ArrayRef, source: &Field, stored: &Field) -> Result<ArrayRef> {
    if without_encoding(array.data_type()) != without_encoding(source.data_type()) {
        let (has, wants) = (array.data_type(), source.data_type());
        let why = format!("the batch has {has} where the file has {wants}");
        return Err(Error::invalid_argument(why));
    }
    if !stored.is_nullable() && array.logical_null_count() > 0 {
        let why = "the batch has nulls in a column that was announced without them";
        return Err(Error::invalid_argument(why));
    }
    match stored.data_type() {
        // Text is spelled as it was.
        DataType::Utf8 => spelled_text(array, source),
        other => cast(array, other),
    }
}

/// Returns the type of the values, whatever their layout in memory is.
fn without_encoding(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => without_encoding(values),
        DataType::RunEndEncoded(_, values) => without_encoding(values.data_type()),
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary => DataType::Binary,
        other => other.clone(),
    }
}

/// Returns the type that a column is cast to before it is written or buffered.
fn stored_type(kind: FileKind, source: &DataType) -> Result<DataType> {
    match kind.id() {
        // An IPC file has one dictionary for each column, and batches may have others.
        FormatId::Arrow | FormatId::Parquet => Ok(match source {
            DataType::Dictionary(_, values) => stored_type(kind, values)?,
            DataType::RunEndEncoded(_, values) => stored_type(kind, values.data_type())?,
            other => other.clone(),
        }),
        _ if kind.is_text() => {
            // The writers of text print every type that has a text.
            storage_type(source, kind.capabilities()).map(|_| source.clone())
        }
        _ => storage_type(source, kind.capabilities()),
    }
}

/// Refuses names that readers of such files cannot tell apart.
fn check_names(kind: FileKind, schema: &Schema, names: DuplicateNames) -> Result<()> {
    // Of two members with one name, readers of JSON keep one, and readers of Parquet refuse the file,
    // rename one, or keep one. The column files check names themselves, each by its own rules; text
    // and Arrow have columns by position.
    let needs_names = matches!(kind.id(), FormatId::Jsonl | FormatId::Parquet);
    if !needs_names || names == DuplicateNames::Keep {
        return Ok(());
    }
    for (index, field) in schema.fields().iter().enumerate() {
        let same = |other: &FieldRef| other.name() == field.name();
        if let Some(first) = schema.fields().iter().take(index).position(same) {
            let why = format!("has the same name as column {}", first + 1);
            let way_out = format!("rename one column `{}`, or keep both", clipped(field.name()));
            return Err(
                Error::refused(Refusal::DuplicateName, why, way_out).in_column(index, field.name())
            );
        }
    }
    Ok(())
}
