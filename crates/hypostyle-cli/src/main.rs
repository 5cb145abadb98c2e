//! `hyp`: column files from the command line.

use std::io;
use std::process::ExitCode;

use clap::Parser;

mod cli;
mod commands;
mod failure;
mod file_kind;
mod hint;
mod input;
mod output;
mod tables;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(err) => {
            // clap prints help to stdout and complaints to stderr; a reader that
            // has gone away is no reason to complain.
            let _ = err.print();
            return if err.use_stderr() { failure::USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    let mut out = output::Stdout::new();
    let done = commands::run(&cli, &mut out).and_then(|status| {
        io::Write::flush(&mut out)?;
        Ok(status)
    });
    match done {
        Ok(status) => status.into(),
        Err(failure) => failure.report(),
    }
}
