//! Opens files as tables.

use std::collections::HashMap;
use std::sync::Arc;

use hypostyle::{FormatId, OpenOptions};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::arguments::{format_id, read_options, requested_type};
use crate::errors;
use crate::interrupt;
use crate::memory_table::MemoryTable;
use crate::scan::{ColumnArg, Scan, ScanArgs, filter_of};
use crate::schema::Schema;
use crate::source::Input;

/// A table in a file.
///
/// It is read when and where a scan needs it. Other packages take it as it is, through the Arrow
/// PyCapsule protocol; they read all columns then, so use `scan` to choose.
#[pyclass(frozen, module = "hypostyle")]
pub(crate) struct Table {
    table: hypostyle::Table,
    format: FormatId,
    label: String,
}

/// Opens a file of any kind as a table.
///
/// Args:
///     source: A path, a URL, bytes, or a binary file object that can seek.
///     format: The format, in place of the one that the content and the name show.
///     name: The name of the file, whose extension tells kinds of text apart.
///     null: Words for null in text, in place of those that are recognised.
///     types: Types of columns of text, such as `{"id": "text"}`.
///     header: Whether the first row of CSV has the names of the columns.
///     strict: Whether departures from the format are errors.
///     threads: The number of threads to work with; by default one per core.
///     memory_limit: The bytes that a read may allocate at most.
#[pyfunction]
#[pyo3(signature = (source, *, format=None, name=None, null=None, types=None, header=None, strict=false, threads=None, memory_limit=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn open(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    format: Option<&str>,
    name: Option<String>,
    null: Option<Vec<String>>,
    types: Option<HashMap<String, String>>,
    header: Option<bool>,
    strict: bool,
    threads: Option<usize>,
    memory_limit: Option<u64>,
) -> PyResult<Table> {
    let input = Input::extract(source)?;
    let mut options = OpenOptions::default();
    options.format = format.map(format_id).transpose()?;
    options.name = name.or_else(|| input.name());
    options.read = read_options(strict, threads, memory_limit);
    options.text.null_words = null.unwrap_or_default();
    options.text.header = header;
    for (column, kind) in types.into_iter().flatten() {
        options.text.types.push((column, requested_type(&kind)?));
    }
    let label = input.label();
    interrupt::run(py, move |_| {
        let source = input.source()?;
        let in_input = |err| input.error(err);
        let format = match options.format {
            Some(format) => format,
            None => hypostyle::detect_format(source.as_ref(), options.name.as_deref())
                .map_err(in_input)?,
        };
        let table = hypostyle::open_source(Arc::clone(&source), &options).map_err(in_input)?;
        Ok(Table { table, format, label })
    })
}

impl Table {
    fn arrow_schema(&self, py: Python<'_>) -> PyResult<arrow_schema::SchemaRef> {
        py.detach(|| self.table.schema().map_err(errors::to_py))
    }
}

#[pymethods]
impl Table {
    /// The name of the format.
    #[getter]
    fn format(&self) -> &'static str {
        self.format.name()
    }

    /// The names and types of the columns.
    #[getter]
    fn schema(&self, py: Python<'_>) -> PyResult<Schema> {
        self.arrow_schema(py).map(Schema)
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let schema = self.arrow_schema(py)?;
        Ok(schema.fields().iter().map(|field| field.name().clone()).collect())
    }

    /// The number of rows.
    #[getter]
    fn num_rows(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.table.num_rows().map_err(errors::to_py))
    }

    /// What the file says about itself: the format, rows, columns, row groups, departures from
    /// the specification, and metadata of its own.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reader = py.detach(|| self.table.reader().map_err(errors::to_py))?;
        let schema = reader.schema();
        let dict = PyDict::new(py);
        dict.set_item("format", self.format.name())?;
        dict.set_item("rows", reader.rows())?;
        dict.set_item("columns", schema.fields().len())?;
        dict.set_item("row_groups", reader.row_groups())?;
        let deviations: Vec<String> = reader.deviations().iter().map(ToString::to_string).collect();
        dict.set_item("deviations", deviations)?;
        dict.set_item("schema", schema.metadata().clone())?;
        Ok(dict)
    }

    /// What the metadata of the file say about each column: a dictionary by column name, with
    /// `null_count`, `min`, `max` and `is_exact`. Unknown values are None. Nothing is decoded.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let schema = self.arrow_schema(py)?;
        let all = PyDict::new(py);
        for (index, field) in schema.fields().iter().enumerate() {
            let found = py.detach(|| self.table.column_statistics(index).map_err(errors::to_py))?;
            let of_column = PyDict::new(py);
            let value = |array: Option<&arrow_array::ArrayRef>| {
                array.map(|array| scalar(py, array)).transpose()
            };
            of_column.set_item("null_count", found.null_count)?;
            of_column.set_item("min", value(found.min.as_ref())?)?;
            of_column.set_item("max", value(found.max.as_ref())?)?;
            of_column.set_item("is_exact", found.is_exact)?;
            all.set_item(field.name(), of_column)?;
        }
        Ok(all)
    }

    /// Chooses columns and rows; nothing is read yet.
    ///
    /// Args:
    ///     columns: Names or positions of columns, in the wanted order.
    ///     filter: A condition: a text such as "price > 10 and name like 'a%'", an expression of
    ///         `hypostyle.col`, or one of polars or pyarrow that can be translated.
    ///     limit: The number of rows to return at most.
    ///     rows: The first row and the one after the last, before the filter.
    ///     batch_size: The number of rows in a batch at most.
    ///     threads: The number of threads; by default one per core.
    ///     memory_limit: The bytes of memory that the scan should keep to.
    ///     skip_damaged: Whether to leave out damaged row groups; `Scan.stats` names them.
    ///     dictionaries: Whether columns with a dictionary are returned as dictionary arrays.
    #[pyo3(signature = (columns=None, filter=None, limit=None, *, rows=None, batch_size=None, threads=None, memory_limit=None, skip_damaged=false, dictionaries=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn scan(
        &self,
        py: Python<'_>,
        columns: Option<Vec<ColumnArg>>,
        filter: Option<&Bound<'_, PyAny>>,
        limit: Option<u64>,
        rows: Option<(u64, u64)>,
        batch_size: Option<usize>,
        threads: Option<usize>,
        memory_limit: Option<u64>,
        skip_damaged: bool,
        dictionaries: bool,
    ) -> PyResult<Scan> {
        let filter = filter_of(filter, || self.arrow_schema(py))?;
        let args = ScanArgs {
            columns,
            filter,
            limit,
            rows,
            take: None,
            batch_size,
            threads,
            memory_limit,
            skip_damaged,
            dictionaries,
        };
        let scan = Scan::new(self.table.clone(), args);
        scan.arrow_schema(py)?;
        Ok(scan)
    }

    /// Reads columns and rows into memory.
    #[pyo3(signature = (columns=None, filter=None, limit=None, *, threads=None))]
    fn read(
        &self,
        py: Python<'_>,
        columns: Option<Vec<ColumnArg>>,
        filter: Option<&Bound<'_, PyAny>>,
        limit: Option<u64>,
        threads: Option<usize>,
    ) -> PyResult<MemoryTable> {
        let filter = filter_of(filter, || self.arrow_schema(py))?;
        let args = ScanArgs { columns, filter, limit, threads, ..ScanArgs::default() };
        Scan::new(self.table.clone(), args).read(py)
    }

    /// Reads single rows by their numbers, in the order given.
    #[pyo3(signature = (rows, columns=None))]
    fn take(
        &self,
        py: Python<'_>,
        rows: Vec<u64>,
        columns: Option<Vec<ColumnArg>>,
    ) -> PyResult<MemoryTable> {
        let args = ScanArgs { columns, take: Some(rows), ..ScanArgs::default() };
        Scan::new(self.table.clone(), args).read(py)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.num_rows(py)?).unwrap_or(usize::MAX))
    }

    fn __repr__(&self) -> String {
        format!("Table({}, {})", self.label, self.format)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Schema(self.arrow_schema(py)?).capsule(py)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        Scan::new(self.table.clone(), ScanArgs::default()).stream(py, requested_schema)
    }
}

/// Returns the value of an array of one row as a Python object.
fn scalar<'py>(
    py: Python<'py>,
    array: &arrow_array::ArrayRef,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{
        Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
        UInt32Type, UInt64Type,
    };
    use arrow_schema::DataType;
    use pyo3::IntoPyObjectExt;

    if array.is_empty() || array.is_null(0) {
        return Ok(None);
    }
    macro_rules! number {
        ($kind:ty) => {
            array.as_primitive::<$kind>().value(0).into_bound_py_any(py)
        };
    }
    let value = match array.data_type() {
        DataType::Boolean => array.as_boolean().value(0).into_bound_py_any(py),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => number!(Float32Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Utf8 => array.as_string::<i32>().value(0).into_bound_py_any(py),
        DataType::LargeUtf8 => array.as_string::<i64>().value(0).into_bound_py_any(py),
        // Dates, timestamps and decimals are printed as the command prints them.
        _ => {
            let text = hypostyle::cast::cast(array, &DataType::Utf8).map_err(errors::to_py)?;
            text.as_string::<i32>().value(0).into_bound_py_any(py)
        }
    };
    value.map(Some)
}
