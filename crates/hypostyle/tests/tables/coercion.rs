//! The rules of `docs/coercion.md`, row by row.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Date64Array,
    Decimal128Array, Decimal256Array, DictionaryArray, DurationSecondArray, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    IntervalYearMonthArray, LargeBinaryArray, LargeStringArray, NullArray, RecordBatch, RunArray,
    StringArray, StringViewArray, StructArray, Time32SecondArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array, UnionArray,
};
use arrow_schema::DataType::{self, Binary, Float64, Int32, Int64, Utf8};
use arrow_schema::{Field, UnionFields};
use hypostyle::formats::{ColumnType, FormatId};
use hypostyle::{DuplicateNames, ErrorKind, Refusal, WriteOptions, Writer, WriterOptions};

use crate::{all_rows, opened, table_kinds, written};

/// A type, and what it becomes in COLF, CLMN and OnPair.
struct Rule {
    array: ArrayRef,
    colf: DataType,
    clmn: DataType,
    onpair: DataType,
    text: &'static str,
}

fn rule(array: impl Array + 'static, columns: [DataType; 3], text: &'static str) -> Rule {
    let [colf, clmn, onpair] = columns;
    Rule { array: Arc::new(array), colf, clmn, onpair, text }
}

fn rules() -> Vec<Rule> {
    let int32 = || [Int32, Int32, Utf8];
    let float = || [Float64, Float64, Utf8];
    let text = || [Utf8, Utf8, Utf8];
    let bytes = || [Utf8, Utf8, Binary];
    let mut list = ListBuilder::new(Int32Builder::new());
    list.append_value([Some(1), None]);
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("k");
    map.values().append_value(7);
    map.append(true).unwrap();
    let inner: ArrayRef = Arc::new(StringArray::from(vec!["a\"b"]));
    let field = Arc::new(Field::new("x", Utf8, true));
    let dictionary: DictionaryArray<Int8Type> = ["one"].into_iter().collect();
    let runs: RunArray<Int32Type> = ["one"].into_iter().collect();
    let numbers =
        DictionaryArray::<Int8Type>::new(vec![0_i8].into(), Arc::new(Int16Array::from(vec![5])));
    vec![
        rule(Int8Array::from(vec![-5]), int32(), "-5"),
        rule(Int16Array::from(vec![-5]), int32(), "-5"),
        rule(Int32Array::from(vec![i32::MIN]), int32(), "-2147483648"),
        rule(UInt8Array::from(vec![255]), int32(), "255"),
        rule(UInt16Array::from(vec![u16::MAX]), int32(), "65535"),
        rule(Int64Array::from(vec![5]), [Int32, Int64, Utf8], "5"),
        rule(UInt32Array::from(vec![5]), [Int32, Int64, Utf8], "5"),
        rule(UInt32Array::from(vec![u32::MAX]), [Utf8, Int64, Utf8], "4294967295"),
        rule(UInt64Array::from(vec![5]), [Int32, Int64, Utf8], "5"),
        rule(UInt64Array::from(vec![1 << 40]), [Utf8, Int64, Utf8], "1099511627776"),
        rule(UInt64Array::from(vec![u64::MAX]), text(), "18446744073709551615"),
        rule(Float32Array::from(vec![0.5]), float(), "0.5"),
        rule(Float64Array::from(vec![f64::INFINITY]), float(), "Infinity"),
        rule(StringArray::from(vec!["é"]), text(), "é"),
        rule(LargeStringArray::from(vec!["é"]), text(), "é"),
        rule(StringViewArray::from(vec!["é"]), text(), "é"),
        rule(BinaryArray::from_vec(vec![b"\xFFa"]), bytes(), "ff61"),
        rule(LargeBinaryArray::from_vec(vec![b"\xFFa"]), bytes(), "ff61"),
        rule(BinaryViewArray::from_iter_values([b"\xFFa"]), bytes(), "ff61"),
        rule(
            FixedSizeBinaryArray::try_from_iter([*b"\xFFa"].into_iter()).unwrap(),
            bytes(),
            "ff61",
        ),
        rule(BooleanArray::from(vec![true]), text(), "true"),
        rule(Date32Array::from(vec![19_782]), text(), "2024-02-29"),
        rule(Date64Array::from(vec![86_400_000]), text(), "1970-01-02T00:00:00"),
        rule(Time32SecondArray::from(vec![3661]), text(), "01:01:01"),
        rule(Time64MicrosecondArray::from(vec![1]), text(), "00:00:00.000001"),
        rule(TimestampSecondArray::from(vec![0]), text(), "1970-01-01T00:00:00"),
        rule(
            TimestampMicrosecondArray::from(vec![1]).with_timezone("UTC"),
            text(),
            "1970-01-01T00:00:00.000001Z",
        ),
        rule(
            TimestampMicrosecondArray::from(vec![0]).with_timezone("+02:00"),
            text(),
            "1970-01-01T02:00:00+02:00",
        ),
        rule(DurationSecondArray::from(vec![5]), text(), "PT5S"),
        rule(IntervalYearMonthArray::from(vec![14]), text(), "1 years 2 mons"),
        rule(
            Decimal128Array::from(vec![-1050]).with_precision_and_scale(6, 2).unwrap(),
            text(),
            "-10.50",
        ),
        rule(
            Decimal256Array::from_iter_values([arrow_buffer::i256::from(5)])
                .with_precision_and_scale(50, 1)
                .unwrap(),
            text(),
            "0.5",
        ),
        rule(list.finish(), text(), "[1,null]"),
        rule(StructArray::from(vec![(field, inner)]), text(), r#"{"x":"a\"b"}"#),
        rule(map.finish(), text(), r#"{"k":7}"#),
        rule(dictionary, text(), "one"),
        rule(runs, text(), "one"),
        rule(numbers, int32(), "5"),
    ]
}

fn batch(array: &ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter([("c", array.clone())]).unwrap()
}

#[test]
fn every_type_becomes_the_type_of_its_rule() {
    for Rule { array, colf, clmn, onpair, text } in rules() {
        for (name, want) in [("colf", &colf), ("clmn", &clmn), ("onpair", &onpair)] {
            let kind = name.parse::<hypostyle::FileKind>().unwrap();
            let file = written(kind, &batch(&array), &WriterOptions::default()).unwrap();
            let back = all_rows(&opened(kind, file).unwrap()).unwrap();
            let from = array.data_type();
            let got = match back.column(0).data_type() {
                DataType::Utf8View | DataType::LargeUtf8 => &Utf8,
                DataType::BinaryView | DataType::LargeBinary => &Binary,
                other => other,
            };
            assert_eq!(got, want, "{from} in {name}");
            let cell = hypostyle::cast::cast(back.column(0), &Utf8).unwrap();
            let cell = arrow_array::cast::AsArray::as_string::<i32>(&cell).value(0);
            assert_eq!(cell, text, "{from} in {name}");
        }
    }
}

#[test]
fn text_prints_every_type_and_parquet_and_arrow_keep_it() {
    for Rule { array, text, .. } in rules() {
        let from = array.data_type().clone();
        for kind in table_kinds() {
            let file = match written(kind, &batch(&array), &WriterOptions::default()) {
                Ok(file) => file,
                Err(err) => {
                    assert_eq!(err.refusal(), Some(Refusal::TypeNotSupported), "{from}: {err}");
                    assert_eq!(kind.name(), "parquet", "{from}");
                    continue;
                }
            };
            match kind.id() {
                FormatId::Parquet | FormatId::Arrow => {
                    let back = all_rows(&opened(kind, file).unwrap()).unwrap();
                    let want = match &from {
                        DataType::Dictionary(_, values) => values.as_ref().clone(),
                        DataType::RunEndEncoded(_, values) => values.data_type().clone(),
                        other => other.clone(),
                    };
                    assert_eq!(back.column(0).data_type(), &want, "{kind}");
                    let cell = hypostyle::cast::cast(back.column(0), &Utf8).unwrap();
                    let cell = arrow_array::cast::AsArray::as_string::<i32>(&cell).value(0);
                    assert_eq!(cell, text, "{from} in {kind}");
                }
                FormatId::Tsv => {
                    let quoted = text.replace('"', "\"\"");
                    let quoted = if text.contains('"') { format!("\"{quoted}\"") } else { quoted };
                    assert_eq!(String::from_utf8(file).unwrap(), format!("c\n{quoted}\n"));
                }
                FormatId::Txt if !from.is_nested() && text != "ff61" => {
                    assert_eq!(String::from_utf8(file).unwrap(), format!("{text}\n"), "{from}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn nulls_of_any_type_stay_null_where_the_format_has_nulls() {
    for array in [
        Arc::new(NullArray::new(2)) as ArrayRef,
        Arc::new(UInt64Array::from(vec![None, Some(1)])),
        Arc::new(BooleanArray::from(vec![None, Some(true)])),
    ] {
        let batch = RecordBatch::try_from_iter_with_nullable([("c", array, true)]).unwrap();
        for kind in table_kinds().filter(|kind| !kind.is_text()) {
            let result = written(kind, &batch, &WriterOptions::default());
            if kind.capabilities().nulls {
                let back = all_rows(&opened(kind, result.unwrap()).unwrap()).unwrap();
                assert!(back.column(0).is_nullable() && back.column(0).logical_nulls().is_some());
                continue;
            }
            let err = result.unwrap_err();
            assert_eq!(err.refusal(), Some(Refusal::NullsNotSupported), "{kind}: {err}");
            assert_eq!((err.row(), err.column().map(|c| c.index)), (Some(0), Some(0)), "{err}");
            let options = WriterOptions::default().with_null_word(Some("NA".to_owned()));
            written(kind, &batch, &options).unwrap();
        }
    }
}

#[test]
fn what_would_lose_is_refused_before_a_byte() {
    let refused = |kind: FormatId, batch: &RecordBatch, options: &WriterOptions| {
        let mut out = Vec::new();
        let err = Writer::create(&mut out, kind, batch.schema(), options)
            .and_then(|mut writer| {
                writer.write(&batch.slice(0, 1))?;
                writer.write(&batch.slice(1, batch.num_rows() - 1))?;
                writer.finish()
            })
            .unwrap_err();
        assert!(out.is_empty(), "{err}");
        assert_eq!(err.format(), Some(kind));
        let ErrorKind::Refused { way_out, .. } = err.kind() else { unreachable!("{err}") };
        assert!(!way_out.is_empty());
        err
    };
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 1 << 40]));
    let err = refused(FormatId::Colm, &batch(&wide), &WriterOptions::default());
    assert_eq!((err.refusal(), err.row()), (Some(Refusal::IntegerTooWide), Some(2)), "{err}");
    let text = WriterOptions::default().with_types(vec![("c".to_owned(), ColumnType::Text.into())]);
    written(FormatId::Colm, &batch(&wide), &text).unwrap();
    let words: ArrayRef = Arc::new(StringArray::from(vec!["1", "2", "x"]));
    let ints =
        WriterOptions::default().with_types(vec![("c".to_owned(), ColumnType::Int32.into())]);
    let err = refused(FormatId::Colf, &batch(&words), &ints);
    assert_eq!((err.refusal(), err.row()), (Some(Refusal::ValueNotConvertible), Some(2)), "{err}");
    let union = {
        let fields = UnionFields::from_fields(vec![Field::new("a", Int32, false)]);
        let child: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        UnionArray::try_new(fields, vec![0_i8, 0].into(), None, vec![child]).unwrap()
    };
    for kind in table_kinds().filter(|kind| kind.id() != FormatId::Arrow) {
        let union = batch(&(Arc::new(union.clone()) as ArrayRef));
        let err = refused(kind.id(), &union, &WriterOptions::default());
        assert_eq!(err.refusal(), Some(Refusal::TypeNotSupported), "{kind}: {err}");
        assert_eq!(err.column().map(|c| c.name.as_str()), Some("c"));
    }
    let twice = RecordBatch::try_from_iter([("c", words.clone()), ("c", words)]).unwrap();
    for kind in table_kinds() {
        let by_position = [FormatId::Csv, FormatId::Tsv, FormatId::Arrow];
        if by_position.contains(&kind.id()) {
            let file = written(kind, &twice, &WriterOptions::default()).unwrap();
            let back = all_rows(&opened(kind, file).unwrap()).unwrap();
            assert_eq!(back.num_columns(), 2, "{kind}");
            continue;
        }
        if kind.id() == FormatId::Txt {
            continue;
        }
        let err = refused(kind.id(), &twice, &WriterOptions::default());
        assert_eq!(err.refusal(), Some(Refusal::DuplicateName), "{kind}: {err}");
    }
    let keep = WriteOptions::default().with_duplicate_names(DuplicateNames::Keep);
    let keep = WriterOptions::default().with_encode(keep);
    written(FormatId::Jsonl, &twice, &keep).unwrap();
    let err = refused(FormatId::Txt, &twice, &WriterOptions::default());
    assert_eq!(err.refusal(), Some(Refusal::SeveralColumns), "{err}");
}

#[test]
fn a_batch_of_other_types_is_an_error() {
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    for kind in table_kinds() {
        let mut out = Vec::new();
        let options = WriterOptions::default();
        let mut writer = Writer::create(&mut out, kind, batch(&texts).schema(), &options).unwrap();
        let err = writer.write(&batch(&ints)).unwrap_err();
        assert!(matches!(err.kind(), ErrorKind::InvalidArgument(_)), "{kind}: {err}");
        // Another layout of the same values is fine.
        let view: ArrayRef = Arc::new(StringViewArray::from(vec!["a"]));
        let dictionary: DictionaryArray<Int32Type> = ["a"].into_iter().collect();
        writer.write(&batch(&view)).unwrap();
        writer.write(&batch(&(Arc::new(dictionary) as ArrayRef))).unwrap();
        assert_eq!(writer.finish().unwrap(), 2, "{kind}");
    }
}
