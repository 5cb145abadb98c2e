//! An archive as a table: rows and typed columns (§11).
//!
//! The text of the archive is put together and read again as what it is: rows
//! of cells for the delimited codecs and for variant calls, objects for the JSON
//! codecs, templates and variables for logs. So a line that was stored verbatim
//! is a row like any other if it reads as one; if not, it is counted and named.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use memchr::memchr;
use memchr::memmem;

use super::Archive;
use super::codecs::{Codec, DelimitedCells, Projection};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::spill::SpillBuffer;
use hypostyle_core::text::csv::{self, CsvOptions, Encoding};
use hypostyle_core::text::{ImportOptions, Imported, jsonl};

/// What the text of an archive does not say about its table.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Whether the first line of delimited text holds names.
    pub header: bool,
    /// How bytes become characters.
    pub encoding: Encoding,
    /// Names of the only columns that will be asked for, if they are known; others
    /// may then be missing from the table, and need not be expanded.
    pub columns: Option<Vec<String>>,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { header: true, encoding: Encoding::Utf8, columns: None }
    }
}

/// How the text of an archive is read as a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// DelimitedCells between delimiters of one byte, with quotes.
    Csv { delimiter: u8, header: bool, columns: usize, only: Option<Projection> },
    /// DelimitedCells between any other delimiter, without quotes.
    Split { delimiter: Vec<u8>, header: bool, columns: usize },
    /// DelimitedCells between tabs, behind lines that start with `##`.
    Vcf,
    /// An object on each line.
    Jsonl,
    /// Templates and variables, as objects.
    Log,
}

impl Archive {
    /// Reads the archive as a table.
    ///
    /// # Errors
    ///
    /// Besides damage: a codec whose content is no table.
    pub fn import(
        &self,
        table: &TableOptions,
        options: &ImportOptions,
        stage: SpillBuffer,
    ) -> Result<Imported> {
        let view = self.view(table)?;
        let mut options = options.clone();
        options.skip = true;
        let feed = |pipe: &mut dyn Write| self.feed(&view, pipe);
        piped(feed, |receiver| take(&view, receiver, table, &options, stage))
    }

    fn view(&self, options: &TableOptions) -> Result<View> {
        Ok(match self.codec() {
            Codec::Columnar if self.is_calls()? => View::Vcf,
            Codec::Columnar | Codec::QColumnar => {
                let DelimitedCells { delimiter, columns, header: split_off } = self.cells()?;
                let header = options.header && split_off.unwrap_or(true);
                match *delimiter.as_slice() {
                    [delimiter] if csv::is_delimiter(delimiter) => {
                        let names = options.columns.as_deref().filter(|_| header);
                        let only = names.map(|names| self.projection(names)).transpose()?.flatten();
                        let columns = if only.is_some() { 0 } else { columns };
                        View::Csv { delimiter, header, columns, only }
                    }
                    _ => View::Split { delimiter, header, columns },
                }
            }
            Codec::Json => View::Jsonl,
            Codec::QJson | Codec::QJson2 => {
                self.check_paths()?;
                View::Jsonl
            }
            Codec::Vcf => View::Vcf,
            Codec::Log | Codec::Ssh => View::Log,
            Codec::JsonDoc if self.is_log()? => View::Log,
            other => {
                let why = format!("a table view of codec {other}: unpack it instead");
                return Err(super::archive::located(Error::unsupported(why)));
            }
        })
    }

    /// Writes the text of the view into the pipe.
    fn feed(&self, view: &View, pipe: &mut dyn Write) -> Result<()> {
        match view {
            View::Jsonl => self.unpack(pipe).map(|_| ()),
            View::Csv { only: Some(only), .. } => self.unpack_columns(pipe, only),
            View::Csv { header: true, .. } => self.unpack_named(pipe),
            View::Csv { .. } => self.unpack_rows(pipe, None, true).map(|_| ()),
            View::Split { delimiter, header, .. } => {
                let mut cells = Resplit::new(pipe, delimiter, false);
                match header {
                    true => self.unpack_named(&mut cells)?,
                    false => self.unpack_rows(&mut cells, None, true).map(|_| ())?,
                }
                Ok(cells.finish()?)
            }
            View::Vcf => {
                let mut cells = Resplit::new(pipe, b"\t", true);
                self.unpack(&mut cells)?;
                Ok(cells.finish()?)
            }
            View::Log => self.log_rows(pipe),
        }
    }
}

/// Reads rows of CSV under a line of names, or objects, as a table.
pub(super) fn import_text(
    json: bool,
    feed: impl FnOnce(&mut dyn Write) -> Result<()> + Send,
    options: &ImportOptions,
    stage: SpillBuffer,
) -> Result<Imported> {
    let view = match json {
        true => View::Jsonl,
        false => View::Csv { delimiter: b',', header: true, columns: 0, only: None },
    };
    let mut options = options.clone();
    options.skip = true;
    piped(feed, |receiver| take(&view, receiver, &TableOptions::default(), &options, stage))
}

/// Lets one side write what the other reads.
fn piped(
    feed: impl FnOnce(&mut dyn Write) -> Result<()> + Send,
    take: impl FnOnce(Receiver<Vec<u8>>) -> Result<Imported>,
) -> Result<Imported> {
    let (sender, receiver) = sync_channel(PIPE);
    thread::scope(|scope| {
        let fed = scope.spawn(move || feed(&mut Feeder { sender }));
        let imported = take(receiver);
        // The archive's own error says more than that of a text cut short.
        match fed.join() {
            Ok(Err(err)) if !is_hang_up(&err) => Err(super::archive::located(err)),
            _ => imported.map_err(super::archive::located),
        }
    })
}

fn take(
    view: &View,
    receiver: Receiver<Vec<u8>>,
    table: &TableOptions,
    options: &ImportOptions,
    stage: SpillBuffer,
) -> Result<Imported> {
    let mut text = Taker { receiver, now: io::Cursor::new(Vec::new()) };
    let mut quiet = |_| {};
    let (header, columns) = match view {
        View::Csv { header, columns, .. } | View::Split { header, columns, .. } => {
            (*header, *columns)
        }
        View::Vcf => (true, 0),
        View::Jsonl | View::Log => return jsonl::import(&mut text, options, stage, &mut quiet),
    };
    let mut syntax = CsvOptions::new(match view {
        View::Csv { delimiter, .. } => *delimiter,
        _ => b',',
    });
    syntax.header = header;
    syntax.columns = columns;
    syntax.encoding = table.encoding;
    csv::import(&mut text, &syntax, options, stage, &mut quiet)
}

/// Pieces of text that may wait between the two ends.
const PIPE: usize = 4;

/// The end that an archive is unpacked into.
struct Feeder {
    sender: SyncSender<Vec<u8>>,
}

impl Write for Feeder {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        // The reader goes away when it has found an error of its own.
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.sender.send(buf.to_vec()).map_err(gone)?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_hang_up(err: &Error) -> bool {
    matches!(err.kind(), hypostyle_core::error::ErrorKind::Io(cause) if cause.kind() == io::ErrorKind::BrokenPipe)
}

/// The end that text is read from.
struct Taker {
    receiver: Receiver<Vec<u8>>,
    now: io::Cursor<Vec<u8>>,
}

impl Read for Taker {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let got = self.now.read(buf)?;
            if got > 0 || buf.is_empty() {
                return Ok(got);
            }
            match self.receiver.recv() {
                Ok(next) => self.now = io::Cursor::new(next),
                Err(_) => return Ok(0),
            }
        }
    }
}

/// Turns lines of cells between any delimiter into CSV.
struct Resplit<'a, W> {
    out: W,
    finder: memmem::Finder<'a>,
    /// Lines that start with `##` are no rows, and the `#` of the first row is
    /// no part of a name.
    is_vcf: bool,
    first: bool,
    pending: Vec<u8>,
    line: Vec<u8>,
}

impl<'a, W: Write> Resplit<'a, W> {
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
            // An empty delimiter is found everywhere, and splits nothing.
            let found = if step == 0 { None } else { self.finder.find(rest) };
            put_cell(rest.get(..found.unwrap_or(rest.len())).unwrap_or_default(), &mut self.line);
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

impl<W: Write> Write for Resplit<'_, W> {
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

/// Appends a cell, in quotes if it needs them; an empty one needs none.
pub(super) fn put_cell(cell: &[u8], out: &mut Vec<u8>) {
    if !cell.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        out.extend_from_slice(cell);
        return;
    }
    out.push(b'"');
    for &byte in cell {
        out.push(byte);
        if byte == b'"' {
            out.push(b'"');
        }
    }
    out.push(b'"');
}
