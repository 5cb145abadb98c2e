//! Progress bars, on standard error if that is a terminal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Whether a progress bar is visible.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// A progress bar that disappears when dropped.
///
/// A bar that is created while another is visible stays hidden: two would overwrite each other.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    shown: bool,
}

impl Progress {
    /// Creates a bar that counts bytes, of `total` if that is not 0.
    pub(crate) fn bytes(what: &str, total: u64) -> Self {
        let template = match total {
            0 => "{spinner} {msg}  {bytes}  {bytes_per_sec}",
            _ => "{msg} [{bar:30}] {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left",
        };
        Self::new(what, total, template)
    }

    /// Creates a bar that counts `total` steps.
    pub(crate) fn steps(what: &str, total: u64) -> Self {
        Self::new(what, total, "{msg} [{bar:30}] {pos} of {len}")
    }

    fn new(what: &str, total: u64, template: &str) -> Self {
        let shown = !SHOWN.swap(true, Ordering::Relaxed);
        // indicatif hides the bar if standard error is not a terminal.
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, shown }
    }

    pub(crate) fn set(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Sets how many steps are done, and how many there are.
    pub(crate) fn set_steps(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// Replaces the message beside the bar.
    pub(crate) fn set_message(&self, what: impl Into<String>) {
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
