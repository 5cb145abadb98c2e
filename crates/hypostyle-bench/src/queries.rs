//! Archives that can be queried: their size beside xz and Parquet, and what a query
//! reads and takes beside what others do with the same data.

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use hypostyle::formats::Abilities;
use hypostyle::formats::at1::{
    self, Answer, Archive, Choice, Codec, PackOptions, Query, QueryStats, TableOptions,
};
use hypostyle::query::Predicate;
use hypostyle::stage::Stage;
use hypostyle::text::ImportOptions;
use hypostyle::{FileSource, ReadOptions, Table as _};

use crate::Result;
use crate::bench::Setup;
use crate::corpus::Sample;
use crate::page::Page;
use crate::table::{Table, Target, mean};

/// How often each is timed.
const ROUNDS: usize = 7;

/// Rows of a group that suit single rows.
const SMALL: usize = 2500;

/// The table that is asked, and the questions: name, test, columns, the same for awk.
const ASKED: &str = "nyc_flights.csv";
const QUESTIONS: [(&str, &str, &[&str], &str); 4] = [
    (
        "one day",
        "month = 7 and day = 4",
        &["carrier", "dep_delay"],
        "$2 == 7 && $3 == 4 {print $10, $6}",
    ),
    (
        "1 % of the rows",
        "dep_delay > 190",
        &["carrier", "dep_delay"],
        "$6 + 0 > 190 {print $10, $6}",
    ),
    ("a text", "tailnum = 'N14228'", &["flight", "dest"], "$12 == \"N14228\" {print $11, $14}"),
    ("no row", "distance > 5000", &["carrier"], "$16 + 0 > 5000 {print $10}"),
];

pub(crate) fn run(setup: &Setup, page: &mut Page) -> Result<()> {
    let folder = setup.folder("queries")?;
    let corpus = setup.corpus()?;
    let is_asked =
        |sample: &&Sample| sample.is_table() || (sample.name.ends_with("json") && !setup.quick);
    let samples: Vec<&Sample> = corpus.samples.iter().filter(is_asked).collect();
    page.add(format!(
        "Contenders take turns, {ROUNDS} times, and the best counts. {} Archives are made by \
         `hyp pack --query` at the default level, with their indexes. {}",
        corpus.origin,
        setup.python().describe(&["pyarrow", "duckdb"])
    ));
    sizes(&samples, setup, &folder, page)?;
    match corpus.named(ASKED) {
        Some(sample) => asked(sample, setup, &folder, page),
        None => Ok(()),
    }
}

fn packed(sample: &Sample, folder: &Path) -> PathBuf {
    folder.join(format!("{}.at1", sample.name))
}

/// Packs every file, and compares with what xz and Parquet take.
fn sizes(samples: &[&Sample], setup: &Setup, folder: &Path, page: &mut Page) -> Result<()> {
    let head =
        ["File", "Codec", "Bytes", "Queryable", "xz -9e", "Share", "Parquet, zstd 19", "Share"];
    let mut table = Table::new(head);
    let (mut shares, mut worst): (Vec<f64>, f64) = (Vec::new(), 0.0);
    for sample in samples {
        eprintln!("{}: {} bytes", sample.name, sample.bytes);
        let text = fs::read(&sample.path)?;
        let options = PackOptions::default().with_codec(Choice::Query);
        let (archive, done) = at1::pack(&text, &options)?;
        fs::write(packed(sample, folder), &archive)?;
        let xz = if setup.quick { None } else { Some(at1::xz_size(&text)?) };
        let parquet = sample.is_table().then(|| parquet_size(sample, setup, folder)).flatten();
        let share = |rival: Option<u64>| rival.map(|rival| done.stored as f64 / rival as f64);
        shares.extend(share(xz));
        worst = worst.max(share(parquet).unwrap_or_default());
        let shown = |size: Option<u64>| size.map_or("missing".to_owned(), |size| size.to_string());
        let ratio =
            |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{share:.3}"));
        table.row([
            sample.name.clone(),
            done.codec.name().to_owned(),
            sample.bytes.to_string(),
            done.stored.to_string(),
            shown(xz),
            ratio(share(xz)),
            shown(parquet),
            ratio(share(parquet)),
        ]);
    }
    page.heading("Size");
    page.table("size", &table);
    page.target("share of xz -9e, geometric mean", mean(shares), Target::AtMost(0.97));
    let worst = Some(worst).filter(|worst| *worst > 0.0);
    page.target("share of Parquet, the worst table", worst, Target::AtMost(1.0));
    Ok(())
}

/// What Parquet takes for a table with zstd at its best; `None` without pyarrow.
fn parquet_size(sample: &Sample, setup: &Setup, folder: &Path) -> Option<u64> {
    const SCRIPT: &str = "
import sys
import pyarrow.csv as csv, pyarrow.parquet as parquet
parse = csv.ParseOptions(delimiter='\\t' if sys.argv[1].endswith('tsv') else ',')
table = csv.read_csv(sys.argv[1], parse_options=parse)
parquet.write_table(table, sys.argv[2], compression='zstd', compression_level=19)
";
    let target = folder.join("rival.parquet");
    let mut python = setup.python().script(&["pyarrow"], SCRIPT)?;
    let ran = python.arg(&sample.path).arg(&target).output().ok()?;
    ran.status.success().then(|| fs::metadata(&target).ok().map(|meta| meta.len())).flatten()
}

fn ask(path: &Path, query: &Query) -> Result<Answer> {
    let source = Arc::new(FileSource::try_new(File::open(path)?)?);
    let archive = Archive::open(source, &ReadOptions::default())?;
    let mut options = ImportOptions::new(Abilities::EVERYTHING);
    options.null_words = vec!["NA".to_owned()];
    let answer = archive.query(query, &TableOptions::default(), &options, Stage::in_memory())?;
    Ok(answer.ok_or("the archive does not answer")?)
}

/// Seconds of the quickest of many runs, and what came of it.
fn timed<T>(mut work: impl FnMut() -> Result<T>) -> Result<(f64, T)> {
    let (mut best, mut last) = (f64::INFINITY, None);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        last = Some(work()?);
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok((best, last.ok_or("nothing was run")?))
}

/// Asks the archive of one table, beside a pipe of xz and awk, and DuckDB.
fn asked(sample: &Sample, setup: &Setup, folder: &Path, page: &mut Page) -> Result<()> {
    let archive = packed(sample, folder);
    let xz = folder.join("rival.xz");
    let made = Command::new("sh")
        .args(["-c", "xz -6 -T1 -c \"$1\" > \"$2\"", "sh"])
        .arg(&sample.path)
        .arg(&xz)
        .status();
    let has_xz = made.is_ok_and(|status| status.success());
    let awk = ["mawk", "awk"].into_iter().find(|awk| {
        Command::new(awk).arg("BEGIN {}").output().is_ok_and(|ran| ran.status.success())
    });
    page.heading(&format!("Queries of {}", sample.name));
    page.add(format!(
        "Seconds for the rows as typed columns in memory, the opening of the file included. The \
         rival is `xz -dc` piped into {}, the quickest filter at hand.",
        awk.unwrap_or("awk, which is missing")
    ));
    let head = [
        "Question",
        "Test",
        "Rows",
        "Groups read",
        "Bytes read",
        "Of the archive",
        "Seconds",
        "xz, awk",
        "Times as fast",
    ];
    let mut table = Table::new(head);
    let share = |stats: &QueryStats| stats.bytes_read as f64 / stats.bytes.max(1) as f64;
    let mut figures = Vec::new();
    for (name, test, columns, filter) in QUESTIONS {
        let query = Query::default()
            .with_filter(Some(Predicate::parse(test)?))
            .with_columns(Some(columns.iter().map(|&column| column.to_owned()).collect()));
        let (seconds, answer) = timed(|| ask(&archive, &query))?;
        let rival = match awk.filter(|_| has_xz) {
            None => None,
            Some(awk) => Some(
                timed(|| {
                    let line = format!("xz -dc \"$1\" | {awk} -F, '{filter}' > /dev/null");
                    Ok(Command::new("sh").args(["-c", &line, "sh"]).arg(&xz).status()?)
                })?
                .0,
            ),
        };
        let stats = &answer.stats;
        figures.push((name, share(stats), rival.map(|rival| rival / seconds)));
        table.row([
            name.to_owned(),
            format!("`{test}`"),
            stats.rows.to_string(),
            format!("{} of {}", stats.groups_read, stats.groups),
            stats.bytes_read.to_string(),
            format!("{:.2} %", 100.0 * share(stats)),
            format!("{seconds:.4}"),
            rival.map_or("missing".to_owned(), |rival| format!("{rival:.3}")),
            rival.map_or("–".to_owned(), |rival| format!("{:.1}", rival / seconds)),
        ]);
    }
    page.table("queries", &table);

    let column = "dep_delay";
    let query = Query::default().with_columns(Some(vec![column.to_owned()]));
    let (sum_seconds, (sum, stats)) = timed(|| {
        let answer = ask(&archive, &query)?;
        Ok((sum(&answer)?, answer.stats))
    })?;
    let blocks = column_bytes(&archive, 5)?;
    let duckdb = duckdb_sum(sample, setup);
    let (row_seconds, row) =
        timed(|| ask(&archive, &Query::default().with_rows(Some(vec![200_000]))))?;
    let mut table = Table::new(["What", "Bytes read", "Seconds", "Rival"]);
    table.row([
        format!("sum of `{column}`, {sum}"),
        stats.bytes_read.to_string(),
        format!("{sum_seconds:.4}"),
        match &duckdb {
            Some((seconds, sum)) => format!("DuckDB on the CSV: {seconds:.4}, {sum}"),
            None => "DuckDB: missing".to_owned(),
        },
    ]);
    table.row([
        "row 200000, all columns".to_owned(),
        row.stats.bytes_read.to_string(),
        format!("{row_seconds:.4}"),
        "–".to_owned(),
    ]);
    // Small groups are what suits single rows, at a price.
    let small = folder.join("small.at1");
    let options = PackOptions::default()
        .with_codec(Choice::Query)
        .with_rows_per_group(NonZeroUsize::new(SMALL));
    let (packed, done) = at1::pack(&fs::read(&sample.path)?, &options)?;
    fs::write(&small, packed)?;
    let (small_seconds, small_row) =
        timed(|| ask(&small, &Query::default().with_rows(Some(vec![200_000]))))?;
    table.row([
        format!("the same with `--rows-per-group {SMALL}`: an archive of {} bytes", done.stored),
        small_row.stats.bytes_read.to_string(),
        format!("{small_seconds:.4}"),
        "–".to_owned(),
    ]);
    page.table("others", &table);

    let mut target = |what: &str, figure, wanted| page.target(what, Some(figure), wanted);
    for (name, share, faster) in figures {
        match (name, faster) {
            ("one day", _) => {
                target("share of the archive read for one day", share, Target::AtMost(0.03))
            }
            (name, Some(faster)) if name.starts_with("1 %") => {
                target(
                    "times as fast as xz and awk for 1 % of the rows",
                    faster,
                    Target::AtLeast(10.0),
                );
            }
            _ => {}
        }
    }
    let over = stats.bytes_read as f64 / blocks.max(1) as f64;
    target("bytes read for a sum, over the column's blocks", over, Target::AtMost(1.3));
    if let Some((seconds, _)) = duckdb {
        let faster = seconds / sum_seconds;
        target("times as fast as DuckDB for a sum", faster, Target::AtLeast(1.0));
    }
    target(
        "share of the archive read for a row by number",
        share(&row.stats),
        Target::AtMost(0.01),
    );
    Ok(())
}

fn sum(answer: &Answer) -> Result<i64> {
    let mut sum = 0;
    for array in answer.table.column(0)? {
        let text = hypostyle::bridge::cast::cast(&array, &arrow_schema::DataType::Int64)?;
        let values =
            arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int64Type>(&text);
        sum += values.iter().flatten().sum::<i64>();
    }
    Ok(sum)
}

/// Bytes of the blocks of one column.
fn column_bytes(path: &Path, column: usize) -> Result<u64> {
    let source = Arc::new(FileSource::try_new(File::open(path)?)?);
    let archive = Archive::open(source, &ReadOptions::default())?;
    if archive.codec() != Codec::QColumnar {
        return Err("not a table".into());
    }
    let frames = archive.describe()?;
    Ok(frames.iter().filter_map(|frame| frame.columns.get(column)).map(|info| info.bytes).sum())
}

/// Seconds that DuckDB takes for the sum of a column of the CSV file, and the sum.
fn duckdb_sum(sample: &Sample, setup: &Setup) -> Option<(f64, String)> {
    const SCRIPT: &str = "
import sys, time, duckdb
best = 9e9
for _ in range(7):
    start = time.perf_counter()
    question = f\"select sum(dep_delay) from read_csv('{sys.argv[1]}', nullstr='NA')\"
    found = duckdb.sql(question).fetchall()[0][0]
    best = min(best, time.perf_counter() - start)
print(best, found)
";
    let mut python = setup.python().script(&["duckdb"], SCRIPT)?;
    let ran = python.arg(&sample.path).output().ok()?;
    let said = String::from_utf8(ran.stdout).ok()?;
    let (seconds, sum) = said.trim().split_once(' ')?;
    Some((seconds.parse().ok()?, sum.to_owned()))
}
