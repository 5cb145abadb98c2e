//! Errors of the library as Python exceptions.

use std::io;
use std::path::Path;

use hypostyle::{Error, ErrorKind};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The module with the exceptions. Python classes can have two bases, which those of an
/// extension for several Python versions cannot.
const MODULE: &str = "hypostyle._errors";

/// Converts an error of the library.
pub(crate) fn to_py(error: Error) -> PyErr {
    Python::attach(|py| convert(py, error, None).unwrap_or_else(|err| err))
}

/// Converts an error about a file at a path.
pub(crate) fn in_path(error: Error, path: &Path) -> PyErr {
    Python::attach(|py| convert(py, error, Some(path)).unwrap_or_else(|err| err))
}

fn convert(py: Python<'_>, error: Error, path: Option<&Path>) -> PyResult<PyErr> {
    if let ErrorKind::Io(cause) = error.kind() {
        return Ok(os_error(py, cause, &error.to_string(), path));
    }
    let class = match error.kind() {
        ErrorKind::Truncated { .. }
        | ErrorKind::Malformed { .. }
        | ErrorKind::NotUtf8
        | ErrorKind::RaggedRow { .. }
        | ErrorKind::Strict(_) => "CorruptFile",
        ErrorKind::Unsupported(_) | ErrorKind::UnknownFormat(_) => "Unsupported",
        ErrorKind::Refused { .. } => "Refused",
        ErrorKind::LimitExceeded { .. } => "LimitExceeded",
        ErrorKind::InvalidArgument(_) => "InvalidArgument",
        _ => "Error",
    };
    let message = match path {
        Some(path) => format!("`{}`: {error}", path.display()),
        None => error.to_string(),
    };
    let fields = PyDict::new(py);
    fields.set_item("format", error.format().map(|format| format.name()))?;
    fields.set_item("column", error.column().map(|column| column.name.clone()))?;
    fields.set_item("row", error.row())?;
    fields.set_item("offset", error.offset())?;
    let exception = class_of(py, class)?.call((message,), Some(&fields))?;
    Ok(PyErr::from_value(exception))
}

/// Converts an error of the operating system, or of a Python file object.
pub(crate) fn os_error(
    py: Python<'_>,
    cause: &io::Error,
    message: &str,
    path: Option<&Path>,
) -> PyErr {
    if let Some(raised) = cause.get_ref().and_then(|inner| inner.downcast_ref::<PyErr>()) {
        return raised.clone_ref(py);
    }
    match (errno(cause), path) {
        (Some(errno), Some(path)) => {
            let why = io::Error::from_raw_os_error(errno).to_string();
            let why = why.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((errno, why, path.as_os_str().to_owned()))
        }
        // Python finds the subclass by the number.
        (Some(errno), None) => PyOSError::new_err((errno, message.to_owned())),
        (None, _) => PyOSError::new_err(message.to_owned()),
    }
}

/// Returns the number of an error, also if the library added words to it.
fn errno(error: &io::Error) -> Option<i32> {
    let of_kind = match error.kind() {
        io::ErrorKind::NotFound => Some(2),
        io::ErrorKind::PermissionDenied => Some(13),
        io::ErrorKind::AlreadyExists => Some(17),
        io::ErrorKind::NotADirectory => Some(20),
        io::ErrorKind::IsADirectory => Some(21),
        io::ErrorKind::StorageFull => Some(28),
        io::ErrorKind::ReadOnlyFilesystem => Some(30),
        io::ErrorKind::BrokenPipe => Some(32),
        _ => None,
    };
    error.raw_os_error().or(of_kind)
}

/// Returns an exception that says what argument is wrong.
pub(crate) fn invalid(message: impl Into<String>) -> PyErr {
    let error = Error::invalid_argument(message.into());
    to_py(error)
}

fn class_of<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import(MODULE)?.getattr(name)
}
