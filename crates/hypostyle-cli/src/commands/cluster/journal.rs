//! Prints what servers report, on standard error.

use std::io::{self, Write};

use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::plain::plain_lines;

/// The names of our own code in the reports.
const OWN: &str = "hypostyle";

/// The names of Ballista's code.
const ENGINE: &str = "ballista";

struct Journal {
    is_verbose: bool,
}

impl Log for Journal {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let most = match (self.is_verbose, metadata.target()) {
            (false, _) => Level::Warn,
            (true, target) if target.starts_with(OWN) => Level::Debug,
            (true, target) if target.starts_with(ENGINE) => Level::Info,
            (true, _) => Level::Warn,
        };
        metadata.level() <= most
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = record.level().as_str().to_lowercase();
            let text = format!("{level}: {}", record.args());
            // There is nobody to tell that standard error is gone.
            let _ = writeln!(io::stderr(), "{}", plain_lines(&text));
        }
    }

    fn flush(&self) {}
}

/// Starts to print reports: warnings and errors, and with `is_verbose` also what is done.
pub(crate) fn start(is_verbose: bool) {
    let most = if is_verbose { LevelFilter::Debug } else { LevelFilter::Warn };
    // The Python package may run several commands in one process, which share the first journal.
    if log::set_boxed_logger(Box::new(Journal { is_verbose })).is_ok() {
        log::set_max_level(most);
    }
}
