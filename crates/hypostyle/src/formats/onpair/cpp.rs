//! Files of the C++ implementation: one column, which we call `value` (§7).

use std::cell::OnceCell;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hypostyle_onpair::{Column, read_cpp};

use super::decode;
use super::held::{Held, Values};
use super::schema::Strings;
use super::search::{Tested, TestedColumn};
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format::{Reader, Section};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::predicate::{Predicate, find_column};
use hypostyle_core::row_selection::RowSelection;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

pub(super) const MAGIC: [u8; 8] = *b"ONPAIR01";
const NAME: &str = "value";
/// Bytes before the first array: the magic and the width.
const HEAD: u64 = 9;
/// The arrays, and the bytes of an element of each.
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
    /// Looks at the counts, and at nothing that is counted.
    pub(super) fn open(source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Self> {
        let part = |what, offset, stored| Section { what, column: None, offset, stored, raw: None };
        source::check(source.as_ref(), 0, HEAD, "head")?;
        let mut sections = vec![part("head", 0, HEAD)];
        let (mut at, mut count) = (HEAD, 0);
        for (what, width) in ARRAYS {
            let bytes = source::range(source.as_ref(), at, 4, what)?;
            count = Cursor::new(&bytes, at).u32_le(what)?;
            let stored = u64::from(count).saturating_mul(width).saturating_add(4);
            source::check(source.as_ref(), at, stored, what)?;
            sections.push(Section { column: Some(0), ..part(what, at, stored) });
            at = at.saturating_add(stored);
        }
        if at != source.size() {
            return Err(Error::malformed("file", "bytes are left over").at(at));
        }
        let schema = Arc::new(Schema::new(vec![Field::new(NAME, DataType::LargeUtf8, true)]));
        let rows = (count as usize).saturating_sub(1);
        Ok(Self { source, options: options.clone(), schema, rows, sections })
    }

    /// Reads the file, and hands its column on, with the bytes of all rows.
    fn with_column<T>(&self, then: impl FnOnce(Column<'_>, u64) -> Result<T>) -> Result<T> {
        let read = || {
            let size = self.source.size();
            self.check_limit("size of the file", size)?;
            let bytes = source::range(self.source.as_ref(), 0, size, "file")?;
            let column = read_cpp(&bytes).and_then(Column::new).map_err(malformed)?;
            let text = column.decoded_len() as u64;
            let offsets = (self.rows as u64).saturating_mul(16);
            self.check_limit("size of a column", text.saturating_add(offsets))?;
            then(column, text)
        };
        read().map_err(|err: Error| err.in_column(0, NAME).at(0))
    }

    fn check_limit(&self, what: &'static str, asked: u64) -> Result<()> {
        let limit = self.options.limits.block_bytes.min(self.options.limits.read_bytes);
        match asked > limit {
            true => Err(ErrorKind::LimitExceeded { what, asked, limit }.into()),
            false => Ok(()),
        }
    }

    fn check(&self, chunk: usize, columns: &[usize]) -> Result<()> {
        if chunk != 0 {
            return Err(Error::invalid_argument(format!("there is no chunk {chunk}, only one")));
        }
        match columns.iter().find(|&&column| column != 0) {
            None => Ok(()),
            Some(column) => {
                Err(Error::invalid_argument(format!("there is no column {column}, only one")))
            }
        }
    }

    /// The one column as often as it is asked for.
    fn batch(&self, columns: &[usize], rows: usize, array: &ArrayRef) -> Result<RecordBatch> {
        let schema = Arc::new(self.schema.project(columns)?);
        let arrays = vec![array.clone(); columns.len()];
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }

    fn read_some(
        &self,
        chunk: usize,
        columns: &[usize],
        rows: &RowSelection,
    ) -> Result<RecordBatch> {
        self.check(chunk, columns)?;
        rows.check(self.rows)?;
        let array = match columns.is_empty() {
            true => new_empty_array(&DataType::LargeUtf8),
            false => self.with_column(|column, text| match rows.len() == self.rows {
                true => all(&column),
                false => decode::some::<i64>(&held(column, text), rows, Strings::Text),
            })?,
        };
        self.batch(columns, rows.len(), &array)
    }

    fn read_kept(
        &self,
        chunk: usize,
        columns: &[usize],
        predicate: &Predicate,
    ) -> Result<Option<RecordBatch>> {
        self.check(chunk, columns)?;
        for name in predicate.columns() {
            find_column(&self.schema, name)?;
        }
        let batch = self.with_column(|column, text| {
            let held = held(column, text);
            let (strings, printed) = (Strings::Text, OnceCell::new());
            let columns_of =
                vec![TestedColumn { index: 0, name: NAME, strings, held: &held, printed }];
            let asked = Tested { rows: self.rows, columns: columns_of };
            let rows = RowSelection::from_mask(&predicate.evaluate(self.rows, &asked)?);
            self.batch(columns, rows.len(), &decode::some::<i64>(&held, &rows, strings)?)
        });
        batch.map(Some)
    }
}

fn malformed(err: hypostyle_onpair::Error) -> Error {
    Error::malformed("column", err.to_string())
}

/// RowSelection that are still codes.
fn held(column: Column<'_>, text: u64) -> Held<'_> {
    Held { text, nulls: None, values: Values::Codes(column), indexes: None, at: 0 }
}

fn all(column: &Column<'_>) -> Result<ArrayRef> {
    let offsets = column.decoded_offsets();
    let offsets: Vec<i64> =
        offsets.into_iter().map(|offset| i64::try_from(offset).unwrap_or(i64::MAX)).collect();
    let text = column.decode().map_err(malformed)?;
    decode::array(offsets, text.into(), None, Strings::Text)
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
        self.read_some(chunk, columns, rows).map_err(|err| err.in_format(FormatId::OnPair))
    }

    fn read_where(
        &self,
        chunk: usize,
        columns: &[usize],
        predicate: &Predicate,
    ) -> Result<Option<RecordBatch>> {
        self.read_kept(chunk, columns, predicate).map_err(|err| err.in_format(FormatId::OnPair))
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
