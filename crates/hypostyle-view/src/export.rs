//! The rows of a table as CSV or JSON Lines.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use hypostyle::predicate::Predicate;
use hypostyle::text::{csv, jsonl};
use hypostyle::{Error, Result, Step, Table};
use serde_json::json;

use crate::job::{Job, LazyScan, Progress, or_missing};

/// Writes rows; each part leaves some bytes to take.
pub(crate) struct ExportJob {
    scan: LazyScan,
    format: Format,
    writer: Option<RowWriter>,
    written: Written,
    rows: u64,
}

impl ExportJob {
    /// # Errors
    ///
    /// Fails for another format than CSV, TSV and JSON Lines, and for a predicate that cannot be
    /// parsed.
    pub(crate) fn new(table: &Table, format: &str, filter: Option<&str>) -> Result<Self> {
        let format = match format {
            "csv" => Format::Delimited(b','),
            "tsv" => Format::Delimited(b'\t'),
            "jsonl" => Format::JsonLines,
            other => return Err(Error::invalid_argument(format!("no export is called {other}"))),
        };
        let mut scan = table.scan();
        if let Some(filter) = filter {
            scan = scan.filter(Predicate::parse(filter)?);
        }
        let (writer, written, rows) = (None, Written::default(), 0);
        Ok(Self { scan: LazyScan::new(scan), format, writer, written, rows })
    }

    fn writer(&mut self) -> Result<&mut RowWriter> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let schema = self.scan.decoder()?.schema();
                let out = self.written.clone();
                match self.format {
                    Format::JsonLines => RowWriter::JsonLines(jsonl::Writer::new(out)),
                    Format::Delimited(delimiter) => {
                        let mut writer = csv::Writer::new(out, delimiter);
                        writer.header(&schema)?;
                        RowWriter::Delimited(writer)
                    }
                }
            }
        };
        Ok(self.writer.insert(writer))
    }

    fn advance(&mut self) -> Result<Progress> {
        self.writer()?;
        match self.scan.step()? {
            Step::Missing(ranges) => Ok(Progress::Missing(ranges)),
            Step::Batch(batch) => {
                self.rows = self.rows.saturating_add(batch.num_rows() as u64);
                self.writer()?.write(&batch)?;
                Ok(Progress::Part(json!({ "rows": self.rows })))
            }
            Step::Done => {
                if let Some(writer) = self.writer.take() {
                    writer.finish()?;
                }
                Ok(Progress::Done(json!({ "rows": self.rows })))
            }
        }
    }
}

impl Job for ExportJob {
    fn step(&mut self) -> Result<Progress> {
        or_missing(self.advance())
    }

    fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.written.lock())
    }
}

/// The formats of exports.
#[derive(Clone, Copy)]
enum Format {
    Delimited(u8),
    JsonLines,
}

/// Writes rows as `hyp cat` prints them.
enum RowWriter {
    Delimited(csv::Writer<Written>),
    JsonLines(jsonl::Writer<Written>),
}

impl RowWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Delimited(writer) => writer.write(batch),
            Self::JsonLines(writer) => writer.write(batch),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Delimited(writer) => writer.finish()?,
            Self::JsonLines(writer) => writer.finish()?,
        };
        Ok(())
    }
}

/// The bytes that a writer has written and nobody has taken.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
