//! Batches as Arrow streams.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::{ArrowError, Field, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};

/// Exports batches as a stream of the Arrow C interface.
///
/// A panic that reached the C interface would end the process, and so would an error message
/// with a NUL byte, which text from a file can bring about.
pub(crate) fn export<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
    requested_schema: Option<Bound<'py, PyCapsule>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let field = Field::new_struct("", schema.fields().clone(), false);
    let field = Arc::new(field.with_metadata(schema.metadata().clone()));
    let arrays = Guarded { batches: Some(batches) };
    let reader = Box::new(ArrayIterator::new(arrays, field));
    Ok(to_stream_pycapsule(py, reader, requested_schema)?)
}

/// Batches as struct arrays, until the first error.
struct Guarded<I> {
    batches: Option<I>,
}

impl<I: Iterator<Item = Result<RecordBatch, ArrowError>>> Iterator for Guarded<I> {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batches = self.batches.as_mut()?;
        let next = catch_unwind(AssertUnwindSafe(|| batches.next()));
        let next = next.unwrap_or_else(|_| {
            Some(Err(ArrowError::ComputeError("the library panicked; please report it".into())))
        });
        match next {
            Some(Ok(batch)) => Some(Ok(Arc::new(StructArray::from(batch)))),
            Some(Err(err)) => {
                self.batches = None;
                Some(Err(without_nul(err)))
            }
            None => {
                self.batches = None;
                None
            }
        }
    }
}

fn without_nul(error: ArrowError) -> ArrowError {
    let text = error.to_string();
    if !text.contains('\0') {
        return error;
    }
    let text = text.replace('\0', "\\0");
    match error {
        ArrowError::IoError(_, cause) => ArrowError::IoError(text, cause),
        _ => ArrowError::ComputeError(text),
    }
}
