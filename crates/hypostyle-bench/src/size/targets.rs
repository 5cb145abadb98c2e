//! What was asked for.

use super::Found;
use super::figures::{above, mean, most, share};
use crate::packers::{DEFAULT, LONG, Packer, QUICK, XZ, XZ_BEST};
use crate::page::Page;
use crate::table::Target;

/// Most bytes at the default level, as a share of what `xz -9e` makes.
const SHARES: [(&str, f64); 6] = [
    ("diamonds", 0.68),
    ("lahman_Batting", 0.74),
    ("nyc_flights", 0.82),
    ("ensembl_genes", 0.85),
    ("airports", 0.84),
    ("ieee_oui", 0.97),
];
/// The same, as the geometric mean of these tables.
const MEAN_SHARE: f64 = 0.81;
/// The same for what is no table, and as the geometric mean of samples of logs.
const OTHER_SHARES: [(&str, f64); 3] =
    [("kafka_server", 0.82), ("flights200k", 0.62), ("zeek_combined", 0.92)];
const LOG_SHARE: f64 = 0.92;
const LOGS: &str = "_2k";
/// Most bytes above `xz -9e`, whatever the file.
pub(super) const ABOVE: f64 = 64.0;
/// What the long level makes of tables, as a share of what the default level does.
const LONG_SHARE: f64 = 0.98;
/// What the quick level makes, as a share of what `xz -6` does.
const QUICK_SHARE: f64 = 1.0;

pub(super) fn ask(page: &mut Page, all: &[Found<'_>]) {
    let of_best = |found: &Found<'_>| share(found, DEFAULT, XZ_BEST);
    let what = |of: &str| format!("{DEFAULT}, share of {XZ_BEST}: {of}");
    for (stem, most) in SHARES.into_iter().chain(OTHER_SHARES) {
        let figure = all.iter().find(|found| found.sample.stem() == stem).and_then(of_best);
        page.target(what(stem), figure, Target::AtMost(most));
    }
    let is_asked = |found: &Found<'_>| SHARES.iter().any(|(stem, _)| *stem == found.sample.stem());
    if all.iter().filter(|found| is_asked(found)).count() == SHARES.len() {
        let figure = mean(all, is_asked, of_best);
        page.target(what("these tables, geometric mean"), figure, Target::AtMost(MEAN_SHARE));
    }
    let is_log = |found: &Found<'_>| found.sample.stem().ends_with(LOGS);
    let figure = mean(all, is_log, of_best);
    page.target(what("the samples of logs, geometric mean"), figure, Target::AtMost(LOG_SHARE));
    for who in [DEFAULT, LONG] {
        if let Some((of, figure)) = most(all, |found| above(found, who)) {
            let what = format!("{who}, bytes above {XZ_BEST}: {of}, the worst");
            page.target(what, Some(figure), Target::AtMost(ABOVE));
        }
    }
    let is_table = |found: &Found<'_>| found.sample.is_table();
    let figure = mean(all, is_table, |found| share(found, LONG, DEFAULT));
    let what = format!("{LONG}, share of {DEFAULT}: tables, geometric mean");
    page.target(what, figure, Target::AtMost(LONG_SHARE));
    ask_of_all(page, all, QUICK, XZ, QUICK_SHARE);
}

/// Asks the same of the means and of the worst.
fn ask_of_all(page: &mut Page, all: &[Found<'_>], who: Packer, rival: Packer, limit: f64) {
    let figure = |found: &Found<'_>| share(found, who, rival);
    let what = |of: &str| format!("{who}, share of {rival}: {of}");
    let tables = mean(all, |found| found.sample.is_table(), figure);
    page.target(what("tables, geometric mean"), tables, Target::AtMost(limit));
    let every = mean(all, |_| true, figure);
    page.target(what("all, geometric mean"), every, Target::AtMost(limit));
    if let Some((of, figure)) = most(all, figure) {
        page.target(what(&format!("{of}, the worst")), Some(figure), Target::AtMost(limit));
    }
}
