//! Helpers for the tests of texts, which read them with small blocks and row groups, so that
//! every boundary occurs.

mod naive;
mod table;
mod types;

use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use bytes::Bytes;

use super::sizes::TextSizes;
use super::table::TextTable;
use super::{SourceText, TextFormat, TextKind, TextOptions, TextSource};
use crate::cast::{cast, spelled_text};
use crate::error::{Error, Result};
use crate::reader::{Reader, RowGroupRequest};
use crate::row_selection::RowSelection;

/// The names, types and cells of a table.
pub(in crate::text) type Contents = Vec<(String, DataType, Vec<Option<String>>)>;

/// A text that can only be read from its start.
#[derive(Debug)]
struct Sequential(Vec<u8>);

impl TextSource for Sequential {
    fn open(&self, offset: u64) -> Result<Box<dyn Read + Send>> {
        let rest = self.0[usize::try_from(offset).unwrap()..].to_vec();
        Ok(Box::new(io::Cursor::new(rest)))
    }

    fn is_seekable(&self) -> bool {
        false
    }

    fn size(&self) -> Option<u64> {
        None
    }
}

pub(in crate::text) fn seekable(text: &[u8]) -> Arc<dyn TextSource> {
    Arc::new(SourceText(Arc::new(Bytes::copy_from_slice(text))))
}

pub(in crate::text) fn sizes(block: usize, index: u64) -> TextSizes {
    TextSizes { block: Some(block), index }
}

pub(in crate::text) fn options(threads: usize) -> TextOptions {
    TextOptions { threads: NonZeroUsize::new(threads), ..TextOptions::default() }
}

pub(in crate::text) const CSV: TextFormat =
    TextFormat { kind: TextKind::Delimited { delimiter: b',' }, header: true };
pub(in crate::text) const JSON: TextFormat =
    TextFormat { kind: TextKind::JsonLines, header: false };

/// Returns all windows of some rows of a table, as batches.
pub(in crate::text) fn batches(
    table: &Arc<TextTable>,
    max_rows: usize,
) -> Result<Vec<RecordBatch>> {
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let mut batches = Vec::new();
    for group in 0..table.row_groups() {
        let mut open = table.clone().open_row_group(group, &RowGroupRequest::new(&columns))?;
        let mut rows = 0;
        loop {
            let count = open.next_window(max_rows)?;
            if count == 0 {
                break;
            }
            assert!(count <= max_rows);
            rows += count as u64;
            let arrays = open.read(&columns, None)?;
            let batch = crate::reader::batch(&table.schema(), arrays, count)?;
            // A selection gives the rows that it names.
            let odd: RowSelection = (0..count).filter(|row| row % 3 != 1).collect();
            let some = open.read(&columns, Some(&odd))?;
            for (array, some) in batch.columns().iter().zip(some) {
                let want = odd.of_array(&cast(array, &DataType::Utf8)?)?;
                assert_eq!(cast(&some, &DataType::Utf8)?.as_ref(), want.as_ref());
            }
            batches.push(batch);
        }
        assert_eq!(rows, table.row_group_rows(group));
    }
    Ok(batches)
}

/// Returns the names, types and cells of a table.
pub(in crate::text) fn whole(table: TextTable) -> Result<Contents> {
    let table = Arc::new(table);
    let batches = batches(&table, 3)?;
    let schema = table.schema();
    let columns = schema.fields().iter().enumerate().map(|(index, field)| {
        let mut cells = Vec::new();
        for batch in &batches {
            let text = spelled_text(batch.column(index), field)?;
            cells.extend(text.as_string::<i32>().iter().map(|cell| cell.map(str::to_owned)));
        }
        assert_eq!(cells.len() as u64, table.rows());
        if let Some(nulls) = table.column_statistics(index).null_count {
            assert_eq!(nulls, cells.iter().filter(|cell| cell.is_none()).count() as u64);
        }
        Ok((field.name().clone(), field.data_type().clone(), cells))
    });
    columns.collect()
}

pub(in crate::text) fn read(
    source: Arc<dyn TextSource>,
    format: TextFormat,
    options: &TextOptions,
    sizes: TextSizes,
) -> Result<Contents, String> {
    TextTable::open_sized(source, format, options, None, sizes).and_then(whole).map_err(place)
}

/// Returns an error without the number of cells of a ragged row, which is only known if the
/// row ends in the block.
pub(in crate::text) fn place(err: Error) -> String {
    let text = err.to_string();
    text.split_once(": has ").map_or(text.clone(), |(place, _)| place.to_owned())
}

/// Reads a text in all ways, which must agree, and returns the table.
pub(in crate::text) fn read_in_all_ways(
    text: &[u8],
    format: TextFormat,
    options: &TextOptions,
) -> Result<Contents, String> {
    let want = read(seekable(text), format, options, TextSizes::default());
    for (block, index) in [(1, 1), (2, 5), (7, 1), (30, 20), (64, 1 << 20)] {
        let sizes = sizes(block, index);
        assert_eq!(read(seekable(text), format, options, sizes), want, "blocks of {block}");
        let sequential = Arc::new(Sequential(text.to_vec()));
        assert_eq!(read(sequential, format, options, sizes), want, "sequential, {block}");
    }
    want
}
