//! `hyp`: column files and archives from the command line.
//!
//! From bottom to top: `failure` (messages and exit codes), `hint`, `path_arg`; `args` (arguments
//! that commands share); `remote` (URLs); `output`; `input` (any input as a table of the library);
//! `commands`.

use std::io;
use std::process::ExitCode;

use clap::Parser;

mod args;
mod commands;
mod failure;
mod hint;
mod input;
mod output;
mod path_arg;
#[cfg(feature = "remote")]
mod remote;

fn main() -> ExitCode {
    let cli = match commands::Cli::try_parse() {
        Ok(cli) => cli,
        Err(err) => {
            // clap prints help to stdout and errors to stderr. A reader that closed the pipe
            // is not an error.
            let _ = err.print();
            return if err.use_stderr() { failure::USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    let mut out = output::Stdout::new();
    let result = commands::run(&cli, &mut out).and_then(|status| {
        io::Write::flush(&mut out)?;
        Ok(status)
    });
    match result {
        Ok(status) => status.into(),
        Err(failure) => failure.report(),
    }
}
