//! Measures the candidates in turn.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use super::candidates::{Candidate, Method};
use super::round::{Round, RoundError, RoundResult};
use super::{BenchInput, restore_bytes, restore_rows};
use crate::failure::Result;
use crate::output::Progress;

/// Candidates that take less time run again, because short times are not exact.
const MIN_MEASURED_TIME: Duration = Duration::from_millis(200);

/// The best figures of a candidate over all of its rounds.
#[derive(Debug)]
pub(super) struct CandidateFigures {
    pub(super) name: String,
    pub(super) method: Method,
    pub(super) best: Round,
    pub(super) rounds: u32,
}

/// The figures of all candidates.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// The candidates with figures, the smallest output first.
    pub(super) figures: Vec<CandidateFigures>,
    /// The names of the others, and why they were left out.
    pub(super) left_out: Vec<(String, String)>,
}

/// A candidate and the rounds that it has run.
struct CandidateRun {
    candidate: Candidate,
    best: Option<Round>,
    rounds: u32,
    spent: Duration,
    left_out: Option<String>,
}

impl CandidateRun {
    fn is_done(&self, rounds: Option<NonZeroU32>) -> bool {
        let enough = match rounds {
            Some(rounds) => self.rounds >= rounds.get(),
            None => self.rounds > 0 && self.spent >= MIN_MEASURED_TIME,
        };
        enough || self.left_out.is_some()
    }

    fn run_round(&mut self, input: &BenchInput<'_>) -> Result<()> {
        let start = Instant::now();
        match round(self.candidate.method, input) {
            Ok(figures) => self.add(figures),
            Err(RoundError::LeftOut(why)) => {
                self.left_out = Some(self.reason(&why, input));
            }
            Err(RoundError::Failed(failure)) => return Err(failure.in_file(&self.candidate.name)),
        }
        self.spent += start.elapsed();
        Ok(())
    }

    /// Returns why it is left out, on one line, without the names of the file and candidate.
    fn reason(&self, why: &str, input: &BenchInput<'_>) -> String {
        let (file, format) = (format!("`{}`: ", input.name), format!("{}: ", self.candidate.name));
        let why = why.strip_prefix(&file).unwrap_or(why);
        why.strip_prefix(&format).unwrap_or(why).replace('\n', "; ")
    }

    fn add(&mut self, round: Round) {
        let best = self.best.get_or_insert(round);
        best.make = best.make.min(round.make);
        best.back = best.back.min(round.back);
        self.rounds += 1;
    }
}

/// Measures all candidates, round by round, so that a slow phase of the machine affects all of
/// them alike.
pub(super) fn all(
    candidates: Vec<Candidate>,
    input: &BenchInput<'_>,
    rounds: Option<NonZeroU32>,
) -> Result<Measured> {
    let progress = Progress::steps("measuring", candidates.len() as u64);
    let start = |candidate| CandidateRun {
        candidate,
        best: None,
        rounds: 0,
        spent: Duration::ZERO,
        left_out: None,
    };
    let mut runs: Vec<CandidateRun> = candidates.into_iter().map(start).collect();
    let mut measured = Measured::default();
    while !runs.is_empty() {
        for run in &mut runs {
            progress.set_message(format!("measuring {}", run.candidate.name));
            run.run_round(input)?;
            if run.is_done(rounds) {
                progress.step();
            }
        }
        for run in runs.extract_if(.., |run| run.is_done(rounds)) {
            let Candidate { name, method, .. } = run.candidate;
            match (run.left_out, run.best) {
                (Some(why), _) => measured.left_out.push((name, why)),
                (None, Some(best)) => {
                    measured.figures.push(CandidateFigures {
                        name,
                        method,
                        best,
                        rounds: run.rounds,
                    });
                }
                (None, None) => {}
            }
        }
    }
    measured.figures.sort_by(|a, b| (a.best.size, &a.name).cmp(&(b.best.size, &b.name)));
    Ok(measured)
}

fn round(method: Method, input: &BenchInput<'_>) -> RoundResult {
    match method {
        Method::At1 { level, choice } => restore_bytes::at1(input, level, choice),
        Method::Other(compressor) => compressor.round(input),
        Method::Columns(format) => restore_rows::columns(input, format),
        Method::Parquet => restore_rows::parquet(input),
    }
}
