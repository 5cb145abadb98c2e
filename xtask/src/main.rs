//! The project's own chores: `cargo xtask test | check | ci | bench | oracle`.

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};

const HELP: &str = "\
usage: cargo xtask CHORE

  test            run every test: units, properties, conformance, the command, doc examples
  check           what a reviewer's machine checks: format, clippy, docs
  ci              test, then check
  bench [NAME...] build in release and run the benchmarks beside the rivals; `--quick` only sees
                  that they run, `--write` puts their pages into docs/benchmarks; `bench --help`
                  says which there are
  bench outside   build a program that depends on Hypostyle from outside the workspace, and check
                  that its LZMA encoder is fast
  oracle [ARGS]   build in release and run the vendor's AT-1 decoder beside ours;
                  crates/hypostyle-oracle/README.md says what it needs
";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => test(),
        ["check"] => check(),
        ["ci"] => test() && check(),
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

fn check() -> bool {
    cargo(&["fmt", "--all", "--check"], &[])
        && cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])
        && cargo(
            &["doc", "--workspace", "--no-deps", "--document-private-items"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        )
}

fn bench(words: &[&str]) -> bool {
    let mut line = vec!["run", "--release", "--package", "hypostyle-bench", "--"];
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

/// Runs cargo in the workspace and says what it runs.
fn cargo(words: &[&str], variables: &[(&str, &str)]) -> bool {
    let _ = writeln!(io::stderr(), "\n$ cargo {}", words.join(" "));
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let status =
        Command::new(cargo).args(words).envs(variables.iter().copied()).current_dir(root).status();
    match status {
        Ok(status) => status.success(),
        Err(err) => {
            let _ = writeln!(io::stderr(), "cargo cannot be run: {err}");
            false
        }
    }
}
