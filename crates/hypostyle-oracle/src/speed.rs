//! Compares the speed and memory of both decoders.
//!
//! Each figure comes from its own process, which decodes a file from memory to memory. The processes
//! of the decoders alternate, so that load on the machine affects all of them.

use std::env;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hypostyle::ReadOptions;
use hypostyle::formats::at1::Archive;
use rustix::time::{ClockId, clock_gettime};

use crate::{Args, Result};

/// The argument that makes this program decode one file and print the time.
pub(crate) const CHILD: &str = "__time";

const DECODERS: [&str; 3] = ["vendor", "ours-1", "ours-2"];

/// The measurements of a process.
#[derive(Clone, Copy, Debug)]
struct Figures {
    wall: f64,
    cpu: f64,
    /// Peak memory in KiB.
    memory: u64,
    len: u64,
}

impl Figures {
    const WORST: Self = Self { wall: f64::INFINITY, cpu: f64::INFINITY, memory: u64::MAX, len: 0 };

    fn best(self, other: Self) -> Self {
        Self {
            wall: self.wall.min(other.wall),
            cpu: self.cpu.min(other.cpu),
            memory: self.memory.min(other.memory),
            len: other.len,
        }
    }
}

pub(crate) fn run(words: &[&str]) -> Result<bool> {
    let mut args = Args::new(words);
    let runs = args.number("--runs", 3)?;
    let rounds = args.number("--rounds", 5)?;
    // `cargo xtask bench archives` finds these columns by their names.
    println!(
        "| archive | bytes | text | vendor ms | ours 1 | ours 2 | speedup 1 | speedup 2 | \
         CPU vendor | CPU 1 | CPU 2 | MiB vendor | MiB 1 | MiB 2 |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut met = true;
    for file in args.rest()? {
        let mut best = [Figures::WORST; 3];
        for _ in 0..rounds {
            for (decoder, best) in DECODERS.iter().zip(&mut best) {
                *best = best.best(measure(decoder, file, runs)?);
            }
        }
        let [vendor, one, two] = best;
        if vendor.len != one.len || one.len != two.len {
            return Err(format!("{file}: the decoders disagree").into());
        }
        let (speedup_1, speedup_2) = (vendor.wall / one.wall, vendor.wall / two.wall);
        let uses_less_memory = one.memory.max(two.memory) <= vendor.memory;
        met &= speedup_1 >= 2.0 && speedup_2 >= 4.0 && uses_less_memory;
        let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
        println!(
            "| {name} | {} | {} | {:.1} | {:.1} | {:.1} | {speedup_1:.2} | {speedup_2:.2} | \
             {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
            fs::metadata(file)?.len(),
            vendor.len,
            vendor.wall,
            one.wall,
            two.wall,
            vendor.cpu,
            one.cpu,
            two.cpu,
            mebibytes(vendor.memory),
            mebibytes(one.memory),
            mebibytes(two.memory),
        );
    }
    println!(
        "\ntargets (speedup of 2 on one thread and 4 on two, no more memory): {}",
        verdict(met)
    );
    Ok(true)
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "not met" }
}

fn mebibytes(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

fn measure(decoder: &str, file: &str, runs: u64) -> Result<Figures> {
    let output = Command::new(env::current_exe()?)
        .args([CHILD, decoder, file, &runs.to_string()])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [wall, cpu, memory, len] = fields[..] else {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{file}: {decoder}: {why}").into());
    };
    Ok(Figures {
        wall: wall.parse()?,
        cpu: cpu.parse()?,
        memory: memory.parse()?,
        len: len.parse()?,
    })
}

/// Decodes one file several times; prints milliseconds, CPU milliseconds, KiB and bytes.
pub(crate) fn child(words: &[&str]) -> Result<bool> {
    let [decoder, file, runs] = words else {
        return Err("expected a decoder, a file and a number of runs".into());
    };
    let file = Bytes::from(fs::read(file)?);
    let mut best = Figures::WORST;
    for run in 0..runs.parse::<u64>()?.max(1) {
        let (start, cpu) = (Instant::now(), cpu_time());
        let text = match *decoder {
            "vendor" => at1::decode(&file).map_err(|err| format!("{err:?}"))?,
            "ours-1" => ours(&file, 1)?,
            _ => ours(&file, 2)?,
        };
        let wall = start.elapsed().as_secs_f64() * 1e3;
        let cpu = (cpu_time() - cpu).as_secs_f64() * 1e3;
        // Later runs would include memory that earlier ones did not free.
        let memory = if run == 0 { peak()? } else { u64::MAX };
        best = best.best(Figures { wall, cpu, memory, len: text.len() as u64 });
    }
    println!("{} {} {} {}", best.wall, best.cpu, best.memory, best.len);
    Ok(true)
}

fn ours(file: &Bytes, threads: usize) -> Result<Vec<u8>> {
    let options = ReadOptions::default().with_threads(NonZeroUsize::new(threads));
    let mut out = Vec::new();
    Archive::open(Arc::new(file.clone()), &options)?.unpack(&mut out)?;
    Ok(out)
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// Returns the peak memory of this process, in KiB.
fn peak() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("no VmHWM in /proc/self/status")?.parse()?)
}
