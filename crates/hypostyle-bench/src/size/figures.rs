//! Figures computed from the sizes: shares, differences, means and maxima.

use super::FileSizes;
use crate::packers::{Packer, XZ_BEST};
use crate::table::{self, megabytes};

/// Returns the size of a packer's archive as a share of a rival's.
pub(super) fn share(sizes: &FileSizes<'_>, who: Packer, rival: Packer) -> Option<f64> {
    Some(megabytes(sizes.size(who)?) / megabytes(sizes.size(rival)?))
}

/// Returns how many bytes more than `xz -9e` a packer takes.
pub(super) fn above(sizes: &FileSizes<'_>, who: Packer) -> Option<f64> {
    Some(difference(sizes.size(who)?, sizes.size(XZ_BEST)?))
}

/// Returns the difference in bytes; negative if ours is smaller.
fn difference(ours: u64, theirs: u64) -> f64 {
    ((megabytes(ours) - megabytes(theirs)) * 1e6).round()
}

/// Returns the geometric mean of a figure over a set of files.
pub(super) fn mean(
    all: &[FileSizes<'_>],
    belongs: impl Fn(&FileSizes<'_>) -> bool,
    figure: impl Fn(&FileSizes<'_>) -> Option<f64>,
) -> Option<f64> {
    table::mean(all.iter().filter(|sizes| belongs(sizes)).filter_map(figure))
}

/// Returns the largest figure and its file.
pub(super) fn largest<'a>(
    all: &'a [FileSizes<'_>],
    figure: impl Fn(&FileSizes<'_>) -> Option<f64>,
) -> Option<(&'a str, f64)> {
    let figures = all.iter().filter_map(|sizes| Some((sizes.sample.stem(), figure(sizes)?)));
    figures.max_by(|(_, a), (_, b)| a.total_cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_exact_to_the_byte() {
        assert_eq!([difference(31_053_851, 31_053_850), difference(3, 7)], [1.0, -4.0]);
    }
}
