//! Tests that need another runtime than Rust's, or a large one: `cargo xtask test --all`.

use std::io::{self, Write};

use crate::process::{cargo, target_folder};
use crate::python::Environment;
use crate::viewer::Viewer;

/// A test that needs another runtime, or one that takes minutes to build.
struct RuntimeTest {
    name: &'static str,
    /// Prepares the runtime and runs the test; fails with what went wrong, or what to install.
    run: fn() -> Result<(), String>,
}

const ALL: [RuntimeTest; 6] = [
    RuntimeTest { name: "predicates in DuckDB", run: predicates_in_duckdb },
    RuntimeTest { name: "SQL in DataFusion", run: sql_in_datafusion },
    RuntimeTest { name: "URLs, and S3 by s3s-fs", run: urls },
    RuntimeTest { name: "clusters of Ballista", run: clusters },
    RuntimeTest { name: "the Python package", run: python_package },
    RuntimeTest { name: "the viewer in the browser", run: viewer },
];

/// The packages and features of all tests with the engine, so that it is built once. Ballista turns
/// on features of it and of what it is made of, so all are built with Ballista.
const WITH_ENGINE: [&str; 10] = [
    "--package",
    "hypostyle-datafusion",
    "--package",
    "hypostyle-remote",
    "--package",
    "hypostyle-ballista",
    "--package",
    "hypostyle-cli",
    "--features",
    "hypostyle-cli/cluster",
];

/// The S3-compatible server of the tests. Later versions need a newer Rust.
const S3_SERVER: (&str, &str) = ("s3s-fs", "0.14.1");

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
    let mut line = vec!["test", "--no-fail-fast"];
    line.extend(WITH_ENGINE);
    // The other tests of the command ran without the feature.
    line.extend(["--test", "sql", "--lib", "--bins"]);
    let tested = cargo(&line, &[]);
    let mut line = vec!["test", "--doc"];
    line.extend(WITH_ENGINE);
    let documented = cargo(&line, &[]);
    (tested && documented).then_some(()).ok_or_else(|| "tests failed".to_owned())
}

/// Tests files behind URLs, with an HTTP server of the tests and a real S3-compatible one.
fn urls() -> Result<(), String> {
    let program = s3_server()?;
    with_servers("remote", &program)
}

/// Tests schedulers and executors as processes, over files and over buckets.
fn clusters() -> Result<(), String> {
    let program = s3_server()?;
    with_servers("cluster", &program)
}

/// Runs a test of the command that needs the S3-compatible server.
fn with_servers(test: &str, program: &str) -> Result<(), String> {
    let mut line = vec!["test", "--no-fail-fast"];
    line.extend(WITH_ENGINE);
    line.extend(["--test", test, "--", "--include-ignored"]);
    let tested = cargo(&line, &[("HYPOSTYLE_S3_SERVER", program)]);
    tested.then_some(()).ok_or_else(|| "tests failed".to_owned())
}

/// Installs the S3-compatible server; returns its path.
fn s3_server() -> Result<String, String> {
    let (server, version) = S3_SERVER;
    let folder = target_folder().join("xtask").join(server);
    let root = folder.display().to_string();
    // An unoptimized build takes a minute, and is fast enough.
    let install = ["install", server, "--version", version, "--features", "binary", "--locked"];
    let install = [&install[..], &["--profile", "dev", "--root", &root]].concat();
    // Cargo does nothing if it is installed.
    if !cargo(&install, &[]) {
        return Err(format!("cargo cannot install {server} {version}"));
    }
    let program = folder.join("bin").join(format!("{server}{}", std::env::consts::EXE_SUFFIX));
    Ok(program.display().to_string())
}

/// Installs the Python package with its test dependencies, and runs its tests.
fn python_package() -> Result<(), String> {
    let python = Environment::with_packages("python", &["maturin"])?;
    // Without optimisation the package is built from what the other tests have compiled.
    let profile = [("MATURIN_PEP517_ARGS", "--profile dev")];
    let install = ["-m", "pip", "install", "--quiet", "./python[test]"];
    python.run_words(&install, &profile)?;
    python.run_words(&["-m", "pytest", "-q", "python"], &[])
}

/// Builds the viewer, compares the module in it with the native build on all conformance files,
/// and opens files in a browser.
fn viewer() -> Result<(), String> {
    let viewer = Viewer::build()?;
    let examples = ["build", "--package", "hypostyle-wasm", "--examples"];
    if !cargo(&examples, &[]) {
        return Err("the programs of the tests cannot be built".to_owned());
    }
    viewer.test()
}
