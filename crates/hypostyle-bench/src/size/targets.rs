//! The targets of the page.

use super::FileSizes;
use super::figures::{above, largest, mean, share};
use crate::packers::{DEFAULT, LONG, Packer, QUICK, XZ, XZ_BEST};
use crate::page::ReportPage;
use crate::table::Target;

/// The maximum size at the default level, as a share of `xz -9e`, by table.
const SHARES: [(&str, f64); 6] = [
    ("diamonds", 0.68),
    ("lahman_Batting", 0.74),
    ("nyc_flights", 0.82),
    ("ensembl_genes", 0.85),
    ("airports", 0.84),
    ("ieee_oui", 0.97),
];
/// The maximum geometric mean of these shares.
const MEAN_SHARE: f64 = 0.81;
/// The maximum shares of other files, and the maximum geometric mean of log samples.
const OTHER_SHARES: [(&str, f64); 3] =
    [("kafka_server", 0.82), ("flights200k", 0.62), ("zeek_combined", 0.92)];
const LOG_SHARE: f64 = 0.92;
const LOGS: &str = "_2k";
/// The maximum number of bytes above `xz -9e`, for every file.
pub(super) const MAX_ABOVE: f64 = 64.0;
/// The maximum size of tables at the strongest level, as a share of the default level.
const LONG_SHARE: f64 = 0.98;
/// The maximum size at the fastest level, as a share of `xz -6`.
const QUICK_SHARE: f64 = 1.0;

/// Adds all targets.
pub(super) fn add(page: &mut ReportPage, all: &[FileSizes<'_>]) {
    let of_best = |sizes: &FileSizes<'_>| share(sizes, DEFAULT, XZ_BEST);
    let what = |of: &str| format!("{DEFAULT}, share of {XZ_BEST}: {of}");
    for (stem, max_share) in SHARES.into_iter().chain(OTHER_SHARES) {
        let figure = all.iter().find(|sizes| sizes.sample.stem() == stem).and_then(of_best);
        page.target(what(stem), figure, Target::AtMost(max_share));
    }
    let has_target =
        |sizes: &FileSizes<'_>| SHARES.iter().any(|(stem, _)| *stem == sizes.sample.stem());
    if all.iter().filter(|sizes| has_target(sizes)).count() == SHARES.len() {
        let figure = mean(all, has_target, of_best);
        page.target(what("these tables, geometric mean"), figure, Target::AtMost(MEAN_SHARE));
    }
    let is_log = |sizes: &FileSizes<'_>| sizes.sample.stem().ends_with(LOGS);
    let figure = mean(all, is_log, of_best);
    page.target(what("log samples, geometric mean"), figure, Target::AtMost(LOG_SHARE));
    for who in [DEFAULT, LONG] {
        if let Some((of, figure)) = largest(all, |sizes| above(sizes, who)) {
            let what = format!("{who}, bytes above {XZ_BEST}: {of}, worst");
            page.target(what, Some(figure), Target::AtMost(MAX_ABOVE));
        }
    }
    let is_table = |sizes: &FileSizes<'_>| sizes.sample.is_table();
    let figure = mean(all, is_table, |sizes| share(sizes, LONG, DEFAULT));
    let what = format!("{LONG}, share of {DEFAULT}: tables, geometric mean");
    page.target(what, figure, Target::AtMost(LONG_SHARE));
    add_for_all(page, all, QUICK, XZ, QUICK_SHARE);
}

/// Adds a target for each mean and for the worst file.
fn add_for_all(
    page: &mut ReportPage,
    all: &[FileSizes<'_>],
    who: Packer,
    rival: Packer,
    limit: f64,
) {
    let figure = |sizes: &FileSizes<'_>| share(sizes, who, rival);
    let what = |of: &str| format!("{who}, share of {rival}: {of}");
    let tables = mean(all, |sizes| sizes.sample.is_table(), figure);
    page.target(what("tables, geometric mean"), tables, Target::AtMost(limit));
    let every = mean(all, |_| true, figure);
    page.target(what("all, geometric mean"), every, Target::AtMost(limit));
    if let Some((of, figure)) = largest(all, figure) {
        page.target(what(&format!("{of}, worst")), Some(figure), Target::AtMost(limit));
    }
}
