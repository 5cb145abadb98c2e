//! Figures computed from the measurements: speeds, means and maxima.

use super::ArchiveTimes;
use crate::measure::Usage;
use crate::packers::{Packer, Unpacker, XZ_BEST};
use crate::table;

/// The sets of files that means are taken over.
pub(super) const FILE_SETS: [(&str, FileFilter); 2] =
    [("tables", |times| times.sample.is_table()), ("all", |_| true)];

pub(super) type FileFilter = fn(&ArchiveTimes<'_>) -> bool;

/// Returns the speedup of a packer over a rival.
pub(super) fn speed(times: &ArchiveTimes<'_>, who: Packer, rival: Packer) -> Option<f64> {
    Some(times.packed(rival)?.cost.wall / times.packed(who)?.cost.wall)
}

/// Returns the speedup of an unpacker over `xz -d`.
pub(super) fn unpack_speed(times: &ArchiveTimes<'_>, who: Unpacker) -> Option<f64> {
    let rival = Unpacker { of: XZ_BEST, threads: 1 };
    Some(times.unpacked(rival)?.cost.wall / times.unpacked(who)?.cost.wall)
}

/// Returns the geometric mean of a figure over a set of files.
pub(super) fn mean(
    all: &[ArchiveTimes<'_>],
    belongs: FileFilter,
    figure: impl Fn(&ArchiveTimes<'_>) -> Option<f64>,
) -> Option<f64> {
    table::mean(all.iter().filter(|times| belongs(times)).filter_map(figure))
}

/// Returns the largest figure and its file.
pub(super) fn largest<'a>(
    all: impl IntoIterator<Item = &'a ArchiveTimes<'a>>,
    figure: impl Fn(&ArchiveTimes<'_>) -> Option<f64>,
) -> Option<(&'a str, f64)> {
    let figures = all.into_iter().filter_map(|times| Some((times.sample.stem(), figure(times)?)));
    figures.max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// Returns the peak memory in MB, if the system reported it.
pub(super) fn memory(usage: Usage) -> Option<f64> {
    Some(usage.memory).filter(|memory| !memory.is_nan())
}
