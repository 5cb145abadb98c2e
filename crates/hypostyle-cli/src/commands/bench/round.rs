//! One round of one candidate: what it returns and how it is timed.

use std::time::{Duration, Instant};

use hypostyle::formats::at1::Codec;

use crate::failure::{self, Failure, Result};

/// The figures of one round of one candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Size of the output.
    pub(super) size: u64,
    /// The codec that AT-1 used.
    pub(super) codec: Option<Codec>,
    /// Time to make the output.
    pub(super) make: Duration,
    /// Time to restore the input from it.
    pub(super) back: Duration,
}

/// Why a round has no figures.
#[derive(Debug)]
pub(super) enum RoundError {
    /// The candidate cannot store such content.
    LeftOut(String),
    /// The round failed.
    Failed(Failure),
}

/// The result of a round.
pub(super) type RoundResult = Result<Round, RoundError>;

impl RoundError {
    pub(super) fn left_out(why: impl Into<String>) -> Self {
        Self::LeftOut(why.into())
    }

    /// Leaves a candidate out that refused the content, unless an I/O error or a bug is to blame.
    pub(super) fn refused(failure: Failure) -> Self {
        match failure.code() {
            failure::IO | failure::INTERNAL => Self::Failed(failure),
            _ => Self::left_out(failure.report_text()),
        }
    }
}

impl From<Failure> for RoundError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Returns the result of `work` and how long it took.
pub(super) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    let start = Instant::now();
    let result = work()?;
    Ok((result, start.elapsed()))
}
