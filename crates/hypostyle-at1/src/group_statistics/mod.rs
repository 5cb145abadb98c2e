//! The statistics of the cells of row groups, by column (§6.7).
//!
//! [`TableStatisticsBuilder`] collects them cell by cell and writes those that let a reader
//! skip row groups; [`TableStatistics`] reads them, and [`RowGroupStatistics`] is what they
//! say about one row group.

mod build;
mod number_sets;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use build::{StatisticsKind, TableStatisticsBuilder};
pub(crate) use read::{RowGroupStatistics, TableStatistics};

/// The stream with the row groups of a frame (§5.7), or its groups of lines (§7.10); their
/// statistics are at its end.
pub(crate) const GROUPS: &str = "hyp.groups";

/// The flag of a column that has the bounds of the numbers of each group.
const NUMBERS: u8 = 1;
/// The flag of a column that has the bounds of the texts of each group.
const TEXTS: u8 = 2;
/// The flag of a column that has a Bloom filter for each group.
const FILTERS: u8 = 4;
/// The flag of a column without any number.
const NO_NUMBERS: u8 = 8;
/// The flag of a column whose numbers are few integers, with a set for each group.
const INTEGERS: u8 = 16;

/// Kinds of cells whose presence is stated for each group.
const PRESENCES: usize = 4;
/// No group has such a cell.
const NOWHERE: u8 = 0;
/// Every group may have such a cell.
const ANYWHERE: u8 = 1;
/// A bitmap says which groups have such a cell.
const IN_SOME: u8 = 2;

/// The longest prefix that the texts of a column have in common, as it is stored.
///
/// A reader adds it to every bound, so that it must not be long.
const MAX_COMMON_BYTES: usize = 64;

/// The most digits after the point that bounds keep.
const MAX_DIGITS: u8 = 18;

/// Appends bits, from the lowest bits of each byte up.
pub(crate) fn put_bitmap(bits: impl Iterator<Item = bool>, out: &mut Vec<u8>) {
    let mut bits = bits.peekable();
    while bits.peek().is_some() {
        let byte = bits.by_ref().take(8).enumerate();
        out.push(byte.fold(0, |byte, (bit, is_set)| byte | (u8::from(is_set) << bit)));
    }
}
