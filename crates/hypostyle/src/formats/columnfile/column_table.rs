//! Column tables whose entries have variable length, read without a byte past their end.

#![deny(clippy::arithmetic_side_effects)]

use bytes::{Bytes, BytesMut};

use super::text;
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::options::TextPolicy;
use hypostyle_core::source::{self, ByteSource};

/// Reads a column table without reading a byte past it.
///
/// Names have any length, so the length of the table is known only after it has been parsed.
/// But each column that is still to come takes at least `entry_min` bytes, and those certainly
/// belong to the table: the reader fetches them at once, parses as many entries as they hold,
/// and repeats. Each round leaves only the bytes of the names, so a table of ten thousand
/// columns takes a handful of reads.
#[derive(Debug)]
pub(crate) struct ColumnTableReader<'a> {
    source: &'a dyn ByteSource,
    start: u64,
    entry_min: u64,
    limit: u64,
    fetched: BytesMut,
}

impl<'a> ColumnTableReader<'a> {
    /// Starts on a table of `columns` entries at `start`, each of at least `entry_min` bytes.
    ///
    /// # Errors
    ///
    /// Fails if the source is too short for that many entries, so that afterwards `columns` is
    /// a number that bytes in the file back.
    pub(crate) fn try_new(
        source: &'a dyn ByteSource,
        start: u64,
        columns: u64,
        entry_min: u64,
        limits: &Limits,
    ) -> Result<Self> {
        let (what, limit) = ("column table", limits.header_bytes);
        let needed = columns.saturating_mul(entry_min);
        let left = source.size().saturating_sub(start);
        if needed > left {
            return Err(Error::new(ErrorKind::Truncated { what, needed, left }).at(start));
        }
        if needed > limit {
            let kind = ErrorKind::LimitExceeded { what, asked: needed, limit };
            return Err(Error::new(kind).at(start));
        }
        Ok(Self { source, start, entry_min, limit, fetched: BytesMut::new() })
    }

    /// Parses `columns` entries, and returns them with the offset of the table's end.
    ///
    /// `parse` takes the bytes from the start of an entry on and the offset of that start.
    pub(crate) fn entries<T>(
        mut self,
        columns: u64,
        mut parse: impl FnMut(&[u8], u64) -> Result<EntryParse<T>>,
    ) -> Result<(Vec<T>, u64)> {
        let mut entries = Vec::new();
        let mut used = 0_usize;
        for done in 0..columns {
            let after = columns.saturating_sub(done).saturating_sub(1);
            let reserve = after.saturating_mul(self.entry_min);
            loop {
                let at = self.start.saturating_add(used as u64);
                let bytes = self.fetched.get(used..).unwrap_or_default();
                match parse(bytes, at)? {
                    EntryParse::Complete { value, len } => {
                        entries.push(value);
                        used = used.saturating_add(len);
                        break;
                    }
                    EntryParse::NeedsBytes(len) => {
                        let end = (used as u64).saturating_add(len).saturating_add(reserve);
                        self.fetch(end)?;
                    }
                }
            }
        }
        Ok((entries, self.start.saturating_add(used as u64)))
    }

    /// Fetches bytes until the first `len` bytes of the table are in memory.
    fn fetch(&mut self, len: u64) -> Result<()> {
        const WHAT: &str = "column table";
        // A length beyond the end of the source is a fault of the file, not a matter of limits.
        source::check(self.source, self.start, len, WHAT)?;
        if len > self.limit {
            let kind = ErrorKind::LimitExceeded { what: WHAT, asked: len, limit: self.limit };
            return Err(Error::new(kind).at(self.start));
        }
        let fetched = self.fetched.len() as u64;
        let more: Bytes = source::range(
            self.source,
            self.start.saturating_add(fetched),
            len.saturating_sub(fetched),
            WHAT,
        )?;
        self.fetched.extend_from_slice(&more);
        Ok(())
    }
}

/// The result of parsing one entry of a column table.
pub(crate) enum EntryParse<T> {
    /// The entry was parsed.
    Complete {
        /// The entry.
        value: T,
        /// Its length in bytes.
        len: usize,
    },
    /// The entry takes at least this many bytes from its start, more than are in memory.
    NeedsBytes(u64),
}

/// Decodes the name of a column; `at` is the offset of its first byte.
///
/// Repairs a name that is not UTF-8 if the policy says so, and reports that under `code`.
pub(crate) fn column_name(
    bytes: &[u8],
    at: u64,
    policy: TextPolicy,
    code: &'static str,
    deviations: &Deviations,
) -> Result<String> {
    let bad = match std::str::from_utf8(bytes) {
        Ok(name) => return Ok(name.to_owned()),
        Err(bad) => at.saturating_add(bad.valid_up_to() as u64),
    };
    let repaired = text::repair(bytes, policy)
        .ok_or_else(|| Error::malformed("column name", "is not UTF-8").at(bad))?;
    deviations.report(code, at, "a column name that is not UTF-8 was repaired")?;
    Ok(repaired)
}
