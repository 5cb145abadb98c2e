//! A scan of typed columns returns what a scan of the text returns, and reads less.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use arrow_array::{Array, RecordBatch};
use arrow_schema::Schema;
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use proptest::prelude::*;

use super::TableShape;
use crate::archive::Archive;
use crate::codec::Codec;
use crate::pack::{Choice, PackOptions, pack, pack_stream};
use hypostyle_core::error::{ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::predicate::Predicate;
use hypostyle_core::reader::Reader;
use hypostyle_core::scan::{Batches, Scan, Table};
use hypostyle_core::source::{ByteSource, RangeCache};
use hypostyle_core::text::{SourceText, TextFormat, TextKind, TextOptions, TextTable};

pub(super) const CSV: TextKind = TextKind::Delimited { delimiter: b',' };

pub(super) fn packed(text: &str, codec: Codec, group: usize, frames: Option<u64>) -> Bytes {
    let options = PackOptions::default()
        .with_level(1)
        .with_codec(Choice::Only(codec))
        .with_rows_per_group(NonZeroUsize::new(group));
    match frames {
        None => pack(text.as_bytes(), &options).unwrap().0.into(),
        Some(lines) => {
            let mut archive = Vec::new();
            let options = options.with_chunk_lines(lines);
            pack_stream(text.as_bytes(), &mut archive, &options, |_, _| {}).unwrap();
            archive.into()
        }
    }
}

/// Returns the table that a text is.
pub(super) fn table_of(text: &str, kind: TextKind) -> (Table, TableShape) {
    let source: Arc<dyn ByteSource> = Arc::new(Bytes::copy_from_slice(text.as_bytes()));
    let (format, options) = (TextFormat::new(kind), TextOptions::default());
    let text = Arc::new(SourceText(source.clone()));
    let reader = Arc::new(TextTable::open(text, format, &options, None).unwrap());
    let shape = TableShape::new(format, reader.schema(), reader.rows());
    (Table::new(reader, Arc::new(RangeCache::over(source))), shape)
}

fn typed(source: Arc<dyn ByteSource>, shape: &TableShape) -> Option<Table> {
    let cache = Arc::new(RangeCache::over(source));
    let archive = Archive::open(cache.clone(), &ReadOptions::default()).unwrap();
    let reader = super::open(archive.reader(), shape, None).unwrap()?;
    Some(Table::new(reader, cache))
}

fn collected(batches: Result<Batches>) -> RecordBatch {
    let batches = batches.unwrap();
    let schema = arrow_array::RecordBatchReader::schema(&batches);
    let batches: Vec<RecordBatch> = batches.map(|batch| plain(&schema, &batch.unwrap())).collect();
    concat_batches(&schema, &batches).unwrap()
}

/// Returns a batch without dictionaries.
pub(super) fn plain(schema: &Arc<Schema>, batch: &RecordBatch) -> RecordBatch {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns =
        columns.map(|(array, field)| hypostyle_core::cast::cast(array, field.data_type()).unwrap());
    RecordBatch::try_new(schema.clone(), columns.collect()).unwrap()
}

/// Checks that both tables return the same for several scans.
fn assert_same(found: &Table, want: &Table, predicates: &[String], picks: &[u64]) {
    let rows = want.num_rows().unwrap();
    assert_eq!(found.num_rows().unwrap(), rows);
    let both = |scan: &dyn Fn(Scan) -> Scan, what: &str| {
        let found = collected(scan(found.scan()).batches());
        let want = collected(scan(want.scan()).batches());
        assert_eq!(found, want, "{what}");
    };
    both(&|scan| scan, "all rows");
    both(&|scan| scan.batch_size(3).threads(1), "small batches");
    both(&|scan| scan.rows(rows / 3..rows / 2 + 1).batch_size(2), "a range of rows");
    let picks: Vec<u64> = picks.iter().map(|pick| pick % rows.max(1)).collect();
    if rows > 0 {
        both(&|scan| scan.take(&picks), "single rows");
    }
    for predicate in predicates {
        let parsed: Predicate = predicate.parse().unwrap();
        both(&|scan| scan.filter(parsed.clone()).batch_size(4), predicate);
        both(&|scan| scan.filter(parsed.clone()).columns(["name", "id"]), predicate);
    }
}

fn predicate() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0..60, prop::sample::select(&["=", "<>", "<", ">="][..]))
            .prop_map(|(value, op)| format!("id {op} {value}")),
        (-50..500, 0..50).prop_map(|(low, wide)| {
            format!("price between {} and {}", f64::from(low) / 10.0, f64::from(low + wide) / 10.0)
        }),
        prop::sample::select(&["Oslo", "Rome", "", "Zürich", "a, \"b\"", "a,bc", "nobody"][..])
            .prop_map(|text| format!("name = '{text}'")),
        prop::sample::select(&["Os%", "%e", "a%"][..])
            .prop_map(|text| format!("name like '{text}'")),
        prop::sample::select(&["t1", "t15", "t29", "zz"][..])
            .prop_map(|text| format!("note >= '{text}'")),
        prop::sample::select(&["size is null", "price is not null", "note is null"][..])
            .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(one, two)| format!("({one} and {two})")),
            (inner.clone(), inner.clone()).prop_map(|(one, two)| format!("({one} or {two})")),
            inner.prop_map(|one| format!("not {one}")),
        ]
    })
}

#[derive(Clone, Debug)]
struct Record {
    id: u32,
    price: i32,
    size: Option<i32>,
    name: &'static str,
    note: u32,
    odd: u32,
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    let names = &["Oslo", "Rome", "", "Zürich", "\"a, \"\"b\"\"\"", "\"\"", "\"a,b\"c"][..];
    let one = (
        -60..600,
        prop::option::weighted(0.8, 0..9),
        prop::sample::select(names),
        0_u32..30,
        0_u32..15,
    );
    prop::collection::vec(one, 2..60).prop_map(|all| {
        let record = |(id, (price, size, name, note, odd)): (u32, _)| Record {
            id,
            price,
            size,
            name,
            note: note / 3 + id / 3,
            odd,
        };
        (0..).zip(all).map(record).collect()
    })
}

/// Returns the records as CSV; some lines are verbatim in archives.
fn csv(records: &[Record], line_end: &str) -> String {
    let mut text = format!("id,price,size,name,\"note\"{line_end}");
    for Record { id, price, size, name, note, odd } in records {
        let size = size.map_or(String::new(), |size| size.to_string());
        let price = f64::from(*price) / 10.0;
        let note = if *odd == 3 { String::new() } else { format!("t{note}") };
        let _ = write!(text, "{id},{price:?},{size},{name},{note}{line_end}");
    }
    text
}

/// Returns the records as objects with several sets of keys, some of them nested.
fn jsonl(records: &[Record]) -> String {
    let mut text = String::new();
    for Record { id, price, size, name, note, odd } in records {
        let name = serde_json::to_string(name.trim_matches('"')).unwrap();
        let size = size.map_or(String::new(), |size| format!(",\"size\":{size}"));
        let price =
            if *odd == 7 { "null".to_owned() } else { format!("{:?}", f64::from(*price) / 10.0) };
        let line = match odd % 6 {
            0 => format!(
                " {{\"note\":\"t{note}\",\"name\":{name},\"price\":{price},\"id\":{id}{size}}}"
            ),
            1 => format!("{{\"id\":{id},\"mixed\":{note},\"name\":{name}}}"),
            3 => format!(
                "{{\"id\":{id},\"at\":{{\"x\":{note},\"y\":{{\"z\":{name}}}}},\"list\":[{id}, {note}]}}"
            ),
            4 => format!("{{\"at\": {{\"y\":{{}},\"x\":null}},\"list\":[],\"id\":{id}}}"),
            2 => format!("{{\"id\":{id},\"mixed\":\"x\\u0041\",\"name\":{name},\"flag\":true}}"),
            _ => format!(
                "{{\"id\":{id},\"price\":{price}{size},\"name\":{name},\"note\":\"t{note}\"}}"
            ),
        };
        let _ = writeln!(text, "{line}");
    }
    text += "{\"id\":0,\"price\":1.5,\"size\":1,\"name\":\"\",\"note\":\"\",\"mixed\":1,\"flag\":false}\n";
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn typed_scans_of_csv_return_the_rows_of_the_text(
        records in records(), predicates in prop::collection::vec(predicate(), 2),
        group in 1_usize..9, frames in prop::option::of(2_u64..30), crlf in any::<bool>(),
        picks in prop::collection::vec(any::<u64>(), 1..5),
    ) {
        let text = csv(&records, if crlf { "\r\n" } else { "\n" });
        let archive = packed(&text, Codec::QColumnar, group, frames);
        let (want, shape) = table_of(&text, CSV);
        let found = typed(Arc::new(archive.clone()), &shape);
        // A few texts are cut at another delimiter.
        prop_assume!(found.is_some());
        assert_same(&found.unwrap(), &want, &predicates, &picks);
    }

    #[test]
    fn typed_scans_of_columnar_return_the_rows_of_the_text(
        records in records(), predicates in prop::collection::vec(predicate(), 2),
        frames in prop::option::of(2_u64..30), crlf in any::<bool>(),
        picks in prop::collection::vec(any::<u64>(), 1..5),
    ) {
        let text = csv(&records, if crlf { "\r\n" } else { "\n" });
        let archive = packed(&text, Codec::Columnar, 1, frames);
        let (want, shape) = table_of(&text, CSV);
        let found = typed(Arc::new(archive.clone()), &shape);
        // A few texts are cut at another delimiter, or have raw frames.
        prop_assume!(found.is_some());
        assert_same(&found.unwrap(), &want, &predicates, &picks);
    }

    #[test]
    fn typed_scans_of_json_return_the_rows_of_the_text(
        records in records(), predicates in prop::collection::vec(predicate(), 2),
        group in 1_usize..9, frames in prop::option::of(2_u64..30), one in any::<bool>(),
        picks in prop::collection::vec(any::<u64>(), 1..5),
    ) {
        let codec = if one { Codec::QJson } else { Codec::QJson2 };
        let text = jsonl(&records);
        let archive = packed(&text, codec, group, frames);
        let (want, shape) = table_of(&text, TextKind::JsonLines);
        let found = typed(Arc::new(archive.clone()), &shape);
        assert_same(&found.unwrap(), &want, &predicates, &picks);
    }
}

/// A source that records the ranges that are read, and is not in memory.
#[derive(Debug)]
struct FarSource {
    bytes: Bytes,
    reads: Mutex<Vec<Range<u64>>>,
}

impl ByteSource for FarSource {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        self.reads.lock().unwrap().push(offset..offset + len as u64);
        self.bytes.read(offset, len)
    }
}

impl FarSource {
    fn new(bytes: &Bytes) -> Arc<Self> {
        Arc::new(Self { bytes: bytes.clone(), reads: Mutex::default() })
    }

    /// Returns the number of reads and of their bytes, and forgets them.
    fn taken(&self) -> (usize, u64) {
        let reads = std::mem::take(&mut *self.reads.lock().unwrap());
        (reads.len(), reads.iter().map(|range| range.end - range.start).sum())
    }
}

/// Returns a table with sorted days and one column that takes most of the archive.
fn diary(rows: u64) -> String {
    let mut text = String::from("day,user,noise\n");
    let mut dice = 1_u64;
    for row in 0..rows {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let _ = writeln!(text, "{},user{:05},{:016x}", row / 100, row / 7, dice);
    }
    text
}

#[test]
fn a_scan_reads_the_blocks_that_it_needs_in_few_reads() {
    let archive = packed(&diary(20_000), Codec::QColumnar, 1000, None);
    let (_, shape) = table_of(&diary(20_000), CSV);
    let source = FarSource::new(&archive);
    let table = typed(source.clone(), &shape).unwrap();
    let (reads, bytes) = source.taken();
    assert!(reads <= 4 && bytes < archive.len() as u64 / 10, "{reads} reads, {bytes} bytes");
    assert_eq!(table.reader().unwrap().row_groups(), 20);
    for (predicate, groups, rows, share) in [
        ("day = 123", 1, 100, 10),
        ("user = 'user01500'", 1, 7, 10),
        ("user like 'user0150%'", 1, 70, 10),
        ("day = 5000", 0, 0, 1000),
        ("day >= 0", 20, 20_000, 1),
    ] {
        let scan = table.scan().columns(["user"]).filter(predicate.parse().unwrap());
        let mut batches = scan.batches().unwrap();
        let found: usize = batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(found, rows, "{predicate}");
        assert_eq!(batches.stats().row_groups_read, groups, "{predicate}");
        let (reads, bytes) = source.taken();
        assert!(
            bytes <= archive.len() as u64 / share,
            "{predicate}: {bytes} in {reads} of {}",
            archive.len()
        );
        assert!(reads <= 3, "{predicate}: {reads} reads");
    }
    // The stated ranges are what a row group is decoded from; the column between is so small
    // that it is read with them.
    let reader = table.reader().unwrap();
    let stated = reader.ranges(7, &[0, 2]);
    let (first, last) = (&stated[0], &stated[stated.len() - 1]);
    reader.read(7, &[0, 2]).unwrap();
    assert_eq!(source.taken(), (1, last.end - first.start));
}

/// Columns of every type of chunk, cells that share a column, quotes and odd rows.
#[test]
fn columns_of_every_kind_are_decoded() {
    let mut text = String::from("n,wide,price,code,carrier,flight,note,name\n");
    for row in 0..3000_i64 {
        let code = if row % 97 == 0 { String::new() } else { (row * 7919 % 5000).to_string() };
        let carrier = if row % 3 == 0 { "UA" } else { ["AA", "DL"][usize::from(row % 3 == 1)] };
        let flight = row % 40;
        let note = if row % 5 == 0 { "\"a, b\"" } else { "c" };
        let price = f64::from(i32::try_from(row * 31 % 1000).unwrap()) / 8.0;
        let wide = row * row * 1_000_003 - 77;
        let _ = writeln!(
            text,
            "{row},{wide},{price:?},{code},{carrier},{flight},{note},\"n{}\"",
            row * 7 % 1000
        );
    }
    for end in ["\n", "\r\n"] {
        let text = text.replace('\n', end);
        for frames in [None, Some(700)] {
            let archive = packed(&text, Codec::Columnar, 1, frames);
            let (want, shape) = table_of(&text, CSV);
            let found = typed(Arc::new(archive.clone()), &shape).unwrap();
            let predicates = ["carrier = 'UA' and n > 2000", "code is null", "note like 'a%'"];
            for predicate in predicates {
                let parsed: Predicate = predicate.parse().unwrap();
                let scan = |table: &Table| collected(table.scan().filter(parsed.clone()).batches());
                assert_eq!(scan(&found), scan(&want), "{predicate}");
            }
            assert_eq!(collected(found.scan().batches()), collected(want.scan().batches()));
        }
    }
}

#[test]
fn a_scan_of_columnar_reads_the_columns_that_it_needs() {
    let mut text = String::from("one,two,three\n");
    let mut dice = 1_u64;
    for row in 0..5000 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (high, low) = (dice >> 32, dice >> 12 & 0xFFFF_FFFF);
        let _ = writeln!(text, "{high:08x},{},{low:08x}", row * 7 % 1000);
    }
    let options = PackOptions::default().with_codec(Choice::Only(Codec::Columnar));
    let archive: Bytes = pack(text.as_bytes(), &options).unwrap().0.into();
    let (_, shape) = table_of(&text, CSV);
    let source = FarSource::new(&archive);
    let table = typed(source.clone(), &shape).unwrap();
    let (reads, bytes) = source.taken();
    assert!(reads <= 8 && bytes < archive.len() as u64 / 4, "{reads} reads, {bytes} bytes");
    let stated: u64 = {
        let reader = table.reader().unwrap();
        let ranges = (0..reader.row_groups()).flat_map(|group| reader.ranges(group, &[2]));
        // Row groups may share a block.
        let ranges: BTreeSet<(u64, u64)> = ranges.map(|range| (range.start, range.end)).collect();
        ranges.iter().map(|(start, end)| end - start).sum()
    };
    let third = collected(table.scan().columns(["three"]).batches());
    assert_eq!(third.num_rows(), 5000);
    let (reads, bytes) = source.taken();
    assert!(reads == 1 && bytes < archive.len() as u64 * 11 / 20, "{bytes} of {}", archive.len());
    assert_eq!(bytes, stated);
}

#[test]
fn damage_is_named_and_left_out_on_request() {
    let mut archive = packed(&diary(5000), Codec::QColumnar, 500, None).to_vec();
    let (_, shape) = table_of(&diary(5000), CSV);
    let at = archive.len() / 2;
    archive[at] ^= 0x10;
    let table = typed(Arc::new(Bytes::from(archive)), &shape).unwrap();
    let err = table.scan().batches().unwrap().find_map(|batch| batch.err()).unwrap();
    let message = err.to_string();
    assert!(message.contains("group ") && message.contains("noise"), "{message}");
    let mut batches = table.scan().skip_damaged(true).batches().unwrap();
    let rows: usize = batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!((rows, batches.stats().damaged.len()), (4500, 1));
    let users = table.scan().columns(["user"]).batches();
    assert_eq!(collected(users).num_rows(), 5000);
}

#[test]
fn tables_that_the_columns_do_not_serve_are_left_to_the_text() {
    let archive = packed(&diary(100), Codec::QColumnar, 10, None);
    let (_, good) = table_of(&diary(100), CSV);
    let opens = |shape: &TableShape| typed(Arc::new(archive.clone()), shape).is_some();
    assert!(opens(&good));
    let mut other = good.clone();
    other.rows += 1;
    assert!(!opens(&other));
    other = good.clone();
    other.format = TextFormat::delimited(b';');
    assert!(!opens(&other));
    other.format = TextFormat::new(TextKind::JsonLines);
    assert!(!opens(&other));
    let raw: Bytes = pack(b"a,b\n1,2\n", &PackOptions::default()).unwrap().0.into();
    assert!(typed(Arc::new(raw), &good).is_none());
    // A cell with a newline makes one row of two lines.
    let text = diary(100) + "1,\"a\nb\",c\n";
    let archive = packed(&text, Codec::QColumnar, 10, None);
    let mut shape = good;
    shape.rows += 1;
    assert!(typed(Arc::new(archive), &shape).is_none());
}

/// A short file may name a long text for every row.
#[test]
fn texts_that_grow_beyond_the_limit_are_refused() {
    let long = "x".repeat(100_000);
    let mut csv = String::from("a,b\n");
    let mut json = String::new();
    for row in 0..400 {
        let _ = writeln!(csv, "{row},{long}{}", row % 300);
        let _ = writeln!(json, "{{\"a\":{row},\"b\":[{{\"{long}\":{}}}]}}", row % 3);
    }
    let texts = [(Codec::Columnar, &csv, CSV), (Codec::QJson, &json, TextKind::JsonLines)];
    for (codec, text, kind) in texts {
        let archive = packed(text, codec, 400, None);
        let (_, shape) = table_of(text, kind);
        let limits = Limits::default().with_read_bytes(32_000_000);
        let options = ReadOptions::default().with_limits(limits);
        let cache = Arc::new(RangeCache::over(Arc::new(archive)));
        let archive = Archive::open(cache.clone(), &options).unwrap();
        let Some(reader) = super::open(archive.reader(), &shape, None).unwrap() else {
            panic!("{codec}")
        };
        let err = reader.read(0, &[1]).unwrap_err();
        assert!(matches!(err.kind(), ErrorKind::LimitExceeded { .. }), "{codec}: {err}");
        // At this level all columns of columnar are one xz block.
        if codec == Codec::QJson {
            assert_eq!(reader.read(0, &[0]).unwrap().num_rows(), 400);
        }
    }
}

#[test]
fn null_words_are_null_unless_they_are_quoted() {
    let text = "a,b\n1,NA\nNA,\"NA\"\n3,x\n4,NA\n".to_owned();
    let archive = packed(&text, Codec::QColumnar, 2, None);
    let fields = [("a", arrow_schema::DataType::Int32), ("b", arrow_schema::DataType::Utf8)];
    let fields = fields.map(|(name, data_type)| arrow_schema::Field::new(name, data_type, true));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let shape = TableShape::new(TextFormat::new(CSV), schema, 4);
    let shape = shape.with_null_words(vec![vec!["NA".to_owned()]; 3]);
    let table = typed(Arc::new(archive), &shape).unwrap();
    let all = collected(table.scan().batches());
    let nulls = |column: usize| -> Vec<usize> {
        (0..4).filter(|&row| all.column(column).is_null(row)).collect()
    };
    assert_eq!((nulls(0), nulls(1)), (vec![1], vec![0, 3]));
}

/// The index and the checksums of this file were written by another implementation.
#[test]
fn what_is_added_is_read_as_the_spec_has_it() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/at1/valid/qcolumnar/");
    let read = |kind| std::fs::read(format!("{folder}index-of-texts-and-checksums.{kind}"));
    let text = String::from_utf8(read("original").unwrap()).unwrap();
    let (_, shape) = table_of(&text, CSV);
    let table = typed(Arc::new(Bytes::from(read("at1").unwrap())), &shape).unwrap();
    for (test, found, groups) in [
        ("name = 'Grace, H.'", 1, 1),
        ("name = 'Zoe'", 0, 0),
        ("name = 'Ben'", 0, 0),
        // The bounds of a group without texts are meaningless.
        ("name like 'Ad%'", 1, 2),
        ("id = 3", 1, 1),
    ] {
        let mut batches = table.scan().filter(test.parse().unwrap()).batches().unwrap();
        let rows: usize = batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!((rows, batches.stats().row_groups_read), (found, groups), "{test}");
    }
}
