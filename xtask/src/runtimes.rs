//! Tests that need another runtime than Rust's: `cargo xtask test --all`.

use std::io::{self, Write};

use crate::python::Environment;

/// A test that needs another runtime.
struct RuntimeTest {
    name: &'static str,
    /// Prepares the runtime and runs the test; fails with what went wrong, or what to install.
    run: fn() -> Result<(), String>,
}

const ALL: [RuntimeTest; 1] =
    [RuntimeTest { name: "predicates in DuckDB", run: predicates_in_duckdb }];

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
