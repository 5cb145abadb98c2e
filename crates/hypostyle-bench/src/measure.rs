//! Time and memory, as the system counts them.

use std::fs;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

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

/// Runs `work` once; what it returns is dropped after the clock has stopped.
pub(crate) fn once<T>(work: impl FnOnce() -> T) -> (Cost, T) {
    let (cpu, wall) = (cpu_time(), Instant::now());
    let made = work();
    let cost = Cost { wall: wall.elapsed().as_secs_f64(), cpu: cpu_time() - cpu };
    (cost, made)
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

/// The most memory that this process has had, in MB; where the system tells.
pub(crate) fn peak_memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}
