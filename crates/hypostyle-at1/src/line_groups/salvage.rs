//! Recovers the lines of a damaged archive with line groups.

use std::io::Write;

use super::read::LineGroups;
use crate::row_groups::Damage;
use hypostyle_core::error::{Error, Result};

impl LineGroups {
    /// Writes the lines of all groups that can still be read, and returns what cannot.
    ///
    /// # Errors
    ///
    /// No group can be read, or writing to `out` fails.
    pub(crate) fn salvage(&self, out: &mut dyn Write) -> Result<Vec<Damage>> {
        let (mut damaged, mut line) = (Vec::new(), 1_u64);
        for (group, stated) in self.metadata.groups.iter().enumerate() {
            match self.text(group) {
                Ok(text) => out.write_all(&text)?,
                Err(err) => {
                    let last = line.max(line.saturating_add(stated.lines).saturating_sub(1));
                    let what = format!("group {group}: {err}");
                    damaged.push(Damage { what, lines: vec![line..=last] });
                }
            }
            line = line.saturating_add(stated.lines);
        }
        match damaged.first() {
            Some(first) if damaged.len() == self.len() => {
                let why = format!("no line can be recovered: {}", first.what);
                Err(Error::malformed("archive", why))
            }
            _ => Ok(damaged),
        }
    }
}
