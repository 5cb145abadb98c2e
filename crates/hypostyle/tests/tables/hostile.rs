//! Bent bytes of Parquet and Arrow files: every one gives a table or an error, never a panic.

use std::panic;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use bytes::Bytes;
use hypostyle::{Limits, OpenOptions, ReadOptions, Result};

fn batch() -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("bcd"), None]));
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), None]);
    lists.append_null();
    lists.append_value([]);
    let words: DictionaryArray<Int8Type> = ["x", "y", "x"].into_iter().collect();
    RecordBatch::try_from_iter_with_nullable([
        ("id", ids, true),
        ("text", texts, true),
        ("list", Arc::new(lists.finish()) as ArrayRef, true),
        ("word", Arc::new(words) as ArrayRef, true),
    ])
    .unwrap()
}

/// Opens and reads everything that can be read.
fn read(file: &Bytes) -> Result<usize> {
    let limits = Limits::default().with_block_bytes(1 << 20).with_read_bytes(1 << 20);
    let options = OpenOptions::default().with_read(ReadOptions::default().with_limits(limits));
    let table = hypostyle::open_source(Arc::new(file.clone()), &options)?;
    let mut rows = 0;
    for column in 0..table.schema()?.fields().len() {
        let _ = table.column_statistics(column)?;
    }
    for predicate in [None, Some("id > 0 and text like 'a%'")] {
        let mut scan = table.scan().limit(1000);
        if let Some(predicate) = predicate {
            scan = scan.filter(predicate.parse()?);
        }
        let mut batches = scan.batches()?;
        while let Some(batch) = batches.next_batch()? {
            rows += batch.num_rows();
        }
    }
    Ok(rows)
}

/// Bends every byte of a file in two ways, and cuts it at every third place.
fn sweep(file: &[u8]) {
    assert_eq!(read(&Bytes::copy_from_slice(file)).unwrap(), 4);
    // Caught panics print a message each.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let mut failures = Vec::new();
    let mut check = |what: String, bent: Vec<u8>| {
        let bent = Bytes::from(bent);
        if panic::catch_unwind(|| drop(read(&bent))).is_err() {
            failures.push(what);
        }
    };
    for at in 0..file.len() {
        for change in [0x01, 0xFF] {
            let mut bent = file.to_vec();
            bent[at] ^= change;
            check(format!("byte {at} ^ {change:#x}"), bent);
        }
        if at % 3 == 0 {
            check(format!("cut at {at}"), file[..at].to_vec());
        }
    }
    panic::set_hook(hook);
    assert!(failures.is_empty(), "{} panics: {:?}", failures.len(), failures.first());
}

#[cfg(feature = "parquet")]
#[test]
fn bent_parquet_files_never_panic() {
    use parquet::arrow::ArrowWriter;
    use parquet::basic::Compression;
    use parquet::file::properties::WriterProperties;
    let batch = batch();
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        let properties = WriterProperties::builder().set_compression(compression).build();
        let mut out = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        sweep(&out);
    }
}

#[cfg(feature = "arrow")]
#[test]
fn bent_arrow_files_and_streams_never_panic() {
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
    let batch = batch();
    let options =
        |compression| IpcWriteOptions::default().try_with_compression(compression).unwrap();
    for compression in [None, Some(CompressionType::ZSTD)] {
        let mut out = Vec::new();
        let schema = batch.schema();
        let mut writer =
            FileWriter::try_new_with_options(&mut out, &schema, options(compression)).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        sweep(&out);
    }
    let mut out = Vec::new();
    let lz4 = options(Some(CompressionType::LZ4_FRAME));
    let mut writer = StreamWriter::try_new_with_options(&mut out, &batch.schema(), lz4).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    sweep(&out);
}
