//! Coerces the columns of a table to types that a format can store.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::cast::{cast, text_without_nulls};
use crate::column_source::{ColumnSource, ColumnStats};
use crate::error::{Error, Result};
use crate::projection::{field_names, unknown_column};
use crate::types::{Capabilities, ColumnType};

/// Options for the types of a coerced table.
#[derive(Clone, Debug, Default)]
pub struct CoerceOptions {
    /// Columns with a requested type, by name.
    pub types: Vec<(String, ColumnType)>,
    /// The text that replaces null if the target format has no nulls.
    pub null_word: Option<String>,
}

/// A table whose columns are cast to types that a target format can store.
///
/// Without options, only lossless casts happen: integers change their width if every
/// value fits, and types that the target lacks become text. Everything else is an error
/// that says what the user can do.
pub struct CoercedTable<'a> {
    table: &'a dyn ColumnSource,
    schema: SchemaRef,
    casts: Vec<Cast>,
}

#[derive(Clone, Debug)]
struct Cast {
    to: DataType,
    null_word: Option<String>,
    changes: bool,
}

impl std::fmt::Debug for CoercedTable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CoercedTable").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl<'a> CoercedTable<'a> {
    /// Chooses the type of every column; reads values where the schema is not enough.
    ///
    /// # Errors
    ///
    /// Fails if `options` name a column that the table does not have, and if the
    /// statistics of a column cannot be computed.
    pub fn try_new(
        table: &'a dyn ColumnSource,
        capabilities: Capabilities,
        options: &CoerceOptions,
    ) -> Result<Self> {
        let schema = table.schema();
        for (name, _) in &options.types {
            if !schema.fields().iter().any(|field| field.name() == name) {
                return Err(unknown_column(name, field_names(&schema)));
            }
        }
        let mut fields = Vec::new();
        let mut casts = Vec::new();
        for (index, field) in schema.fields().iter().enumerate() {
            let requested = options.types.iter().find(|(name, _)| name == field.name());
            let stats = || table.stats(index).map_err(|err| err.in_column(index, field.name()));
            let mut to = match requested {
                Some((_, requested)) => requested.data_type(),
                None => default_type(field.data_type(), capabilities, stats)?,
            };
            let mut null_word = None;
            if !capabilities.nulls
                && let Some(word) = &options.null_word
                && stats()?.nulls > 0
            {
                (to, null_word) = (DataType::Utf8, Some(word.clone()));
            }
            let changes = &to != field.data_type() || null_word.is_some();
            fields.push(Field::new(field.name(), to.clone(), field.is_nullable()));
            casts.push(Cast { to, null_word, changes });
        }
        Ok(Self { table, schema: Arc::new(Schema::new(fields)), casts })
    }
}

/// Returns the type of a column for which no type was requested.
fn default_type(
    source: &DataType,
    capabilities: Capabilities,
    stats: impl FnOnce() -> Result<ColumnStats>,
) -> Result<DataType> {
    Ok(match source {
        DataType::Binary | DataType::LargeBinary if capabilities.binary => source.clone(),
        DataType::BinaryView | DataType::FixedSizeBinary(_) if capabilities.binary => {
            DataType::Binary
        }
        DataType::Utf8 | DataType::LargeUtf8 => source.clone(),
        _ if !capabilities.numbers => DataType::Utf8,
        DataType::Int64 if !capabilities.int64 && stats()?.first_beyond_i32.is_none() => {
            DataType::Int32
        }
        DataType::Int64 if !capabilities.int64 => DataType::Int64, // the writer refuses it and names the column
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => DataType::Int32,
        DataType::UInt32 if capabilities.int64 => DataType::Int64,
        DataType::Float16 | DataType::Float32 => DataType::Float64,
        other if ColumnType::of(other).is_some() => other.clone(),
        _ => DataType::Utf8,
    })
}

impl ColumnSource for CoercedTable<'_> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.table.rows()
    }

    fn column(&self, index: usize) -> Result<Vec<ArrayRef>> {
        let chunks = self.table.column(index)?;
        let Some(Cast { to, null_word, changes: true }) = self.casts.get(index) else {
            return Ok(chunks);
        };
        let mut before = 0;
        let mut coerced = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let rows = chunk.len() as u64;
            let array = match null_word {
                Some(word) => text_without_nulls(&chunk, word),
                None => cast(&chunk, to),
            };
            coerced.push(array.map_err(|err| shifted(err, before))?);
            before += rows;
        }
        Ok(coerced)
    }

    fn stats(&self, index: usize) -> Result<ColumnStats> {
        match self.casts.get(index) {
            Some(Cast { changes: false, .. }) => self.table.stats(index),
            _ => Ok(ColumnStats::of(&self.column(index)?)),
        }
    }
}

/// Changes the row of an error from one of the chunk to one of the table.
fn shifted(err: Error, before: u64) -> Error {
    match (err.row(), before) {
        (Some(row), 1..) => err.at_row(before.saturating_add(row)),
        _ => err,
    }
}
