//! Files and values do not depend on the number of threads.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use bytes::Bytes;
use hypostyle::{ReadOptions, SeekSink, WriteOptions, formats};
use hypostyle_testkit::content::Content;
use hypostyle_testkit::{batches, laws};

/// Returns twelve columns of very unequal cost, so that threads finish out of order.
fn table() -> RecordBatch {
    let rows = 30_000_i32;
    let column = |index: i32| {
        let array: ArrayRef = match index % 3 {
            0 => Arc::new(Int32Array::from_iter_values(
                (0..rows)
                    .map(|row| if index % 2 == 0 { 7 } else { row.wrapping_mul(-1_640_531_527) }),
            )),
            1 => Arc::new(Float64Array::from_iter_values(
                (0..rows).map(|row| f64::from(row * index).sqrt()),
            )),
            _ => Arc::new(StringArray::from_iter_values(
                (0..rows).map(|row| format!("{}", row % (index * 100))),
            )),
        };
        (format!("column {index}"), array)
    };
    RecordBatch::try_from_iter((0..12).map(column)).unwrap()
}

#[test]
fn threads_change_neither_bytes_nor_values() {
    for format in formats::tables() {
        let batch = batches::coerced(format, &table());
        let one = WriteOptions::default().with_threads(NonZeroUsize::new(1));
        let file = laws::encode(format, &batch, &one);
        for threads in [2, 5] {
            let many = WriteOptions::default().with_threads(NonZeroUsize::new(threads));
            assert!(laws::encode(format, &batch, &many) == file, "{format:?}, {threads} threads");
        }
        for threads in [1, 2, 5] {
            let options = ReadOptions::default().with_threads(NonZeroUsize::new(threads));
            let (back, _) = laws::decode(format, &file, &options).unwrap();
            assert!(Content::of(&back) == Content::of(std::slice::from_ref(&batch)));
        }
    }
}

#[test]
fn the_first_bad_column_is_reported_on_any_number_of_threads() {
    for format in formats::tables() {
        let batch = batches::coerced(format, &table());
        let mut file = laws::encode(format, &batch, &WriteOptions::default());
        let reader = format.open(Arc::new(Bytes::from(file.clone())), &ReadOptions::default());
        let blocks: Vec<_> = reader
            .unwrap()
            .sections()
            .into_iter()
            .filter(|part| matches!(part.column, Some(4 | 7 | 10)))
            .collect();
        for block in blocks {
            let middle = usize::try_from(block.offset + block.stored / 2).unwrap();
            file[middle..middle + 8].fill(0xA5);
        }
        for threads in [1, 2, 5] {
            let options = ReadOptions::default().with_threads(NonZeroUsize::new(threads));
            let err = laws::decode(format, &file, &options).unwrap_err();
            assert_eq!(err.column().unwrap().index, 4, "{threads} threads: {err}");
        }
    }
}

#[test]
fn a_sink_that_seeks_and_one_in_memory_get_the_same_bytes() {
    for format in formats::tables() {
        let batch = batches::coerced(format, &table().slice(0, 10));
        let options = WriteOptions::default();
        let file = laws::encode(format, &batch, &options);
        let mut inner = std::io::Cursor::new(b"before".to_vec());
        inner.set_position(6);
        let mut sink = SeekSink::try_new(inner).unwrap();
        format.encode(&batch, &mut sink, &options).unwrap();
        let bytes = sink.into_inner().into_inner();
        assert_eq!(bytes, [&b"before"[..], &file].concat());
    }
}
