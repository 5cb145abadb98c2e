//! The command `hyp`: column files and archives from the command line.
//!
//! [`run`] is the whole command, for the executable and for the Python package.
//!
//! From bottom to top: `plain`, `failure` (messages and exit codes), `hint`, `path_arg`; `args` and
//! `table_args` (arguments that commands share); `remote` (URLs); `output`; `paths` (folders and
//! patterns); `input` (any input as a table of the library); `tables` (several as one); `commands`;
//! `habits` (what users of other tools type).

use std::ffi::OsString;
use std::io;

use clap::Parser;

mod args;
mod commands;
mod failure;
mod habits;
mod hint;
mod input;
mod output;
mod path_arg;
mod paths;
mod plain;
#[cfg(feature = "remote")]
mod remote;
mod table_args;
mod tables;

/// Runs the command with these arguments, of which the first is the name of the program.
///
/// Returns the exit code.
pub fn run<I, T>(args: I) -> u8
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let (args, answer) = habits::understood(args);
    let cli = match commands::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(_) if answer.is_some() => {
            return answer.map_or(failure::USAGE, |answer| answer.report());
        }
        Err(err) => {
            // clap prints help to stdout and errors to stderr. A reader that closed the pipe
            // is not an error.
            let printed = err.print().and_then(|()| io::Write::flush(&mut io::stdout()));
            return match printed {
                _ if err.use_stderr() => failure::USAGE,
                Ok(()) => 0,
                Err(cause) => failure::Failure::of_output("standard output", &cause).report(),
            };
        }
    };
    let mut out = output::Stdout::new();
    let result = commands::run(&cli, &mut out).and_then(|status| {
        io::Write::flush(&mut out)?;
        Ok(status)
    });
    match result {
        Ok(status) => status.into(),
        Err(failure) => match out.failed() {
            Some(cause) => failure::Failure::of_output("standard output", cause).report(),
            None => failure.report(),
        },
    }
}
