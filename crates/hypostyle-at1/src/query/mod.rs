//! Questions to an archive of row groups, answered from a few byte ranges (§6.4).
//!
//! `source` reads directories and blocks and counts what it reads, `metadata` is what
//! is kept of that, `frame` and `set` say what a frame holds, `index` what our writer adds to that, and `run`
//! goes through the lines. What comes out is text again: rows of CSV or objects,
//! which the table view reads as it reads a whole archive.

mod frame_tables;
mod grouped_table;
mod metadata;
mod plan;
mod salvage;
mod source;
mod verbatim_row;
mod verify;

use std::io::Write;
use std::ops::RangeInclusive;

use super::archive::Archive;
use super::table_view::TableOptions;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::predicate::Predicate;
use hypostyle_core::spill::SpillBuffer;
use hypostyle_core::text::csv::Encoding;
use hypostyle_core::text::{ImportOptions, Imported};

/// What is asked of an archive.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Query {
    /// The columns to answer with, in this order; `None` for all.
    pub columns: Option<Vec<String>>,
    /// The rows to answer with.
    pub filter: Option<Predicate>,
    /// The rows to answer with by number, counted from 0; in any order.
    pub rows: Option<Vec<u64>>,
    /// Leave out groups that are damaged, and say so.
    pub skip_damaged: bool,
}

impl Query {
    /// Sets [`Query::columns`].
    #[must_use]
    pub fn with_columns(mut self, columns: Option<Vec<String>>) -> Self {
        self.columns = columns;
        self
    }

    /// Sets [`Query::filter`].
    #[must_use]
    pub fn with_filter(mut self, filter: Option<Predicate>) -> Self {
        self.filter = filter;
        self
    }

    /// Sets [`Query::rows`].
    #[must_use]
    pub fn with_rows(mut self, rows: Option<Vec<u64>>) -> Self {
        self.rows = rows;
        self
    }

    /// Sets [`Query::skip_damaged`].
    #[must_use]
    pub fn with_skip_damaged(mut self, skip: bool) -> Self {
        self.skip_damaged = skip;
        self
    }
}

/// Rows that answer a query, in the order of the file.
#[derive(Debug)]
pub struct Answer {
    /// The rows, with the columns that were asked for.
    pub table: Imported,
    /// What it took.
    pub stats: QueryStats,
}

/// What a query took.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct QueryStats {
    /// Row groups in the archive.
    pub groups: u64,
    /// Row groups of which something was read.
    pub groups_read: u64,
    /// Bytes of the archive.
    pub bytes: u64,
    /// Bytes that were read.
    pub bytes_read: u64,
    /// Rows that were kept.
    pub rows: u64,
    /// Lines that are no rows, and took no part.
    pub odd_lines: u64,
    /// What was left out because it is damaged.
    pub damaged: Vec<Damage>,
}

/// A part of an archive that is lost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Damage {
    /// What is wrong with it, and where.
    pub what: String,
    /// Lines of the original that it metadata, counted from 1; none if nobody can tell.
    pub lines: Vec<RangeInclusive<u64>>,
}

impl Damage {
    fn new(what: String) -> Self {
        Self { what, lines: Vec::new() }
    }

    /// Adds a line; they come in order.
    fn add(&mut self, line: u64) {
        match self.lines.last_mut() {
            Some(run) if *run.end() + 1 == line => *run = *run.start()..=line,
            _ => self.lines.push(line..=line),
        }
    }

    /// How many lines are known to be lost.
    pub fn count(&self) -> u64 {
        self.lines.iter().map(|run| run.end() - run.start() + 1).sum()
    }
}

impl Archive {
    /// Answers a query from the parts of the archive that it needs.
    ///
    /// `None` if the archive cannot do that: its codec has no row groups, or a
    /// column that is asked for is an object or an array. Then the table must be
    /// read as a whole, with [`Archive::import`], and filtered afterwards.
    ///
    /// # Errors
    ///
    /// Besides damage: a column that does not exist, a row number beyond the end.
    pub fn query(
        &self,
        query: &Query,
        table: &TableOptions,
        options: &ImportOptions,
        stage: SpillBuffer,
    ) -> Result<Option<Answer>> {
        if !table.header || table.encoding != Encoding::Utf8 {
            return Ok(None);
        }
        let located = super::archive::located;
        let Some(metadata) = metadata::ArchiveMetadata::all(self).map_err(located)? else {
            return Ok(None);
        };
        let plan = plan::QueryPlan::new(&metadata, query, &options.null_words).map_err(located)?;
        let Some(plan) = plan else { return Ok(None) };
        let mut stats = None;
        let feed = |out: &mut dyn Write| {
            stats = Some(plan.run(out)?);
            Ok(())
        };
        let table = super::table_view::import_text(plan.is_json(), feed, options, stage);
        let stats = stats.unwrap_or_default();
        let table = match table {
            // No objects have no members, but we know which they would have had.
            Err(_) if plan.is_json() && stats.bytes > 0 && stats.rows == 0 => {
                let feed = |out: &mut dyn Write| plan.put_names(out);
                super::table_view::import_text(false, feed, options, SpillBuffer::in_memory())?
            }
            table => table?,
        };
        Ok(Some(Answer { table, stats }))
    }

    /// Writes the lines that can still be read, and says what cannot.
    ///
    /// Row groups lose what is damaged in them, streaming archives of other codecs
    /// whole frames. No hash is compared.
    ///
    /// # Errors
    ///
    /// Nothing can be read, or `out` fails.
    pub fn salvage(&self, out: &mut dyn Write) -> Result<Vec<Damage>> {
        salvage::salvage(self, out).map_err(super::archive::located)
    }

    /// Looks for blocks that are damaged, and for claims of the indexes that a cell
    /// belies; all of them, each with its place.
    ///
    /// # Errors
    ///
    /// What is not in blocks is damaged already.
    pub fn check_groups(&self) -> Result<Vec<Error>> {
        verify::check(self).map_err(super::archive::located)
    }
}
