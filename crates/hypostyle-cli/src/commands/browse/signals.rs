//! Signals that end or stop the process: the terminal is restored first.

#[cfg(unix)]
mod unix {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
    use signal_hook::{SigId, flag, low_level};

    use crate::failure::Result;

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
