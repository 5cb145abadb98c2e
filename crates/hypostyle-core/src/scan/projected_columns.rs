//! The columns that a scan returns: columns of the table, and parts of nested ones.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};

use super::options::ColumnRef;
use crate::error::Result;
use crate::predicate::ColumnPath;
use crate::projection::{Selector, select};
use crate::reader::batch;

/// The columns that a scan returns, in order.
#[derive(Debug)]
pub(super) struct ProjectedColumns {
    /// The columns of the table to read, one for each returned column.
    pub(super) columns: Vec<usize>,
    /// The part of the column that is returned, if not the whole.
    paths: Vec<Option<ColumnPath>>,
    pub(super) schema: SchemaRef,
}

impl ProjectedColumns {
    /// Finds columns in a schema; all of them for `None`.
    ///
    /// # Errors
    ///
    /// Fails for a name, path or position that does not exist.
    pub(super) fn find(schema: &Schema, wanted: Option<&[ColumnRef]>) -> Result<Self> {
        let Some(wanted) = wanted else {
            let columns: Vec<usize> = (0..schema.fields().len()).collect();
            let paths = columns.iter().map(|_| None).collect();
            return Ok(Self { columns, paths, schema: Arc::new(schema.clone()) });
        };
        let (mut columns, mut paths, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        for ColumnRef(selector) in wanted {
            if let Some((path, name)) = nested(schema, selector)? {
                fields.push(Arc::new(Field::new(name, path.data_type.clone(), true)));
                columns.push(path.index);
                paths.push(Some(path));
                continue;
            }
            for column in select(schema, std::slice::from_ref(selector))? {
                fields.extend(schema.fields().get(column).cloned());
                columns.push(column);
                paths.push(None);
            }
        }
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        Ok(Self { columns, paths, schema: Arc::new(schema) })
    }

    /// Returns a batch of arrays that were read for [`ProjectedColumns::columns`].
    pub(super) fn batch(&self, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let part = |(array, path): (ArrayRef, &Option<ColumnPath>)| match path {
            Some(path) => path.extract(&array),
            None => Ok(array),
        };
        let arrays = arrays.into_iter().zip(&self.paths).map(part).collect::<Result<Vec<_>>>()?;
        batch(&self.schema, arrays, rows)
    }
}

/// Returns the part of a nested column that a selector names, if no column has that name.
///
/// # Errors
///
/// Fails for a name that is neither a column nor a part of one.
fn nested<'s>(schema: &Schema, selector: &'s Selector) -> Result<Option<(ColumnPath, &'s str)>> {
    let Selector::Name(name) = selector else { return Ok(None) };
    if schema.fields().iter().any(|field| field.name() == name) {
        return Ok(None);
    }
    Ok(Some((ColumnPath::resolve(schema, name)?, name)))
}
