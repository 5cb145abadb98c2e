//! Tables of every kind, as batches: what every command reads.

use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use hypostyle::Table;
use hypostyle::formats::at1::{Archive, Damage, Query, QueryStats, TableOptions};
use hypostyle::formats::{Capabilities, Reader};
use hypostyle::predicate::Predicate;
use hypostyle::text::{Imported, Skipped};

use crate::cli::{ColumnArgs, ReadArgs};
use crate::failure::{Failure, InFile, Result};
use crate::file_kind::FileKind;
use crate::hint;
use crate::input::{Input, Whole, import_options};
use crate::output::scratch;

mod arrow;
pub(crate) mod parquet;
mod pick;

pub(crate) use arrow::ArrowWriter;
pub(crate) use parquet::ParquetWriter;
pub(crate) use pick::{ALL, Effort, Flow, Pick};

/// An open table.
pub(crate) enum Source {
    /// A column file: any columns, one at a time or all at once.
    Columns(Box<dyn Reader>),
    /// Text that has been read.
    Imported(Imported),
    /// Batches as they come.
    Batches(Batches),
}

/// Batches of a file that has rows in order.
pub(crate) struct Batches {
    pub(crate) schema: SchemaRef,
    pub(crate) next: Box<dyn Iterator<Item = Result<RecordBatch>>>,
}

/// What is wanted of a table.
#[derive(Debug, Default)]
pub(crate) struct Question<'a> {
    /// The columns, if not all.
    pub(crate) columns: Option<&'a ColumnArgs>,
    /// The rows, by what they say.
    pub(crate) filter: Option<&'a Predicate>,
    /// The rows, by number.
    pub(crate) rows: Option<&'a [u64]>,
    /// Leave out what is damaged.
    pub(crate) skip_damaged: bool,
}

impl Question<'_> {
    /// Every column that is needed, if they are known by name.
    fn names(&self) -> Option<Vec<String>> {
        let mut names = self.columns.and_then(ColumnArgs::names)?;
        let filtered = self.filter.map(Predicate::columns).unwrap_or_default();
        names.extend(filtered.into_iter().map(str::to_owned));
        names.sort_unstable();
        names.dedup();
        Some(names)
    }
}

/// A table that was asked.
pub(crate) struct Asked {
    pub(crate) source: Source,
    /// What it took, if the file could answer by itself; else the source has all rows.
    pub(crate) stats: Option<QueryStats>,
}

impl Source {
    /// Opens an input and leaves as much of the question to the file as it can answer.
    pub(crate) fn ask(
        input: Input,
        question: &Question<'_>,
        args: &ReadArgs,
        memory: u64,
    ) -> Result<Asked> {
        let capabilities = Capabilities::EVERYTHING;
        let columns = question.columns.and_then(ColumnArgs::names);
        let plain = question.filter.is_none() && question.rows.is_none() && columns.is_none();
        if plain || !input.kind(args.from)?.is_archive() {
            let source = Self::open(input, question.columns, args, capabilities, memory)?;
            return Ok(Asked { source, stats: None });
        }
        let name = input.name();
        let archive = input.into_archive(&args.options())?;
        let query = Query::default()
            .with_columns(columns)
            .with_filter(question.filter.cloned())
            .with_rows(question.rows.map(<[u64]>::to_vec))
            .with_skip_damaged(question.skip_damaged);
        let options = import_options(args, capabilities);
        let how = table_options(args, question.names());
        let answer = archive.query(&query, &how, &options, scratch(memory)?);
        let answer = answer.map_err(hint::reading).in_file(&name)?;
        let Some(answer) = answer else {
            let source = Self::archive(&archive, &name, &how, args, capabilities, memory)?;
            return Ok(Asked { source, stats: None });
        };
        warn_of_odd_lines(&name, answer.stats.odd_lines);
        warn_of_damage(&name, &answer.stats.damaged);
        let source = Self::Imported(answer.table);
        Ok(Asked { source, stats: Some(answer.stats) })
    }

    /// Reads a whole archive as a table.
    fn archive(
        archive: &Archive,
        name: &str,
        how: &TableOptions,
        args: &ReadArgs,
        capabilities: Capabilities,
        memory: u64,
    ) -> Result<Self> {
        let table = archive.import(how, &import_options(args, capabilities), scratch(memory)?);
        let table = table.map_err(hint::reading).in_file(name)?;
        warn_of_skipped(name, table.skipped());
        Ok(Self::Imported(table))
    }

    /// Opens an input of any kind; text gets types that `capabilities` allow.
    ///
    /// Columns besides those that are `wanted` may be missing, where that saves work.
    pub(crate) fn open(
        input: Input,
        wanted: Option<&ColumnArgs>,
        args: &ReadArgs,
        capabilities: Capabilities,
        memory: u64,
    ) -> Result<Self> {
        let kind = match input.kind(args.from)? {
            // Who says what is between cells does not mean lines.
            FileKind::Txt if args.from.is_none() && args.csv.delimiter.is_some() => FileKind::Csv,
            kind => kind,
        };
        let name = input.name();
        Ok(match kind {
            _ if kind.is_archive() => {
                let archive = input.into_archive(&args.options())?;
                let how = table_options(args, wanted.and_then(ColumnArgs::names));
                Self::archive(&archive, &name, &how, args, capabilities, memory)?
            }
            FileKind::Format(format) => Self::Columns(input.into_reader(format, &args.options())?),
            FileKind::Parquet => Self::Batches(match input.into_whole()? {
                Whole::File(file) => parquet::read(file).in_file(name)?,
                Whole::Memory(content) => parquet::read(content).in_file(name)?,
            }),
            FileKind::Arrow => Self::Batches(match input.into_whole()? {
                Whole::File(file) => arrow::read(file).in_file(name)?,
                Whole::Memory(content) => arrow::read(io::Cursor::new(content)).in_file(name)?,
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

    /// The number of rows, where it is known beforehand.
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
            "warning: `{name}`: {count} lines are no rows of the table and take no part"
        );
    }
}

/// Says what is lost, and which lines of the original that were.
pub(crate) fn warn_of_damage(name: &str, damaged: &[Damage]) {
    for damage in damaged {
        let lines: Vec<String> = damage
            .lines
            .iter()
            .take(SHOWN)
            .map(|run| match run.start() == run.end() {
                true => run.start().to_string(),
                false => format!("{} to {}", run.start(), run.end()),
            })
            .collect();
        let more = if damage.lines.len() > SHOWN { ", ..." } else { "" };
        let lost = match lines.is_empty() {
            true => "left out".to_owned(),
            false => {
                format!("{} lines are left out, {}{more}", damage.count(), lines.join(", "))
            }
        };
        let _ = writeln!(io::stderr(), "warning: `{name}`: {lost}: {}", damage.what);
    }
}

/// Runs of lines that a warning names.
const SHOWN: usize = 20;

/// Says what an archive holds besides rows: nothing is left out in silence.
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
        "warning: `{name}`: {count} lines are no rows of the table and are left out, at byte \
         {places}{more} of the text"
    );
}

fn broken(what: &str, err: &dyn std::fmt::Display) -> Failure {
    Failure::input(format!("{what}: {err}"))
}
