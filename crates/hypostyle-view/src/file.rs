//! An open file.

use std::sync::Arc;

use hypostyle::formats::at1::Archive;
use hypostyle::formats::{FormatId, Reader};
use hypostyle::{
    ByteSource, Error, ErrorKind, FileKind, OpenOptions, RangeCache, ReadOptions, Result, Table,
    detect_format, open_cache,
};

/// The largest file that is read as a whole where memory is scarce.
const MAX_WHOLE_BYTES: u64 = 1 << 30;

/// An open file: a table, and an archive if it is one.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) name: String,
    pub(crate) kind: FileKind,
    pub(crate) source: Arc<RangeCache>,
    pub(crate) archive: Option<Archive>,
    table: Table,
}

impl OpenFile {
    /// Opens a file by its content and, for text, by its name.
    ///
    /// # Errors
    ///
    /// Fails if no kind of file is recognised, for a damaged header, and with missing ranges.
    pub(crate) fn open(source: &Arc<RangeCache>, name: &str) -> Result<Self> {
        let options = OpenOptions::default().with_name(name);
        let table = open_cache(source.clone(), &options)?;
        let kind = FileKind::of(detect_format(source.as_ref(), Some(name))?)?;
        let archive = match kind.id() {
            FormatId::At1 => Some(Archive::open(source.clone(), &ReadOptions::default())?),
            _ => None,
        };
        Ok(Self { name: name.to_owned(), kind, source: source.clone(), archive, table })
    }

    /// Returns the table.
    ///
    /// Text has no row groups, and its types come from all of it, so it is fetched first.
    ///
    /// # Errors
    ///
    /// Fails if the file has no table, and with missing ranges.
    pub(crate) fn table(&self) -> Result<(&Table, Arc<dyn Reader>)> {
        let is_stated = match &self.archive {
            None => !self.kind.is_text(),
            Some(archive) => archive.states_table()?,
        };
        if !is_stated {
            self.fetch_all()?;
        }
        Ok((&self.table, self.table.reader()?))
    }

    /// Fetches the whole file at once, for work that would fetch it piece by piece.
    ///
    /// # Errors
    ///
    /// Fails if the file is too large for that, and with missing ranges.
    pub(crate) fn fetch_all(&self) -> Result<()> {
        let (asked, limit) = (self.source.size(), MAX_WHOLE_BYTES);
        if asked > limit && cfg!(target_family = "wasm") {
            let what = "a file that must be read as a whole";
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        let whole = 0..asked;
        Ok(self.source.prefetch(std::slice::from_ref(&whole))?)
    }

    /// Returns the archive.
    ///
    /// # Errors
    ///
    /// Fails if the file is none.
    pub(crate) fn archive(&self) -> Result<&Archive> {
        let why = || Error::invalid_argument(format!("the file is no archive, but {}", self.kind));
        self.archive.as_ref().ok_or_else(why)
    }
}
