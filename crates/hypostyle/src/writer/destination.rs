//! Where a file is written to.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use self::file::FileOutput;
use hypostyle_core::error::Result;
use hypostyle_core::sink::Sink;

/// Where a [`Writer`](super::Writer) writes to: a path, or a [`Sink`] of the caller.
///
/// A file gets its path when it is complete. A sink keeps what was written before an error.
pub enum Destination<'a> {
    /// A path.
    Path(PathBuf),
    /// A sink.
    Sink(Box<dyn Sink + 'a>),
}

impl fmt::Debug for Destination<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Sink(_) => f.write_str("Sink"),
        }
    }
}

impl From<&str> for Destination<'_> {
    fn from(path: &str) -> Self {
        Self::Path(path.into())
    }
}

impl From<&Path> for Destination<'_> {
    fn from(path: &Path) -> Self {
        Self::Path(path.into())
    }
}

impl From<&PathBuf> for Destination<'_> {
    fn from(path: &PathBuf) -> Self {
        Self::Path(path.clone())
    }
}

impl From<PathBuf> for Destination<'_> {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

impl<'a> From<&'a mut Vec<u8>> for Destination<'a> {
    fn from(bytes: &'a mut Vec<u8>) -> Self {
        Self::Sink(Box::new(Borrowed(bytes)))
    }
}

impl<'a> From<&'a mut dyn Sink> for Destination<'a> {
    fn from(sink: &'a mut dyn Sink) -> Self {
        Self::Sink(Box::new(Borrowed(sink)))
    }
}

impl<'a> From<Box<dyn Sink + 'a>> for Destination<'a> {
    fn from(sink: Box<dyn Sink + 'a>) -> Self {
        Self::Sink(sink)
    }
}

/// A sink that somebody else owns.
struct Borrowed<'a, S: ?Sized>(&'a mut S);

impl<S: Sink + ?Sized> Write for Borrowed<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<S: Sink + ?Sized> Sink for Borrowed<'_, S> {
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.patch(at, bytes)
    }
}

/// An open destination.
pub(super) enum Output<'a> {
    File(FileOutput),
    Sink(Box<dyn Sink + 'a>),
}

impl<'a> Output<'a> {
    pub(super) fn open(to: Destination<'a>, replace: bool) -> Result<Self> {
        match to {
            Destination::Sink(sink) => Ok(Self::Sink(sink)),
            Destination::Path(path) => Ok(Self::File(FileOutput::create(&path, replace)?)),
        }
    }

    /// Writes what is left, and gives a file its name.
    pub(super) fn complete(mut self) -> Result<()> {
        self.flush()?;
        match self {
            Self::File(file) => Ok(file.complete()?),
            Self::Sink(_) => Ok(()),
        }
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.sink().write(bytes),
            Self::Sink(sink) => sink.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.sink().flush(),
            Self::Sink(sink) => sink.flush(),
        }
    }
}

impl Sink for Output<'_> {
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.sink().patch(at, bytes),
            Self::Sink(sink) => sink.patch(at, bytes),
        }
    }
}

#[cfg(not(target_family = "wasm"))]
mod file {
    use std::fs::File;
    use std::io::{self, BufWriter};
    use std::path::Path;

    use crate::new_file::NewFile;
    use hypostyle_core::sink::{SeekSink, Sink};

    /// Bytes that are collected before they are written to a file.
    const BUFFER_BYTES: usize = 256 << 10;

    /// A file that gets its path when it is complete.
    pub(in super::super) struct FileOutput(SeekSink<BufWriter<File>>, NewFile);

    impl FileOutput {
        pub(super) fn create(path: &Path, replace: bool) -> io::Result<Self> {
            let in_file = |cause: io::Error| {
                let why = format!("cannot write `{}`: {cause}", path.display());
                io::Error::new(cause.kind(), why)
            };
            let new = NewFile::create(path, replace).map_err(in_file)?;
            let file = new.file().try_clone()?;
            let sink = SeekSink::try_new(BufWriter::with_capacity(BUFFER_BYTES, file))?;
            Ok(Self(sink, new))
        }

        pub(super) fn sink(&mut self) -> &mut dyn Sink {
            &mut self.0
        }

        pub(super) fn complete(self) -> io::Result<()> {
            self.1.complete()
        }
    }
}

#[cfg(target_family = "wasm")]
mod file {
    use std::convert::Infallible;
    use std::io;
    use std::path::Path;

    use hypostyle_core::sink::Sink;

    /// There are no files on WebAssembly.
    pub(in super::super) struct FileOutput(Infallible);

    impl FileOutput {
        pub(super) fn create(_: &Path, _: bool) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn sink(&mut self) -> &mut dyn Sink {
            match self.0 {}
        }

        pub(super) fn complete(self) -> io::Result<()> {
            match self.0 {}
        }
    }
}
