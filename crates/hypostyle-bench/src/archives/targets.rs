//! What was asked for.

use super::Found;
use super::figures::{MEANS, mean, memory, most, speed, unpack_speed};
use crate::packers::{DEFAULT, LONG, Packer, QUICK, Unpacker, XZ, XZ_BEST};
use crate::page::Page;
use crate::table::{Target, megabytes};

/// How many times as fast as `xz -9e` at the default level, and as `xz -6` at level 1.
pub(super) const SPEED: [(Packer, Packer, f64); 2] = [(DEFAULT, XZ_BEST, 3.0), (QUICK, XZ, 10.0)];
/// Most memory while packing, in multiples of the file.
const MEMORY: f64 = 12.0;
/// How many times as fast as the vendor's decoder, by threads.
const VENDOR: [(usize, f64); 2] = [(1, 2.0), (2, 4.0)];

pub(super) fn ask(page: &mut Page, all: &[Found<'_>]) {
    for (who, rival, least) in SPEED {
        let what = format!("{who}, times as fast as {rival}");
        at_least(page, all, &what, least, |found| speed(found, who, rival));
    }
    for threads in [1, 2] {
        let who = Unpacker { of: DEFAULT, threads };
        let what = format!("Unpacking {who}, times as fast as xz -d");
        at_least(page, all, &what, 1.0, |found| unpack_speed(found, who));
    }
    for (threads, least) in VENDOR {
        let who = Unpacker { of: DEFAULT, threads };
        let what = format!("Unpacking {who}, times as fast as the vendor");
        at_least(page, all, &what, least, |found| Some(found.decoded?.speed(threads)));
    }
    for who in [QUICK, DEFAULT, LONG] {
        let figure =
            |found: &Found<'_>| Some(memory(found.packed(who)?)? / megabytes(found.sample.bytes));
        for (which, belongs) in MEANS {
            let some = all.iter().filter(|found| belongs(found));
            if let Some((of, figure)) = most(some, figure) {
                let what =
                    format!("{who}, memory in multiples of the file: {of}, the worst of {which}");
                page.target(what, Some(figure), Target::AtMost(MEMORY));
            }
        }
    }
}

/// Asks the same of the means and of the worst.
fn at_least(
    page: &mut Page,
    all: &[Found<'_>],
    what: &str,
    least: f64,
    figure: impl Fn(&Found<'_>) -> Option<f64>,
) {
    for (which, belongs) in MEANS {
        let what = format!("{what}: {which}, geometric mean");
        page.target(what, mean(all, belongs, &figure), Target::AtLeast(least));
    }
    if let Some((of, figure)) = most(all, |found| Some(-figure(found)?)) {
        let what = format!("{what}: {of}, the worst");
        page.target(what, Some(figure.abs()), Target::AtLeast(least));
    }
}
