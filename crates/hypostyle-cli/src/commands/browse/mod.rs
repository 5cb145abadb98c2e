//! `hyp browse`: shows a table in the terminal.
//!
//! `source` is the table, `job` what is done on other threads: `cells` reads what is shown,
//! `arrange` filters and sorts, `find` searches, until a `ticket` is cancelled. `browser` has the state and knows no terminal, with
//! `columns`, `prompt` and `page`; `draw` shows it, and `screen` is the terminal, with `signals`.

#[cfg(feature = "browse")]
mod arrange;
#[cfg(feature = "browse")]
mod browser;
#[cfg(feature = "browse")]
mod cells;
#[cfg(feature = "browse")]
mod columns;
#[cfg(feature = "browse")]
mod draw;
#[cfg(feature = "browse")]
mod find;
#[cfg(feature = "browse")]
mod job;
#[cfg(feature = "browse")]
mod page;
#[cfg(feature = "browse")]
mod prompt;
#[cfg(feature = "browse")]
mod screen;
#[cfg(feature = "browse")]
mod signals;
#[cfg(feature = "browse")]
mod source;
#[cfg(all(test, feature = "browse"))]
mod tests;
#[cfg(feature = "browse")]
mod ticket;

use super::Status;
use crate::args::{FileArg, ReadArgs};
use crate::failure::{Failure, Result};
use crate::output::Out;

/// Arguments of `hyp browse`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
hyp reads only the row groups and columns that come into view, so large archives open at once. Text
files are read once before they are shown, to find their rows and types.

Keys:
  arrows, PgUp, PgDn, g, G  move; [ and ] go to the previous and next row group
  :                         go to a row by number, counted from 0, or to a share such as 50%
  / n N                     find a text in the shown columns, again, and backwards
  &                         show rows that match a predicate, such as price > 10 and name like 'A%'
  s                         sort the rows by the column
  - + f < > o w c           hide, show all, freeze, move, order and widen columns, list them
  i                         statistics and histogram of the column
  Enter                     show the row as a record
  y Y                       copy the cell or the row, if the terminal lets programs copy (OSC 52)
  Esc                       stop what is running, or close what is open
  ? q                       help; quit

Examples:
  hyp browse flights.csv.at1
  hyp browse table.colf
  curl -s https://example.org/data.csv | hyp browse -")]
pub(crate) struct Args {
    #[command(flatten)]
    file: FileArg,

    #[command(flatten)]
    read: ReadArgs,
}

/// Shows the table until the user quits.
#[cfg(feature = "browse")]
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    use crate::failure::InFile as _;
    use crate::input::Input;

    let input = Input::open_any(&args.file.file, &args.read)?;
    let name = input.name();
    let table = input.into_table(&args.read, None)?;
    if out.terminal_width().is_none() {
        let failure = Failure::usage("standard output is not a terminal");
        return Err(failure.with_hint(Some("hyp cat prints rows to files and pipes")));
    }
    let source = source::Source::new(name.clone(), table, args.read.threads());
    screen::run(source.in_file(&name)?, out).in_file(&name)?;
    Ok(Status::Fine)
}

/// Says how to get a build with the viewer.
#[cfg(not(feature = "browse"))]
pub(crate) fn run(args: &Args, _: &mut dyn Out) -> Result<Status> {
    let _ = (&args.file, &args.read);
    Err(Failure::usage(
        "this build of hyp has no viewer for terminals; get one that has: \
         cargo install hypostyle-cli",
    ))
}

/// Prints a number with separators.
#[cfg(feature = "browse")]
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
