//! Collects the deviations that a reader finds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::deviation::Deviation;
use crate::error::{Error, ErrorKind, Result};

/// The deviations that a reader has found so far.
///
/// Threads that decode columns share it. Under `strict`, the first deviation is an error
/// instead. A file may have a deviation in every row, so at most
/// [`Deviations::MAX_PER_CODE`] of each code are recorded.
#[derive(Debug, Default)]
pub struct Deviations {
    strict: bool,
    recorded: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    all: BTreeSet<Deviation>,
    per_code: BTreeMap<&'static str, usize>,
}

impl Deviations {
    /// The maximum number of deviations recorded for one code; the rest is dropped.
    pub const MAX_PER_CODE: usize = 1000;

    /// Returns an empty list; `strict` makes every report an error.
    pub fn new(strict: bool) -> Self {
        Self { strict, recorded: Mutex::default() }
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
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let Recorded { all, per_code } = &mut *recorded;
        let count = per_code.entry(code).or_default();
        if *count < Self::MAX_PER_CODE && all.insert(deviation) {
            *count += 1;
        }
        Ok(())
    }

    /// Returns all recorded deviations, ordered by byte offset.
    pub fn list(&self) -> Vec<Deviation> {
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.all.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_reported_twice_is_listed_once_and_by_offset() {
        let deviations = Deviations::new(false);
        for offset in [9, 3, 9] {
            deviations.report("M16", offset, "stray").unwrap();
        }
        let offsets: Vec<u64> =
            deviations.list().iter().map(|deviation| deviation.offset).collect();
        assert_eq!(offsets, [3, 9]);
    }

    #[test]
    fn a_deviation_in_every_row_does_not_fill_memory_or_hide_the_others() {
        let deviations = Deviations::new(false);
        for row in 0..200_000 {
            deviations.report("M18", 96, format!("row {row}")).unwrap();
        }
        deviations.report("M23", 500, "trailing").unwrap();
        assert_eq!(deviations.list().len(), Deviations::MAX_PER_CODE + 1);
        assert_eq!(deviations.list().last().unwrap().code, "M23");
    }
}
