//! What an encoder is given besides the content.

use crate::pack::grouping::Grouping;
use crate::pack::line_group_request::LineGroupRequest;
use crate::pack::row_syntax::RowSyntax;
use crate::pack::search::SearchParams;

/// The search parameters and threads of an encoder, and where it reports its estimate.
pub(super) struct EncodeContext<'a> {
    /// How hard to search.
    pub(super) search: &'a SearchParams,
    /// The parameters for samples, by which the selection compares encoders. `None` above
    /// the default level and with zstd: samples are then encoded with `search`.
    pub(super) rough_search: Option<&'a SearchParams>,
    /// A second search, whose result is used if it is smaller: a wider search does not
    /// always end at a better plan.
    pub(super) second_search: Option<&'a SearchParams>,
    /// How the rows of the table in the content are written, if it is a table of rows that
    /// codecs can store by column.
    pub(super) table: Option<RowSyntax>,
    /// How finely the table is divided into row groups; `None` for no row groups.
    pub(super) grouping: Option<Grouping>,
    /// Whether the caller asked for columns that serve the table, even if that saves little.
    pub(super) must_serve: bool,
    /// The table of the content, if its lines are its rows and may be divided into groups.
    pub(super) lines: Option<&'a LineGroupRequest>,
    /// Threads to work with.
    pub(super) threads: usize,
    /// Receives an estimate of the size of all streams before they are made.
    pub(super) report_estimate: &'a dyn Fn(usize),
}
