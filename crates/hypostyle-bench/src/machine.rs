//! What the figures were taken on.

use std::{fs, thread};

/// The processor and how many there are, in a few words.
pub(crate) fn describe() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let model = fs::read_to_string("/proc/cpuinfo").ok().and_then(|info| {
        let line = info.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let system = std::env::consts::OS;
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    format!("{cores} cores of {model}, {system}")
}
