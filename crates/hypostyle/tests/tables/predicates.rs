//! A predicate matches the same rows in every kind of file as on the columns in memory.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::DataType;
use bytes::Bytes;
use hypostyle::cast::cast;
use hypostyle::formats::at1::{self, Choice, Codec, PackOptions};
use hypostyle::formats::{ColumnType, FormatId};
use hypostyle::predicate::Predicate;
use hypostyle::{OpenOptions, Table, WriterOptions};
use hypostyle_testkit::predicates::{PredicateCase, cases, table};

use crate::{all_rows, opened, table_kinds, written};

/// Returns the table with the value of another row in place of each null, for formats that
/// have no nulls.
fn without_nulls(batch: &RecordBatch) -> RecordBatch {
    let fill = |column: &ArrayRef| {
        let filled = |row: &u32| column.is_valid(*row as usize);
        let rows = 0..u32::try_from(column.len()).unwrap();
        let indices = rows.clone().map(|row| {
            let before = (0..=row).rev().find(filled);
            before.or_else(|| rows.clone().find(filled)).unwrap()
        });
        arrow_select::take::take(column, &UInt32Array::from_iter_values(indices), None).unwrap()
    };
    let columns = batch.columns().iter().map(fill).collect();
    RecordBatch::try_new(batch.schema(), columns).unwrap()
}

/// Returns the cells of the column `id` as numbers.
fn ids(batch: &RecordBatch) -> Vec<usize> {
    let texts = cast(batch.column_by_name("id").unwrap(), &DataType::Utf8).unwrap();
    texts.as_string::<i32>().iter().map(|id| id.unwrap().parse().unwrap()).collect()
}

/// Returns the rows that match in memory, or why the predicate cannot be evaluated.
fn matching(held: &RecordBatch, predicate: &Predicate) -> Result<Vec<usize>, String> {
    let found = predicate
        .bind(held.schema_ref())
        .and_then(|bound| bound.matches(held.num_rows(), &mut &*held));
    let found = found.map_err(|err| err.to_string())?;
    Ok(ids(held).into_iter().zip(found.values().iter()).filter(|it| it.1).map(|it| it.0).collect())
}

/// Returns the rows that a scan returns, or why it fails.
fn scanned(table: &Table, predicate: &Predicate) -> Result<Vec<usize>, String> {
    let run = || {
        let mut batches = table.scan().columns(["id"]).filter(predicate.clone()).batches()?;
        let mut found = Vec::new();
        while let Some(batch) = batches.next_batch()? {
            found.extend(ids(&batch));
        }
        Ok(found)
    };
    run().map_err(|err: hypostyle::Error| err.to_string())
}

/// Checks all cases on a file; returns how many of them its columns have the types for.
fn check(name: &str, table: &Table, cases: &[(PredicateCase, Predicate)]) -> usize {
    let held = all_rows(table).unwrap();
    assert_eq!(ids(&held), (0..held.num_rows()).collect::<Vec<_>>(), "{name}");
    let (mut wrong, mut evaluated) = (String::new(), 0);
    for (case, predicate) in cases {
        let (want, found) = (matching(&held, predicate), scanned(table, predicate));
        let agree = match (&want, &found) {
            (Ok(want), Ok(found)) => want == found,
            (want, found) => want.is_err() && found.is_err(),
        };
        if !agree {
            wrong +=
                &format!("\n{}\n    in memory {want:?}\n    scanned   {found:?}", case.predicate);
        }
        evaluated += usize::from(want.is_ok());
    }
    assert!(wrong.is_empty(), "{name} {}: {wrong}", held.schema());
    evaluated
}

fn all_cases() -> Vec<(PredicateCase, Predicate)> {
    let parse = |case: PredicateCase| {
        let predicate = Predicate::parse(&case.predicate).unwrap();
        (case, predicate)
    };
    cases().into_iter().map(parse).collect()
}

/// Returns the options with which a format stores the table.
fn options(id: FormatId, has_nulls: bool) -> WriterOptions {
    // Formats with integers of 32 bits only refuse longer ones, unless they become text.
    let is_narrow = matches!(id, FormatId::Colm | FormatId::Colf);
    let types =
        if is_narrow { vec![("i64".to_owned(), ColumnType::Text.into())] } else { Vec::new() };
    let has_no_nulls = matches!(id, FormatId::Colm | FormatId::Clmn);
    let word = (has_nulls && has_no_nulls).then(|| "none".to_owned());
    WriterOptions::default().with_types(types).with_null_word(word)
}

#[test]
fn predicates_match_the_same_rows_in_every_kind_of_file() {
    let cases = all_cases();
    for (batch, has_nulls) in [(table(), true), (without_nulls(&table()), false)] {
        for kind in table_kinds().filter(|kind| kind.id() != FormatId::Txt) {
            let options = options(kind.id(), has_nulls);
            let file =
                written(kind, &batch, &options).unwrap_or_else(|err| panic!("{kind}: {err}"));
            let table = opened(kind, file).unwrap();
            let evaluated = check(kind.name(), &table, &cases);
            // What keeps every type evaluates every case.
            let least = match kind.id() {
                FormatId::Parquet | FormatId::Arrow => cases.len(),
                _ => 350,
            };
            assert!(evaluated >= least, "{kind}: {evaluated}");
        }
    }
}

/// What keeps every type gives the rows of the conformance cases themselves.
#[test]
fn parquet_and_arrow_give_the_rows_of_the_cases() {
    for kind in
        table_kinds().filter(|kind| matches!(kind.id(), FormatId::Parquet | FormatId::Arrow))
    {
        let file = written(kind, &table(), &WriterOptions::default()).unwrap();
        let table = opened(kind, file).unwrap();
        for (case, predicate) in all_cases() {
            assert_eq!(scanned(&table, &predicate), Ok(case.rows), "{kind} {}", case.predicate);
        }
    }
}

/// Statistics of small row groups prune many of them.
#[cfg(feature = "parquet")]
#[test]
fn predicates_match_the_same_rows_in_small_row_groups() {
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_max_row_group_row_count(Some(3))
        .build();
    let (batch, mut file) = (table(), Vec::new());
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let table = hypostyle::open_source(Arc::new(Bytes::from(file)), &OpenOptions::default());
    let table = table.unwrap();
    assert_eq!(table.reader().unwrap().row_groups(), 6);
    let cases = all_cases();
    assert_eq!(check("parquet in row groups", &table, &cases), cases.len());
}

/// Returns the archives of a text: in each of these codecs, and with row groups also in frames.
fn archives(name: &str, text: &[u8], codecs: &[Codec]) -> Vec<(String, Vec<u8>)> {
    let quick = PackOptions::default()
        .with_level(1)
        .with_rows_per_group(NonZeroUsize::new(4))
        .with_name(Some(name));
    let mut archives = Vec::new();
    for &codec in codecs {
        let options = quick.clone().with_codec(Choice::Only(codec));
        let (whole, packed) = at1::pack(text, &options).unwrap();
        assert_eq!(packed.codec, codec, "{name}");
        archives.push((format!("{name} in {codec}"), whole));
        if codec.has_groups() {
            let mut framed = Vec::new();
            let options = options.with_chunk_lines(7);
            at1::pack_stream(text, &mut framed, &options, |_, _| {}).unwrap();
            archives.push((format!("{name} in frames of {codec}"), framed));
        }
    }
    archives
}

#[test]
fn predicates_match_the_same_rows_in_every_archive() {
    use Codec::{Columnar, Json, JsonDoc, QColumnar, QJson, QJson2, Raw};
    let cases = all_cases();
    for kind in table_kinds().filter(|kind| kind.is_text() && kind.id() != FormatId::Txt) {
        let name = format!("table.{}", kind.extensions()[0]);
        let text = written(kind, &table(), &WriterOptions::default()).unwrap();
        let codecs: &[Codec] = match kind.id() {
            FormatId::Jsonl => &[Json, JsonDoc, QJson, QJson2],
            FormatId::Csv => &[Columnar, QColumnar, Raw],
            _ => &[Columnar, QColumnar],
        };
        for (label, archive) in archives(&name, &text, codecs) {
            let source = Arc::new(Bytes::from(archive));
            let options = OpenOptions::default().with_name(format!("{name}.at1"));
            let table = hypostyle::open_source(source, &options).unwrap();
            let evaluated = check(&label, &table, &cases);
            assert!(evaluated >= 350, "{label}: {evaluated}");
        }
    }
}
