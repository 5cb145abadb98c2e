//! Coerces the columns of a table to types that a format can store.
//!
//! | Arrow type | In a format with numbers | In a format of text and bytes |
//! |---|---|---|
//! | `Int8`, `Int16`, `Int32`, `UInt8`, `UInt16` | int32 | text |
//! | `Int64` | int64; int32 if all values fit, else refused | text |
//! | `UInt32`, `UInt64` | int64 or int32 if all values fit, else text | text |
//! | `Float16`, `Float32`, `Float64` | float64 | text |
//! | `Utf8`, `LargeUtf8`, `Utf8View` | text | text |
//! | `Binary`, `LargeBinary`, `BinaryView`, `FixedSizeBinary` | text, in hexadecimal | bytes |
//! | `Boolean` | text: `true`, `false` | text |
//! | `Date32`, `Date64`, `Time32`, `Time64`, `Timestamp` | text, in ISO 8601 | text |
//! | `Duration`, `Interval`, `Decimal` | text, as Arrow prints it | text |
//! | `List`, `Struct`, `Map` and their variants | text: JSON | text: JSON |
//! | `Null` | text, all null | text, all null |
//! | `Dictionary`, `RunEndEncoded` | as the type of their values | the same |
//! | `Union` | refused | refused |
//!
//! A format without 64-bit integers stores an `Int64` as int32. A format without nulls refuses nulls, unless [`CoerceOptions::null_word`] replaces them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::cast::{cast, text_without_nulls};
use crate::column_source::{ColumnSource, ColumnStats};
use crate::error::{Error, Refusal, Result};
use crate::projection::{field_names, unknown_column};
use crate::types::{Capabilities, RequestedType};

/// Options for the types of a coerced table.
#[derive(Clone, Debug, Default)]
pub struct CoerceOptions {
    /// Columns with a requested type, by name.
    pub types: Vec<(String, RequestedType)>,
    /// The text that replaces null if the target format has no nulls.
    pub null_word: Option<String>,
}

/// A table whose columns are cast to types that a target format can store.
///
/// Without options, only lossless casts happen, by the table in [the module](self). What
/// would lose is an error that says what the user can do.
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
                None => default_type(field.data_type(), capabilities, stats)
                    .map_err(|err| err.in_column(index, field.name()))?,
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

/// Returns the type in which values wait until all of them are known.
///
/// It holds every value of `source`, and [`CoercedTable`] makes the type of the file of it.
///
/// # Errors
///
/// Fails for a type that no format stores and that has no text.
pub fn storage_type(source: &DataType, capabilities: Capabilities) -> Result<DataType> {
    Ok(match source {
        DataType::Dictionary(_, values) => storage_type(values, capabilities)?,
        DataType::RunEndEncoded(_, values) => storage_type(values.data_type(), capabilities)?,
        DataType::Union(_, _) => {
            return Err(Error::refused(
                Refusal::TypeNotSupported,
                format!("columns of type {source} are not supported"),
                "cast it to one of its types first",
            ));
        }
        DataType::Utf8 | DataType::LargeUtf8 => source.clone(),
        DataType::Binary | DataType::LargeBinary if capabilities.binary => source.clone(),
        DataType::BinaryView | DataType::FixedSizeBinary(_) if capabilities.binary => {
            DataType::Binary
        }
        _ if !capabilities.numbers => DataType::Utf8,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16 => {
            DataType::Int32
        }
        DataType::Int64 | DataType::UInt32 | DataType::UInt64 => source.clone(),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => DataType::Float64,
        _ => DataType::Utf8,
    })
}

/// Returns the type of a column for which no type was requested.
fn default_type(
    source: &DataType,
    capabilities: Capabilities,
    stats: impl FnOnce() -> Result<ColumnStats>,
) -> Result<DataType> {
    let stored = storage_type(source, capabilities)?;
    let fits_int64 = |stats: &ColumnStats| capabilities.int64 && stats.first_beyond_i64.is_none();
    Ok(match stored {
        DataType::Int64 if capabilities.int64 => stored,
        DataType::UInt32 if capabilities.int64 => DataType::Int64,
        DataType::Int64 | DataType::UInt32 | DataType::UInt64 => match stats()? {
            stats if fits_int64(&stats) => DataType::Int64,
            stats if stats.first_beyond_i32.is_none() => DataType::Int32,
            // The writer refuses it and names the column and the row.
            _ if stored == DataType::Int64 => DataType::Int64,
            _ => DataType::Utf8,
        },
        other => other,
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
