//! Inputs: a path, a URL or standard input, and what they hold.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::Archive;
use hypostyle::formats::{Format, FormatId, Reader};
use hypostyle::{ByteSource, FileKind, FileSource, ReadOptions, Table, detect_format};

use crate::args::ReadArgs;
use crate::failure::{Failure, InFile, Result};
use crate::hint;
use crate::output::{Attributes, warn};
use crate::path_arg::{input_name, is_dash, is_url, no_urls};
#[cfg(feature = "remote")]
use crate::remote;

/// Bytes at the start of an input from which its kind is detected.
const HEAD_BYTES: usize = 64 << 10;

/// An open input.
#[derive(Debug)]
pub(crate) struct Input {
    path: PathBuf,
    head: Vec<u8>,
    body: InputBody,
}

#[derive(Debug)]
enum InputBody {
    /// A regular file.
    File(File),
    /// A pipe, of which the bytes in `head` have been read.
    Stream(InputStream),
    /// The whole content.
    Memory(Bytes),
    /// A file on a server.
    #[cfg(feature = "remote")]
    Remote(Arc<remote::RemoteFile>),
}

#[derive(Debug)]
enum InputStream {
    Stdin(io::Stdin),
    Pipe(File),
}

impl Read for InputStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stdin(stdin) => stdin.read(buf),
            Self::Pipe(pipe) => pipe.read(buf),
        }
    }
}

impl Input {
    /// Opens a path or a URL, or standard input for `-`.
    pub(crate) fn open_any(path: &Path, args: &ReadArgs) -> Result<Self> {
        if is_url(path) { Self::open_url(path, args) } else { Self::open(path) }
    }

    #[cfg(feature = "remote")]
    fn open_url(path: &Path, args: &ReadArgs) -> Result<Self> {
        let file = remote::open(path, args.servers).in_file(input_name(path))?;
        let len = usize::try_from(file.size()).unwrap_or(usize::MAX).min(HEAD_BYTES);
        let head = file.read(0, len).in_file(input_name(path))?.to_vec();
        Ok(Self { path: path.to_owned(), head, body: InputBody::Remote(Arc::new(file)) })
    }

    #[cfg(not(feature = "remote"))]
    fn open_url(_: &Path, _: &ReadArgs) -> Result<Self> {
        Err(no_urls())
    }

    /// Opens a path, or standard input for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if is_url(path) {
            return Err(no_urls());
        }
        let stream = if is_dash(path) {
            InputStream::Stdin(io::stdin())
        } else {
            let cannot =
                |cause: &io::Error| Failure::io("cannot open", cause).in_file(path.display());
            let mut file = File::open(path).map_err(|cause| cannot(&cause))?;
            let meta = file.metadata().map_err(|cause| cannot(&cause))?;
            if meta.is_dir() {
                return Err(Failure::usage("is a directory").in_file(path.display()));
            }
            if meta.is_file() {
                let head = head_of(&mut file).map_err(|cause| cannot(&cause))?;
                file.rewind().map_err(|cause| cannot(&cause))?;
                return Ok(Self { path: path.to_owned(), head, body: InputBody::File(file) });
            }
            InputStream::Pipe(file)
        };
        let mut stream = stream;
        let head = head_of(&mut stream)
            .map_err(|cause| Failure::io("cannot read", &cause).in_file(input_name(path)))?;
        Ok(Self { path: path.to_owned(), head, body: InputBody::Stream(stream) })
    }

    /// Wraps content that was read before from `path`.
    pub(crate) fn in_memory(path: &Path, content: Bytes) -> Self {
        let head = content.get(..HEAD_BYTES.min(content.len())).unwrap_or_default().to_vec();
        Self { path: path.to_owned(), head, body: InputBody::Memory(content) }
    }

    /// Returns the name of the input, as messages print it.
    pub(crate) fn name(&self) -> String {
        input_name(&self.path)
    }

    /// Returns what the input holds: `from` if the user named a format, else what is detected.
    pub(crate) fn kind(&self, from: Option<FileKind>) -> Result<FileKind> {
        if let Some(kind) = from {
            return Ok(kind);
        }
        self.kind_by_content().map_err(|failure| failure.in_file(self.name()))
    }

    fn kind_by_content(&self) -> Result<FileKind> {
        let name = self.file_name();
        let id = match &self.body {
            InputBody::File(file) => detect_format(&FileSource::try_new(file.try_clone()?)?, name)?,
            // Only the head of a stream is known; the format checks sizes once all is read.
            InputBody::Stream(_) => match FileKind::by_magic(&self.head) {
                Some(kind) => kind.id(),
                None => detect_format(&Bytes::copy_from_slice(&self.head), name)?,
            },
            InputBody::Memory(content) => detect_format(content, name)?,
            #[cfg(feature = "remote")]
            InputBody::Remote(file) => detect_format(&**file, name)?,
        };
        Ok(FileKind::of(id)?)
    }

    /// Returns the name of the file, which tells kinds of text apart.
    pub(crate) fn file_name(&self) -> Option<&str> {
        #[cfg(feature = "remote")]
        if let InputBody::Remote(file) = &self.body {
            return Some(file.name());
        }
        self.path.file_name()?.to_str().filter(|_| !is_dash(&self.path))
    }

    /// Returns the first bytes of the input.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns whether the input is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// Returns the attributes that an output of this input has.
    pub(crate) fn attributes(&self) -> Result<Attributes> {
        Ok(match &self.body {
            InputBody::File(file) => Attributes::of_input(Some(&file.metadata()?)),
            _ => Attributes::default(),
        })
    }

    /// Returns the size of the input, if it is known.
    pub(crate) fn size(&self) -> Result<Option<u64>> {
        match &self.body {
            InputBody::File(file) => Ok(Some(file.metadata()?.len())),
            InputBody::Stream(_) => Ok(None),
            InputBody::Memory(content) => Ok(Some(content.len() as u64)),
            #[cfg(feature = "remote")]
            InputBody::Remote(file) => Ok(Some(file.size())),
        }
    }

    /// Reads the input sequentially.
    pub(crate) fn into_read(self) -> Result<Box<dyn Read + Send>> {
        Ok(match self.body {
            InputBody::File(file) => Box::new(file),
            InputBody::Stream(stream) => Box::new(io::Cursor::new(self.head).chain(stream)),
            InputBody::Memory(content) => Box::new(io::Cursor::new(content)),
            #[cfg(feature = "remote")]
            InputBody::Remote(file) => Box::new(remote::download(&file)?),
        })
    }

    /// Makes the input readable at any offset; a stream is copied to a temporary file.
    pub(crate) fn into_source(self) -> Result<Arc<dyn ByteSource>> {
        let name = self.name();
        let file = match self.body {
            InputBody::Memory(content) => return Ok(Arc::new(content)),
            #[cfg(feature = "remote")]
            InputBody::Remote(file) => return Ok(file),
            InputBody::File(file) => file,
            InputBody::Stream(mut stream) => {
                let mut file = tempfile::tempfile().in_file(&name)?;
                file.write_all(&self.head).in_file(&name)?;
                io::copy(&mut stream, &mut file).in_file(&name)?;
                file.rewind().in_file(&name)?;
                file
            }
        };
        Ok(Arc::new(FileSource::try_new(file).in_file(&name)?))
    }

    /// Opens the input as a column file of this format.
    pub(crate) fn into_reader(
        self,
        format: &'static dyn Format,
        options: &ReadOptions,
    ) -> Result<Arc<dyn Reader>> {
        let name = self.name();
        format.open(self.into_source()?, options).in_file(&name)
    }

    /// Opens the input as an AT-1 archive.
    ///
    /// An archive on a server is copied first: what is shown of it has the sizes of all streams,
    /// which are found by reading them.
    pub(crate) fn into_archive(self, options: &ReadOptions) -> Result<Archive> {
        let name = self.name();
        #[cfg(feature = "remote")]
        let this = self.downloaded()?;
        #[cfg(not(feature = "remote"))]
        let this = self;
        Archive::open(this.into_source()?, options).in_file(&name)
    }

    /// Opens the input as a table, with types of text that `target` can store.
    pub(crate) fn into_table(self, args: &ReadArgs, target: Option<FileKind>) -> Result<Table> {
        let name = self.name();
        let mut options = args.open_options(self.file_name());
        if let Some(target) = target {
            options = options.with_target(target);
        }
        #[cfg(feature = "remote")]
        let this = self.with_text_downloaded(args)?;
        #[cfg(not(feature = "remote"))]
        let this = self;
        let table = hypostyle::open_source(this.into_source()?, &options);
        // Text is read when its schema is first asked for.
        let table = table.and_then(|table| table.reader().map(|reader| (table, reader)));
        let (table, reader) = table.map_err(hint::reading).in_file(&name)?;
        // Of text, notes say which rows are left out; `hyp inspect` shows those of column files.
        let is_text = |kind: FileKind| kind.is_text() || kind.id() == FormatId::At1;
        if FileKind::of(reader.format()).is_ok_and(is_text) {
            for note in reader.notes() {
                warn(format_args!("`{name}`: {note}"));
            }
        }
        Ok(table)
    }
}

#[cfg(feature = "remote")]
impl Input {
    /// Copies a text from a server to a temporary file: its types are found by reading all of it,
    /// and its rows are read after that.
    fn with_text_downloaded(self, args: &ReadArgs) -> Result<Self> {
        let is_remote = matches!(self.body, InputBody::Remote(_));
        if is_remote && self.kind(args.from)?.is_text() { self.downloaded() } else { Ok(self) }
    }

    /// Copies an input from a server to a temporary file.
    fn downloaded(mut self) -> Result<Self> {
        if let InputBody::Remote(remote) = &self.body {
            self.body = InputBody::File(remote::download(remote).in_file(self.name())?);
        }
        Ok(self)
    }
}

fn head_of(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    stream.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}
