//! `hyp completions`: prints shell completions.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use super::Status;
use crate::failure::Result;
use crate::output::Out;

/// Arguments of `hyp completions`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp completions bash > ~/.local/share/bash-completion/completions/hyp
  hyp completions fish > ~/.config/fish/completions/hyp.fish")]
pub(crate) struct Args {
    /// The shell to complete for
    shell: Shell,
}

/// Prints the completion script.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    // Generate into memory: the generator panics if the pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "hyp", &mut script);
    out.write_all(&script)?;
    Ok(Status::Fine)
}
