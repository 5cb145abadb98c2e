//! The tables and charts of the page.

use super::tasks::{ALL, Outcome, Task};
use super::{BASE_COLUMNS, ScalingResults};
use crate::page::ReportPage;
use crate::plot::{Bars, short};
use crate::table::ReportTable;

/// A task is superlinear if a MB takes more than this multiple of the baseline.
const SUPERLINEAR: f64 = 1.5;

pub(super) fn report(page: &mut ReportPage, results: &ScalingResults, xz: Option<&str>) {
    page.add(format!(
        "`hypostyle-bench gen` writes the tables, with the same bytes on every machine; the strings \
         are generated user agents. Every task runs in its own process. Times run from opening the \
         file to the end: CPU time for one thread, wall time for two. Each is the best of up to \
         five rounds, or of one round if that takes longer than two seconds. A process that takes \
         too many CPU seconds on all threads is killed: `> 60 s`. A task that failed, or whose \
         input took too long to write, has –. The rival is {}, on one thread, timed as a whole \
         process.",
        xz.unwrap_or("xz (missing)")
    ));
    let by_size: Vec<(String, Option<usize>)> = (results.sizes.iter())
        .map(|&size| (format!("{size} MB"), results.table_index(size, BASE_COLUMNS)))
        .collect();
    let by_columns: Vec<(String, Option<usize>)> = (results.columns.iter())
        .map(|&columns| {
            (format!("{columns} columns"), results.table_index(results.base_size, columns))
        })
        .collect();
    page.heading(&format!("By size, {BASE_COLUMNS} columns"));
    speeds(page, results, "sizes", &by_size, |_| true);
    page.heading(&format!("By columns, {} MB", results.base_size));
    speeds(page, results, "columns", &by_columns, Task::has_columns);
    superlinear(page, results);
    threads(page, results);
    partial_reads(page, results);
}

fn megabytes_per_second(
    results: &ScalingResults,
    task: Task,
    threads: usize,
    table: Option<usize>,
) -> Option<f64> {
    results.per_megabyte(task, threads, table).map(|seconds| 1.0 / seconds)
}

fn figure_cell(figure: Option<f64>, outcome: Outcome) -> String {
    match (figure, outcome) {
        (Some(figure), _) => short(figure),
        (None, Outcome::TooLong(limit)) => format!("> {limit} s"),
        (None, _) => "–".to_owned(),
    }
}

/// Adds speeds along one axis, and seconds per MB as a multiple of the baseline.
fn speeds(
    page: &mut ReportPage,
    results: &ScalingResults,
    name: &'static str,
    axis: &[(String, Option<usize>)],
    is_wanted: impl Fn(Task) -> bool,
) {
    page.add(
        "MB of the original per second; then seconds per MB as a multiple of the baseline, ideally \
         1; then peak memory in MB.",
    );
    let mut head = vec!["Task".to_owned(), "Threads".to_owned()];
    head.extend(axis.iter().map(|(label, _)| format!("{label}: MB/s")));
    head.extend(axis.iter().map(|(label, _)| format!("{label}: multiple")));
    head.extend(axis.iter().map(|(label, _)| format!("{label}: memory")));
    let mut table = ReportTable::of(head);
    let mut bars = Bars {
        name,
        title: "MB/s on one thread (logarithmic scale)".to_owned(),
        series: axis.iter().map(|(label, _)| label.clone()).collect(),
        groups: Vec::new(),
        mark: None,
        is_log: true,
    };
    for task in
        ALL.into_iter().filter(|task| task.is_full_scan() && is_wanted(*task) && results.has(*task))
    {
        for &threads in task.threads().iter().rev() {
            let outcome = |table| results.outcome(task, threads, table);
            let speed = |table| megabytes_per_second(results, task, threads, table);
            let memory = |table| match outcome(table) {
                Outcome::Took(usage) => short(usage.memory.round()),
                _ => "–".to_owned(),
            };
            let mut row = vec![task.to_string(), threads.to_string()];
            row.extend(axis.iter().map(|(_, it)| figure_cell(speed(*it), outcome(*it))));
            row.extend(axis.iter().map(|(_, it)| {
                results
                    .over_base(task, threads, *it)
                    .map_or("–".to_owned(), |x| format!("{x:.2}"))
            }));
            row.extend(axis.iter().map(|(_, it)| memory(*it)));
            table.row_of(row);
        }
        let speed = |(_, it): &(String, Option<usize>)| megabytes_per_second(results, task, 1, *it);
        bars.groups.push((task.to_string(), axis.iter().map(speed).collect()));
    }
    page.table(name, &table);
    page.plot(&bars);
}

/// Lists superlinear tasks, the worst first.
fn superlinear(page: &mut ReportPage, results: &ScalingResults) {
    page.heading("Superlinear tasks");
    page.add(format!(
        "Tasks whose time per MB is more than {SUPERLINEAR} times that of the baseline, {} MB in \
         {BASE_COLUMNS} columns.",
        results.base_size
    ));
    let mut all = Vec::new();
    for cell in results.measurements.iter().filter(|cell| cell.task.is_full_scan()) {
        let table = Some(cell.table);
        let times = results.over_base(cell.task, cell.threads, table);
        // A killed task has taken at least its limit.
        let (times, text) = match (times, cell.outcome) {
            (Some(times), _) => (times, format!("{times:.2}")),
            (None, Outcome::TooLong(limit)) => (f64::INFINITY, format!("> {limit} s")),
            _ => continue,
        };
        if times > SUPERLINEAR {
            all.push((times, cell, text));
        }
    }
    if all.is_empty() {
        return page.add("None.");
    }
    all.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut table = ReportTable::new(["Task", "Table", "Threads", "Multiple"]);
    for (_, cell, text) in all {
        let of = results.tables.get(cell.table).map(ToString::to_string).unwrap_or_default();
        table.row([cell.task.to_string(), of, cell.threads.to_string(), text]);
    }
    page.table("superlinear", &table);
}

/// Adds the speedup of two threads over one.
fn threads(page: &mut ReportPage, results: &ScalingResults) {
    page.heading("Two threads");
    page.add("Speedup over one thread, in wall time.");
    let mut head = vec!["Task".to_owned()];
    head.extend(results.tables.iter().map(ToString::to_string));
    let mut bars = Bars {
        name: "threads",
        title: "Speedup of two threads over one".to_owned(),
        series: results.tables.iter().map(ToString::to_string).collect(),
        groups: Vec::new(),
        mark: Some(1.0),
        is_log: false,
    };
    let mut table = ReportTable::of(head);
    let is_wanted = |task: &Task| task.threads().len() > 1 && task.is_full_scan();
    for task in ALL.into_iter().filter(|task| is_wanted(task) && results.has(*task)) {
        let gain = |table: usize| {
            let clock = |threads| match results.outcome(task, threads, Some(table)) {
                Outcome::Took(usage) => Some(usage.cost.wall),
                _ => None,
            };
            Some(clock(1)? / clock(2)?)
        };
        let gains: Vec<Option<f64>> = (0..results.tables.len()).map(gain).collect();
        let cell = |gain: &Option<f64>| gain.map_or("–".to_owned(), |gain| format!("{gain:.2}"));
        let row = [task.to_string()].into_iter().chain(gains.iter().map(cell));
        table.row_of(row.collect());
        bars.groups.push((task.to_string(), gains));
    }
    page.table("threads", &table);
    page.plot(&bars);
}

/// Adds tasks that read a small part of a file, whose cost does not depend on its size.
fn partial_reads(page: &mut ReportPage, results: &ScalingResults) {
    page.heading("Partial reads");
    page.add(
        "Milliseconds, including opening the file: two columns of a COLM file in memory, and two \
         cells of the middle row of a queryable archive.",
    );
    let mut head = vec!["Task".to_owned(), "Threads".to_owned()];
    head.extend(results.tables.iter().map(ToString::to_string));
    let mut table = ReportTable::of(head);
    for task in ALL.into_iter().filter(|task| !task.is_full_scan()) {
        for &threads in task.threads().iter().rev() {
            let mut row = vec![task.to_string(), threads.to_string()];
            row.extend((0..results.tables.len()).map(|table| {
                let outcome = results.outcome(task, threads, Some(table));
                let milliseconds = match outcome {
                    Outcome::Took(usage) => Some(usage.cost.wall * 1e3),
                    _ => None,
                };
                figure_cell(milliseconds, outcome)
            }));
            table.row_of(row);
        }
    }
    page.table("partial reads", &table);
}
