//! The vendor's decoder, which is built outside the workspace; see the README of
//! `hypostyle-oracle`.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::Result;

/// Seen from the project's root.
const MANIFEST: &str = "crates/hypostyle-oracle/Cargo.toml";

/// The program that runs it beside ours: built, and ready.
#[derive(Debug)]
pub(super) struct Vendor {
    cargo: OsString,
}

/// What three decoders took for an archive, from memory to memory: the vendor's, and ours with
/// one thread and with two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decoded {
    pub(super) milliseconds: [f64; 3],
    /// How many times as fast as the vendor's ours are. The program has taken this before it
    /// rounded milliseconds, of which small archives have few.
    times: [f64; 2],
    pub(super) cpu: [f64; 3],
    /// Most memory, in MiB.
    pub(super) memory: [f64; 3],
}

impl Vendor {
    /// Builds the program, which needs two libraries of the system.
    pub(super) fn build() -> Result<Self> {
        if !Path::new(MANIFEST).exists() {
            return Err(format!("there is no {MANIFEST} here").into());
        }
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        eprintln!("building the vendor's decoder");
        let mut build = Command::new(&cargo);
        build.args(["build", "--quiet", "--release", "--manifest-path", MANIFEST]);
        let output = build.output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("it does not build: {}", reason(&said)).into());
        }
        Ok(Self { cargo })
    }

    /// Times the decoders on an archive; `None`, and a word about it, if one refuses.
    pub(super) fn decode(&self, archive: &Path, name: &str) -> Option<Decoded> {
        let mut command = Command::new(&self.cargo);
        command.args(["run", "--quiet", "--release", "--manifest-path", MANIFEST, "--", "speed"]);
        let output = command.arg(archive).output();
        let said = output.as_ref().map(|output| String::from_utf8_lossy(&output.stdout));
        let decoded = said.ok().and_then(|said| Decoded::parse(&said));
        if decoded.is_none() {
            let why = output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
            eprintln!("the vendor's decoder has not been timed on {name}: {why:?}");
        }
        decoded
    }
}

/// Why a build has failed: what the C compiler says, where it is the libraries that are not
/// there, or else what cargo says.
fn reason(said: &str) -> &str {
    let after = |mark: &str| said.lines().find_map(|line| Some(line.split_once(mark)?.1.trim()));
    after("fatal error: ").or_else(|| after("error: ")).unwrap_or("nobody says why")
}

impl Decoded {
    /// The first row of the table that the program prints.
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
            times: [figure("times 1")?, figure("times 2")?],
            cpu: three(["CPU vendor", "CPU 1", "CPU 2"])?,
            memory: three(["MiB vendor", "MiB 1", "MiB 2"])?,
        })
    }

    /// How many times as fast as the vendor's ours is, with so many threads.
    pub(super) fn speed(&self, threads: usize) -> f64 {
        let [one, two] = self.times;
        if threads == 1 { one } else { two }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_missing_is_the_reason() {
        let said = "\
error: failed to run custom build command for `at1`
  csrc/decode.c:27:10: fatal error: zstd.h: No such file or directory
warning: build failed, waiting for other jobs to finish...
";
        assert_eq!(reason(said), "zstd.h: No such file or directory");
        assert_eq!(reason("error: no such crate\n"), "no such crate");
        assert_eq!(reason(""), "nobody says why");
    }

    #[test]
    fn the_table_of_the_program_is_read_by_its_head() {
        let table = "\
| archive | bytes | text | vendor ms | ours 1 | ours 2 | times 1 | times 2 | CPU vendor | CPU 1 \
| CPU 2 | MiB vendor | MiB 1 | MiB 2 |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
| Level 6 | 10 | 20 | 9.0 | 3.0 | 2.0 | 3.01 | 4.49 | 8.0 | 3.0 | 3.5 | 7.5 | 5.0 | 6.0 |

targets (2 times on one thread, 4 on two, less memory): met
";
        let decoded = Decoded::parse(table).unwrap();
        assert_eq!(decoded.milliseconds, [9.0, 3.0, 2.0]);
        assert_eq!(decoded.memory, [7.5, 5.0, 6.0]);
        assert_eq!([decoded.speed(1), decoded.speed(2)], [3.01, 4.49]);
        assert_eq!(Decoded::parse("error: refused\n"), None);
    }
}
