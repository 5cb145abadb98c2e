//! An open file: decodes some columns of a chunk, and reads no byte of the others.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hashbrown::HashMap;

use super::column_chunk::{ChunkSection, ColumnChunk, padded_len};
use super::decode;
use super::encoded_chunk::{DictionarySource, EncodedChunk};
use super::layout::{self, HEAD_BYTES, OnPairLayout, TAIL_BYTES};
use super::schema::StringType;
use super::search;
use super::sections::SectionBytes;
use super::statistics::ChunkStatistics;
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::parallel;
use hypostyle_core::predicate::{ColumnFilter, PruningStatistics};
use hypostyle_core::reader::{
    Reader, RowGroupReader, RowGroupRequest, Section, WindowCursor, row_group_out_of_range,
};
use hypostyle_core::row_selection::RowSelection;
use hypostyle_core::source::ByteSource;

/// Reads of fewer bytes take longer on several threads than on one.
const MIN_PARALLEL_BYTES: u64 = 256 << 10;

/// An open file.
#[derive(Debug)]
pub(super) struct OnPairFile {
    source: Arc<dyn ByteSource>,
    options: ReadOptions,
    layout: OnPairLayout,
    schema: SchemaRef,
}

impl OnPairFile {
    /// Reads the tail and the footer; `head` is from [`layout::read_head`].
    pub(super) fn open(
        source: Arc<dyn ByteSource>,
        head: &[u8],
        options: &ReadOptions,
    ) -> Result<Self> {
        let layout = layout::parse(source.as_ref(), head, &options.limits)?;
        let fields = layout.columns.iter().enumerate().map(|(index, column)| {
            let mut chunks = layout.column_chunks(index).iter();
            let wide = chunks.any(|chunk| i32::try_from(chunk.text_len).is_err());
            Field::new(&column.name, column.string_type.data_type(wide), true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self { source, options: options.clone(), layout, schema })
    }

    fn column_chunk(&self, column: usize, chunk: usize) -> Result<&ColumnChunk> {
        self.layout.column_chunk(column, chunk).ok_or_else(|| {
            let count = self.layout.columns.len();
            let why = format!("column {column} is out of range: the file has {count} columns");
            Error::invalid_argument(why)
        })
    }

    fn string_type(&self, column: usize) -> StringType {
        let column = self.layout.columns.get(column);
        column.map_or(StringType::Binary, |column| column.string_type)
    }

    /// Reads all sections of a column chunk at once.
    fn section_bytes(&self, column: usize, chunk: usize) -> Result<SectionBytes<'_>> {
        let read = SectionBytes::read(self.source.as_ref(), self.column_chunk(column, chunk)?);
        read.map_err(|err| self.locate(err, column, chunk))
    }

    /// Reads and checks the sections of a column chunk.
    fn encoded_chunk(&self, column: usize, chunk: usize) -> Result<EncodedChunk<'static>> {
        let sections = self.section_bytes(column, chunk)?;
        let column_chunk = self.column_chunk(column, chunk)?;
        let owner = column_chunk.coding.map(|coding| coding.dictionary_chunk);
        let owner = owner.filter(|&owner| owner != chunk);
        let dictionary = DictionarySource {
            source: self.source.as_ref(),
            owner: owner.and_then(|owner| self.layout.column_chunk(column, owner)),
        };
        EncodedChunk::try_new(column_chunk, &sections, &dictionary)
            .map_err(|err| self.locate(err, column, chunk))
    }

    /// Adds the column to an error, and counts its row from the start of the file.
    fn locate(&self, err: Error, column: usize, chunk: usize) -> Error {
        let first = self.layout.first_row(chunk);
        let err = match err.row() {
            Some(row) => err.at_row(first.saturating_add(row)),
            None => err,
        };
        match self.layout.columns.get(column) {
            Some(found) => err.in_column(column, &found.name),
            None => err,
        }
    }

    /// Returns whether the arrays of a column have 64-bit offsets.
    fn is_wide(&self, column: usize) -> bool {
        let data_type = self.schema.fields().get(column).map(|field| field.data_type());
        matches!(data_type, Some(DataType::LargeUtf8 | DataType::LargeBinary))
    }

    /// Returns whether a read verifies all rows and the bounds of a chunk.
    fn is_thorough(&self) -> bool {
        self.options.strict || self.options.thorough
    }

    fn decode_all_of(
        &self,
        column: usize,
        chunk: usize,
        encoded: &EncodedChunk<'_>,
    ) -> Result<ArrayRef> {
        let column_chunk = self.column_chunk(column, chunk)?;
        let (string_type, thorough) = (self.string_type(column), self.is_thorough());
        let array = if self.is_wide(column) {
            decode::all_rows::<i64>(column_chunk, encoded, string_type, thorough)
        } else {
            decode::all_rows::<i32>(column_chunk, encoded, string_type, thorough)
        };
        array.map_err(|err| self.locate(err, column, chunk))
    }

    fn decode_rows_of(
        &self,
        column: usize,
        chunk: usize,
        encoded: &EncodedChunk<'_>,
        rows: &RowSelection,
    ) -> Result<ArrayRef> {
        let string_type = self.string_type(column);
        let array = if self.is_wide(column) {
            decode::selected_rows::<i64>(encoded, rows, string_type)
        } else {
            decode::selected_rows::<i32>(encoded, rows, string_type)
        };
        array.map_err(|err| self.locate(err, column, chunk))
    }

    /// Returns the memory that a read of these columns takes, or fails if it is over a limit.
    fn check_cost(&self, chunk: usize, columns: &[usize]) -> Result<u64> {
        let limits = &self.options.limits;
        let mut total = 0_u64;
        for &column in columns {
            let column_chunk = self.column_chunk(column, chunk)?;
            let asked = column_chunk.read_cost();
            let (what, limit) = ("size of a column", limits.block_bytes);
            if asked > limit {
                let err = Error::new(ErrorKind::LimitExceeded { what, asked, limit });
                let name = self.schema.fields().get(column).map(|field| field.name().as_str());
                let err = err.at(column_chunk.entry_offset);
                return Err(err.in_column(column, name.unwrap_or_default()));
            }
            total = total.saturating_add(asked);
        }
        let (what, asked, limit) = ("size of the columns", total, limits.read_bytes);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(total)
    }

    /// Returns the number of rows of a chunk, or fails if the file does not have it.
    fn check_chunk(&self, chunk: usize) -> Result<usize> {
        match self.layout.chunk_rows.get(chunk) {
            Some(&rows) => Ok(rows as usize),
            None => Err(row_group_out_of_range(chunk, self.layout.chunk_rows.len())),
        }
    }
}

impl Reader for OnPairFile {
    fn format(&self) -> FormatId {
        FormatId::OnPair
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.layout.rows
    }

    fn row_groups(&self) -> usize {
        self.layout.chunk_rows.len()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        self.layout.chunk_rows.get(group).copied().unwrap_or(0).into()
    }

    fn ranges(&self, group: usize, columns: &[usize]) -> Vec<Range<u64>> {
        let chunks = columns.iter().filter_map(|&column| self.layout.column_chunk(column, group));
        chunks.map(|chunk| chunk.range()).collect()
    }

    fn column_bytes(&self, group: usize, columns: &[usize]) -> Option<u64> {
        // What cannot be read at all is refused when the row group is opened.
        Some(self.check_cost(group, columns).unwrap_or(u64::MAX))
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        let rows = self.check_chunk(group)?;
        let cost = self.check_cost(group, request.columns)?;
        let threads = if cost < MIN_PARALLEL_BYTES { 1 } else { request.threads };
        Ok(Box::new(OnPairRowGroup {
            // All rows decode faster together than window by window.
            decodes_all: request.end.is_none() && cost <= request.memory,
            file: self,
            group,
            threads,
            cursor: WindowCursor::new(rows),
            encoded: HashMap::new(),
            decoded: HashMap::new(),
        }))
    }

    fn pruning_statistics(&self, chunk: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        Some(Box::new(ChunkStatistics::new(&self.layout, chunk)))
    }

    fn sections(&self) -> Vec<Section> {
        let of_file =
            |what, offset, stored| Section { what, column: None, offset, stored, raw: None };
        let mut sections = vec![of_file("head", 0, HEAD_BYTES)];
        for column in 0..self.layout.columns.len() {
            for chunk in self.layout.column_chunks(column) {
                sections.extend(ChunkSection::ALL.into_iter().filter_map(|section| {
                    let len = chunk.section(section).len;
                    let raw = (section == ChunkSection::Values).then_some(chunk.text_len.into());
                    (len > 0).then(|| Section {
                        what: chunk.section_name(section),
                        column: Some(column),
                        offset: chunk.section_offset(section),
                        stored: padded_len(len),
                        raw,
                    })
                }));
            }
        }
        let footer = &self.layout.footer;
        sections.push(of_file("footer", footer.start, footer.end.saturating_sub(footer.start)));
        sections.push(of_file("tail", footer.end, TAIL_BYTES));
        sections
    }

    fn deviations(&self) -> Vec<Deviation> {
        Vec::new()
    }

    fn notes(&self) -> Vec<String> {
        let columns = self.layout.columns.iter().enumerate();
        columns
            .map(|(index, column)| note(&column.name, self.layout.column_chunks(index)))
            .collect()
    }
}

/// A row group whose column chunks are read and checked once.
///
/// A scan of all rows decodes each chunk as a whole; other scans decode the rows that they
/// select, and errors in others go unnoticed.
struct OnPairRowGroup {
    file: Arc<OnPairFile>,
    group: usize,
    threads: usize,
    decodes_all: bool,
    cursor: WindowCursor,
    /// The column chunks that were read so far.
    encoded: HashMap<usize, EncodedChunk<'static>>,
    /// All rows of the column chunks that were decoded as a whole.
    decoded: HashMap<usize, ArrayRef>,
}

impl OnPairRowGroup {
    /// Reads and checks the column chunks that were not read before.
    fn fetch(&mut self, columns: &[usize]) -> Result<()> {
        for &column in columns {
            if !self.encoded.contains_key(&column) {
                let encoded = self.file.encoded_chunk(column, self.group)?;
                self.encoded.insert(column, encoded);
            }
        }
        Ok(())
    }

    fn encoded(&self, column: usize) -> Result<&EncodedChunk<'static>> {
        let encoded = self.encoded.get(&column);
        encoded.ok_or_else(|| ErrorKind::Internal("a column chunk was not read".into()).into())
    }

    /// Decodes all rows of the columns that are not decoded, and keeps them.
    fn decode_all(&mut self, columns: &[usize]) -> Result<()> {
        let mut wanted = columns.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        wanted.retain(|column| !self.decoded.contains_key(column));
        let decode =
            |&column: &usize| self.file.decode_all_of(column, self.group, self.encoded(column)?);
        let arrays = parallel::map(&wanted, self.threads, decode)?;
        for (column, array) in wanted.into_iter().zip(arrays) {
            self.decoded.insert(column, array);
        }
        Ok(())
    }

    fn decode_column(&self, column: usize, rows: &RowSelection) -> Result<ArrayRef> {
        match self.decoded.get(&column) {
            Some(array) => rows.of_array(array),
            None => self.file.decode_rows_of(column, self.group, self.encoded(column)?, rows),
        }
    }
}

impl RowGroupReader for OnPairRowGroup {
    fn skip(&mut self, rows: u64) -> Result<u64> {
        Ok(self.cursor.skip(rows))
    }

    fn next_window(&mut self, max_rows: usize) -> Result<usize> {
        Ok(self.cursor.advance(max_rows))
    }

    fn read(&mut self, columns: &[usize], rows: Option<&RowSelection>) -> Result<Vec<ArrayRef>> {
        if let Some(rows) = rows {
            rows.check(self.cursor.len())?;
        }
        self.fetch(columns)?;
        let selected = rows.map_or(self.cursor.len(), RowSelection::len);
        // A thorough read verifies all rows.
        if self.file.is_thorough()
            || selected == self.cursor.rows()
            || (rows.is_none() && self.decodes_all)
        {
            self.decode_all(columns)?;
        }
        let rows = self.cursor.selected(rows);
        parallel::map(columns, self.threads, |&column| self.decode_column(column, &rows))
    }

    fn evaluate_encoded(
        &mut self,
        column: usize,
        filter: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        if self.file.is_thorough() {
            return Ok(None);
        }
        self.fetch(&[column])?;
        let encoded = self.encoded(column)?;
        let name = self.file.layout.columns.get(column).map_or("", |column| &column.name);
        let all = search::evaluate_rows(encoded, self.cursor.rows(), filter)
            .map_err(|err| err.in_column(column, name))?;
        Ok(Some(all.slice(self.cursor.window().start, self.cursor.len())))
    }
}

/// Describes in one line how a column is stored.
fn note(name: &str, chunks: &[ColumnChunk]) -> String {
    let total = |of: &dyn Fn(&ColumnChunk) -> u64| chunks.iter().map(of).sum::<u64>();
    let (text, stored) = (total(&|chunk| chunk.text_len.into()), total(&|chunk| chunk.len()));
    let dictionary_len = |chunk: &ColumnChunk| chunk.section(ChunkSection::Dictionary).len;
    let dictionaries = || chunks.iter().filter(|chunk| dictionary_len(chunk) > 0);
    let dictionary = total(&|chunk| dictionary_len(chunk).into());
    let mut widths: Vec<u32> =
        dictionaries().flat_map(|chunk| chunk.coding).map(|coding| coding.bits).collect();
    widths.sort_unstable();
    widths.dedup();
    let widths: Vec<String> = widths.iter().map(u32::to_string).collect();
    let indexed = chunks.iter().filter(|chunk| chunk.indexed).count();
    let name = hypostyle_core::error::clipped(name);
    // Integer arithmetic prints the same on every machine.
    let ratio = text.saturating_mul(100).checked_div(stored).unwrap_or(0);
    let mut line = format!(
        "`{name}`: {text} bytes of text in {stored}, ratio {}.{:02}; {} chunks",
        ratio / 100,
        ratio % 100,
        chunks.len()
    );
    if !widths.is_empty() {
        line += &format!(
            ", {} dictionaries of {dictionary} bytes, codes of {} bits",
            dictionaries().count(),
            widths.join(", ")
        );
    }
    if indexed > 0 {
        line += &format!(", {indexed} with indexes of distinct values");
    }
    line
}
