//! Line groups: the row groups of JSON Lines and logs (§7.10).
//!
//! [`metadata`] is the stream `hyp.groups`; [`lists`] says which streams of a codec its lines
//! follow, and [`cells`] which values have statistics. [`directory`] finds the streams,
//! [`stored_list`] reads the part of a stream that belongs to a group, [`read`] decodes a group, and [`check`] compares all of them
//! with the text.

mod cells;
mod check;
mod directory;
mod lists;
mod metadata;
mod read;
mod salvage;
mod statistics;
mod stored_list;
#[cfg(test)]
mod tests;

pub(crate) use cells::StatisticsCells;
pub(crate) use directory::ListDirectory;
pub(crate) use lists::{GroupedStream, StreamRole, layout};
pub(crate) use metadata::{ColumnParts, GroupText, GroupsMetadata, StreamParts, text_sizes};
pub(crate) use read::LineGroups;
pub(crate) use stored_list::{StoredStream, part_starts};

pub(crate) use crate::group_statistics::GROUPS;

/// The name of the stream that says what the columns of a log depend on (§7.11).
pub(crate) const LOG: &str = "hyp.log";
