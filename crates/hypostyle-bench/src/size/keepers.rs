//! Rivals from wheels that keep the content of a file, and not always its bytes.

use std::fmt;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::corpus::Sample;
use crate::rivals::Python;

/// Who keeps the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeper {
    Parquet,
    Datacortex,
    ClpS,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) bytes: u64,
    /// Whether the very bytes came back; `None` where they are not meant to.
    pub(super) is_exact: Option<bool>,
}

/// More than this takes datacortex minutes.
const MOST: u64 = 10_000_000;

impl Keeper {
    pub(super) const ALL: [Self; 3] = [Self::Parquet, Self::Datacortex, Self::ClpS];

    /// The module that it needs.
    pub(super) fn module(self) -> &'static str {
        match self {
            Self::Parquet => "pyarrow",
            Self::Datacortex => "datacortex",
            Self::ClpS => "yscope_clp_core",
        }
    }

    fn suits(self, sample: &Sample) -> bool {
        match self {
            Self::Parquet => sample.is_table(),
            Self::Datacortex => sample.is_json_lines() && sample.bytes <= MOST,
            Self::ClpS => sample.is_json_lines(),
        }
    }

    /// Takes a file and a name to write to; prints bytes, and whether they came back.
    fn script(self) -> &'static str {
        match self {
            Self::Parquet => PARQUET,
            Self::Datacortex => DATACORTEX,
            Self::ClpS => CLP_S,
        }
    }
}

impl fmt::Display for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parquet => "Parquet, zstd 19",
            Self::Datacortex => "datacortex",
            Self::ClpS => "clp-s, level 19",
        })
    }
}

/// What each that suits a file makes of it; who fails is named and left out.
pub(super) fn keep(sample: &Sample, python: &Python, folder: &Path) -> Vec<(Keeper, Kept)> {
    let mut all = Vec::new();
    for keeper in Keeper::ALL.into_iter().filter(|keeper| keeper.suits(sample)) {
        let Some(mut command) = python.script(&[keeper.module()], keeper.script()) else {
            continue;
        };
        let to = folder.join(format!("{}, {keeper}", sample.name));
        match told(command.arg(&sample.path).arg(to)) {
            Ok(kept) => all.push((keeper, kept)),
            Err(err) => eprintln!("left out: {keeper} of {}: {err}", sample.name),
        }
    }
    all
}

fn told(command: &mut Command) -> Result<Kept> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Kept::parse(&String::from_utf8(output.stdout)?)
}

impl Kept {
    fn parse(line: &str) -> Result<Self> {
        let mut words = line.split_whitespace();
        let bytes = words.next().ok_or("it does not say how many bytes")?.parse()?;
        Ok(Self { bytes, is_exact: words.next().map(|word| word == "True") })
    }
}

const PARQUET: &str = "
import os, sys
import pyarrow.csv as csv, pyarrow.parquet as parquet
parse = csv.ParseOptions(delimiter='\\t' if sys.argv[1].endswith('tsv') else ',')
table = csv.read_csv(sys.argv[1], parse_options=parse)
parquet.write_table(table, sys.argv[2], compression='zstd', compression_level=19)
print(os.path.getsize(sys.argv[2]))
";

const DATACORTEX: &str = "
import sys, datacortex
original = open(sys.argv[1], 'rb').read()
packed = datacortex.compress(original)
print(len(packed), datacortex.decompress(packed) == original)
";

const CLP_S: &str = "
import os, subprocess, sys, yscope_clp_core
program = os.path.join(os.path.dirname(yscope_clp_core.__file__), 'bin', 'clp-s')
source, target = sys.argv[1:]
options = ['--compression-level', '19', '--single-file-archive', '--disable-log-order']
quiet = dict(check=True, stdout=subprocess.DEVNULL)
def files(folder):
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
subprocess.run([program, 'c', *options, target, source], **quiet)
subprocess.run([program, 'x', target, target + ' back'], **quiet)
back = b''.join(open(name, 'rb').read() for name in sorted(files(target + ' back')))
same = back == open(source, 'rb').read()
print(sum(map(os.path.getsize, files(target))), same)
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_exact_is_told_apart_from_what_is_not_meant_to_be() {
        let exact = |line| Kept::parse(line).map(|kept| (kept.bytes, kept.is_exact)).ok();
        assert_eq!(exact("7\n"), Some((7, None)));
        assert_eq!(exact("7 True\n"), Some((7, Some(true))));
        assert_eq!(exact("7 False\n"), Some((7, Some(false))));
        assert_eq!(exact(""), None);
    }
}
