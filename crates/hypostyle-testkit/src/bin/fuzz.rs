//! Runs fuzz targets on random changes of their seeds, on any compiler.
//!
//! It does not measure coverage, so libFuzzer (see the folder `fuzz`) finds more in hours. This finds
//! in a minute what breaks often, and needs nothing but the stable compiler.

#![expect(clippy::unwrap_used, reason = "a panic is how a program of the tests fails")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, panic};

use hypostyle_testkit::fuzz::{TARGETS, Target};
use hypostyle_testkit::rng::Rng;

const HELP: &str = "\
usage: fuzz SECONDS [TARGET...]

Runs each target, or those that are named, for its share of SECONDS, and counts the executions. An input
on which a target panics is written to the folder of temporary files, and the run fails.
FUZZ_SEED=N repeats the run that has printed this number.
";

/// The longest input.
const MAX_BYTES: usize = 4096;

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let seconds = words.next().and_then(|word| word.parse::<f64>().ok());
    let names: Vec<String> = words.collect();
    let Some(seconds) = seconds else {
        eprint!("{HELP}");
        return ExitCode::from(2);
    };
    let is_chosen =
        |target: &&Target| names.is_empty() || names.iter().any(|name| name == target.0);
    let chosen: Vec<&Target> = TARGETS.iter().filter(is_chosen).collect();
    if chosen.len() < names.len().max(1) {
        eprint!("{HELP}");
        return ExitCode::from(2);
    }
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let seed = env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(clock);
    eprintln!("FUZZ_SEED={seed}");
    let share = Duration::from_secs_f64(seconds / chosen.len() as f64);
    let mut has_failed = false;
    for target in chosen {
        has_failed |= !run(target, share, seed);
    }
    if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Runs one target; returns whether all executions were fine.
fn run((name, body): &Target, time: Duration, seed: u64) -> bool {
    let seeds = seeds(name);
    let mut rng = Rng::new(seed);
    let (start, mut executions) = (Instant::now(), 0_u64);
    while start.elapsed() < time {
        let input = changed(&seeds, &mut rng);
        executions += 1;
        if panic::catch_unwind(|| body(&input)).is_err() {
            let path = env::temp_dir().join(format!("crash-{name}-{seed}-{executions}"));
            fs::write(&path, &input).unwrap();
            eprintln!("{name}: failed in execution {executions}; the input is {}", path.display());
            return false;
        }
    }
    eprintln!("{name}: {executions} executions, {} seeds", seeds.len());
    true
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root.join(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Returns a seed with some changes: other bytes, bytes of another seed, fewer or more bytes.
fn changed(seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    const SPECIAL: &[u8] = b"\x00\x01\x7F\x80\xFF\n\r\",'%_=()[]{}:0-9.";
    let mut bytes = rng.choose(seeds).clone();
    for _ in 0..=rng.below(6) {
        let at = rng.below(bytes.len() + 1);
        match rng.below(6) {
            0 => bytes.truncate(at),
            1 => {
                let other = rng.choose(seeds);
                let from = rng.below(other.len() + 1);
                let part = other.get(from..).unwrap();
                let part = part.get(..rng.below(40).min(part.len())).unwrap().to_vec();
                drop(bytes.splice(at..at, part));
            }
            2 => drop(bytes.drain(at..(at + rng.below(20)).min(bytes.len()))),
            3 => bytes.insert(at, *rng.choose(SPECIAL)),
            _ => {
                let now = if rng.chance(0.5) {
                    *rng.choose(SPECIAL)
                } else {
                    u8::try_from(rng.below(256)).unwrap()
                };
                match bytes.get_mut(at) {
                    Some(byte) => *byte = now,
                    None => bytes.push(now),
                }
            }
        }
    }
    bytes.truncate(MAX_BYTES);
    bytes
}
