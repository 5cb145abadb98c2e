//! Paths, bytes and file objects as sources of bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hypostyle::{ByteSource, FileSource};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors;

/// What a read of a file object costs, in bytes that could be transferred meanwhile. The
/// object may be remote, and each read takes the interpreter lock.
const READ_COST: u64 = 64 << 10;

/// An argument that bytes are read from.
pub(crate) enum Input {
    Path(PathBuf),
    Bytes(Bytes),
    File(FileObject),
}

impl Input {
    /// Takes a path, an object with bytes, or a binary file object.
    ///
    /// A text with a scheme is a URL, which `fsspec` opens.
    pub(crate) fn extract(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.extract::<String>() {
            if is_url(&text) {
                let opened =
                    object.py().import("hypostyle._urls")?.call_method1("open", (text,))?;
                return FileObject::try_new(opened).map(Self::File);
            }
            return Ok(Self::Path(text.into()));
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            let backed = PyBackedBytes::from(bytes.clone());
            return Ok(Self::Bytes(Bytes::from_owner(backed)));
        }
        if object.hasattr("__fspath__")? {
            return Ok(Self::Path(object.extract()?));
        }
        if object.hasattr("read")? {
            return FileObject::try_new(object.clone()).map(Self::File);
        }
        if let Ok(buffer) = PyBuffer::<u8>::get(object) {
            return Ok(Self::Bytes(buffer.to_vec(object.py())?.into()));
        }
        let kind = object.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "expected a path, a URL, bytes or a binary file object, not `{kind}`"
        )))
    }

    /// Returns the name of the file, if it has one.
    pub(crate) fn name(&self) -> Option<String> {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        match self {
            Self::Path(path) => name(path),
            Self::Bytes(_) => None,
            Self::File(file) => file.name.as_deref().and_then(|path| name(Path::new(path))),
        }
    }

    /// Returns how the input is called in messages.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Bytes(bytes) => format!("{} bytes", bytes.len()),
            Self::File(file) => file.name.clone().unwrap_or_else(|| "a file object".into()),
        }
    }

    /// Opens the input for reads at any offset. Must be called without the interpreter lock.
    pub(crate) fn source(&self) -> PyResult<Arc<dyn ByteSource>> {
        Ok(match self {
            Self::Path(path) => {
                let opened = File::open(path).and_then(|file| {
                    if file.metadata()?.is_dir() {
                        return Err(io::ErrorKind::IsADirectory.into());
                    }
                    FileSource::try_new(file)
                });
                let in_path = |cause: io::Error| {
                    let message = cause.to_string();
                    Python::attach(|py| errors::os_error(py, &cause, &message, Some(path)))
                };
                Arc::new(opened.map_err(in_path)?)
            }
            Self::Bytes(bytes) => Arc::new(bytes.clone()),
            Self::File(file) => Arc::new(file.share()),
        })
    }

    /// Converts an error of the library about this input.
    pub(crate) fn error(&self, error: hypostyle::Error) -> PyErr {
        match self {
            Self::Path(path) => errors::in_path(error, path),
            _ => errors::to_py(error),
        }
    }
}

/// Returns whether a text has the form of a URL. A drive letter is no scheme.
fn is_url(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once("://") else { return false };
    scheme.len() > 1
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Reads a source from start to end. Must be used without the interpreter lock.
pub(crate) struct SourceReader {
    source: Arc<dyn ByteSource>,
    offset: u64,
}

impl SourceReader {
    pub(crate) fn new(source: Arc<dyn ByteSource>) -> Self {
        Self { source, offset: 0 }
    }
}

impl Read for SourceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.source.size().saturating_sub(self.offset);
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let bytes = self.source.read(self.offset, len)?;
        if let Some(buffer) = buffer.get_mut(..bytes.len()) {
            buffer.copy_from_slice(&bytes);
        }
        self.offset = self.offset.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }
}

/// A binary file object of Python that can seek.
#[derive(Debug)]
pub(crate) struct FileObject {
    object: Py<PyAny>,
    size: u64,
    name: Option<String>,
    /// Held from the seek to the end of the read.
    position: Arc<Mutex<()>>,
}

impl FileObject {
    fn try_new(object: Bound<'_, PyAny>) -> PyResult<Self> {
        let is_seekable = object.hasattr("seek")?
            && (!object.hasattr("seekable")? || object.call_method0("seekable")?.is_truthy()?);
        if !is_seekable {
            return Err(PyTypeError::new_err(
                "the file object cannot seek; read it, and pass its bytes",
            ));
        }
        let size: u64 = object.call_method1("seek", (0, 2))?.extract().or_else(|_| {
            // Some objects return nothing from `seek`.
            object.call_method0("tell")?.extract::<u64>()
        })?;
        let name = object.getattr("name").and_then(|name| name.extract()).ok();
        Ok(Self { object: object.unbind(), size, name, position: Arc::default() })
    }

    fn share(&self) -> Self {
        let object = Python::attach(|py| self.object.clone_ref(py));
        Self { object, size: self.size, name: self.name.clone(), position: self.position.clone() }
    }

    fn read_at(&self, py: Python<'_>, offset: u64, len: usize) -> PyResult<Bytes> {
        let object = self.object.bind(py);
        object.call_method1("seek", (offset,))?;
        let mut whole = Vec::new();
        loop {
            let left = len.saturating_sub(whole.len());
            let piece = object.call_method1("read", (left,))?;
            let piece: PyBackedBytes = match piece.extract() {
                Ok(piece) => piece,
                // obstore returns buffers.
                Err(_) => match PyBuffer::<u8>::get(&piece) {
                    Ok(buffer) => PyBytes::new(py, &buffer.to_vec(py)?).into(),
                    Err(_) => {
                        let why =
                            "`read` of the file object returned no bytes: open it in binary mode";
                        return Err(PyTypeError::new_err(why));
                    }
                },
            };
            if piece.len() == len && whole.is_empty() {
                return Ok(Bytes::from_owner(piece));
            }
            if piece.is_empty() || piece.len() > left {
                return Ok(whole.into());
            }
            whole.extend_from_slice(&piece);
            if whole.len() == len {
                return Ok(whole.into());
            }
        }
    }
}

impl ByteSource for FileObject {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        if len == 0 {
            return Ok(Bytes::new());
        }
        // Threads wait for the position without the interpreter lock, so that the one that has
        // it can always get the interpreter lock.
        let _position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let read = Python::attach(|py| self.read_at(py, offset, len)).map_err(io::Error::other)?;
        if read.len() < len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(read)
    }

    fn read_cost(&self) -> u64 {
        READ_COST
    }
}
