//! The lines of the row groups of a frame.

use std::ops::Range;

use super::frame::ColumnarFrame;
use crate::codecs::columnar::sections::unfit;
use hypostyle_core::error::Result;

/// The lines of a row group.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupLines {
    /// The lines of the frame.
    pub(super) lines: Range<usize>,
    /// The places of its verbatim lines in their stream.
    pub(super) verbatim: Vec<Range<usize>>,
}

impl ColumnarFrame {
    /// Returns the lines of each row group; `None` if verbatim lines are missing.
    pub(super) fn group_lines(&self) -> Result<Option<Vec<GroupLines>>> {
        let (layout, groups) = (&self.layout, self.groups());
        if layout.modes.is_empty() {
            let lines = |group| groups.before(group)..groups.before(group + 1);
            let lines = (0..groups.count())
                .map(|group| GroupLines { lines: lines(group), verbatim: Vec::new() });
            return Ok(Some(lines.collect()));
        }
        let mut all = vec![GroupLines::default(); groups.count().max(1)];
        let (mut cells, mut at, mut group) = (0_usize, 0_usize, 0_usize);
        for (line, &mode) in layout.modes.iter().enumerate() {
            if mode != 0 {
                group = cells / groups.rows;
                if group > 0 && cells.is_multiple_of(groups.rows) {
                    self.check_verbatim(group, line - cells)?;
                }
                cells += 1;
            }
            let Some(lines) = all.get_mut(group) else { return Ok(None) };
            if lines.lines.is_empty() {
                lines.lines = line..line;
            }
            lines.lines.end = line + 1;
            if mode == 0 {
                let Some(rest) = self.verbatim.get(at..) else { return Ok(None) };
                let end = at + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                lines.verbatim.push(at..end);
                at = end + 1;
            }
        }
        Ok(Some(all))
    }

    /// Fails unless the directory states this number of verbatim lines before a row group.
    fn check_verbatim(&self, group: usize, verbatim: usize) -> Result<()> {
        let directory = self.directory.as_ref();
        let stated = directory.and_then(|it| it.verbatim.as_ref()?.get(group.checked_sub(1)?));
        match stated {
            Some(&stated) if stated != verbatim => {
                let why = format!("{verbatim} verbatim lines precede one, not {stated}");
                Err(unfit(why))
            }
            _ => Ok(()),
        }
    }
}
