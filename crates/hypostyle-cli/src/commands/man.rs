//! `hyp man`: prints the manual page.

use clap::CommandFactory;

use super::Cli;
use super::Status;
use crate::failure::{Failure, Result};
use crate::output::Out;

/// Arguments of `hyp man`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Print the page of this command instead of the overview
    command: Option<String>,
}

/// Prints a page in roff: `hyp man | man -l -`.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let mut hyp = Cli::command();
    hyp.build();
    let page = match &args.command {
        None => hyp,
        Some(name) => {
            let found = hyp.find_subcommand(name).cloned();
            found.ok_or_else(|| Failure::usage(format!("unknown command `{name}`")))?
        }
    };
    let title = page.get_display_name().unwrap_or("hyp").to_owned();
    let mut roff = Vec::new();
    clap_mangen::Man::new(page).title(title).render(&mut roff)?;
    out.write_all(&roff)?;
    Ok(Status::Fine)
}
