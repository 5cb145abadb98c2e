//! The public type of an open archive; each method delegates to the module that does the work.

use std::io::{Read, Write};
use std::sync::{Arc, OnceLock};

use super::archive_table::{self, RowSource};
use super::archive_text::ArchiveText;
use super::bundle_budget::BundleBudget;
use super::codec::Codec;
use super::codecs::bundle::{self, BundleFile};
use super::codecs::log;
use super::container::in_at1;
use super::describe;
use super::description::{Frame, FrameInfo, LogTemplate};
use super::frames::FrameReader;
use super::line_groups::LineGroups;
use super::row_groups::{self, Damage};
use super::table;
use super::table_metadata::{self, TableMetadata};
#[cfg(not(target_family = "wasm"))]
use super::text_search;
use super::unpack::{Unpacked, Unpacker};
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::{Error, Result};
#[cfg(not(target_family = "wasm"))]
use hypostyle_core::line_search::{Required, TextParts, TimeRange, WholeText};
use hypostyle_core::options::ReadOptions;
use hypostyle_core::reader::Reader;
use hypostyle_core::source::ByteSource;
use hypostyle_core::text::{TextOptions, TextSource};

/// An open AT-1 archive.
#[derive(Debug)]
pub struct Archive {
    reader: Arc<FrameReader>,
    table: OnceLock<Option<TableMetadata>>,
}

/// An archive inside a bundle.
#[derive(Debug)]
pub struct BundleEntry {
    /// The name of the file and its metadata.
    pub file: BundleFile,
    /// The archive, which is not a bundle itself.
    pub archive: Archive,
}

impl Archive {
    /// Parses the container; decompresses nothing.
    pub fn open(source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Self> {
        Ok(Self::new(FrameReader::open(source, options, None)?))
    }

    fn new(reader: FrameReader) -> Self {
        Self { reader: Arc::new(reader), table: OnceLock::new() }
    }

    /// The codec.
    pub fn codec(&self) -> Codec {
        self.reader.codec()
    }

    /// The number of lines in a chunk, if the archive is a streaming one.
    pub fn chunk_lines(&self) -> Option<u64> {
        self.reader.container().chunk_lines
    }

    /// The SHA-256 of the original, if the archive stores it.
    pub fn hash(&self) -> Option<[u8; 32]> {
        self.reader.container().hash
    }

    /// The deviations from the format that were met so far.
    pub fn deviations(&self) -> Vec<Deviation> {
        self.reader.deviations().list()
    }

    /// Lists the frames and their streams; decompresses nothing.
    pub fn frames(&self) -> Result<Vec<Frame>> {
        describe::frames(&self.reader)
    }

    /// Describes the tables of each structured frame, if the codec has columns.
    pub fn describe(&self) -> Result<Vec<FrameInfo>> {
        describe::tables(&self.reader)
    }

    /// Lists the frames and their streams from the directories alone: no stream is read, but the
    /// end of each, which says how large its content is.
    ///
    /// [`Archive::frames`] reads everything, and so finds more damage.
    ///
    /// # Errors
    ///
    /// Fails for a damaged directory, and if the source fails.
    pub fn layout(&self) -> Result<Vec<Frame>> {
        describe::layout(&self.reader)
    }

    /// Returns the templates of a log, those with most lines first; `None` if the archive has
    /// another codec.
    ///
    /// # Errors
    ///
    /// Fails for damaged streams.
    pub fn templates(&self) -> Result<Option<Vec<LogTemplate>>> {
        if self.codec() != Codec::Log {
            return Ok(None);
        }
        let mut counts = std::collections::BTreeMap::new();
        self.reader.for_each_structured(|context| {
            for (template, lines) in log::template_counts(context)? {
                *counts.entry(template).or_insert(0_u64) += lines;
            }
            Ok(())
        })?;
        let template = |(text, lines)| LogTemplate { text, lines };
        let mut found: Vec<LogTemplate> = counts.into_iter().map(template).collect();
        found.sort_by_key(|template| std::cmp::Reverse(template.lines));
        Ok(Some(found))
    }

    /// Returns whether the archive states what table its text is. The text of another archive is
    /// decoded once to find out.
    ///
    /// # Errors
    ///
    /// Fails if the statement is damaged, and if the source fails.
    pub fn states_table(&self) -> Result<bool> {
        Ok(self.table_metadata()?.is_some())
    }

    /// Writes the original bytes to `out`, and compares the hash at the end.
    ///
    /// The bytes are written as they are decoded. After an error, the bytes that were
    /// written before it must not be trusted.
    ///
    /// # Errors
    ///
    /// Besides damage: the archive is a bundle, which is not a single file.
    pub fn unpack(&self, out: &mut dyn Write) -> Result<Unpacked> {
        Unpacker::new(&self.reader).original(out, self.hash())
    }

    /// Starts to read the original bytes, which are decoded on a thread of their own.
    ///
    /// The hash is compared before the last bytes are returned.
    ///
    /// # Errors
    ///
    /// Fails as [`Archive::unpack`] does, also while the bytes are read.
    pub fn read(&self) -> Result<Box<dyn Read + Send>> {
        ArchiveText::new(self.reader.clone(), Vec::new(), None).open(0)
    }

    /// Returns the parts of the text that may have a line which a search requires this of, as far
    /// as search filters (§11.3) and the times of line groups (§7.10) tell.
    ///
    /// Parts that are left out are not decoded, so damage in them goes unnoticed.
    ///
    /// # Errors
    ///
    /// Fails as [`Archive::read`] does, also while the parts are read.
    #[cfg(not(target_family = "wasm"))]
    pub fn search(&self, required: &Required, times: &TimeRange) -> Result<Box<dyn TextParts>> {
        // The whole text tells what is damaged.
        let metadata = self.table_metadata().ok().flatten();
        match text_search::parts(&self.reader, metadata, required, times) {
            Ok(Some(parts)) => Ok(parts),
            Ok(None) | Err(_) => Ok(Box::new(WholeText::new(self.read()?))),
        }
    }

    /// Compares the search filters of the archive with its text.
    ///
    /// # Errors
    ///
    /// Fails if a filter excludes a string that the text has, and if something is damaged.
    #[cfg(not(target_family = "wasm"))]
    pub fn check_filters(&self) -> Result<()> {
        let metadata = self.table_metadata().ok().flatten();
        text_search::check(&self.reader, metadata).map_err(in_at1)
    }

    /// Opens the archives in a bundle, with the same options.
    ///
    /// Each entry has a hash of its own. All entries share one output limit.
    ///
    /// # Errors
    ///
    /// Besides damage: the archive is not a bundle, an entry's name could lead out of the
    /// folder that it is unpacked to, or an entry is a bundle.
    pub fn bundle(&self) -> Result<Vec<BundleEntry>> {
        if self.codec() != Codec::Bundle {
            let why = format!("the archive is not a bundle, but {}", self.codec());
            return Err(in_at1(Error::invalid_argument(why)));
        }
        let entries = self.reader.first_structured(bundle::entries)?.unwrap_or_default();
        let budgets = BundleBudget::for_entries(entries.len());
        let open = |(entry, budget): (bundle::PackedEntry, BundleBudget)| {
            let reader =
                FrameReader::open(Arc::new(entry.bytes), self.reader.options(), Some(budget));
            let reader = reader.map_err(|err| err.in_stream(&entry.stream))?;
            if reader.codec() == Codec::Bundle {
                let err = Error::malformed("entry", "is a bundle in a bundle");
                return Err(in_at1(err.at(0).in_stream(&entry.stream)));
            }
            Ok(BundleEntry { file: entry.file, archive: Self::new(reader) })
        };
        entries.into_iter().zip(budgets).map(open).collect()
    }

    /// Opens the table of the text: the table that the original file is.
    ///
    /// If the archive states what table its text is, no row is decoded yet, unless the
    /// options ask for something that only the text tells. Otherwise the name of the archive
    /// and its text tell, and the whole text is decoded once.
    ///
    /// The rows come from the columns of the archive if they are those of the table. Their
    /// directories are read now.
    ///
    /// # Errors
    ///
    /// Besides damage: the content is not a table, and rows that do not fit the others.
    pub fn table(&self, name: Option<&str>, options: &TextOptions) -> Result<Arc<dyn Reader>> {
        let metadata = self.table_metadata()?;
        archive_table::open(&self.reader, metadata, name, options, RowSource::Any)
    }

    /// Opens the table of the text as [`Archive::table`] does, but reads rows from the decoded
    /// text only.
    ///
    /// This reads least if only the schema, the number of rows and the statistics are needed.
    ///
    /// # Errors
    ///
    /// As [`Archive::table`].
    pub fn text_table(&self, name: Option<&str>, options: &TextOptions) -> Result<Arc<dyn Reader>> {
        let metadata = self.table_metadata()?;
        archive_table::open(&self.reader, metadata, name, options, RowSource::Text)
    }

    /// Compares what the archive states about its table with its text.
    ///
    /// Returns the first difference; `None` if there is none, or if the archive states
    /// nothing.
    ///
    /// # Errors
    ///
    /// The text cannot be decoded.
    pub fn check_table(&self) -> Result<Option<Error>> {
        match self.table_metadata() {
            Ok(Some(metadata)) => archive_table::check(&self.reader, metadata),
            Ok(None) => Ok(None),
            Err(err) => Ok(Some(err)),
        }
    }

    /// Writes the lines that can still be read, and returns what cannot.
    ///
    /// An archive with row groups loses damaged groups only; other streaming archives lose
    /// whole frames. The hash is not compared.
    ///
    /// # Errors
    ///
    /// No line can be read, or writing to `out` fails.
    pub fn salvage(&self, out: &mut dyn Write) -> Result<Vec<Damage>> {
        // Groups that cannot be found cannot be salvaged either.
        let groups = LineGroups::open(&self.reader, None).ok().flatten();
        let salvaged = match groups {
            Some(groups) => groups.salvage(out),
            None => row_groups::salvage(&self.reader, table::salvage_frame, out),
        };
        salvaged.map_err(in_at1)
    }

    /// Checks every block of an archive with row groups.
    ///
    /// Returns an error for each damaged block, for each block whose cells contradict its
    /// statistics or index, and for each column that does not start again where it is stated
    /// to.
    ///
    /// # Errors
    ///
    /// A stream other than the blocks and those that describe them is damaged.
    pub fn check_groups(&self) -> Result<Vec<Error>> {
        let found = match self.codec() {
            Codec::Columnar => table::check_groups(&self.reader),
            _ => row_groups::check_groups(&self.reader),
        };
        let found = found.map_err(in_at1)?;
        Ok(found.into_iter().map(in_at1).collect())
    }

    /// Returns what the archive says about the table of its text, if it says so.
    pub(super) fn table_metadata(&self) -> Result<Option<&TableMetadata>> {
        if let Some(table) = self.table.get() {
            return Ok(table.as_ref());
        }
        let table = table_metadata::find(&self.reader).map_err(in_at1)?;
        Ok(self.table.get_or_init(|| table).as_ref())
    }

    /// The frames, for modules that read less than a whole archive.
    pub(super) fn reader(&self) -> &Arc<FrameReader> {
        &self.reader
    }
}
