//! Hypostyle beside its rivals: sizes, speed and memory, each from one run.
#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a tool for developers: it prints, and stops where it stands if it is wrong"
)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod archives;
mod bench;
mod columnfiles;
mod convert;
mod corpus;
mod data;
mod machine;
mod measure;
mod micro;
mod packers;
mod page;
mod plot;
mod python;
mod queries;
mod read;
mod rivals;
mod scaling;
mod setup;
mod size;
mod strings;
mod table;

use bench::Bench;
use corpus::Corpus;
use setup::Setup;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Measures Hypostyle beside its rivals.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true, after_help = benches())]
struct Cli {
    /// The benches to run [default: all].
    names: Vec<String>,
    /// Little data and few rounds, in a few minutes: checks the benches, not the clock.
    #[arg(long)]
    quick: bool,
    /// Write each page into docs/benchmarks: NAME.md, its pictures, and NAME.json.
    #[arg(long)]
    write: bool,
    /// The folder of real files, as `.xz` and `.tar.xz` [default: ../shared/corpus; if it is
    /// not there, some come from public packages, and the rest is left out].
    #[arg(long, value_name = "FOLDER")]
    corpus: Option<PathBuf>,
    #[command(subcommand)]
    job: Option<Job>,
}

/// The names of all benches, for the help.
fn benches() -> String {
    let names: Vec<&str> = bench::ALL.iter().map(|bench| bench.name).collect();
    format!("Benches: {}", names.join(", "))
}

/// One piece of work, in a process of its own so that its memory can be told; or for profilers.
#[derive(Debug, Subcommand)]
enum Job {
    /// Asks an archive over and over and prints seconds, CPU seconds and MB of memory.
    Ask(scaling::AskArgs),
    /// Writes a made table as CSV.
    Gen {
        /// The number of rows.
        #[arg(long, default_value_t = 1_000_000)]
        rows: u64,
        /// The number of columns.
        #[arg(long, default_value_t = 10)]
        columns: usize,
        /// The file to write.
        #[arg(long)]
        out: PathBuf,
    },
    /// Puts the files that are measured into a folder, and prints their SHA-256.
    Corpus {
        /// The folder of real files, as `.xz` and `.tar.xz` [default: ../shared/corpus; if it is
        /// not there, some come from public packages].
        #[arg(long, value_name = "FOLDER")]
        corpus: Option<PathBuf>,
        /// The folder to put them into.
        out: PathBuf,
    },
    /// Converts one CSV file and prints seconds, CPU seconds and MB of memory.
    Convert(convert::Args),
    /// Turns one hot loop so many times: for what counts instructions.
    Loop(micro::LoopArgs),
    /// Packs one file and prints seconds, CPU seconds and MB of memory.
    Pack(packers::PackArgs),
    /// Reads one file, and inflates it, over and over: for profilers.
    Read(read::Args),
    /// Compresses or decodes made strings and prints seconds, CPU seconds and MB of memory.
    #[command(name = "onpair")]
    OnPair(scaling::StringsArgs),
    /// Unpacks one archive and prints seconds, CPU seconds and MB of memory.
    Unpack(packers::UnpackArgs),
}

impl Job {
    fn run(&self) -> Result<()> {
        match self {
            Self::Ask(args) => scaling::ask(args),
            Self::Gen { rows, columns, out } => {
                generate(data::Shape { rows: *rows, columns: *columns }, out)
            }
            Self::Corpus { corpus, out } => {
                fs::create_dir_all(out)?;
                print!("{}", Corpus::collect(corpus.as_deref(), out, false)?.table());
                Ok(())
            }
            Self::Convert(args) => convert::run(args),
            Self::Loop(args) => micro::turn(args),
            Self::OnPair(args) => scaling::strings(args),
            Self::Pack(args) => packers::pack(args),
            Self::Read(args) => read::run(args),
            Self::Unpack(args) => packers::unpack(args),
        }
    }
}

impl Cli {
    fn run(self) -> Result<()> {
        if let Some(job) = self.job {
            return job.run();
        }
        let named = |name: &String| {
            Bench::named(name).ok_or_else(|| format!("there is no bench {name}; {}", benches()))
        };
        let mut benches =
            self.names.iter().map(named).collect::<std::result::Result<Vec<_>, _>>()?;
        if benches.is_empty() {
            benches.extend(&bench::ALL);
        }
        let setup = Setup::new(self.quick, self.corpus)?;
        for bench in benches {
            eprintln!("bench {}", bench.name);
            bench.run(&setup, self.write).map_err(|err| format!("{}: {err}", bench.name))?;
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("error: {err}");
            ExitCode::from(2)
        }
    }
}

fn generate(shape: data::Shape, out: &Path) -> Result<()> {
    Ok(data::write_csv(shape, &mut File::create(out)?)?)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
