//! `hyp man`: prints the manual page.

use clap::CommandFactory;

use super::Cli;
use super::Status;
use crate::failure::{Failure, Result};
use crate::output::Out;

/// Arguments of `hyp man`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp man | man -l -
  hyp man convert > hyp-convert.1")]
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
    let help = page.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_verbs = page.has_subcommands();
    let man = clap_mangen::Man::new(page).title(title);
    let mut roff = Vec::new();
    man.render_title(&mut roff)?;
    man.render_name_section(&mut roff)?;
    man.render_synopsis_section(&mut roff)?;
    man.render_description_section(&mut roff)?;
    man.render_options_section(&mut roff)?;
    if has_verbs {
        man.render_subcommands_section(&mut roff)?;
    }
    let (examples, notes): (Vec<&str>, Vec<&str>) =
        help.split("\n\n").partition(|part| part.starts_with("Examples:"));
    let notes: Vec<&str> =
        notes.into_iter().filter(|part| !part.starts_with("Exit codes:")).collect();
    section(&mut roff, "NOTES", &notes.join("\n\n"));
    let examples = examples.join("\n");
    section(
        &mut roff,
        "EXAMPLES",
        examples.trim_start_matches("Examples:").trim_start_matches('\n'),
    );
    section(&mut roff, "EXIT STATUS", super::EXIT_CODES);
    out.write_all(&roff)?;
    Ok(Status::Fine)
}

/// Adds a section whose lines stay as they are; none if it is empty.
fn section(roff: &mut Vec<u8>, title: &str, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    roff.extend_from_slice(format!(".SH \"{title}\"\n.nf\n").as_bytes());
    for line in text.lines() {
        // A dot or a quote at the start of a line would be a request.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        roff.extend_from_slice(format!("{guard}{line}\n").as_bytes());
    }
    roff.extend_from_slice(b".fi\n");
}
