//! Reads files of the C++ implementation: one column, which gets the name `value` (§7).

use std::cell::OnceCell;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hypostyle_onpair::{Column, read_cpp};

use super::decode;
use super::encoded_chunk::{EncodedChunk, EncodedValues};
use super::schema::StringType;
use super::search::{FilterColumn, FilterColumns};
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format::{Reader, Section};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::predicate::{Predicate, find_column};
use hypostyle_core::row_selection::RowSelection;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

const COLUMN_NAME: &str = "value";
/// Length of the magic and the code width, before the first array.
const HEAD_BYTES: u64 = 9;
/// The arrays, and the size of an element of each.
const ARRAYS: [(&str, u64); 4] =
    [("dictionary", 1), ("dictionary offsets", 4), ("codes", 8), ("row boundaries", 4)];

/// An open file.
#[derive(Debug)]
pub(super) struct CppFile {
    source: Arc<dyn ByteSource>,
    options: ReadOptions,
    schema: SchemaRef,
    rows: usize,
    sections: Vec<Section>,
}

impl CppFile {
    /// Reads the length of each array, and no element.
    pub(super) fn open(source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Self> {
        let section =
            |what, offset, stored| Section { what, column: None, offset, stored, raw: None };
        source::check(source.as_ref(), 0, HEAD_BYTES, "head")?;
        let mut sections = vec![section("head", 0, HEAD_BYTES)];
        let (mut at, mut count) = (HEAD_BYTES, 0);
        for (what, width) in ARRAYS {
            let bytes = source::range(source.as_ref(), at, 4, what)?;
            count = Cursor::new(&bytes, at).u32_le(what)?;
            let stored = u64::from(count).saturating_mul(width).saturating_add(4);
            source::check(source.as_ref(), at, stored, what)?;
            sections.push(Section { column: Some(0), ..section(what, at, stored) });
            at = at.saturating_add(stored);
        }
        if at != source.size() {
            return Err(Error::malformed("file", "bytes are left over").at(at));
        }
        let schema =
            Arc::new(Schema::new(vec![Field::new(COLUMN_NAME, DataType::LargeUtf8, true)]));
        let rows = (count as usize).saturating_sub(1);
        Ok(Self { source, options: options.clone(), schema, rows, sections })
    }

    /// Reads the file, and calls `then` with its column and the bytes of all rows.
    fn with_column<T>(&self, then: impl FnOnce(Column<'_>, u64) -> Result<T>) -> Result<T> {
        let read = || {
            let size = self.source.size();
            self.check_limit("size of the file", size)?;
            let bytes = source::range(self.source.as_ref(), 0, size, "file")?;
            let column = read_cpp(&bytes).and_then(Column::new).map_err(malformed)?;
            let text_len = column.decoded_len() as u64;
            let offsets = (self.rows as u64).saturating_mul(16);
            self.check_limit("size of a column", text_len.saturating_add(offsets))?;
            then(column, text_len)
        };
        read().map_err(|err: Error| err.in_column(0, COLUMN_NAME).at(0))
    }

    fn check_limit(&self, what: &'static str, asked: u64) -> Result<()> {
        let limit = self.options.limits.block_bytes.min(self.options.limits.read_bytes);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(())
    }

    fn check_range(&self, chunk: usize, columns: &[usize]) -> Result<()> {
        if chunk != 0 {
            let why = format!("chunk {chunk} is out of range: the file has 1 chunk");
            return Err(Error::invalid_argument(why));
        }
        match columns.iter().find(|&&column| column != 0) {
            None => Ok(()),
            Some(column) => {
                let why = format!("column {column} is out of range: the file has 1 column");
                Err(Error::invalid_argument(why))
            }
        }
    }

    /// Returns a batch with the one column as often as `columns` lists it.
    fn batch(&self, columns: &[usize], rows: usize, array: &ArrayRef) -> Result<RecordBatch> {
        let schema = Arc::new(self.schema.project(columns)?);
        let arrays = vec![array.clone(); columns.len()];
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }
}

fn malformed(err: hypostyle_onpair::Error) -> Error {
    Error::malformed("column", err.to_string())
}

fn encoded_chunk(column: Column<'_>, text_len: u64) -> EncodedChunk<'_> {
    let values = EncodedValues::Codes(column);
    EncodedChunk { text_len, nulls: None, values, indexes: None, values_offset: 0 }
}

fn decode_all(column: &Column<'_>) -> Result<ArrayRef> {
    let offsets = column.decoded_offsets();
    let offsets: Vec<i64> =
        offsets.into_iter().map(|offset| i64::try_from(offset).unwrap_or(i64::MAX)).collect();
    let text = column.decode().map_err(malformed)?;
    decode::array(offsets, text.into(), None, StringType::Text)
}

impl Reader for CppFile {
    fn format(&self) -> FormatId {
        FormatId::OnPair
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.rows as u64
    }

    fn chunks(&self) -> usize {
        1
    }

    fn read(&self, chunk: usize, columns: &[usize]) -> Result<RecordBatch> {
        self.read_rows(chunk, columns, &RowSelection::from(0..self.rows))
    }

    fn read_rows(
        &self,
        chunk: usize,
        columns: &[usize],
        rows: &RowSelection,
    ) -> Result<RecordBatch> {
        self.check_range(chunk, columns)?;
        rows.check(self.rows)?;
        let array = if columns.is_empty() {
            new_empty_array(&DataType::LargeUtf8)
        } else {
            self.with_column(|column, text_len| {
                if rows.len() == self.rows {
                    return decode_all(&column);
                }
                let encoded = encoded_chunk(column, text_len);
                decode::selected_rows::<i64>(&encoded, rows, StringType::Text)
            })?
        };
        self.batch(columns, rows.len(), &array)
    }

    fn read_where(
        &self,
        chunk: usize,
        columns: &[usize],
        predicate: &Predicate,
    ) -> Result<Option<RecordBatch>> {
        self.check_range(chunk, columns)?;
        for name in predicate.columns() {
            find_column(&self.schema, name)?;
        }
        let batch = self.with_column(|column, text_len| {
            let encoded = encoded_chunk(column, text_len);
            let string_type = StringType::Text;
            let filter_column = FilterColumn {
                index: 0,
                name: COLUMN_NAME,
                string_type,
                encoded: &encoded,
                printed: OnceCell::new(),
            };
            let filter_columns = FilterColumns { rows: self.rows, columns: vec![filter_column] };
            let rows = RowSelection::from_mask(&predicate.evaluate(self.rows, &filter_columns)?);
            let array = decode::selected_rows::<i64>(&encoded, &rows, string_type)?;
            self.batch(columns, rows.len(), &array)
        });
        batch.map(Some)
    }

    fn sections(&self) -> Vec<Section> {
        self.sections.clone()
    }

    fn deviations(&self) -> Vec<Deviation> {
        Vec::new()
    }

    fn notes(&self) -> Vec<String> {
        vec!["a file of the C++ implementation, ONPAIR01: one column without a name".to_owned()]
    }
}
