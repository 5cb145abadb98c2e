//! The loops: what each works on, and one turn of it, through public interfaces.

use std::fs;
use std::hint::black_box;
use std::io::Cursor as IoCursor;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::Capabilities;
use hypostyle::formats::at1::{self, Archive, Choice, PackOptions, Query, TableOptions};
use hypostyle::predicate::Predicate;
use hypostyle::spill::SpillBuffer;
use hypostyle::text::{ImportOptions, csv};
use hypostyle::{ReadOptions, SeekSink, WriteOptions, formats};
use hypostyle_core::wire::{Cursor, put};
use hypostyle_onpair::{Column, Config, Dictionary, Effort, Joined, Pattern};
use hypostyle_testkit::rng::Rng;

use crate::Result;
use crate::data::{self, Shape};
use crate::strings::agents;

/// A loop that much time is spent in.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// What its instructions are divided by.
    pub(super) unit: &'static str,
    /// Makes the file that it works on, without being counted; some make theirs themselves.
    pub(super) make: fn(Size) -> Result<Vec<u8>>,
    /// Gets everything ready but for the loop itself.
    ready: fn(Bytes, Size) -> Result<Ready>,
}

/// How much a loop works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Little,
    Usual,
}

impl Size {
    /// This many, or a small part of it.
    fn of(self, usual: usize) -> usize {
        if self == Self::Little { usual / 16 } else { usual }
    }

    fn shape(self, rows: usize, columns: usize) -> Shape {
        Shape { rows: self.of(rows) as u64, columns }
    }
}

/// A loop that is ready to turn.
struct Ready {
    /// Units of work in one turn.
    units: usize,
    turn: Box<dyn FnMut() -> Result<()>>,
}

impl Ready {
    fn new(units: usize, turn: impl FnMut() -> Result<()> + 'static) -> Result<Self> {
        Ok(Self { units, turn: Box::new(turn) })
    }
}

pub(super) const ALL: [Loop; 14] = [
    Loop {
        name: "varint-read",
        what: "`wire::Cursor::uv`, numbers of 1 to 5 bytes",
        unit: "number",
        make: |_| Ok(Vec::new()),
        ready: varint_read,
    },
    Loop {
        name: "varint-write",
        what: "`wire::put::uv`, the same numbers",
        unit: "number",
        make: |_| Ok(Vec::new()),
        ready: varint_write,
    },
    Loop {
        name: "delta-unpack",
        what: "AT-1 unpack of two columns of rising times, delta-coded",
        unit: "row",
        make: |size| packed(&times(size), Choice::Auto),
        ready: |archive, _| unpack(archive, |text| lines(text) - 1),
    },
    Loop {
        name: "rows-unpack",
        what: "AT-1 unpack of 50 columns: cells into rows",
        unit: "byte",
        make: |size| packed(&table(size.shape(1500, 50))?, Choice::Auto),
        ready: |archive, _| unpack(archive, <[u8]>::len),
    },
    Loop {
        name: "query",
        what: "AT-1 query for 10 rows, all groups but one skipped by their bounds",
        unit: "query",
        make: |size| packed(&table(size.shape(8000, 10))?, Choice::Query),
        ready: query,
    },
    Loop {
        name: "csv-import",
        what: "CSV of 10 columns into typed columns",
        unit: "byte",
        make: |size| table(size.shape(8000, 10)),
        ready: import,
    },
    Loop {
        name: "colm-write",
        what: "the same columns into COLM, level 1",
        unit: "value",
        make: |size| table(size.shape(8000, 10)),
        ready: colm_write,
    },
    Loop {
        name: "colm-read",
        what: "COLM of 10 columns into Arrow",
        unit: "value",
        make: |size| colm(&table(size.shape(8000, 10))?),
        ready: colm_read,
    },
    Loop {
        name: "onpair-train",
        what: "OnPair: tokens of 12 bits from 1 MB, little effort",
        unit: "byte",
        make: |_| Ok(Vec::new()),
        ready: onpair_train,
    },
    Loop {
        name: "onpair-cut",
        what: "OnPair: cutting strings with tokens that there are, 12 bits",
        unit: "byte",
        make: |_| Ok(Vec::new()),
        ready: onpair_cut,
    },
    Loop {
        name: "onpair-decode-12",
        what: "OnPair: all strings, 12 bits",
        unit: "byte",
        make: |_| Ok(Vec::new()),
        ready: |_, size| onpair_decode(size, 12),
    },
    Loop {
        name: "onpair-decode-16",
        what: "OnPair: all strings, 16 bits",
        unit: "byte",
        make: |_| Ok(Vec::new()),
        ready: |_, size| onpair_decode(size, 16),
    },
    Loop {
        name: "onpair-take",
        what: "OnPair: random rows",
        unit: "row",
        make: |_| Ok(Vec::new()),
        ready: onpair_take,
    },
    Loop {
        name: "onpair-contains",
        what: "OnPair: rows that contain a string",
        unit: "row",
        make: |_| Ok(Vec::new()),
        ready: onpair_contains,
    },
];

impl Loop {
    fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|it| it.name == name)
    }
}

/// Gets a loop ready and turns it, then prints the units of work in a turn.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The loop.
    name: String,
    /// How often it is turned.
    times: usize,
    /// The file that it works on; made if there is none.
    #[arg(long)]
    file: Option<PathBuf>,
    /// Work on little.
    #[arg(long)]
    little: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let it = Loop::named(&args.name).ok_or("no such loop")?;
    let size = if args.little { Size::Little } else { Size::Usual };
    let file = match &args.file {
        Some(path) => fs::read(path)?,
        None => (it.make)(size)?,
    };
    let mut ready = (it.ready)(Bytes::from(file), size)?;
    for _ in 0..args.times {
        (ready.turn)()?;
    }
    println!("{}", ready.units);
    Ok(())
}

/// The arguments that [`run`] is given, as words.
pub(super) fn words(it: &Loop, times: usize, file: &Path, size: Size) -> Vec<String> {
    let mut words = vec!["loop".to_owned(), it.name.to_owned(), times.to_string()];
    words.extend(["--file".to_owned(), file.display().to_string()]);
    words.extend((size == Size::Little).then(|| "--little".to_owned()));
    words
}

const ONE: Option<NonZeroUsize> = NonZeroUsize::new(1);

/// Bytes of the hash at the end of an archive, and of what marks it.
const TRAILER: usize = 36;

/// Bytes of strings.
const STRINGS: usize = 1 << 20;

fn numbers(size: Size) -> Vec<u64> {
    let mut rng = Rng::new(1);
    (0..size.of(1 << 18)).map(|_| rng.next_u64() >> (29 + rng.below(35))).collect()
}

fn varint_read(_: Bytes, size: Size) -> Result<Ready> {
    let numbers = numbers(size);
    let mut bytes = Vec::new();
    numbers.iter().for_each(|&number| put::uv(&mut bytes, number));
    Ready::new(numbers.len(), move || {
        let mut cursor = Cursor::new(&bytes, 0);
        let mut sum = 0_u64;
        while !cursor.is_empty() {
            sum = sum.wrapping_add(cursor.uv("a number")?);
        }
        black_box(sum);
        Ok(())
    })
}

fn varint_write(_: Bytes, size: Size) -> Result<Ready> {
    let numbers = numbers(size);
    let mut bytes = Vec::with_capacity(numbers.len() * 10);
    Ready::new(numbers.len(), move || {
        bytes.clear();
        numbers.iter().for_each(|&number| put::uv(&mut bytes, number));
        black_box(&bytes);
        Ok(())
    })
}

/// A table as CSV.
fn table(shape: Shape) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    data::write_csv(shape, &mut text)?;
    Ok(text)
}

/// Two columns of times, no two steps alike; one alone would not be taken for a table.
fn times(size: Size) -> Vec<u8> {
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
    // Groups so small that there are several.
    let options = PackOptions::default().with_codec(codec);
    let options = options.with_level(1).with_rows_per_group(NonZeroUsize::new(500));
    let (mut archive, _) = at1::pack(text, &options)?;
    // Without the hash at its end: that would be most of what is counted, and is not ours.
    archive.truncate(archive.len().saturating_sub(TRAILER));
    Ok(archive)
}

fn open(archive: &Bytes) -> Result<Archive> {
    let options = ReadOptions::default().with_threads(ONE);
    Ok(Archive::open(Arc::new(archive.clone()), &options)?)
}

fn unpack(archive: Bytes, units: fn(&[u8]) -> usize) -> Result<Ready> {
    let mut text = Vec::new();
    open(&archive)?.unpack(&mut text)?;
    Ready::new(units(&text), move || {
        text.clear();
        open(&archive)?.unpack(&mut text)?;
        black_box(&text);
        Ok(())
    })
}

fn query(archive: Bytes, _: Size) -> Result<Ready> {
    let test = "id_0 > 300 and id_0 <= 310";
    let columns = vec!["city_1".to_owned(), "price_2".to_owned()];
    let query =
        Query::default().with_filter(Some(Predicate::parse(test)?)).with_columns(Some(columns));
    Ready::new(1, move || {
        let mut options = ImportOptions::new(Capabilities::EVERYTHING);
        options.threads = ONE;
        let (table, stage) = (TableOptions::default(), SpillBuffer::in_memory());
        let answer = open(&archive)?.query(&query, &table, &options, stage)?;
        let found = answer.ok_or("the archive does not answer")?.stats;
        match (found.rows, found.groups_read) {
            (10, 1) => Ok(()),
            (rows, groups) => Err(format!("{rows} rows of {groups} groups").into()),
        }
    })
}

fn imported(text: &[u8]) -> Result<hypostyle::text::Imported> {
    let format = formats::by_name("colm").ok_or("no COLM")?;
    let mut options = ImportOptions::new(format.capabilities());
    options.threads = ONE;
    let csv = csv::CsvOptions::default();
    let stage = SpillBuffer::in_memory();
    Ok(csv::import(&mut IoCursor::new(text), &csv, &options, stage, &mut |_| {})?)
}

fn import(text: Bytes, _: Size) -> Result<Ready> {
    Ready::new(text.len(), move || {
        black_box(imported(&text)?);
        Ok(())
    })
}

fn encoded(table: &hypostyle::text::Imported) -> Result<Vec<u8>> {
    let format = formats::by_name("colm").ok_or("no COLM")?;
    let mut sink = SeekSink::try_new(IoCursor::new(Vec::new()))?;
    format.encode(table, &mut sink, &WriteOptions::default().with_level(1).with_threads(ONE))?;
    Ok(sink.into_inner().into_inner())
}

fn colm(text: &[u8]) -> Result<Vec<u8>> {
    encoded(&imported(text)?)
}

/// The values of a table of 10 columns.
fn values(text: &[u8]) -> usize {
    10 * (lines(text) - 1)
}

fn colm_write(text: Bytes, _: Size) -> Result<Ready> {
    let table = imported(&text)?;
    Ready::new(values(&text), move || {
        black_box(encoded(&table)?);
        Ok(())
    })
}

fn colm_read(file: Bytes, _: Size) -> Result<Ready> {
    let read = move || {
        let options = ReadOptions::default().with_threads(ONE);
        let reader = formats::open(Arc::new(file.clone()), &options)?;
        let all: Vec<usize> = (0..reader.schema().fields().len()).collect();
        Ok::<_, Box<dyn std::error::Error>>(reader.read(0, &all)?)
    };
    let first = read()?;
    Ready::new(first.num_rows() * first.num_columns(), move || {
        black_box(read()?);
        Ok(())
    })
}

/// Little effort: getting ready is not counted, but it takes its time.
fn config(bits: u32) -> Config {
    let mut config = Config::default();
    config.bits = Some(bits);
    config.effort = Effort::Quick;
    config
}

fn onpair(size: Size, bits: u32) -> Result<(Column<'static>, usize)> {
    let strings = agents(size.of(STRINGS));
    let joined = Joined::new(&strings.bytes, &strings.offsets)?;
    let parts = hypostyle_onpair::compress(&joined, &config(bits))?;
    Ok((Column::new(parts)?, strings.bytes.len()))
}

fn onpair_train(_: Bytes, size: Size) -> Result<Ready> {
    let strings = agents(size.of(STRINGS));
    Ready::new(strings.bytes.len(), move || {
        let joined = Joined::new(&strings.bytes, &strings.offsets)?;
        black_box(Dictionary::train(&joined, &config(12))?);
        Ok(())
    })
}

fn onpair_cut(_: Bytes, size: Size) -> Result<Ready> {
    let strings = agents(size.of(STRINGS));
    let joined = Joined::new(&strings.bytes, &strings.offsets)?;
    let dictionary = Dictionary::train(&joined, &config(12))?;
    Ready::new(strings.bytes.len(), move || {
        let joined = Joined::new(&strings.bytes, &strings.offsets)?;
        black_box(dictionary.compress(&joined, &config(12))?);
        Ok(())
    })
}

fn onpair_decode(size: Size, bits: u32) -> Result<Ready> {
    let (column, bytes) = onpair(size, bits)?;
    let mut out = vec![0; bytes];
    Ready::new(bytes, move || {
        column.decode_into(&mut out)?;
        black_box(&out);
        Ok(())
    })
}

fn onpair_take(_: Bytes, size: Size) -> Result<Ready> {
    let (column, _) = onpair(size, 12)?;
    let mut rng = Rng::new(3);
    let rows: Vec<usize> = (0..size.of(1 << 15)).map(|_| rng.below(column.len())).collect();
    let (mut out, mut ends) = (Vec::new(), Vec::new());
    Ready::new(rows.len(), move || {
        out.clear();
        ends.clear();
        column.take(&rows, &mut out, &mut ends)?;
        black_box((&out, &ends));
        Ok(())
    })
}

fn onpair_contains(_: Bytes, size: Size) -> Result<Ready> {
    let (column, _) = onpair(size, 12)?;
    Ready::new(column.len(), move || {
        black_box(column.find(&Pattern::Contains(b"Edg/99.")));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_turns() {
        for it in &ALL {
            let file = (it.make)(Size::Little).unwrap();
            let mut ready = (it.ready)(Bytes::from(file), Size::Little).unwrap();
            (ready.turn)().unwrap_or_else(|err| panic!("{}: {err}", it.name));
            assert!(ready.units > 0, "{}", it.name);
        }
    }

    #[test]
    fn times_are_delta_coded() {
        let archive = packed(&times(Size::Little), Choice::Auto).unwrap();
        let frames = open(&Bytes::from(archive)).unwrap().describe().unwrap();
        let kinds: Vec<&str> = frames[0].columns.iter().map(|column| column.kind).collect();
        assert_eq!(kinds, ["INT", "INT"]);
    }
}
