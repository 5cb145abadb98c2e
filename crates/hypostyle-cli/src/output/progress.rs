//! Progress of long work, on standard error and only on a terminal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Whether a line is shown.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// A line that shows how far the work is; gone when it is dropped.
///
/// Work inside of other work has no line of its own: two would draw over each other.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    shown: bool,
}

impl Progress {
    /// Counts bytes of `total`, or just bytes if it is 0.
    pub(crate) fn bytes(what: &str, total: u64) -> Self {
        let shape = match total {
            0 => "{spinner} {msg}  {bytes}  {bytes_per_sec}",
            _ => "{msg} [{bar:30}] {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left",
        };
        Self::new(what, total, shape)
    }

    /// Counts steps of `total`.
    pub(crate) fn steps(what: &str, total: u64) -> Self {
        Self::new(what, total, "{msg} [{bar:30}] {pos} of {len}")
    }

    fn new(what: &str, total: u64, shape: &str) -> Self {
        let shown = !SHOWN.swap(true, Ordering::Relaxed);
        // Hidden by itself where standard error is no terminal.
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        if let Ok(style) = ProgressStyle::with_template(shape) {
            bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, shown }
    }

    pub(crate) fn set(&self, done: u64) {
        self.bar.set_position(done);
    }

    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// Says what is worked on now.
    pub(crate) fn say(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if self.shown {
            SHOWN.store(false, Ordering::Relaxed);
        }
    }
}
