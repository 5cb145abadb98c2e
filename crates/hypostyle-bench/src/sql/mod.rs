//! SQL over archives, column files, CSV and Parquet in DataFusion, beside DuckDB.

use std::fs;
use std::num::NonZeroUsize;
use std::thread;

use crate::Result;
use crate::page::ReportPage;
use crate::plot::Bars;
use crate::setup::Setup;
use crate::table::{ReportTable, Target, mean};

mod contender;
mod duckdb;
mod files;
mod flights;
mod queries;
mod rows;
mod tpch;

use contender::{Contender, Engine, Times};
use duckdb::DuckDb;
use files::{Kind, TableFiles};
use flights::Tables;
use queries::{BenchQuery, Pruning};

/// The number of rounds of each measurement.
const ROUNDS: usize = 5;

const AT1: &str = "AT-1";
const COLF: &str = "COLF";
const CSV: &str = "CSV";
const PARQUET: &str = "Parquet";
const DUCKDB_CSV: &str = "DuckDB, CSV";
const DUCKDB_PARQUET: &str = "DuckDB, Parquet";

pub(crate) fn run(setup: &Setup, page: &mut ReportPage) -> Result<()> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    page.add(format!(
        "Times are the best of {} rounds, in which the competitors take turns, with {threads} \
         threads each. All run in one process with one session per kind of file, but DuckDB, which \
         has a process with one connection for each kind. CSV is read by our reader, as `hyp sql` does: \
         DataFusion's own takes no word such as `NA` for null. Tables are registered before, so that DataFusion knows \
         their schemas and keeps their metadata; files are in the cache of the system. A bench \
         fails if two results differ. {}",
        setup.rounds(ROUNDS),
        setup.python().describe(&duckdb::MODULES)
    ));
    flights_bench(setup, threads, page)?;
    tpch::run(setup, threads, page)
}

fn flights_bench(setup: &Setup, threads: usize, page: &mut ReportPage) -> Result<()> {
    let Tables { flights, airports, original, origin } = flights::tables(setup)?;
    page.heading("Flights");
    page.add(origin);
    report_sizes(&flights, setup, page)?;
    if let Some(original) = &original {
        page.add("The original table alone:");
        report_sizes(original, setup, page)?;
    }
    let tables = [&flights, &airports];
    let mut contenders: Vec<Contender> = Vec::new();
    for (name, kind) in
        [(AT1, Kind::At1), (COLF, Kind::Colf), (CSV, Kind::Csv), (PARQUET, Kind::Parquet)]
    {
        eprintln!("registering {name}");
        contenders.push(Contender::new(name, Engine::open(&tables, kind, threads)?));
    }
    for (name, kind) in [(DUCKDB_CSV, Kind::Csv), (DUCKDB_PARQUET, Kind::Parquet)] {
        let mut view = |table: &&TableFiles| (table.name.clone(), duckdb::source(table, kind));
        match DuckDb::start(setup.python(), threads, tables.iter().map(&mut view))? {
            Some(process) => contenders.push(Contender::new(name, process)),
            None => page.add(format!("Missing: {name}.")),
        }
    }
    let measured = contender::compare(
        &mut contenders,
        queries::FLIGHTS.iter().map(|query| (query.name, query.sql)),
        setup.rounds(ROUNDS),
    )?;
    let names: Vec<&str> = queries::FLIGHTS.iter().map(|query| query.name).collect();
    let mut list = ReportTable::new(["Query", "Statement"]);
    for BenchQuery { name, sql, .. } in &queries::FLIGHTS {
        list.row([(*name).to_owned(), format!("`{}`", one_line(sql))]);
    }
    page.table("flights queries", &list);
    report_times("flights", &names, &measured, page);
    page.plot(&chart("", "Milliseconds for a query of the flights", &names, &measured));
    if !setup.quick {
        targets(&measured, page);
    }
    Ok(())
}

/// Reports the sizes of the files of a table.
fn report_sizes(table: &TableFiles, setup: &Setup, page: &mut ReportPage) -> Result<()> {
    let parquet = fs::metadata(table.path(Kind::Parquet))?.len();
    let mut sizes = ReportTable::new(["File", "Bytes", "Share of Parquet"]);
    for (name, kind) in
        [(AT1, Kind::At1), (COLF, Kind::Colf), (CSV, Kind::Csv), (PARQUET, Kind::Parquet)]
    {
        let bytes = fs::metadata(table.path(kind))?.len();
        let share = bytes as f64 / parquet as f64;
        sizes.row([name.to_owned(), bytes.to_string(), format!("{share:.3}")]);
        if kind == Kind::At1 && !setup.quick {
            let what = format!("size of AT-1 / Parquet, {}", table.name);
            page.target(what, Some(share), Target::AtMost(0.7));
        }
    }
    page.table(&format!("{} sizes", table.name), &sizes);
    Ok(())
}

/// Adds the tables of seconds and CPU seconds.
fn report_times(name: &str, queries: &[&str], measured: &[Times], page: &mut ReportPage) {
    page.add("Seconds:");
    page.table(&format!("{name} seconds"), &grid(queries, measured, |cost| cost.wall));
    page.add("CPU seconds of all threads:");
    page.table(&format!("{name} CPU seconds"), &grid(queries, measured, |cost| cost.cpu));
}

fn grid(
    queries: &[&str],
    measured: &[Times],
    figure: impl Fn(crate::measure::Cost) -> f64,
) -> ReportTable {
    let head = ["Query"].into_iter().chain(measured.iter().map(|times| times.name));
    let mut table = ReportTable::of(head.map(str::to_owned).collect());
    for (index, query) in queries.iter().enumerate() {
        let cell = |times: &Times| format!("{:.4}", figure(times.costs[index]));
        let cells = measured.iter().map(cell);
        table.row_of([(*query).to_owned()].into_iter().chain(cells).collect());
    }
    let mut means = vec!["geometric mean".to_owned()];
    for times in measured {
        let mean = mean(times.costs.iter().map(|cost| figure(*cost)));
        means.push(format!("{:.4}", mean.unwrap_or(f64::NAN)));
    }
    table.row_of(means);
    table
}

fn chart(name: &'static str, title: &str, queries: &[&str], measured: &[Times]) -> Bars {
    let group = |(index, query): (usize, &&str)| {
        let bar = |times: &Times| Some(1000.0 * times.costs[index].wall);
        ((*query).to_owned(), measured.iter().map(bar).collect())
    };
    Bars {
        name,
        title: format!("{title} (logarithmic scale; less is better)"),
        series: measured.iter().map(|times| times.name.to_owned()).collect(),
        groups: queries.iter().enumerate().map(group).collect(),
        mark: None,
        is_log: true,
    }
}

/// Adds the targets of the flights.
fn targets(measured: &[Times], page: &mut ReportPage) {
    let of = |name: &str| measured.iter().find(|times| times.name == name);
    // The ratio of the seconds of two competitors for each query that is wanted.
    let ratios = |one: &str, other: &str, wanted: &dyn Fn(&BenchQuery) -> bool| {
        let (one, other) = (of(one)?, of(other)?);
        let costs = queries::FLIGHTS.iter().zip(one.costs.iter().zip(&other.costs));
        let costs = costs.filter(|(query, _)| wanted(query));
        Some(costs.map(|(_, (one, other))| one.wall / other.wall).collect::<Vec<f64>>())
    };
    let all = |_: &BenchQuery| true;
    let worst = |found: Option<Vec<f64>>| found?.into_iter().reduce(f64::max);
    for (rival, bar) in [(CSV, 4.0), (DUCKDB_CSV, 1.0)] {
        let found = ratios(rival, AT1, &all).and_then(mean);
        let what = format!("{rival} / AT-1, geometric mean of all queries");
        page.target(what, found, Target::AtLeast(bar));
    }
    let is_pruned = |query: &BenchQuery| query.pruning == Pruning::RowGroups;
    page.target(
        "AT-1 / Parquet, worst query that row groups prune",
        worst(ratios(AT1, PARQUET, &is_pruned)),
        Target::AtMost(1.5),
    );
    page.target(
        "AT-1 / Parquet, worst other query",
        worst(ratios(AT1, PARQUET, &|query| !is_pruned(query))),
        Target::AtMost(4.0),
    );
    page.target(
        "COLF / Parquet, worst scan of columns",
        worst(ratios(COLF, PARQUET, &|query| query.is_column_scan)),
        Target::AtMost(2.0),
    );
}

fn one_line(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}
