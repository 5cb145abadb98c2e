//! A table of any types, as a format can hold it.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::cast::{cast, text_without_nulls};
use crate::error::{Error, Result};
use crate::table::{ColumnStats, Table};
use crate::types::{Capabilities, ColumnType};

/// What a caller decides about the types of a table.
#[derive(Clone, Debug, Default)]
pub struct CoerceOptions {
    /// Columns whose type is given, by name.
    pub types: Vec<(String, ColumnType)>,
    /// The text that stands for null where the target has none.
    pub null_word: Option<String>,
}

/// A table seen through the types that a target has.
///
/// Only what loses nothing is done unasked: integers change width if every one
/// fits, and types that the target lacks become text. Everything else is
/// refused, with the way out.
pub struct CoercedTable<'a> {
    table: &'a dyn Table,
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
    /// Decides the type of every column; looks at values where types do not say.
    ///
    /// # Errors
    ///
    /// A type that was asked for and does not exist for the target, and names
    /// in `options` that the table does not have.
    pub fn try_new(
        table: &'a dyn Table,
        capabilities: Capabilities,
        options: &CoerceOptions,
    ) -> Result<Self> {
        let given = table.schema();
        for (name, _) in &options.types {
            if !given.fields().iter().any(|field| field.name() == name) {
                return Err(Error::invalid_argument(format!("there is no column `{name}`")));
            }
        }
        let mut fields = Vec::new();
        let mut casts = Vec::new();
        for (index, field) in given.fields().iter().enumerate() {
            let asked = options.types.iter().find(|(name, _)| name == field.name());
            let stats = || table.stats(index).map_err(|err| err.in_column(index, field.name()));
            let mut to = match asked {
                Some((_, asked)) => asked.data_type(),
                None => natural(field.data_type(), capabilities, stats)?,
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

/// The type that a column gets when nobody asks for one.
fn natural(
    given: &DataType,
    capabilities: Capabilities,
    stats: impl FnOnce() -> Result<ColumnStats>,
) -> Result<DataType> {
    Ok(match given {
        DataType::Binary | DataType::LargeBinary if capabilities.binary => given.clone(),
        DataType::BinaryView | DataType::FixedSizeBinary(_) if capabilities.binary => {
            DataType::Binary
        }
        DataType::Utf8 | DataType::LargeUtf8 => given.clone(),
        _ if !capabilities.numbers => DataType::Utf8,
        DataType::Int64 if !capabilities.int64 && stats()?.first_beyond_i32.is_none() => {
            DataType::Int32
        }
        DataType::Int64 if !capabilities.int64 => DataType::Int64, // refused by the writer, by column
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => DataType::Int32,
        DataType::UInt32 if capabilities.int64 => DataType::Int64,
        DataType::Float16 | DataType::Float32 => DataType::Float64,
        other if ColumnType::of(other).is_some() => other.clone(),
        _ => DataType::Utf8,
    })
}

impl Table for CoercedTable<'_> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.table.rows()
    }

    fn column(&self, index: usize) -> Result<Vec<ArrayRef>> {
        let pieces = self.table.column(index)?;
        let Some(Cast { to, null_word, changes: true }) = self.casts.get(index) else {
            return Ok(pieces);
        };
        let mut before = 0;
        let mut fitted = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let rows = piece.len() as u64;
            let array = match null_word {
                Some(word) => text_without_nulls(&piece, word),
                None => cast(&piece, to),
            };
            fitted.push(array.map_err(|err| shifted(err, before))?);
            before += rows;
        }
        Ok(fitted)
    }

    fn stats(&self, index: usize) -> Result<ColumnStats> {
        match self.casts.get(index) {
            Some(Cast { changes: false, .. }) => self.table.stats(index),
            _ => Ok(ColumnStats::of(&self.column(index)?)),
        }
    }
}

/// Counts the row of an error from the start of the table, not of the piece.
fn shifted(err: Error, before: u64) -> Error {
    match (err.row(), before) {
        (Some(row), 1..) => err.at_row(before.saturating_add(row)),
        _ => err,
    }
}
