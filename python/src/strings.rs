//! Strings that are compressed in memory, with access to each.

use std::sync::Arc;

use arrow_array::builder::{LargeBinaryBuilder, LargeStringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use hypostyle::onpair::{Column, Config, Offsets, Pattern, compress as compress_strings};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PySlice, PyString, PyTuple};
use pyo3_arrow::ffi::{to_array_pycapsules, to_schema_pycapsule};
use pyo3_arrow::input::AnyArray;

use crate::errors;
use crate::interrupt;

/// Compressed strings.
///
/// `strings[i]` decodes one of them, `strings[a:b]` and `take` decode some, and searches do not
/// decode them.
#[pyclass(frozen, module = "hypostyle.onpair", sequence)]
pub(crate) struct Strings {
    column: Arc<Column<'static>>,
    /// Whether each string is null, if some are.
    nulls: Option<Vec<bool>>,
    is_text: bool,
}

/// Compresses strings.
///
/// Args:
///     strings: A list of str, bytes or None, or an Arrow array of them.
///     threads: The number of threads to work with.
#[pyfunction]
#[pyo3(signature = (strings, *, threads=1))]
pub(crate) fn compress(
    py: Python<'_>,
    strings: &Bound<'_, PyAny>,
    threads: usize,
) -> PyResult<Strings> {
    let (values, nulls, is_text) = match strings.extract::<AnyArray>() {
        Ok(array) => from_arrow(array)?,
        Err(_) => from_list(strings)?,
    };
    interrupt::run(py, move |_| {
        let mut config = Config::default();
        config.threads = threads.max(1);
        let column = compress_strings(&values[..], &config).and_then(Column::new);
        let column = column.map_err(|err| errors::invalid(err.to_string()))?;
        Ok(Strings { column: Arc::new(column), nulls, is_text })
    })
}

/// An Arrow array in memory.
///
/// Other packages take it through the Arrow PyCapsule protocol, such as `pyarrow.array(array)`.
#[pyclass(frozen, module = "hypostyle.onpair")]
pub(crate) struct ArrowArray {
    array: ArrayRef,
    field: Arc<Field>,
}

#[pymethods]
impl ArrowArray {
    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __repr__(&self) -> String {
        format!("ArrowArray({} values, {})", self.array.len(), self.field.data_type())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.field.as_ref())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let field = self.field.clone();
        Ok(to_array_pycapsules(py, field, self.array.as_ref(), requested_schema)?)
    }
}

/// The strings, which of them are null, and whether they are text.
type Values = (Vec<Vec<u8>>, Option<Vec<bool>>, bool);

fn from_list(strings: &Bound<'_, PyAny>) -> PyResult<Values> {
    let (mut values, mut nulls) = (Vec::new(), Vec::new());
    let mut is_text = None;
    for item in strings.try_iter()? {
        let item = item?;
        let (value, kind) = if item.is_none() {
            (Vec::new(), None)
        } else if let Ok(text) = item.cast::<PyString>() {
            (text.to_str()?.as_bytes().to_vec(), Some(true))
        } else if let Ok(bytes) = item.cast::<PyBytes>() {
            (bytes.as_bytes().to_vec(), Some(false))
        } else {
            let kind = item.get_type().name()?;
            return Err(PyTypeError::new_err(format!("expected str, bytes or None, not `{kind}`")));
        };
        if is_text.is_some() && kind.is_some() && is_text != kind {
            return Err(PyTypeError::new_err("the strings are partly str and partly bytes"));
        }
        is_text = is_text.or(kind);
        values.push(value);
        nulls.push(item.is_none());
    }
    let nulls = nulls.contains(&true).then_some(nulls);
    Ok((values, nulls, is_text.unwrap_or(true)))
}

fn from_arrow(array: AnyArray) -> PyResult<Values> {
    let (mut values, mut nulls) = (Vec::new(), Vec::new());
    let mut is_text = true;
    for chunk in array.into_reader()? {
        let chunk = chunk.map_err(pyo3_arrow::error::PyArrowError::from)?;
        let mut push = |value: Option<&[u8]>| {
            values.push(value.unwrap_or_default().to_vec());
            nulls.push(value.is_none());
        };
        match chunk.data_type() {
            DataType::Utf8 => {
                chunk.as_string::<i32>().iter().for_each(|it| push(it.map(str::as_bytes)))
            }
            DataType::LargeUtf8 => {
                chunk.as_string::<i64>().iter().for_each(|it| push(it.map(str::as_bytes)));
            }
            DataType::Utf8View => {
                chunk.as_string_view().iter().for_each(|it| push(it.map(str::as_bytes)));
            }
            DataType::Binary => chunk.as_binary::<i32>().iter().for_each(&mut push),
            DataType::LargeBinary => chunk.as_binary::<i64>().iter().for_each(&mut push),
            DataType::BinaryView => chunk.as_binary_view().iter().for_each(&mut push),
            other => {
                let why = format!("expected an array of text or bytes, not of `{other}`");
                return Err(PyTypeError::new_err(why));
            }
        }
        is_text =
            matches!(chunk.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    }
    let nulls = nulls.contains(&true).then_some(nulls);
    Ok((values, nulls, is_text))
}

/// A needle: text or bytes.
#[derive(FromPyObject)]
enum Needle {
    Text(String),
    Bytes(Vec<u8>),
}

impl Needle {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl Strings {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.get(row).copied().unwrap_or(false))
    }

    fn object<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        if self.is_null(row) {
            return Ok(py.None().into_bound(py));
        }
        let bytes = self.column.get(row).map_err(|err| errors::invalid(err.to_string()))?;
        if self.is_text {
            // Text came in as text, and comes out as it was.
            return String::from_utf8_lossy(&bytes).into_bound_py_any(py);
        }
        PyBytes::new(py, &bytes).into_bound_py_any(py)
    }

    fn row(&self, index: isize) -> PyResult<usize> {
        let len = self.column.len();
        let row =
            if index < 0 { len.checked_add_signed(index) } else { usize::try_from(index).ok() };
        row.filter(|&row| row < len).ok_or_else(|| {
            PyIndexError::new_err(format!("{index} is out of range: there are {len} strings"))
        })
    }

    fn array(&self, rows: &[usize]) -> PyResult<ArrayRef> {
        let failed = |err: hypostyle::onpair::Error| errors::invalid(err.to_string());
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        self.column.take(rows, &mut bytes, &mut ends).map_err(failed)?;
        let mut start = 0;
        let mut cells = Vec::with_capacity(rows.len());
        for (&row, end) in rows.iter().zip(ends) {
            let cell = bytes.get(start..end).unwrap_or_default();
            cells.push((!self.is_null(row)).then_some(cell));
            start = end;
        }
        if self.is_text {
            let mut builder = LargeStringBuilder::with_capacity(cells.len(), bytes.len());
            for cell in cells {
                builder.append_option(cell.map(String::from_utf8_lossy));
            }
            return Ok(Arc::new(builder.finish()));
        }
        let mut builder = LargeBinaryBuilder::with_capacity(cells.len(), bytes.len());
        cells.into_iter().for_each(|cell| builder.append_option(cell));
        Ok(Arc::new(builder.finish()))
    }

    fn find(&self, py: Python<'_>, pattern: &Pattern<'_>) -> Vec<usize> {
        let mut found = py.detach(|| self.column.find(pattern));
        found.retain(|&row| !self.is_null(row));
        found
    }

    fn field(&self) -> Field {
        let kind = if self.is_text { DataType::LargeUtf8 } else { DataType::LargeBinary };
        Field::new("", kind, true)
    }
}

#[pymethods]
impl Strings {
    fn __len__(&self) -> usize {
        self.column.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(self.column.len().try_into()?)?;
            let mut objects = Vec::with_capacity(range.slicelength);
            let mut row = range.start;
            for _ in 0..range.slicelength {
                objects.push(self.object(py, self.row(row)?)?);
                row += range.step;
            }
            return objects.into_bound_py_any(py);
        }
        self.object(py, self.row(index.extract()?)?)
    }

    /// The strings with these numbers, as a list.
    fn take<'py>(&self, py: Python<'py>, rows: Vec<isize>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        rows.into_iter().map(|index| self.object(py, self.row(index)?)).collect()
    }

    /// The numbers of the strings that contain this.
    #[pyo3(signature = (needle, *, ignore_case=false))]
    fn contains(&self, py: Python<'_>, needle: Needle, ignore_case: bool) -> Vec<usize> {
        let pattern = match ignore_case {
            true => Pattern::ContainsIgnoringCase(needle.bytes()),
            false => Pattern::Contains(needle.bytes()),
        };
        self.find(py, &pattern)
    }

    /// The numbers of the strings that start with this.
    fn startswith(&self, py: Python<'_>, needle: Needle) -> Vec<usize> {
        self.find(py, &Pattern::StartsWith(needle.bytes()))
    }

    /// The numbers of the strings that end with this.
    fn endswith(&self, py: Python<'_>, needle: Needle) -> Vec<usize> {
        self.find(py, &Pattern::EndsWith(needle.bytes()))
    }

    /// The numbers of the strings that equal this.
    fn equals(&self, py: Python<'_>, needle: Needle) -> Vec<usize> {
        self.find(py, &Pattern::Equals(needle.bytes()))
    }

    /// The bytes of memory that the compressed strings take.
    #[getter]
    fn nbytes(&self) -> usize {
        let nulls = self.nulls.as_ref().map_or(0, Vec::len);
        let parts = self.column.parts();
        let offsets = match &parts.row_offsets {
            Offsets::Narrow(offsets) => size_of_val(offsets.as_ref()),
            Offsets::Wide(offsets) => size_of_val(offsets.as_ref()),
        };
        let lengths = parts.row_lengths.as_ref().map_or(0, |it| size_of_val(it.as_ref()));
        let dictionary = size_of_val(parts.dict_offsets.as_ref()) + parts.dict_bytes.len();
        dictionary + parts.codes.len() + offsets + lengths + nulls
    }

    /// The bytes of all strings.
    #[getter]
    fn decoded_nbytes(&self) -> usize {
        self.column.decoded_len()
    }

    /// Decodes all strings into an Arrow array.
    fn to_arrow(&self, py: Python<'_>) -> PyResult<ArrowArray> {
        let rows: Vec<usize> = (0..self.column.len()).collect();
        let array = py.detach(|| self.array(&rows))?;
        Ok(ArrowArray { array, field: Arc::new(self.field()) })
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        self.to_arrow(py)?.__arrow_c_array__(py, requested_schema)
    }

    fn __repr__(&self) -> String {
        format!("Strings({} strings, {} bytes)", self.column.len(), self.nbytes())
    }
}
