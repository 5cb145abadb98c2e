//! The schema of a table of several files.

use std::sync::Arc;

use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Field, Fields, Schema, SchemaRef,
};
use datafusion::common::{Result, plan_err};
use hypostyle::cast;
pub(crate) use hypostyle::cast::plain_type as plain;
use object_store::path::Path;

use crate::open_file::OpenFile;

/// The columns of a file.
pub(crate) struct FileColumns<'a> {
    pub(crate) location: &'a Path,
    pub(crate) schema: &'a Schema,
    /// Says of a column whether all of its values are known to be null.
    pub(crate) is_null: &'a dyn Fn(usize) -> bool,
}

/// A column of a table, and the file that gave it its type.
struct MergedColumn<'a> {
    field: Field,
    from: &'a Path,
    files: usize,
    /// Whether all values so far are null, so that any type will do.
    is_null: bool,
}

/// Returns the schema of a table of these open files, see [`merged`].
pub(crate) fn of_open_files(files: &[Arc<OpenFile>]) -> Result<SchemaRef> {
    let of_nulls: Vec<_> =
        files.iter().map(|file| move |column| is_all_null(file, column)).collect();
    let columns = files.iter().zip(&of_nulls).map(|(file, is_null)| FileColumns {
        location: &file.meta.location,
        schema: &file.schema,
        is_null,
    });
    merged(columns)
}

/// Returns the schema of a table of files: columns by name, in the order in which they first
/// appear. A column that a file does not have is null there.
///
/// Types widen where every value keeps its meaning, see [`common_type`]. A column with nothing but
/// nulls fits any type. Metadata of a column, such as how its values are spelled in text, stay if
/// all files agree on them.
///
/// # Errors
///
/// Fails for a column whose types differ in another way, and names both files.
pub(crate) fn merged<'a>(files: impl IntoIterator<Item = FileColumns<'a>>) -> Result<SchemaRef> {
    let mut columns: Vec<MergedColumn<'_>> = Vec::new();
    let mut count = 0;
    for file in files {
        count += 1;
        for (index, field) in file.schema.fields().iter().enumerate() {
            let is_null = (file.is_null)(index);
            match columns.iter_mut().find(|column| column.field.name() == field.name()) {
                None => columns.push(MergedColumn {
                    field: Field::clone(field),
                    from: file.location,
                    files: 1,
                    is_null,
                }),
                Some(column) => column.add(file.location, field, is_null)?,
            }
        }
    }
    let fields: Vec<Field> = columns
        .into_iter()
        .map(|column| {
            let is_missing = column.files < count;
            let is_nullable = column.field.is_nullable() || is_missing;
            column.field.with_nullable(is_nullable)
        })
        .collect();
    Ok(Arc::new(Schema::new(fields)))
}

impl<'a> MergedColumn<'a> {
    fn add(&mut self, file: &'a Path, field: &Field, is_null: bool) -> Result<()> {
        self.files += 1;
        let nullable = self.field.is_nullable() || field.is_nullable();
        let (mine, other) = (self.field.data_type(), field.data_type());
        let common = match common_type(mine, other) {
            Some(common) => common,
            None if is_null => mine.clone(),
            None if self.is_null => {
                self.from = file;
                other.clone()
            }
            None => {
                let (one, two, name) = (self.from, file, field.name());
                return plan_err!(
                    "column `{name}` is {mine} in `{one}` and {other} in `{two}`; give the table \
                     a schema, or the option `types`"
                );
            }
        };
        if !is_null {
            // A column of nulls says nothing about the spelling of values.
            self.field = match self.is_null {
                true => field.clone(),
                false => with_common_metadata(self.field.clone(), field),
            };
        }
        self.is_null &= is_null;
        self.field.set_data_type(common);
        self.field.set_nullable(nullable);
        Ok(())
    }
}

/// Returns the type that holds the values of both without loss.
///
/// Integers and decimals become as wide as both need, 32-bit integers beside floats become floats,
/// dates beside timestamps become timestamps, and timestamps have the finer unit, in UTC if their
/// zones differ. Structs have the fields of both, by name.
fn common_type(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType as T;
    match (one, other) {
        (one, other) if one == other => Some(one.clone()),
        (T::Null | T::Dictionary(..), _) | (_, T::Null | T::Dictionary(..)) => {
            cast::common_type(one, other)
        }
        (T::Decimal128(..), _) | (_, T::Decimal128(..)) => common_decimal(one, other),
        (T::Date32, T::Timestamp(unit, None)) | (T::Timestamp(unit, None), T::Date32) => {
            Some(T::Timestamp(*unit, None))
        }
        (T::Timestamp(unit, zone), T::Timestamp(finer, same)) => {
            let zone = match (zone, same) {
                (one, other) if one == other => one.clone(),
                (Some(_), Some(_)) => Some("UTC".into()),
                _ => return None,
            };
            Some(T::Timestamp(*unit.max(finer), zone))
        }
        (T::List(one), T::List(other)) => Some(T::List(Arc::new(common_field(one, other)?))),
        (T::Struct(one), T::Struct(other)) => common_struct(one, other).map(T::Struct),
        _ => cast::common_type(one, other),
    }
}

/// Returns the decimal that holds two decimals, or a decimal and an integer.
fn common_decimal(one: &DataType, other: &DataType) -> Option<DataType> {
    /// Returns how many digits there are before and after the point.
    fn digits(of: &DataType) -> Option<(u8, u8)> {
        use DataType as T;
        Some(match of {
            T::Decimal128(precision, scale) => {
                let scale = u8::try_from(*scale).ok()?;
                (precision.checked_sub(scale)?, scale)
            }
            T::Int8 | T::UInt8 => (3, 0),
            T::Int16 | T::UInt16 => (5, 0),
            T::Int32 | T::UInt32 => (10, 0),
            T::Int64 => (19, 0),
            T::UInt64 => (20, 0),
            _ => return None,
        })
    }
    let ((before, after), (more_before, more_after)) = (digits(one)?, digits(other)?);
    let scale = after.max(more_after);
    let precision = before.max(more_before).saturating_add(scale);
    let is_valid = precision <= DECIMAL128_MAX_PRECISION;
    is_valid.then_some(DataType::Decimal128(precision, i8::try_from(scale).ok()?))
}

/// Returns the fields of both structs, in the order in which they first appear. One that a struct
/// does not have is null there.
fn common_struct(one: &Fields, other: &Fields) -> Option<Fields> {
    let find = |fields: &Fields, name: &str| {
        fields.iter().find(|field| field.name() == name).map(|field| field.as_ref().clone())
    };
    let mut fields = Vec::with_capacity(one.len().max(other.len()));
    for field in one {
        fields.push(match find(other, field.name()) {
            Some(other) => common_field(field, &other)?,
            None => field.as_ref().clone().with_nullable(true),
        });
    }
    let missing = other.iter().filter(|field| find(one, field.name()).is_none());
    fields.extend(missing.map(|field| field.as_ref().clone().with_nullable(true)));
    Some(fields.into())
}

fn common_field(one: &Field, other: &Field) -> Option<Field> {
    let common = common_type(one.data_type(), other.data_type())?;
    let nullable = one.is_nullable() || other.is_nullable();
    let field = with_common_metadata(one.clone(), other);
    Some(field.with_data_type(common).with_nullable(nullable))
}

/// Drops the metadata that another field does not have alike.
fn with_common_metadata(mut field: Field, other: &Field) -> Field {
    field.metadata_mut().retain(|key, value| other.metadata().get(key) == Some(value));
    field
}

fn is_all_null(file: &OpenFile, column: usize) -> bool {
    let rows = file.reader.rows();
    rows == 0 || file.reader.column_statistics(column).null_count == Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_and_times_widen_as_far_as_both_need() {
        use DataType as T;
        use datafusion::arrow::datatypes::TimeUnit::{Microsecond, Millisecond, Second};
        let decimal = T::Decimal128;
        assert_eq!(common_type(&decimal(18, 2), &decimal(18, 3)), Some(decimal(19, 3)));
        assert_eq!(common_type(&decimal(38, 2), &decimal(18, 2)), Some(decimal(38, 2)));
        assert_eq!(common_type(&decimal(38, 2), &decimal(18, 3)), None);
        assert_eq!(common_type(&T::Int64, &decimal(18, 2)), Some(decimal(21, 2)));
        assert_eq!(common_type(&decimal(4, 2), &T::Float64), None);
        let time = |unit, zone: Option<&str>| T::Timestamp(unit, zone.map(Into::into));
        let common = |one, other| common_type(&one, &other);
        assert_eq!(
            common(time(Second, None), time(Microsecond, None)),
            Some(time(Microsecond, None))
        );
        assert_eq!(
            common(time(Millisecond, Some("+01:00")), time(Second, Some("+02:00"))),
            Some(time(Millisecond, Some("UTC")))
        );
        assert_eq!(common(time(Second, None), time(Second, Some("UTC"))), None);
        assert_eq!(common(T::Date32, time(Second, None)), Some(time(Second, None)));
        assert_eq!(common(T::Date32, time(Second, Some("UTC"))), None);
    }

    #[test]
    fn nested_fields_merge_by_name_and_keep_what_metadata_they_share() {
        let field = |name: &str, of, note: &str| {
            let metadata = [("same", "1"), ("note", note)];
            let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
            Field::new(name, of, false).with_metadata(metadata.into())
        };
        let one = vec![field("a", DataType::Int32, "x"), field("b", DataType::Boolean, "x")];
        let two = vec![field("c", DataType::Date32, "y"), field("a", DataType::Int64, "y")];
        let list = |fields: Vec<Field>| {
            let item = Field::new("item", DataType::Struct(fields.into()), true);
            DataType::List(Arc::new(item))
        };
        let shared = Field::new("a", DataType::Int64, false)
            .with_metadata([("same".to_owned(), "1".to_owned())].into());
        let expected = vec![
            shared,
            field("b", DataType::Boolean, "x").with_nullable(true),
            field("c", DataType::Date32, "y").with_nullable(true),
        ];
        assert_eq!(common_type(&list(one.clone()), &list(two)), Some(list(expected)));
        assert_eq!(common_type(&list(one), &list(vec![field("a", DataType::Utf8, "x")])), None);
    }
}
