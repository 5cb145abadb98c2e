//! `hyp completions`: completions for a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Status;
use crate::cli::Cli;
use crate::failure::Result;
use crate::output::Out;

/// Arguments of `hyp completions`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the completion script.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    // Into memory first: the generator panics when a pipe breaks.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "hyp", &mut script);
    out.write_all(&script)?;
    Ok(Status::Fine)
}
