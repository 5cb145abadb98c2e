//! Paths: what is opened, and that only complete files appear.

use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use hypostyle::formats::FormatId;
use hypostyle::{ErrorKind, Refusal, Writer, WriterOptions};

use crate::table_kinds;

fn lines(texts: &[&str]) -> RecordBatch {
    let array: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
    RecordBatch::try_from_iter([("line", array)]).unwrap()
}

#[test]
fn a_path_gets_a_file_when_it_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let batch = lines(&["a", "b"]);
    for kind in table_kinds() {
        let path = folder.path().join(format!("table.{}", kind.extensions()[0]));
        let options = WriterOptions::default();
        let mut writer = Writer::create(&path, kind, batch.schema(), &options).unwrap();
        writer.write(&batch).unwrap();
        assert!(!path.exists(), "{kind}");
        drop(writer);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{kind}");
        let mut writer = Writer::create(&path, kind, batch.schema(), &options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        assert_eq!(hypostyle::open(&path).unwrap().num_rows().unwrap(), 2, "{kind}");
        let keep = options.with_replace(false);
        assert!(Writer::create(&path, kind, batch.schema(), &keep).is_err(), "{kind}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_refused_value_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.txt");
    fs::write(&path, "old\n").unwrap();
    let mut writer =
        Writer::create(&path, FormatId::Lines, lines(&[]).schema(), &WriterOptions::default())
            .unwrap();
    writer.write(&lines(&["a", "b"])).unwrap();
    let err = writer.write(&lines(&["c", "d\ne"])).unwrap_err();
    assert_eq!(err.refusal(), Some(Refusal::ValueNotConvertible));
    assert_eq!((err.row(), err.column().map(|c| c.index)), (Some(3), Some(0)), "{err}");
    drop(writer);
    assert_eq!(fs::read(&path).unwrap(), b"old\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_is_no_table_is_an_error_that_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        hypostyle::open(path).unwrap_err()
    };
    let err = open("a.parquet", b"id,name\n");
    assert!(matches!(err.kind(), ErrorKind::UnknownFormat(_)), "{err}");
    assert!(err.to_string().contains("extension of parquet"), "{err}");
    let err = open("a.bin", b"\x00\x01\x02");
    assert!(err.to_string().contains("no known format"), "{err}");
    let err = hypostyle::open(folder.path().join("missing.csv")).unwrap_err().to_string();
    assert!(err.contains("missing.csv"), "{err}");
    let err = hypostyle::open(folder.path()).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::Io(_)), "{err}");
}

#[test]
fn kinds_that_hold_no_tables_are_refused() {
    let schema = lines(&[]).schema();
    for kind in hypostyle::FileKind::all().filter(|kind| !kind.holds_tables()) {
        let mut out = Vec::new();
        let err = Writer::create(&mut out, kind, schema.clone(), &WriterOptions::default());
        assert_eq!(err.unwrap_err().refusal(), Some(Refusal::TablesNotSupported), "{kind}");
        assert!(out.is_empty());
    }
}

#[test]
fn rows_beyond_the_memory_wait_in_a_file() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    for kind in table_kinds() {
        let [small, large] = [0, 1 << 30].map(|memory| {
            let options = WriterOptions::default().with_memory(memory);
            crate::written(kind, &batch, &options).unwrap()
        });
        assert!(small == large, "{kind}");
    }
}
