//! What cannot be written is refused by name, with a way out, before a byte.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use hypostyle::formats::{self, Format};
use hypostyle::{DuplicateNames, Error, ErrorKind, ReadOptions, Sink, WriteOptions};
use hypostyle_testkit::content::Content;
use hypostyle_testkit::{batches, laws};

/// A sink that must not be touched.
#[derive(Debug, Default)]
struct Untouched {
    calls: usize,
}

impl Write for Untouched {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.calls += 1;
        Ok(())
    }
}

impl Sink for Untouched {
    fn patch(&mut self, _at: u64, _bytes: &[u8]) -> io::Result<()> {
        self.calls += 1;
        Ok(())
    }
}

fn format(name: &str) -> &'static dyn Format {
    formats::by_name(name).unwrap()
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let fields: Vec<_> = columns.iter().map(field).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn ints(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// The error of a table that is refused, after which the sink is as it was.
fn error(format: &'static dyn Format, batch: &RecordBatch, options: &WriteOptions) -> Error {
    let mut sink = Untouched::default();
    let err = format.encode(batch, &mut sink, options).unwrap_err();
    assert_eq!(sink.calls, 0, "not a byte is written before: {err}");
    assert_eq!(err.format(), Some(format.id()));

    // By way of batches it is refused too, at the latest at the end.
    let mut sink = Untouched::default();
    let writer = formats::Writer::create(format, batch.schema(), options.clone());
    let later = writer.and_then(|mut writer| {
        writer.write(&batch.slice(0, 1.min(batch.num_rows())))?;
        writer.write(&batch.slice(1.min(batch.num_rows()), batch.num_rows().saturating_sub(1)))?;
        writer.finish(&mut sink)
    });
    // The schema alone may be enough for a refusal, and then there is no row to name.
    let later = later.unwrap_err();
    assert_eq!(later.column(), err.column());
    assert!(later.row().is_none() || later.to_string() == err.to_string(), "{later}");
    assert_eq!(sink.calls, 0);
    err
}

/// The same, and the error names the column and the row, and a way out.
fn refused(name: &str, batch: &RecordBatch, column: usize, row: Option<u64>) -> String {
    let err = error(format(name), batch, &WriteOptions::default());
    let ErrorKind::Refused { why, way_out } = err.kind() else { unreachable!("{err:?}") };
    assert!(!why.is_empty() && !way_out.is_empty());
    let at = err.column().unwrap();
    assert_eq!((at.index, err.row()), (column, row), "{err}");
    assert_eq!(at.name, *batch.schema().field(column).name());
    let message = err.to_string();
    assert!(message.ends_with(&**way_out), "{message}");
    message
}

fn round_trip(name: &str, batch: &RecordBatch) {
    let file = laws::encode(format(name), batch, &WriteOptions::default());
    let options = ReadOptions::default().with_strict(true);
    let (back, _) = laws::decode(format(name), &file, &options).unwrap();
    assert!(Content::of(&back) == Content::of(std::slice::from_ref(batch)));
}

#[test]
fn nulls_where_there_are_none() {
    let with_null = |array: ArrayRef| batch(vec![("id", ints(&[1, 2, 3])), ("gap", array)]);
    let arrays: [ArrayRef; 3] = [
        Arc::new(Int32Array::from(vec![Some(1), Some(2), None])),
        Arc::new(Float64Array::from(vec![Some(1.0), Some(2.0), None])),
        Arc::new(StringArray::from(vec![Some(""), Some("x"), None])),
    ];
    for array in arrays {
        for name in ["colm", "clmn"] {
            let message = refused(name, &with_null(array.clone()), 1, Some(2));
            assert!(message.contains("column 2 `gap`: row 3: "), "{message}");
            assert!(message.contains("COLF"), "{message}");
        }
        round_trip("colf", &with_null(array));
    }
}

#[test]
fn wide_integers_where_there_are_none() {
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![1, i64::MAX]));
    let table = batch(vec![("id", ints(&[1, 2])), ("big", longs)]);
    for name in ["colm", "colf"] {
        let message = refused(name, &table, 1, Some(1));
        assert!(message.contains("64-bit") && message.contains("CLMN"), "{message}");
    }
    round_trip("clmn", &table);
}

#[test]
fn long_strings_in_clmn() {
    let (fits, over) = ("x".repeat(65_535), "é".repeat(32_768));
    let good = batch(vec![("s", texts(&["", &fits, "y"]))]);
    let bad = batch(vec![("s", texts(&["", &fits, &over, "y"]))]);
    let message = refused("clmn", &bad, 0, Some(2));
    assert!(message.contains("65536 bytes"), "{message}");
    round_trip("clmn", &good);
    for name in ["colm", "colf"] {
        round_trip(name, &bad);
    }
    let large: ArrayRef = Arc::new(LargeStringArray::from(vec!["", &over]));
    refused("clmn", &batch(vec![("s", large)]), 0, Some(1));
}

#[test]
fn long_names_in_clmn_and_a_long_schema_in_colf() {
    let (fits, over) = ("n".repeat(65_535), "n".repeat(65_536));
    round_trip("clmn", &batch(vec![(&fits, ints(&[1]))]));
    refused("clmn", &batch(vec![(&over, ints(&[1]))]), 0, None);
    for name in ["colm", "colf"] {
        round_trip(name, &batch(vec![(&over, ints(&[1]))]));
    }
    let huge = "n".repeat(10_000_000);
    let table = batch(vec![(&huge, ints(&[1]))]);
    let err = error(format("colf"), &table, &WriteOptions::default());
    assert!(err.to_string().contains("known readers stop at 10000000"), "{err}");
    round_trip("colm", &table);
}

#[test]
fn two_columns_of_one_name() {
    let table = batch(vec![("id", ints(&[1])), ("x", ints(&[2])), ("id", ints(&[3]))]);
    for format in formats::tables() {
        let table = batches::coerced(format, &table);
        let message = refused(format.id().name(), &table, 2, None);
        assert!(message.contains("same name as column 1"), "{message}");
    }
    // Where it does no harm to say so, both are kept when asked for.
    let keep = WriteOptions::default().with_duplicate_names(DuplicateNames::Keep);
    for name in ["colm", "colf"] {
        let file = laws::encode(format(name), &table, &keep);
        let (back, met) = laws::decode(format(name), &file, &ReadOptions::default()).unwrap();
        assert!(Content::of(&back) == Content::of(std::slice::from_ref(&table)));
        assert_eq!(met.len(), 1, "{met:?}");
    }
    let err = error(format("clmn"), &table, &keep);
    assert!(err.to_string().contains("readers of CLMN refuse both"), "{err}");
}

#[test]
fn names_that_clmn_takes_for_the_same_or_for_none() {
    refused("clmn", &batch(vec![("id", ints(&[1])), (" id\t", ints(&[2]))]), 1, None);
    for blank in ["", " ", "\t\n", "\0"] {
        let message =
            refused("clmn", &batch(vec![("a", ints(&[1])), (blank, ints(&[2]))]), 1, None);
        assert!(message.contains("without a name"), "{message}");
    }
    round_trip("clmn", &batch(vec![("\u{a0}", ints(&[1])), ("\u{3000}", ints(&[2]))]));
}

#[test]
fn no_columns() {
    let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
    for format in formats::tables() {
        let err = error(format, &none, &WriteOptions::default());
        assert!(matches!(err.kind(), ErrorKind::Refused { .. }), "{err}");
        assert!(err.to_string().contains("no columns"), "{err}");
    }
}

#[test]
fn a_level_that_does_not_exist() {
    for format in formats::tables() {
        let table = batches::coerced(format, &batch(vec![("id", ints(&[1]))]));
        let err = error(format, &table, &WriteOptions::default().with_level(13));
        assert!(matches!(err.kind(), ErrorKind::InvalidArgument(_)), "{err}");
        assert!(err.to_string().contains("level 13 is over 12"), "{err}");
    }
}

#[test]
fn types_that_no_format_has() {
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    let table = batch(vec![("id", texts(&["1"])), ("flag", flags)]);
    for format in formats::tables() {
        let message = refused(format.id().name(), &table, 1, None);
        assert!(message.contains("Boolean") && message.contains("cast"), "{message}");
    }
}

#[test]
fn ten_thousand_columns_and_no_rows_at_all() {
    let names: Vec<String> = (0..10_000).map(|index| format!("column {index}")).collect();
    let wide = batch(names.iter().map(|name| (name.as_str(), ints(&[7, 8]))).collect());
    let fields = [DataType::Int32, DataType::Float64, DataType::Utf8, DataType::LargeUtf8];
    let fields = fields.into_iter().enumerate();
    let fields: Vec<_> =
        fields.map(|(index, kind)| Field::new(format!("f{index}"), kind, false)).collect();
    let empty = RecordBatch::new_empty(Arc::new(Schema::new(fields)));
    for format in formats::tables() {
        round_trip(format.id().name(), &batches::coerced(format, &wide));
        round_trip(format.id().name(), &batches::coerced(format, &empty));
    }
}
