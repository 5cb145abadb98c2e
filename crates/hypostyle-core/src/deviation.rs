//! Where a file departs from its spec, and a liberal reader carries on.

use std::fmt;

/// One place where a file departs from its spec and is read all the same.
///
/// The code is stable and explained in section 4 of the format's spec.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deviation {
    /// Byte offset in the file where the departure shows.
    pub offset: u64,
    /// Stable number, such as `M16`.
    pub code: &'static str,
    /// What is unusual, as a sentence for people.
    pub message: String,
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.code, self.offset, self.message)
    }
}
