//! Checks of every prefix of a file and of mutations of every byte.

use std::num::NonZeroUsize;
use std::ops::Range;

use arrow_array::RecordBatch;
use hypostyle::Scan;
use hypostyle::formats::Format;
use hypostyle::predicate::Predicate;
use hypostyle::text::TextOptions;

use crate::laws::{any_archive_returns_or_fails, any_bytes_return_or_fail, decode, small_limits};
use crate::scans::collected;
use crate::text_tables::archive_table;

/// Checks that every proper prefix of a canonical file is refused.
///
/// A canonical file ends with its last block, so every prefix lacks data.
pub fn every_prefix_is_refused(format: &dyn Format, file: &[u8]) {
    let options = hypostyle::ReadOptions::default().with_limits(small_limits());
    for cut in 0..file.len() {
        let prefix = file.get(..cut).unwrap();
        assert!(decode(format, prefix, &options).is_err(), "{cut} of {} bytes", file.len());
        any_bytes_return_or_fail(format, prefix);
    }
}

/// Reads the file with ten mutations of every byte: all zeros, all ones, and each bit flipped.
pub fn ten_mutations_of_every_byte(format: &dyn Format, file: &[u8]) {
    let mut file = file.to_vec();
    for at in 0..file.len() {
        let was = *file.get(at).unwrap();
        let flips = (0..8).map(|bit| was ^ (1 << bit));
        for now in [0, 0xFF].into_iter().chain(flips) {
            *file.get_mut(at).unwrap() = now;
            any_bytes_return_or_fail(format, &file);
        }
        *file.get_mut(at).unwrap() = was;
    }
}

/// Reads every proper prefix of an archive, and the archive with two mutations of every byte.
pub fn an_archive_cut_and_changed(file: &[u8]) {
    for cut in 0..file.len() {
        any_archive_returns_or_fails(file.get(..cut).unwrap());
    }
    let mut file = file.to_vec();
    for at in 0..file.len() {
        let was = *file.get(at).unwrap();
        for now in [0xFF, was ^ 0x01] {
            *file.get_mut(at).unwrap() = now;
            any_archive_returns_or_fails(&file);
        }
        *file.get_mut(at).unwrap() = was;
    }
}

/// Flips bits of every byte of an archive, one at a time, and scans its table in several ways:
/// each scan returns what it returned before, or fails. Returns how many flips there were, and how
/// many of them made a scan fail.
///
/// `name` is the name of the text, `filters` are predicates on its columns, and `bits` are the bits
/// of each byte to flip, counted from one that differs from byte to byte.
pub fn no_flip_changes_a_row(
    name: Option<&str>,
    archive: &[u8],
    filters: &[&str],
    bits: Range<usize>,
) -> (usize, usize) {
    let want = scanned(name, archive, filters);
    assert!(want.iter().all(Option::is_some), "{name:?}: the archive itself cannot be read");
    let mut file = archive.to_vec();
    let (mut flips, mut found) = (0, 0);
    for at in 0..file.len() {
        for bit in bits.clone().map(|bit| (bit + 5 * at) % 8) {
            *file.get_mut(at).unwrap() ^= 1 << bit;
            let got = scanned(name, &file, filters);
            for (number, (got, want)) in got.iter().zip(&want).enumerate() {
                let is_right = got.is_none() || got == want;
                assert!(is_right, "{name:?}: scan {number} with bit {bit} of byte {at} flipped");
            }
            flips += 1;
            found += usize::from(got.iter().any(Option::is_none));
            *file.get_mut(at).unwrap() ^= 1 << bit;
        }
    }
    (flips, found)
}

/// Returns the rows of several scans of the table of an archive; `None` for one that fails.
fn scanned(name: Option<&str>, file: &[u8], filters: &[&str]) -> Vec<Option<RecordBatch>> {
    let mut options = TextOptions::default();
    options.threads = NonZeroUsize::new(1);
    let table = archive_table(name, file, &options).ok();
    let schema = table.as_ref().and_then(|table| table.schema().ok());
    let last = schema.map_or(0, |schema| schema.fields().len().saturating_sub(1));
    let rows =
        |scan: &dyn Fn(Scan) -> Scan| collected(scan(table.as_ref()?.scan().threads(1))).ok();
    let mut scanned = vec![
        rows(&|scan| scan),
        rows(&|scan| scan.limit(2)),
        rows(&|scan| scan.columns([last])),
        rows(&|scan| scan.rows(10..12)),
    ];
    for filter in filters {
        let filter = Predicate::parse(filter).unwrap();
        scanned.push(rows(&|scan| scan.filter(filter.clone())));
        scanned.push(rows(&|scan| scan.columns([last]).filter(filter.clone())));
    }
    scanned
}
