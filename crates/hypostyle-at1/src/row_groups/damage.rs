//! A damaged part of an archive, and the lines that it takes along.

use std::ops::RangeInclusive;

/// A damaged part of an archive, whose lines are lost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Damage {
    /// What is wrong, and where.
    pub what: String,
    /// The lost lines of the original, counted from 1; empty if they are not known.
    pub lines: Vec<RangeInclusive<u64>>,
}

impl Damage {
    pub(crate) fn new(what: String) -> Self {
        Self { what, lines: Vec::new() }
    }

    /// Adds a lost line; lines must be added in order.
    pub(crate) fn add(&mut self, line: u64) {
        match self.lines.last_mut() {
            Some(run) if *run.end() + 1 == line => *run = *run.start()..=line,
            _ => self.lines.push(line..=line),
        }
    }

    /// Returns the number of lines that are known to be lost.
    pub fn count(&self) -> u64 {
        self.lines.iter().map(|run| run.end() - run.start() + 1).sum()
    }
}
