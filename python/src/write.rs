//! Writes tables.

use std::collections::HashMap;
use std::io::BufWriter;
use std::num::NonZeroUsize;

use hypostyle::{
    Destination, DuplicateNames, FileKind, SeekSink, WriteOptions, Writer, WriterOptions,
};
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;

use crate::arguments::{format_id, requested_type};
use crate::errors;
use crate::interrupt;
use crate::sink::Output;

/// Writes a table to a file, and returns the number of rows.
///
/// A path gets the file when it is complete. Values that the format cannot hold without loss are
/// refused.
///
/// Args:
///     data: Anything with `__arrow_c_stream__` or `__arrow_c_array__`.
///     to: A path, or a binary file object that can seek.
///     format: The format; by default that of the extension.
///     level: The compression level, where the format has one.
///     threads: The number of threads to work with; by default one per core.
///     types: Types of columns, such as `{"id": "int64"}`.
///     null: The text for null in CSV and in formats without nulls, which else refuse them.
///     keep_names: Whether equal names are written, where the format allows it; else refused.
///     replace: Whether a file with the same path is replaced.
///     memory_limit: The bytes of rows that wait in memory; more wait in a temporary file.
#[pyfunction]
#[pyo3(name = "_write", signature = (data, to, *, format=None, level=None, threads=None, types=None, null=None, keep_names=false, replace=true, memory_limit=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn write(
    py: Python<'_>,
    data: AnyRecordBatch,
    to: &Bound<'_, PyAny>,
    format: Option<&str>,
    level: Option<u8>,
    threads: Option<usize>,
    types: Option<HashMap<String, String>>,
    null: Option<String>,
    keep_names: bool,
    replace: bool,
    memory_limit: Option<u64>,
) -> PyResult<u64> {
    let output = Output::extract(to)?;
    let format = match (format, &output) {
        (Some(name), _) => format_id(name)?,
        (None, Output::Path(path)) => {
            let extension = path.extension().map(|extension| extension.to_string_lossy());
            let kind = extension.as_deref().and_then(FileKind::by_extension);
            let unknown = || {
                let path = path.display();
                errors::invalid(format!(
                    "the extension of `{path}` is of no known format: give `format`"
                ))
            };
            kind.ok_or_else(unknown)?.id()
        }
        (None, Output::File(_)) => {
            return Err(errors::invalid("a file object has no extension: give `format`"));
        }
    };
    let mut encode = WriteOptions::default();
    encode.level = level.unwrap_or(encode.level);
    encode.threads = threads.and_then(NonZeroUsize::new);
    if keep_names {
        encode.duplicate_names = DuplicateNames::Keep;
    }
    let mut options = WriterOptions::default().with_encode(encode).with_replace(replace);
    options.null_word = null;
    options.memory = memory_limit.unwrap_or(options.memory);
    for (column, name) in types.into_iter().flatten() {
        options.types.push((column, requested_type(&name)?));
    }
    let batches = data.into_reader()?;
    let path = match &output {
        Output::Path(path) => Some(path.clone()),
        Output::File(_) => None,
    };
    interrupt::run(py, move |canceled| {
        let failed = |err: hypostyle::Error| match &path {
            Some(path) => errors::in_path(err, path),
            None => errors::to_py(err),
        };
        let to = match output {
            Output::Path(path) => Destination::Path(path),
            Output::File(file) => {
                let sink = SeekSink::try_new(BufWriter::new(file));
                Destination::Sink(Box::new(sink.map_err(|err| failed(err.into()))?))
            }
        };
        let mut writer = Writer::create(to, format, batches.schema(), &options).map_err(failed)?;
        for batch in batches {
            canceled.check()?;
            let batch = batch.map_err(pyo3_arrow::error::PyArrowError::from)?;
            writer.write(&batch).map_err(failed)?;
        }
        writer.finish().map_err(failed)
    })
}
