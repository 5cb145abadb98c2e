//! Signals that end or stop the process: the terminal is restored first.

#[cfg(unix)]
mod unix {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Weak};
    use std::thread;
    use std::time::Duration;

    use ratatui::crossterm::terminal::disable_raw_mode;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
    use signal_hook::{SigId, flag, low_level};

    use crate::failure::Result;

    /// How long a signal may wait for the browser to obey it.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// How often the watcher looks for a signal.
    const WATCH_EVERY: Duration = Duration::from_millis(200);

    /// The signals that end the process, caught until this is dropped.
    #[derive(Debug)]
    pub(in super::super) struct Signals {
        received: Arc<AtomicUsize>,
        ids: Vec<SigId>,
    }

    impl Signals {
        /// # Errors
        ///
        /// Fails if the system refuses.
        pub(in super::super) fn catch() -> Result<Self> {
            let mut signals = Self { received: Arc::default(), ids: Vec::new() };
            for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
                let number = usize::try_from(signal).unwrap_or(0);
                let id = flag::register_usize(signal, signals.received.clone(), number)?;
                signals.ids.push(id);
            }
            let watched = Arc::downgrade(&signals.received);
            thread::Builder::new().spawn(move || watch(&watched))?;
            Ok(signals)
        }

        /// Returns whether a signal to end has come.
        pub(in super::super) fn is_ending(&self) -> bool {
            self.received.load(Ordering::Relaxed) > 0
        }

        /// Ends the process by the signal that has come, if one has.
        pub(in super::super) fn obey(self) {
            let signal = self.received.load(Ordering::Relaxed);
            if let Ok(signal @ 1..) = i32::try_from(signal) {
                // The process goes on, and ends soon, if the system refuses.
                let _ = low_level::emulate_default_handler(signal);
            }
        }

        /// Stops the process until the shell continues it.
        pub(in super::super) fn suspend() {
            // The browser goes on at once if the system refuses.
            let _ = low_level::emulate_default_handler(SIGTSTP);
        }
    }

    /// Ends the process by a signal that the browser does not obey, until `received` is dropped.
    ///
    /// The browser is not asked while it reads keys, and crossterm reads for ever from a terminal that
    /// was closed.
    fn watch(received: &Weak<AtomicUsize>) {
        while let Some(signal) = received.upgrade().map(|number| number.load(Ordering::Relaxed)) {
            if signal == 0 {
                thread::sleep(WATCH_EVERY);
                continue;
            }
            thread::sleep(PATIENCE);
            if received.strong_count() == 0 {
                return;
            }
            // There may be no terminal any more.
            let _ = disable_raw_mode();
            if let Ok(signal) = i32::try_from(signal) {
                let _ = low_level::emulate_default_handler(signal);
            }
        }
    }

    impl Drop for Signals {
        fn drop(&mut self) {
            self.ids.drain(..).for_each(|id| {
                low_level::unregister(id);
            });
        }
    }
}

#[cfg(unix)]
pub(super) use unix::Signals;

#[cfg(not(unix))]
#[derive(Debug)]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    /// There are no signals that leave a terminal in a wrong state.
    pub(super) fn catch() -> crate::failure::Result<Self> {
        Ok(Self)
    }

    pub(super) fn is_ending(&self) -> bool {
        false
    }

    pub(super) fn obey(self) {}

    pub(super) fn suspend() {}
}
