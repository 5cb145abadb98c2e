//! Parquet files that lie: each is read, or refused within bounds, and ends no program.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, FixedSizeBinaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray,
};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

use super::open;
use hypostyle_core::error::Result;
use hypostyle_core::limits::Limits;
use hypostyle_core::options::ReadOptions;

fn table() -> RecordBatch {
    let rows = 0..6_i32;
    let list = (0..6).map(|row| (row % 3 > 0).then(|| vec![Some(row), None, Some(7)]));
    let fixed = rows.clone().map(|row| (row != 2).then(|| [u8::try_from(row).unwrap(); 3]));
    let part: ArrayRef =
        Arc::new(StringArray::from_iter(rows.clone().map(|r| (r != 4).then_some("x"))));
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "i",
            Arc::new(Int32Array::from_iter(rows.clone().map(|row| (row != 3).then_some(row * 7)))),
        ),
        ("l", Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| i64::from(row) << 40)))),
        ("s", Arc::new(StringArray::from_iter_values(rows.map(|row| format!("text {}", row % 2))))),
        ("n", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(list))),
        ("f", Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 3).unwrap())),
        (
            "t",
            Arc::new(StructArray::from(vec![(
                Arc::new(Field::new("p", DataType::Utf8, true)),
                part,
            )])),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
        .unwrap()
}

fn written(properties: WriterProperties, table: &RecordBatch) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, table.schema(), Some(properties)).unwrap();
    writer.write(table).unwrap();
    writer.close().unwrap();
    file
}

/// Returns files with every compressor, and with every encoding of pages.
fn files() -> Vec<Vec<u8>> {
    let level = ZstdLevel::default();
    let all = [
        (Compression::UNCOMPRESSED, None, WriterVersion::PARQUET_1_0),
        (Compression::ZSTD(level), None, WriterVersion::PARQUET_2_0),
        (Compression::SNAPPY, Some(Encoding::PLAIN), WriterVersion::PARQUET_1_0),
        (Compression::LZ4_RAW, Some(Encoding::DELTA_BYTE_ARRAY), WriterVersion::PARQUET_2_0),
        (Compression::UNCOMPRESSED, Some(Encoding::DELTA_BYTE_ARRAY), WriterVersion::PARQUET_1_0),
        (
            Compression::UNCOMPRESSED,
            Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
            WriterVersion::PARQUET_2_0,
        ),
        (Compression::GZIP(GzipLevel::default()), None, WriterVersion::PARQUET_1_0),
        (Compression::BROTLI(BrotliLevel::default()), None, WriterVersion::PARQUET_1_0),
    ];
    let file =
        |(compression, encoding, version): (Compression, Option<Encoding>, WriterVersion)| {
            let mut properties = WriterProperties::builder()
                .set_compression(compression)
                .set_writer_version(version)
                .set_key_value_metadata(None);
            if let Some(encoding) = encoding {
                properties = properties.set_dictionary_enabled(false);
                for column in ["s", "t.p"] {
                    properties = properties.set_column_encoding(column.into(), encoding);
                }
            }
            written(properties.build(), &table())
        };
    all.into_iter().map(file).collect()
}

/// Reads all columns of all row groups; claims of this size are refused.
fn read(file: &[u8]) -> Result<Vec<RecordBatch>> {
    let limits = Limits::default().with_block_bytes(1 << 20).with_read_bytes(4 << 20);
    let options = ReadOptions::default().with_limits(limits);
    let reader = open(Arc::new(Bytes::copy_from_slice(file)), &options)?;
    let columns: Vec<usize> = (0..reader.schema().fields().len()).collect();
    // A file may claim any number of row groups and rows.
    (0..reader.row_groups().min(3)).map(|group| reader.read(group, &columns)).collect()
}

#[test]
fn files_of_all_kinds_are_read() {
    for file in files() {
        assert_eq!(read(&file).unwrap(), [table()]);
    }
}

/// `tests/tables` changes every byte of files with other encodings.
#[test]
fn a_changed_byte_of_delta_encoded_texts_is_read_or_refused() {
    for mut file in files().into_iter().skip(3).take(3) {
        for at in (0..file.len()).step_by(4) {
            let was = file[at];
            file[at] = [0, 0xFF, was ^ 1, was ^ 0x80, was.wrapping_add(16)][at / 4 % 5];
            let _ = read(&file);
            file[at] = was;
        }
    }
}

/// A page of delta-encoded texts states how many there are, and memory for it is allocated.
#[test]
fn more_delta_encoded_lengths_than_values_are_refused() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "bc", ""]));
    let table = RecordBatch::try_from_iter([("s", texts)]).unwrap();
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_encoding(encoding)
            .set_compression(Compression::UNCOMPRESSED);
        let mut file = written(properties.build(), &table);
        assert_eq!(read(&file).unwrap(), std::slice::from_ref(&table));
        // A block of 128, in 4 parts, of 3 numbers.
        let header = [0x80, 1, 4, 3];
        let places: Vec<usize> =
            (0..file.len()).filter(|&at| file[at..].starts_with(&header)).collect();
        assert!(!places.is_empty(), "{encoding}");
        for at in places {
            file[at + 3] = 0x7F;
            let err = read(&file).unwrap_err().to_string();
            assert!(err.contains("127 numbers are stated for 3 values"), "{err}");
            file[at + 3] = 3;
        }
    }
}

/// A long text in a dictionary, and rows that repeat it.
#[test]
fn a_value_that_rows_repeat_counts_as_often_as_they_do() {
    let long = "x".repeat(100_000);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![long.as_str(); 5000]));
    let table = RecordBatch::try_from_iter([("s", texts)]).unwrap();
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let file = written(properties.build(), &table);
    assert!(file.len() < 4000, "{} bytes", file.len());
    let err = read(&file).unwrap_err().to_string();
    assert!(
        err.contains("column of a window") && err.contains("over the limit of 4194304"),
        "{err}"
    );
    let options = ReadOptions::default();
    let reader = open(Arc::new(Bytes::from(file)), &options).unwrap();
    assert_eq!(reader.read(0, &[0]).unwrap(), table);
}
