//! Reads an archive as a table: rows and typed columns (§11).
//!
//! One thread decodes the text of the archive, and another parses it: rows of cells for
//! the delimited codecs and for variant calls, objects for the JSON codecs, templates
//! and variables for logs. A line that was stored verbatim is parsed as any other. If it
//! is not a row, the importer skips it and counts it.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use memchr::memchr;
use memchr::memmem;

use super::codecs;
use super::codecs::entry::{Decode, DelimitedCells, Projection, TableRows};
use super::codecs::groups::check_names;
use super::container::in_at1;
use super::frames::FrameReader;
use super::unpack::Unpacker;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::spill::SpillBuffer;
use hypostyle_core::text::csv::{self, CsvOptions, Encoding};
use hypostyle_core::text::{ImportOptions, Imported, jsonl};

/// What the caller knows about the table of an archive.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Whether the first line of delimited text is a header.
    pub header: bool,
    /// The character encoding of the text.
    pub encoding: Encoding,
    /// The columns that the caller needs, if they are known. Other columns may then be
    /// missing from the table, which saves decompressing them.
    pub columns: Option<Vec<String>>,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { header: true, encoding: Encoding::Utf8, columns: None }
    }
}

/// An archive that is read as a table.
pub(super) struct TableView<'a> {
    frames: &'a FrameReader,
    options: &'a TableOptions,
    syntax: ViewSyntax,
}

/// How the text of an archive is read as a table.
#[derive(Clone, Debug)]
enum ViewSyntax {
    /// Cells between delimiters of one byte, with quotes.
    Csv { delimiter: u8, header: bool, columns: usize, projection: Option<Projection> },
    /// Cells between any other delimiter, without quotes.
    Split { delimiter: Vec<u8>, header: bool, columns: usize },
    /// Cells between tabs, after lines that start with `##`.
    Vcf,
    /// An object on each line.
    Jsonl,
    /// The lines of a log as objects, which the function writes.
    Log(Decode),
}

impl<'a> TableView<'a> {
    /// Finds out how the text of the archive is read.
    ///
    /// # Errors
    ///
    /// Besides damage: the codec's content is not a table.
    pub(super) fn new(frames: &'a FrameReader, options: &'a TableOptions) -> Result<Self> {
        Ok(Self { frames, options, syntax: view_syntax(frames, options)? })
    }

    /// Decodes the archive and parses its text.
    pub(super) fn import(&self, options: &ImportOptions, stage: SpillBuffer) -> Result<Imported> {
        let decode = |pipe: &mut dyn Write| self.decode(pipe);
        import_piped(decode, &self.syntax, self.options, options, stage)
    }

    /// Writes the text of the view into the pipe.
    fn decode(&self, pipe: &mut dyn Write) -> Result<()> {
        let unpacker = Unpacker::new(self.frames);
        let hash = self.frames.container().hash;
        match &self.syntax {
            ViewSyntax::Jsonl => unpacker.original(pipe, hash).map(|_| ()),
            ViewSyntax::Csv { projection: Some(projection), .. } => {
                unpacker.projected(pipe, projection)
            }
            ViewSyntax::Csv { header, .. } => padded_rows(unpacker, *header, pipe),
            ViewSyntax::Split { delimiter, header, .. } => {
                let mut cells = CsvConverter::new(pipe, delimiter, false);
                padded_rows(unpacker, *header, &mut cells)?;
                Ok(cells.finish()?)
            }
            ViewSyntax::Vcf => {
                let mut cells = CsvConverter::new(pipe, b"\t", true);
                unpacker.original(&mut cells, hash)?;
                Ok(cells.finish()?)
            }
            ViewSyntax::Log(put_rows) => unpacker.log_rows(pipe, *put_rows),
        }
    }
}

fn padded_rows(unpacker: Unpacker<'_>, header: bool, out: &mut dyn Write) -> Result<()> {
    if header { unpacker.padded_rows_with_one_header(out) } else { unpacker.padded_rows(out) }
}

fn view_syntax(frames: &FrameReader, options: &TableOptions) -> Result<ViewSyntax> {
    let codec = frames.codec();
    let entry = codecs::entry(codec);
    let of_frame = entry.rows_of_frame.map(|rows| frames.first_structured(rows)).transpose()?;
    match of_frame.flatten().unwrap_or(entry.rows) {
        TableRows::Delimited(cells) => {
            // An archive without structured frames is read as CSV.
            let cells = frames.first_structured(cells)?;
            let cells = cells.unwrap_or_else(|| DelimitedCells {
                delimiter: b",".to_vec(),
                columns: 0,
                header: None,
            });
            delimited_syntax(frames, options, cells)
        }
        TableRows::VariantCalls => Ok(ViewSyntax::Vcf),
        TableRows::Objects => {
            if let Some(groups) = entry.groups {
                frames.for_each_structured(|context| {
                    check_names(&(groups.prefixes)(context)?, context)
                })?;
            }
            Ok(ViewSyntax::Jsonl)
        }
        TableRows::LogLines(put_rows) => Ok(ViewSyntax::Log(put_rows)),
        TableRows::NotATable => {
            let why = format!("a table view of codec {codec}: unpack it instead");
            Err(in_at1(Error::unsupported(why)))
        }
    }
}

fn delimited_syntax(
    frames: &FrameReader,
    options: &TableOptions,
    cells: DelimitedCells,
) -> Result<ViewSyntax> {
    let DelimitedCells { delimiter, columns, header: stored_header } = cells;
    let header = options.header && stored_header.unwrap_or(true);
    let [byte] = *delimiter.as_slice() else {
        return Ok(ViewSyntax::Split { delimiter, header, columns });
    };
    if !csv::is_delimiter(byte) {
        return Ok(ViewSyntax::Split { delimiter, header, columns });
    }
    let names = options.columns.as_deref().filter(|_| header);
    let projection = names.map(|names| find_projection(frames, names)).transpose()?.flatten();
    let columns = if projection.is_some() { 0 } else { columns };
    Ok(ViewSyntax::Csv { delimiter: byte, header, columns, projection })
}

/// Finds the columns of these names, if the archive can be decoded without the others.
fn find_projection(frames: &FrameReader, names: &[String]) -> Result<Option<Projection>> {
    match codecs::entry(frames.codec()).project {
        Some(find) if frames.container().chunk_lines.is_none() => {
            let found = frames.first_structured(|context| find(context, names))?;
            Ok(found.flatten())
        }
        _ => Ok(None),
    }
}

/// Reads CSV with a header, or JSON Lines, as a table; `write` produces the text.
pub(super) fn import_text(
    json: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<()> + Send,
    options: &ImportOptions,
    stage: SpillBuffer,
) -> Result<Imported> {
    let syntax = if json {
        ViewSyntax::Jsonl
    } else {
        ViewSyntax::Csv { delimiter: b',', header: true, columns: 0, projection: None }
    };
    import_piped(write, &syntax, &TableOptions::default(), options, stage)
}

/// Parses text on this thread while `write` produces it on another one.
fn import_piped(
    write: impl FnOnce(&mut dyn Write) -> Result<()> + Send,
    syntax: &ViewSyntax,
    table: &TableOptions,
    options: &ImportOptions,
    stage: SpillBuffer,
) -> Result<Imported> {
    let mut options = options.clone();
    options.skip = true;
    let (sender, receiver) = sync_channel(PIPE_PIECES);
    thread::scope(|scope| {
        let writer = scope.spawn(move || write(&mut PipeWriter { sender }));
        let imported = parse(syntax, receiver, table, &options, stage);
        // If decoding failed, the parser only sees a text that is cut short.
        match writer.join() {
            Ok(Err(err)) if !is_broken_pipe(&err) => Err(in_at1(err)),
            _ => imported.map_err(in_at1),
        }
    })
}

fn parse(
    syntax: &ViewSyntax,
    receiver: Receiver<Vec<u8>>,
    table: &TableOptions,
    options: &ImportOptions,
    stage: SpillBuffer,
) -> Result<Imported> {
    let mut text = PipeReader { receiver, piece: io::Cursor::new(Vec::new()) };
    let mut quiet = |_| {};
    let (delimiter, header, columns) = match syntax {
        ViewSyntax::Csv { delimiter, header, columns, .. } => (*delimiter, *header, *columns),
        ViewSyntax::Split { header, columns, .. } => (b',', *header, *columns),
        ViewSyntax::Vcf => (b',', true, 0),
        ViewSyntax::Jsonl | ViewSyntax::Log(_) => {
            return jsonl::import(&mut text, options, stage, &mut quiet);
        }
    };
    let mut csv_options = CsvOptions::new(delimiter);
    csv_options.header = header;
    csv_options.columns = columns;
    csv_options.encoding = table.encoding;
    csv::import(&mut text, &csv_options, options, stage, &mut quiet)
}

/// Pieces of text that may wait in the pipe.
const PIPE_PIECES: usize = 4;

/// The end of the pipe that an archive is decoded into.
struct PipeWriter {
    sender: SyncSender<Vec<u8>>,
}

impl Write for PipeWriter {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        // The parser drops its end when it fails.
        let broken = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.sender.send(buf.to_vec()).map_err(broken)?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_broken_pipe(err: &Error) -> bool {
    matches!(err.kind(), ErrorKind::Io(cause) if cause.kind() == io::ErrorKind::BrokenPipe)
}

/// The end of the pipe that the parser reads.
struct PipeReader {
    receiver: Receiver<Vec<u8>>,
    piece: io::Cursor<Vec<u8>>,
}

impl Read for PipeReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let got = self.piece.read(buf)?;
            if got > 0 || buf.is_empty() {
                return Ok(got);
            }
            match self.receiver.recv() {
                Ok(next) => self.piece = io::Cursor::new(next),
                Err(_) => return Ok(0),
            }
        }
    }
}

/// Converts lines of cells between any delimiter into CSV.
struct CsvConverter<'a, W> {
    out: W,
    finder: memmem::Finder<'a>,
    /// Whether to drop lines that start with `##`, and the `#` before the header.
    is_vcf: bool,
    first: bool,
    pending: Vec<u8>,
    line: Vec<u8>,
}

impl<'a, W: Write> CsvConverter<'a, W> {
    fn new(out: W, delimiter: &'a [u8], is_vcf: bool) -> Self {
        let finder = memmem::Finder::new(delimiter);
        Self { out, finder, is_vcf, first: true, pending: Vec::new(), line: Vec::new() }
    }

    fn put_line(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_vcf && line.starts_with(b"##") {
            return Ok(());
        }
        let mut rest = line;
        if std::mem::replace(&mut self.first, false) && self.is_vcf {
            rest = line.strip_prefix(b"#").unwrap_or(line);
        }
        self.line.clear();
        let step = self.finder.needle().len();
        loop {
            // An empty delimiter would match everywhere; it splits nothing.
            let found = if step == 0 { None } else { self.finder.find(rest) };
            let cell = rest.get(..found.unwrap_or(rest.len())).unwrap_or_default();
            csv::cell_into(cell, b',', &mut self.line);
            match found {
                Some(at) => {
                    self.line.push(b',');
                    rest = rest.get(at + step..).unwrap_or_default();
                }
                None => break,
            }
        }
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }

    fn finish(mut self) -> io::Result<()> {
        let last = std::mem::take(&mut self.pending);
        if !last.is_empty() {
            self.put_line(&last)?;
        }
        self.out.flush()
    }
}

impl<W: Write> Write for CsvConverter<'_, W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut rest = buf;
        while let Some(newline) = memchr(b'\n', rest) {
            let (head, tail) = rest.split_at_checked(newline).unwrap_or((rest, &[]));
            self.pending.extend_from_slice(head);
            let line = std::mem::take(&mut self.pending);
            self.put_line(&line)?;
            self.pending = line;
            self.pending.clear();
            rest = tail.get(1..).unwrap_or_default();
        }
        self.pending.extend_from_slice(rest);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
