//! Time and memory, as the system counts them.

use std::fmt::Display;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::time::{ClockId, clock_gettime};

use crate::Result;

/// What something took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Seconds on the clock.
    pub(crate) wall: f64,
    /// Seconds of all threads together, in the program and in the system.
    pub(crate) cpu: f64,
}

impl Cost {
    /// More than anything takes.
    pub(crate) const MOST: Self = Self { wall: f64::INFINITY, cpu: f64::INFINITY };

    /// The lesser of both, each for itself: what others do on the machine only
    /// ever adds.
    pub(crate) fn or_less(self, other: Self) -> Self {
        Self { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu) }
    }

    /// How many times `other` this is.
    pub(crate) fn over(self, other: Self) -> Self {
        Self { wall: self.wall / other.wall, cpu: self.cpu / other.cpu }
    }
}

/// What a process took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) cost: Cost,
    /// The most memory, in MB; NaN where the system does not tell.
    pub(crate) memory: f64,
}

impl Usage {
    /// The lesser costs, and the greater memory.
    pub(crate) fn or_less(self, other: Self) -> Self {
        Self { cost: self.cost.or_less(other.cost), memory: self.memory.max(other.memory) }
    }

    /// A cost, and the memory of this process so far.
    pub(crate) fn of_this_process(cost: Cost) -> Self {
        Self { cost, memory: peak_memory("self").unwrap_or(f64::NAN) }
    }

    /// Prints the line that [`Usage::told_by`] reads.
    pub(crate) fn tell(self) {
        println!("{} {} {}", self.cost.wall, self.cost.cpu, self.memory);
    }

    /// Runs a command of this program that tells.
    pub(crate) fn told_by(command: &mut Command) -> Result<Self> {
        Self::read_from(command.output()?)
    }

    /// The same, unless it takes more CPU seconds than that: then it is ended, and tells
    /// nothing.
    ///
    /// The system could see to that, but it then counts CPU seconds in steps of milliseconds.
    pub(crate) fn told_within(command: &mut Command, seconds: u64) -> Result<Option<Self>> {
        // It prints no more than a pipe holds, so it does not wait for a reader.
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        while child.try_wait()?.is_none() {
            if ticks(child.id()).is_some_and(|ticks| ticks > seconds * TICKS) {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            thread::sleep(PATIENCE);
        }
        Self::read_from(child.wait_with_output()?).map(Some)
    }

    fn read_from(output: Output) -> Result<Self> {
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)).into());
        }
        let line = String::from_utf8(output.stdout)?;
        let mut words = line.split_whitespace().map(str::parse);
        let mut word = || words.next().ok_or("a figure is missing");
        let cost = Cost { wall: word()??, cpu: word()?? };
        Ok(Self { cost, memory: word()?? })
    }
}

/// Runs a command of one thread that tells nothing, and looks at it from outside.
///
/// Its CPU seconds are there to be read when it has ended and nobody has asked for its
/// status; its memory is gone by then, so that is read over and over while it runs.
pub(crate) fn stranger(command: &mut Command) -> Result<Usage> {
    let start = Instant::now();
    let mut child = command.spawn()?;
    let (id, pid) = (child.id(), Pid::from_child(&child));
    let (end, ended) = mpsc::channel::<()>();
    let (wall, memory) = thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let mut most = f64::NAN;
            loop {
                most = peak_memory(id).unwrap_or(f64::NAN).max(most);
                if ended.recv_timeout(WATCH) != Err(RecvTimeoutError::Timeout) {
                    return most;
                }
            }
        });
        // If this fails, the wait below does not, and only the time is off.
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

/// How often a process that has a limit is looked at.
const PATIENCE: Duration = Duration::from_millis(10);

/// What a CPU second is in the system's accounts of processes.
const TICKS: u64 = 100;

/// CPU time of all threads of a process, in the program and in the system.
fn ticks(process: impl Display) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in brackets, may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    let mut words = rest.split_whitespace().skip(11).map(str::parse::<u64>);
    Some(words.next()?.ok()? + words.next()?.ok()?)
}

/// How often the memory of a stranger is read.
const WATCH: Duration = Duration::from_millis(1);

/// Seconds that the first thread of a process has spent on processors.
fn scheduled(process: impl Display) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{process}/schedstat")).ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds).as_secs_f64())
}

/// Runs `work` once; what it returns is dropped after the clock has stopped.
pub(crate) fn once<T>(work: impl FnOnce() -> T) -> (Cost, T) {
    let (cpu, wall) = (cpu_time(), Instant::now());
    let made = work();
    let cost = Cost { wall: wall.elapsed().as_secs_f64(), cpu: cpu_time() - cpu };
    (cost, made)
}

/// Does something `rounds` times, and gives the best.
pub(crate) fn repeated<T>(rounds: usize, work: impl Fn() -> Result<T>) -> Result<Cost> {
    let mut best = Cost::MOST;
    for _ in 0..rounds {
        let (cost, done) = once(&work);
        done?;
        best = best.or_less(cost);
    }
    Ok(best)
}

/// Runs two contenders in turn, `rounds` times, and gives the best of each.
pub(crate) fn in_turn<A, B>(
    rounds: usize,
    mut first: impl FnMut() -> A,
    mut second: impl FnMut() -> B,
) -> [Cost; 2] {
    let mut best = [Cost::MOST; 2];
    for _ in 0..rounds {
        let [a, b] = best;
        best = [a.or_less(once(&mut first).0), b.or_less(once(&mut second).0)];
    }
    best
}

/// Seconds that this process has spent on processors.
fn cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let since = Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    );
    since.as_secs_f64()
}

/// The most memory that a process has had, in MB; where the system tells.
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
    fn what_takes_too_long_is_ended() {
        let mut endless = Command::new("sh");
        endless.args(["-c", "while :; do :; done"]);
        assert!(Usage::told_within(&mut endless, 1).unwrap().is_none());
        let mut short = Command::new("echo");
        let told = Usage::told_within(short.arg("1.5 2.5 3"), 1).unwrap().unwrap();
        assert_eq!((told.cost.wall, told.cost.cpu, told.memory), (1.5, 2.5, 3.0));
    }
}
