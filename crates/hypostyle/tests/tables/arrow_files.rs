//! Arrow IPC files and streams by the `arrow-ipc` crate itself.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use bytes::Bytes;
use hypostyle::{OpenOptions, Table};

use crate::all_rows;

/// Returns batches whose dictionaries differ.
fn batches() -> Vec<RecordBatch> {
    let part = |start: i64| {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(start..start + 500));
        let texts = (start..start + 500).map(|row| format!("text {}", row % 50));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        let words: Vec<String> = (0..500).map(|row| format!("{start} {}", row % 3)).collect();
        let words: DictionaryArray<Int32Type> = words.iter().map(String::as_str).collect();
        let words: ArrayRef = Arc::new(words);
        RecordBatch::try_from_iter([("id", ids), ("text", texts), ("word", words)]).unwrap()
    };
    vec![part(0), part(500), part(1000)]
}

fn options(compression: Option<CompressionType>) -> IpcWriteOptions {
    IpcWriteOptions::default()
        .try_with_compression(compression)
        .unwrap()
        .with_dictionary_handling(DictionaryHandling::Resend)
}

fn stream(compression: Option<CompressionType>) -> Vec<u8> {
    let mut out = Vec::new();
    let schema = batches()[0].schema();
    let mut writer =
        StreamWriter::try_new_with_options(&mut out, &schema, options(compression)).unwrap();
    batches().iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    out
}

fn file(compression: Option<CompressionType>) -> Vec<u8> {
    let mut out = Vec::new();
    let schema = batches()[0].schema();
    let mut writer =
        FileWriter::try_new_with_options(&mut out, &schema, options(compression)).unwrap();
    // An IPC file has one dictionary.
    (0..3).for_each(|_| writer.write(&batches()[0]).unwrap());
    writer.finish().unwrap();
    out
}

fn open(file: Vec<u8>) -> Table {
    hypostyle::open_source(Arc::new(Bytes::from(file)), &OpenOptions::default()).unwrap()
}

const COMPRESSIONS: [Option<CompressionType>; 3] =
    [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];

fn same(one: &RecordBatch, other: &RecordBatch) {
    assert_eq!(one.num_rows(), other.num_rows());
    for (one, other) in one.columns().iter().zip(other.columns()) {
        let text =
            |array: &ArrayRef| hypostyle::cast::cast(array, &arrow_schema::DataType::Utf8).unwrap();
        assert_eq!(&text(one), &text(other));
    }
}

#[test]
fn files_and_streams_of_every_compression_are_read() {
    for compression in COMPRESSIONS {
        let schema = batches()[0].schema();
        let table = open(stream(compression));
        assert_eq!(table.reader().unwrap().row_groups(), 3);
        let want = arrow_select::concat::concat_batches(&schema, &batches()).unwrap();
        same(&all_rows(&table).unwrap(), &want);
        // Row groups are read in any order, each with the dictionaries of its time.
        let mut rows = table.scan().take(&[1400, 3, 700]).batches().unwrap();
        let rows = rows.next_batch().unwrap().unwrap();
        let at = arrow_array::UInt32Array::from(vec![1400, 3, 700]);
        same(&rows, &arrow_select::take::take_record_batch(&want, &at).unwrap());
        let table = open(file(compression));
        let first = &batches()[0];
        let want = arrow_select::concat::concat_batches(&schema, [first, first, first]).unwrap();
        same(&all_rows(&table).unwrap(), &want);
        assert_eq!(table.num_rows().unwrap(), 1500);
    }
}

#[test]
fn a_predicate_reads_and_filters_record_batches() {
    let table = open(stream(None));
    for (predicate, rows) in
        [("id >= 900 and text = 'text 7'", 12), ("word = '500 1'", 167), ("word is null", 0)]
    {
        let scan = table.scan().columns(["id"]).filter(predicate.parse().unwrap());
        let found: usize = scan.batches().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(found, rows, "{predicate}");
    }
}

#[test]
fn a_stream_without_an_end_is_read_and_a_torn_one_is_not() {
    let whole = stream(None);
    let open = |file: &[u8]| {
        let source = Arc::new(Bytes::copy_from_slice(file));
        hypostyle::open_source(source, &OpenOptions::default())
    };
    // The mark at the end has eight bytes.
    assert_eq!(open(&whole[..whole.len() - 8]).unwrap().num_rows().unwrap(), 1500);
    let err = open(&whole[..whole.len() - 9]).unwrap_err().to_string();
    assert!(err.contains("outside the file"), "{err}");
}
