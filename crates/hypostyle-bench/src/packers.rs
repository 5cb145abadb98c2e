//! Who packs and unpacks: this library and the rivals that are commands, each time in a
//! process of its own.

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::{env, fmt};

use bytes::Bytes;
use hypostyle::ReadOptions;
use hypostyle::formats::at1::{self, Archive, Choice, PackOptions};

use crate::measure::{self, Cost, Usage};
use crate::{Result, rivals};

/// Threads that we pack with.
pub(crate) const THREADS: usize = 2;

/// The quick level, the one unless the caller chooses, and the long one.
pub(crate) const QUICK: Packer = Packer::Level(1);
pub(crate) const DEFAULT: Packer = Packer::Level(PackOptions::DEFAULT_LEVEL);
pub(crate) const LONG: Packer = Packer::Level(PackOptions::MAX_LEVEL);

/// The rivals, with their options: as they come, or at their best.
pub(crate) const XZ: Packer = Packer::Rival(Tool::Xz, "-6");
pub(crate) const XZ_BEST: Packer = Packer::Rival(Tool::Xz, "-9e");
pub(crate) const ZSTD: Packer = Packer::Rival(Tool::Zstd, "-3");
pub(crate) const ZSTD_HIGH: Packer = Packer::Rival(Tool::Zstd, "-19");
pub(crate) const ZSTD_LONG: Packer = Packer::Rival(Tool::Zstd, "-19 --long=27");
pub(crate) const ZSTD_ULTRA: Packer = Packer::Rival(Tool::Zstd, "--ultra -22");
pub(crate) const BROTLI: Packer = Packer::Rival(Tool::Brotli, "-q 11 -w 24");
pub(crate) const GZIP: Packer = Packer::Rival(Tool::Gzip, "-9");

/// A rival that is a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Xz,
    Zstd,
    Brotli,
    Gzip,
}

impl Tool {
    const ALL: [Self; 4] = [Self::Xz, Self::Zstd, Self::Brotli, Self::Gzip];

    fn name(self) -> &'static str {
        match self {
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Brotli => "brotli",
            Self::Gzip => "gzip",
        }
    }

    /// The command, on one thread and to its standard output, whatever the environment asks.
    fn command(self, options: &str) -> Command {
        let (usual, ignored): (&[&str], &[&str]) = match self {
            Self::Xz => (&["-c", "-T1"], &["XZ_DEFAULTS", "XZ_OPT"]),
            // It would read and write on threads of their own even so.
            Self::Zstd => (
                &["-c", "-q", "--single-thread", "--no-asyncio"],
                &["ZSTD_CLEVEL", "ZSTD_NBTHREADS"],
            ),
            Self::Brotli => (&["-c"], &[]),
            Self::Gzip => (&["-c", "-n"], &["GZIP"]),
        };
        let mut command = Command::new(self.name());
        for variable in ignored {
            command.env_remove(variable);
        }
        command.args(usual).args(options.split_whitespace());
        command
    }

    /// What it says of itself, if it does what it is asked here.
    pub(crate) fn version(self) -> Result<String> {
        rivals::run(self.command("").stdin(Stdio::null()))?;
        let output = Command::new(self.name()).arg("--version").output()?;
        let said = String::from_utf8(output.stdout)?;
        let line = said.lines().next().ok_or("it does not tell its version")?;
        let line = line.trim_matches(['*', ' ']);
        // One of them names its author, too.
        Ok(line.split_once(", by ").map_or(line, |(version, _)| version).to_owned())
    }
}

/// Which commands there are: their version, or why they are missing.
#[derive(Debug)]
pub(crate) struct Tools {
    versions: Vec<(Tool, std::result::Result<String, String>)>,
}

impl Tools {
    pub(crate) fn look() -> Self {
        let look = |tool: Tool| (tool, tool.version().map_err(|err| err.to_string()));
        Self { versions: Tool::ALL.map(look).into() }
    }

    /// Whether all that a packer needs is there.
    pub(crate) fn have(&self, packer: Packer) -> bool {
        match packer {
            Packer::Rival(wanted, _) => {
                self.versions.iter().any(|(tool, version)| *tool == wanted && version.is_ok())
            }
            Packer::Level(_) | Packer::Queryable => true,
        }
    }

    /// A sentence about those that are there, and one about those that are not.
    pub(crate) fn describe(&self) -> String {
        let there: Vec<&str> =
            self.versions.iter().filter_map(|(_, version)| version.as_deref().ok()).collect();
        let missing = self.versions.iter().filter_map(|(tool, version)| {
            version.as_ref().err().map(|why| format!("{} ({why})", tool.name()))
        });
        let missing: Vec<String> = missing.collect();
        let mut text = if there.is_empty() {
            "There are no rivals that are commands.".to_owned()
        } else {
            format!("Rivals that are commands: {}; each on one thread.", there.join(", "))
        };
        if !missing.is_empty() {
            text = format!("{text} Missing: {}.", missing.join(", "));
        }
        text
    }
}

/// Who packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packer {
    /// A command, with these options.
    Rival(Tool, &'static str),
    /// This library, at this level.
    Level(u8),
    /// This library at the default level, so that the archive can be queried.
    Queryable,
}

impl Packer {
    pub(crate) fn is_ours(self) -> bool {
        !matches!(self, Self::Rival(..))
    }

    /// Packs a file into another.
    pub(crate) fn pack(self, from: &Path, to: &Path) -> Result<Usage> {
        let mut ours = Command::new(env::current_exe()?);
        ours.arg("pack").args([from, to]);
        match self {
            Self::Rival(tool, options) => {
                measure::stranger(tool.command(options).arg(from).stdout(File::create(to)?))
            }
            Self::Level(level) => whole(ours.args(["--level", &level.to_string()])),
            Self::Queryable => whole(ours.arg("--query")),
        }
    }
}

impl fmt::Display for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rival(tool, options) => write!(f, "{} {options}", tool.name()),
            Self::Level(level) => write!(f, "Level {level}"),
            Self::Queryable => f.write_str("Queryable"),
        }
    }
}

/// Who unpacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unpacker {
    /// Who has packed.
    pub(crate) of: Packer,
    /// Threads; the rivals have one.
    pub(crate) threads: usize,
}

impl Unpacker {
    /// Unpacks a file: the rivals into nothing, this library into memory.
    pub(crate) fn unpack(self, from: &Path) -> Result<Usage> {
        match self.of {
            Packer::Rival(tool, _) => {
                measure::stranger(tool.command("-d").arg(from).stdout(Stdio::null()))
            }
            Packer::Level(_) | Packer::Queryable => {
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
            (Packer::Rival(tool, options), _) => write!(f, "{} -d, of {options}", tool.name()),
            (ours, 1) => write!(f, "{ours}, 1 thread"),
            (ours, threads) => write!(f, "{ours}, {threads} threads"),
        }
    }
}

/// A process of ours: on the clock, from its start to its end, as the rivals are.
fn whole(command: &mut Command) -> Result<Usage> {
    let (outside, usage) = measure::once(|| Usage::told_by(command));
    let Usage { cost, memory } = usage?;
    Ok(Usage { cost: Cost { wall: outside.wall, cpu: cost.cpu }, memory })
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
    /// Make an archive that can be queried.
    #[arg(long)]
    query: bool,
    /// How many threads.
    #[arg(long, default_value_t = THREADS)]
    threads: usize,
}

pub(crate) fn pack(args: &PackArgs) -> Result<()> {
    let threads = NonZeroUsize::new(args.threads);
    let choice = if args.query { Choice::Query } else { Choice::Auto };
    let options =
        PackOptions::default().with_level(args.level).with_threads(threads).with_codec(choice);
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

/// The name of the codec that an archive has.
pub(crate) fn codec(archive: &Path) -> Result<&'static str> {
    let archive = Bytes::from(fs::read(archive)?);
    Ok(Archive::open(Arc::new(archive), &ReadOptions::default())?.codec().name())
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

    #[test]
    fn what_is_missing_is_named() {
        let versions =
            vec![(Tool::Xz, Ok("xz 5".to_owned())), (Tool::Gzip, Err("not found".to_owned()))];
        let tools = Tools { versions };
        assert!(tools.have(XZ) && tools.have(QUICK) && !tools.have(GZIP) && !tools.have(ZSTD));
        let expected =
            "Rivals that are commands: xz 5; each on one thread. Missing: gzip (not found).";
        assert_eq!(tools.describe(), expected);
    }
}
