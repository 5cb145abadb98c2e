//! Departures from a spec that a reader tolerates.

use std::fmt;

/// One place where a file departs from its spec, but can still be read.
///
/// The code is stable; section 4 of the format's spec explains it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deviation {
    /// Byte offset of the departure in the file.
    pub offset: u64,
    /// Stable code, such as `M16`.
    pub code: &'static str,
    /// A sentence that describes the departure.
    pub message: String,
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.code, self.offset, self.message)
    }
}
