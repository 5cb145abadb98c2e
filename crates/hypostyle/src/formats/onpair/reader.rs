//! An open file: decodes some columns of a chunk, and reads no byte of the others.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
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
    DecodeRows, Reader, RowGroupReader, RowGroupRequest, Section, SelectedRows,
    row_group_out_of_range,
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

    /// Checks the sections of a column chunk.
    fn encoded_chunk<'s>(
        &self,
        column: usize,
        chunk: usize,
        sections: &'s SectionBytes<'_>,
    ) -> Result<EncodedChunk<'s>> {
        let column_chunk = self.column_chunk(column, chunk)?;
        let owner = column_chunk.coding.map(|coding| coding.dictionary_chunk);
        let owner = owner.filter(|&owner| owner != chunk);
        let dictionary = DictionarySource {
            source: self.source.as_ref(),
            owner: owner.and_then(|owner| self.layout.column_chunk(column, owner)),
        };
        EncodedChunk::try_new(column_chunk, sections, &dictionary)
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

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        let rows = self.check_chunk(group)?;
        let cost = self.check_cost(group, request.columns)?;
        let threads = if cost < MIN_PARALLEL_BYTES { 1 } else { request.threads };
        let fetched = HashMap::new();
        let group = OnPairRowGroup { file: self, group, rows, threads, fetched };
        Ok(Box::new(SelectedRows::new(rows, group)))
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

/// A row group whose column chunks are read once, and decoded as often as rows are asked for.
struct OnPairRowGroup {
    file: Arc<OnPairFile>,
    group: usize,
    rows: usize,
    threads: usize,
    /// The bytes of the column chunks that were read so far.
    fetched: HashMap<usize, Bytes>,
}

impl OnPairRowGroup {
    fn fetch(&mut self, columns: &[usize]) -> Result<()> {
        for &column in columns {
            if !self.fetched.contains_key(&column) {
                let bytes = self.file.section_bytes(column, self.group)?.into_bytes();
                self.fetched.insert(column, bytes);
            }
        }
        Ok(())
    }

    fn sections(&self, column: usize) -> Result<SectionBytes<'_>> {
        let chunk = self.file.column_chunk(column, self.group)?;
        Ok(SectionBytes::of(chunk, self.fetched.get(&column).cloned().unwrap_or_default()))
    }

    fn decode_column(&self, column: usize, rows: &RowSelection) -> Result<ArrayRef> {
        let (file, group) = (&self.file, self.group);
        let sections = self.sections(column)?;
        let encoded = file.encoded_chunk(column, group, &sections)?;
        // A thorough read verifies all rows, and all rows decode faster together.
        if file.is_thorough() || rows.len() == self.rows {
            return rows.of_array(&file.decode_all_of(column, group, &encoded)?);
        }
        file.decode_rows_of(column, group, &encoded, rows)
    }
}

impl DecodeRows for OnPairRowGroup {
    fn decode_rows(&mut self, columns: &[usize], rows: &RowSelection) -> Result<Vec<ArrayRef>> {
        rows.check(self.rows)?;
        self.fetch(columns)?;
        parallel::map(columns, self.threads, |&column| self.decode_column(column, rows))
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
        let sections = self.sections(column)?;
        let encoded = self.file.encoded_chunk(column, self.group, &sections)?;
        let name = self.file.layout.columns.get(column).map_or("", |column| &column.name);
        let found = search::evaluate_rows(&encoded, self.rows, filter);
        found.map(Some).map_err(|err| err.in_column(column, name))
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
