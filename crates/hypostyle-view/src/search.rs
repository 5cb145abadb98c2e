//! The rows that match a predicate.

use std::sync::Arc;

use hypostyle::formats::Reader;
use hypostyle::predicate::Predicate;
use hypostyle::{Error, Result, Step, Table};
use serde_json::{Value, json};

use crate::cells::{self, MAX_CELL_CHARS};
use crate::job::{Job, LazyScan, Progress};

/// Rows of a part of the result.
const PART_ROWS: usize = 500;

/// Finds rows; each part has some of them.
pub(crate) struct SearchJob {
    reader: Arc<dyn Reader>,
    predicate: Predicate,
    scan: LazyScan,
    is_planned: bool,
}

impl SearchJob {
    /// # Errors
    ///
    /// Fails for a predicate that is not valid for the table.
    pub(crate) fn new(table: &Table, reader: Arc<dyn Reader>, text: &str) -> Result<Self> {
        let predicate = Predicate::parse(text)?;
        predicate.bind(&reader.schema())?;
        let scan = table.scan().filter(predicate.clone()).batch_size(PART_ROWS);
        Ok(Self { reader, predicate, scan: LazyScan::new(scan), is_planned: false })
    }

    /// Lists the row groups that statistics exclude.
    fn pruned(&self) -> Result<Vec<usize>> {
        let bound = self.predicate.bind(&self.reader.schema())?;
        let pruner = bound.pruner();
        let is_pruned = |&group: &usize| {
            let known = self.reader.pruning_statistics(group);
            known.is_some_and(|known| !pruner.may_match(known.as_ref()))
        };
        Ok((0..self.reader.row_groups()).filter(is_pruned).collect())
    }

    fn part(&mut self, rows: Vec<Value>) -> Result<Value> {
        let stats = self.scan.decoder()?.stats();
        Ok(json!({
            "rows": rows,
            "stats": {
                "row_groups": stats.row_groups,
                "row_groups_read": stats.row_groups_read,
                "row_groups_pruned": stats.row_groups_pruned,
                "rows_read": stats.rows_read,
                "rows_returned": stats.rows_returned,
            },
        }))
    }
}

impl Job for SearchJob {
    fn step(&mut self) -> Result<Progress> {
        let step = self.scan.step()?;
        if let Step::Missing(ranges) = step {
            return Ok(Progress::Missing(ranges));
        }
        let rows = match &step {
            Step::Batch(batch) => cells::rows(batch, MAX_CELL_CHARS)?,
            _ => Vec::new(),
        };
        let mut part = self.part(rows)?;
        if !self.is_planned {
            self.is_planned = true;
            let pruned = self.pruned()?.into();
            part.as_object_mut().map(|part| part.insert("pruned".to_owned(), pruned));
        }
        match step {
            Step::Done => Ok(Progress::Done(part)),
            _ => Ok(Progress::Part(part)),
        }
    }
}

/// Returns the word of a predicate that an error is about: its first character, counted from 0,
/// and its length.
pub fn place(text: &str, error: &Error) -> Option<(usize, usize)> {
    let message = error.to_string();
    let count = text.chars().count();
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    if let Some(rest) = message.strip_prefix("at character ") {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let at = digits.parse::<usize>().ok()?.saturating_sub(1).min(count);
        let word = text.chars().skip(at).take_while(|&c| is_word(c)).count();
        return Some((at, word.max(1)));
    }
    // The other errors name what they are about in backquotes.
    for quoted in message.split('`').skip(1).step_by(2).filter(|quoted| !quoted.is_empty()) {
        if let Some(byte) = text.find(quoted) {
            let before = text.get(..byte)?.chars().count();
            return Some((before, quoted.chars().count()));
        }
    }
    None
}
