//! `hyp convert`: converts a table to another format.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::Schema;
use clap::ValueEnum;
use hypostyle::{
    Compat, Destination, DuplicateNames, FileKind, FormatId, Sink, Table, WriteOptions, Writer,
    WriterOptions,
};

use super::Status;
use crate::args::{ReadArgs, WriteArgs, file_kind, size};
use crate::failure::{Failure, Result};
use crate::hint;
use crate::input::Input;
use crate::output::{Out, Progress, Target, plain};
use crate::path_arg::is_dash;
#[cfg(feature = "remote")]
use crate::path_arg::is_url;

/// Arguments of `hyp convert`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp convert flights.csv flights.colf --null NA
  hyp convert table.colm table.parquet
  xz -dc big.csv.xz | hyp convert - big.clmn
  hyp convert table.colf - --to jsonl | head
  hyp convert access.txt access.onpair

Types: hyp gives a CSV column a type only if every cell is printed as it was, so `00501` and `+5` stay
text. Booleans, dates, timestamps and decimals such as `1.50` become such in formats that have them.
With `--infer numeric`, every cell that parses as a number becomes one. All columns of .onpair files
are text.

Lines: a .txt file is one column of lines. Converted to .onpair and back, it is restored byte for
byte.")]
pub(crate) struct Args {
    /// The table to read, or its URL; - reads standard input
    input: PathBuf,

    /// The file to write, or its URL; - writes to standard output
    output: PathBuf,

    /// Format of the output [default: by the extension of OUTPUT]
    #[arg(long, value_name = "FORMAT", value_parser = file_kind())]
    to: Option<FileKind>,

    #[command(flatten)]
    write: WriteArgs,

    /// Compression level of column files: 0 stores, 1 is fastest, 12 is smallest
    #[arg(long, short, value_name = "N", default_value_t = WriteOptions::DEFAULT_LEVEL,
          value_parser = clap::value_parser!(u8).range(0..=12))]
    level: u8,

    /// What to do with duplicate and empty column names: refuse, keep or rename them
    #[arg(long, value_enum, default_value_t = Names::Refuse, value_name = "HOW")]
    names: Names,

    /// Write nulls as this text if the output format has no nulls
    #[arg(long, value_name = "TEXT")]
    null_as: Option<String>,

    /// Write for a reader that misreads the canonical form; can be repeated
    #[arg(long, value_name = "SWITCH", value_parser = Compat::NAMES)]
    compat: Vec<String>,

    /// Memory for buffered rows; further rows spill to a temporary file
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256M")]
    memory: u64,

    #[command(flatten)]
    read: ReadArgs,
}

/// What to do with duplicate and empty column names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Names {
    Refuse,
    Keep,
    Rename,
}

/// Converts one table.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let to = output_kind(args)?;
    if !to.holds_tables() {
        let why = format!("cannot convert to {}: it stores files, not tables", to.name());
        return Err(Failure::usage(why));
    }
    // Check the output first: a long conversion must not fail at its end.
    let target = target(args, to, out)?;
    let input = Input::open_any(&args.input, &args.read)?;
    let name = input.name();
    let kind = input.kind(args.read.from)?;
    let target = target.with_attributes(input.attributes()?);
    let table = input.into_table(&args.read, Some(to))?;
    let conversion = Conversion { table, to, options: writer_options(args, kind, to), args };
    let written = conversion.write(target, out).map_err(|failure| failure.in_file(&name))?;
    if !args.write.is_quiet() && !is_dash(&args.output) {
        summary(args, to, written, out)?;
    }
    Ok(Status::Fine)
}

/// Prepares to write the output.
fn target(args: &Args, to: FileKind, out: &dyn Out) -> Result<Target> {
    #[cfg(feature = "remote")]
    if is_url(&args.output) {
        return Target::at_url(&args.output, args.write.force, args.read.servers);
    }
    Target::create(&args.output, !to.is_text(), args.write.force, out)
}

fn writer_options(args: &Args, from: FileKind, to: FileKind) -> WriterOptions {
    let mut encode =
        WriteOptions::default().with_level(args.level).with_threads(args.read.threads());
    if args.names == Names::Keep {
        encode = encode.with_duplicate_names(DuplicateNames::Keep);
    }
    let compat = args.compat.iter().try_fold(Compat::default(), |compat, name| compat.with(name));
    encode = encode.with_compat(compat.unwrap_or_default());
    // Text already has the types that the user set.
    let is_text = from.is_text() || from.id() == FormatId::At1;
    let types = if is_text { Vec::new() } else { args.read.csv.column_types() };
    let word_for_csv = args.read.csv.null.first().filter(|_| to.is_text());
    WriterOptions::default()
        .with_encode(encode)
        .with_types(types)
        .with_null_word(args.null_as.as_ref().or(word_for_csv).cloned())
        .with_memory(args.memory)
}

fn output_kind(args: &Args) -> Result<FileKind> {
    let extension = args.output.extension().and_then(|extension| extension.to_str());
    args.to.or_else(|| FileKind::by_extension(extension?)).ok_or_else(|| {
        let known = FileKind::all().filter(|kind| kind.holds_tables());
        let known: Vec<_> = known.map(FileKind::name).collect();
        let why = format!("unknown extension: choose the format with --to: {}", known.join(", "));
        Failure::usage(why).in_file(args.output.display())
    })
}

/// The number of rows and columns that were written.
type Written = (u64, usize);

fn summary(args: &Args, to: FileKind, (rows, columns): Written, out: &mut dyn Out) -> Result<()> {
    let size = |path: &Path| std::fs::metadata(path).ok().filter(|m| m.is_file()).map(|m| m.len());
    let mut line =
        format!("{}: {}, {rows} rows, {columns} columns", args.output.display(), to.name());
    if let Some(after) = size(&args.output) {
        line += &format!(", {after} bytes");
        if let Some(before) = size(&args.input).filter(|&before| before > 0) {
            let tenths = after.saturating_mul(1000) / before;
            line += &format!(" ({}.{}% of {before})", tenths / 10, tenths % 10);
        }
    }
    writeln!(out, "{}", plain(&line))?;
    Ok(())
}

/// Rows of a batch: every batch is a chunk that waits for the others of its column.
const BATCH_ROWS: usize = 64 << 10;

/// A table, and what it is written as.
struct Conversion<'a> {
    table: Table,
    to: FileKind,
    options: WriterOptions,
    args: &'a Args,
}

impl Conversion<'_> {
    fn write(&self, target: Target, out: &mut dyn Out) -> Result<Written> {
        let mut written = (0, 0);
        if self.to.is_text() {
            // Standard output gets text as it is written.
            target.stream(out, |stream| {
                let text = SharedBuffer::default();
                let sink: Box<dyn Sink> = Box::new(text.clone());
                written = self.rows(sink, || Ok(stream.write_all(&text.take())?))?;
                Ok(stream.write_all(&text.take())?)
            })?;
        } else {
            target.fill(out, |sink| {
                written = self.rows(sink, || Ok(()))?;
                Ok(())
            })?;
        }
        Ok(written)
    }

    /// Writes all rows, and calls `each` after every batch.
    fn rows<'s>(
        &self,
        sink: impl Into<Destination<'s>>,
        mut each: impl FnMut() -> Result<()>,
    ) -> Result<Written> {
        let scan = self.table.scan().threads_or_all(self.args.read.threads());
        let mut batches = scan.batch_size(BATCH_ROWS).batches()?;
        let mut schema = batches.schema();
        if self.args.names == Names::Rename {
            schema = Arc::new(renamed(&schema));
        }
        let columns = schema.fields().len();
        let progress = Progress::steps("writing rows", self.table.num_rows()?);
        let mut writer =
            Writer::create(sink, self.to, schema, &self.options).map_err(hint::writing)?;
        let mut rows = 0;
        while let Some(batch) = batches.next_batch().map_err(hint::reading)? {
            writer.write(&batch).map_err(hint::writing)?;
            each()?;
            rows += batch.num_rows() as u64;
            progress.set(rows);
        }
        Ok((writer.finish().map_err(hint::writing)?, columns))
    }
}

/// A sink whose bytes are taken out while it is written.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for SharedBuffer {
    fn patch(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::Error::other("text is never patched"))
    }
}

/// Makes column names unique and not blank: `id`, `id_2`, `column_3`.
fn renamed(schema: &Schema) -> Schema {
    let given: HashSet<String> =
        schema.fields().iter().map(|field| field.name().trim().to_owned()).collect();
    let mut used = HashSet::new();
    // The next number to try after a name, so that equal names are not tried from 2 each time.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut fields = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let blank = field.name().trim().is_empty();
        let base = if blank { format!("column_{}", index + 1) } else { field.name().clone() };
        let mut name = base.clone();
        // A new name must differ from the names of all other columns.
        while used.contains(name.trim()) || (name != *field.name() && given.contains(name.trim())) {
            let number = numbers.entry(base.clone()).or_insert(2);
            name = format!("{base}_{number}");
            *number += 1;
        }
        used.insert(name.trim().to_owned());
        fields.push(field.as_ref().clone().with_name(name));
    }
    Schema::new(fields)
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::*;

    #[test]
    fn new_names_are_unique_and_take_nobody_elses() {
        let names = ["id", "", "id", "id_2", " ", "column_2", "id "];
        let fields = names.map(|name| Field::new(name, DataType::Int32, false));
        let schema = renamed(&Schema::new(fields.to_vec()));
        let got: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(got, ["id", "column_2_2", "id_3", "id_2", "column_5", "column_2", "id _2"]);
    }

    /// With a number of attempts for each name that grows with its index, this takes minutes.
    #[test]
    fn many_equal_names_take_no_time() {
        let fields = vec![Field::new("id", DataType::Int32, false); 100_000];
        let started = std::time::Instant::now();
        let schema = renamed(&Schema::new(fields));
        assert_eq!(schema.field(99_999).name(), "id_100000");
        assert!(started.elapsed() < std::time::Duration::from_secs(20));
    }
}
