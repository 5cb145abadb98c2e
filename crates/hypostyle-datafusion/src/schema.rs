//! The schema of a table of several files.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::{Result, plan_err};
use hypostyle::cast::common_type;
pub(crate) use hypostyle::cast::plain_type as plain;

use crate::open_file::OpenFile;

/// A column of a table, and the file that gave it its type.
struct MergedColumn<'a> {
    field: Field,
    from: &'a OpenFile,
    files: usize,
    /// Whether all values so far are null, so that any type will do.
    is_null: bool,
}

/// Returns the schema of a table of these files: columns by name, in the order in which they
/// first appear. A column that a file does not have is null there.
///
/// Integers of different widths become the wider ones, and 32-bit integers beside floats become
/// floats. A column with nothing but nulls fits any type.
///
/// # Errors
///
/// Fails for a column whose types differ in another way, and names both files.
pub(crate) fn merged(files: &[Arc<OpenFile>]) -> Result<SchemaRef> {
    let mut columns: Vec<MergedColumn<'_>> = Vec::new();
    for file in files {
        for (index, field) in file.schema.fields().iter().enumerate() {
            let is_null = is_all_null(file, index);
            match columns.iter_mut().find(|column| column.field.name() == field.name()) {
                None => columns.push(MergedColumn {
                    field: Field::clone(field),
                    from: file,
                    files: 1,
                    is_null,
                }),
                Some(column) => column.add(file, field, is_null)?,
            }
        }
    }
    let fields: Vec<Field> = columns
        .into_iter()
        .map(|column| {
            let is_missing = column.files < files.len();
            let is_nullable = column.field.is_nullable() || is_missing;
            column.field.with_nullable(is_nullable)
        })
        .collect();
    Ok(Arc::new(Schema::new(fields)))
}

impl<'a> MergedColumn<'a> {
    fn add(&mut self, file: &'a OpenFile, field: &Field, is_null: bool) -> Result<()> {
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
                let (one, two) = (&self.from.meta.location, &file.meta.location);
                let name = field.name();
                return plan_err!(
                    "column `{name}` is {mine} in `{one}` and {other} in `{two}`; give the table \
                     a schema, or the option `types`"
                );
            }
        };
        self.is_null &= is_null;
        let field = self.field.clone().with_data_type(common);
        self.field = field.with_nullable(nullable);
        Ok(())
    }
}

fn is_all_null(file: &OpenFile, column: usize) -> bool {
    let rows = file.reader.rows();
    rows == 0 || file.reader.column_statistics(column).null_count == Some(rows)
}
