//! Inputs: a path or standard input, and what they hold.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::Archive;
use hypostyle::formats::{self, Format, Reader};
use hypostyle::text::{ImportOptions, Imported, Infer, csv, jsonl, lines};
use hypostyle::{ByteSource, FileSource, ReadOptions};

use crate::args::{self, ReadArgs};
use crate::failure::{Failure, InFile, Result};
use crate::file_kind::FileKind;
use crate::hint;
use crate::output::{Progress, spill_buffer};
use crate::path_arg::{input_name, is_dash};

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
}

/// An input that can be read at any offset.
#[derive(Debug)]
pub(crate) enum SeekableInput {
    File(File),
    Memory(Bytes),
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
    /// Opens a path, or standard input for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
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
        let found = match &self.body {
            InputBody::File(file) => formats::detect(&FileSource::try_new(file.try_clone()?)?)?,
            // Only the head of a stream is known; the format checks sizes once all is read.
            InputBody::Stream(_) => formats::by_magic(&self.head),
            InputBody::Memory(content) => formats::detect(content)?,
        };
        if let Some(format) = found {
            return Ok(FileKind::Format(format));
        }
        if let Some(kind) = FileKind::by_magic(&self.head) {
            return Ok(kind);
        }
        match FileKind::by_extension(&self.path) {
            Some(text) if !text.is_binary() => return Ok(text),
            Some(binary) => {
                let why = format!(
                    "has the extension of {}, but other content: {}",
                    binary.name(),
                    first_bytes(&self.head)
                );
                return Err(Failure::input(why));
            }
            None => {}
        }
        let is_binary = self.head.contains(&0)
            || std::str::from_utf8(&self.head).is_err_and(|err| err.error_len().is_some());
        if is_binary {
            let why = format!("is in no known format: {}", first_bytes(&self.head));
            return Err(Failure::input(why));
        }
        match self.head.trim_ascii_start().first() {
            Some(b'{') => Ok(FileKind::Jsonl),
            _ => Ok(FileKind::Csv),
        }
    }

    /// Returns whether the input is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// Returns the size of the input, if it is known.
    pub(crate) fn size(&self) -> Result<Option<u64>> {
        match &self.body {
            InputBody::File(file) => Ok(Some(file.metadata()?.len())),
            InputBody::Stream(_) => Ok(None),
            InputBody::Memory(content) => Ok(Some(content.len() as u64)),
        }
    }

    /// Reads the input sequentially.
    pub(crate) fn into_read(self) -> Box<dyn Read> {
        match self.body {
            InputBody::File(file) => Box::new(file),
            InputBody::Stream(stream) => Box::new(io::Cursor::new(self.head).chain(stream)),
            InputBody::Memory(content) => Box::new(io::Cursor::new(content)),
        }
    }

    /// Makes the input readable at any offset; a stream is copied to a temporary file.
    pub(crate) fn into_seekable(self) -> Result<SeekableInput> {
        let name = self.name();
        match self.body {
            InputBody::File(file) => Ok(SeekableInput::File(file)),
            InputBody::Memory(content) => Ok(SeekableInput::Memory(content)),
            InputBody::Stream(mut stream) => {
                let mut file = tempfile::tempfile().in_file(&name)?;
                file.write_all(&self.head).in_file(&name)?;
                io::copy(&mut stream, &mut file).in_file(&name)?;
                file.seek(SeekFrom::Start(0)).in_file(&name)?;
                Ok(SeekableInput::File(file))
            }
        }
    }

    fn into_source(self) -> Result<Arc<dyn ByteSource>> {
        let name = self.name();
        Ok(match self.into_seekable()? {
            SeekableInput::File(file) => Arc::new(FileSource::try_new(file).in_file(&name)?),
            SeekableInput::Memory(content) => Arc::new(content),
        })
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
    pub(crate) fn into_archive(self, options: &ReadOptions) -> Result<Archive> {
        let name = self.name();
        Archive::open(self.into_source()?, options).in_file(&name)
    }

    /// Reads the input as text and infers types that a target of these capabilities has.
    pub(crate) fn import(
        self,
        kind: FileKind,
        args: &ReadArgs,
        capabilities: formats::Capabilities,
        memory: u64,
    ) -> Result<Imported> {
        let name = self.name();
        let size = self.size().map_err(|failure| failure.in_file(&name))?.unwrap_or_default();
        let progress = Progress::bytes(&format!("reading {name}"), size);
        let mut on_progress = |read| progress.set(read);
        let mut text = self.into_read();
        let spill = spill_buffer(memory)?;
        let options = import_options(args, capabilities);
        let imported = match kind {
            FileKind::Jsonl => jsonl::import(&mut text, &options, spill, &mut on_progress),
            FileKind::Txt => {
                // A target with nothing but text also stores whether the last line ends with a
                // newline.
                let exact = capabilities.nulls && !capabilities.numbers;
                lines::import(&mut text, exact, spill, &mut on_progress)
            }
            _ => {
                let syntax = csv_syntax(kind, &args.csv);
                csv::import(&mut text, &syntax, &options, spill, &mut on_progress)
            }
        };
        imported.map_err(hint::reading).in_file(&name)
    }
}

/// Returns the options for importing text.
pub(crate) fn import_options(
    args: &ReadArgs,
    capabilities: formats::Capabilities,
) -> ImportOptions {
    let mut options = ImportOptions::new(capabilities);
    options.infer = match (args.csv.all_text, args.csv.infer) {
        (true, _) => Infer::Text,
        (false, args::Infer::Exact) => Infer::Exact,
        (false, args::Infer::Numeric) => Infer::Numeric,
    };
    options.types.clone_from(&args.csv.types);
    options.null_words.clone_from(&args.csv.null);
    options.threads = args.threads();
    options
}

fn csv_syntax(kind: FileKind, args: &args::CsvArgs) -> csv::CsvOptions {
    let default = if matches!(kind, FileKind::Tsv) { b'\t' } else { b',' };
    let mut syntax = csv::CsvOptions::new(args.delimiter.unwrap_or(default));
    syntax.header = !args.no_header;
    syntax.ragged = match args.ragged {
        args::Ragged::Refuse => csv::Ragged::Refuse,
        args::Ragged::Pad => csv::Ragged::Pad,
    };
    syntax.encoding = args.encoding.into();
    syntax
}

impl From<args::Encoding> for csv::Encoding {
    fn from(encoding: args::Encoding) -> Self {
        match encoding {
            args::Encoding::Utf8 => Self::Utf8,
            args::Encoding::Latin1 => Self::Latin1,
        }
    }
}

fn head_of(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    stream.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Describes the first bytes of a file for a message.
fn first_bytes(head: &[u8]) -> String {
    if head.is_empty() {
        return "it is empty".to_owned();
    }
    let start = head.get(..8.min(head.len())).unwrap_or_default();
    format!("it starts with `{}`", start.escape_ascii())
}
