//! Answers queries on archives with row groups by reading few byte ranges (§6.4).
//!
//! 1. `metadata` reads every stream but the blocks, with the ranges that `source` finds.
//! 2. `frame_tables` parses them: a `grouped_table` for each template, and verbatim lines.
//! 3. `plan` resolves the columns, prunes row groups by their statistics, reads the blocks
//!    that remain, and writes the selected rows as CSV or JSON Lines; `verbatim_row`
//!    evaluates lines that are not in a table.
//! 4. `table_view` parses that text as it parses the text of a whole archive.
//!
//! `salvage` and `verify` use the same parts to recover and to check damaged archives.

pub(super) mod frame_tables;
pub(super) mod grouped_table;
pub(super) mod metadata;
mod plan;
mod salvage;
pub(super) mod source;
mod stats;
mod verbatim_row;
mod verify;

use std::io::Write;

pub(super) use salvage::salvage;
pub use stats::{Damage, QueryStats};
pub(super) use verify::check_groups;

use metadata::ArchiveMetadata;
use plan::QueryPlan;

use super::container::in_at1;
use super::frames::FrameReader;
use super::table_view::{TableOptions, import_text};
use hypostyle_core::error::Result;
use hypostyle_core::predicate::Predicate;
use hypostyle_core::spill::SpillBuffer;
use hypostyle_core::text::csv::Encoding;
use hypostyle_core::text::{ImportOptions, Imported};

/// A projection and a row selection over the table of an archive.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Query {
    /// The projection, in output order; `None` for all columns.
    pub columns: Option<Vec<String>>,
    /// The predicate that rows must match.
    pub filter: Option<Predicate>,
    /// The rows to select by number, counted from 0, in any order.
    pub rows: Option<Vec<u64>>,
    /// Whether to skip damaged groups and report them, instead of failing.
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

/// The rows that a query selected, in file order.
#[derive(Debug)]
pub struct Answer {
    /// The selected rows, with the columns of the projection.
    pub table: Imported,
    /// What the query read and skipped.
    pub stats: QueryStats,
}

/// Answers a query from the parts of the archive that it needs.
///
/// Returns `None` if the archive cannot be queried, see [`Archive::query`].
///
/// [`Archive::query`]: crate::Archive::query
pub(super) fn answer(
    frames: &FrameReader,
    query: &Query,
    table: &TableOptions,
    options: &ImportOptions,
    stage: SpillBuffer,
) -> Result<Option<Answer>> {
    if !table.header || table.encoding != Encoding::Utf8 {
        return Ok(None);
    }
    let Some(metadata) = ArchiveMetadata::all(frames).map_err(in_at1)? else { return Ok(None) };
    let plan = QueryPlan::new(&metadata, query, &options.null_words).map_err(in_at1)?;
    let Some(plan) = plan else { return Ok(None) };
    let mut stats = None;
    let write = |out: &mut dyn Write| {
        stats = Some(plan.run(out)?);
        Ok(())
    };
    let table = import_text(plan.is_json(), write, options, stage);
    let stats = stats.unwrap_or_default();
    let table = match table {
        // Without an object the importer finds no columns, but the plan knows their names.
        Err(_) if plan.is_json() && stats.bytes > 0 && stats.rows == 0 => {
            let write = |out: &mut dyn Write| plan.put_names(out);
            import_text(false, write, options, SpillBuffer::in_memory())?
        }
        table => table?,
    };
    Ok(Some(Answer { table, stats }))
}
