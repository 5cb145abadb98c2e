//! The deviations that a reader has met so far.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::deviation::Deviation;
use crate::error::{Error, ErrorKind, Result};

/// The deviations that a reader met so far.
///
/// Shared by the threads that decode columns; under `strict` the first one is
/// an error instead. A file may show one deviation in every row, so no more
/// than [`Deviations::MOST_OF_A_KIND`] of each number are kept.
#[derive(Debug, Default)]
pub struct Deviations {
    strict: bool,
    met: Mutex<Met>,
}

#[derive(Debug, Default)]
struct Met {
    all: BTreeSet<Deviation>,
    of_a_kind: BTreeMap<&'static str, usize>,
}

impl Deviations {
    /// The number of deviations of one number that are kept; the rest is dropped.
    pub const MOST_OF_A_KIND: usize = 1000;

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
        let Met { all, of_a_kind } = &mut *met;
        let kept = of_a_kind.entry(code).or_default();
        if *kept < Self::MOST_OF_A_KIND && all.insert(deviation) {
            *kept += 1;
        }
        Ok(())
    }

    /// Everything met so far, by byte offset.
    pub fn list(&self) -> Vec<Deviation> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        met.all.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_deviation_met_twice_is_listed_once_and_by_offset() {
        let met = Deviations::new(false);
        for offset in [9, 3, 9] {
            met.report("M16", offset, "stray").unwrap();
        }
        let offsets: Vec<u64> = met.list().iter().map(|deviation| deviation.offset).collect();
        assert_eq!(offsets, [3, 9]);
    }

    #[test]
    fn a_deviation_in_every_row_does_not_fill_memory_or_hide_the_others() {
        let met = Deviations::new(false);
        for row in 0..200_000 {
            met.report("M18", 96, format!("row {row}")).unwrap();
        }
        met.report("M23", 500, "trailing").unwrap();
        assert_eq!(met.list().len(), Deviations::MOST_OF_A_KIND + 1);
        assert_eq!(met.list().last().unwrap().code, "M23");
    }
}
