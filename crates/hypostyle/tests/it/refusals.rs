//! Tables that a format cannot store are refused before a byte is written, with the column and
//! a way out.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use hypostyle::formats::{self, Format};
use hypostyle::{
    DuplicateNames, Error, ErrorKind, ReadOptions, Refusal, Sink, WriteOptions, Writer,
    WriterOptions,
};
use hypostyle_testkit::content::Content;
use hypostyle_testkit::{batches, laws};

/// A sink that fails the test if anything is written.
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

/// Returns the error for a refused table, and checks that nothing was written.
fn error(format: &'static dyn Format, batch: &RecordBatch, options: &WriteOptions) -> Error {
    let mut sink = Untouched::default();
    let err = format.encode(batch, &mut sink, options).unwrap_err();
    assert_eq!(sink.calls, 0, "not a byte is written before: {err}");
    assert_eq!(err.format(), Some(format.id()));

    // A `Writer` refuses it too, at the latest in `finish`, unless it can cast the column.
    let mut sink = Untouched::default();
    let to: &mut dyn Sink = &mut sink;
    let options = WriterOptions::default().with_encode(options.clone());
    let writer = Writer::create(to, format.id(), batch.schema(), &options);
    let later = writer.and_then(|mut writer| {
        writer.write(&batch.slice(0, 1.min(batch.num_rows())))?;
        writer.write(&batch.slice(1.min(batch.num_rows()), batch.num_rows().saturating_sub(1)))?;
        writer.finish()
    });
    if err.refusal() == Some(Refusal::TypeNotSupported) && later.is_ok() {
        return err;
    }
    // If the schema alone is refused, the error has no row.
    let later = later.unwrap_err();
    assert_eq!(later.column(), err.column());
    assert!(later.row().is_none() || later.to_string() == err.to_string(), "{later}");
    assert_eq!(sink.calls, 0);
    err
}

/// The same, and checks that the error has the reason, the column, the row and a way out.
fn refused(
    name: &str,
    batch: &RecordBatch,
    expected: Refusal,
    column: usize,
    row: Option<u64>,
) -> String {
    let err = error(format(name), batch, &WriteOptions::default());
    let ErrorKind::Refused { reason, why, way_out } = err.kind() else { unreachable!("{err:?}") };
    assert_eq!((*reason, err.refusal()), (expected, Some(expected)), "{err}");
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
            let message =
                refused(name, &with_null(array.clone()), Refusal::NullsNotSupported, 1, Some(2));
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
        let message = refused(name, &table, Refusal::IntegerTooWide, 1, Some(1));
        assert!(message.contains("64-bit") && message.contains("CLMN"), "{message}");
    }
    round_trip("clmn", &table);
}

#[test]
fn long_strings_in_clmn() {
    let (fits, over) = ("x".repeat(65_535), "é".repeat(32_768));
    let good = batch(vec![("s", texts(&["", &fits, "y"]))]);
    let bad = batch(vec![("s", texts(&["", &fits, &over, "y"]))]);
    let message = refused("clmn", &bad, Refusal::TextTooLong, 0, Some(2));
    assert!(message.contains("65536 bytes"), "{message}");
    round_trip("clmn", &good);
    for name in ["colm", "colf"] {
        round_trip(name, &bad);
    }
    let large: ArrayRef = Arc::new(LargeStringArray::from(vec!["", &over]));
    refused("clmn", &batch(vec![("s", large)]), Refusal::TextTooLong, 0, Some(1));
}

#[test]
fn long_names_in_clmn_and_a_long_schema_in_colf() {
    let (fits, over) = ("n".repeat(65_535), "n".repeat(65_536));
    round_trip("clmn", &batch(vec![(&fits, ints(&[1]))]));
    refused("clmn", &batch(vec![(&over, ints(&[1]))]), Refusal::NamesTooLong, 0, None);
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
        let message = refused(format.id().name(), &table, Refusal::DuplicateName, 2, None);
        assert!(message.contains("same name as column 1"), "{message}");
    }
    // COLM and COLF keep both on request.
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
    refused(
        "clmn",
        &batch(vec![("id", ints(&[1])), (" id\t", ints(&[2]))]),
        Refusal::DuplicateName,
        1,
        None,
    );
    for blank in ["", " ", "\t\n", "\0"] {
        let message = refused(
            "clmn",
            &batch(vec![("a", ints(&[1])), (blank, ints(&[2]))]),
            Refusal::EmptyName,
            1,
            None,
        );
        assert!(message.contains("without a name"), "{message}");
    }
    round_trip("clmn", &batch(vec![("\u{a0}", ints(&[1])), ("\u{3000}", ints(&[2]))]));
}

#[test]
fn no_columns() {
    let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
    for format in formats::tables() {
        let err = error(format, &none, &WriteOptions::default());
        assert_eq!(err.refusal(), Some(Refusal::Empty), "{err}");
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
        let message = refused(format.id().name(), &table, Refusal::TypeNotSupported, 1, None);
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
