//! What a scan is asked for.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::partition::Partition;
use crate::predicate::Predicate;
use crate::projection::Selector;
use crate::reader::Dictionaries;

/// The default number of rows in a batch.
const BATCH_ROWS: usize = 8192;

/// The default bound on memory, in bytes.
const MEMORY_BYTES: u64 = 256 << 20;

/// How a caller names a column of a scan: by name, by nested path or by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef(pub(super) Selector);

impl From<&str> for ColumnRef {
    fn from(name: &str) -> Self {
        Self(Selector::Name(name.to_owned()))
    }
}

impl From<&String> for ColumnRef {
    fn from(name: &String) -> Self {
        Self(Selector::Name(name.clone()))
    }
}

impl From<String> for ColumnRef {
    fn from(name: String) -> Self {
        Self(Selector::Name(name))
    }
}

impl From<usize> for ColumnRef {
    fn from(position: usize) -> Self {
        Self(Selector::Position(position))
    }
}

impl From<Selector> for ColumnRef {
    fn from(selector: Selector) -> Self {
        Self(selector)
    }
}

/// What a scan was asked for.
#[derive(Clone, Debug)]
pub(super) struct ScanOptions {
    pub(super) columns: Option<Vec<ColumnRef>>,
    pub(super) filter: Option<Predicate>,
    pub(super) rows: Option<RequestedRows>,
    pub(super) partition: Option<Partition>,
    pub(super) limit: Option<u64>,
    pub(super) batch_size: usize,
    pub(super) threads: Option<NonZeroUsize>,
    pub(super) memory: u64,
    pub(super) skip_damaged: bool,
    pub(super) dictionaries: Dictionaries,
}

/// Rows by number.
#[derive(Clone, Debug)]
pub(super) enum RequestedRows {
    Range(Range<u64>),
    Numbers(Vec<u64>),
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            columns: None,
            filter: None,
            rows: None,
            partition: None,
            limit: None,
            batch_size: BATCH_ROWS,
            threads: NonZeroUsize::new(1),
            memory: MEMORY_BYTES,
            skip_damaged: false,
            dictionaries: Dictionaries::None,
        }
    }
}
