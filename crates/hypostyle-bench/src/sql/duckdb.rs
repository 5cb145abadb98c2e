//! DuckDB in a Python process, which runs statements until it is dropped.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::files::{Kind, TableFiles};
use super::rows::Rows;
use crate::Result;
use crate::measure::Cost;
use crate::rivals::Python;

/// The modules that the process needs.
pub(super) const MODULES: [&str; 2] = ["duckdb", "pyarrow"];

/// A process with a connection to an empty database, and views of files.
pub(super) struct DuckDb {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// Returns the expression that reads a file.
pub(super) fn source(table: &TableFiles, kind: Kind) -> String {
    let path = table.path(kind);
    match (kind, table.null) {
        (Kind::Parquet, _) => format!("read_parquet('{}')", path.display()),
        (_, Some(null)) => format!("read_csv('{}', nullstr = '{null}')", path.display()),
        (_, None) => format!("read_csv('{}')", path.display()),
    }
}

impl DuckDb {
    /// Starts the process; `None` without the wheel.
    pub(super) fn start(
        python: &Python,
        threads: usize,
        views: impl Iterator<Item = (String, String)>,
    ) -> Result<Option<Self>> {
        let Some(mut command) = python.script(&MODULES, include_str!("duckdb.py")) else {
            return Ok(None);
        };
        let tables: BTreeMap<String, String> = views.collect();
        command.arg(json!({ "threads": threads, "tables": tables }).to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("DuckDB has no output")?;
        Ok(Some(Self { child, input, output: BufReader::new(output) }))
    }

    /// Runs a statement.
    pub(super) fn run(&mut self, sql: &str) -> Result<(Cost, Rows)> {
        let input = self.input.as_mut().ok_or("DuckDB has no input")?;
        writeln!(input, "{}", json!(sql))?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let answer: Value =
            serde_json::from_str(&line).map_err(|err| format!("DuckDB has ended: {err}"))?;
        if let Some(why) = answer["failed"].as_str() {
            return Err(why.into());
        }
        let seconds = |key: &str| answer[key].as_f64().ok_or("DuckDB printed no time");
        let cost = Cost { wall: seconds("wall")?, cpu: seconds("cpu")? };
        let cell = |cell: &Value| cell.as_str().map(str::to_owned);
        let row = |row: &Value| row.as_array().into_iter().flatten().map(cell).collect();
        let rows = answer["rows"].as_array().into_iter().flatten().map(row).collect();
        Ok((cost, Rows::new(rows)))
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        // The end of its input ends the process.
        self.input = None;
        let _ = self.child.wait();
    }
}
