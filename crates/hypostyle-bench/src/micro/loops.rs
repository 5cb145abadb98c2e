//! The hot loops: the input and one iteration of each, through public interfaces.

use std::fs;
use std::hint::black_box;
use std::io::Cursor as IoCursor;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::{self, Archive, Choice, PackOptions};
use hypostyle::predicate::Predicate;
use hypostyle::spill::{SpillBuffer, SpilledTable};
use hypostyle::{FormatId, OpenOptions, ReadOptions, SeekSink, WriteOptions, formats};
use hypostyle_core::wire::{Cursor, put};
use hypostyle_onpair::{Column, Config, Dictionary, Effort, Joined, Pattern};
use hypostyle_testkit::rng::Rng;

use crate::Result;
use crate::data::{self, TableShape};
use crate::strings::agents;

/// A loop in which programs spend much time.
#[derive(Debug)]
pub(super) struct HotLoop {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// The unit of work that instructions are divided by.
    pub(super) unit: &'static str,
    /// Generates the input file outside the counted process; empty if the loop needs none.
    pub(super) make: fn(DataSize) -> Result<Vec<u8>>,
    /// Prepares the loop.
    prepare: fn(Bytes, DataSize) -> Result<PreparedLoop>,
}

/// The amount of data that a loop processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataSize {
    Small,
    Full,
}

impl DataSize {
    /// Scales a count to the data size.
    fn of(self, full: usize) -> usize {
        if self == Self::Small { full / 16 } else { full }
    }

    fn shape(self, rows: usize, columns: usize) -> TableShape {
        TableShape { rows: self.of(rows) as u64, columns }
    }
}

/// A loop that is ready to run.
struct PreparedLoop {
    /// Units of work in one iteration.
    units: usize,
    iterate: Box<dyn FnMut() -> Result<()>>,
}

impl PreparedLoop {
    fn new(units: usize, iterate: impl FnMut() -> Result<()> + 'static) -> Result<Self> {
        Ok(Self { units, iterate: Box::new(iterate) })
    }
}

pub(super) const ALL: [HotLoop; 14] = [
    HotLoop {
        name: "varint-read",
        what: "`wire::Cursor::uv`, numbers of 1 to 5 bytes",
        unit: "number",
        make: |_| Ok(Vec::new()),
        prepare: varint_read,
    },
    HotLoop {
        name: "varint-write",
        what: "`wire::put::uv`, the same numbers",
        unit: "number",
        make: |_| Ok(Vec::new()),
        prepare: varint_write,
    },
    HotLoop {
        name: "delta-unpack",
        what: "AT-1 unpack of two delta-coded columns of ascending times",
        unit: "row",
        make: |size| packed(&times(size), Choice::Auto),
        prepare: |archive, _| unpack(archive, |text| lines(text) - 1),
    },
    HotLoop {
        name: "rows-unpack",
        what: "AT-1 unpack of 50 columns into rows",
        unit: "byte",
        make: |size| packed(&table(size.shape(1500, 50))?, Choice::Auto),
        prepare: |archive, _| unpack(archive, <[u8]>::len),
    },
    HotLoop {
        name: "query",
        what: "AT-1 query for 10 rows; statistics skip all row groups but one",
        unit: "query",
        make: |size| packed(&table(size.shape(8000, 10))?, Choice::Query),
        prepare: query,
    },
    HotLoop {
        name: "csv-scan",
        what: "scan of a CSV file of 10 columns: its types, then its columns",
        unit: "byte",
        make: |size| table(size.shape(8000, 10)),
        prepare: scan_csv,
    },
    HotLoop {
        name: "colm-write",
        what: "the same columns into COLM, level 1",
        unit: "value",
        make: |size| table(size.shape(8000, 10)),
        prepare: colm_write,
    },
    HotLoop {
        name: "colm-read",
        what: "COLM of 10 columns into Arrow",
        unit: "value",
        make: |size| colm(&table(size.shape(8000, 10))?),
        prepare: colm_read,
    },
    HotLoop {
        name: "onpair-train",
        what: "OnPair: training 12-bit tokens on 1 MB, quick effort",
        unit: "byte",
        make: |_| Ok(Vec::new()),
        prepare: onpair_train,
    },
    HotLoop {
        name: "onpair-cut",
        what: "OnPair: tokenizing strings with a trained dictionary, 12 bits",
        unit: "byte",
        make: |_| Ok(Vec::new()),
        prepare: onpair_tokenize,
    },
    HotLoop {
        name: "onpair-decode-12",
        what: "OnPair: decoding all strings, 12 bits",
        unit: "byte",
        make: |_| Ok(Vec::new()),
        prepare: |_, size| onpair_decode(size, 12),
    },
    HotLoop {
        name: "onpair-decode-16",
        what: "OnPair: decoding all strings, 16 bits",
        unit: "byte",
        make: |_| Ok(Vec::new()),
        prepare: |_, size| onpair_decode(size, 16),
    },
    HotLoop {
        name: "onpair-take",
        what: "OnPair: decoding random rows",
        unit: "row",
        make: |_| Ok(Vec::new()),
        prepare: onpair_take,
    },
    HotLoop {
        name: "onpair-contains",
        what: "OnPair: finding rows that contain a string",
        unit: "row",
        make: |_| Ok(Vec::new()),
        prepare: onpair_contains,
    },
];

impl HotLoop {
    fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|it| it.name == name)
    }
}

/// Prepares and runs a loop, then prints the units of work per iteration.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The name of the loop.
    name: String,
    /// The number of iterations.
    iterations: usize,
    /// The input file [default: generated].
    #[arg(long)]
    file: Option<PathBuf>,
    /// Use little data.
    #[arg(long)]
    small: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let it = HotLoop::named(&args.name).ok_or("unknown loop")?;
    let size = if args.small { DataSize::Small } else { DataSize::Full };
    let file = match &args.file {
        Some(path) => fs::read(path)?,
        None => (it.make)(size)?,
    };
    let mut prepared = (it.prepare)(Bytes::from(file), size)?;
    for _ in 0..args.iterations {
        (prepared.iterate)()?;
    }
    println!("{}", prepared.units);
    Ok(())
}

/// Returns the command line that calls [`run`].
pub(super) fn words(it: &HotLoop, iterations: usize, file: &Path, size: DataSize) -> Vec<String> {
    let mut words = vec!["loop".to_owned(), it.name.to_owned(), iterations.to_string()];
    words.extend(["--file".to_owned(), file.display().to_string()]);
    words.extend((size == DataSize::Small).then(|| "--small".to_owned()));
    words
}

const ONE_THREAD: Option<NonZeroUsize> = NonZeroUsize::new(1);

/// The length of the trailer of an archive: its hash and magic.
const TRAILER_BYTES: usize = 36;

/// The size of the string column.
const STRING_BYTES: usize = 1 << 20;

fn numbers(size: DataSize) -> Vec<u64> {
    let mut rng = Rng::new(1);
    (0..size.of(1 << 18)).map(|_| rng.next_u64() >> (29 + rng.below(35))).collect()
}

fn varint_read(_: Bytes, size: DataSize) -> Result<PreparedLoop> {
    let numbers = numbers(size);
    let mut bytes = Vec::new();
    numbers.iter().for_each(|&number| put::uv(&mut bytes, number));
    PreparedLoop::new(numbers.len(), move || {
        let mut cursor = Cursor::new(&bytes, 0);
        let mut sum = 0_u64;
        while !cursor.is_empty() {
            sum = sum.wrapping_add(cursor.uv("a number")?);
        }
        black_box(sum);
        Ok(())
    })
}

fn varint_write(_: Bytes, size: DataSize) -> Result<PreparedLoop> {
    let numbers = numbers(size);
    let mut bytes = Vec::with_capacity(numbers.len() * 10);
    PreparedLoop::new(numbers.len(), move || {
        bytes.clear();
        numbers.iter().for_each(|&number| put::uv(&mut bytes, number));
        black_box(&bytes);
        Ok(())
    })
}

/// Generates a table as CSV.
fn table(shape: TableShape) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    data::write_csv(shape, &mut text)?;
    Ok(text)
}

/// Generates two columns of times with irregular steps; a single column would not be detected as a
/// table.
fn times(size: DataSize) -> Vec<u8> {
    let mut rng = Rng::new(2);
    let (mut start, mut end) = (1_600_000_000, 1_700_000_000);
    let mut text = String::from("start,end\n");
    for _ in 0..size.of(1 << 16) {
        start += rng.below(1200);
        end += rng.below(900);
        text += &format!("{start},{end}\n");
    }
    text.into_bytes()
}

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'\n').count()
}

fn packed(text: &[u8], codec: Choice) -> Result<Vec<u8>> {
    // Small row groups, so that there are several.
    let options = PackOptions::default().with_codec(codec);
    let options = options.with_level(1).with_rows_per_group(NonZeroUsize::new(500));
    let (mut archive, _) = at1::pack(text, &options)?;
    // Remove the trailer: hashing would dominate the count, and a library does it.
    archive.truncate(archive.len().saturating_sub(TRAILER_BYTES));
    Ok(archive)
}

fn open(archive: &Bytes) -> Result<Archive> {
    let options = ReadOptions::default().with_threads(ONE_THREAD);
    Ok(Archive::open(Arc::new(archive.clone()), &options)?)
}

fn unpack(archive: Bytes, units: fn(&[u8]) -> usize) -> Result<PreparedLoop> {
    let mut text = Vec::new();
    open(&archive)?.unpack(&mut text)?;
    PreparedLoop::new(units(&text), move || {
        text.clear();
        open(&archive)?.unpack(&mut text)?;
        black_box(&text);
        Ok(())
    })
}

fn query(archive: Bytes, _: DataSize) -> Result<PreparedLoop> {
    let predicate = "id_0 > 300 and id_0 <= 310";
    let predicate = Predicate::parse(predicate)?;
    PreparedLoop::new(1, move || {
        let options =
            OpenOptions::default().with_read(ReadOptions::default().with_threads(ONE_THREAD));
        let table = hypostyle::open_source(Arc::new(archive.clone()), &options)?;
        let scan = table.scan().columns(["city_1", "price_2"]).filter(predicate.clone());
        let mut batches = scan.batches()?;
        while black_box(batches.next_batch()?).is_some() {}
        let found = batches.stats();
        match (found.rows_returned, found.row_groups_read) {
            (10, 1) => Ok(()),
            (rows, groups) => {
                Err(format!("the query matched {rows} rows in {groups} row groups").into())
            }
        }
    })
}

/// Reads a CSV file through the scan, with the types that COLM stores.
fn scanned(text: &Bytes) -> Result<SpilledTable> {
    let read = ReadOptions::default().with_threads(ONE_THREAD);
    let options = OpenOptions::default().with_name("table.csv").with_read(read);
    let options = options.with_target(FormatId::Colm);
    let table = hypostyle::open_source(Arc::new(text.clone()), &options)?;
    let mut batches = table.scan().batches()?;
    let mut buffer = SpillBuffer::in_memory();
    while let Some(batch) = batches.next_batch()? {
        buffer.push(batch.num_rows(), batch.columns().to_vec())?;
    }
    Ok(SpilledTable::new(batches.schema(), buffer))
}

fn scan_csv(text: Bytes, _: DataSize) -> Result<PreparedLoop> {
    PreparedLoop::new(text.len(), move || {
        black_box(scanned(&text)?);
        Ok(())
    })
}

fn encoded(table: &SpilledTable) -> Result<Vec<u8>> {
    let format = formats::by_name("colm").ok_or("no COLM")?;
    let mut sink = SeekSink::try_new(IoCursor::new(Vec::new()))?;
    format.encode(
        table,
        &mut sink,
        &WriteOptions::default().with_level(1).with_threads(ONE_THREAD),
    )?;
    Ok(sink.into_inner().into_inner())
}

fn colm(text: &[u8]) -> Result<Vec<u8>> {
    encoded(&scanned(&Bytes::copy_from_slice(text))?)
}

/// Returns the number of values of a table of 10 columns.
fn values(text: &[u8]) -> usize {
    10 * (lines(text) - 1)
}

fn colm_write(text: Bytes, _: DataSize) -> Result<PreparedLoop> {
    let table = scanned(&text)?;
    PreparedLoop::new(values(&text), move || {
        black_box(encoded(&table)?);
        Ok(())
    })
}

fn colm_read(file: Bytes, _: DataSize) -> Result<PreparedLoop> {
    let read = move || {
        let options = ReadOptions::default().with_threads(ONE_THREAD);
        let reader = formats::open(Arc::new(file.clone()), &options)?;
        let all: Vec<usize> = (0..reader.schema().fields().len()).collect();
        Ok::<_, Box<dyn std::error::Error>>(reader.read(0, &all)?)
    };
    let first = read()?;
    PreparedLoop::new(first.num_rows() * first.num_columns(), move || {
        black_box(read()?);
        Ok(())
    })
}

/// Quick effort: training is not counted, but takes time under callgrind.
fn config(bits: u32) -> Config {
    let mut config = Config::default();
    config.bits = Some(bits);
    config.effort = Effort::Quick;
    config
}

fn onpair(size: DataSize, bits: u32) -> Result<(Column<'static>, usize)> {
    let strings = agents(size.of(STRING_BYTES));
    let joined = Joined::new(&strings.bytes, &strings.offsets)?;
    let parts = hypostyle_onpair::compress(&joined, &config(bits))?;
    Ok((Column::new(parts)?, strings.bytes.len()))
}

fn onpair_train(_: Bytes, size: DataSize) -> Result<PreparedLoop> {
    let strings = agents(size.of(STRING_BYTES));
    PreparedLoop::new(strings.bytes.len(), move || {
        let joined = Joined::new(&strings.bytes, &strings.offsets)?;
        black_box(Dictionary::train(&joined, &config(12))?);
        Ok(())
    })
}

fn onpair_tokenize(_: Bytes, size: DataSize) -> Result<PreparedLoop> {
    let strings = agents(size.of(STRING_BYTES));
    let joined = Joined::new(&strings.bytes, &strings.offsets)?;
    let dictionary = Dictionary::train(&joined, &config(12))?;
    PreparedLoop::new(strings.bytes.len(), move || {
        let joined = Joined::new(&strings.bytes, &strings.offsets)?;
        black_box(dictionary.compress(&joined, &config(12))?);
        Ok(())
    })
}

fn onpair_decode(size: DataSize, bits: u32) -> Result<PreparedLoop> {
    let (column, bytes) = onpair(size, bits)?;
    let mut out = vec![0; bytes];
    PreparedLoop::new(bytes, move || {
        column.decode_into(&mut out)?;
        black_box(&out);
        Ok(())
    })
}

fn onpair_take(_: Bytes, size: DataSize) -> Result<PreparedLoop> {
    let (column, _) = onpair(size, 12)?;
    let mut rng = Rng::new(3);
    let rows: Vec<usize> = (0..size.of(1 << 15)).map(|_| rng.below(column.len())).collect();
    let (mut out, mut ends) = (Vec::new(), Vec::new());
    PreparedLoop::new(rows.len(), move || {
        out.clear();
        ends.clear();
        column.take(&rows, &mut out, &mut ends)?;
        black_box((&out, &ends));
        Ok(())
    })
}

fn onpair_contains(_: Bytes, size: DataSize) -> Result<PreparedLoop> {
    let (column, _) = onpair(size, 12)?;
    PreparedLoop::new(column.len(), move || {
        black_box(column.find(&Pattern::Contains(b"Edg/99.")));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_runs() {
        for it in &ALL {
            let file = (it.make)(DataSize::Small).unwrap();
            let mut prepared = (it.prepare)(Bytes::from(file), DataSize::Small).unwrap();
            (prepared.iterate)().unwrap_or_else(|err| panic!("{}: {err}", it.name));
            assert!(prepared.units > 0, "{}", it.name);
        }
    }

    #[test]
    fn times_are_delta_coded() {
        let archive = packed(&times(DataSize::Small), Choice::Auto).unwrap();
        let frames = open(&Bytes::from(archive)).unwrap().describe().unwrap();
        let kinds: Vec<&str> = frames[0].columns.iter().map(|column| column.kind).collect();
        assert_eq!(kinds, ["INT", "INT"]);
    }
}
