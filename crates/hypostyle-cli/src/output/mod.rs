//! Output: standard output, files, progress bars and tables.
//!
//! Commands print through [`Out`]. `target` writes a file and renames it once it is complete,
//! `rows` prints batches as text or as a table (`grid`), and `progress` shows long work.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

mod bar;
mod grid;
mod progress;
mod rows;
mod style;
mod target;

pub(crate) use crate::plain::{note, plain, plain_lines, warn};
pub(crate) use bar::{BAR_CELLS, bar};
pub(crate) use grid::Grid;
#[cfg(feature = "sql")]
pub(crate) use grid::GridCell;
#[cfg(feature = "browse")]
pub(crate) use grid::clip;
pub(crate) use progress::Progress;
pub(crate) use rows::RowPrinter;
#[cfg(feature = "sql")]
pub(crate) use rows::cells;
pub(crate) use style::Paint;
pub(crate) use target::{Attributes, Target, unix_time};

/// Returns a number with its noun: `1 row`, `2 rows`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Where a command prints: standard output, or the demo's view of it.
pub(crate) trait Out: Write {
    /// Returns the width of the terminal; `None` if the output is not a terminal.
    fn terminal_width(&self) -> Option<usize>;

    /// Returns how to colour text.
    fn paint(&self) -> Paint;
}

/// Standard output, buffered.
pub(crate) struct Stdout {
    out: BufWriter<StdoutLock<'static>>,
    terminal: bool,
    /// The first error of writing. Commands wrap it in errors about what they read.
    failed: Option<io::Error>,
}

impl Stdout {
    pub(crate) fn new() -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        let out = BufWriter::with_capacity(64 << 10, stdout.lock());
        Self { out, terminal, failed: None }
    }

    /// Returns the error of writing, if there was one.
    pub(crate) fn failed(&self) -> Option<&io::Error> {
        self.failed.as_ref()
    }

    fn watched<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(err) = &result
            && err.kind() != io::ErrorKind::Interrupted
        {
            self.failed.get_or_insert(copy_of(err));
        }
        result
    }
}

impl Write for Stdout {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.out.write(buf);
        self.watched(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.watched(flushed)
    }
}

/// Returns an error like this one, which cannot be cloned.
fn copy_of(err: &io::Error) -> io::Error {
    match err.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(err.kind(), err.to_string()),
    }
}

impl Out for Stdout {
    fn terminal_width(&self) -> Option<usize> {
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        self.terminal.then(|| width.unwrap_or(80))
    }

    fn paint(&self) -> Paint {
        Paint::new(self.terminal)
    }
}
