//! Contenders take turns, and the clock is read.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use hypostyle::formats::at1::Codec;

use super::contenders::{Contender, Way};
use super::{Subject, bytes, rows};
use crate::failure::{self, Failure, Result};
use crate::output::Progress;

/// What takes less is done again: a moment says little.
const MOMENT: Duration = Duration::from_millis(200);

/// What came of one round of one contender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Bytes that it takes.
    pub(super) size: u64,
    /// The codec that was chosen, if there was a choice.
    pub(super) codec: Option<Codec>,
    pub(super) make: Duration,
    pub(super) back: Duration,
}

/// Why a round has no figures.
#[derive(Debug)]
pub(super) enum Halt {
    /// The contender is not for such content.
    LeftOut(String),
    /// Something went wrong.
    Failed(Failure),
}

/// How a round ended.
pub(super) type Outcome = std::result::Result<Round, Halt>;

impl Halt {
    pub(super) fn left_out(why: impl Into<String>) -> Self {
        Self::LeftOut(why.into())
    }

    /// What a contender says that cannot hold the content; a disk that fails is another matter.
    pub(super) fn refused(failure: Failure) -> Self {
        match failure.code() {
            failure::IO | failure::INTERNAL => Self::Failed(failure),
            _ => Self::left_out(failure.report_text()),
        }
    }
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The figures of a contender, the best of its rounds.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) way: Way,
    pub(super) best: Round,
    pub(super) rounds: u32,
}

/// Everyone's figures, the smallest first, and who has none, with the reason.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) figures: Vec<Figure>,
    pub(super) left_out: Vec<(String, String)>,
}

/// A contender, and how far it has come.
struct Turn {
    contender: Contender,
    best: Option<Round>,
    rounds: u32,
    spent: Duration,
    left_out: Option<String>,
}

impl Turn {
    fn is_over(&self, rounds: Option<NonZeroU32>) -> bool {
        let enough = match rounds {
            Some(rounds) => self.rounds >= rounds.get(),
            None => self.rounds > 0 && self.spent >= MOMENT,
        };
        enough || self.left_out.is_some()
    }

    fn take(&mut self, subject: &Subject<'_>) -> Result<()> {
        let start = Instant::now();
        match one(self.contender.way, subject) {
            Ok(round) => self.add(round),
            Err(Halt::LeftOut(why)) => {
                self.left_out = Some(self.reason(&why, subject));
            }
            Err(Halt::Failed(failure)) => return Err(failure.in_file(&self.contender.name)),
        }
        self.spent += start.elapsed();
        Ok(())
    }

    /// Why it is left out, on one line, without what the line says anyway.
    fn reason(&self, why: &str, subject: &Subject<'_>) -> String {
        let (file, format) =
            (format!("`{}`: ", subject.name), format!("{}: ", self.contender.name));
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

/// Measures everyone: once each, then again in the same order, so that a slow spell of the
/// machine hits them alike.
pub(super) fn all(
    contenders: Vec<Contender>,
    subject: &Subject<'_>,
    rounds: Option<NonZeroU32>,
) -> Result<Measured> {
    let progress = Progress::steps("measuring", contenders.len() as u64);
    let start = |contender| Turn {
        contender,
        best: None,
        rounds: 0,
        spent: Duration::ZERO,
        left_out: None,
    };
    let mut turns: Vec<Turn> = contenders.into_iter().map(start).collect();
    let mut measured = Measured::default();
    while !turns.is_empty() {
        for turn in &mut turns {
            progress.say(format!("measuring {}", turn.contender.name));
            turn.take(subject)?;
            if turn.is_over(rounds) {
                progress.step();
            }
        }
        for turn in turns.extract_if(.., |turn| turn.is_over(rounds)) {
            let Contender { name, way, .. } = turn.contender;
            match (turn.left_out, turn.best) {
                (Some(why), _) => measured.left_out.push((name, why)),
                (None, Some(best)) => {
                    measured.figures.push(Figure { name, way, best, rounds: turn.rounds });
                }
                (None, None) => {}
            }
        }
    }
    measured.figures.sort_by(|a, b| (a.best.size, &a.name).cmp(&(b.best.size, &b.name)));
    Ok(measured)
}

fn one(way: Way, subject: &Subject<'_>) -> Outcome {
    match way {
        Way::At1 { level, choice } => bytes::at1(subject, level, choice),
        Way::Other(rival) => rival.round(subject),
        Way::Columns(format) => rows::columns(subject, format),
        Way::Parquet => rows::parquet(subject),
    }
}

/// What `work` gives, and how long it took.
pub(super) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    let start = Instant::now();
    let done = work()?;
    Ok((done, start.elapsed()))
}
