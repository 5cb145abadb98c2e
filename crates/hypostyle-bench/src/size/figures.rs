//! Figures computed from the sizes: shares, differences, means and maxima.

use super::Found;
use crate::packers::{Packer, XZ_BEST};
use crate::table::{self, megabytes};

/// Bytes, as a share of what another makes.
pub(super) fn share(found: &Found<'_>, who: Packer, rival: Packer) -> Option<f64> {
    Some(megabytes(found.size(who)?) / megabytes(found.size(rival)?))
}

/// Bytes above the best of the rivals.
pub(super) fn above(found: &Found<'_>, who: Packer) -> Option<f64> {
    Some(difference(found.size(who)?, found.size(XZ_BEST)?))
}

/// Bytes above those of another; below zero if there are fewer.
fn difference(ours: u64, theirs: u64) -> f64 {
    ((megabytes(ours) - megabytes(theirs)) * 1e6).round()
}

/// The geometric mean of a figure of some files.
pub(super) fn mean(
    all: &[Found<'_>],
    belongs: impl Fn(&Found<'_>) -> bool,
    figure: impl Fn(&Found<'_>) -> Option<f64>,
) -> Option<f64> {
    table::mean(all.iter().filter(|found| belongs(found)).filter_map(figure))
}

/// The largest figure, and the file that has it.
pub(super) fn most<'a>(
    all: &'a [Found<'_>],
    figure: impl Fn(&Found<'_>) -> Option<f64>,
) -> Option<(&'a str, f64)> {
    let figures = all.iter().filter_map(|found| Some((found.sample.stem(), figure(found)?)));
    figures.max_by(|(_, a), (_, b)| a.total_cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_apart_to_the_last() {
        assert_eq!([difference(31_053_851, 31_053_850), difference(3, 7)], [1.0, -4.0]);
    }
}
