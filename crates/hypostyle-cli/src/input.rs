//! Inputs: a path or standard input, and what is in them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::Archive;
use hypostyle::formats::{self, Format, Reader};
use hypostyle::text::{ImportOptions, Imported, Infer, csv, jsonl, lines};
use hypostyle::{ByteSource, FileSource, ReadOptions};

use crate::cli::{self, ReadArgs};
use crate::failure::{Failure, InFile, Result};
use crate::file_kind::FileKind;
use crate::hint;
use crate::output::{Progress, scratch};

/// Bytes that are looked at to tell what a stream holds.
const HEAD: usize = 64 << 10;

/// Something to read.
#[derive(Debug)]
pub(crate) struct Input {
    path: PathBuf,
    head: Vec<u8>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    /// A file that can be read anywhere.
    File(File),
    /// A pipe: what was looked at is in `head` and has been read.
    Stream(Stream),
    /// All of it, read before.
    Memory(Bytes),
}

/// An input that can be read anywhere.
#[derive(Debug)]
pub(crate) enum Whole {
    File(File),
    Memory(Bytes),
}

#[derive(Debug)]
enum Stream {
    Stdin(io::Stdin),
    Pipe(File),
}

impl Read for Stream {
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
            Stream::Stdin(io::stdin())
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
                return Ok(Self { path: path.to_owned(), head, body: Body::File(file) });
            }
            Stream::Pipe(file)
        };
        let mut stream = stream;
        let head = head_of(&mut stream)
            .map_err(|cause| Failure::io("cannot read", &cause).in_file(name_of(path)))?;
        Ok(Self { path: path.to_owned(), head, body: Body::Stream(stream) })
    }

    /// What was read before, under the name that it had.
    pub(crate) fn in_memory(path: &Path, content: Bytes) -> Self {
        let head = content.get(..HEAD.min(content.len())).unwrap_or_default().to_vec();
        Self { path: path.to_owned(), head, body: Body::Memory(content) }
    }

    /// The input as messages call it.
    pub(crate) fn name(&self) -> String {
        name_of(&self.path)
    }

    /// What the input holds: what the user says, else what its content shows.
    pub(crate) fn kind(&self, from: Option<FileKind>) -> Result<FileKind> {
        if let Some(kind) = from {
            return Ok(kind);
        }
        self.kind_by_content().map_err(|failure| failure.in_file(self.name()))
    }

    fn kind_by_content(&self) -> Result<FileKind> {
        let found = match &self.body {
            Body::File(file) => formats::detect(&FileSource::try_new(file.try_clone()?)?)?,
            // A stream shows only its head; sizes that reach beyond it are judged
            // once it has been read to its end.
            Body::Stream(_) => formats::by_magic(&self.head),
            Body::Memory(content) => formats::detect(content)?,
        };
        if let Some(format) = found {
            return Ok(FileKind::Format(format));
        }
        if let Some(kind) = FileKind::by_magic(&self.head) {
            return Ok(kind);
        }
        let by_name = FileKind::by_extension(&self.path);
        match by_name {
            Some(text) if !text.is_binary() => return Ok(text),
            Some(binary) => {
                let why = format!(
                    "is not {}, whatever its name says: {}",
                    binary.name(),
                    looks(&self.head)
                );
                return Err(Failure::input(why));
            }
            None => {}
        }
        let odd = self.head.contains(&0)
            || std::str::from_utf8(&self.head).is_err_and(|err| err.error_len().is_some());
        if odd {
            let why = format!("is in no format known here: {}", looks(&self.head));
            return Err(Failure::input(why));
        }
        match self.head.trim_ascii_start().first() {
            Some(b'{') => Ok(FileKind::Jsonl),
            _ => Ok(FileKind::Csv),
        }
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// Bytes of the input, if that is known.
    pub(crate) fn size(&self) -> Result<Option<u64>> {
        match &self.body {
            Body::File(file) => Ok(Some(file.metadata()?.len())),
            Body::Stream(_) => Ok(None),
            Body::Memory(content) => Ok(Some(content.len() as u64)),
        }
    }

    /// The input from front to back.
    pub(crate) fn into_read(self) -> Box<dyn Read> {
        match self.body {
            Body::File(file) => Box::new(file),
            Body::Stream(stream) => Box::new(io::Cursor::new(self.head).chain(stream)),
            Body::Memory(content) => Box::new(io::Cursor::new(content)),
        }
    }

    /// The input where it can be read anywhere; a stream is spooled to a temporary file.
    pub(crate) fn into_whole(self) -> Result<Whole> {
        let name = self.name();
        match self.body {
            Body::File(file) => Ok(Whole::File(file)),
            Body::Memory(content) => Ok(Whole::Memory(content)),
            Body::Stream(mut stream) => {
                let mut file = tempfile::tempfile().in_file(&name)?;
                file.write_all(&self.head).in_file(&name)?;
                io::copy(&mut stream, &mut file).in_file(&name)?;
                file.seek(SeekFrom::Start(0)).in_file(&name)?;
                Ok(Whole::File(file))
            }
        }
    }

    fn into_source(self) -> Result<Arc<dyn ByteSource>> {
        let name = self.name();
        Ok(match self.into_whole()? {
            Whole::File(file) => Arc::new(FileSource::try_new(file).in_file(&name)?),
            Whole::Memory(content) => Arc::new(content),
        })
    }

    /// Opens the input as a column file of this format.
    pub(crate) fn into_reader(
        self,
        format: &'static dyn Format,
        options: &ReadOptions,
    ) -> Result<Box<dyn Reader>> {
        let name = self.name();
        format.open(self.into_source()?, options).in_file(&name)
    }

    /// Opens the input as an AT-1 archive.
    pub(crate) fn into_archive(self, options: &ReadOptions) -> Result<Archive> {
        let name = self.name();
        Archive::open(self.into_source()?, options).in_file(&name)
    }

    /// Reads the input as text, typed for a target of the given capabilities.
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
        let mut told = |read| progress.set(read);
        let mut text = self.into_read();
        let stage = scratch(memory)?;
        let options = import_options(args, capabilities);
        let imported = match kind {
            FileKind::Jsonl => jsonl::import(&mut text, &options, stage, &mut told),
            FileKind::Txt => {
                // Whether the last line has a newline is kept where text is all there is.
                let exact = capabilities.nulls && !capabilities.numbers;
                lines::import(&mut text, exact, stage, &mut told)
            }
            _ => {
                let syntax = csv_syntax(kind, &args.csv);
                csv::import(&mut text, &syntax, &options, stage, &mut told)
            }
        };
        imported.map_err(hint::reading).in_file(&name)
    }
}

/// How text becomes columns.
pub(crate) fn import_options(
    args: &ReadArgs,
    capabilities: formats::Capabilities,
) -> ImportOptions {
    let mut options = ImportOptions::new(capabilities);
    options.infer = match (args.csv.all_text, args.csv.infer) {
        (true, _) => Infer::Text,
        (false, cli::Infer::Exact) => Infer::Exact,
        (false, cli::Infer::Numeric) => Infer::Numeric,
    };
    options.types.clone_from(&args.csv.types);
    options.null_words.clone_from(&args.csv.null);
    options.threads = args.threads;
    options
}

fn csv_syntax(kind: FileKind, args: &cli::CsvArgs) -> csv::CsvOptions {
    let default = if matches!(kind, FileKind::Tsv) { b'\t' } else { b',' };
    let mut syntax = csv::CsvOptions::new(args.delimiter.unwrap_or(default));
    syntax.header = !args.no_header;
    syntax.ragged = match args.ragged {
        cli::Ragged::Refuse => csv::Ragged::Refuse,
        cli::Ragged::Pad => csv::Ragged::Pad,
    };
    syntax.encoding = args.encoding.into();
    syntax
}

impl From<cli::Encoding> for csv::Encoding {
    fn from(encoding: cli::Encoding) -> Self {
        match encoding {
            cli::Encoding::Utf8 => Self::Utf8,
            cli::Encoding::Latin1 => Self::Latin1,
        }
    }
}

fn head_of(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    stream.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// What a file starts with, for people.
fn looks(head: &[u8]) -> String {
    if head.is_empty() {
        return "it is empty".to_owned();
    }
    let start = head.get(..8.min(head.len())).unwrap_or_default();
    format!("it starts with `{}`", start.escape_ascii())
}

pub(crate) fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

pub(crate) fn name_of(path: &Path) -> String {
    if is_dash(path) { "standard input".to_owned() } else { path.display().to_string() }
}
