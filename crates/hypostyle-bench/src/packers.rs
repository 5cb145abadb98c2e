//! Packers and unpackers: this library and command-line rivals, each in a child process.

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

/// The number of threads that we pack with.
pub(crate) const THREADS: usize = 2;

/// The fastest, the default and the strongest level.
pub(crate) const QUICK: Packer = Packer::Level(1);
pub(crate) const DEFAULT: Packer = Packer::Level(PackOptions::DEFAULT_LEVEL);
pub(crate) const LONG: Packer = Packer::Level(PackOptions::MAX_LEVEL);

/// The command-line rivals with their options.
pub(crate) const XZ: Packer = Packer::Rival(Tool::Xz, "-6");
pub(crate) const XZ_BEST: Packer = Packer::Rival(Tool::Xz, "-9e");
pub(crate) const ZSTD: Packer = Packer::Rival(Tool::Zstd, "-3");
pub(crate) const ZSTD_HIGH: Packer = Packer::Rival(Tool::Zstd, "-19");
pub(crate) const ZSTD_LONG: Packer = Packer::Rival(Tool::Zstd, "-19 --long=27");
pub(crate) const ZSTD_ULTRA: Packer = Packer::Rival(Tool::Zstd, "--ultra -22");
pub(crate) const BROTLI: Packer = Packer::Rival(Tool::Brotli, "-q 11 -w 24");
pub(crate) const GZIP: Packer = Packer::Rival(Tool::Gzip, "-9");

/// A command-line rival.
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

    /// Returns the command: one thread, to standard output, ignoring options in the environment.
    fn command(self, options: &str) -> Command {
        let (arguments, ignored): (&[&str], &[&str]) = match self {
            Self::Xz => (&["-c", "-T1"], &["XZ_DEFAULTS", "XZ_OPT"]),
            // Without `--no-asyncio` it reads and writes on extra threads.
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
        command.args(arguments).args(options.split_whitespace());
        command
    }

    /// Returns the version of the command, if it runs.
    pub(crate) fn version(self) -> Result<String> {
        rivals::run(self.command("").stdin(Stdio::null()))?;
        let output = Command::new(self.name()).arg("--version").output()?;
        let stdout = String::from_utf8(output.stdout)?;
        let line = stdout.lines().next().ok_or("it does not print its version")?;
        let line = line.trim_matches(['*', ' ']);
        // zstd appends its author.
        Ok(line.split_once(", by ").map_or(line, |(version, _)| version).to_owned())
    }
}

/// The version of each command, or the reason why it is missing.
#[derive(Debug)]
pub(crate) struct Tools {
    versions: Vec<(Tool, std::result::Result<String, String>)>,
}

impl Tools {
    /// Runs each command to find its version.
    pub(crate) fn detect() -> Self {
        let detect = |tool: Tool| (tool, tool.version().map_err(|err| err.to_string()));
        Self { versions: Tool::ALL.map(detect).into() }
    }

    /// Returns whether a packer can run.
    pub(crate) fn have(&self, packer: Packer) -> bool {
        match packer {
            Packer::Rival(wanted, _) => {
                self.versions.iter().any(|(tool, version)| *tool == wanted && version.is_ok())
            }
            Packer::Level(_) | Packer::Queryable => true,
        }
    }

    /// Describes the installed and the missing commands.
    pub(crate) fn describe(&self) -> String {
        let found: Vec<&str> =
            self.versions.iter().filter_map(|(_, version)| version.as_deref().ok()).collect();
        let missing = self.versions.iter().filter_map(|(tool, version)| {
            version.as_ref().err().map(|why| format!("{} ({why})", tool.name()))
        });
        let missing: Vec<String> = missing.collect();
        let mut text = if found.is_empty() {
            "No command-line rival was found.".to_owned()
        } else {
            format!("Command-line rivals, each on one thread: {}.", found.join(", "))
        };
        if !missing.is_empty() {
            text = format!("{text} Missing: {}.", missing.join(", "));
        }
        text
    }
}

/// A compressor and its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packer {
    /// A command with these options.
    Rival(Tool, &'static str),
    /// This library at this level.
    Level(u8),
    /// This library at the default level, with a queryable codec.
    Queryable,
}

impl Packer {
    pub(crate) fn is_ours(self) -> bool {
        !matches!(self, Self::Rival(..))
    }

    /// Packs a file.
    pub(crate) fn pack(self, from: &Path, to: &Path) -> Result<Usage> {
        let mut ours = Command::new(env::current_exe()?);
        ours.arg("pack").args([from, to]);
        match self {
            Self::Rival(tool, options) => {
                measure::run_external(tool.command(options).arg(from).stdout(File::create(to)?))
            }
            Self::Level(level) => run_ours(ours.args(["--level", &level.to_string()])),
            Self::Queryable => run_ours(ours.arg("--query")),
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

/// A decompressor and its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unpacker {
    /// The packer of the archive.
    pub(crate) of: Packer,
    /// The number of threads; the rivals use one.
    pub(crate) threads: usize,
}

impl Unpacker {
    /// Unpacks a file: the rivals to `/dev/null`, this library into memory.
    pub(crate) fn unpack(self, from: &Path) -> Result<Usage> {
        match self.of {
            Packer::Rival(tool, _) => {
                measure::run_external(tool.command("-d").arg(from).stdout(Stdio::null()))
            }
            Packer::Level(_) | Packer::Queryable => {
                let mut command = Command::new(env::current_exe()?);
                command.arg("unpack").arg(from).args(["--threads", &self.threads.to_string()]);
                run_ours(&mut command)
            }
        }
    }
}

impl fmt::Display for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.of, self.threads) {
            (Packer::Rival(tool, options), _) => write!(f, "{} -d of {options}", tool.name()),
            (ours, 1) => write!(f, "{ours}, 1 thread"),
            (ours, threads) => write!(f, "{ours}, {threads} threads"),
        }
    }
}

/// Runs a child process of ours. The wall time covers the whole process, as for the rivals.
fn run_ours(command: &mut Command) -> Result<Usage> {
    let (outside, usage) = measure::once(|| Usage::of_child(command));
    let Usage { cost, memory } = usage?;
    Ok(Usage { cost: Cost { wall: outside.wall, cpu: cost.cpu }, memory })
}

/// Packs a file and prints the cost.
#[derive(clap::Args, Debug)]
pub(crate) struct PackArgs {
    /// The file to pack.
    from: PathBuf,
    /// The archive to write.
    to: PathBuf,
    /// The compression level.
    #[arg(long, default_value_t = PackOptions::DEFAULT_LEVEL)]
    level: u8,
    /// Write a queryable archive.
    #[arg(long)]
    query: bool,
    /// The number of threads.
    #[arg(long, default_value_t = THREADS)]
    threads: usize,
}

pub(crate) fn pack(args: &PackArgs) -> Result<()> {
    let threads = NonZeroUsize::new(args.threads);
    let choice = if args.query { Choice::Query } else { Choice::Auto };
    let options =
        PackOptions::default().with_level(args.level).with_threads(threads).with_codec(choice);
    print_usage(|| {
        let (archive, _) = at1::pack(&fs::read(&args.from)?, &options)?;
        Ok(fs::write(&args.to, archive)?)
    })
}

/// Unpacks an archive into memory and prints the cost.
#[derive(clap::Args, Debug)]
pub(crate) struct UnpackArgs {
    /// The archive.
    from: PathBuf,
    /// The number of threads.
    #[arg(long, default_value_t = THREADS)]
    threads: usize,
}

pub(crate) fn unpack(args: &UnpackArgs) -> Result<()> {
    let options = ReadOptions::default().with_threads(NonZeroUsize::new(args.threads));
    print_usage(|| {
        let archive = Bytes::from(fs::read(&args.from)?);
        let mut original = Vec::new();
        Archive::open(Arc::new(archive), &options)?.unpack(&mut original)?;
        Ok(original)
    })
}

/// Runs `work` and prints its cost and the peak memory.
pub(crate) fn print_usage<T>(work: impl FnOnce() -> Result<T>) -> Result<()> {
    let (cost, done) = measure::once(work);
    done?;
    Usage::of_this_process(cost).print();
    Ok(())
}

/// Returns the name of the codec of an archive.
pub(crate) fn codec(archive: &Path) -> Result<&'static str> {
    let archive = Bytes::from(fs::read(archive)?);
    Ok(Archive::open(Arc::new(archive), &ReadOptions::default())?.codec().name())
}

/// Runs competitors alternately, each for `rounds` or until it has used `seconds`, and returns the
/// best usage of each.
pub(crate) fn alternate<C: Copy>(
    competitors: &[C],
    rounds: usize,
    seconds: f64,
    run: impl Fn(C) -> Result<Usage>,
) -> Result<Vec<(C, Usage)>> {
    let none = Usage { cost: Cost::MAX, memory: f64::NAN };
    let mut best: Vec<(C, Usage)> = competitors.iter().map(|&who| (who, none)).collect();
    let mut spent = vec![0.0; best.len()];
    for _ in 0..rounds {
        for ((who, best), spent) in best.iter_mut().zip(&mut spent) {
            if *spent < seconds {
                let usage = run(*who)?;
                *spent += usage.cost.wall;
                *best = best.min(usage);
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
    fn a_competitor_that_used_its_seconds_pauses() {
        let turns = RefCell::new(String::new());
        let best = alternate(&['a', 'b'], 3, 5.0, |who| {
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
    fn missing_commands_are_named() {
        let versions =
            vec![(Tool::Xz, Ok("xz 5".to_owned())), (Tool::Gzip, Err("not found".to_owned()))];
        let tools = Tools { versions };
        assert!(tools.have(XZ) && tools.have(QUICK) && !tools.have(GZIP) && !tools.have(ZSTD));
        let expected = "Command-line rivals, each on one thread: xz 5. Missing: gzip (not found).";
        assert_eq!(tools.describe(), expected);
    }
}
