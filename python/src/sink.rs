//! File objects of Python that are written to.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// An argument that bytes are written to.
pub(crate) enum Output {
    Path(PathBuf),
    File(FileWriter),
}

impl Output {
    /// Takes a path, or a binary file object.
    pub(crate) fn extract(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(path) = object.extract::<PathBuf>() {
            return Ok(Self::Path(path));
        }
        if object.hasattr("write")? {
            return Ok(Self::File(FileWriter(object.clone().unbind())));
        }
        let kind = object.get_type().name()?;
        let why = format!("expected a path or a binary file object, not `{kind}`");
        Err(PyTypeError::new_err(why))
    }
}

/// A binary file object of Python.
#[derive(Debug)]
pub(crate) struct FileWriter(Py<PyAny>);

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let written = self.0.bind(py).call_method1("write", (PyBytes::new(py, bytes),))?;
            // A buffered file writes everything; some objects do not say how much.
            Ok::<_, PyErr>(written.extract::<usize>().unwrap_or(bytes.len()).min(bytes.len()))
        })
        .map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Python::attach(|py| {
            let object = self.0.bind(py);
            if object.hasattr("flush")? {
                object.call_method0("flush")?;
            }
            Ok::<_, PyErr>(())
        })
        .map_err(io::Error::other)
    }
}

impl Seek for FileWriter {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let arguments = match to {
            SeekFrom::Start(offset) => (i128::from(offset), 0),
            SeekFrom::Current(offset) => (i128::from(offset), 1),
            SeekFrom::End(offset) => (i128::from(offset), 2),
        };
        Python::attach(|py| {
            let object = self.0.bind(py);
            object.call_method1("seek", arguments)?;
            object.call_method0("tell")?.extract::<u64>()
        })
        .map_err(io::Error::other)
    }
}
