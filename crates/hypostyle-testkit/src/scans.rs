//! Scans of files: as one batch, and in small windows, which must give what reading whole
//! columns gives.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use hypostyle::cast::cast;
use hypostyle::formats::{Format, FormatId};
use hypostyle::{Deviation, RangeCache, ReadOptions, Result, Scan, Step, Table};

use crate::content::Content;
use crate::source::HaltingSource;

/// The batches of a scan, and the deviations that it found.
pub type Scanned = (Vec<RecordBatch>, Vec<Deviation>);

/// Scans a file over a source that lacks every range when it is first read.
///
/// Returns the batches, after an empty one, and the deviations.
pub fn scan(
    format: &dyn Format,
    file: &[u8],
    options: &ReadOptions,
    request: impl FnOnce(Scan) -> Scan,
) -> Result<Scanned> {
    let source = Arc::new(HaltingSource::new(Bytes::copy_from_slice(file)));
    let reader = format.open(source.clone(), options)?;
    source.halt();
    let table = Table::new(reader.clone(), Arc::new(RangeCache::of_size(0)));
    let mut decoder = request(table.scan()).decoder()?;
    let mut batches = vec![RecordBatch::new_empty(decoder.schema())];
    loop {
        match decoder.step()? {
            Step::Batch(batch) => batches.push(batch),
            Step::Missing(_) => {}
            Step::Done => return Ok((batches, reader.deviations())),
        }
    }
}

/// Checks that a scan gives the values and deviations of a `read` of everything, or fails if that
/// fails: in one window or several, with enough memory or none.
pub fn a_scan_gives_what_a_read_gives(
    format: &dyn Format,
    file: &[u8],
    options: &ReadOptions,
    read: &Result<Scanned>,
) {
    if format.id() == FormatId::At1 {
        return; // Its row groups are decoded whole.
    }
    let rows = match read {
        Ok((batches, _)) => batches.iter().map(RecordBatch::num_rows).sum(),
        Err(_) => 20,
    };
    // A file without rows has nothing to scan, whatever its blocks say.
    if rows == 0 {
        return;
    }
    for (batch_size, memory) in [(rows / 3 + 1, 0), (rows.div_ceil(2), u64::MAX)] {
        let scanned =
            scan(format, file, options, |scan| scan.batch_size(batch_size).memory_limit(memory));
        match (read, scanned) {
            (Ok((read, found)), Ok((scanned, found_by_scan))) => {
                assert_eq!(Content::of(read), Content::of(&scanned));
                assert_eq!(found, &found_by_scan);
            }
            (Ok(_), Err(err)) => unreachable!("a read succeeds, but a scan fails: {err}"),
            (Err(err), Ok((scanned, _))) => {
                let rows: usize = scanned.iter().map(RecordBatch::num_rows).sum();
                assert_eq!(rows, 0, "a read fails, but a scan succeeds: {err}");
            }
            (Err(_), Err(err)) => assert!(err.to_string().starts_with(format.id().name())),
        }
    }
}

/// Runs a scan, and returns its rows as one batch without dictionaries.
pub fn collected(scan: Scan) -> Result<RecordBatch> {
    let mut batches = scan.batches()?;
    let (schema, mut found) = (batches.schema(), Vec::new());
    while let Some(batch) = batches.next_batch()? {
        // A reader may return a dictionary of the type of a column.
        let columns = batch.columns().iter().zip(schema.fields());
        let plain = columns.map(|(column, field)| cast(column, field.data_type()).unwrap());
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let plain = plain.collect();
        found.push(RecordBatch::try_new_with_options(schema.clone(), plain, &rows).unwrap());
    }
    Ok(concat_batches(&schema, &found).unwrap())
}
