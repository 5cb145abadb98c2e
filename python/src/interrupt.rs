//! Runs long work so that Ctrl-C ends the call.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How often a waiting call looks for signals.
const POLL: Duration = Duration::from_millis(50);

/// Tells work that nobody waits for it any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Canceled(Arc<AtomicBool>);

impl Canceled {
    /// Fails once the call was interrupted.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::Relaxed) {
            // A reader would repeat after `Interrupted`.
            return Err(io::Error::other("the call was interrupted"));
        }
        Ok(())
    }

    /// Returns a reader that fails once the call was interrupted.
    pub(crate) fn reader<R: Read>(&self, inner: R) -> Checked<R> {
        Checked { inner, canceled: self.clone() }
    }

    /// Returns a writer that fails once the call was interrupted.
    pub(crate) fn writer<W: Write>(&self, inner: W) -> Checked<W> {
        Checked { inner, canceled: self.clone() }
    }
}

/// A reader or writer that stops when the call was interrupted.
#[derive(Debug)]
pub(crate) struct Checked<T> {
    inner: T,
    canceled: Canceled,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.canceled.check()?;
        self.inner.read(buffer)
    }
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.canceled.check()?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Runs work on a thread, and waits for it without the interpreter lock.
///
/// After Ctrl-C the work is told to stop, and the call ends at once. Work that has no place to
/// stop goes on unseen until its next read or write, which fails.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Canceled) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let canceled = Canceled::default();
    let (sender, receiver) = sync_channel(1);
    let told = canceled.clone();
    let body = move || {
        // Nobody listens after an interruption.
        let _ = sender.send(work(&told));
    };
    thread::Builder::new().name("hypostyle".into()).spawn(body)?;
    py.detach(move || {
        loop {
            match receiver.recv_timeout(POLL) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(interrupt) = Python::attach(|py| py.check_signals()) {
                        canceled.0.store(true, Ordering::Relaxed);
                        return Err(interrupt);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the library panicked; please report it"));
                }
            }
        }
    })
}
