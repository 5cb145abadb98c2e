//! Where a file departs from its spec, and a liberal reader carries on.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};

/// One place where a file departs from its spec and is read all the same.
///
/// The code is stable and explained in section 4 of the format's spec.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deviation {
    /// Byte offset in the file where the departure shows.
    pub offset: u64,
    /// Stable number, such as `M16`.
    pub code: &'static str,
    /// What is unusual, as a sentence for people.
    pub message: String,
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.code, self.offset, self.message)
    }
}

/// The deviations that a reader met so far.
///
/// Shared by the threads that decode columns; under `strict` the first one is
/// an error instead.
#[derive(Debug, Default)]
pub struct Deviations {
    strict: bool,
    met: Mutex<Vec<Deviation>>,
}

impl Deviations {
    /// An empty list; `strict` makes every report an error.
    pub fn new(strict: bool) -> Self {
        Self { strict, met: Mutex::default() }
    }

    /// Records a deviation once, or fails with it under `strict`.
    pub fn report(
        &self,
        code: &'static str,
        offset: u64,
        message: impl Into<String>,
    ) -> Result<()> {
        let deviation = Deviation { offset, code, message: message.into() };
        if self.strict {
            return Err(Error::new(ErrorKind::Strict(deviation)));
        }
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if !met.contains(&deviation) {
            met.push(deviation);
        }
        Ok(())
    }

    /// Everything met so far, by byte offset.
    pub fn list(&self) -> Vec<Deviation> {
        let mut list = self.met.lock().unwrap_or_else(PoisonError::into_inner).clone();
        list.sort();
        list
    }
}
