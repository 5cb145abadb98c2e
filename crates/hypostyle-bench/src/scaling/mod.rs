//! How speed depends on threads, on sizes and on columns.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::Result;
use crate::data::{self, Shape};
use crate::packers::Tool;
use crate::page::Page;
use crate::setup::Setup;
use crate::table;

mod jobs;
mod tables;

pub(crate) use jobs::{AskArgs, StringsArgs, ask, strings};

use jobs::{Outcome, Work};

/// MB of CSV, and columns; what everything is compared with is of [`BASE_SIZE`] and
/// [`BASE_COLUMNS`].
const SIZES: [usize; 3] = [1, 10, 100];
const COLUMNS: [usize; 4] = [10, 100, 1000, 10_000];
const BASE_SIZE: usize = 10;
const BASE_COLUMNS: usize = 10;

/// How often a process is run, unless that has taken so many seconds.
const ROUNDS: usize = 5;
const SECONDS: f64 = 2.0;

/// A table that is measured.
#[derive(Debug)]
struct Sample {
    /// What was asked for; [`Sample::bytes`] is what it became.
    megabytes: usize,
    columns: usize,
    rows: u64,
    bytes: u64,
    folder: PathBuf,
}

impl Sample {
    fn make(megabytes: usize, columns: usize, folder: &Path) -> Result<Self> {
        let shape = Shape::of_size(megabytes as u64 * 1_000_000, columns)?;
        let folder = folder.to_path_buf();
        let mut sample = Self { megabytes, columns, rows: shape.rows, bytes: 0, folder };
        let path = sample.file("csv");
        data::write_csv(shape, &mut File::create(&path)?)?;
        sample.bytes = fs::metadata(&path)?.len();
        Ok(sample)
    }

    /// A file that was made of it.
    fn file(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}-{}.{end}", self.megabytes, self.columns))
    }

    /// CPU seconds after which a process is ended.
    fn limit(&self) -> u64 {
        if self.megabytes > BASE_SIZE { 180 } else { 60 }
    }

    /// MB that a work has to do with.
    fn work(&self, work: Work) -> f64 {
        match work {
            // Strings are made to size.
            Work::Compress | Work::Decode => table::megabytes(self.megabytes as u64 * 1_000_000),
            _ => table::megabytes(self.bytes),
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MB, {} columns", self.megabytes, self.columns)
    }
}

/// One figure.
#[derive(Debug)]
struct Cell {
    work: Work,
    threads: usize,
    /// Which of the samples.
    sample: usize,
    outcome: Outcome,
}

/// All figures.
#[derive(Debug)]
struct Found {
    samples: Vec<Sample>,
    cells: Vec<Cell>,
    /// The sizes and the columns that were measured, and what they are compared with.
    sizes: Vec<usize>,
    columns: Vec<usize>,
    base_size: usize,
}

impl Found {
    fn sample(&self, megabytes: usize, columns: usize) -> Option<usize> {
        let is = |it: &Sample| (it.megabytes, it.columns) == (megabytes, columns);
        self.samples.iter().position(is)
    }

    fn has(&self, work: Work) -> bool {
        self.cells.iter().any(|it| it.work == work)
    }

    fn outcome(&self, work: Work, threads: usize, sample: Option<usize>) -> Outcome {
        let is = |it: &&Cell| (it.work, it.threads, Some(it.sample)) == (work, threads, sample);
        self.cells.iter().find(is).map_or(Outcome::Nothing, |it| it.outcome)
    }

    /// Seconds for each MB: of the processor for one thread, which do not depend on who else
    /// is on the machine, and on the clock for several.
    fn per_megabyte(&self, work: Work, threads: usize, sample: Option<usize>) -> Option<f64> {
        let megabytes = self.samples.get(sample?)?.work(work);
        match self.outcome(work, threads, sample) {
            Outcome::Took(usage) => {
                let seconds = if threads == 1 { usage.cost.cpu } else { usage.cost.wall };
                Some(seconds / megabytes)
            }
            Outcome::TooLong(_) | Outcome::Nothing => None,
        }
    }

    /// Seconds for each MB, in multiples of those for the base.
    fn over_base(&self, work: Work, threads: usize, sample: Option<usize>) -> Option<f64> {
        let base = self.per_megabyte(work, threads, self.sample(self.base_size, BASE_COLUMNS))?;
        Some(self.per_megabyte(work, threads, sample)? / base)
    }
}

pub(crate) fn run(setup: &Setup, page: &mut Page) -> Result<()> {
    let folder = setup.folder("scaling")?;
    let (sizes, columns, base_size) = match setup.quick {
        true => (vec![1], vec![10, 100], 1),
        false => (SIZES.to_vec(), COLUMNS.to_vec(), BASE_SIZE),
    };
    let mut found = Found { samples: Vec::new(), cells: Vec::new(), sizes, columns, base_size };
    let xz = Tool::Xz.version().ok();
    let by_size = found.sizes.iter().map(|&size| (size, BASE_COLUMNS));
    let by_columns = found.columns.iter().map(|&columns| (base_size, columns));
    let mut shapes: Vec<(usize, usize)> = by_size.chain(by_columns).collect();
    shapes.sort_by_key(|&(size, columns)| (columns, size));
    shapes.dedup();
    for (index, (size, columns)) in shapes.into_iter().enumerate() {
        let sample = Sample::make(size, columns, &folder)?;
        eprintln!("{sample}: {} rows, {} bytes", sample.rows, sample.bytes);
        for work in jobs::ALL {
            let is_missing = matches!(work, Work::Xz | Work::Unxz) && xz.is_none();
            // Level 6 is what takes longest by far.
            let is_long = matches!(work, Work::Pack(6) | Work::Unpack(6)) && setup.quick;
            if work.is_for(&sample) && !is_missing && !is_long {
                let outcomes = on_threads(work, &sample, setup.rounds(ROUNDS));
                found.cells.extend(outcomes.into_iter().map(|(threads, outcome)| Cell {
                    work,
                    threads,
                    sample: index,
                    outcome,
                }));
            }
        }
        // They can be large, and are not needed any more.
        for entry in fs::read_dir(&folder)? {
            fs::remove_file(entry?.path())?;
        }
        found.samples.push(sample);
    }
    tables::report(page, &found, xz.as_deref());
    Ok(())
}

fn on_threads(work: Work, sample: &Sample, rounds: usize) -> Vec<(usize, Outcome)> {
    let mut outcomes: Vec<(usize, Outcome)> = Vec::new();
    for &threads in work.threads() {
        let outcome = match outcomes.last() {
            Some((_, Outcome::TooLong(limit))) => Outcome::TooLong(*limit),
            _ => work.run(sample, threads, rounds, SECONDS),
        };
        match outcome {
            Outcome::Took(usage) => eprintln!("  {work}, {threads}: {:.3} s", usage.cost.wall),
            Outcome::TooLong(limit) => eprintln!("  {work}, {threads}: more than {limit} CPU s"),
            Outcome::Nothing => {}
        }
        outcomes.push((threads, outcome));
    }
    outcomes
}
