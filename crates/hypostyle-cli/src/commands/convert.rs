//! `hyp convert`: converts a table to another format.

use std::collections::HashSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use clap::ValueEnum;
use hypostyle::coerce::{CoerceOptions, CoercedTable};
use hypostyle::formats::{Capabilities, Format, ReaderColumns};
use hypostyle::spill::SpilledTable;
use hypostyle::text::{csv, jsonl, lines};
use hypostyle::{ColumnSource, ColumnStats, Compat, DuplicateNames, WriteOptions};

use super::Status;
use crate::args::{ReadArgs, WriteArgs, size};
use crate::failure::{Failure, Result};
use crate::file_kind::FileKind;
use crate::hint;
use crate::input::Input;
use crate::output::{Out, Progress, Target, spill_buffer};
use crate::path_arg::is_dash;
use crate::tables::{ArrowWriter, Batches, ParquetWriter, TableSource};

/// Bytes of rows that are kept in memory until their columns are written.
pub(crate) const DEFAULT_MEMORY_BYTES: u64 = 256 << 20;

/// Arguments of `hyp convert`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp convert flights.csv flights.colf --null NA
  hyp convert table.colm table.parquet
  xz -dc big.csv.xz | hyp convert - big.clmn
  hyp convert table.colf - --to jsonl | head
  hyp convert access.txt access.onpair

Types: hyp makes a CSV column numeric only if every cell can be restored exactly, so `00501`, `1.50`
and `+5` stay text. With `--infer numeric`, every cell that parses as a number becomes one. All
columns of .onpair files are text.

Lines: a .txt file is one column of lines. Converted to .onpair and back, it is restored byte for
byte.")]
pub(crate) struct Args {
    /// The table to read; - reads standard input
    input: PathBuf,

    /// The file to write; - writes to standard output
    output: PathBuf,

    /// Format of the output [default: by the extension of OUTPUT]
    #[arg(long, value_name = "FORMAT")]
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
    let target = Target::create(&args.output, to.is_binary(), args.write.force, out)?;
    let input = Input::open(&args.input)?;
    let name = input.name();
    let capabilities = to.format().map_or(Capabilities::EVERYTHING, |format| format.capabilities());
    let source = TableSource::open(input, None, &args.read, capabilities, args.memory)?;
    let in_input = |failure: Failure| failure.in_file(&name);
    let written = match to.format() {
        Some(format) => to_columns(source, format, target, args, out).map_err(in_input)?,
        None => to_rows(source, to, target, args, out).map_err(in_input)?,
    };
    if !args.write.is_quiet() && !is_dash(&args.output) {
        summary(args, to, written, out)?;
    }
    Ok(Status::Fine)
}

fn output_kind(args: &Args) -> Result<FileKind> {
    args.to.or_else(|| FileKind::by_extension(&args.output)).ok_or_else(|| {
        let known = FileKind::value_variants().iter().filter(|kind| kind.holds_tables());
        let known: Vec<_> = known.map(|kind| kind.name()).collect();
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
    writeln!(out, "{line}")?;
    Ok(())
}

fn to_columns(
    source: TableSource,
    format: &'static dyn Format,
    target: Target,
    args: &Args,
    out: &mut dyn Out,
) -> Result<Written> {
    with_table(source, args.memory, |table, typed| {
        write_columns(table, typed, format, target, args, out)
    })
}

/// Calls `then` with all columns of a source, and whether the source had types of its own.
pub(crate) fn with_table<T>(
    source: TableSource,
    memory: u64,
    then: impl FnOnce(&dyn ColumnSource, bool) -> Result<T>,
) -> Result<T> {
    match source {
        TableSource::Columns(reader) => then(&ReaderColumns(reader.clone()), true),
        TableSource::Imported(imported) => then(&imported, false),
        TableSource::Batches(batches) => then(&collect(batches, memory)?, true),
    }
}

/// Collects all batches, because column files store one whole column after the other.
fn collect(batches: Batches, memory: u64) -> Result<SpilledTable> {
    let mut buffer = spill_buffer(memory)?;
    let schema = batches.schema;
    let progress = Progress::bytes("reading", 0);
    let mut read = 0;
    for batch in batches.next {
        let batch = batch?;
        read += batch.get_array_memory_size() as u64;
        progress.set(read);
        buffer.push(batch.num_rows(), batch.columns().to_vec())?;
    }
    if buffer.chunks() == 0 {
        buffer.push(0, RecordBatch::new_empty(schema.clone()).columns().to_vec())?;
    }
    Ok(SpilledTable::new(schema, buffer))
}

fn write_columns(
    table: &dyn ColumnSource,
    typed: bool,
    format: &'static dyn Format,
    target: Target,
    args: &Args,
    out: &mut dyn Out,
) -> Result<Written> {
    let coerce = CoerceOptions {
        // Imported text already has the types that the user set.
        types: if typed { args.read.csv.types.clone() } else { Vec::new() },
        null_word: args.null_as.clone(),
    };
    let coerced =
        CoercedTable::try_new(table, format.capabilities(), &coerce).map_err(hint::writing)?;
    let watched = WatchedTable::new(&coerced, args.names == Names::Rename);
    let mut options =
        WriteOptions::default().with_level(args.level).with_threads(args.read.threads());
    if args.names == Names::Keep {
        options = options.with_duplicate_names(DuplicateNames::Keep);
    }
    let compat = args.compat.iter().try_fold(Compat::default(), |compat, name| compat.with(name));
    options = options.with_compat(compat.unwrap_or_default());
    target.fill(out, |sink| format.encode(&watched, sink, &options).map_err(hint::writing))?;
    Ok((table.rows(), table.schema().fields().len()))
}

/// A table that shows progress while it is written, and renames columns if asked to.
struct WatchedTable<'a> {
    table: &'a dyn ColumnSource,
    schema: SchemaRef,
    progress: Progress,
}

impl<'a> WatchedTable<'a> {
    fn new(table: &'a dyn ColumnSource, rename: bool) -> Self {
        let schema = table.schema();
        let schema = if rename { Arc::new(renamed(&schema)) } else { schema };
        let progress = Progress::steps("writing columns", schema.fields().len() as u64);
        Self { table, schema, progress }
    }
}

impl ColumnSource for WatchedTable<'_> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.table.rows()
    }

    fn column(&self, index: usize) -> hypostyle::Result<Vec<ArrayRef>> {
        self.progress.step();
        self.table.column(index)
    }

    fn stats(&self, index: usize) -> hypostyle::Result<ColumnStats> {
        self.table.stats(index)
    }
}

/// Makes column names unique and not blank: `id`, `id_2`, `column_3`.
fn renamed(schema: &Schema) -> Schema {
    let given: HashSet<String> =
        schema.fields().iter().map(|field| field.name().trim().to_owned()).collect();
    let mut used = HashSet::new();
    let mut fields = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let blank = field.name().trim().is_empty();
        let base = if blank { format!("column_{}", index + 1) } else { field.name().clone() };
        let mut name = base.clone();
        let mut number = 2;
        // A new name must differ from the names of all other columns.
        while used.contains(name.trim()) || (name != *field.name() && given.contains(name.trim())) {
            name = format!("{base}_{number}");
            number += 1;
        }
        used.insert(name.trim().to_owned());
        fields.push(Field::new(name, field.data_type().clone(), field.is_nullable()));
    }
    Schema::new(fields)
}

fn to_rows(
    source: TableSource,
    to: FileKind,
    target: Target,
    args: &Args,
    out: &mut dyn Out,
) -> Result<Written> {
    let mut schema = source.schema();
    if args.names == Names::Rename {
        schema = Arc::new(renamed(&schema));
    }
    let columns: Vec<usize> = (0..schema.fields().len()).collect();
    let mut rows = 0;
    let progress = Progress::bytes("writing", 0);
    let mut each = |batch: RecordBatch, sink: &mut dyn FnMut(&RecordBatch) -> Result<()>| {
        rows += batch.num_rows() as u64;
        progress.set(rows);
        let batch = RecordBatch::try_new(schema.clone(), batch.columns().to_vec())?;
        sink(&batch)?;
        Ok(ControlFlow::Continue(()))
    };
    match to {
        FileKind::Jsonl => target.stream(out, |sink| {
            let mut writer = jsonl::Writer::new(sink);
            source.for_each(&columns, |batch| each(batch, &mut |b| Ok(writer.write(b)?)))?;
            writer.finish()?;
            Ok(())
        })?,
        FileKind::Txt => target.stream(out, |sink| {
            let mut writer = lines::Writer::new(std::io::BufWriter::new(sink));
            source.for_each(&columns, |batch| each(batch, &mut |b| Ok(writer.write(b)?)))?;
            writer.finish()?;
            Ok(())
        })?,
        FileKind::Parquet => target.fill(out, |sink| {
            let mut writer = ParquetWriter::try_new(sink, schema.clone())?;
            source.for_each(&columns, |batch| each(batch, &mut |b| writer.write(b)))?;
            writer.finish()
        })?,
        FileKind::Arrow => target.fill(out, |sink| {
            let mut writer = ArrowWriter::try_new(sink, &schema)?;
            source.for_each(&columns, |batch| each(batch, &mut |b| writer.write(b)))?;
            writer.finish()
        })?,
        _ => target.stream(out, |sink| {
            let mut writer = csv_writer(sink, to, args);
            writer.header(&schema)?;
            source.for_each(&columns, |batch| each(batch, &mut |b| Ok(writer.write(b)?)))?;
            writer.finish()?;
            Ok(())
        })?,
    }
    Ok((rows, columns.len()))
}

fn csv_writer<'a>(
    sink: &'a mut dyn Write,
    to: FileKind,
    args: &Args,
) -> csv::Writer<&'a mut dyn Write> {
    let writer = csv::Writer::new(sink, if matches!(to, FileKind::Tsv) { b'\t' } else { b',' });
    match args.null_as.as_ref().or(args.read.csv.null.first()) {
        Some(word) => writer.with_null_word(word),
        None => writer,
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::*;

    #[test]
    fn new_names_are_unique_and_take_nobody_elses() {
        let names = ["id", "", "id", "id_2", " ", "column_2", "id "];
        let fields = names.map(|name| Field::new(name, DataType::Int32, false));
        let schema = renamed(&Schema::new(fields.to_vec()));
        let got: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(got, ["id", "column_2_2", "id_3", "id_2", "column_5", "column_2", "id _2"]);
    }
}
