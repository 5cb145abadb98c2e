//! Rivals in Python: each in a process of its own that is asked everything.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::question::{Asked, Question};
use crate::Result;
use crate::setup::Setup;

/// A rival, and the file that it is asked about.
#[derive(Debug)]
pub(super) struct Rival {
    pub(super) name: &'static str,
    /// What it is called where names must be short and plain.
    pub(super) key: &'static str,
    modules: &'static [&'static str],
    /// What it needs besides, over HTTP.
    far_modules: &'static [&'static str],
    /// The extension of its file, which has the table's name.
    extension: &'static str,
    script: &'static str,
}

const HARNESS: &str = include_str!("wheels/harness.py");

/// All rivals, and what they need.
pub(super) const ALL: [Rival; 5] = [
    Rival {
        name: "Parquet, pyarrow",
        key: "parquet",
        modules: &["pyarrow"],
        far_modules: &["fsspec", "aiohttp"],
        extension: "parquet",
        script: include_str!("wheels/parquet.py"),
    },
    Rival {
        name: "Parquet, DuckDB",
        key: "duckdb-parquet",
        modules: &["duckdb", "pyarrow"],
        far_modules: &[],
        extension: "parquet",
        script: include_str!("wheels/duckdb.py"),
    },
    Rival {
        name: "CSV, DuckDB",
        key: "duckdb-csv",
        modules: &["duckdb", "pyarrow"],
        far_modules: &[],
        extension: "csv",
        script: include_str!("wheels/duckdb.py"),
    },
    Rival {
        name: "Vortex",
        key: "vortex",
        modules: &["vortex", "pyarrow"],
        far_modules: &[],
        extension: "vortex",
        script: include_str!("wheels/vortex.py"),
    },
    Rival {
        name: "Lance",
        key: "lance",
        modules: &["lance", "pyarrow"],
        far_modules: &[],
        extension: "lance",
        script: include_str!("wheels/lance.py"),
    },
];

/// Everything that any of them needs.
pub(super) const MODULES: [&str; 6] = ["pyarrow", "duckdb", "vortex", "lance", "fsspec", "aiohttp"];

/// What a rival found.
#[derive(Debug)]
pub(super) struct Told {
    /// Bytes of its file.
    pub(super) bytes: u64,
    /// Seconds and rows of each question.
    pub(super) answers: Vec<(f64, u64)>,
}

impl Rival {
    fn file(&self, asked: &Asked) -> PathBuf {
        match self.extension {
            "csv" => asked.csv.clone(),
            other => asked.archive.with_extension(other),
        }
    }

    /// Asks everything, of the file or of what a server has of it at `url`; or says why that
    /// cannot be done. An answer other than ours is an error.
    pub(super) fn ask(
        &self,
        asked: &Asked,
        questions: &[Question],
        ours: &[u64],
        url: Option<&str>,
        setup: &Setup,
        rounds: usize,
    ) -> Result<std::result::Result<Told, String>> {
        let script = format!("{HARNESS}\n{}\nmain()\n", self.script);
        let modules = match url {
            Some(_) => [self.modules, self.far_modules].concat(),
            None => self.modules.to_vec(),
        };
        let Some(mut python) = setup.python().script(&modules, &script) else {
            return Ok(Err(format!("without the wheels of {}", modules.join(", "))));
        };
        let job = json!({
            "csv": absolute(&asked.csv)?,
            "file": absolute(&self.file(asked))?,
            "url": url,
            "key": self.key,
            "rounds": rounds,
            "questions": questions.iter().map(Question::to_json).collect::<Vec<_>>(),
        });
        let output = python.arg(job.to_string()).output()?;
        let failed = |why: &str| format!("{} fails: {why}", self.name);
        let told: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
            let said = String::from_utf8_lossy(&output.stderr);
            failed(said.trim().lines().last().unwrap_or("it says nothing"))
        })?;
        if let Some(why) = told["failed"].as_str() {
            // Not every rival reads over HTTP, but each reads a file.
            return if url.is_some() { Ok(Err(why.to_owned())) } else { Err(failed(why).into()) };
        }
        let answer = |answer: &Value| Some((answer["seconds"].as_f64()?, answer["rows"].as_u64()?));
        let answers = told["answers"].as_array().and_then(|all| all.iter().map(answer).collect());
        let answers: Vec<(f64, u64)> = answers.ok_or_else(|| failed("it says too little"))?;
        for ((question, ours), (_, rows)) in questions.iter().zip(ours).zip(&answers) {
            if ours != rows {
                let why = format!("{}: {rows} rows, but {ours} of ours", question.name);
                return Err(failed(&why).into());
            }
        }
        Ok(Ok(Told { bytes: told["bytes"].as_u64().unwrap_or_default(), answers }))
    }
}

fn absolute(path: &Path) -> Result<String> {
    Ok(std::path::absolute(path)?.to_string_lossy().into_owned())
}
