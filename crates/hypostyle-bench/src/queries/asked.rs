//! What a query reads and takes, beside a pipe of xz and awk.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;

use hypostyle::ReadOptions;
use hypostyle::formats::at1::{self, Archive, Choice, Codec, PackOptions, Query, QueryStats};

use super::question::{Asked, ask, file, numbers};
use super::{ROUNDS, timed};
use crate::Result;
use crate::page::Page;
use crate::setup::Setup;
use crate::table::{Table, Target};

/// Rows of a group that suit single rows.
const SMALL: usize = 2500;

/// Asks the archive of one table, beside a pipe of xz and awk, and DuckDB.
pub(super) fn run(asked: &Asked, setup: &Setup, page: &mut Page) -> Result<()> {
    let (archive, facts) = (&asked.archive, asked.facts);
    let rounds = setup.rounds(ROUNDS);
    let folder = archive.parent().unwrap_or(Path::new("."));
    let xz = folder.join("rival.xz");
    let made = Command::new("sh")
        .args(["-c", "xz -6 -T1 -c \"$1\" > \"$2\"", "sh"])
        .arg(&asked.csv)
        .arg(&xz)
        .status();
    let has_xz = made.is_ok_and(|status| status.success());
    let awk = ["mawk", "awk"].into_iter().find(|awk| {
        Command::new(awk).arg("BEGIN {}").output().is_ok_and(|ran| ran.status.success())
    });
    page.heading(&format!("Queries of {}", asked.name));
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
    for kept in &facts.kept {
        let (name, filter, question) = (kept.name, kept.awk, kept.question());
        let (test, query) = (question.test().unwrap_or_default(), question.query()?);
        let (seconds, answer) = timed(rounds, || ask(asked.source()?, &query, None))?;
        let rival = match awk.filter(|_| has_xz) {
            None => None,
            Some(awk) => Some(
                timed(rounds, || {
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

    let (column, at) = facts.summed;
    let query = Query::default().with_columns(Some(vec![column.to_owned()]));
    let (sum_seconds, (sum, stats)) = timed(rounds, || {
        let answer = ask(asked.source()?, &query, None)?;
        Ok((numbers(&answer)?.iter().sum::<i64>(), answer.stats))
    })?;
    let blocks = column_bytes(asked, at)?;
    let duckdb = duckdb_sum(asked, setup, rounds);
    let by_number = Query::default().with_rows(Some(vec![facts.row]));
    let (row_seconds, row) = timed(rounds, || ask(asked.source()?, &by_number, None))?;
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
        format!("row {}, all columns", facts.row),
        row.stats.bytes_read.to_string(),
        format!("{row_seconds:.4}"),
        "–".to_owned(),
    ]);
    // Small groups are what suits single rows, at a price.
    let small = folder.join("small.at1");
    let options = PackOptions::default()
        .with_codec(Choice::Query)
        .with_rows_per_group(NonZeroUsize::new(SMALL));
    let (packed, done) = at1::pack(&fs::read(&asked.csv)?, &options)?;
    fs::write(&small, packed)?;
    let (small_seconds, small_row) = timed(rounds, || ask(file(&small)?, &by_number, None))?;
    table.row([
        format!("the same with `--rows-per-group {SMALL}`: an archive of {} bytes", done.stored),
        small_row.stats.bytes_read.to_string(),
        format!("{small_seconds:.4}"),
        "–".to_owned(),
    ]);
    page.table("others", &table);

    if !facts.has_targets {
        return Ok(());
    }
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

/// Bytes of the blocks of one column.
fn column_bytes(asked: &Asked, column: usize) -> Result<u64> {
    let archive = Archive::open(asked.source()?, &ReadOptions::default())?;
    if archive.codec() != Codec::QColumnar {
        return Err("not a table".into());
    }
    let frames = archive.describe()?;
    Ok(frames.iter().filter_map(|frame| frame.columns.get(column)).map(|info| info.bytes).sum())
}

/// Seconds that DuckDB takes for the sum of a column of the CSV file, and the sum.
fn duckdb_sum(asked: &Asked, setup: &Setup, rounds: usize) -> Option<(f64, String)> {
    const SCRIPT: &str = "
import sys, time, duckdb
best = 9e9
for _ in range(int(sys.argv[3])):
    start = time.perf_counter()
    question = f\"select sum({sys.argv[2]}) from read_csv('{sys.argv[1]}', nullstr='NA')\"
    found = duckdb.sql(question).fetchall()[0][0]
    best = min(best, time.perf_counter() - start)
print(best, found)
";
    let mut python = setup.python().script(&["duckdb"], SCRIPT)?;
    let ran =
        python.arg(&asked.csv).arg(asked.facts.summed.0).arg(rounds.to_string()).output().ok()?;
    let said = String::from_utf8(ran.stdout).ok()?;
    let (seconds, sum) = said.trim().split_once(' ')?;
    Some((seconds.parse().ok()?, sum.to_owned()))
}
