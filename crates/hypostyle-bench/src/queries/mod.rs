//! Queryable archives: their size compared with xz and Parquet, and the bytes and time of queries
//! compared with other query engines, on local files and over HTTP.

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use hypostyle::formats::at1::{self, Choice, PackOptions};

use crate::Result;
use crate::corpus::CorpusFile;
use crate::data::{self, TableShape};
use crate::page::ReportPage;
use crate::plot::Bars;
use crate::setup::Setup;
use crate::table::{ReportTable, Target};

mod bench_query;
mod blocks;
mod engines;
mod local;
mod over_http;
mod server;
mod size;

use bench_query::{BenchQuery, QueriedTable, Query, run_query};
use blocks::QueriedBlocks;

/// The number of rounds of each measurement.
const ROUNDS: usize = 7;

/// The queried table, and the shape of the generated table that replaces it if it is missing.
const QUERIED: &str = "nyc_flights.csv";
const GENERATED_SHAPE: TableShape = TableShape { rows: 10_000, columns: 10 };

/// The name of our figures.
const OURS: &str = "AT-1";

pub(crate) fn run(setup: &Setup, page: &mut ReportPage) -> Result<()> {
    let folder = setup.folder("queries")?;
    let corpus = setup.corpus()?;
    let is_queryable =
        |sample: &&CorpusFile| sample.is_table() || (sample.name.ends_with("json") && !setup.quick);
    let samples: Vec<&CorpusFile> = corpus.samples.iter().filter(is_queryable).collect();
    page.add(format!(
        "Times are the best of {} rounds. {} `hyp pack --query` writes the archives at the default \
         level, with indexes. {}",
        setup.rounds(ROUNDS),
        corpus.origin,
        setup.python().describe(&engines::MODULES)
    ));
    size::sizes(&samples, setup, &folder, page)?;
    let table = match corpus.named(QUERIED) {
        Some(sample) => real(sample, &folder)?,
        None => generated(&folder)?,
    };
    local::run(&table, setup, page)?;
    let queries = table.queries()?;
    let rows = compare(&table, &queries, setup, page)?;
    over_http::run(&table, &queries, &rows, setup, page)
}

/// Prepares the table that published figures are about.
fn real(sample: &CorpusFile, folder: &Path) -> Result<QueriedTable> {
    // The HTTP server serves only its folder.
    let csv = folder.join(&sample.name);
    fs::copy(&sample.path, &csv)?;
    let archive = size::packed(sample, folder);
    Ok(QueriedTable { name: sample.name.clone(), csv, archive, queries: &bench_query::FLIGHTS })
}

/// Generates a table, to check that everything runs.
fn generated(folder: &Path) -> Result<QueriedTable> {
    let name = "generated.csv";
    let (csv, archive) = (folder.join(name), folder.join("generated.csv.at1"));
    data::write_csv(GENERATED_SHAPE, &mut File::create(&csv)?)?;
    let options = PackOptions::default().with_codec(Choice::Query);
    fs::write(&archive, at1::pack(&fs::read(&csv)?, &options.with_name(Some(name)))?.0)?;
    Ok(QueriedTable { name: name.to_owned(), csv, archive, queries: &bench_query::GENERATED })
}

/// Runs `work` several times. Returns the seconds of the fastest round and the last result.
fn timed<T>(rounds: usize, mut work: impl FnMut() -> Result<T>) -> Result<(f64, T)> {
    let (mut best, mut last) = (f64::INFINITY, None);
    for _ in 0..rounds {
        let start = Instant::now();
        last = Some(work()?);
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok((best, last.ok_or("the number of rounds is 0")?))
}

/// An engine and its figure for each query.
#[derive(Clone, Debug)]
struct QueryTimes {
    name: String,
    figures: Vec<Option<f64>>,
}

/// Runs all queries on ours and on the rivals, on local files. Returns the rows of each query.
fn compare(
    table: &QueriedTable,
    queries: &[BenchQuery],
    setup: &Setup,
    page: &mut ReportPage,
) -> Result<Vec<u64>> {
    let rounds = setup.rounds(ROUNDS);
    let one = NonZeroUsize::MIN;
    let (mut rows, mut single, mut several) = (Vec::new(), Vec::new(), Vec::new());
    let mut alone = Vec::new();
    let mut summary = ReportTable::new([
        "Query",
        "Predicate",
        "Rows",
        "Share of rows",
        "Row groups read",
        "Bytes read",
    ]);
    let column = Query::column(table.queries.summed.0);
    let total_rows = run_query(table.source()?, &table.name, &column, None)?.stats.rows_returned;
    for bench_query in queries {
        let query = bench_query.query()?;
        let blocks = QueriedBlocks::of(table, &query)?.filter(|blocks| !blocks.is_empty());
        // The two are compared, so they take turns.
        let (mut best, mut best_alone) = (f64::INFINITY, blocks.is_some().then_some(f64::INFINITY));
        for _ in 0..rounds {
            let ours = || run_query(table.source()?, &table.name, &query, Some(one));
            best = best.min(timed(1, ours)?.0);
            if let (Some(blocks), Some(best)) = (&blocks, &mut best_alone) {
                *best = best.min(timed(1, || blocks.decompress())?.0);
            }
        }
        single.push(Some(best));
        alone.push(best_alone);
        let (seconds, answer) =
            timed(rounds, || run_query(table.source()?, &table.name, &query, None))?;
        several.push(Some(seconds));
        let stats = answer.stats;
        rows.push(stats.rows_returned);
        summary.row([
            bench_query.name.clone(),
            bench_query.predicate().map_or("–".to_owned(), |predicate| format!("`{predicate}`")),
            stats.rows_returned.to_string(),
            format!("{:.3} %", 100.0 * stats.rows_returned as f64 / total_rows.max(1) as f64),
            format!("{} of {}", stats.row_groups_read, stats.row_groups),
            stats.bytes_read.to_string(),
        ]);
    }
    report_alone(table, queries, &single, &alone, page);
    let mut times = vec![
        QueryTimes { name: format!("{OURS}, one thread"), figures: single },
        QueryTimes { name: OURS.to_owned(), figures: several },
    ];
    let mut files = ReportTable::new(["File", "Bytes"]);
    files.row([OURS.to_owned(), fs::metadata(&table.archive)?.len().to_string()]);
    let mut missing = Vec::new();
    for rival in &engines::ALL {
        eprintln!("{}", rival.name);
        match rival.run(table, queries, &rows, None, setup, rounds)? {
            Ok(results) => {
                files.row([rival.name.to_owned(), results.bytes.to_string()]);
                let figures = results.answers.iter().map(|(seconds, _)| Some(*seconds)).collect();
                times.push(QueryTimes { name: rival.name.to_owned(), figures });
            }
            Err(why) => missing.push(format!("{} ({why})", rival.name)),
        }
    }
    page.heading(&format!("Queries of {}, compared with rivals", table.name));
    page.add(
        "The queries and what ours reads for them. Row lookups return all columns, other queries \
         two, and the query without matches one.",
    );
    page.table("query set", &summary);
    page.add(
        "Seconds from opening the file to typed columns in memory. Each rival runs in its own \
         Python process, without counting imports; DuckDB keeps its connection. Rivals use their \
         default number of threads, and so does ours unless noted. Their files are written with \
         their defaults, except Parquet by pyarrow with zstd 19. All return as many rows as ours.",
    );
    if !missing.is_empty() {
        page.add(format!("Missing: {}.", missing.join(", ")));
    }
    page.table("seconds", &grid(queries, &times, 4));
    page.plot(&chart("", format!("Milliseconds for a query of {}", table.name), queries, &times));
    page.add("File sizes:");
    page.table("files", &files);
    Ok(rows)
}

/// Compares queries on one thread with the decompression of their blocks.
fn report_alone(
    table: &QueriedTable,
    queries: &[BenchQuery],
    ours: &[Option<f64>],
    alone: &[Option<f64>],
    page: &mut ReportPage,
) {
    page.heading(&format!("Queries of {}, compared with decompressing alone", table.name));
    page.add(
        "Seconds on one thread from opening the file to typed columns in memory, and for \
         decompressing the same blocks, already in memory, without doing anything with their \
         content. The query without matches reads no blocks.",
    );
    let ratio = |(ours, alone): (&Option<f64>, &Option<f64>)| Some((*ours)? / (*alone)?);
    let ratios: Vec<Option<f64>> = ours.iter().zip(alone).map(ratio).collect();
    let worst = ratios.iter().copied().flatten().reduce(f64::max);
    let named = |name: &str, figures: &[Option<f64>]| QueryTimes {
        name: name.to_owned(),
        figures: figures.to_vec(),
    };
    let figures = [
        named(&format!("{OURS}, one thread"), ours),
        named("Decompressing alone", alone),
        named("Ratio", &ratios),
    ];
    page.table("decompressing alone", &grid(queries, &figures, 4));
    if table.queries.has_targets {
        page.target(
            "one thread / decompressing the same blocks alone, worst query",
            worst,
            Target::AtMost(1.3),
        );
    }
}

/// Returns a table with a row for each query and a column for each engine.
fn grid(queries: &[BenchQuery], times: &[QueryTimes], digits: usize) -> ReportTable {
    let names = times.iter().map(|engine| engine.name.clone());
    let mut table = ReportTable::of(["Query".to_owned()].into_iter().chain(names).collect());
    for (index, bench_query) in queries.iter().enumerate() {
        let cell = |engine: &QueryTimes| {
            let figure = engine.figures.get(index).copied().flatten();
            figure.map_or("–".to_owned(), |figure| format!("{figure:.digits$}"))
        };
        let cells = times.iter().map(cell);
        table.row_of([bench_query.name.clone()].into_iter().chain(cells).collect());
    }
    table
}

/// Returns a chart of seconds, in milliseconds.
fn chart(name: &'static str, title: String, queries: &[BenchQuery], all: &[QueryTimes]) -> Bars {
    let group = |(index, bench_query): (usize, &BenchQuery)| {
        let bar = |engine: &QueryTimes| {
            engine.figures.get(index).copied().flatten().map(|seconds| 1000.0 * seconds)
        };
        (bench_query.name.clone(), all.iter().map(bar).collect())
    };
    Bars {
        name,
        title: format!("{title} (logarithmic scale; less is better)"),
        series: all.iter().map(|engine| engine.name.clone()).collect(),
        groups: queries.iter().enumerate().map(group).collect(),
        mark: None,
        is_log: true,
    }
}
