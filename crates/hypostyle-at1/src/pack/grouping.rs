//! How finely a table is divided into row groups.

/// The share of an archive that groups may add to it if it is made to be queried.
pub(super) const QUERY_GROUP_SHARE: f64 = 0.08;

/// How finely a table is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Grouping {
    /// As finely as this share of the table pays for.
    Budget(f64),
    /// Into row groups of this many rows.
    Rows(usize),
}
