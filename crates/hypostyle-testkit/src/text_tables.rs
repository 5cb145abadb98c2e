//! The law of archives of text: a packed file is the same table as the file.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use bytes::Bytes;
use hypostyle::formats::Reader;
use hypostyle::formats::at1::Archive;
use hypostyle::predicate::Predicate;
use hypostyle::text::{self, HEAD_BYTES, SourceText, TextOptions, TextTable};
use hypostyle::{Error, RangeCache, ReadOptions, Result, Scan, Table};

use crate::scans::collected;

/// Opens a text as a table, as its name and its first bytes tell.
pub fn text_table(name: Option<&str>, text: &[u8], options: &TextOptions) -> Result<Table> {
    let head = text.get(..HEAD_BYTES).unwrap_or(text);
    let not_text = || {
        let why = text::not_text(head).expect("a reason");
        Error::unsupported(format!("a table of this content: it {why}"))
    };
    let format = text::detect(name, head).ok_or_else(not_text)?;
    let source = Arc::new(RangeCache::over(Arc::new(Bytes::copy_from_slice(text))));
    let reader: Arc<dyn Reader> =
        Arc::new(TextTable::open(Arc::new(SourceText(source.clone())), format, options, None)?);
    Ok(Table::new(reader, source))
}

/// Opens the table of an archive.
pub fn archive_table(name: Option<&str>, file: &[u8], options: &TextOptions) -> Result<Table> {
    let source = Arc::new(RangeCache::over(Arc::new(Bytes::copy_from_slice(file))));
    let read_options = ReadOptions::default().with_threads(options.threads);
    let archive = Archive::open(source.clone(), &read_options)?;
    Ok(Table::new(archive.table(name, options)?, source))
}

/// Checks that an archive of a text is the same table as the text, in every way that a scan
/// can ask. `name` is the name of the text; both sides may know it.
pub fn an_archive_is_the_table_of_its_text(
    name: Option<&str>,
    text: &[u8],
    archive: &[u8],
    options: &TextOptions,
) {
    let of_text = text_table(name, text, options);
    let of_archive = archive_table(name, archive, options);
    let (of_text, of_archive) = match (of_text, of_archive) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(one), Err(other)) => {
            let bare = |err: Error| err.to_string().replacen("at1: ", "", 1);
            let (one, other) = (bare(one), bare(other));
            assert_eq!(one, other, "{name:?}");
            return;
        }
        (Ok(_), Err(err)) => unreachable!("{name:?}: only the archive cannot be opened: {err}"),
        (Err(err), Ok(_)) => unreachable!("{name:?}: only the archive can be opened: {err}"),
    };
    let schema = of_text.schema().unwrap();
    assert_eq!(of_archive.schema().unwrap(), schema);
    let rows = of_text.num_rows().unwrap();
    assert_eq!(of_archive.num_rows().unwrap(), rows);
    for column in 0..schema.fields().len() {
        let (one, other) = (
            of_text.column_statistics(column).unwrap(),
            of_archive.column_statistics(column).unwrap(),
        );
        if let Some(nulls) = other.null_count {
            assert_eq!(one.null_count, Some(nulls), "column {column}");
        }
        if other.is_exact {
            assert_eq!((&one.min, &one.max), (&other.min, &other.max), "column {column}");
        }
    }
    for scan in scans(&schema, rows) {
        let (one, other) = (collected(scan(of_text.scan())), collected(scan(of_archive.scan())));
        match (one, other) {
            (Ok(one), Ok(other)) => assert_eq!(one, other),
            (Err(one), Err(other)) => {
                assert_eq!(one.to_string(), other.to_string().replacen("at1: ", "", 1));
            }
            (Ok(_), Err(err)) => unreachable!("only the scan of the archive fails: {err}"),
            (Err(err), Ok(_)) => unreachable!("only the scan of the archive succeeds: {err}"),
        }
    }
}

type MakeScan = Box<dyn Fn(Scan) -> Scan>;

/// Returns scans of all kinds for a table of this schema.
fn scans(schema: &SchemaRef, rows: u64) -> Vec<MakeScan> {
    let mut scans: Vec<MakeScan> = vec![
        Box::new(|scan| scan),
        Box::new(|scan| scan.batch_size(3).limit(10)),
        Box::new(move |scan| scan.rows(rows / 3..rows / 2 + 1)),
        Box::new(move |scan| scan.rows(rows.saturating_sub(2)..rows + 5)),
        Box::new(|scan| scan.limit(0)),
    ];
    if rows > 0 {
        let picked = [rows - 1, 0, rows / 2, 0];
        scans.push(Box::new(move |scan| scan.take(&picked)));
    }
    for (column, field) in schema.fields().iter().enumerate().take(4) {
        scans.push(Box::new(move |scan| scan.columns([column])));
        let name = field.name().replace('"', "\"\"");
        for test in [
            "is null",
            "> 1",
            "= 'a'",
            "like '%a%'",
            ">= '2024-01-05'",
            "< timestamp '2024-01-04 12:00:30'",
        ] {
            let Ok(test) = Predicate::parse(&format!("\"{name}\" {test}")) else { continue };
            scans.push(Box::new(move |scan| scan.filter(test.clone())));
        }
    }
    scans
}
