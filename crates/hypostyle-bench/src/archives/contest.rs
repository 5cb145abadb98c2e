//! Who packs and unpacks: this library and `xz`, each time in a process of its own.

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::{env, fmt};

use bytes::Bytes;
use hypostyle::ReadOptions;
use hypostyle::formats::at1::{self, Archive, Choice, PackOptions};

use crate::Result;
use crate::measure::{self, Cost, Usage};

/// Threads that we pack with.
pub(crate) const THREADS: usize = 2;

/// Who packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packer {
    /// `xz`, with this option, on one thread.
    Xz(&'static str),
    /// This library, at this level.
    Level(u8),
}

impl Packer {
    /// Packs a file into another.
    pub(crate) fn pack(self, from: &Path, to: &Path) -> Result<Usage> {
        match self {
            Self::Xz(option) => measure::stranger(xz(option).arg(from).stdout(File::create(to)?)),
            Self::Level(level) => {
                let mut command = Command::new(env::current_exe()?);
                command.arg("pack").args([from, to]).args(["--level", &level.to_string()]);
                whole(&mut command)
            }
        }
    }
}

impl fmt::Display for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xz(option) => write!(f, "xz {option}"),
            Self::Level(level) => write!(f, "Level {level}"),
        }
    }
}

/// Who unpacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unpacker {
    /// Who has packed.
    pub(crate) of: Packer,
    /// Threads; `xz` has one.
    pub(crate) threads: usize,
}

impl Unpacker {
    /// Unpacks a file: `xz` into nothing, this library into memory.
    pub(crate) fn unpack(self, from: &Path) -> Result<Usage> {
        match self.of {
            Packer::Xz(_) => measure::stranger(xz("-d").arg(from).stdout(Stdio::null())),
            Packer::Level(_) => {
                let mut command = Command::new(env::current_exe()?);
                command.arg("unpack").arg(from).args(["--threads", &self.threads.to_string()]);
                whole(&mut command)
            }
        }
    }
}

impl fmt::Display for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.of, self.threads) {
            (Packer::Xz(_), _) => write!(f, "xz -d, of {}", self.of),
            (Packer::Level(level), 1) => write!(f, "Level {level}, 1 thread"),
            (Packer::Level(level), threads) => write!(f, "Level {level}, {threads} threads"),
        }
    }
}

/// A process of ours: on the clock, from its start to its end, as `xz` is.
fn whole(command: &mut Command) -> Result<Usage> {
    let (outside, usage) = measure::once(|| Usage::told_by(command));
    let Usage { cost, memory } = usage?;
    Ok(Usage { cost: Cost { wall: outside.wall, cpu: cost.cpu }, memory })
}

fn xz(option: &str) -> Command {
    let mut command = Command::new("xz");
    command.env_remove("XZ_DEFAULTS").env_remove("XZ_OPT").args(["-c", "-T1", option]);
    command
}

/// What `xz` says of itself; `None` where there is none.
pub(crate) fn xz_version() -> Option<String> {
    let output = Command::new("xz").arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.lines().next()?.to_owned())
}

/// Packs a file and prints what that took.
#[derive(clap::Args, Debug)]
pub(crate) struct PackArgs {
    /// The file.
    from: PathBuf,
    /// The archive to write.
    to: PathBuf,
    /// The level.
    #[arg(long, default_value_t = PackOptions::DEFAULT_LEVEL)]
    level: u8,
    /// How many threads.
    #[arg(long, default_value_t = THREADS)]
    threads: usize,
    /// In row groups, so that it can be queried.
    #[arg(long)]
    query: bool,
}

pub(crate) fn pack(args: &PackArgs) -> Result<()> {
    let threads = NonZeroUsize::new(args.threads);
    let options = PackOptions::default().with_level(args.level).with_threads(threads);
    let options = if args.query { options.with_codec(Choice::Query) } else { options };
    tell(|| {
        let (archive, _) = at1::pack(&fs::read(&args.from)?, &options)?;
        Ok(fs::write(&args.to, archive)?)
    })
}

/// Unpacks an archive into memory and prints what that took.
#[derive(clap::Args, Debug)]
pub(crate) struct UnpackArgs {
    /// The archive.
    from: PathBuf,
    /// How many threads.
    #[arg(long, default_value_t = THREADS)]
    threads: usize,
}

pub(crate) fn unpack(args: &UnpackArgs) -> Result<()> {
    let options = ReadOptions::default().with_threads(NonZeroUsize::new(args.threads));
    tell(|| {
        let archive = Bytes::from(fs::read(&args.from)?);
        let mut original = Vec::new();
        Archive::open(Arc::new(archive), &options)?.unpack(&mut original)?;
        Ok(original)
    })
}

/// Does something and prints what that took.
pub(crate) fn tell<T>(work: impl FnOnce() -> Result<T>) -> Result<()> {
    let (cost, done) = measure::once(work);
    done?;
    Usage::of_this_process(cost).tell();
    Ok(())
}

/// Lets contenders take turns, each until it has had `rounds` or `seconds`, and gives the
/// best of each.
pub(crate) fn in_turns<C: Copy>(
    contenders: &[C],
    rounds: usize,
    seconds: f64,
    run: impl Fn(C) -> Result<Usage>,
) -> Result<Vec<(C, Usage)>> {
    let none = Usage { cost: Cost::MOST, memory: f64::NAN };
    let mut best: Vec<(C, Usage)> = contenders.iter().map(|&who| (who, none)).collect();
    let mut spent = vec![0.0; best.len()];
    for _ in 0..rounds {
        for ((who, best), spent) in best.iter_mut().zip(&mut spent) {
            if *spent < seconds {
                let usage = run(*who)?;
                *spent += usage.cost.wall;
                *best = best.or_less(usage);
            }
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn who_has_had_its_seconds_sits_out() {
        let turns = RefCell::new(String::new());
        let best = in_turns(&['a', 'b'], 3, 5.0, |who| {
            turns.borrow_mut().push(who);
            let wall = if who == 'a' { 1.0 } else { 4.0 };
            Ok(Usage { cost: Cost { wall, cpu: wall }, memory: 7.0 })
        });
        let best: Vec<_> =
            best.unwrap().iter().map(|(who, usage)| (*who, usage.cost.wall)).collect();
        assert_eq!(best, [('a', 1.0), ('b', 4.0)]);
        assert_eq!(turns.into_inner(), "ababa");
    }
}
