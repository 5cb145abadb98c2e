//! Development tasks of the project: `cargo xtask test | check | features | viewer | ci | bench | oracle`.

mod process;
mod python;
mod runtimes;
mod viewer;

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use process::cargo;

const HELP: &str = "\
usage: cargo xtask TASK

  test            run all tests in Rust: unit, property, conformance, CLI and doc tests
  test --all      run these, and the tests that need other runtimes, which are installed under the
                  target folder: predicates in DuckDB (needs python3 with venv, and pip), SQL in
                  DataFusion (takes minutes to build), URLs with the S3 server s3s-fs, clusters of
                  Ballista, the Python package, the viewer (needs npm, and chromium)
  check           check formatting, clippy lints, docs and features
  features        run clippy on the library with the default features, with none, with each alone,
                  and with each pair of column files, and on the command with its features
  viewer          build the viewer of web/, and print its folder, which `hyp serve` takes
  ci              run test --all, then check
  bench [ARGS]    build in release mode and run the benchmarks; `--quick` only checks that they
                  run, `--write` updates docs/benchmarks, `--help` lists the benchmarks
  bench sql       the benchmark of SQL, which runs only if it is named: it builds DataFusion
  bench outside   build a program that depends on Hypostyle from outside the workspace, and check
                  that its LZMA encoder is fast
  oracle [ARGS]   build in release mode and compare the vendor's AT-1 decoder with ours; see
                  crates/hypostyle-oracle/README.md for prerequisites
";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => test(),
        ["test", "--all"] => test_all(),
        ["check"] => check(),
        ["features"] => features(),
        ["viewer"] => build_viewer(),
        ["ci"] => test_all() && check(),
        ["bench", "outside"] => outside(),
        ["bench", rest @ ..] => bench(rest),
        ["oracle", rest @ ..] => oracle(rest),
        _ => {
            let _ = io::stderr().write_all(HELP.as_bytes());
            return ExitCode::from(2);
        }
    };
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn test() -> bool {
    cargo(&["test", "--no-fail-fast"], &[])
}

/// Runs the tests of other runtimes too, also if some in Rust fail.
fn test_all() -> bool {
    let in_rust = test();
    runtimes::test() && in_rust
}

fn build_viewer() -> bool {
    let built = viewer::Viewer::build().map(|viewer| viewer.page());
    let (text, is_built) = match built {
        Ok(folder) => (folder.display().to_string(), true),
        Err(why) => (format!("failed: {why}"), false),
    };
    let _ = writeln!(io::stderr(), "\n{text}");
    is_built
}

fn check() -> bool {
    cargo(&["fmt", "--all", "--check"], &[])
        && cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])
        && cargo(
            &["doc", "--workspace", "--no-deps", "--document-private-items"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        )
        && features()
}

/// Runs clippy on the facade with every set of features that a dependent may pick.
///
/// The column files share code, so each pair of them is a set of its own.
fn features() -> bool {
    const SETS: [&str; 13] = [
        "",
        "arrow",
        "at1",
        "clmn",
        "colf",
        "colm",
        "csv",
        "json",
        "onpair",
        "parquet",
        "clmn,colf",
        "clmn,colm",
        "colf,colm",
    ];
    let clippy = |features: &[&str]| {
        let mut line = vec!["clippy", "--package", "hypostyle", "--lib"];
        line.extend(features);
        line.extend(["--", "-D", "warnings"]);
        cargo(&line, &[])
    };
    clippy(&[])
        && SETS.iter().all(|set| clippy(&["--no-default-features", "--features", set]))
        && command_features()
}

/// Runs clippy on the command with its features.
fn command_features() -> bool {
    let clippy = |packages: &[&str], features: &str| {
        let mut line = vec!["clippy", "--all-targets", "--features", features];
        line.extend(packages);
        line.extend(["--", "-D", "warnings"]);
        cargo(&line, &[])
    };
    let command = ["--package", "hypostyle-cli"];
    // The engine is checked once: with the crate for clusters, all sets are one to its dependencies.
    let with_cluster = [&command[..], &["--package", "hypostyle-ballista"]].concat();
    clippy(&command, "hypostyle-cli/remote")
        && clippy(&with_cluster, "hypostyle-cli/sql")
        && clippy(&with_cluster, "hypostyle-cli/sql,hypostyle-cli/remote")
        && clippy(&with_cluster, "hypostyle-cli/cluster")
}

fn bench(words: &[&str]) -> bool {
    let mut line = vec!["run", "--release", "--package", "hypostyle-bench"];
    // DataFusion takes long to build, so only its own bench does.
    if words.contains(&"sql") {
        line.extend(["--features", "sql"]);
    }
    line.push("--");
    line.extend(words);
    cargo(&line, &[])
}

fn outside() -> bool {
    let manifest = "crates/hypostyle-dependent/Cargo.toml";
    cargo(&["run", "--release", "--manifest-path", manifest], &[])
}

fn oracle(words: &[&str]) -> bool {
    let manifest = "crates/hypostyle-oracle/Cargo.toml";
    let mut line = vec!["run", "--release", "--manifest-path", manifest, "--"];
    line.extend(words);
    cargo(&line, &[])
}
