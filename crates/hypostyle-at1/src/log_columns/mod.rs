//! The columns `template`, `time` and `variables` of a log, without its lines (§7.11).
//!
//! The codecs of logs rebuild a line from constant text and from elements of lists. [`lines`]
//! finds of which parts each line is made. A part that is an element of a list is a *slot*, and
//! the stream `hyp.log` ([`metadata`]) says of each slot whether the template, the time or the
//! variables of a line depend on it. [`cells`] computes templates and times from the slots that
//! matter, [`variables`] the variables; [`claims`] finds out what the stream may say, [`read`] reads the lists that a column needs, and [`check`]
//! compares the columns with the text.

mod cells;
mod check;
mod claims;
mod lines;
mod lists;
mod metadata;
mod read;
#[cfg(test)]
mod tests;
mod variables;

pub(crate) use cells::LogColumn;
pub(crate) use claims::LogClaims;
pub(crate) use lines::column_lengths;
pub(crate) use metadata::SlotClass;
pub(crate) use read::{LogColumns, LogGroup};

pub(crate) use crate::line_groups::LOG;
