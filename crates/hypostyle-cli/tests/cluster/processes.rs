//! A scheduler and executors as processes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time that a server takes to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A temporary folder in which `hyp` runs.
pub(crate) struct Folder {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    /// Returns a path with all links resolved.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Sets a variable of the environment.
    pub(crate) fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        // A proxy of the machine does not lead to the loopback interface.
        command.env("NO_PROXY", "*").current_dir(self.folder.path());
        command.envs(self.variables.iter().cloned());
        command
    }

    pub(crate) fn hyp(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(env!("CARGO_BIN_EXE_hyp")).args(words))
    }

    /// Runs a command that must succeed, and returns what it prints.
    #[track_caller]
    pub(crate) fn ok(&self, words: &[&str]) -> String {
        let ran = self.hyp(words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.err);
        ran.out
    }

    /// Runs a command that must fail, and returns its error.
    #[track_caller]
    pub(crate) fn fails(&self, words: &[&str]) -> String {
        let ran = self.hyp(words);
        assert_ne!(ran.code, Some(0), "{words:?}: {}", ran.out);
        ran.err
    }
}

/// What a run printed.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A scheduler and executors, which end with it.
pub(crate) struct Cluster<'a> {
    folder: &'a Folder,
    scheduler: Child,
    pub(crate) address: String,
    pub(crate) executors: Vec<Executor>,
}

/// An executor, and the file that it reports to.
pub(crate) struct Executor {
    process: Child,
    journal: PathBuf,
}

impl<'a> Cluster<'a> {
    /// Starts a cluster whose executors may use these prefixes.
    pub(crate) fn start(folder: &'a Folder, executors: usize, allowed: &[&str]) -> Self {
        let mut command = folder.command(env!("CARGO_BIN_EXE_hyp"));
        command.args(["cluster", "scheduler", "--port", "0", "--executor-timeout", "10"]);
        let journal = File::create(folder.path("scheduler.log")).unwrap();
        let mut scheduler = command.stdout(Stdio::piped()).stderr(journal).spawn().unwrap();
        let mut address = String::new();
        let out = scheduler.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        assert!(address.starts_with("df://127.0.0.1:"), "the scheduler does not start: {address}");
        let mut cluster = Self { folder, scheduler, address, executors: Vec::new() };
        for _ in 0..executors {
            cluster.add_executor(allowed);
        }
        cluster
    }

    /// Starts one more executor, and waits until the scheduler knows it.
    pub(crate) fn add_executor(&mut self, allowed: &[&str]) {
        let number = self.executors.len();
        let journal = self.folder.path(&format!("executor-{number}.log"));
        let ports = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let [port, task_port] =
            ports.map(|listener| listener.local_addr().unwrap().port().to_string());
        let mut command = self.folder.command(env!("CARGO_BIN_EXE_hyp"));
        command.args(["cluster", "executor", "--verbose", "--tasks", "2"]);
        command.args(["--port", &port, "--task-port", &task_port, "--scheduler", &self.address]);
        for prefix in allowed {
            command.args(["--allow", prefix]);
        }
        let out = File::create(&journal).unwrap();
        let process = command.stdout(out.try_clone().unwrap()).stderr(out).spawn().unwrap();
        self.executors.push(Executor { process, journal });
        // It listens for tasks before it registers, which the scheduler answers at once.
        let started = Instant::now();
        let port: u16 = task_port.parse().unwrap();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            let journal = self.executors[number].journal();
            assert!(started.elapsed() < PATIENCE, "an executor does not start: {journal}");
            thread::sleep(Duration::from_millis(50));
        }
        thread::sleep(Duration::from_millis(300));
    }

    /// Runs SQL on the cluster.
    pub(crate) fn sql(&self, sql: &str, more: &[&str]) -> Ran {
        self.folder.hyp(&[&["sql", "--cluster", &self.address, sql], more].concat())
    }

    /// Runs SQL that must succeed.
    #[track_caller]
    pub(crate) fn ok(&self, sql: &str) -> String {
        let ran = self.sql(sql, &["--partitions", "8"]);
        assert_eq!(ran.code, Some(0), "{sql}: {}\n{}", ran.err, self.journals());
        ran.out
    }

    /// Runs SQL here and on the cluster, and compares the rows.
    #[track_caller]
    pub(crate) fn compare(&self, sql: &str) {
        let expected = self.folder.ok(&["sql", sql]);
        let found = self.ok(sql);
        let is_ordered = sql.contains("order by");
        if let Some(why) = difference(&expected, &found, is_ordered) {
            panic!("{sql}: {why}\n{expected}\n{found}");
        }
    }

    fn journals(&self) -> String {
        let last = |executor: &Executor| {
            let journal = executor.journal();
            let lines: Vec<&str> = journal.lines().collect();
            lines[lines.len().saturating_sub(20)..].join("\n")
        };
        self.executors.iter().map(last).collect::<Vec<_>>().join("\n---\n")
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        for executor in &mut self.executors {
            let _ = executor.process.kill();
            let _ = executor.process.wait();
        }
        let _ = self.scheduler.kill();
        let _ = self.scheduler.wait();
    }
}

impl Executor {
    /// Returns what the executor has reported.
    pub(crate) fn journal(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.journal).unwrap()).into_owned()
    }

    /// Ends the executor at once.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Returns the ranges of a file that the executor has read.
    pub(crate) fn reads(&self, file: &Path) -> Vec<std::ops::Range<u64>> {
        let name = file.file_name().unwrap().to_str().unwrap();
        let journal = self.journal();
        let reads = journal.lines().filter_map(|line| {
            let (path, range) = line.strip_prefix("debug: read ")?.rsplit_once(' ')?;
            let (start, end) = path.ends_with(name).then(|| range.split_once('-'))??;
            Some(start.parse().ok()?..end.parse().ok()?)
        });
        reads.collect()
    }
}

/// Returns how two tables differ. Sums of floats depend on the order of the rows.
fn difference(expected: &str, found: &str, is_ordered: bool) -> Option<String> {
    let rows = |text: &str| {
        let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
        if !is_ordered && rows.len() > 1 {
            rows[1..].sort();
        }
        rows
    };
    let (expected, found) = (rows(expected), rows(found));
    if expected.len() != found.len() {
        return Some(format!("{} rows instead of {}", found.len(), expected.len()));
    }
    let is_same = |one: &str, other: &str| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= 1e-9 * one.abs().max(1.0),
        _ => one == other,
    };
    let differing = expected.iter().zip(&found).find(|(one, other)| {
        let (one, other): (Vec<&str>, Vec<&str>) =
            (one.split(',').collect(), other.split(',').collect());
        one.len() != other.len() || !one.iter().zip(&other).all(|(one, other)| is_same(one, other))
    });
    differing.map(|(one, other)| format!("`{other}` instead of `{one}`"))
}
