//! The page.

use super::jobs::{ALL, Outcome, Work};
use super::{BASE_COLUMNS, Found};
use crate::page::Page;
use crate::plot::{Bars, short};
use crate::table::Table;

/// So many times the base's seconds for each MB are no longer flat.
const STEEP: f64 = 1.5;

pub(super) fn report(page: &mut Page, found: &Found, xz: Option<&str>) {
    page.add(format!(
        "Tables are made by `hypostyle-bench gen`, the same bytes everywhere; strings are what \
         browsers say of themselves, made too. Everything is done in a process of its own; \
         seconds run from the opening of the file to the end, and are those of the processor for \
         one thread, and on the clock for two. Each is the best of up to five, but there is only \
         one if that takes longer than two seconds. A process that takes too many CPU seconds, \
         on all threads together, is ended: `> 60 s`. What could not be done, or needs a file that took too long to make, \
         is –. The rival is {}, on one thread, from its start to its end.",
        xz.unwrap_or("xz, which is missing")
    ));
    let by_size: Vec<(String, Option<usize>)> = (found.sizes.iter())
        .map(|&size| (format!("{size} MB"), found.sample(size, BASE_COLUMNS)))
        .collect();
    let by_columns: Vec<(String, Option<usize>)> = (found.columns.iter())
        .map(|&columns| (format!("{columns} columns"), found.sample(found.base_size, columns)))
        .collect();
    page.heading(&format!("By size, {BASE_COLUMNS} columns"));
    speeds(page, found, "sizes", &by_size, |_| true);
    page.heading(&format!("By columns, {} MB", found.base_size));
    speeds(page, found, "columns", &by_columns, Work::has_columns);
    steep(page, found);
    threads(page, found);
    little(page, found);
}

fn megabytes_per_second(
    found: &Found,
    work: Work,
    threads: usize,
    sample: Option<usize>,
) -> Option<f64> {
    found.per_megabyte(work, threads, sample).map(|seconds| 1.0 / seconds)
}

fn shown(figure: Option<f64>, outcome: Outcome) -> String {
    match (figure, outcome) {
        (Some(figure), _) => short(figure),
        (None, Outcome::TooLong(limit)) => format!("> {limit} s"),
        (None, _) => "–".to_owned(),
    }
}

/// Speeds along one axis, and seconds for each MB over those of the base.
fn speeds(
    page: &mut Page,
    found: &Found,
    name: &'static str,
    axis: &[(String, Option<usize>)],
    is_wanted: impl Fn(Work) -> bool,
) {
    page.add(
        "MB of the original in a second; then seconds for each MB, in multiples of those for the \
         base, which should be 1; then the most memory, in MB.",
    );
    let mut head = vec!["What".to_owned(), "Threads".to_owned()];
    head.extend(axis.iter().map(|(label, _)| format!("{label}: MB/s")));
    head.extend(axis.iter().map(|(label, _)| format!("{label}: times")));
    head.extend(axis.iter().map(|(label, _)| format!("{label}: memory")));
    let mut table = Table::of(head);
    let mut bars = Bars {
        name,
        title: "MB/s on one thread; the scale is logarithmic".to_owned(),
        series: axis.iter().map(|(label, _)| label.clone()).collect(),
        groups: Vec::new(),
        mark: None,
        is_log: true,
    };
    for work in
        ALL.into_iter().filter(|work| work.is_for_all() && is_wanted(*work) && found.has(*work))
    {
        for &threads in work.threads().iter().rev() {
            let outcome = |sample| found.outcome(work, threads, sample);
            let speed = |sample| megabytes_per_second(found, work, threads, sample);
            let memory = |sample| match outcome(sample) {
                Outcome::Took(usage) => short(usage.memory.round()),
                _ => "–".to_owned(),
            };
            let mut row = vec![work.to_string(), threads.to_string()];
            row.extend(axis.iter().map(|(_, it)| shown(speed(*it), outcome(*it))));
            row.extend(axis.iter().map(|(_, it)| {
                found.over_base(work, threads, *it).map_or("–".to_owned(), |x| format!("{x:.2}"))
            }));
            row.extend(axis.iter().map(|(_, it)| memory(*it)));
            table.row_of(row);
        }
        let speed = |(_, it): &(String, Option<usize>)| megabytes_per_second(found, work, 1, *it);
        bars.groups.push((work.to_string(), axis.iter().map(speed).collect()));
    }
    page.table(name, &table);
    page.plot(&bars);
}

/// Whatever is not flat, the worst first.
fn steep(page: &mut Page, found: &Found) {
    page.heading("What is not flat");
    page.add(format!(
        "Where a MB takes more than {STEEP} times as long as one of {} MB in {BASE_COLUMNS} \
         columns does.",
        found.base_size
    ));
    let mut all = Vec::new();
    for cell in found.cells.iter().filter(|cell| cell.work.is_for_all()) {
        let sample = Some(cell.sample);
        let times = found.over_base(cell.work, cell.threads, sample);
        // What was ended has taken at least its limit.
        let (times, text) = match (times, cell.outcome) {
            (Some(times), _) => (times, format!("{times:.2}")),
            (None, Outcome::TooLong(limit)) => (f64::INFINITY, format!("> {limit} s")),
            _ => continue,
        };
        if times > STEEP {
            all.push((times, cell, text));
        }
    }
    if all.is_empty() {
        return page.add("Nothing.");
    }
    all.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut table = Table::new(["What", "Of", "Threads", "Times as long"]);
    for (_, cell, text) in all {
        let of = found.samples.get(cell.sample).map(ToString::to_string).unwrap_or_default();
        table.row([cell.work.to_string(), of, cell.threads.to_string(), text]);
    }
    page.table("steep", &table);
}

/// Two threads over one.
fn threads(page: &mut Page, found: &Found) {
    page.heading("Two threads");
    page.add("How many times as fast as one thread, both on the clock.");
    let mut head = vec!["What".to_owned()];
    head.extend(found.samples.iter().map(ToString::to_string));
    let mut bars = Bars {
        name: "threads",
        title: "Two threads: how many times as fast as one".to_owned(),
        series: found.samples.iter().map(ToString::to_string).collect(),
        groups: Vec::new(),
        mark: Some(1.0),
        is_log: false,
    };
    let mut table = Table::of(head);
    let is_wanted = |work: &Work| work.threads().len() > 1 && work.is_for_all();
    for work in ALL.into_iter().filter(|work| is_wanted(work) && found.has(*work)) {
        let gain = |sample: usize| {
            let clock = |threads| match found.outcome(work, threads, Some(sample)) {
                Outcome::Took(usage) => Some(usage.cost.wall),
                _ => None,
            };
            Some(clock(1)? / clock(2)?)
        };
        let gains: Vec<Option<f64>> = (0..found.samples.len()).map(gain).collect();
        let cell = |gain: &Option<f64>| gain.map_or("–".to_owned(), |gain| format!("{gain:.2}"));
        let row = [work.to_string()].into_iter().chain(gains.iter().map(cell));
        table.row_of(row.collect());
        bars.groups.push((work.to_string(), gains));
    }
    page.table("threads", &table);
    page.plot(&bars);
}

/// What looks at little of a file, which is not a matter of MB.
fn little(page: &mut Page, found: &Found) {
    page.heading("Little of much");
    page.add(
        "Milliseconds, the opening of the file included: two columns of a COLM file in memory, \
         and two cells of the row in the middle of an archive that can be queried.",
    );
    let mut head = vec!["What".to_owned(), "Threads".to_owned()];
    head.extend(found.samples.iter().map(ToString::to_string));
    let mut table = Table::of(head);
    for work in ALL.into_iter().filter(|work| !work.is_for_all()) {
        for &threads in work.threads().iter().rev() {
            let mut row = vec![work.to_string(), threads.to_string()];
            row.extend((0..found.samples.len()).map(|sample| {
                let outcome = found.outcome(work, threads, Some(sample));
                let milliseconds = match outcome {
                    Outcome::Took(usage) => Some(usage.cost.wall * 1e3),
                    _ => None,
                };
                shown(milliseconds, outcome)
            }));
            table.row_of(row);
        }
    }
    page.table("little", &table);
}
