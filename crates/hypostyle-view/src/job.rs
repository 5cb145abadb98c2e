//! Work that is done in steps, because bytes may be missing.

use std::ops::Range;

use hypostyle::{MissingRanges, Result, Scan, ScanDecoder, Step};
use serde_json::Value;

/// What a step of a job returns.
#[derive(Debug)]
pub(crate) enum Progress {
    /// The byte ranges to supply before the next step.
    Missing(Vec<Range<u64>>),
    /// A part of the result; more follows.
    Part(Value),
    /// The end of the result.
    Done(Value),
}

/// A job with steps.
pub(crate) trait Job {
    /// Goes on until there is something to return.
    ///
    /// # Errors
    ///
    /// Fails for damage and limits; missing bytes are no error.
    fn step(&mut self) -> Result<Progress>;

    /// Takes the bytes that the job has written.
    fn take_bytes(&mut self) -> Vec<u8> {
        Vec::new()
    }
}

/// A job, which is made when the table is open.
pub(crate) type BoxedJob = Box<dyn Job>;

/// Turns an error for missing bytes into progress.
pub(crate) fn or_missing(result: Result<Progress>) -> Result<Progress> {
    match result {
        Err(err) => match MissingRanges::of(&err) {
            Some(MissingRanges(ranges)) => Ok(Progress::Missing(ranges.clone())),
            None => Err(err),
        },
        progress => progress,
    }
}

/// A job that starts anew after each step until no bytes are missing.
pub(crate) struct Once<F>(pub(crate) F);

impl<F: FnMut() -> Result<Value>> Job for Once<F> {
    fn step(&mut self) -> Result<Progress> {
        or_missing((self.0)().map(Progress::Done))
    }
}

/// A scan whose decoder is made when the bytes for its plan are there.
pub(crate) struct LazyScan {
    scan: Scan,
    decoder: Option<ScanDecoder>,
}

impl LazyScan {
    pub(crate) fn new(scan: Scan) -> Self {
        Self { scan, decoder: None }
    }

    /// Returns the decoder.
    ///
    /// # Errors
    ///
    /// Fails if the scan is not valid, and with missing ranges.
    pub(crate) fn decoder(&mut self) -> Result<&mut ScanDecoder> {
        let decoder = match self.decoder.take() {
            Some(decoder) => decoder,
            None => self.scan.clone().decoder()?,
        };
        Ok(self.decoder.insert(decoder))
    }

    /// Returns the next step of the scan.
    ///
    /// # Errors
    ///
    /// Fails as the scan does; missing bytes are a step.
    pub(crate) fn step(&mut self) -> Result<Step> {
        match self.decoder() {
            Ok(decoder) => decoder.step(),
            Err(err) => match MissingRanges::of(&err) {
                Some(MissingRanges(ranges)) => Ok(Step::Missing(ranges.clone())),
                None => Err(err),
            },
        }
    }
}
