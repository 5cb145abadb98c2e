//! The targets of the page.

use super::ArchiveTimes;
use super::figures::{FILE_SETS, largest, mean, memory, speed, unpack_speed};
use crate::packers::{DEFAULT, LONG, Packer, QUICK, Unpacker, XZ, XZ_BEST};
use crate::page::ReportPage;
use crate::table::{Target, megabytes};

/// The target speedups over `xz -9e` at the default level, and over `xz -6` at level 1.
pub(super) const SPEED: [(Packer, Packer, f64); 2] = [(DEFAULT, XZ_BEST, 3.0), (QUICK, XZ, 10.0)];
/// The target of peak memory in packing, as a multiple of the file size.
const MAX_MEMORY: f64 = 12.0;
/// The target speedups over the vendor's decoder, by threads.
const VENDOR: [(usize, f64); 2] = [(1, 2.0), (2, 4.0)];

/// Adds all targets.
pub(super) fn add(page: &mut ReportPage, all: &[ArchiveTimes<'_>]) {
    for (who, rival, min_speedup) in SPEED {
        let what = format!("{who}, speedup over {rival}");
        at_least(page, all, &what, min_speedup, |times| speed(times, who, rival));
    }
    for threads in [1, 2] {
        let who = Unpacker { of: DEFAULT, threads };
        let what = format!("Unpacking {who}, speedup over xz -d");
        at_least(page, all, &what, 1.0, |times| unpack_speed(times, who));
    }
    for (threads, min_speedup) in VENDOR {
        let who = Unpacker { of: DEFAULT, threads };
        let what = format!("Unpacking {who}, speedup over the vendor");
        at_least(page, all, &what, min_speedup, |times| Some(times.decoded?.speed(threads)));
    }
    for who in [QUICK, DEFAULT, LONG] {
        let figure = |times: &ArchiveTimes<'_>| {
            Some(memory(times.packed(who)?)? / megabytes(times.sample.bytes))
        };
        for (which, belongs) in FILE_SETS {
            let files = all.iter().filter(|times| belongs(times));
            if let Some((of, figure)) = largest(files, figure) {
                let what =
                    format!("{who}, memory as a multiple of the file: {of}, worst of {which}");
                page.target(what, Some(figure), Target::AtMost(MAX_MEMORY));
            }
        }
    }
}

/// Adds a target for each mean and for the worst file.
fn at_least(
    page: &mut ReportPage,
    all: &[ArchiveTimes<'_>],
    what: &str,
    min_speedup: f64,
    figure: impl Fn(&ArchiveTimes<'_>) -> Option<f64>,
) {
    for (which, belongs) in FILE_SETS {
        let what = format!("{what}: {which}, geometric mean");
        page.target(what, mean(all, belongs, &figure), Target::AtLeast(min_speedup));
    }
    if let Some((of, figure)) = largest(all, |times| Some(-figure(times)?)) {
        let what = format!("{what}: {of}, worst");
        page.target(what, Some(figure.abs()), Target::AtLeast(min_speedup));
    }
}
