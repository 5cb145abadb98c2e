//! Archives that can be queried: their size beside xz and Parquet, and what a query
//! reads and takes beside what others do with the same data, here and over HTTP.

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use hypostyle::formats::at1::{self, Choice, PackOptions, Query};

use crate::Result;
use crate::corpus::Sample;
use crate::data::{self, Shape};
use crate::page::Page;
use crate::plot::Bars;
use crate::setup::Setup;
use crate::table::Table;

mod asked;
mod far;
mod question;
mod server;
mod size;
mod wheels;

use question::{Asked, Question, ask};

/// How often each is timed.
const ROUNDS: usize = 7;

/// The table that is asked, and what is made where it is not.
const ASKED: &str = "nyc_flights.csv";
const MADE: Shape = Shape { rows: 10_000, columns: 10 };

/// What our own figures are called.
const OURS: &str = "AT-1";

pub(crate) fn run(setup: &Setup, page: &mut Page) -> Result<()> {
    let folder = setup.folder("queries")?;
    let corpus = setup.corpus()?;
    let is_asked =
        |sample: &&Sample| sample.is_table() || (sample.name.ends_with("json") && !setup.quick);
    let samples: Vec<&Sample> = corpus.samples.iter().filter(is_asked).collect();
    page.add(format!(
        "The best of {} rounds counts. {} Archives are made by \
         `hyp pack --query` at the default level, with their indexes. {}",
        setup.rounds(ROUNDS),
        corpus.origin,
        setup.python().describe(&wheels::MODULES)
    ));
    size::sizes(&samples, setup, &folder, page)?;
    let asked = match corpus.named(ASKED) {
        Some(sample) => real(sample, &folder)?,
        None => made(&folder)?,
    };
    asked::run(&asked, setup, page)?;
    let questions = asked.questions()?;
    let rows = beside(&asked, &questions, setup, page)?;
    far::run(&asked, &questions, &rows, setup, page)
}

/// The table that figures have been published about.
fn real(sample: &Sample, folder: &Path) -> Result<Asked> {
    // The server has only what is in its folder.
    let csv = folder.join(&sample.name);
    fs::copy(&sample.path, &csv)?;
    let archive = size::packed(sample, folder);
    Ok(Asked { name: sample.name.clone(), csv, archive, facts: &question::FLIGHTS })
}

/// Some table, to see whether everything runs.
fn made(folder: &Path) -> Result<Asked> {
    let name = "made.csv";
    let (csv, archive) = (folder.join(name), folder.join("made.csv.at1"));
    data::write_csv(MADE, &mut File::create(&csv)?)?;
    let options = PackOptions::default().with_codec(Choice::Query);
    fs::write(&archive, at1::pack(&fs::read(&csv)?, &options)?.0)?;
    Ok(Asked { name: name.to_owned(), csv, archive, facts: &question::MADE })
}

/// Seconds of the quickest of many runs, and what came of it.
fn timed<T>(rounds: usize, mut work: impl FnMut() -> Result<T>) -> Result<(f64, T)> {
    let (mut best, mut last) = (f64::INFINITY, None);
    for _ in 0..rounds {
        let start = Instant::now();
        last = Some(work()?);
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok((best, last.ok_or("nothing was run")?))
}

/// Who was asked, and a figure for each question.
#[derive(Clone, Debug)]
struct Contender {
    name: String,
    figures: Vec<Option<f64>>,
}

/// Asks ours and the rivals the same of files; gives the rows that each question has.
fn beside(
    asked: &Asked,
    questions: &[Question],
    setup: &Setup,
    page: &mut Page,
) -> Result<Vec<u64>> {
    let rounds = setup.rounds(ROUNDS);
    let one = NonZeroUsize::MIN;
    let (mut rows, mut single, mut several) = (Vec::new(), Vec::new(), Vec::new());
    let mut told =
        Table::new(["Question", "Test", "Rows", "Share of rows", "Groups read", "Bytes"]);
    let column = Query::default().with_columns(Some(vec![asked.facts.summed.0.to_owned()]));
    let of_all = ask(asked.source()?, &column, None)?.stats.rows;
    for question in questions {
        let query = question.query()?;
        single.push(Some(timed(rounds, || ask(asked.source()?, &query, Some(one)))?.0));
        let (seconds, answer) = timed(rounds, || ask(asked.source()?, &query, None))?;
        several.push(Some(seconds));
        let stats = answer.stats;
        rows.push(stats.rows);
        told.row([
            question.name.clone(),
            question.test().map_or("–".to_owned(), |test| format!("`{test}`")),
            stats.rows.to_string(),
            format!("{:.3} %", 100.0 * stats.rows as f64 / of_all.max(1) as f64),
            format!("{} of {}", stats.groups_read, stats.groups),
            stats.bytes_read.to_string(),
        ]);
    }
    let mut contenders = vec![
        Contender { name: format!("{OURS}, one thread"), figures: single },
        Contender { name: OURS.to_owned(), figures: several },
    ];
    let mut files = Table::new(["File", "Bytes"]);
    files.row([OURS.to_owned(), fs::metadata(&asked.archive)?.len().to_string()]);
    let mut missing = Vec::new();
    for rival in &wheels::ALL {
        eprintln!("{}", rival.name);
        match rival.ask(asked, questions, &rows, None, setup, rounds)? {
            Ok(told) => {
                files.row([rival.name.to_owned(), told.bytes.to_string()]);
                let figures = told.answers.iter().map(|(seconds, _)| Some(*seconds)).collect();
                contenders.push(Contender { name: rival.name.to_owned(), figures });
            }
            Err(why) => missing.push(format!("{} ({why})", rival.name)),
        }
    }
    page.heading(&format!("Queries of {}, beside rivals", asked.name));
    page.add(
        "What is asked, and what ours reads for it. Rows by number come with all columns, and the \
         others with two, or one for the question that no row answers.",
    );
    page.table("questions", &told);
    page.add(
        "Seconds from the opening of the file to typed columns in memory. Rivals are asked in \
         Python, each in a process of its own whose imports do not count; DuckDB keeps its \
         connection. They take as many threads as they like, as ours does unless told otherwise. \
         Their files are made with their defaults, but Parquet by pyarrow with zstd 19. All find \
         as many rows as ours.",
    );
    if !missing.is_empty() {
        page.add(format!("Missing: {}.", missing.join(", ")));
    }
    page.table("seconds", &grid(questions, &contenders, 4));
    page.plot(&chart(
        "",
        format!("Milliseconds for a query of {}", asked.name),
        questions,
        &contenders,
    ));
    page.add("Their files:");
    page.table("files", &files);
    Ok(rows)
}

/// A row for each question, and a column for each contender.
fn grid(questions: &[Question], contenders: &[Contender], digits: usize) -> Table {
    let names = contenders.iter().map(|contender| contender.name.clone());
    let mut table = Table::of(["Question".to_owned()].into_iter().chain(names).collect());
    for (index, question) in questions.iter().enumerate() {
        let cell = |contender: &Contender| {
            let figure = contender.figures.get(index).copied().flatten();
            figure.map_or("–".to_owned(), |figure| format!("{figure:.digits$}"))
        };
        let cells = contenders.iter().map(cell);
        table.row_of([question.name.clone()].into_iter().chain(cells).collect());
    }
    table
}

/// Seconds as bars, in milliseconds.
fn chart(name: &'static str, title: String, questions: &[Question], all: &[Contender]) -> Bars {
    let group = |(index, question): (usize, &Question)| {
        let bar = |contender: &Contender| {
            contender.figures.get(index).copied().flatten().map(|seconds| 1000.0 * seconds)
        };
        (question.name.clone(), all.iter().map(bar).collect())
    };
    Bars {
        name,
        title: format!("{title} (each step of ten as long; shorter is better)"),
        series: all.iter().map(|contender| contender.name.clone()).collect(),
        groups: questions.iter().enumerate().map(group).collect(),
        mark: None,
        is_log: true,
    }
}
