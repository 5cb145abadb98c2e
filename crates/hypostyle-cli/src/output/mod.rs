//! Outputs: standard output, files that appear whole, progress, tables.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use hypostyle::spill::{FileScratch, SpillBuffer};

use crate::failure::{Failure, Result};

mod bar;
mod grid;
mod progress;
mod rows;
mod style;
mod target;

pub(crate) use bar::{BAR, bar};
pub(crate) use grid::Grid;
pub(crate) use progress::Progress;
pub(crate) use rows::RowPrinter;
pub(crate) use style::Paint;
pub(crate) use target::{Attributes, Target};

/// Where a command prints: standard output, or the demo.
pub(crate) trait Out: Write {
    /// The width of the terminal; `None` if it is none.
    fn terminal_width(&self) -> Option<usize>;

    /// Whether colours are wanted.
    fn paint(&self) -> Paint;
}

/// Standard output, buffered.
pub(crate) struct Stdout {
    out: BufWriter<StdoutLock<'static>>,
    terminal: bool,
}

impl Stdout {
    pub(crate) fn new() -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        Self { out: BufWriter::with_capacity(64 << 10, stdout.lock()), terminal }
    }
}

impl Write for Stdout {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.out.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
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

/// A stage that keeps `memory` bytes, and the rest in a nameless file.
pub(crate) fn scratch(memory: u64) -> Result<SpillBuffer> {
    let file = tempfile::tempfile()
        .map_err(|cause| Failure::io("cannot make a temporary file", &cause))?;
    Ok(SpillBuffer::with_scratch(memory, Box::new(FileScratch::try_new(file)?)))
}
