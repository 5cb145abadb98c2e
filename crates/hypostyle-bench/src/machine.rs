//! A description of the machine.

use std::{fs, thread};

/// Describes the processor, the number of cores, the memory and the system.
pub(crate) fn describe() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let line = |file: &str, start: &str| {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(start))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = line("/proc/cpuinfo", "model name");
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = line("/proc/meminfo", "MemTotal").and_then(|text| {
        let kib: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
        Some(format!(", {} GiB of memory", kib.div_ceil(1 << 20)))
    });
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (memory, system) = (memory.unwrap_or_default(), std::env::consts::OS);
    format!("{cores} cores of {model}{memory}, {system} {}", release.trim()).trim_end().to_owned()
}
