//! Tables of every kind as batches, which is what every command reads.
//!
//! [`TableSource`] opens an input: column files through the library, `parquet` and `arrow`
//! through their crates, text and archives through an import. `scan` returns batches of some of
//! its columns and rows.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use hypostyle::ColumnSource;
use hypostyle::formats::at1::{Archive, Damage, Query, QueryStats, TableOptions};
use hypostyle::formats::{Capabilities, Reader};
use hypostyle::predicate::Predicate;
use hypostyle::text::{Imported, Skipped};

use crate::args::{ColumnArgs, ReadArgs};
use crate::failure::{Failure, InFile, Result};
use crate::file_kind::FileKind;
use crate::hint;
use crate::input::{Input, SeekableInput, import_options};
use crate::output::spill_buffer;

mod arrow;
pub(crate) mod parquet;
mod scan;

pub(crate) use arrow::ArrowWriter;
pub(crate) use parquet::ParquetWriter;
pub(crate) use scan::{ALL_ROWS, RowFilter, ScanStats};

/// An open table.
pub(crate) enum TableSource {
    /// A column file, of which columns and chunks can be decoded separately.
    Columns(Arc<dyn Reader>),
    /// Imported text.
    Imported(Imported),
    /// Batches of a file that is read sequentially.
    Batches(Batches),
}

/// Batches of a file, in order.
pub(crate) struct Batches {
    pub(crate) schema: SchemaRef,
    pub(crate) next: Box<dyn Iterator<Item = Result<RecordBatch>>>,
}

/// The columns and rows that a command wants of a table.
#[derive(Debug, Default)]
pub(crate) struct TableQuery<'a> {
    /// The projection; all columns by default.
    pub(crate) columns: Option<&'a ColumnArgs>,
    /// The predicate that rows must match.
    pub(crate) filter: Option<&'a Predicate>,
    /// The rows, by number.
    pub(crate) rows: Option<&'a [u64]>,
    /// Skip damaged row groups.
    pub(crate) skip_damaged: bool,
}

impl TableQuery<'_> {
    /// Returns the names of all columns that the query needs, if all are chosen by name.
    fn names(&self) -> Option<Vec<String>> {
        let mut names = self.columns.and_then(ColumnArgs::names)?;
        let filtered = self.filter.map(Predicate::columns).unwrap_or_default();
        names.extend(filtered.into_iter().map(str::to_owned));
        names.sort_unstable();
        names.dedup();
        Some(names)
    }
}

/// The result of a query.
pub(crate) struct QueriedTable {
    pub(crate) source: TableSource,
    /// What the query read, if the file evaluated it; otherwise the source has all rows.
    pub(crate) stats: Option<QueryStats>,
}

impl TableSource {
    /// Opens an input and lets the file evaluate the query if it can.
    pub(crate) fn query(
        input: Input,
        query: &TableQuery<'_>,
        args: &ReadArgs,
        memory: u64,
    ) -> Result<QueriedTable> {
        let capabilities = Capabilities::EVERYTHING;
        let columns = query.columns.and_then(ColumnArgs::names);
        let is_full_scan = query.filter.is_none() && query.rows.is_none() && columns.is_none();
        if is_full_scan || !input.kind(args.from)?.is_archive() {
            let source = Self::open(input, query.columns, args, capabilities, memory)?;
            return Ok(QueriedTable { source, stats: None });
        }
        let name = input.name();
        let archive = input.into_archive(&args.options())?;
        let archive_query = Query::default()
            .with_columns(columns)
            .with_filter(query.filter.cloned())
            .with_rows(query.rows.map(<[u64]>::to_vec))
            .with_skip_damaged(query.skip_damaged);
        let options = import_options(args, capabilities);
        let table_options = table_options(args, query.names());
        let answer = archive.query(&archive_query, &table_options, &options, spill_buffer(memory)?);
        let answer = answer.map_err(hint::reading).in_file(&name)?;
        let Some(answer) = answer else {
            let source =
                Self::archive(&archive, &name, &table_options, args, capabilities, memory)?;
            return Ok(QueriedTable { source, stats: None });
        };
        warn_of_odd_lines(&name, answer.stats.odd_lines);
        warn_of_damage(&name, &answer.stats.damaged);
        let source = Self::Imported(answer.table);
        Ok(QueriedTable { source, stats: Some(answer.stats) })
    }

    /// Reads a whole archive as a table.
    fn archive(
        archive: &Archive,
        name: &str,
        table_options: &TableOptions,
        args: &ReadArgs,
        capabilities: Capabilities,
        memory: u64,
    ) -> Result<Self> {
        let table = archive.import(
            table_options,
            &import_options(args, capabilities),
            spill_buffer(memory)?,
        );
        let table = table.map_err(hint::reading).in_file(name)?;
        warn_of_skipped(name, table.skipped());
        Ok(Self::Imported(table))
    }

    /// Opens an input of any kind and infers types of text that `capabilities` allow.
    ///
    /// Columns other than `wanted` may be missing where that saves work.
    pub(crate) fn open(
        input: Input,
        wanted: Option<&ColumnArgs>,
        args: &ReadArgs,
        capabilities: Capabilities,
        memory: u64,
    ) -> Result<Self> {
        let kind = match input.kind(args.from)? {
            // A delimiter means cells, not lines.
            FileKind::Txt if args.from.is_none() && args.csv.delimiter.is_some() => FileKind::Csv,
            kind => kind,
        };
        let name = input.name();
        Ok(match kind {
            _ if kind.is_archive() => {
                let archive = input.into_archive(&args.options())?;
                let table_options = table_options(args, wanted.and_then(ColumnArgs::names));
                Self::archive(&archive, &name, &table_options, args, capabilities, memory)?
            }
            FileKind::Format(format) => Self::Columns(input.into_reader(format, &args.options())?),
            FileKind::Parquet => Self::Batches(match input.into_seekable()? {
                SeekableInput::File(file) => parquet::read(file).in_file(name)?,
                SeekableInput::Memory(content) => parquet::read(content).in_file(name)?,
            }),
            FileKind::Arrow => Self::Batches(match input.into_seekable()? {
                SeekableInput::File(file) => arrow::read(file).in_file(name)?,
                SeekableInput::Memory(content) => {
                    arrow::read(io::Cursor::new(content)).in_file(name)?
                }
            }),
            _ => Self::Imported(input.import(kind, args, capabilities, memory)?),
        })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        match self {
            Self::Columns(reader) => reader.schema(),
            Self::Imported(imported) => imported.schema(),
            Self::Batches(batches) => batches.schema.clone(),
        }
    }

    /// Returns the number of rows, if it is known before reading.
    pub(crate) fn rows(&self) -> Option<u64> {
        match self {
            Self::Columns(reader) => Some(reader.rows()),
            Self::Imported(imported) => Some(imported.rows()),
            Self::Batches(_) => None,
        }
    }
}

fn table_options(args: &ReadArgs, columns: Option<Vec<String>>) -> TableOptions {
    TableOptions { header: !args.csv.no_header, encoding: args.csv.encoding.into(), columns }
}

fn warn_of_odd_lines(name: &str, count: u64) {
    if count > 0 {
        let _ = writeln!(
            io::stderr(),
            "warning: `{name}`: {count} lines are not rows of the table and are skipped"
        );
    }
}

/// Warns of damaged parts, and names the lines of the original that are lost.
pub(crate) fn warn_of_damage(name: &str, damaged: &[Damage]) {
    for damage in damaged {
        let lines: Vec<String> = damage
            .lines
            .iter()
            .take(MAX_NAMED_RUNS)
            .map(|run| {
                if run.start() == run.end() {
                    run.start().to_string()
                } else {
                    format!("{} to {}", run.start(), run.end())
                }
            })
            .collect();
        let more = if damage.lines.len() > MAX_NAMED_RUNS { ", ..." } else { "" };
        let lost = if lines.is_empty() {
            "left out".to_owned()
        } else {
            format!("{} lines are left out, {}{more}", damage.count(), lines.join(", "))
        };
        let _ = writeln!(io::stderr(), "warning: `{name}`: {lost}: {}", damage.what);
    }
}

/// Runs of lines that a warning names.
const MAX_NAMED_RUNS: usize = 20;

/// Warns of lines in an archive that are not rows, so that nothing is left out silently.
fn warn_of_skipped(name: &str, skipped: &Skipped) {
    if skipped.count == 0 {
        return;
    }
    let places: Vec<String> = skipped.offsets.iter().map(u64::to_string).collect();
    let more = if skipped.count > places.len() as u64 { ", ..." } else { "" };
    let places = places.join(", ");
    let count = skipped.count;
    let _ = writeln!(
        io::stderr(),
        "warning: `{name}`: {count} lines are not rows of the table and are left out, at byte \
         {places}{more} of the text"
    );
}

fn invalid(what: &str, err: &dyn std::fmt::Display) -> Failure {
    Failure::input(format!("{what}: {err}"))
}
