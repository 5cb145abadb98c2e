//! Checks of every prefix of a file and of mutations of every byte.

use hypostyle::formats::Format;

use crate::laws::{any_archive_returns_or_fails, any_bytes_return_or_fail, decode, small_limits};

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
