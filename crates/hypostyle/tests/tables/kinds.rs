//! What is written in a format is what a scan of the file returns, for every kind.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use hypostyle::formats::FormatId;
use hypostyle::{OpenOptions, WriterOptions};
use hypostyle_testkit::content::Content;

use crate::{all_rows, opened, table_kinds, written};

/// Returns a table that every kind with several columns and numbers can store.
fn people() -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(0..300));
    let texts = (0..300).map(|row| format!("name, \"{}\" é", row % 7));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let floats: ArrayRef =
        Arc::new(Float64Array::from_iter_values((0..300).map(|row| f64::from(row) / 8.0)));
    RecordBatch::try_from_iter([("id", ids), ("name", names), ("score", floats)]).unwrap()
}

fn fitting(kind: hypostyle::FileKind) -> RecordBatch {
    match kind.id() {
        FormatId::Lines => {
            let lines = people().project(&[1]).unwrap();
            RecordBatch::try_from_iter([("line", lines.column(0).clone())]).unwrap()
        }
        _ if !kind.capabilities().numbers => people().project(&[1]).unwrap(),
        _ => people(),
    }
}

#[test]
fn a_scan_returns_what_was_written() {
    for kind in table_kinds() {
        let batch = fitting(kind);
        let file = written(kind, &batch, &WriterOptions::default()).unwrap();
        let table = opened(kind, file.clone()).unwrap();
        assert_eq!(table.num_rows().unwrap(), 300, "{kind}");
        let back = all_rows(&table).unwrap();
        assert_eq!(Content::of(&[back]), Content::of(std::slice::from_ref(&batch)), "{kind}");
        assert_eq!(table.reader().unwrap().format(), kind.id());
        // A forced format needs no name.
        let options = OpenOptions::default().with_format(kind);
        let forced = hypostyle::open_source(Arc::new(bytes::Bytes::from(file)), &options).unwrap();
        assert_eq!(forced.schema().unwrap().fields(), table.schema().unwrap().fields(), "{kind}");
    }
}

#[test]
fn columns_rows_predicates_and_limits_combine_in_every_kind() {
    for kind in table_kinds().filter(|kind| kind.capabilities().numbers) {
        if kind.id() == FormatId::Lines {
            continue;
        }
        let table = opened(kind, written(kind, &people(), &WriterOptions::default()).unwrap());
        let table = table.unwrap();
        let scan = table.scan().columns(["score", "id"]).filter("id % 3 = 0".parse().unwrap());
        let mut batches = scan.rows(10..200).limit(5).batches().unwrap();
        let batch = batches.next_batch().unwrap().unwrap();
        assert!(batches.next_batch().unwrap().is_none());
        let want = people().project(&[2, 0]).unwrap();
        let rows = arrow_array::UInt32Array::from(vec![12, 15, 18, 21, 24]);
        let want = arrow_select::take::take_record_batch(&want, &rows).unwrap();
        assert_eq!(Content::of(&[batch]), Content::of(&[want]), "{kind}");
        let mut taken = table.scan().columns([0_usize]).take(&[7, 1, 7]).batches().unwrap();
        let taken = taken.next_batch().unwrap().unwrap();
        let want = arrow_array::UInt32Array::from(vec![7, 1, 7]);
        let want =
            arrow_select::take::take_record_batch(&people().project(&[0]).unwrap(), &want).unwrap();
        assert_eq!(Content::of(&[taken]), Content::of(&[want]), "{kind}");
        let err = table.scan().columns(["nothing"]).batches().unwrap_err().to_string();
        assert!(err.contains("`nothing`"), "{err}");
    }
}

#[test]
fn every_kind_converts_to_every_other() {
    let batch = people().project(&[1]).unwrap();
    let batch = RecordBatch::try_from_iter([("line", batch.column(0).clone())]).unwrap();
    for from in table_kinds() {
        for to in table_kinds() {
            let file = written(from, &batch, &WriterOptions::default()).unwrap();
            let name = format!("a.{}", from.extensions()[0]);
            let options = OpenOptions::default().with_name(name).with_target(to);
            let source = Arc::new(bytes::Bytes::from(file));
            let table = hypostyle::open_source(source, &options).unwrap();
            let mut out = Vec::new();
            let rows =
                hypostyle::convert(table.scan(), &mut out, to, &WriterOptions::default()).unwrap();
            assert_eq!(rows, 300);
            let back = all_rows(&opened(to, out).unwrap()).unwrap();
            assert_eq!(
                Content::of(&[back]),
                Content::of(std::slice::from_ref(&batch)),
                "{from} to {to}"
            );
        }
    }
}

#[test]
fn an_empty_table_keeps_its_columns() {
    // JSON Lines name columns in rows only.
    for kind in table_kinds().filter(|kind| kind.id() != FormatId::JsonLines) {
        let batch = fitting(kind).slice(0, 0);
        let file = written(kind, &batch, &WriterOptions::default()).unwrap();
        let table = opened(kind, file).unwrap();
        assert_eq!(table.num_rows().unwrap(), 0, "{kind}");
        let names = |schema: &arrow_schema::Schema| {
            schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&table.schema().unwrap()), names(&batch.schema()), "{kind}");
    }
}
