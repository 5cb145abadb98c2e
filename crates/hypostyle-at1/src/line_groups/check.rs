//! Compares line groups with the text.

use std::io::Read;

use super::GROUPS;
use super::cells::StatisticsCells;
use super::read::LineGroups;
use hypostyle_core::error::{Error, Result};
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
                if self.statistics.may_hold_cell(group, path, cell) {
                    return Ok(());
                }
                let why = format!("of group {group} exclude one of its values");
                Err(Error::malformed("statistics", why).in_stream(GROUPS))
            })?;
        }
        Ok(())
    }
}
