//! AT-1 archives.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use hypostyle::formats::at1::{self, Choice, Codec, PackOptions};
use hypostyle::{Limits, NewFile, OpenOptions, ReadOptions};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arguments::{format_id, read_options};
use crate::errors;
use crate::interrupt::{self, Canceled};
use crate::sink::Output;
use crate::source::{Input, SourceReader};

/// A larger input is packed frame by frame, so it need not fit in memory.
const MAX_IN_MEMORY_BYTES: u64 = 1 << 30;

fn pack_options(
    name: Option<&str>,
    level: Option<u8>,
    query: bool,
    codec: Option<&str>,
    threads: Option<usize>,
    index: bool,
    rows_per_group: Option<usize>,
) -> PyResult<PackOptions> {
    let codec = match codec {
        Some(_) if query => return Err(errors::invalid("`codec` and `query` exclude each other")),
        Some(name) => {
            let codec = Codec::ALL.into_iter().find(|codec| codec.name() == name);
            Choice::Only(
                codec.ok_or_else(|| errors::invalid(format!("there is no codec `{name}`")))?,
            )
        }
        None if query => Choice::Query,
        None => Choice::Auto,
    };
    Ok(PackOptions::default()
        .with_name(name)
        .with_level(level.unwrap_or(PackOptions::DEFAULT_LEVEL))
        .with_codec(codec)
        .with_threads(threads.and_then(NonZeroUsize::new))
        .with_index(index)
        .with_rows_per_group(rows_per_group.and_then(NonZeroUsize::new)))
}

/// Where an archive or a text goes: a path gets it when it is complete.
enum Target {
    Path(NewFile),
    File(BufWriter<crate::sink::FileWriter>),
    Memory(Vec<u8>),
}

impl Target {
    fn open(output: Option<Output>, replace: bool) -> PyResult<Self> {
        Ok(match output {
            None => Self::Memory(Vec::new()),
            Some(Output::File(file)) => Self::File(BufWriter::new(file)),
            Some(Output::Path(path)) => {
                let created = NewFile::create(&path, replace);
                Self::Path(created.map_err(|cause| {
                    let message = cause.to_string();
                    Python::attach(|py| errors::os_error(py, &cause, &message, Some(&path)))
                })?)
            }
        })
    }

    fn complete(self, canceled: &Canceled) -> PyResult<Option<Vec<u8>>> {
        canceled.check()?;
        match self {
            Self::Path(file) => file.complete()?,
            Self::File(mut file) => file.flush()?,
            Self::Memory(bytes) => return Ok(Some(bytes)),
        }
        Ok(None)
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Path(file) => file.file().write(bytes),
            Self::File(file) => file.write(bytes),
            Self::Memory(memory) => memory.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Path(file) => file.file().flush(),
            Self::File(file) => file.flush(),
            Self::Memory(_) => Ok(()),
        }
    }
}

/// Calls a Python function with what is done and all there is; an exception ends the work.
fn report(progress: Option<&Py<PyAny>>, done: u64, total: Option<u64>) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    Python::attach(|py| progress.call1(py, (done, total)).map(|_| ()))
}

/// A reader that reports how much was read.
struct Reported<R> {
    inner: R,
    done: u64,
    total: u64,
    progress: Option<Py<PyAny>>,
}

impl<R: Read> Read for Reported<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.done = self.done.saturating_add(read as u64);
        report(self.progress.as_ref(), self.done, Some(self.total))
            .map_err(std::io::Error::other)?;
        Ok(read)
    }
}

/// A writer that reports how much was written, of a total that is not known.
struct ReportedWriter<W> {
    inner: W,
    done: u64,
    progress: Option<Py<PyAny>>,
}

impl<W: Write> Write for ReportedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.done = self.done.saturating_add(written as u64);
        report(self.progress.as_ref(), self.done, None).map_err(std::io::Error::other)?;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// Packs a file into an AT-1 archive.
///
/// Without `to` it returns the archive as bytes, else a dictionary with the codec and the sizes.
/// The archive is unpacked and compared before a path gets it.
///
/// Args:
///     source: A path, bytes, or a binary file object.
///     to: A path, or a binary file object; by default the archive is returned.
///     level: From 1 (fastest) to 9 (smallest); 6 by default.
///     query: Whether to make finer row groups, so that queries read less.
///     codec: The codec, in place of the one that makes the smallest archive.
///     index: Whether the archive has row groups and indexes for queries.
///     rows_per_group: The rows in a row group.
///     stream: Whether to pack frame by frame; by default above 1 GiB.
///     threads: The number of threads; by default one per core.
///     replace: Whether a file with the same path is replaced.
///     progress: A function that is called with the bytes that were read, and all bytes.
#[pyfunction]
#[pyo3(signature = (source, to=None, *, level=None, query=false, codec=None, index=true, rows_per_group=None, stream=false, threads=None, replace=true, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
#[expect(clippy::fn_params_excessive_bools, reason = "they are keywords in Python")]
pub(crate) fn pack<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    to: Option<&Bound<'py, PyAny>>,
    level: Option<u8>,
    query: bool,
    codec: Option<&str>,
    index: bool,
    rows_per_group: Option<usize>,
    stream: bool,
    threads: Option<usize>,
    replace: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::extract(source)?;
    let output = to.map(Output::extract).transpose()?;
    let name = input.name();
    let options =
        pack_options(name.as_deref(), level, query, codec, threads, index, rows_per_group)?;
    let (packed, bytes) = interrupt::run(py, move |canceled| {
        let failed = |err| input.error(err);
        let source = input.source()?;
        let size = source.size();
        let mut target = Target::open(output, replace)?;
        let inner = SourceReader::new(source);
        let reader = Reported { inner, done: 0, total: size, progress };
        let mut reader = canceled.reader(reader);
        let packed = if !stream && size <= MAX_IN_MEMORY_BYTES {
            let mut text = Vec::new();
            reader.read_to_end(&mut text).map_err(|err| failed(err.into()))?;
            let (archive, packed) = at1::pack(&text, &options).map_err(failed)?;
            canceled.writer(&mut target).write_all(&archive)?;
            packed
        } else {
            let out = canceled.writer(&mut target);
            at1::pack_stream(reader, out, &options, |_, _| {}).map_err(failed)?
        };
        Ok((packed, target.complete(canceled)?))
    })?;
    if let Some(bytes) = bytes {
        return Ok(PyBytes::new(py, &bytes).into_any());
    }
    let dict = PyDict::new(py);
    dict.set_item("codec", packed.codec.name())?;
    dict.set_item("original_bytes", packed.original)?;
    dict.set_item("archive_bytes", packed.stored)?;
    dict.set_item("frames", packed.frames.0)?;
    Ok(dict.into_any())
}

/// Restores the original of an archive.
///
/// Without `to` it returns the original as bytes, else its number of bytes. A bundle is refused:
/// unpack its members one by one.
///
/// `progress` is called with the bytes that were written, and None.
#[pyfunction]
#[pyo3(signature = (source, to=None, *, threads=None, replace=true, progress=None))]
pub(crate) fn unpack<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    to: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
    replace: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let archive = Archive::new(py, source, threads)?;
    archive.unpack(py, to, replace, progress)
}

/// Adds text to an archive of a table, and returns the bytes that were added.
///
/// The new archive is written beside the old one, and takes its place when it is complete.
///
/// Args:
///     path: The path of the archive.
///     source: What to add: a path, bytes, or a binary file object.
///     progress: A function that is called with the bytes that were read, and all bytes.
#[pyfunction]
#[pyo3(signature = (path, source, *, level=None, threads=None, progress=None))]
pub(crate) fn append(
    py: Python<'_>,
    path: PathBuf,
    source: &Bound<'_, PyAny>,
    level: Option<u8>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    let input = Input::extract(source)?;
    interrupt::run(py, move |canceled| {
        let failed = |err: hypostyle::Error| errors::in_path(err, &path);
        let os = |cause: std::io::Error| failed(cause.into());
        let file = File::open(&path).map_err(os)?;
        // Two processes that append at once would lose the text of one.
        file.try_lock().map_err(|_| {
            errors::invalid(format!("`{}` is being written by another process", path.display()))
        })?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let options = pack_options(name.as_deref(), level, false, None, threads, true, None)?;
        let limits = Limits::default().with_output_bytes(u64::MAX);
        let read = ReadOptions::default().with_limits(limits);
        let source = hypostyle::FileSource::try_new(file.try_clone().map_err(os)?).map_err(os)?;
        let archive = at1::Archive::open(Arc::new(source), &read).map_err(failed)?;
        let mut target = Target::open(Some(Output::Path(path.clone())), true)?;
        let added = input.source()?;
        let total = added.size();
        let text = Reported { inner: SourceReader::new(added), done: 0, total, progress };
        let text = canceled.reader(text);
        let out = canceled.writer(&mut target);
        let appended = at1::append(&archive, text, out, &options, |_, _| {}).map_err(failed)?;
        target.complete(canceled)?;
        drop(file);
        Ok(appended.added)
    })
}

/// Decodes everything in a file, and says what is wrong with it.
///
/// Returns a dictionary with `ok`, `format`, `rows`, `columns`, `bytes`, `errors` and
/// `deviations`. `progress` is called with the steps that are done, and all steps.
#[pyfunction]
#[pyo3(signature = (source, *, format=None, threads=None, progress=None))]
pub(crate) fn verify<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    format: Option<&str>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let input = Input::extract(source)?;
    let mut options = OpenOptions::default().with_read(read_options(false, threads, None));
    options.format = format.map(format_id).transpose()?;
    options.name = input.name();
    let found = interrupt::run(py, move |_| {
        let mut raised = Ok(());
        let found = hypostyle::verify(input.source()?, &options, |done, steps| {
            if raised.is_ok() {
                raised = report(progress.as_ref(), done, Some(steps));
            }
        });
        raised?;
        found.map_err(|err| input.error(err))
    })?;
    let dict = PyDict::new(py);
    let texts = |it: &dyn ToString| it.to_string();
    dict.set_item("ok", found.is_fine())?;
    dict.set_item("format", found.format.map(|format| format.name()))?;
    dict.set_item("rows", found.rows)?;
    dict.set_item("columns", found.columns)?;
    dict.set_item("bytes", found.bytes)?;
    dict.set_item("errors", found.errors.iter().map(|it| texts(it)).collect::<Vec<_>>())?;
    let deviations: Vec<String> = found.deviations.iter().map(|it| texts(it)).collect();
    dict.set_item("deviations", deviations)?;
    Ok(dict)
}

/// An open AT-1 archive.
#[pyclass(frozen, module = "hypostyle")]
pub(crate) struct Archive {
    archive: Arc<at1::Archive>,
    label: String,
}

#[pymethods]
impl Archive {
    /// Opens an archive: a path, bytes, or a binary file object that can seek.
    #[new]
    #[pyo3(signature = (source, *, threads=None))]
    fn new(py: Python<'_>, source: &Bound<'_, PyAny>, threads: Option<usize>) -> PyResult<Self> {
        let input = Input::extract(source)?;
        let label = input.label();
        let options = read_options(false, threads, None);
        interrupt::run(py, move |_| {
            let archive =
                at1::Archive::open(input.source()?, &options).map_err(|err| input.error(err))?;
            Ok(Self { archive: Arc::new(archive), label })
        })
    }

    /// The name of the codec.
    #[getter]
    fn codec(&self) -> &'static str {
        self.archive.codec().name()
    }

    /// The SHA-256 of the original, if the archive stores it.
    #[getter]
    fn sha256(&self, py: Python<'_>) -> Option<Py<PyBytes>> {
        self.archive.hash().map(|hash| PyBytes::new(py, &hash).unbind())
    }

    /// The streams of all frames: name, bytes in the archive, bytes of content.
    #[getter]
    fn streams(&self, py: Python<'_>) -> PyResult<Vec<(String, u64, Option<u64>)>> {
        let frames = py.detach(|| self.archive.frames().map_err(errors::to_py))?;
        let streams = frames.into_iter().flat_map(|frame| frame.streams);
        Ok(streams.map(|stream| (stream.name, stream.stored, stream.raw)).collect())
    }

    /// The members of a bundle; an archive of a single file has none.
    #[getter]
    fn members(&self, py: Python<'_>) -> PyResult<Vec<PyMember>> {
        if self.archive.codec() != Codec::Bundle {
            return Ok(Vec::new());
        }
        let entries = py.detach(|| self.archive.bundle().map_err(errors::to_py))?;
        let member = |entry: at1::BundleEntry| PyMember {
            name: entry.file.name.clone(),
            archive: Arc::new(entry.archive),
        };
        Ok(entries.into_iter().map(member).collect())
    }

    /// Restores the original: returns it as bytes, or writes it to a path or a file object and
    /// returns the number of bytes.
    #[pyo3(signature = (to=None, *, replace=true, progress=None))]
    fn unpack<'py>(
        &self,
        py: Python<'py>,
        to: Option<&Bound<'py, PyAny>>,
        replace: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        unpack_archive(py, &self.archive, to, replace, progress)
    }

    /// The lines of the original, as bytes without the newline.
    fn lines(&self, py: Python<'_>) -> PyResult<Vec<Py<PyBytes>>> {
        let archive = self.archive.clone();
        let text = interrupt::run(py, move |canceled| {
            let mut text = Vec::new();
            archive.unpack(&mut canceled.writer(&mut text)).map_err(errors::to_py)?;
            Ok(text)
        })?;
        let text = text.strip_suffix(b"\n").unwrap_or(&text);
        Ok(text.split(|&byte| byte == b'\n').map(|line| PyBytes::new(py, line).unbind()).collect())
    }

    fn __repr__(&self) -> String {
        format!("Archive({}, {})", self.label, self.archive.codec())
    }
}

/// A file in a bundle.
#[pyclass(frozen, module = "hypostyle", name = "Member")]
pub(crate) struct PyMember {
    /// The path of the file in the bundle.
    #[pyo3(get)]
    name: String,
    archive: Arc<at1::Archive>,
}

#[pymethods]
impl PyMember {
    /// Restores the file: returns it as bytes, or writes it and returns the number of bytes.
    #[pyo3(signature = (to=None, *, replace=true, progress=None))]
    fn unpack<'py>(
        &self,
        py: Python<'py>,
        to: Option<&Bound<'py, PyAny>>,
        replace: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        unpack_archive(py, &self.archive, to, replace, progress)
    }

    fn __repr__(&self) -> String {
        format!("Member({})", self.name)
    }
}

fn unpack_archive<'py>(
    py: Python<'py>,
    archive: &Arc<at1::Archive>,
    to: Option<&Bound<'py, PyAny>>,
    replace: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let output = to.map(Output::extract).transpose()?;
    let archive = archive.clone();
    let (bytes, text) = interrupt::run(py, move |canceled| {
        let mut target = Target::open(output, replace)?;
        let mut out = ReportedWriter { inner: canceled.writer(&mut target), done: 0, progress };
        let unpacked = archive.unpack(&mut out).map_err(errors::to_py)?;
        drop(out);
        Ok((unpacked.bytes, target.complete(canceled)?))
    })?;
    match text {
        Some(text) => Ok(PyBytes::new(py, &text).into_any()),
        None => Ok(bytes.into_pyobject(py)?.into_any()),
    }
}
