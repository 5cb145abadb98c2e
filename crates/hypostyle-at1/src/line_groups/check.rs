//! Compares line groups with the text.

use std::io::Read;

use super::GROUPS;
use super::cells::StatisticsCells;
use super::read::LineGroups;
use crate::group_statistics::TableStatistics;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::predicate::{Decimal, NumberBounds, PruningStatistics};
use hypostyle_core::text::TextSummary;

impl LineGroups {
    /// Decodes every group and compares it with the text, which is read from its start, and
    /// with the statistics of the group.
    ///
    /// # Errors
    ///
    /// Fails if a group is damaged, and if something differs.
    pub(crate) fn check(&self, text: &mut dyn Read, summary: &TextSummary) -> Result<()> {
        let cells = StatisticsCells::stated(summary, &self.metadata.paths)?;
        let mut original = Vec::new();
        for group in 0..self.len() {
            let decoded = self.text(group)?;
            original.clear();
            (&mut *text).take(decoded.len() as u64).read_to_end(&mut original)?;
            if decoded != original {
                let why = format!("of group {group} is not that of the archive");
                return Err(Error::malformed("text", why).in_stream(GROUPS));
            }
            cells.for_each(&decoded, |path, cell| {
                check_cell(&self.statistics, group, path, cell).ok_or_else(|| {
                    let why = format!("of group {group} exclude one of its values");
                    Error::malformed("statistics", why).in_stream(GROUPS)
                })
            })?;
        }
        Ok(())
    }
}

/// Returns `None` if the statistics of a group exclude a cell.
fn check_cell(
    statistics: &TableStatistics,
    group: usize,
    path: usize,
    cell: Option<&[u8]>,
) -> Option<()> {
    let group = statistics.group(group, |_| Some(path));
    let holds = match cell {
        None => group.cells("").blank,
        Some(b"") => group.cells("").blank && group.may_be_empty(""),
        Some(text) => {
            let by_number = match (Decimal::parse(text), group.numbers("")) {
                (Some(number), NumberBounds::Between(min, max)) => min <= number && number <= max,
                (Some(_), bounds) => bounds != NumberBounds::NoNumbers,
                (None, _) => group.may_be_special_float(""),
            };
            by_number
                && group.cells("").filled
                && group.may_hold("", text)
                && group.texts("").is_none_or(|bounds| bounds.may_hold(text))
        }
    };
    holds.then_some(())
}
