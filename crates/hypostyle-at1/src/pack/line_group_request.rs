//! What an encoder must know to divide lines into groups.

use crate::pack::options::{Choice, Layout, PackOptions};
use crate::table_metadata::TableMetadata;
use hypostyle_core::text::{TextKind, TextSummary};

/// The part of an archive that groups may add to it.
const GROUP_SHARE: f64 = 0.017;

/// The same for an archive that is made to be queried.
const QUERY_GROUP_SHARE: f64 = 0.08;

/// The table of a text whose lines may be divided into groups (§7.10).
#[derive(Debug)]
pub(super) struct LineGroupRequest {
    pub(super) summary: TextSummary,
    /// Bytes of the stream of the table, without which groups serve nobody.
    pub(super) table_bytes: usize,
    /// The rows of each group; `None` lets the encoder choose them by cost.
    pub(super) rows: Option<usize>,
    /// The part of the archive that groups may add to it.
    pub(super) share: f64,
}

impl LineGroupRequest {
    /// Returns the request for a text, whose stream of the table has so many bytes; `None` if
    /// the caller wants no groups, or if lines are not the rows of the table.
    pub(super) fn of(
        table: &TableMetadata,
        table_bytes: usize,
        options: &PackOptions,
    ) -> Option<Self> {
        let is_wanted = options.index && options.layout == Layout::Reference;
        let summary = table.summary.clone().filter(|it| is_wanted && rows_are_lines(it))?;
        let share = if options.codec == Choice::Query { QUERY_GROUP_SHARE } else { GROUP_SHARE };
        let rows = options.rows_per_group.map(std::num::NonZero::get);
        Some(Self { summary, table_bytes, rows, share })
    }
}

/// Returns whether every line of the text is a row of the table, and there are several.
fn rows_are_lines(summary: &TextSummary) -> bool {
    let is_lines =
        matches!(summary.format.kind, TextKind::JsonLines | TextKind::Lines | TextKind::Log);
    is_lines && summary.rows_are_lines && summary.rows > 1
}
