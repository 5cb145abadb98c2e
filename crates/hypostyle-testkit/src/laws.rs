//! What is true of every format.
//!
//! 1. [`decode_undoes_encode`]: what goes in comes out.
//! 2. [`a_canonical_file_encodes_to_itself`], and strict reading accepts it.
//! 3. [`any_bytes_return_or_fail`], within limits, and strict reading refuses
//!    exactly those files in which liberal reading finds deviations. Of archives
//!    [`any_archive_returns_or_fails`] says the same.

use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use hypostyle::formats::at1::{Archive, Codec};
use hypostyle::formats::{self, Format, Reader, Sniff};
use hypostyle::predicate::{BatchColumns, Predicate};
use hypostyle::{
    Deviation, Error, ErrorKind, Limits, ReadOptions, Result, RowSelection, Table, TextPolicy,
    WriteOptions,
};

use crate::content::Content;

/// Limits for hostile bytes: enough for every honest test file, and no more.
pub fn small_limits() -> Limits {
    Limits::default().with_block_bytes(1 << 20).with_read_bytes(4 << 20).with_header_bytes(1 << 20)
}

/// The bytes of a table in this format.
pub fn encode(format: &dyn Format, table: &dyn Table, options: &WriteOptions) -> Vec<u8> {
    let mut file = Vec::new();
    format.encode(table, &mut file, options).unwrap();
    file
}

/// Opens bytes as this format.
pub fn open(format: &dyn Format, file: &[u8], options: &ReadOptions) -> Result<Box<dyn Reader>> {
    format.open(Arc::new(Bytes::copy_from_slice(file)), options)
}

/// Every column of every chunk.
pub fn read_everything(reader: &dyn Reader) -> Result<Vec<RecordBatch>> {
    let columns: Vec<usize> = (0..reader.schema().fields().len()).collect();
    let batches: Vec<_> =
        (0..reader.chunks()).map(|chunk| reader.read(chunk, &columns)).collect::<Result<_>>()?;
    for batch in &batches {
        assert_eq!(batch.schema(), reader.schema(), "a batch has the schema of its file");
    }
    let rows: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    assert_eq!(rows, reader.rows(), "the batches have the rows of their file");
    Ok(batches)
}

/// Opens bytes and reads everything, with the deviations that were met.
pub fn decode(
    format: &dyn Format,
    file: &[u8],
    options: &ReadOptions,
) -> Result<(Vec<RecordBatch>, Vec<Deviation>)> {
    let reader = open(format, file, options)?;
    let batches = read_everything(reader.as_ref())?;
    Ok((batches, reader.deviations()))
}

/// What goes in comes out, by way of one call or of many batches.
pub fn decode_undoes_encode(format: &'static dyn Format, batch: &RecordBatch) {
    let options = WriteOptions::default();
    let file = encode(format, batch, &options);
    let (back, deviations) = decode(format, &file, &ReadOptions::default()).unwrap();
    assert_eq!(Content::of(&back), Content::of(std::slice::from_ref(batch)));
    assert_eq!(deviations, [], "our own files depart from no spec");

    let mut writer = formats::Writer::create(format, batch.schema(), options).unwrap();
    let mut from = 0;
    while from < batch.num_rows() {
        let len = (from + 1).min(batch.num_rows() - from);
        writer.write(&batch.slice(from, len)).unwrap();
        from += len;
    }
    let mut pieces = Vec::new();
    writer.finish(&mut pieces).unwrap();
    assert_eq!(pieces, file, "the same table in pieces gives the same bytes");
}

/// A file that our writer could have written is what it writes.
pub fn a_canonical_file_encodes_to_itself(format: &dyn Format, file: &[u8]) {
    let strict = ReadOptions::default().with_strict(true);
    let (batches, deviations) = decode(format, file, &strict).unwrap();
    assert_eq!(deviations, []);
    let [batch] = &batches[..] else { return };
    assert_eq!(encode(format, batch, &WriteOptions::default()), file);
}

/// Whatever the bytes: values or an error, and no more memory than allowed.
pub fn any_bytes_return_or_fail(format: &dyn Format, file: &[u8]) {
    let size = file.len() as u64;
    for text in [TextPolicy::Strict, TextPolicy::Lossy, TextPolicy::Java] {
        let quick = ReadOptions::default().with_limits(small_limits()).with_text(text);
        let options = quick.clone().with_thorough(true);
        let liberal = decode(format, file, &options);
        if let (Ok((a, _)), Ok((b, _))) = (&liberal, &decode(format, file, &quick)) {
            assert_eq!(Content::of(a), Content::of(b), "a closer look changes no value");
        }
        let strict = decode(format, file, &options.clone().with_strict(true));
        match (&liberal, &strict) {
            (Ok((a, met)), Ok((b, _))) => {
                assert_eq!(Content::of(a), Content::of(b));
                assert_eq!(met, &[], "strict reading lets nothing pass");
            }
            (Ok((_, met)), Err(err)) => {
                assert!(!met.is_empty(), "refused for no deviation: {err}");
                assert!(met.iter().all(|found| found.offset <= size), "{met:?}");
            }
            (Err(err), Ok(_)) => unreachable!("only strict reading takes it: {err}"),
            (Err(err), Err(_)) => assert!(err.to_string().starts_with(format.id().name())),
        }
        if let Ok(reader) = open(format, file, &options) {
            check_reader(reader.as_ref(), size);
        }
    }
}

/// What an open file says of itself holds, also where columns fail.
fn check_reader(reader: &dyn Reader, size: u64) {
    let columns = reader.schema().fields().len();
    let mut rows = 0;
    for chunk in 0..reader.chunks() {
        rows += reader.chunk_rows(chunk);
        for column in 0..columns {
            let whole = reader.read(chunk, &[column]);
            if let Ok(batch) = &whole {
                assert_eq!(batch.num_rows() as u64, reader.chunk_rows(chunk));
            }
            some_rows_are_those_of_all(reader, chunk, column, whole.as_ref());
            searches_say_what_scans_say(reader, chunk, column, whole.as_ref());
        }
    }
    assert_eq!(rows, reader.rows(), "the chunks have the rows of their file");
    assert!(reader.read(0, &[columns]).is_err());
    assert!(reader.read(reader.chunks(), &[]).is_err());
    let mut end = 0;
    for section in reader.sections() {
        assert!(section.offset <= end, "the byte map has a hole before {section:?}");
        end = end.max(section.offset + section.stored);
    }
    assert_eq!(end, size, "the byte map reaches to the end");
}

/// RowSelection that are read by themselves are what they are among all others; where not all can
/// be read, some may.
fn some_rows_are_those_of_all(
    reader: &dyn Reader,
    chunk: usize,
    column: usize,
    whole: Result<&RecordBatch, &Error>,
) {
    let all = usize::try_from(reader.chunk_rows(chunk)).unwrap();
    // A file may claim any number of rows.
    let few = all.min(1000);
    let ranges = [0..all, 0..all / 2, all / 3..all, all..all];
    let every_third: RowSelection = (0..few).step_by(3).collect();
    for rows in ranges.map(RowSelection::from).into_iter().chain([every_third]) {
        match (reader.read_rows(chunk, &[column], &rows), whole) {
            (Ok(some), Ok(whole)) => assert_eq!(some, rows.of(whole).unwrap(), "{rows:?}"),
            (Ok(some), Err(_)) => assert_eq!(some.num_rows(), rows.len()),
            (Err(err), Ok(_)) => unreachable!("all rows can be read, and some cannot: {err}"),
            (Err(_), Err(_)) => {}
        }
    }
    if let Some(end) = all.checked_add(1) {
        assert!(reader.read_rows(chunk, &[column], &RowSelection::from(all..end)).is_err());
    }
}

/// A format that finds rows in its own way finds those that a scan finds; where not all
/// rows can be read, some may.
fn searches_say_what_scans_say(
    reader: &dyn Reader,
    chunk: usize,
    column: usize,
    whole: Result<&RecordBatch, &Error>,
) {
    let name = reader.schema().field(column).name().replace('"', "\"\"");
    for test in ["like '%a%'", "like 'a%b_'", "= ''", "< 'b'", "= 1", "is not null"] {
        let Ok(test) = Predicate::parse(&format!("\"{name}\" {test}")) else { return };
        let found = reader.read_where(chunk, &[column], &test);
        let scanned = whole.map(|whole| {
            let keep = test.evaluate(whole.num_rows(), &BatchColumns::new(whole)).unwrap();
            RowSelection::from_mask(&keep).of(whole).unwrap()
        });
        match (found, scanned) {
            (Ok(Some(found)), Ok(scanned)) => assert_eq!(found, scanned, "{test}"),
            (Err(err), Ok(_)) if matches!(err.kind(), ErrorKind::InvalidArgument(_)) => {
                // Several columns have this name.
            }
            (Err(err), Ok(_)) => unreachable!("all rows can be read, and not asked: {err}"),
            (Ok(_), Err(_)) | (Err(_), Err(_)) | (Ok(None), Ok(_)) => {}
        }
    }
}

/// What an archive unpacks to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Original {
    /// A file.
    File(Vec<u8>),
    /// Names and files.
    Folder(Vec<(String, Vec<u8>)>),
}

/// Unpacks an archive or the archives in a bundle, with the deviations that were met.
pub fn unpack(file: &[u8], options: &ReadOptions) -> Result<(Original, Vec<Deviation>)> {
    let archive = Archive::open(Arc::new(Bytes::copy_from_slice(file)), options)?;
    if archive.codec() != Codec::Bundle {
        let mut out = Vec::new();
        let unpacked = archive.unpack(&mut out)?;
        assert_eq!(unpacked.bytes, out.len() as u64);
        assert_eq!(unpacked.hash_agreed, archive.hash().is_some());
        return Ok((Original::File(out), archive.deviations()));
    }
    let mut met = Vec::new();
    let mut files = Vec::new();
    for entry in archive.bundle()? {
        let mut out = Vec::new();
        entry.archive.unpack(&mut out)?;
        files.push((entry.file.name, out));
        met.extend(entry.archive.deviations());
    }
    met.extend(archive.deviations());
    Ok((Original::Folder(files), met))
}

/// Whatever the bytes: an original or an error, the same on any number of threads.
pub fn any_archive_returns_or_fails(file: &[u8]) {
    let options = ReadOptions::default().with_limits(small_limits().with_output_bytes(4 << 20));
    let on = |threads: usize| {
        let options = options.clone().with_threads(std::num::NonZeroUsize::new(threads));
        unpack(file, &options)
    };
    let liberal = on(1);
    match (&liberal, &on(3)) {
        (Ok(one), Ok(three)) => assert_eq!(one, three),
        // How far the first of several threads came is said in other words.
        (Err(_), Err(_)) => {}
        (one, three) => unreachable!("{one:?} on one thread, {three:?} on three"),
    }
    match (&liberal, &unpack(file, &options.clone().with_strict(true))) {
        (Ok((a, met)), Ok((b, _))) => {
            assert_eq!(a, b);
            assert_eq!(met, &[], "strict reading lets nothing pass");
        }
        (Ok((_, met)), Err(err)) => {
            assert!(!met.is_empty(), "refused for no deviation: {err}");
            let size = file.len() as u64;
            assert!(met.iter().all(|found| found.offset <= size), "{met:?}");
        }
        (Err(err), Ok(_)) => unreachable!("only strict reading takes it: {err}"),
        (Err(err), Err(_)) => assert!(err.to_string().starts_with("at1: "), "{err}"),
    }
}

/// Whatever the bytes: a description and a table, or errors.
pub fn any_archive_shows_itself_or_fails(file: &[u8]) {
    let options = ReadOptions::default().with_limits(small_limits().with_output_bytes(4 << 20));
    if let Ok(archive) = Archive::open(Arc::new(Bytes::copy_from_slice(file)), &options) {
        let _ = (archive.frames(), archive.describe());
    }
    let at1 = formats::by_name("at1").unwrap();
    if let Ok(reader) = open(at1, file, &options) {
        let _ = (read_everything(reader.as_ref()), reader.sections());
    }
}

/// At most one format claims a file; gives that format.
pub fn at_most_one_format_claims(file: &[u8]) -> Option<&'static dyn Format> {
    let source = Bytes::copy_from_slice(file);
    let claims: Vec<_> = formats::ALL
        .iter()
        .copied()
        .filter(|format| format.sniff(&source).is_ok_and(|sniff| sniff == Sniff::Yes))
        .collect();
    assert!(claims.len() <= 1, "{claims:?} all claim one file");
    let detected = formats::detect(&source).ok().flatten();
    assert_eq!(detected.map(|format| format.id()), claims.first().map(|format| format.id()));
    detected
}
