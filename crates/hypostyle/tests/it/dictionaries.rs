//! Columns that an archive stores with a dictionary reach the caller as dictionaries.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use bytes::Bytes;
use hypostyle::formats::at1::{self, Choice, PackOptions};
use hypostyle::{Dictionaries, OpenOptions, Scan, Table, open_source};
use hypostyle_testkit::scans::collected;

/// Returns a table of 20 row groups: two columns that share a dictionary, one whose values are
/// all different, one of numbers, and one with empty cells.
fn table() -> Table {
    let mut text = String::from("carrier,flight,id,delay,note\n");
    let mut dice = 7_u64;
    for row in 0..10_000_u64 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let flight = (dice >> 40) % 300;
        let carrier = ["AA", "B6", "DL", "EV", "UA"][(flight % 5) as usize];
        let note = ["", "late", "\"early, again\"", "cancelled"][(dice >> 50) as usize % 4];
        writeln!(text, "{carrier},F{flight},{:08x},{},{note}", row * 2_654_435_761, dice % 90)
            .unwrap();
    }
    let options = PackOptions::default()
        .with_codec(Choice::Query)
        .with_name(Some("flights.csv"))
        .with_rows_per_group(NonZeroUsize::new(500));
    let archive = Bytes::from(at1::pack(text.as_bytes(), &options).unwrap().0);
    open_source(Arc::new(archive), &OpenOptions::default()).unwrap()
}

fn is_dictionary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Dictionary(key, _) if **key == DataType::Int32)
}

fn plain(batch: &RecordBatch, like: &RecordBatch) -> RecordBatch {
    let columns = batch.columns().iter().zip(like.columns());
    let columns = columns.map(|(array, like)| cast(array, like.data_type()).unwrap());
    RecordBatch::try_new(like.schema(), columns.collect()).unwrap()
}

#[test]
fn columns_with_small_dictionaries_are_dictionaries() {
    let table = table();
    let schema = table.dictionary_schema().unwrap();
    let encoded: Vec<&str> = schema
        .fields()
        .iter()
        .filter(|field| is_dictionary(field.data_type()))
        .map(|field| field.name().as_str())
        .collect();
    assert_eq!(encoded, ["carrier", "flight", "note"]);
    assert!(table.schema().unwrap().fields().iter().all(|it| !is_dictionary(it.data_type())));
    let all = collected(table.scan().columns(["carrier", "note"]).dictionaries(true)).unwrap();
    let carriers = all.column(0).as_dictionary::<Int32Type>();
    // Both fields of a shared column have their own values.
    assert_eq!(carriers.values().len(), 5);
    assert_eq!(all.column(1).null_count(), all.column(1).logical_null_count());
}

#[test]
fn a_scan_with_dictionaries_returns_the_same_rows() {
    let table = table();
    let cases: [fn(Scan) -> Scan; 6] = [
        |scan| scan,
        |scan| scan.filter("delay > 80 and carrier <> 'AA'".parse().unwrap()),
        |scan| scan.filter("note is null".parse().unwrap()).columns(["note", "carrier"]),
        |scan| scan.rows(495..1_510).batch_size(100),
        |scan| scan.take(&[9_999, 3, 3, 4_711]),
        |scan| scan.limit(7).columns(["flight"]),
    ];
    for case in cases {
        let want = collected(case(table.scan())).unwrap();
        for threads in [1, 2] {
            let scan = case(table.scan()).threads(threads).dictionaries(true);
            let found = collected(scan).unwrap();
            assert!(is_dictionary(found.schema().field(0).data_type()));
            assert_eq!(plain(&found, &want), want);
            // There are 300 flights, so that they are views for either limit.
            for most in [100, 1] {
                let dictionaries = Dictionaries::UpTo(most);
                let scan = case(table.scan()).threads(threads).with_dictionaries(dictionaries);
                let found = collected(scan).unwrap();
                for field in found.schema().fields() {
                    let is_many = most == 1 || field.name() == "flight";
                    assert!(!is_many || !is_dictionary(field.data_type()), "{field}");
                    let is_view = *field.data_type() == DataType::Utf8View;
                    assert!(is_view || field.name() != "flight", "{field}");
                }
                assert_eq!(plain(&found, &want), want);
            }
        }
    }
    let mut rows = 0;
    for part in table.partitions(50).unwrap() {
        let scan = table.scan().partition(&part).columns(["carrier"]).dictionaries(true);
        let found = collected(scan).unwrap();
        assert!(is_dictionary(found.schema().field(0).data_type()));
        rows += found.num_rows();
    }
    assert_eq!(rows, 10_000);
}
