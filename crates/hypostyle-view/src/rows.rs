//! The rows of a window.

use hypostyle::{Result, Step, Table};
use serde_json::{Value, json};

use crate::cells;
use crate::job::{Job, LazyScan, Progress};

/// Decodes some rows.
pub(crate) struct RowsJob {
    from: u64,
    scan: LazyScan,
    max_chars: usize,
    rows: Vec<Value>,
}

impl RowsJob {
    pub(crate) fn new(table: &Table, from: u64, count: u64, max_chars: usize) -> Self {
        let scan = LazyScan::new(table.scan().rows(from..from.saturating_add(count)));
        Self { from, scan, max_chars, rows: Vec::new() }
    }
}

impl Job for RowsJob {
    fn step(&mut self) -> Result<Progress> {
        loop {
            match self.scan.step()? {
                Step::Missing(ranges) => return Ok(Progress::Missing(ranges)),
                Step::Batch(batch) => self.rows.extend(cells::rows(&batch, self.max_chars)?),
                Step::Done => {
                    let rows = std::mem::take(&mut self.rows);
                    return Ok(Progress::Done(json!({ "from": self.from, "rows": rows })));
                }
            }
        }
    }
}
