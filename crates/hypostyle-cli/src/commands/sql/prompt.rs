//! The interactive prompt.

use std::env;
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::time::Instant;

use rustyline::Editor;
use rustyline::config::{CompletionType, Config};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;

use super::completion::{COMMANDS, PromptHelper};
use super::session::Session;
use super::{Args, problem, statements};
use crate::commands::Status;
use crate::failure::{Failure, Result};
use crate::output::{Grid, Out};

/// Statements that the history keeps.
const HISTORY_ENTRIES: usize = 1000;

/// Reads statements and runs them until the user quits.
///
/// If standard input is not a terminal, all of it is one script.
pub(crate) fn run(session: &Session, args: &Args, out: &mut dyn Out) -> Result<Status> {
    if !io::stdin().is_terminal() {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text)?;
        statements::run(session, &text, args, args.stats, out)?;
        return Ok(session.status());
    }
    let mut prompt = Prompt { session, args, is_timed: false, has_stats: args.stats };
    prompt.talk(out)?;
    Ok(Status::Fine)
}

struct Prompt<'a> {
    session: &'a Session,
    args: &'a Args,
    is_timed: bool,
    has_stats: bool,
}

impl Prompt<'_> {
    fn talk(&mut self, out: &mut dyn Out) -> Result<()> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .max_history_size(HISTORY_ENTRIES)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(unreadable)?
            .history_ignore_space(true)
            .build();
        let mut editor: Editor<PromptHelper, FileHistory> =
            Editor::with_config(config).map_err(unreadable)?;
        editor.set_helper(Some(PromptHelper::new(self.session)));
        let history = history_path();
        if let Some(path) = &history {
            // The first time, there is none.
            let _ = editor.load_history(path);
        }
        writeln!(out, "End statements with `;`. \\? lists commands, Ctrl-D quits.")?;
        loop {
            out.flush()?;
            match editor.readline("hyp> ") {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) => {
                    let _ = editor.add_history_entry(text.trim());
                    if let Some(path) = &history {
                        // A history that cannot be written is no reason to stop.
                        let _ = editor.append_history(path);
                    }
                    if !self.answer(text.trim(), out)? {
                        return Ok(());
                    }
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(()),
                Err(err) => return Err(unreadable(err)),
            }
        }
    }

    /// Runs what the user typed; returns whether to go on.
    fn answer(&mut self, text: &str, out: &mut dyn Out) -> Result<bool> {
        if !text.starts_with('\\') {
            let start = Instant::now();
            let ran = statements::run(self.session, text, self.args, self.has_stats, out);
            out.flush()?;
            report(ran)?;
            if self.is_timed {
                writeln!(out, "Time: {:.1} ms", start.elapsed().as_secs_f64() * 1000.0)?;
            }
            return Ok(true);
        }
        let (command, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim().trim_end_matches(';').trim_matches('\'');
        match command.trim_end_matches(';') {
            "\\q" => return Ok(false),
            "\\?" => {
                for (command, meaning) in COMMANDS {
                    writeln!(out, "{command:9} {meaning}")?;
                }
            }
            "\\timing" => self.is_timed = switched("timing", self.is_timed, rest, out)?,
            "\\stats" => self.has_stats = switched("stats", self.has_stats, rest, out)?,
            "\\d" if rest.is_empty() => {
                let tables = "select table_name, table_type from information_schema.tables \
                              where table_schema <> 'information_schema' order by 1";
                report(statements::run(self.session, tables, self.args, false, out))?;
            }
            "\\d" => report(self.describe(rest, out))?,
            other => writeln!(out, "no command `{other}`; \\? lists commands")?,
        }
        Ok(true)
    }

    /// Prints the columns of a table.
    fn describe(&self, name: &str, out: &mut dyn Out) -> Result<()> {
        let table = datafusion::common::TableReference::bare(name);
        let found = self.session.run(self.session.ctx.table_provider(table));
        let table = found?.map_err(|err| problem::failure(&err, ""))?;
        let mut grid = Grid::default().column("column", false).column("type", false);
        for field in table.schema().fields() {
            grid.texts([field.name().clone(), field.data_type().to_string()]);
        }
        Ok(grid.print(out)?)
    }
}

/// Prints a failure, and goes on, unless the reader of the output is gone.
fn report(ran: Result<()>) -> Result<()> {
    match ran {
        Err(failure) if failure.is_broken_pipe() => Err(failure),
        Err(failure) => {
            let _ = failure.report();
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Returns the new state of a switch, and prints it.
fn switched(name: &str, is_on: bool, word: &str, out: &mut dyn Out) -> Result<bool> {
    let is_on = match word {
        "on" => true,
        "off" => false,
        _ => !is_on,
    };
    writeln!(out, "{name} is {}", if is_on { "on" } else { "off" })?;
    Ok(is_on)
}

fn unreadable(err: ReadlineError) -> Failure {
    Failure::io("cannot read from the terminal", &io::Error::other(err))
}

/// Returns where the history is kept, by the rules of the XDG specification.
fn history_path() -> Option<PathBuf> {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    let folder = state.join("hyp");
    fs::create_dir_all(&folder).ok()?;
    Some(folder.join("sql_history"))
}
