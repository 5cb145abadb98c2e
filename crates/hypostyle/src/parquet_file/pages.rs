//! Checks what pages claim, before the `parquet` crate allocates memory for it.
//!
//! The crate trusts the uncompressed size in a page header, the count in front of delta-encoded
//! lengths, and the length of fixed-size values. It also repeats the values of a dictionary as
//! often as a run says, so that a page of a few bytes can fill any memory: readers ask for
//! [fewer rows at a time](CheckedRowGroup::max_batch_rows) if the values are long.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use super::chunk_source::ChunkSource;
use hypostyle_core::limits::Limits;
use hypostyle_core::wire::Cursor;

/// The largest block of delta-encoded numbers. Writers make blocks of 128.
const MAX_DELTA_BLOCK: u64 = 1 << 16;

/// The most values in a page of a nested column, where one row may have all of them. Writers end
/// a page after a megabyte, or some ten thousand rows.
const MAX_NESTED_VALUES: u64 = 1 << 26;

/// Columns of a row group, whose pages are checked.
pub(super) struct CheckedRowGroup {
    metadata: Arc<ParquetMetaData>,
    group: usize,
    /// The readers of the columns that are read; each is taken once.
    columns: Mutex<Vec<Option<CheckedPages>>>,
    max_batch_rows: usize,
}

impl CheckedRowGroup {
    /// Opens the columns of the mask, and reads their dictionaries.
    pub(super) fn open(
        source: &ChunkSource,
        metadata: Arc<ParquetMetaData>,
        group: usize,
        mask: &ProjectionMask,
        limits: &Limits,
    ) -> Result<Self> {
        let row_group = metadata.row_group(group);
        let rows = usize::try_from(row_group.num_rows())?;
        let source = Arc::new(source.with_limits(limits));
        let mut longest = 1;
        let mut columns = Vec::with_capacity(row_group.num_columns());
        for (leaf, column) in row_group.columns().iter().enumerate() {
            if !mask.leaf_included(leaf) {
                columns.push(None);
                continue;
            }
            let pages = CheckedPages::open(&source, column, rows, limits)?;
            longest = longest.max(pages.longest);
            columns.push(Some(pages));
        }
        // A buffer that grows may be allocated twice.
        let max_batch_rows = usize::try_from(limits.read_bytes / 2 / longest).unwrap_or(usize::MAX);
        Ok(Self { metadata: metadata.clone(), group, columns: Mutex::new(columns), max_batch_rows })
    }

    /// Returns how many rows may be decoded at a time, so that they fit in the memory.
    pub(super) fn max_batch_rows(&self) -> usize {
        self.max_batch_rows
    }
}

impl RowGroups for CheckedRowGroup {
    fn num_rows(&self) -> usize {
        usize::try_from(self.metadata.row_group(self.group).num_rows()).unwrap_or_default()
    }

    fn column_chunks(&self, leaf: usize) -> Result<Box<dyn PageIterator>> {
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        match columns.get_mut(leaf).and_then(Option::take) {
            Some(pages) => Ok(Box::new(OneColumnChunk(Some(pages)))),
            None => Err(ParquetError::General("a column was opened twice".to_owned())),
        }
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata.row_group(self.group)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The pages of one column chunk.
struct OneColumnChunk(Option<CheckedPages>);

impl Iterator for OneColumnChunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(Box::new(pages) as Box<dyn PageReader>))
    }
}

impl PageIterator for OneColumnChunk {}

/// Reads the pages of a column chunk, and checks each.
struct CheckedPages {
    inner: SerializedPageReader<ChunkSource>,
    /// The dictionary, which was read before all other pages.
    dictionary: Option<Page>,
    /// The number of bytes of the longest value that rows may repeat.
    longest: u64,
    max_repetition: i16,
    max_definition: i16,
    read_bytes: u64,
}

impl CheckedPages {
    fn open(
        source: &Arc<ChunkSource>,
        column: &ColumnChunkMetaData,
        rows: usize,
        limits: &Limits,
    ) -> Result<Self> {
        let descriptor = column.column_descr();
        let longest = match column.column_type() {
            Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(descriptor.type_length()).unwrap_or(0),
            _ => 0,
        };
        let mut pages = Self {
            inner: SerializedPageReader::new(source.clone(), column, rows, None)?,
            dictionary: None,
            longest,
            max_repetition: descriptor.max_rep_level(),
            max_definition: descriptor.max_def_level(),
            read_bytes: limits.read_bytes,
        };
        if pages.inner.peek_next_page()?.is_some_and(|page| page.is_dict) {
            pages.dictionary = pages.inner.get_next_page()?;
        }
        if let Some(Page::DictionaryPage { buf, .. }) = &pages.dictionary
            && column.column_type() == Type::BYTE_ARRAY
        {
            pages.longest = longest_text(buf);
        }
        Ok(pages)
    }

    /// Fails if a page claims more values than it can have.
    fn check(&self, page: &Page) -> Result<()> {
        let (buf, values, encoding) = match page {
            Page::DictionaryPage { .. } => {
                return Err(malformed("there is a dictionary behind data pages"));
            }
            Page::DataPage { buf, num_values, encoding, .. }
            | Page::DataPageV2 { buf, num_values, encoding, .. } => {
                (buf, u64::from(*num_values), *encoding)
            }
        };
        if self.max_repetition > 0 && values > MAX_NESTED_VALUES {
            let why = format!("a page has {values} values, over the limit of {MAX_NESTED_VALUES}");
            return Err(malformed(why));
        }
        match encoding {
            Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY => {
                self.delta(self.data(page, buf)?, values)?;
            }
            Encoding::DELTA_BYTE_ARRAY => {
                let data = self.data(page, buf)?;
                let prefixes = self.delta(data, values)?;
                self.delta(data.get(prefixes..).unwrap_or_default(), values)?;
                // Each value may be all of the page, and no fewer than 1024 are decoded at once.
                let asked = values.min(1024).saturating_mul(data.len() as u64);
                if asked > self.read_bytes {
                    return Err(malformed(format!(
                        "values with shared prefixes may take {asked} bytes, over the limit of {} \
                         bytes in memory",
                        self.read_bytes
                    )));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the values of a page, which follow the levels.
    fn data<'a>(&self, page: &Page, buf: &'a Bytes) -> Result<&'a [u8]> {
        let mut start = 0_usize;
        match page {
            Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                start = usize::try_from(levels).unwrap_or(usize::MAX);
            }
            Page::DataPage { num_values, rep_level_encoding, def_level_encoding, .. } => {
                let levels = [
                    (self.max_repetition, *rep_level_encoding),
                    (self.max_definition, *def_level_encoding),
                ];
                for (max, encoding) in levels {
                    if max <= 0 {
                        continue;
                    }
                    let rest = buf.get(start..).unwrap_or_default();
                    #[expect(deprecated, reason = "old files have it")]
                    let is_packed = encoding == Encoding::BIT_PACKED;
                    let len = if is_packed {
                        let bits = u64::from(16 - max.leading_zeros());
                        usize::try_from((u64::from(*num_values) * bits).div_ceil(8))?
                    } else {
                        let len = Cursor::new(rest, 0).u32_le("levels").map_err(|_| cut())?;
                        usize::try_from(len)?.saturating_add(4)
                    };
                    start = start.saturating_add(len);
                }
            }
            Page::DictionaryPage { .. } => {}
        }
        buf.get(start..).ok_or_else(cut)
    }

    /// Walks over delta-encoded numbers and returns their length in bytes.
    fn delta(&self, data: &[u8], values: u64) -> Result<usize> {
        let mut cursor = Cursor::new(data, 0);
        let number = |cursor: &mut Cursor<'_>| -> Result<u64> {
            cursor.uv("delta header").map_err(|_| cut())
        };
        let (block, minis) = (number(&mut cursor)?, number(&mut cursor)?);
        let count = number(&mut cursor)?;
        cursor.sv("first value").map_err(|_| cut())?;
        if block > MAX_DELTA_BLOCK || minis == 0 || minis > block {
            return Err(malformed(format!("blocks of {block} values in {minis} parts")));
        }
        if count > values {
            return Err(malformed(format!("{count} numbers are stated for {values} values")));
        }
        let in_mini = block / minis;
        let mut left = count.saturating_sub(1);
        while left > 0 {
            cursor.sv("delta").map_err(|_| cut())?;
            let minis = usize::try_from(minis)?;
            let widths = cursor.take(minis, "widths").map_err(|_| cut())?;
            for &width in widths {
                if left > 0 {
                    let bytes = (u64::from(width) * in_mini).div_ceil(8);
                    // The last part may lack its padding.
                    let bytes = usize::try_from(bytes)?.min(cursor.left());
                    cursor.take(bytes, "deltas").map_err(|_| cut())?;
                }
                left = left.saturating_sub(in_mini);
            }
        }
        Ok(data.len() - cursor.left())
    }
}

/// Returns the length of the longest text in a dictionary, whose texts follow their lengths.
fn longest_text(dictionary: &[u8]) -> u64 {
    let (mut cursor, mut longest) = (Cursor::new(dictionary, 0), 0);
    while let Ok(len) = cursor.u32_le("length") {
        longest = longest.max(u64::from(len).min(cursor.left() as u64));
        if usize::try_from(len).is_ok_and(|len| cursor.take(len, "text").is_err()) {
            break;
        }
    }
    longest
}

fn malformed(why: impl Into<String>) -> ParquetError {
    ParquetError::General(why.into())
}

fn cut() -> ParquetError {
    malformed("a page is too short for its values")
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        if let Some(dictionary) = self.dictionary.take() {
            return Ok(Some(dictionary));
        }
        let page = self.inner.get_next_page()?;
        page.iter().try_for_each(|page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        if self.dictionary.is_some() {
            return Ok(Some(PageMetadata { num_rows: None, num_levels: None, is_dict: true }));
        }
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        if self.dictionary.take().is_some() {
            return Ok(());
        }
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        if self.dictionary.is_some() {
            return Ok(false);
        }
        self.inner.at_record_boundary()
    }
}
