//! Line groups: the row groups of JSON Lines and logs (§7.10).
//!
//! [`metadata`] is the stream `hyp.groups`; [`lists`] says which streams of a codec its lines
//! follow, and [`cells`] which values have statistics. [`stored_list`] reads the part of a
//! stream that belongs to a group, [`read`] decodes a group, and [`check`] compares all of them
//! with the text.

mod cells;
mod check;
mod lists;
mod metadata;
mod read;
mod salvage;
mod statistics;
mod stored_list;
#[cfg(test)]
mod tests;

pub(crate) use cells::StatisticsCells;
pub(crate) use lists::{GroupedStream, StreamRole, layout};
pub(crate) use metadata::{ColumnParts, GroupText, GroupsMetadata, StreamParts, text_sizes};
pub(crate) use read::LineGroups;
pub(crate) use stored_list::part_starts;

pub(crate) use crate::group_statistics::GROUPS;
