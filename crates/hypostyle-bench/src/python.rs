//! Python as a yardstick for the speed of the machine.
//!
//! The figures of the reference implementations come from another machine. Two functions of Python's
//! standard library were timed there as well; timing them here compares the two machines.

use std::path::Path;
use std::process::Command;

use crate::Result;

/// CPU seconds of the yardsticks on one machine, for the table of ten columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Yardsticks {
    /// `csv.reader` over the CSV file.
    pub(crate) scan: f64,
    /// `zlib.decompress` of all blocks of the COLM file.
    pub(crate) inflate: f64,
}

/// The machine of the references: 2 cores of an AMD EPYC, Python 3.11.7.
pub(crate) const REFERENCE: Yardsticks = Yardsticks { scan: 0.83, inflate: 0.28 };

impl Yardsticks {
    /// Times both on this machine, best of `rounds`; `None` without Python.
    pub(crate) fn measure(csv: &Path, colm: &Path, rounds: usize) -> Result<Option<Self>> {
        if Command::new("python3").arg("--version").output().is_err() {
            return Ok(None);
        }
        let best = |script: &str, file: &Path| -> Result<f64> {
            let mut best = f64::INFINITY;
            for _ in 0..rounds {
                let output = Command::new("python3").args(["-c", script]).arg(file).output()?;
                best = best.min(String::from_utf8(output.stdout)?.trim().parse()?);
            }
            Ok(best)
        };
        Ok(Some(Self { scan: best(SCAN, csv)?, inflate: best(INFLATE, colm)? }))
    }

    /// Returns how many times slower this machine is than that of the references: the smaller of two
    /// ratios, which is the less favourable one for us.
    pub(crate) fn slowness(self) -> f64 {
        (self.scan / REFERENCE.scan).min(self.inflate / REFERENCE.inflate)
    }
}

const SCAN: &str = "
import csv, sys, time
start = time.process_time()
with open(sys.argv[1], newline='', encoding='utf-8') as file:
    for row in csv.reader(file):
        pass
print(time.process_time() - start)
";

const INFLATE: &str = "
import struct, sys, time, zlib
data = open(sys.argv[1], 'rb').read()
columns, rows, at = struct.unpack_from('<IIQ', data, 8)
blocks = []
for _ in range(columns):
    at += 4 + struct.unpack_from('<I', data, at)[0] + 1
    stored, raw, offset = struct.unpack_from('<QQQ', data, at)
    blocks.append(data[offset:offset + stored])
    at += 24
start = time.process_time()
for block in blocks:
    zlib.decompress(block)
print(time.process_time() - start)
";
