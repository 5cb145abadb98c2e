//! Rival query engines in Python; each runs all queries in its own process.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::bench_query::{BenchQuery, QueriedTable};
use crate::Result;
use crate::setup::Setup;

/// A rival query engine and its file format.
#[derive(Debug)]
pub(super) struct QueryEngine {
    pub(super) name: &'static str,
    /// A short name for paths.
    pub(super) key: &'static str,
    modules: &'static [&'static str],
    /// Additional modules for HTTP.
    http_modules: &'static [&'static str],
    /// The extension of its file.
    extension: &'static str,
    script: &'static str,
}

const HARNESS: &str = include_str!("engines/harness.py");

/// All rival engines.
pub(super) const ALL: [QueryEngine; 5] = [
    QueryEngine {
        name: "Parquet, pyarrow",
        key: "parquet",
        modules: &["pyarrow"],
        http_modules: &["fsspec", "aiohttp"],
        extension: "parquet",
        script: include_str!("engines/parquet.py"),
    },
    QueryEngine {
        name: "Parquet, DuckDB",
        key: "duckdb-parquet",
        modules: &["duckdb", "pyarrow"],
        http_modules: &[],
        extension: "parquet",
        script: include_str!("engines/duckdb.py"),
    },
    QueryEngine {
        name: "CSV, DuckDB",
        key: "duckdb-csv",
        modules: &["duckdb", "pyarrow"],
        http_modules: &[],
        extension: "csv",
        script: include_str!("engines/duckdb.py"),
    },
    QueryEngine {
        name: "Vortex",
        key: "vortex",
        modules: &["vortex", "pyarrow"],
        http_modules: &[],
        extension: "vortex",
        script: include_str!("engines/vortex.py"),
    },
    QueryEngine {
        name: "Lance",
        key: "lance",
        modules: &["lance", "pyarrow"],
        http_modules: &[],
        extension: "lance",
        script: include_str!("engines/lance.py"),
    },
];

/// The modules that the engines need.
pub(super) const MODULES: [&str; 6] = ["pyarrow", "duckdb", "vortex", "lance", "fsspec", "aiohttp"];

/// The results of an engine.
#[derive(Debug)]
pub(super) struct EngineResults {
    /// The size of its file.
    pub(super) bytes: u64,
    /// Seconds and rows of each query.
    pub(super) answers: Vec<(f64, u64)>,
}

impl QueryEngine {
    fn file(&self, table: &QueriedTable) -> PathBuf {
        match self.extension {
            "csv" => table.csv.clone(),
            other => table.archive.with_extension(other),
        }
    }

    /// Runs all queries, on the local file or on the server at `url`. The inner error says why the
    /// engine is not available. Fails if a row count differs from ours.
    pub(super) fn run(
        &self,
        table: &QueriedTable,
        queries: &[BenchQuery],
        ours: &[u64],
        url: Option<&str>,
        setup: &Setup,
        rounds: usize,
    ) -> Result<std::result::Result<EngineResults, String>> {
        let script = format!("{HARNESS}\n{}\nmain()\n", self.script);
        let modules = match url {
            Some(_) => [self.modules, self.http_modules].concat(),
            None => self.modules.to_vec(),
        };
        let Some(mut python) = setup.python().script(&modules, &script) else {
            return Ok(Err(format!("missing Python modules: {}", modules.join(", "))));
        };
        let input = json!({
            "csv": absolute(&table.csv)?,
            "file": absolute(&self.file(table))?,
            "url": url,
            "key": self.key,
            "rounds": rounds,
            "queries": queries.iter().map(BenchQuery::to_json).collect::<Vec<_>>(),
        });
        let output = python.arg(input.to_string()).output()?;
        let failed = |why: &str| format!("{} failed: {why}", self.name);
        let output_json: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
            let stderr = String::from_utf8_lossy(&output.stderr);
            failed(stderr.trim().lines().last().unwrap_or("no error message"))
        })?;
        if let Some(why) = output_json["failed"].as_str() {
            // Some engines do not support HTTP, but all read local files.
            return if url.is_some() { Ok(Err(why.to_owned())) } else { Err(failed(why).into()) };
        }
        let answer = |answer: &Value| Some((answer["seconds"].as_f64()?, answer["rows"].as_u64()?));
        let answers =
            output_json["answers"].as_array().and_then(|all| all.iter().map(answer).collect());
        let answers: Vec<(f64, u64)> = answers.ok_or_else(|| failed("incomplete output"))?;
        for ((bench_query, ours), (_, rows)) in queries.iter().zip(ours).zip(&answers) {
            if ours != rows {
                let why = format!("{}: {rows} rows, ours has {ours}", bench_query.name);
                return Err(failed(&why).into());
            }
        }
        Ok(Ok(EngineResults { bytes: output_json["bytes"].as_u64().unwrap_or_default(), answers }))
    }
}

fn absolute(path: &Path) -> Result<String> {
    Ok(std::path::absolute(path)?.to_string_lossy().into_owned())
}
