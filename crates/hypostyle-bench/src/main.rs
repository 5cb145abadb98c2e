//! Benchmarks of Hypostyle and its rivals: size, speed and memory, measured in the same run.
#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a tool for developers: it prints, and may panic"
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
#[cfg(feature = "sql")]
mod sql;
mod strings;
mod table;

use bench::Bench;
use corpus::Corpus;
use setup::Setup;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Measures Hypostyle and its rivals.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true, after_help = benches())]
struct Cli {
    /// The benches to run [default: all that are built].
    names: Vec<String>,
    /// Use little data and few rounds: checks in a few minutes that the benches run.
    #[arg(long)]
    quick: bool,
    /// Write each page into docs/benchmarks: NAME.md, its plots, and NAME.json.
    #[arg(long)]
    write: bool,
    /// The folder of real files, as `.xz` and `.tar.xz` [default: ../shared/corpus; if that does
    /// not exist, the bench downloads some of the files from public packages and omits the rest].
    #[arg(long, value_name = "FOLDER")]
    corpus: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<ChildCommand>,
}

/// Lists the names of all benches, for the help.
fn benches() -> String {
    let names: Vec<&str> = bench::ALL.iter().map(|bench| bench.name).collect();
    format!("Benches: {}", names.join(", "))
}

/// A command that a bench runs in a child process to measure its memory, or that a developer runs
/// under a profiler.
#[derive(Debug, Subcommand)]
enum ChildCommand {
    /// Queries an archive repeatedly and prints seconds, CPU seconds and MB of memory.
    Query(scaling::QueryArgs),
    /// Writes a generated table as CSV.
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
    /// Copies the corpus files into a folder and prints their SHA-256.
    Corpus {
        /// The folder of real files, as `.xz` and `.tar.xz` [default: ../shared/corpus; if that
        /// does not exist, the command downloads some of them from public packages].
        #[arg(long, value_name = "FOLDER")]
        corpus: Option<PathBuf>,
        /// The folder to write.
        out: PathBuf,
    },
    /// Converts one CSV file and prints seconds, CPU seconds and MB of memory.
    Convert(convert::Args),
    /// Runs one hot loop a number of times, for tools that count instructions.
    Loop(micro::LoopArgs),
    /// Packs one file and prints seconds, CPU seconds and MB of memory.
    Pack(packers::PackArgs),
    /// Reads one file, and inflates it, repeatedly, for profilers.
    Read(read::Args),
    /// Compresses or decodes generated strings and prints seconds, CPU seconds and MB of memory.
    #[command(name = "onpair")]
    OnPair(scaling::StringsArgs),
    /// Unpacks one archive and prints seconds, CPU seconds and MB of memory.
    Unpack(packers::UnpackArgs),
}

impl ChildCommand {
    fn run(&self) -> Result<()> {
        match self {
            Self::Query(args) => scaling::query(args),
            Self::Gen { rows, columns, out } => {
                generate(data::TableShape { rows: *rows, columns: *columns }, out)
            }
            Self::Corpus { corpus, out } => {
                fs::create_dir_all(out)?;
                print!("{}", Corpus::collect(corpus.as_deref(), out, false)?.table());
                Ok(())
            }
            Self::Convert(args) => convert::run(args),
            Self::Loop(args) => micro::run_loop(args),
            Self::OnPair(args) => scaling::strings(args),
            Self::Pack(args) => packers::pack(args),
            Self::Read(args) => read::run(args),
            Self::Unpack(args) => packers::unpack(args),
        }
    }
}

impl Cli {
    fn run(self) -> Result<()> {
        if let Some(command) = self.command {
            return command.run();
        }
        let named = |name: &String| {
            Bench::named(name).ok_or_else(|| match name.as_str() {
                "sql" => "the bench `sql` needs the feature `sql` of this program".to_owned(),
                _ => format!("unknown bench `{name}`; {}", benches()),
            })
        };
        let mut benches =
            self.names.iter().map(named).collect::<std::result::Result<Vec<_>, _>>()?;
        if benches.is_empty() {
            benches.extend(bench::ALL);
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

fn generate(shape: data::TableShape, out: &Path) -> Result<()> {
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
