//! How finely a table is divided into row groups.

/// How finely a table is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Grouping {
    /// As finely as this share of the table pays for.
    Budget(f64),
    /// Into row groups of this many rows.
    Rows(usize),
}
