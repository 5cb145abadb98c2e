//! Reads files of the C++ implementation: one column, which gets the name `value` (§7).

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hypostyle_onpair::{Column, read_cpp};

use super::decode;
use super::encoded_chunk::{EncodedChunk, EncodedValues};
use super::schema::StringType;
use super::search;
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::predicate::ColumnFilter;
use hypostyle_core::reader::{
    DecodeRows, Reader, RowGroupReader, RowGroupRequest, Section, SelectedRows,
    row_group_out_of_range,
};
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
            return Err(row_group_out_of_range(chunk, 1));
        }
        match columns.iter().find(|&&column| column != 0) {
            None => Ok(()),
            Some(column) => {
                let why = format!("column {column} is out of range: the file has 1 column");
                Err(Error::invalid_argument(why))
            }
        }
    }
}

fn malformed(err: hypostyle_onpair::Error) -> Error {
    Error::malformed("column", err.to_string())
}

fn decode_all(column: &Column<'_>) -> Result<ArrayRef> {
    let offsets = column.decoded_offsets();
    let offsets: Vec<i64> =
        offsets.into_iter().map(|offset| i64::try_from(offset).unwrap_or(i64::MAX)).collect();
    let text = column.decode().map_err(malformed)?;
    decode::array(offsets, text.into(), None, StringType::Text)
}

/// The rows of a file, of which any can be decoded.
struct CppRows(Arc<CppFile>);

impl DecodeRows for CppRows {
    fn decode_rows(&mut self, columns: &[usize], rows: &RowSelection) -> Result<Vec<ArrayRef>> {
        rows.check(self.0.rows)?;
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        let array = self.0.with_column(|column, text_len| {
            if rows.len() == self.0.rows {
                return decode_all(&column);
            }
            decode::selected_rows::<i64>(&encoded_chunk(column, text_len), rows, StringType::Text)
        })?;
        Ok(vec![array; columns.len()])
    }

    fn evaluate_encoded(
        &mut self,
        _: usize,
        filter: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        self.0.with_column(|column, text_len| {
            let encoded = encoded_chunk(column, text_len);
            let found = search::evaluate_rows(&encoded, self.0.rows, filter);
            found.map(Some).map_err(|err| err.in_column(0, COLUMN_NAME))
        })
    }
}

fn encoded_chunk(column: Column<'_>, text_len: u64) -> EncodedChunk<'_> {
    let values = EncodedValues::Codes(column);
    EncodedChunk { text_len, nulls: None, values, indexes: None, values_offset: 0 }
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

    fn row_groups(&self) -> usize {
        1
    }

    fn ranges(&self, _: usize, _: &[usize]) -> Vec<Range<u64>> {
        std::iter::once(0..self.source.size()).collect()
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        self.check_range(group, request.columns)?;
        Ok(Box::new(SelectedRows::new(self.rows, CppRows(self))))
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
