//! Figures computed from the measurements: speeds, means and maxima.

use super::Found;
use crate::measure::Usage;
use crate::packers::{Packer, Unpacker, XZ_BEST};
use crate::table;

/// Which files a mean is of.
pub(super) const MEANS: [(&str, Belongs); 2] =
    [("tables", |found| found.sample.is_table()), ("all", |_| true)];

pub(super) type Belongs = fn(&Found<'_>) -> bool;

/// How many times as fast as another.
pub(super) fn speed(found: &Found<'_>, who: Packer, rival: Packer) -> Option<f64> {
    Some(found.packed(rival)?.cost.wall / found.packed(who)?.cost.wall)
}

/// How many times as fast as `xz -d`.
pub(super) fn unpack_speed(found: &Found<'_>, who: Unpacker) -> Option<f64> {
    let rival = Unpacker { of: XZ_BEST, threads: 1 };
    Some(found.unpacked(rival)?.cost.wall / found.unpacked(who)?.cost.wall)
}

/// The geometric mean of a figure of some files.
pub(super) fn mean(
    all: &[Found<'_>],
    belongs: Belongs,
    figure: impl Fn(&Found<'_>) -> Option<f64>,
) -> Option<f64> {
    table::mean(all.iter().filter(|found| belongs(found)).filter_map(figure))
}

/// The largest figure, and the file that has it.
pub(super) fn most<'a>(
    all: impl IntoIterator<Item = &'a Found<'a>>,
    figure: impl Fn(&Found<'_>) -> Option<f64>,
) -> Option<(&'a str, f64)> {
    let figures = all.into_iter().filter_map(|found| Some((found.sample.stem(), figure(found)?)));
    figures.max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// Most memory in MB, where the system has told.
pub(super) fn memory(usage: Usage) -> Option<f64> {
    Some(usage.memory).filter(|memory| !memory.is_nan())
}
