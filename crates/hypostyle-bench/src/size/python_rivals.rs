//! Rivals from Python wheels, which store the values of a file and not always its bytes.

use std::fmt;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::corpus::CorpusFile;
use crate::rivals::Python;

/// A format or tool from a Python wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PythonRival {
    Parquet,
    Datacortex,
    ClpS,
}

/// The result of a rival.
#[derive(Clone, Copy, Debug)]
pub(super) struct RivalSize {
    pub(super) bytes: u64,
    /// Whether the rival restored the exact bytes; `None` if it is not meant to.
    pub(super) is_exact: Option<bool>,
}

/// datacortex takes minutes on larger files.
const MAX_DATACORTEX_BYTES: u64 = 10_000_000;

impl PythonRival {
    pub(super) const ALL: [Self; 3] = [Self::Parquet, Self::Datacortex, Self::ClpS];

    /// Returns the Python module of the rival.
    pub(super) fn module(self) -> &'static str {
        match self {
            Self::Parquet => "pyarrow",
            Self::Datacortex => "datacortex",
            Self::ClpS => "yscope_clp_core",
        }
    }

    fn supports(self, sample: &CorpusFile) -> bool {
        match self {
            Self::Parquet => sample.is_table(),
            Self::Datacortex => sample.is_json_lines() && sample.bytes <= MAX_DATACORTEX_BYTES,
            Self::ClpS => sample.is_json_lines(),
        }
    }

    /// Returns a script that takes an input and an output path, and prints the size and whether the
    /// bytes were restored.
    fn script(self) -> &'static str {
        match self {
            Self::Parquet => PARQUET,
            Self::Datacortex => DATACORTEX,
            Self::ClpS => CLP_S,
        }
    }
}

impl fmt::Display for PythonRival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parquet => "Parquet, zstd 19",
            Self::Datacortex => "datacortex",
            Self::ClpS => "clp-s, level 19",
        })
    }
}

/// Runs every rival that supports a file. Prints and omits rivals that fail.
pub(super) fn measure(
    sample: &CorpusFile,
    python: &Python,
    folder: &Path,
) -> Vec<(PythonRival, RivalSize)> {
    let mut all = Vec::new();
    for rival in PythonRival::ALL.into_iter().filter(|rival| rival.supports(sample)) {
        let Some(mut command) = python.script(&[rival.module()], rival.script()) else {
            continue;
        };
        let to = folder.join(format!("{}, {rival}", sample.name));
        match run(command.arg(&sample.path).arg(to)) {
            Ok(size) => all.push((rival, size)),
            Err(err) => eprintln!("omitted: {rival} of {}: {err}", sample.name),
        }
    }
    all
}

fn run(command: &mut Command) -> Result<RivalSize> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    RivalSize::parse(&String::from_utf8(output.stdout)?)
}

impl RivalSize {
    fn parse(line: &str) -> Result<Self> {
        let mut words = line.split_whitespace();
        let bytes = words.next().ok_or("the script did not print a size")?.parse()?;
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
    fn inexact_differs_from_not_meant_to_be_exact() {
        let exact = |line| RivalSize::parse(line).map(|size| (size.bytes, size.is_exact)).ok();
        assert_eq!(exact("7\n"), Some((7, None)));
        assert_eq!(exact("7 True\n"), Some((7, Some(true))));
        assert_eq!(exact("7 False\n"), Some((7, Some(false))));
        assert_eq!(exact(""), None);
    }
}
