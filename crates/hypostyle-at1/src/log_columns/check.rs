//! Compares the columns of a log with its text.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use super::LOG;
use super::cells::LogColumn;
use super::read::{LogColumns, LogGroup};
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
            let (mut templates, mut times) = (Crc32::default(), Crc32::default());
            for _ in 0..self.lines_of(group)? {
                line.clear();
                text.read_until(b'\n', &mut line)?;
                let line = line.strip_suffix(b"\n").unwrap_or(&line);
                template.clear();
                log::template_into(&String::from_utf8_lossy(line), &mut template);
                templates.update(template.as_bytes());
                templates.update(b"\n");
                times.update(log::time(line).unwrap_or_default().as_bytes());
                times.update(b"\n");
            }
            let sums = self.sums(group)?;
            let is_time_wrong = self.serves(LogColumn::Time) && times.finish() != sums.time;
            if templates.finish() != sums.template || is_time_wrong {
                let why = format!("of group {group} are not those of the text");
                return Err(Error::malformed("columns of a log", why).in_stream(LOG));
            }
        }
        Ok(())
    }

    /// Returns the columns that can be computed.
    fn served(&self) -> Vec<LogColumn> {
        let all = [LogColumn::Template, LogColumn::Time];
        all.into_iter().filter(|&column| self.serves(column)).collect()
    }
}
