//! Bytes and time of queries on a local archive, compared with xz piped into awk.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;

use hypostyle::ScanStats;
use hypostyle::formats::at1::{self, Choice, PackOptions};

use super::bench_query::{QueriedTable, Query, file, numbers, open, run_query};
use super::{ROUNDS, timed};
use crate::Result;
use crate::page::ReportPage;
use crate::setup::Setup;
use crate::table::{ReportTable, Target};

/// The rows per group of an archive for single-row lookups.
const SMALL_GROUP_ROWS: usize = 2500;

/// Queries the archive of one table, and compares with xz piped into awk, and with DuckDB.
pub(super) fn run(source_table: &QueriedTable, setup: &Setup, page: &mut ReportPage) -> Result<()> {
    let (archive, queries) = (&source_table.archive, source_table.queries);
    let rounds = setup.rounds(ROUNDS);
    let folder = archive.parent().unwrap_or(Path::new("."));
    let xz = folder.join("rival.xz");
    let written = Command::new("sh")
        .args(["-c", "xz -6 -T1 -c \"$1\" > \"$2\"", "sh"])
        .arg(&source_table.csv)
        .arg(&xz)
        .status();
    let has_xz = written.is_ok_and(|status| status.success());
    let awk = ["mawk", "awk"].into_iter().find(|awk| {
        Command::new(awk).arg("BEGIN {}").output().is_ok_and(|ran| ran.status.success())
    });
    page.heading(&format!("Queries of {}", source_table.name));
    page.add(format!(
        "Seconds from opening the file to typed columns in memory. The rival is `xz -dc` piped into \
         {}, the fastest available filter.",
        awk.unwrap_or("awk (missing)")
    ));
    let head = [
        "Query",
        "Predicate",
        "Rows",
        "Row groups read",
        "Bytes read",
        "Share of archive",
        "Seconds",
        "xz, awk: seconds",
        "Speedup",
    ];
    let mut table = ReportTable::new(head);
    let share = |stats: &ScanStats| stats.bytes_read as f64 / stats.bytes.max(1) as f64;
    let mut figures = Vec::new();
    for published in &queries.published {
        let (name, filter, bench_query) = (published.name, published.awk, published.bench_query());
        let (predicate, query) =
            (bench_query.predicate().unwrap_or_default(), bench_query.query()?);
        let (seconds, answer) =
            timed(rounds, || run_query(source_table.source()?, &source_table.name, &query, None))?;
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
            format!("`{predicate}`"),
            stats.rows_returned.to_string(),
            format!("{} of {}", stats.row_groups_read, stats.row_groups),
            stats.bytes_read.to_string(),
            format!("{:.2} %", 100.0 * share(stats)),
            format!("{seconds:.4}"),
            rival.map_or("missing".to_owned(), |rival| format!("{rival:.3}")),
            rival.map_or("–".to_owned(), |rival| format!("{:.1}", rival / seconds)),
        ]);
    }
    page.table("queries", &table);

    let (column, at) = queries.summed;
    let query = Query::column(column);
    let (sum_seconds, (sum, stats)) = timed(rounds, || {
        let answer = run_query(source_table.source()?, &source_table.name, &query, None)?;
        Ok((numbers(&answer)?.iter().sum::<i64>(), answer.stats))
    })?;
    let blocks = column_bytes(source_table, at)?;
    let duckdb = duckdb_sum(source_table, setup, rounds);
    let by_number = Query::row(queries.row);
    let (row_seconds, row) =
        timed(rounds, || run_query(source_table.source()?, &source_table.name, &by_number, None))?;
    let mut table = ReportTable::new(["Operation", "Bytes read", "Seconds", "Rival"]);
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
        format!("row {}, all columns", queries.row),
        row.stats.bytes_read.to_string(),
        format!("{row_seconds:.4}"),
        "–".to_owned(),
    ]);
    // Small row groups make single-row lookups cheaper and the archive larger.
    let small = folder.join("small.at1");
    let options = PackOptions::default()
        .with_codec(Choice::Query)
        .with_name(Some(&source_table.name))
        .with_rows_per_group(NonZeroUsize::new(SMALL_GROUP_ROWS));
    let (packed, done) = at1::pack(&fs::read(&source_table.csv)?, &options)?;
    fs::write(&small, packed)?;
    let (small_seconds, small_row) =
        timed(rounds, || run_query(file(&small)?, &source_table.name, &by_number, None))?;
    table.row([
        format!(
            "the same with `--rows-per-group {SMALL_GROUP_ROWS}` (archive of {} bytes)",
            done.stored
        ),
        small_row.stats.bytes_read.to_string(),
        format!("{small_seconds:.4}"),
        "–".to_owned(),
    ]);
    page.table("others", &table);

    if !queries.has_targets {
        return Ok(());
    }
    let mut target = |what: &str, figure, wanted| page.target(what, Some(figure), wanted);
    for (name, share, faster) in figures {
        match (name, faster) {
            ("one day", _) => {
                target("share of the archive read for one day", share, Target::AtMost(0.02))
            }
            (name, Some(faster)) if name.starts_with("1 %") => {
                target(
                    "speedup over xz and awk for 1 % of the rows",
                    faster,
                    Target::AtLeast(10.0),
                );
            }
            _ => {}
        }
    }
    let over = stats.bytes_read as f64 / blocks.max(1) as f64;
    target("bytes read for a sum / size of the column's blocks", over, Target::AtMost(1.3));
    if let Some((seconds, _)) = duckdb {
        let faster = seconds / sum_seconds;
        target("speedup over DuckDB for a sum", faster, Target::AtLeast(1.0));
    }
    target("share of the archive read for a row lookup", share(&row.stats), Target::AtMost(0.04));
    Ok(())
}

/// Returns the size of the blocks of one column.
fn column_bytes(source_table: &QueriedTable, column: usize) -> Result<u64> {
    let table = open(source_table.source()?, &source_table.name, None)?;
    let reader = table.reader()?;
    let ranges = (0..reader.row_groups()).flat_map(|group| reader.ranges(group, &[column]));
    // Row groups may share a block.
    let ranges: BTreeSet<(u64, u64)> = ranges.map(|range| (range.start, range.end)).collect();
    Ok(ranges.iter().map(|(start, end)| end - start).sum())
}

/// Sums a column of the CSV file with DuckDB. Returns the seconds and the sum.
fn duckdb_sum(source_table: &QueriedTable, setup: &Setup, rounds: usize) -> Option<(f64, String)> {
    const SCRIPT: &str = "
import sys, time, duckdb
best = 9e9
for _ in range(int(sys.argv[3])):
    start = time.perf_counter()
    query = f\"select sum({sys.argv[2]}) from read_csv('{sys.argv[1]}', nullstr='NA')\"
    found = duckdb.sql(query).fetchall()[0][0]
    best = min(best, time.perf_counter() - start)
print(best, found)
";
    let mut python = setup.python().script(&["duckdb"], SCRIPT)?;
    let ran = python
        .arg(&source_table.csv)
        .arg(source_table.queries.summed.0)
        .arg(rounds.to_string())
        .output()
        .ok()?;
    let stdout = String::from_utf8(ran.stdout).ok()?;
    let (seconds, sum) = stdout.trim().split_once(' ')?;
    Some((seconds.parse().ok()?, sum.to_owned()))
}
