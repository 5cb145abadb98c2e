//! Inputs: a path, a URL or standard input, and what they hold.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::Archive;
use hypostyle::formats::{Format, FormatId, Reader};
use hypostyle::text::{self, Infer, TextKind};
use hypostyle::{ByteSource, Compression, FileKind, FileSource, ReadOptions, Table, detect_format};

use crate::args::ReadArgs;
use crate::failure::{Failure, INPUT, InFile, Result};
use crate::hint;
use crate::output::{Attributes, Progress, note, unix_time, warn};
use crate::path_arg::{input_name, is_dash, is_url, no_urls};
use crate::paths::{member, member_of, near};
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
    attributes: Attributes,
    /// The name of the content of a file that is compressed as a whole.
    inner_name: Option<String>,
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
    /// Opens a path or a URL, or standard input for `-`, and what is compressed in it.
    pub(crate) fn open_any(path: &Path, args: &ReadArgs) -> Result<Self> {
        let input = Self::open_stored(path, args)?;
        match Compression::of_content(&input.head) {
            Some(compression) => input.decompressed(compression, args.max_output),
            None => Ok(input),
        }
    }

    /// Opens a path or a URL, or standard input for `-`, as it is stored.
    pub(crate) fn open_stored(path: &Path, args: &ReadArgs) -> Result<Self> {
        if is_url(path) {
            return Self::open_url(path, args);
        }
        match member_of(path) {
            Some((bundle, name)) if !is_dash(path) => Self::open_member(path, bundle, &name, args),
            _ => Self::open(path),
        }
    }

    /// Unpacks a member of a bundle to a temporary file.
    fn open_member(path: &Path, bundle: &Path, name: &str, args: &ReadArgs) -> Result<Self> {
        let archive = Self::open(bundle)?.into_archive(&args.options())?;
        let entry = member(&archive, name).map_err(|err| err.in_file(bundle.display()))?;
        let mut file = tempfile::tempfile()?;
        let mut out = BufWriter::new(&file);
        entry.archive.unpack(&mut out).in_file(path.display())?;
        out.flush()?;
        drop(out);
        file.rewind()?;
        let head = head_of(&mut file)?;
        file.rewind()?;
        let inner_name = Some(name.rsplit('/').next().unwrap_or(name).to_owned());
        let attributes = Attributes {
            mode_of_new: entry.file.mode.map(|mode| mode & 0o666),
            modified: entry.file.modified.and_then(unix_time),
            ..Attributes::default()
        };
        Ok(Self { attributes, inner_name, ..Self::new(path, head, InputBody::File(file)) })
    }

    fn new(path: &Path, head: Vec<u8>, body: InputBody) -> Self {
        let (path, attributes) = (path.to_owned(), Attributes::default());
        Self { path, head, body, attributes, inner_name: None }
    }

    /// Decompresses the input to a temporary file of at most `limit` bytes.
    fn decompressed(self, compression: Compression, limit: u64) -> Result<Self> {
        let (name, attributes) = (self.name(), self.attributes);
        let path = self.path.clone();
        let file_name = self.file_name().map(str::to_owned);
        let inner_name = file_name.map(|name| match Compression::of_name(&name) {
            Some((_, inner)) => inner.to_owned(),
            None => name,
        });
        let progress = Progress::bytes(&format!("decompressing {name}"), 0);
        let cannot = |cause: &io::Error| {
            let why = format!("cannot decompress it as {}", compression.name());
            let failure = Failure::io(why, cause);
            let is_content = !matches!(cause.kind(), io::ErrorKind::StorageFull);
            if is_content { failure.with_code(INPUT) } else { failure }.in_file(&name)
        };
        let mut file =
            compression.to_file(self.into_read()?, limit).map_err(|cause| cannot(&cause))?;
        drop(progress);
        let head = head_of(&mut file).map_err(|cause| cannot(&cause))?;
        file.rewind().map_err(|cause| cannot(&cause))?;
        Ok(Self { path, head, body: InputBody::File(file), attributes, inner_name })
    }

    #[cfg(feature = "remote")]
    fn open_url(path: &Path, args: &ReadArgs) -> Result<Self> {
        let file = remote::open(path, args.servers).in_file(input_name(path))?;
        let len = usize::try_from(file.size()).unwrap_or(usize::MAX).min(HEAD_BYTES);
        let head = file.read(0, len).in_file(input_name(path))?.to_vec();
        Ok(Self::new(path, head, InputBody::Remote(Arc::new(file))))
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
            let cannot = |cause: &io::Error| cannot_open(path, cause);
            let mut file = File::open(path).map_err(|cause| cannot(&cause))?;
            let meta = file.metadata().map_err(|cause| cannot(&cause))?;
            if meta.is_dir() {
                return Err(Failure::usage("is a directory").in_file(path.display()));
            }
            if meta.is_file() {
                let head = head_of(&mut file).map_err(|cause| cannot(&cause))?;
                file.rewind().map_err(|cause| cannot(&cause))?;
                let attributes = Attributes::of_content(Some(&meta));
                return Ok(Self { attributes, ..Self::new(path, head, InputBody::File(file)) });
            }
            InputStream::Pipe(file)
        };
        let mut stream = stream;
        let head = head_of(&mut stream)
            .map_err(|cause| Failure::io("cannot read", &cause).in_file(input_name(path)))?;
        Ok(Self::new(path, head, InputBody::Stream(stream)))
    }

    /// Wraps content that was read before from `path`.
    pub(crate) fn in_memory(path: &Path, content: Bytes) -> Self {
        let head = content.get(..HEAD_BYTES.min(content.len())).unwrap_or_default().to_vec();
        Self::new(path, head, InputBody::Memory(content))
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
        if self.inner_name.is_some() {
            return self.inner_name.as_deref();
        }
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
    pub(crate) fn attributes(&self) -> Attributes {
        Attributes { modified: None, ..self.attributes }
    }

    /// Returns the attributes that an output with the same content has, packed or unpacked.
    pub(crate) fn attributes_of_content(&self) -> Attributes {
        self.attributes
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

    /// Returns a source for a reader that reads everything, some of it several times: an input on
    /// a server is copied to a temporary file.
    pub(crate) fn into_local_source(self) -> Result<Arc<dyn ByteSource>> {
        #[cfg(feature = "remote")]
        let this = self.downloaded()?;
        #[cfg(not(feature = "remote"))]
        let this = self;
        this.into_source()
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

    /// Returns whether the input is a file on a server.
    pub(crate) fn is_remote(&self) -> bool {
        #[cfg(feature = "remote")]
        return matches!(self.body, InputBody::Remote(_));
        #[cfg(not(feature = "remote"))]
        false
    }

    /// Says which delimiter the content of a text shows, if it is another than its name says.
    fn note_delimiter(&self, args: &ReadArgs) {
        if args.csv.delimiter.is_some() || args.from.is_some() {
            return;
        }
        if !self.kind(None).is_ok_and(|kind| matches!(kind.id(), FormatId::Csv | FormatId::Tsv)) {
            return;
        }
        let detected = text::detect(self.file_name(), &self.head).map(|format| format.kind);
        let Some(TextKind::Delimited { delimiter }) = detected else { return };
        let by_name = self.file_name().and_then(|name| name.rsplit_once('.'));
        let by_name = by_name.and_then(|(_, extension)| TextKind::by_extension(extension));
        if delimiter != b',' && by_name != detected {
            let shown = if delimiter == b'\t' {
                "tab".to_owned()
            } else {
                format!("`{}`", char::from(delimiter))
            };
            note(format_args!(
                "`{}`: cells are separated by {shown}; --delimiter sets it",
                self.name()
            ));
        }
    }

    /// Opens the input as a table, with types of text that `target` can store.
    pub(crate) fn into_table(self, args: &ReadArgs, target: Option<FileKind>) -> Result<Table> {
        let name = self.name();
        self.note_delimiter(args);
        let mut options = args.open_options(self.file_name());
        if let Some(target) = target {
            options = options.with_target(target);
            // Such files are for other programs, which expect numbers where there are numbers.
            let is_foreign = matches!(target.id(), FormatId::Parquet | FormatId::Arrow);
            if is_foreign && args.csv.infer.is_none() && !args.csv.all_text {
                options.text.infer = Infer::Values;
            }
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
        if self.is_remote() && self.kind(args.from)?.is_text() {
            self.downloaded()
        } else {
            Ok(self)
        }
    }

    /// Copies an input from a server to a temporary file.
    fn downloaded(mut self) -> Result<Self> {
        if let InputBody::Remote(remote) = &self.body {
            self.body = InputBody::File(remote::download(remote).in_file(self.name())?);
        }
        Ok(self)
    }
}

/// Returns the failure of a file that cannot be opened; names the one that may have been meant.
fn cannot_open(path: &Path, cause: &io::Error) -> Failure {
    let failure = Failure::io("cannot open", cause).in_file(path.display());
    match near(path).filter(|_| cause.kind() == io::ErrorKind::NotFound) {
        Some(near) => failure.with_hint(Some(format!("did you mean `{near}`?"))),
        None => failure,
    }
}

fn head_of(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    stream.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}
