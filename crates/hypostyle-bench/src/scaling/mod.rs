//! How speed depends on threads, file size and number of columns.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::Result;
use crate::data::{self, TableShape};
use crate::packers::Tool;
use crate::page::ReportPage;
use crate::setup::Setup;
use crate::table::megabytes;

mod tables;
mod tasks;

pub(crate) use tasks::{QueryArgs, StringsArgs, query, strings};

use tasks::{Outcome, Task};

/// The sizes in MB of CSV, and the numbers of columns. The baseline has [`BASE_SIZE`] and
/// [`BASE_COLUMNS`].
const SIZES: [usize; 3] = [1, 10, 100];
const COLUMNS: [usize; 4] = [10, 100, 1000, 10_000];
const BASE_SIZE: usize = 10;
const BASE_COLUMNS: usize = 10;

/// The number of rounds of a process, unless they take more than so many seconds.
const ROUNDS: usize = 5;
const SECONDS: f64 = 2.0;

/// A generated table.
#[derive(Debug)]
struct ScaledTable {
    /// The requested size; [`ScaledTable::bytes`] is the actual size.
    megabytes: usize,
    columns: usize,
    rows: u64,
    bytes: u64,
    folder: PathBuf,
}

impl ScaledTable {
    fn generate(megabytes: usize, columns: usize, folder: &Path) -> Result<Self> {
        let shape = TableShape::of_size(megabytes as u64 * 1_000_000, columns)?;
        let folder = folder.to_path_buf();
        let mut table = Self { megabytes, columns, rows: shape.rows, bytes: 0, folder };
        let path = table.file("csv");
        data::write_csv(shape, &mut File::create(&path)?)?;
        table.bytes = fs::metadata(&path)?.len();
        Ok(table)
    }

    /// Returns the path of a file derived from this table.
    fn file(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}-{}.{end}", self.megabytes, self.columns))
    }

    /// Returns the CPU limit of a process in seconds.
    fn limit(&self) -> u64 {
        if self.megabytes > BASE_SIZE { 180 } else { 60 }
    }

    /// Returns the MB that a task processes.
    fn task_megabytes(&self, task: Task) -> f64 {
        match task {
            // Strings have exactly the requested size.
            Task::Compress | Task::Decode => megabytes(self.megabytes as u64 * 1_000_000),
            _ => megabytes(self.bytes),
        }
    }
}

impl fmt::Display for ScaledTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MB, {} columns", self.megabytes, self.columns)
    }
}

/// The outcome of one task on one table.
#[derive(Debug)]
struct Measurement {
    task: Task,
    threads: usize,
    /// The index of the table.
    table: usize,
    outcome: Outcome,
}

/// All outcomes.
#[derive(Debug)]
struct ScalingResults {
    tables: Vec<ScaledTable>,
    measurements: Vec<Measurement>,
    /// The measured sizes and numbers of columns, and the size of the baseline.
    sizes: Vec<usize>,
    columns: Vec<usize>,
    base_size: usize,
}

impl ScalingResults {
    fn table_index(&self, megabytes: usize, columns: usize) -> Option<usize> {
        let is = |it: &ScaledTable| (it.megabytes, it.columns) == (megabytes, columns);
        self.tables.iter().position(is)
    }

    fn has(&self, task: Task) -> bool {
        self.measurements.iter().any(|it| it.task == task)
    }

    fn outcome(&self, task: Task, threads: usize, table: Option<usize>) -> Outcome {
        let is =
            |it: &&Measurement| (it.task, it.threads, Some(it.table)) == (task, threads, table);
        self.measurements.iter().find(is).map_or(Outcome::Failed, |it| it.outcome)
    }

    /// Returns seconds per MB: CPU time on one thread, which is independent of the load of the
    /// machine, and wall time on several threads.
    fn per_megabyte(&self, task: Task, threads: usize, table: Option<usize>) -> Option<f64> {
        let megabytes = self.tables.get(table?)?.task_megabytes(task);
        match self.outcome(task, threads, table) {
            Outcome::Took(usage) => {
                let seconds = if threads == 1 { usage.cost.cpu } else { usage.cost.wall };
                Some(seconds / megabytes)
            }
            Outcome::TooLong(_) | Outcome::Failed => None,
        }
    }

    /// Returns seconds per MB as a multiple of the baseline.
    fn over_base(&self, task: Task, threads: usize, table: Option<usize>) -> Option<f64> {
        let base =
            self.per_megabyte(task, threads, self.table_index(self.base_size, BASE_COLUMNS))?;
        Some(self.per_megabyte(task, threads, table)? / base)
    }
}

pub(crate) fn run(setup: &Setup, page: &mut ReportPage) -> Result<()> {
    let folder = setup.folder("scaling")?;
    let (sizes, columns, base_size) = if setup.quick {
        (vec![1], vec![10, 100], 1)
    } else {
        (SIZES.to_vec(), COLUMNS.to_vec(), BASE_SIZE)
    };
    let mut results =
        ScalingResults { tables: Vec::new(), measurements: Vec::new(), sizes, columns, base_size };
    let xz = Tool::Xz.version().ok();
    let by_size = results.sizes.iter().map(|&size| (size, BASE_COLUMNS));
    let by_columns = results.columns.iter().map(|&columns| (base_size, columns));
    let mut shapes: Vec<(usize, usize)> = by_size.chain(by_columns).collect();
    shapes.sort_by_key(|&(size, columns)| (columns, size));
    shapes.dedup();
    for (index, (size, columns)) in shapes.into_iter().enumerate() {
        let table = ScaledTable::generate(size, columns, &folder)?;
        eprintln!("{table}: {} rows, {} bytes", table.rows, table.bytes);
        for task in tasks::ALL {
            let is_missing = matches!(task, Task::Xz | Task::Unxz) && xz.is_none();
            // Level 6 is by far the slowest.
            let is_long = matches!(task, Task::Pack(6) | Task::Unpack(6)) && setup.quick;
            if task.supports(&table) && !is_missing && !is_long {
                let outcomes = on_threads(task, &table, setup.rounds(ROUNDS));
                results.measurements.extend(outcomes.into_iter().map(|(threads, outcome)| {
                    Measurement { task, threads, table: index, outcome }
                }));
            }
        }
        // The files can be large and are no longer needed.
        for entry in fs::read_dir(&folder)? {
            fs::remove_file(entry?.path())?;
        }
        results.tables.push(table);
    }
    tables::report(page, &results, xz.as_deref());
    Ok(())
}

fn on_threads(task: Task, table: &ScaledTable, rounds: usize) -> Vec<(usize, Outcome)> {
    let mut outcomes: Vec<(usize, Outcome)> = Vec::new();
    for &threads in task.threads() {
        let outcome = match outcomes.last() {
            Some((_, Outcome::TooLong(limit))) => Outcome::TooLong(*limit),
            _ => task.run(table, threads, rounds, SECONDS),
        };
        match outcome {
            Outcome::Took(usage) => eprintln!("  {task}, {threads}: {:.3} s", usage.cost.wall),
            Outcome::TooLong(limit) => eprintln!("  {task}, {threads}: more than {limit} CPU s"),
            Outcome::Failed => {}
        }
        outcomes.push((threads, outcome));
    }
    outcomes
}
