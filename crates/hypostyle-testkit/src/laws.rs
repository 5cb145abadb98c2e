//! Properties of every format.
//!
//! 1. [`decode_undoes_encode`]: decoding returns the values that were encoded.
//! 2. [`a_canonical_file_encodes_to_itself`], and a strict reader accepts it.
//! 3. [`any_bytes_return_or_fail`], within limits, and a strict reader refuses exactly those
//!    files in which a liberal reader finds deviations. [`any_archive_returns_or_fails`] is the
//!    same law for archives.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use hypostyle::formats::at1::{Archive, Codec};
use hypostyle::formats::{self, Format, Reader, Sniff};
use hypostyle::predicate::Predicate;
use hypostyle::{
    ColumnSource, Deviation, Error, ErrorKind, Limits, RangeCache, ReadOptions, Result,
    RowSelection, Table, TextPolicy, WriteOptions, Writer, WriterOptions,
};

use crate::content::Content;
use crate::scans::a_scan_gives_what_a_read_gives;

/// Returns limits for hostile input, large enough for every valid test file.
pub fn small_limits() -> Limits {
    Limits::default().with_block_bytes(1 << 20).with_read_bytes(4 << 20).with_header_bytes(1 << 20)
}

/// Encodes a table in this format.
pub fn encode(format: &dyn Format, table: &dyn ColumnSource, options: &WriteOptions) -> Vec<u8> {
    let mut file = Vec::new();
    format.encode(table, &mut file, options).unwrap();
    file
}

/// Opens bytes as this format.
pub fn open(format: &dyn Format, file: &[u8], options: &ReadOptions) -> Result<Arc<dyn Reader>> {
    format.open(Arc::new(Bytes::copy_from_slice(file)), options)
}

/// Reads every column of every chunk, and checks that schema and row counts agree.
pub fn read_everything(reader: &Arc<dyn Reader>) -> Result<Vec<RecordBatch>> {
    let columns: Vec<usize> = (0..reader.schema().fields().len()).collect();
    let batches: Vec<_> = (0..reader.row_groups())
        .map(|chunk| reader.read(chunk, &columns))
        .collect::<Result<_>>()?;
    for batch in &batches {
        assert_eq!(batch.schema(), reader.schema(), "a batch has another schema than its file");
    }
    let rows: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    assert_eq!(rows, reader.rows(), "the batches have another row count than their file");
    Ok(batches)
}

/// Opens bytes and reads everything. Returns the batches and the deviations found.
pub fn decode(
    format: &dyn Format,
    file: &[u8],
    options: &ReadOptions,
) -> Result<(Vec<RecordBatch>, Vec<Deviation>)> {
    let reader = open(format, file, options)?;
    let batches = read_everything(&reader)?;
    Ok((batches, reader.deviations()))
}

/// Checks that decoding returns the encoded table, and that writing it in many batches gives the
/// same bytes.
pub fn decode_undoes_encode(format: &'static dyn Format, batch: &RecordBatch) {
    let options = WriteOptions::default();
    let file = encode(format, batch, &options);
    let read = decode(format, &file, &ReadOptions::default());
    a_scan_gives_what_a_read_gives(format, &file, &ReadOptions::default(), &read);
    let (back, deviations) = read.unwrap();
    assert_eq!(Content::of(&back), Content::of(std::slice::from_ref(batch)));
    assert_eq!(deviations, [], "our writer wrote a deviation");

    let mut batched = Vec::new();
    let options = WriterOptions::default().with_encode(options);
    let mut writer = Writer::create(&mut batched, format.id(), batch.schema(), &options).unwrap();
    let mut from = 0;
    while from < batch.num_rows() {
        let len = (from + 1).min(batch.num_rows() - from);
        writer.write(&batch.slice(from, len)).unwrap();
        from += len;
    }
    writer.finish().unwrap();
    assert_eq!(batched, file, "the same table in several batches gives other bytes");
}

/// Checks that a canonical file has no deviations and encodes to the same bytes.
pub fn a_canonical_file_encodes_to_itself(format: &dyn Format, file: &[u8]) {
    let strict = ReadOptions::default().with_strict(true);
    let (batches, deviations) = decode(format, file, &strict).unwrap();
    assert_eq!(deviations, []);
    let [batch] = &batches[..] else { return };
    assert_eq!(encode(format, batch, &WriteOptions::default()), file);
}

/// Checks that reading any bytes gives values or an error, within limits.
pub fn any_bytes_return_or_fail(format: &dyn Format, file: &[u8]) {
    let size = file.len() as u64;
    for text in [TextPolicy::Strict, TextPolicy::Lossy, TextPolicy::Java] {
        let quick = ReadOptions::default().with_limits(small_limits()).with_text(text);
        let options = quick.clone().with_thorough(true);
        let liberal = decode(format, file, &options);
        if let (Ok((a, _)), Ok((b, _))) = (&liberal, &decode(format, file, &quick)) {
            assert_eq!(Content::of(a), Content::of(b), "thorough reading changed a value");
        }
        a_scan_gives_what_a_read_gives(format, file, &options, &liberal);
        let strict = decode(format, file, &options.clone().with_strict(true));
        match (&liberal, &strict) {
            (Ok((a, found)), Ok((b, _))) => {
                assert_eq!(Content::of(a), Content::of(b));
                assert_eq!(found, &[], "strict reading accepted a deviation");
            }
            (Ok((_, found)), Err(err)) => {
                assert!(!found.is_empty(), "strict reading failed without a deviation: {err}");
                assert!(found.iter().all(|deviation| deviation.offset <= size), "{found:?}");
            }
            (Err(err), Ok(_)) => unreachable!("only strict reading accepts it: {err}"),
            (Err(err), Err(_)) => assert!(err.to_string().starts_with(format.id().name())),
        }
        if let Ok(reader) = open(format, file, &options) {
            check_reader(&reader, size);
        }
    }
}

/// Checks the metadata of an open file, even if some of its columns fail to decode.
fn check_reader(reader: &Arc<dyn Reader>, size: u64) {
    let columns = reader.schema().fields().len();
    let mut rows = 0;
    for chunk in 0..reader.row_groups() {
        rows += reader.row_group_rows(chunk);
        for column in 0..columns {
            let whole = reader.read(chunk, &[column]);
            if let Ok(batch) = &whole {
                assert_eq!(batch.num_rows() as u64, reader.row_group_rows(chunk));
            }
            some_rows_are_those_of_all(reader, chunk, column, whole.as_ref());
            searches_say_what_scans_say(reader, chunk, column, whole.as_ref());
        }
    }
    assert_eq!(rows, reader.rows(), "the chunks have another row count than their file");
    assert!(reader.read(0, &[columns]).is_err());
    assert!(reader.read(reader.row_groups(), &[]).is_err());
    let mut end = 0;
    for section in reader.sections() {
        assert!(section.offset <= end, "the byte map has a hole before {section:?}");
        end = end.max(section.offset + section.stored);
    }
    assert_eq!(end, size, "the byte map ends elsewhere than the file");
}

/// Checks that reading a row selection returns those rows of the whole chunk. Where the whole chunk
/// fails, a selection may succeed.
fn some_rows_are_those_of_all(
    reader: &Arc<dyn Reader>,
    chunk: usize,
    column: usize,
    whole: Result<&RecordBatch, &Error>,
) {
    let all = usize::try_from(reader.row_group_rows(chunk)).unwrap();
    // A file may claim any number of rows, so bound the selection.
    let few = all.min(1000);
    let ranges = [0..all, 0..all / 2, all / 3..all, all..all];
    let every_third: RowSelection = (0..few).step_by(3).collect();
    for rows in ranges.map(RowSelection::from).into_iter().chain([every_third]) {
        match (reader.read_rows(chunk, &[column], &rows), whole) {
            (Ok(some), Ok(whole)) => assert_eq!(some, rows.of(whole).unwrap(), "{rows:?}"),
            (Ok(some), Err(_)) => assert_eq!(some.num_rows(), rows.len()),
            (Err(err), Ok(_)) => unreachable!("all rows can be read, but a selection fails: {err}"),
            (Err(_), Err(_)) => {}
        }
    }
    if let Some(end) = all.checked_add(1) {
        assert!(reader.read_rows(chunk, &[column], &RowSelection::from(all..end)).is_err());
    }
}

/// Checks that a format's own search finds the rows that a scan finds. Where the whole chunk fails,
/// a search may succeed.
fn searches_say_what_scans_say(
    reader: &Arc<dyn Reader>,
    chunk: usize,
    column: usize,
    whole: Result<&RecordBatch, &Error>,
) {
    let name = reader.schema().field(column).name().replace('"', "\"\"");
    for test in ["like '%a%'", "like 'a%b_'", "= ''", "< 'b'", "= 1", "is not null"] {
        let Ok(test) = Predicate::parse(&format!("\"{name}\" {test}")) else { return };
        let found = read_where(reader, chunk, &[column], &test);
        let scanned = whole.map(|whole| {
            let matching = matching_rows(&test, whole)?;
            Ok::<_, Error>(matching.of(whole).unwrap())
        });
        match (found, scanned) {
            (Ok(found), Ok(Ok(scanned))) => assert_eq!(found, scanned, "{test}"),
            (Ok(_), Ok(Err(err))) => unreachable!("only the scan accepts the predicate: {err}"),
            (Err(err), Ok(_)) if matches!(err.kind(), ErrorKind::InvalidArgument(_)) => {
                // Several columns have this name, or the column has another type.
            }
            (Err(err), Ok(_)) => unreachable!("all rows can be read, but the search fails: {err}"),
            (Ok(_), Err(_)) | (Err(_), Err(_)) => {}
        }
    }
}

/// Evaluates a predicate on a whole batch.
///
/// # Errors
///
/// Fails if the predicate does not fit the schema of the batch.
pub fn matching_rows(predicate: &Predicate, mut batch: &RecordBatch) -> Result<RowSelection> {
    let bound = predicate.bind(batch.schema_ref())?;
    Ok(RowSelection::from_truths(&bound.evaluate(batch.num_rows(), &mut batch)?))
}

/// Scans some columns of one row group with a predicate.
pub fn read_where(
    reader: &Arc<dyn Reader>,
    group: usize,
    columns: &[usize],
    predicate: &Predicate,
) -> Result<RecordBatch> {
    let source = Arc::new(RangeCache::of_size(0));
    let first: u64 = (0..group).map(|group| reader.row_group_rows(group)).sum();
    let scan = Table::new(reader.clone(), source).scan().columns(columns.iter().copied());
    let scan = scan.rows(first..first + reader.row_group_rows(group)).filter(predicate.clone());
    let mut batches = scan.batches()?;
    let (schema, mut found) = (batches.schema(), Vec::new());
    while let Some(batch) = batches.next_batch()? {
        found.push(batch);
    }
    Ok(concat_batches(&schema, &found).unwrap())
}

/// The unpacked content of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Original {
    /// A file.
    File(Vec<u8>),
    /// The names and contents of the files of a bundle.
    Folder(Vec<(String, Vec<u8>)>),
}

/// Unpacks an archive or the archives in a bundle. Returns the content and the deviations found.
pub fn unpack(file: &[u8], options: &ReadOptions) -> Result<(Original, Vec<Deviation>)> {
    let archive = Archive::open(Arc::new(Bytes::copy_from_slice(file)), options)?;
    if archive.codec() != Codec::Bundle {
        let mut out = Vec::new();
        let unpacked = archive.unpack(&mut out)?;
        assert_eq!(unpacked.bytes, out.len() as u64);
        assert_eq!(unpacked.hash_agreed, archive.hash().is_some());
        return Ok((Original::File(out), archive.deviations()));
    }
    let mut found = Vec::new();
    let mut files = Vec::new();
    for entry in archive.bundle()? {
        let mut out = Vec::new();
        entry.archive.unpack(&mut out)?;
        files.push((entry.file.name, out));
        found.extend(entry.archive.deviations());
    }
    found.extend(archive.deviations());
    Ok((Original::Folder(files), found))
}

/// Checks that unpacking any bytes gives an original or an error, the same on any number of
/// threads.
pub fn any_archive_returns_or_fails(file: &[u8]) {
    let options = ReadOptions::default().with_limits(small_limits().with_output_bytes(4 << 20));
    let on = |threads: usize| {
        let options = options.clone().with_threads(std::num::NonZeroUsize::new(threads));
        unpack(file, &options)
    };
    let liberal = on(1);
    match (&liberal, &on(3)) {
        (Ok(one), Ok(three)) => assert_eq!(one, three),
        // The messages may differ: another thread may fail first.
        (Err(_), Err(_)) => {}
        (one, three) => unreachable!("{one:?} on one thread, {three:?} on three"),
    }
    match (&liberal, &unpack(file, &options.clone().with_strict(true))) {
        (Ok((a, found)), Ok((b, _))) => {
            assert_eq!(a, b);
            assert_eq!(found, &[], "strict reading accepted a deviation");
        }
        (Ok((_, found)), Err(err)) => {
            assert!(!found.is_empty(), "strict reading failed without a deviation: {err}");
            let size = file.len() as u64;
            assert!(found.iter().all(|deviation| deviation.offset <= size), "{found:?}");
        }
        (Err(err), Ok(_)) => unreachable!("only strict reading accepts it: {err}"),
        (Err(err), Err(_)) => assert!(err.to_string().starts_with("at1: "), "{err}"),
    }
}

/// Checks that describing and reading any bytes as an archive does not panic.
pub fn any_archive_shows_itself_or_fails(file: &[u8]) {
    let options = ReadOptions::default().with_limits(small_limits().with_output_bytes(4 << 20));
    if let Ok(archive) = Archive::open(Arc::new(Bytes::copy_from_slice(file)), &options) {
        let _ = (archive.frames(), archive.describe());
    }
    let at1 = formats::by_name("at1").unwrap();
    if let Ok(reader) = open(at1, file, &options) {
        let _ = (read_everything(&reader), reader.sections());
    }
}

/// Checks that at most one format claims a file, and returns that format.
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
    // The first bytes alone lead to the same format: a stream shows nothing else.
    let by_magic = formats::by_magic(file).map(|format| format.id());
    for format in formats::ALL {
        let is_like_it = format.sniff(&source).is_ok_and(|sniff| sniff != Sniff::No);
        assert!(!is_like_it || by_magic == Some(format.id()), "{format:?} has other magics");
    }
    detected
}
