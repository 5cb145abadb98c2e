//! What a query read, and what it left out.

use std::ops::RangeInclusive;

/// The cost and the losses of a query.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct QueryStats {
    /// The number of row groups in the archive.
    pub groups: u64,
    /// The number of row groups of which at least one block was read.
    pub groups_read: u64,
    /// The size of the archive in bytes.
    pub bytes: u64,
    /// The number of bytes that were read.
    pub bytes_read: u64,
    /// The number of selected rows.
    pub rows: u64,
    /// The number of lines that are not rows and were skipped.
    pub odd_lines: u64,
    /// The damaged parts that were skipped.
    pub damaged: Vec<Damage>,
}

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
    pub(super) fn new(what: String) -> Self {
        Self { what, lines: Vec::new() }
    }

    /// Adds a lost line; lines must be added in order.
    pub(super) fn add(&mut self, line: u64) {
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
