//! Speed of Hypostyle beside what the hardware and the rivals allow.
#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a tool for developers: it prints, and stops where it stands if it is wrong"
)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

mod archives;
mod columnfiles;
mod convert;
mod data;
mod machine;
mod measure;
mod python;
mod queries;
mod read;
mod report;
mod strings;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Measures Hypostyle.
#[derive(Debug, Parser)]
enum Cli {
    /// Writes the table that everything is measured on, as CSV.
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
    /// Measures packing and unpacking of AT-1 archives, beside xz.
    Archives(archives::Args),
    /// Measures COLM, COLF and CLMN, reading and converting.
    Columnfiles(columnfiles::Args),
    /// Converts one CSV file and prints seconds, CPU seconds and MB of memory.
    Convert(convert::Args),
    /// Packs one file and prints seconds, CPU seconds and MB of memory.
    Pack(archives::PackArgs),
    /// Measures AT-1 archives that can be queried, beside xz, Parquet and DuckDB.
    Queries(queries::Args),
    /// Reads one file, and inflates it, over and over: for profilers.
    Read(read::Args),
    /// Measures OnPair columns, beside the crates `onpair` and `fsst-rs`.
    Strings(strings::Args),
    /// Unpacks one archive and prints seconds, CPU seconds and MB of memory.
    Unpack(archives::UnpackArgs),
}

fn main() -> ExitCode {
    let done = match Cli::parse() {
        Cli::Gen { rows, columns, out } => generate(data::Shape { rows, columns }, &out),
        Cli::Archives(args) => archives::run(&args),
        Cli::Columnfiles(args) => columnfiles::run(&args),
        Cli::Convert(args) => convert::run(&args),
        Cli::Queries(args) => queries::run(&args),
        Cli::Pack(args) => archives::pack(&args),
        Cli::Read(args) => read::run(&args),
        Cli::Strings(args) => strings::run(&args),
        Cli::Unpack(args) => archives::unpack(&args),
    };
    match done {
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
