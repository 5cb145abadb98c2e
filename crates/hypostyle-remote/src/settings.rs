//! How long servers are waited for.

use std::time::Duration;

/// How long servers are waited for, and how often.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The longest time without a byte from the server, after which a request ends.
    pub timeout: Duration,
    /// How often a request is repeated after it failed, within three minutes.
    pub retries: usize,
}

impl Default for Settings {
    /// 30 seconds, and 10 times.
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), retries: 10 }
    }
}

impl Settings {
    /// Sets the longest time without a byte from the server.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how often a request is repeated.
    #[must_use]
    pub fn with_retries(mut self, retries: usize) -> Self {
        self.retries = retries;
        self
    }
}
