//! Compares the columns of a log with its text.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use super::LOG;
use super::cells::LogColumn;
use super::metadata::VARIABLES_LINES;
use super::read::{LogColumns, LogGroup};
use super::variables::VariableCells;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::text::log;
use hypostyle_core::wire::Crc32;

impl LogColumns {
    /// Computes the columns of every group and compares them with those of the text, which is
    /// read from its start.
    ///
    /// # Errors
    ///
    /// Fails if a group is damaged, and if something differs.
    pub(crate) fn check(self: &Arc<Self>, text: &mut dyn Read) -> Result<()> {
        let mut text = BufReader::new(text);
        let (mut line, mut template) = (Vec::new(), String::new());
        for group in 0..self.groups() {
            let mut found = LogGroup::new(self, group);
            // Their checksums are compared.
            found.load(&self.served())?;
            let lines = usize::try_from(self.lines_of(group)?).unwrap_or(usize::MAX);
            if self.serves(LogColumn::Variables) {
                for line in (0..lines).step_by(VARIABLES_LINES) {
                    found.variables(&(line..line.saturating_add(1)), None)?;
                }
            }
            let (mut templates, mut times) = (Crc32::default(), Crc32::default());
            let mut variables = VariableSums::default();
            for _ in 0..lines {
                line.clear();
                text.read_until(b'\n', &mut line)?;
                let line = line.strip_suffix(b"\n").unwrap_or(&line);
                template.clear();
                log::template_into(&String::from_utf8_lossy(line), &mut template);
                templates.update(template.as_bytes());
                templates.update(b"\n");
                times.update(log::time(line).unwrap_or_default().as_bytes());
                times.update(b"\n");
                if self.serves(LogColumn::Variables) {
                    variables.add(line)?;
                }
            }
            let sums = self.sums(group)?;
            let is_time_wrong = self.serves(LogColumn::Time) && times.finish() != sums.time;
            let is_wrong = templates.finish() != sums.template || is_time_wrong;
            if is_wrong || variables.finish()? != sums.variables {
                let why = format!("of group {group} are not those of the text");
                return Err(Error::malformed("columns of a log", why).in_stream(LOG));
            }
        }
        Ok(())
    }

    /// Returns the columns that can be computed.
    fn served(&self) -> Vec<LogColumn> {
        LogColumn::ALL.into_iter().filter(|&column| self.serves(column)).collect()
    }
}

/// The checksums of the variables of a text.
#[derive(Debug, Default)]
struct VariableSums {
    cells: VariableCells,
    sums: Vec<u32>,
}

impl VariableSums {
    fn add(&mut self, line: &[u8]) -> Result<()> {
        self.cells.push_line(line)?;
        if self.cells.lines() == VARIABLES_LINES {
            self.end_sum()?;
        }
        Ok(())
    }

    fn end_sum(&mut self) -> Result<()> {
        let cells = std::mem::take(&mut self.cells).make_utf8()?;
        self.sums.push(cells.sum(0..cells.lines()));
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<u32>> {
        if self.cells.lines() > 0 {
            self.end_sum()?;
        }
        Ok(self.sums)
    }
}
