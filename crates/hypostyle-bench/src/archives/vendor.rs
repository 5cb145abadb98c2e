//! The vendor's decoder, which is outside the workspace; see the README of `hypostyle-oracle`.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::Result;

/// The manifest of the oracle, relative to the root of the project.
const MANIFEST: &str = "crates/hypostyle-oracle/Cargo.toml";

/// The built program that times the vendor's decoder and ours.
#[derive(Debug)]
pub(super) struct Vendor {
    cargo: OsString,
}

/// The cost of three decoders on an archive, from memory to memory: the vendor's, ours on one
/// thread, and ours on two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decoded {
    pub(super) milliseconds: [f64; 3],
    /// Our speedups over the vendor's decoder, which the program computes before it rounds the
    /// milliseconds.
    speedups: [f64; 2],
    pub(super) cpu: [f64; 3],
    /// Peak memory in MiB.
    pub(super) memory: [f64; 3],
}

impl Vendor {
    /// Builds the program, which needs two system libraries.
    pub(super) fn build() -> Result<Self> {
        if !Path::new(MANIFEST).exists() {
            return Err(format!("{MANIFEST} does not exist").into());
        }
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        eprintln!("building the vendor's decoder");
        let mut build = Command::new(&cargo);
        build.args(["build", "--quiet", "--release", "--manifest-path", MANIFEST]);
        let output = build.output()?;
        if !output.status.success() {
            let printed = String::from_utf8_lossy(&output.stderr);
            return Err(format!("the build failed: {}", reason(&printed)).into());
        }
        Ok(Self { cargo })
    }

    /// Times the decoders on an archive; prints a message and returns `None` if one fails.
    pub(super) fn decode(&self, archive: &Path, name: &str) -> Option<Decoded> {
        let mut command = Command::new(&self.cargo);
        command.args(["run", "--quiet", "--release", "--manifest-path", MANIFEST, "--", "speed"]);
        let output = command.arg(archive).output();
        let printed = output.as_ref().map(|output| String::from_utf8_lossy(&output.stdout));
        let decoded = printed.ok().and_then(|printed| Decoded::parse(&printed));
        if decoded.is_none() {
            let why = output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
            eprintln!("the vendor's decoder was not timed on {name}: {why:?}");
        }
        decoded
    }
}

/// Returns why a build failed: the message of the C compiler about a missing header, or else that
/// of cargo.
fn reason(printed: &str) -> &str {
    let after = |mark: &str| printed.lines().find_map(|line| Some(line.split_once(mark)?.1.trim()));
    after("fatal error: ").or_else(|| after("error: ")).unwrap_or("unknown reason")
}

impl Decoded {
    /// Parses the first row of the table that the program prints.
    fn parse(table: &str) -> Option<Self> {
        let rows = |line: &str| -> Vec<String> {
            line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        let mut lines = table.lines();
        let head = rows(lines.next()?);
        let row = rows(lines.nth(1)?);
        let figure = |name: &str| {
            let column = head.iter().position(|head| head == name)?;
            row.get(column)?.parse::<f64>().ok()
        };
        let three = |names: [&str; 3]| {
            let [a, b, c] = names.map(figure);
            Some([a?, b?, c?])
        };
        Some(Self {
            milliseconds: three(["vendor ms", "ours 1", "ours 2"])?,
            speedups: [figure("speedup 1")?, figure("speedup 2")?],
            cpu: three(["CPU vendor", "CPU 1", "CPU 2"])?,
            memory: three(["MiB vendor", "MiB 1", "MiB 2"])?,
        })
    }

    /// Returns our speedup over the vendor's decoder on so many threads.
    pub(super) fn speed(&self, threads: usize) -> f64 {
        let [one, two] = self.speedups;
        if threads == 1 { one } else { two }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_header_is_the_reason() {
        let printed = "\
error: failed to run custom build command for `at1`
  csrc/decode.c:27:10: fatal error: zstd.h: No such file or directory
warning: build failed, waiting for other jobs to finish...
";
        assert_eq!(reason(printed), "zstd.h: No such file or directory");
        assert_eq!(reason("error: no such crate\n"), "no such crate");
        assert_eq!(reason(""), "unknown reason");
    }

    #[test]
    fn columns_are_found_by_their_head() {
        let table = "\
| archive | bytes | text | vendor ms | ours 1 | ours 2 | speedup 1 | speedup 2 | CPU vendor | CPU 1 \
| CPU 2 | MiB vendor | MiB 1 | MiB 2 |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
| Level 6 | 10 | 20 | 9.0 | 3.0 | 2.0 | 3.01 | 4.49 | 8.0 | 3.0 | 3.5 | 7.5 | 5.0 | 6.0 |

targets (speedup of 2 on one thread and 4 on two, no more memory): met
";
        let decoded = Decoded::parse(table).unwrap();
        assert_eq!(decoded.milliseconds, [9.0, 3.0, 2.0]);
        assert_eq!(decoded.memory, [7.5, 5.0, 6.0]);
        assert_eq!([decoded.speed(1), decoded.speed(2)], [3.01, 4.49]);
        assert_eq!(Decoded::parse("error: refused\n"), None);
    }
}
