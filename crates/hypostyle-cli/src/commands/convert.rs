//! `hyp convert`: converts a table to another format.

use std::collections::{HashMap, HashSet};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::Schema;
use clap::ValueEnum;
use hypostyle::{
    Compat, Destination, DuplicateNames, FileKind, FormatId, Sink, WriteOptions, Writer,
    WriterOptions,
};

use super::Status;
use crate::args::{ReadArgs, WriteArgs, file_kind, size};
use crate::failure::{Failure, Result};
use crate::hint;
use crate::input::Input;
use crate::output::{Attributes, Out, Progress, Target, counted, plain};
use crate::path_arg::{is_dash, is_url};
use crate::table_args::{InputArgs, ShapeArgs};
use crate::tables::Tables;

/// Arguments of `hyp convert`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp convert flights.csv flights.colf --null NA
  hyp convert table.colm table.parquet
  xz -dc big.csv.xz | hyp convert - big.clmn
  hyp convert table.colf - --to jsonl | head
  hyp convert access.txt access.onpair
  hyp convert jan.csv feb.csv.gz year.parquet --filename --where 'price > 0'
  hyp convert flights.parquet flights.csv.at1           packs it, as `hyp pack` does

Types: hyp gives a CSV column a type only if every cell is printed as it was, so `00501` and `+5` stay
text. Booleans, dates, timestamps and decimals such as `1.50` become such in formats that have them.
In Parquet and Arrow, columns of numbers that are not all spelled alike, such as `1` and `2.5`, are
floats too (`--infer values`). With `--infer numeric`, every cell that parses as a number becomes one.
All columns of .onpair files are text.

Lines: a .txt file is one column of lines. Converted to .onpair and back, it is restored byte for
byte.")]
pub(crate) struct Args {
    /// The files to read, or their URLs; several are one table, one after the other. Also folders,
    /// quoted patterns, and compressed files; - reads standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// The file to write, or its URL; - writes to standard output
    output: PathBuf,

    /// Format of the output [default: by the extension of OUTPUT]
    #[arg(long, value_name = "FORMAT", value_parser = file_kind())]
    to: Option<FileKind>,

    #[command(flatten)]
    shape: ShapeArgs,

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

    /// In CSV and TSV, put an apostrophe before texts that a spreadsheet would take for formulas:
    /// those that start with =, +, -, @, a tab or a line end
    #[arg(long)]
    guard_formulas: bool,

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
    if to.id() == FormatId::At1 {
        return pack_table(args, out);
    }
    if !to.holds_tables() {
        let why = format!("cannot convert to {}: no table can be written as one", to.name());
        return Err(Failure::usage(why));
    }
    // Check the output first: a long conversion must not fail at its end.
    let target = target(args, to, out)?;
    let target = target.with_attributes(attributes(args));
    let conversion = Conversion::open(args, to)?;
    let (written, status) = conversion.write(target, out)?;
    if !args.write.is_quiet() && !is_dash(&args.output) {
        summary(args, to, written, out)?;
    }
    Ok(status)
}

/// Packs a table into an archive: a text as it is, anything else as CSV.
fn pack_table(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let output = super::pack::PackedTable {
        output: &args.output,
        write: args.write,
        threads: args.read.threads(),
    };
    if let ([path], true) = (args.inputs.as_slice(), args.shape.is_whole())
        && !is_url(path)
        && (is_dash(path) || path.is_file())
    {
        let input = Input::open_any(path, &args.read)?;
        if input.kind(args.read.from)?.is_text() {
            let name = input.file_name().map(str::to_owned);
            let attributes = input.attributes();
            let text = input.into_read()?;
            super::pack::pack_table(output, name.as_deref(), text, attributes, out)?;
            return Ok(Status::Fine);
        }
    }
    let csv = FileKind::of(FormatId::Csv)?;
    let conversion = Conversion::open(args, csv)?;
    let mut text = tempfile::tempfile()?;
    let mut writer = io::BufWriter::new(&text);
    let (_, status) = conversion.write_text(&mut writer)?;
    writer.flush()?;
    drop(writer);
    text.rewind()?;
    let text = Box::new(text);
    super::pack::pack_table(output, Some("table.csv"), text, attributes(args), out)?;
    Ok(status)
}

/// Returns the attributes of the output: nobody who cannot read an input can read it.
fn attributes(args: &Args) -> Attributes {
    let metadata = args.inputs.iter().filter_map(|path| std::fs::metadata(path).ok());
    let all = metadata.map(|meta| Attributes::of_input(Some(&meta)));
    let both = |one: Attributes, other: Attributes| {
        let modes = one.mode_of_new.zip(other.mode_of_new);
        Attributes { mode_of_new: modes.map(|(one, other)| one & other), ..one }
    };
    all.reduce(both).unwrap_or_default()
}

/// Prepares to write the output.
fn target(args: &Args, to: FileKind, out: &dyn Out) -> Result<Target> {
    #[cfg(feature = "remote")]
    if is_url(&args.output) {
        return Target::at_url(&args.output, args.write.force, args.read.servers);
    }
    Target::create(&args.output, !to.is_text(), args.write.force, out)
}

fn writer_options(args: &Args, tables: &Tables, to: FileKind) -> WriterOptions {
    let mut encode =
        WriteOptions::default().with_level(args.level).with_threads(args.read.threads());
    if args.names == Names::Keep {
        encode = encode.with_duplicate_names(DuplicateNames::Keep);
    }
    let compat = args.compat.iter().try_fold(Compat::default(), |compat, name| compat.with(name));
    encode = encode.with_compat(compat.unwrap_or_default());
    // Text already has the types that the user set.
    let is_text = |kind: FileKind| kind.is_text() || kind.id() == FormatId::At1;
    let is_text = tables.parts().iter().all(|part| is_text(part.kind));
    let types = if is_text { Vec::new() } else { args.read.csv.column_types() };
    let word_for_csv = args.read.csv.null.first().filter(|_| to.is_text());
    WriterOptions::default()
        .with_encode(encode)
        .with_types(types)
        .with_null_word(args.null_as.as_ref().or(word_for_csv).cloned())
        .with_guard_formulas(args.guard_formulas)
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
    let mut line = format!("{}: {}", args.output.display(), to.name());
    line += &format!(", {}, {}", counted(rows, "row"), counted(columns as u64, "column"));
    if let Some(after) = size(&args.output) {
        line += &format!(", {}", counted(after, "byte"));
        let [input] = args.inputs.as_slice() else {
            writeln!(out, "{}", plain(&line))?;
            return Ok(());
        };
        if let Some(before) = size(input).filter(|&before| before > 0 && args.shape.is_whole()) {
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
    tables: Tables,
    to: FileKind,
    options: WriterOptions,
    args: &'a Args,
}

impl<'a> Conversion<'a> {
    fn open(args: &'a Args, to: FileKind) -> Result<Self> {
        let input = InputArgs { files: args.inputs.clone(), read: args.read.clone() };
        let tables = Tables::open_for(&input, Some(to))?;
        let options = writer_options(args, &tables, to);
        Ok(Self { tables, to, options, args })
    }

    fn write(&self, target: Target, out: &mut dyn Out) -> Result<(Written, Status)> {
        let mut written = ((0, 0), Status::Fine);
        if self.to.is_text() {
            // Standard output gets text as it is written.
            target.stream(out, |stream| {
                written = self.write_text(stream)?;
                Ok(())
            })?;
        } else {
            target.fill(out, |sink| {
                written = self.rows(sink, || Ok(()))?;
                Ok(())
            })?;
        }
        Ok(written)
    }

    /// Writes a text, in pieces as it is made.
    fn write_text(&self, stream: &mut dyn Write) -> Result<(Written, Status)> {
        let text = SharedBuffer::default();
        let sink: Box<dyn Sink> = Box::new(text.clone());
        let written = self.rows(sink, || Ok(stream.write_all(&text.take())?))?;
        stream.write_all(&text.take())?;
        Ok(written)
    }

    /// Writes all rows, and calls `each` after every batch.
    fn rows<'s>(
        &self,
        sink: impl Into<Destination<'s>>,
        mut each: impl FnMut() -> Result<()>,
    ) -> Result<(Written, Status)> {
        let mut scan = self.tables.scan(&self.args.shape, BATCH_ROWS)?;
        let mut schema = scan.schema();
        if self.args.names == Names::Rename {
            schema = Arc::new(renamed(&schema));
        }
        let columns = schema.fields().len();
        let progress = Progress::steps("writing rows", self.tables.num_rows()?);
        let source = match self.tables.parts() {
            [part] => part.name.clone(),
            _ => self.args.output.display().to_string(),
        };
        let failed = |err| hint::writing(err).in_file(&source);
        let mut writer = Writer::create(sink, self.to, schema, &self.options).map_err(failed)?;
        let mut rows = 0;
        while let Some(batch) = scan.next_batch()? {
            writer.write(&batch).map_err(failed)?;
            each()?;
            rows += batch.num_rows() as u64;
            progress.set(rows);
        }
        let written = writer.finish().map_err(failed)?;
        Ok(((written, columns), Status::of_scan(scan.finish()?)))
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
