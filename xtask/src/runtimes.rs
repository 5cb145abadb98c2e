//! Tests that need another runtime than Rust's, or a large one: `cargo xtask test --all`.

use std::io::{self, Write};

use crate::process::cargo;
use crate::python::Environment;

/// A test that needs another runtime, or one that takes minutes to build.
struct RuntimeTest {
    name: &'static str,
    /// Prepares the runtime and runs the test; fails with what went wrong, or what to install.
    run: fn() -> Result<(), String>,
}

const ALL: [RuntimeTest; 2] = [
    RuntimeTest { name: "predicates in DuckDB", run: predicates_in_duckdb },
    RuntimeTest { name: "SQL in DataFusion", run: sql_in_datafusion },
];

/// Runs all tests, also after one has failed. Returns whether all succeeded.
pub(crate) fn test() -> bool {
    let mut failures = Vec::new();
    for test in &ALL {
        let _ = writeln!(io::stderr(), "\n# {}", test.name);
        if let Err(why) = (test.run)() {
            failures.push(format!("{}: {why}", test.name));
        }
    }
    for failure in &failures {
        let _ = writeln!(io::stderr(), "failed: {failure}");
    }
    failures.is_empty()
}

/// Compares the cases of `conformance/predicates` with DuckDB.
fn predicates_in_duckdb() -> Result<(), String> {
    let python = Environment::with_packages("duckdb", &["duckdb", "pyarrow"])?;
    python.run("conformance/predicates/check_duckdb.py")
}

/// Tests the formats as tables of DataFusion, and the command with it.
fn sql_in_datafusion() -> Result<(), String> {
    let crates = ["--package", "hypostyle-datafusion", "--package", "hypostyle-cli"];
    let mut line = vec!["test", "--no-fail-fast", "--features", "hypostyle-cli/sql"];
    line.extend(crates);
    // The other tests of the command ran without the feature.
    line.extend(["--test", "sql", "--lib", "--bins"]);
    let tested = cargo(&line, &[]);
    let documented = cargo(&["test", "--doc", "--package", "hypostyle-datafusion"], &[]);
    (tested && documented).then_some(()).ok_or_else(|| "tests failed".to_owned())
}
