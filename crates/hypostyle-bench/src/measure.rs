//! Time and memory, as the system reports them.

use std::fmt::Display;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::time::{ClockId, clock_gettime};

use crate::Result;

/// The time that something took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Wall-clock seconds.
    pub(crate) wall: f64,
    /// CPU seconds of all threads, user and system.
    pub(crate) cpu: f64,
}

impl Cost {
    /// Greater than every real cost.
    pub(crate) const MAX: Self = Self { wall: f64::INFINITY, cpu: f64::INFINITY };

    /// Returns the smaller wall time and the smaller CPU time: other processes only add noise.
    pub(crate) fn min(self, other: Self) -> Self {
        Self { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu) }
    }

    /// Returns the ratios of this cost to `other`.
    pub(crate) fn over(self, other: Self) -> Self {
        Self { wall: self.wall / other.wall, cpu: self.cpu / other.cpu }
    }
}

/// The time and memory that a process took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) cost: Cost,
    /// Peak memory in MB; NaN if the system does not report it.
    pub(crate) memory: f64,
}

impl Usage {
    /// Returns the smaller costs and the larger memory.
    pub(crate) fn min(self, other: Self) -> Self {
        Self { cost: self.cost.min(other.cost), memory: self.memory.max(other.memory) }
    }

    /// Combines a cost with the peak memory of this process so far.
    pub(crate) fn of_this_process(cost: Cost) -> Self {
        Self { cost, memory: peak_memory("self").unwrap_or(f64::NAN) }
    }

    /// Prints the line that [`Usage::of_child`] parses.
    pub(crate) fn print(self) {
        println!("{} {} {}", self.cost.wall, self.cost.cpu, self.memory);
    }

    /// Runs a command that prints its usage.
    pub(crate) fn of_child(command: &mut Command) -> Result<Self> {
        Self::read_from(command.output()?)
    }

    /// Runs a command that prints its usage; kills it and returns `None` if it takes more than
    /// `seconds` of CPU time.
    ///
    /// A limit of the system could do this, but CPU time would then count in milliseconds.
    pub(crate) fn of_child_within(command: &mut Command, seconds: u64) -> Result<Option<Self>> {
        // The output fits in the pipe, so the child does not block on it.
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        while child.try_wait()?.is_none() {
            if ticks(child.id()).is_some_and(|ticks| ticks > seconds * TICKS_PER_SECOND) {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            thread::sleep(LIMIT_POLL);
        }
        Self::read_from(child.wait_with_output()?).map(Some)
    }

    fn read_from(output: Output) -> Result<Self> {
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)).into());
        }
        let line = String::from_utf8(output.stdout)?;
        let mut words = line.split_whitespace().map(str::parse);
        let mut word = || words.next().ok_or("the child printed too few figures");
        let cost = Cost { wall: word()??, cpu: word()?? };
        Ok(Self { cost, memory: word()?? })
    }
}

/// Runs a single-threaded command that does not print its usage, and measures it from outside.
///
/// Its CPU time can be read after it has exited and before its status is collected. Its memory is
/// gone by then, so a thread polls it while the command runs.
pub(crate) fn run_external(command: &mut Command) -> Result<Usage> {
    let start = Instant::now();
    let mut child = command.spawn()?;
    let (id, pid) = (child.id(), Pid::from_child(&child));
    let (end, ended) = mpsc::channel::<()>();
    let (wall, memory) = thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let mut peak = f64::NAN;
            loop {
                peak = peak_memory(id).unwrap_or(f64::NAN).max(peak);
                if ended.recv_timeout(MEMORY_POLL) != Err(RecvTimeoutError::Timeout) {
                    return peak;
                }
            }
        });
        // If this fails, the wait below still works, and only the time is inaccurate.
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let wall = start.elapsed().as_secs_f64();
        drop(end);
        (wall, watch.join().unwrap_or(f64::NAN))
    });
    let cpu = scheduled(id).unwrap_or(f64::NAN);
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok(Usage { cost: Cost { wall, cpu }, memory })
}

/// The interval at which the CPU limit of a process is checked.
const LIMIT_POLL: Duration = Duration::from_millis(10);

/// The unit of CPU time in `/proc/PID/stat`.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the CPU time of all threads of a process, user and system, in ticks.
fn ticks(process: impl Display) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may contain anything.
    let (_, rest) = text.rsplit_once(')')?;
    let mut words = rest.split_whitespace().skip(11).map(str::parse::<u64>);
    Some(words.next()?.ok()? + words.next()?.ok()?)
}

/// The interval at which the memory of an external command is read.
const MEMORY_POLL: Duration = Duration::from_millis(1);

/// Returns the CPU seconds of the main thread of a process.
fn scheduled(process: impl Display) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{process}/schedstat")).ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds).as_secs_f64())
}

/// Runs `work` once; its result is returned, so that dropping it is not timed.
pub(crate) fn once<T>(work: impl FnOnce() -> T) -> (Cost, T) {
    let (cpu, wall) = (cpu_time(), Instant::now());
    let result = work();
    let cost = Cost { wall: wall.elapsed().as_secs_f64(), cpu: cpu_time() - cpu };
    (cost, result)
}

/// Runs `work` `rounds` times and returns the best cost.
pub(crate) fn repeated<T>(rounds: usize, work: impl Fn() -> Result<T>) -> Result<Cost> {
    let mut best = Cost::MAX;
    for _ in 0..rounds {
        let (cost, done) = once(&work);
        done?;
        best = best.min(cost);
    }
    Ok(best)
}

/// Runs two functions alternately, `rounds` times, and returns the best cost of each.
pub(crate) fn in_turn<A, B>(
    rounds: usize,
    mut first: impl FnMut() -> A,
    mut second: impl FnMut() -> B,
) -> [Cost; 2] {
    let mut best = [Cost::MAX; 2];
    for _ in 0..rounds {
        let [a, b] = best;
        best = [a.min(once(&mut first).0), b.min(once(&mut second).0)];
    }
    best
}

/// Returns the CPU seconds of this process.
fn cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let since = Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    );
    since.as_secs_f64()
}

/// Returns the peak memory of a process in MB, if the system reports it.
fn peak_memory(process: impl Display) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_over_its_limit_is_killed() {
        let mut endless = Command::new("sh");
        endless.args(["-c", "while :; do :; done"]);
        assert!(Usage::of_child_within(&mut endless, 1).unwrap().is_none());
        let mut short = Command::new("echo");
        let usage = Usage::of_child_within(short.arg("1.5 2.5 3"), 1).unwrap().unwrap();
        assert_eq!((usage.cost.wall, usage.cost.cpu, usage.memory), (1.5, 2.5, 3.0));
    }
}
