//! Turns the cells of a column into an array of one field.

use std::slice;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array,
    UInt32Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use arrow_select::take::take;
use hashbrown::HashMap;

use super::frame::ColumnarFrame;
use super::group_cells::GroupCells;
use super::group_reader::WantedRows;
use super::typed_entries::{TypedDictionary, TypedEntries, string_views};
use crate::codecs::columnar::values::CellNumbers;
use crate::row_buffer::{DictEntry, PaddedDict};
use crate::table::cell_list::{CellList, CellRuns};
use crate::table::cell_value::CellSyntax;
use crate::table::field_values::CellFields;
use crate::table::json_values;
use crate::table::typed_cells::{self, CellError, TypedCells, not_of_type};
use hypostyle_core::error::{Error, ErrorKind, Result, clipped};

/// A dictionary has at most one entry for so many rows; otherwise its entries are copied.
const ROWS_PER_ENTRY: usize = 2;

/// The code of an entry that has no value.
const NO_VALUE: u32 = u32::MAX;

/// How the entries of a dictionary become the array of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    /// As a dictionary if that takes less memory.
    Smaller,
    Dictionary,
    /// As string views.
    Views,
}

/// One field of the cells of a column, in one row group.
pub(super) struct FieldCells<'a> {
    pub(super) frame: &'a ColumnarFrame,
    pub(super) cells: &'a GroupCells,
    /// The column of the archive.
    pub(super) stored: usize,
    /// The fields of the cells, and the place of this one among them.
    pub(super) fields: CellFields<'a>,
    pub(super) nth: usize,
    /// The column of the table, and whether it is the last one.
    pub(super) column: usize,
    pub(super) is_last: bool,
    pub(super) null_words: &'a [Vec<u8>],
    /// The most bytes that texts may take.
    pub(super) max_bytes: u64,
    /// The entries of dictionaries as arrays that other row groups made.
    pub(super) typed_entries: &'a TypedEntries,
}

impl FieldCells<'_> {
    /// Returns the field of the wanted cells.
    pub(super) fn array(
        &self,
        data_type: &DataType,
        encoding: Encoding,
        rows: &WantedRows<'_>,
    ) -> Result<ArrayRef> {
        let GroupCells { column, cells } = self.cells;
        if column.cells() < cells.end {
            let why = format!("has {} cells for {} rows", column.cells(), cells.end);
            return Err(Error::malformed("column", why).in_stream("values"));
        }
        let stored = self.frame.layout.columns.get(self.stored);
        if stored.is_none_or(|stored| stored.quotes <= 1)
            && let Some((ids, entries)) = column.dictionary()
        {
            let ids = ids.get(cells.clone()).unwrap_or_default();
            let Some(selection) = rows.selection else {
                return self.named_entries(data_type, ids, entries, encoding);
            };
            let runs = selection.runs().iter();
            let ids = runs.flat_map(|run| ids.get(run.clone()).unwrap_or_default());
            let ids: Vec<u32> = ids.copied().collect();
            return self.named_entries(data_type, &ids, entries, encoding);
        }
        rows.of_array(self.cells_array(data_type)?)
    }

    /// Returns the syntax of the cells.
    pub(super) fn syntax(&self) -> CellSyntax<'_> {
        match self.frame.layout.columns.get(self.stored) {
            Some(stored) if stored.quotes == 1 => CellSyntax::Quoted,
            _ => CellSyntax::Csv { is_last: self.is_last, null_words: self.null_words },
        }
    }

    /// Returns the distinct values of the field in the entries of a dictionary, in the order of
    /// the entries (§5.7).
    pub(super) fn typed_dictionary(
        &self,
        data_type: &DataType,
        entries: &Arc<PaddedDict>,
    ) -> Result<TypedDictionary> {
        if let Some(known) = self.typed_entries.get(entries, self.column) {
            return Ok(known);
        }
        let (mut values, mut codes) = (HashMap::with_capacity(entries.len()), Vec::new());
        let mut distinct = Vec::new();
        for entry in texts_of(entries) {
            let part = match (self.fields.nth(entry, self.nth), self.fields) {
                (Some(part), _) => part,
                // Entries that no cell names may have any text.
                (None, CellFields::Objects(_)) => {
                    codes.push(NO_VALUE);
                    continue;
                }
                (None, CellFields::Delimited { .. }) => return Err(self.unfit(entry)),
            };
            codes.push(*values.entry(part).or_insert_with(|| {
                distinct.push(part);
                // Entries have indexes of 32 bits.
                u32::try_from(distinct.len() - 1).unwrap_or(NO_VALUE)
            }));
        }
        let len = distinct.len();
        let values = self.typed(data_type, &list_of(distinct)?, len)?;
        let codes = (len < codes.len()).then(|| Arc::new(codes));
        let dictionary = TypedDictionary::new(values, codes);
        self.typed_entries.insert(entries, self.column, &dictionary);
        Ok(dictionary)
    }

    /// Returns the entries that indexes name.
    ///
    /// The entries become an array once for all row groups, but not for a few rows of a large
    /// dictionary.
    fn named_entries(
        &self,
        data_type: &DataType,
        ids: &[u32],
        entries: &Arc<PaddedDict>,
        encoding: Encoding,
    ) -> Result<ArrayRef> {
        let text = |&id: &u32| entries.get(id as usize).map(DictEntry::bytes).unwrap_or_default();
        let is_known = self.typed_entries.get(entries, self.column).is_some();
        let used = self.typed_entries.count_uses(entries, self.column, ids.len());
        if is_known || used >= entries.len() || encoding == Encoding::Dictionary {
            let typed = self.typed_dictionary(data_type, entries)?;
            let values = match encoding {
                Encoding::Views => typed.views(),
                _ => typed.values,
            };
            let Some(codes) = typed.codes else {
                return taken(ids, &values, encoding, self.max_bytes);
            };
            let code = |&id: &u32| codes.get(id as usize).copied().unwrap_or(NO_VALUE);
            let named: Vec<u32> = ids.iter().map(code).collect();
            // One pass finds that all have a value, which the loop above does without branches.
            if let Some(at) = named.iter().position(|&code| code == NO_VALUE) {
                return Err(self.unfit(ids.get(at).map(text).unwrap_or_default()));
            }
            return taken(&named, &values, encoding, self.max_bytes);
        }
        let (mut places, mut named) = (HashMap::with_capacity(ids.len()), Vec::new());
        let mut place_of = |&id: &u32| {
            *places.entry(id).or_insert_with(|| {
                named.push(id);
                u32::try_from(named.len() - 1).unwrap_or(u32::MAX)
            })
        };
        let ids: Vec<u32> = ids.iter().map(&mut place_of).collect();
        let parts = self.part_of_each(named.iter().map(text))?;
        let mut values = self.typed(data_type, &list_of(parts)?, named.len())?;
        if encoding == Encoding::Views {
            values = string_views(&values);
        }
        taken(&ids, &values, encoding, self.max_bytes)
    }

    /// Returns the field of the cells of a column without a dictionary, or with mixed quotes.
    fn cells_array(&self, data_type: &DataType) -> Result<ArrayRef> {
        let GroupCells { column, cells } = self.cells;
        let stored = self.frame.layout.columns.get(self.stored);
        let quotes = stored.map_or(0, |stored| stored.quotes);
        let count = cells.len();
        if self.fields.are_cells()
            && let Some(array) = self.numbers(data_type, self.syntax())
        {
            return Ok(array);
        }
        let text = column.text(cells.clone());
        let texts = text.split(|&byte| byte == b'\n').take(count);
        if quotes > 1 {
            let bits = self.frame.quote_bits(self.stored, self.frame.layout.structured);
            let bits = bits.ok_or_else(|| Error::malformed("quote bits", "are too few"))?;
            let quoted = texts.zip(cells.clone()).map(|(cell, at)| {
                let is_quoted = bits.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
                let mut out = Vec::new();
                if is_quoted {
                    hypostyle_core::text::csv::quote_into(cell, &mut out);
                } else {
                    out.extend_from_slice(cell);
                }
                out
            });
            let quoted: Vec<Vec<u8>> = quoted.collect();
            let parts = self.part_of_each(quoted.iter().map(Vec::as_slice))?;
            return self.typed(data_type, &list_of(parts)?, count);
        }
        if !self.fields.are_cells() {
            let parts = self.part_of_each(texts)?;
            return self.typed(data_type, &list_of(parts)?, count);
        }
        let list = CellList::try_new(text, count);
        let list = list.map_err(|_| Error::malformed("column", "has too few cells"))?;
        self.typed(data_type, &list, count)
    }

    /// Returns this field of each cell.
    fn part_of_each<'c>(&self, cells: impl Iterator<Item = &'c [u8]>) -> Result<Vec<&'c [u8]>> {
        let part = |cell: &'c [u8]| self.fields.nth(cell, self.nth).ok_or_else(|| self.unfit(cell));
        cells.map(part).collect()
    }

    /// Returns the error for a cell without its fields.
    #[cold]
    fn unfit(&self, cell: &[u8]) -> Error {
        unfit_cell(self.fields, cell)
    }

    /// Returns the fields of the first cells of a list as an array.
    fn typed(&self, data_type: &DataType, list: &CellList, count: usize) -> Result<ArrayRef> {
        match self.fields {
            CellFields::Delimited { .. } => typed(data_type, list, count, self.syntax()),
            CellFields::Objects(_) => typed_json(data_type, list, count, self.null_words),
        }
    }

    /// Returns the cells as numbers, if they are stored as numbers of the type.
    fn numbers(&self, data_type: &DataType, syntax: CellSyntax<'_>) -> Option<ArrayRef> {
        let GroupCells { column, cells } = self.cells;
        let count = cells.len();
        Some(match data_type {
            DataType::Int32 => {
                let numbers = column.integers::<i32>(cells.clone())?;
                let (values, nulls) = without_others(numbers, count, syntax)?;
                Arc::new(Int32Array::new(values.into(), nulls))
            }
            DataType::Int64 => {
                let numbers = column.integers::<i64>(cells.clone())?;
                let (values, nulls) = without_others(numbers, count, syntax)?;
                Arc::new(Int64Array::new(values.into(), nulls))
            }
            DataType::Float64 => {
                let (values, nulls) = without_others(column.floats(cells.clone())?, count, syntax)?;
                Arc::new(Float64Array::new(values.into(), nulls))
            }
            DataType::Decimal128(precision, scale) => {
                let digits = usize::try_from(*scale).ok()?;
                let numbers = column.decimals(cells.clone(), digits)?;
                let (values, nulls) = without_others(numbers, count, syntax)?;
                let array = Decimal128Array::new(values.into(), nulls);
                // Fails for a value that the text of the column would not have.
                let array = array.with_precision_and_scale(*precision, *scale).ok()?;
                array.validate_decimal_precision(*precision).ok()?;
                Arc::new(array)
            }
            _ => return None,
        })
    }
}

fn texts_of(entries: &PaddedDict) -> impl Iterator<Item = &[u8]> {
    (0..entries.len()).map(|index| entries.get(index).map(DictEntry::bytes).unwrap_or_default())
}

/// Returns the first numbers, with nulls for the other cells; `None` if one of these is not
/// null.
fn without_others<T>(
    numbers: CellNumbers<'_, T>,
    count: usize,
    syntax: CellSyntax<'_>,
) -> Option<(Vec<T>, Option<NullBuffer>)> {
    let CellNumbers { mut values, others } = numbers;
    values.truncate(count);
    if others.is_empty() {
        return Some((values, None));
    }
    let mut valid = vec![true; count];
    for (cell, text) in others {
        if let Some(valid) = valid.get_mut(cell) {
            if !matches!(syntax.token(text), Ok(None)) {
                return None;
            }
            *valid = false;
        }
    }
    Some((values, Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0)))
}

/// Returns the entries that indexes name, as a dictionary if that is smaller.
fn taken(ids: &[u32], entries: &ArrayRef, encoding: Encoding, limit: u64) -> Result<ArrayRef> {
    let is_text = *entries.data_type() == DataType::Utf8;
    let is_dictionary = match encoding {
        Encoding::Plain | Encoding::Views => false,
        Encoding::Smaller => entries.len().saturating_mul(ROWS_PER_ENTRY) <= ids.len(),
        Encoding::Dictionary => true,
    };
    if is_dictionary && is_text {
        let keys = ids.iter().map(|id| id.cast_signed()).collect();
        // A null is a null index: not every kernel looks for nulls among the entries.
        let nulls = entries.nulls().map(|nulls| {
            let is_valid = |&id: &u32| (id as usize) < nulls.len() && nulls.is_valid(id as usize);
            NullBuffer::from_iter(ids.iter().map(is_valid))
        });
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let keys = Int32Array::new(keys, nulls);
        return Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, entries.clone())?));
    }
    if let Some(texts) = entries.as_string_opt::<i32>() {
        // A few bytes of the file name a long entry again.
        let len = |&id: &u32| {
            let ends = texts.offsets().get(id as usize..).and_then(|ends| ends.first_chunk::<2>());
            ends.map_or(0, |[start, end]| u64::from(end.abs_diff(*start)))
        };
        let (what, asked) = ("size of the texts", ids.iter().map(len).sum::<u64>());
        let limit = limit.min(i32::MAX as u64);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
    }
    Ok(take(entries, &UInt32Array::from(ids.to_vec()), None)?)
}

/// Returns cells as a list; fails for a cell with a newline, which no line has.
fn list_of(cells: Vec<&[u8]>) -> Result<CellList> {
    let count = cells.len();
    if cells.iter().any(|cell| memchr::memchr(b'\n', cell).is_some()) {
        return Err(Error::malformed("cell", "has a newline").in_stream("values"));
    }
    let list = CellList::try_new(cells.join(&b'\n'), count.min(1));
    list.map_err(|_| Error::malformed("column", "has too few cells"))
}

/// Returns the first cells of a list as an array.
pub(super) fn typed(
    data_type: &DataType,
    list: &CellList,
    count: usize,
    syntax: CellSyntax<'_>,
) -> Result<ArrayRef> {
    array_of(data_type, list, count, |cells| typed_cells::array(data_type, cells, syntax))
}

/// Returns the first cells of a list, which are JSON values, as an array.
pub(super) fn typed_json(
    data_type: &DataType,
    list: &CellList,
    count: usize,
    null_words: &[Vec<u8>],
) -> Result<ArrayRef> {
    array_of(data_type, list, count, |cells| json_values::array(data_type, cells, null_words))
}

fn array_of(
    data_type: &DataType,
    list: &CellList,
    count: usize,
    array: impl FnOnce(&CellRuns<'_>) -> Result<TypedCells, CellError>,
) -> Result<ArrayRef> {
    let all = 0..count;
    let runs = slice::from_ref(&all);
    let cells = CellRuns::new(list, runs);
    match array(&cells) {
        Ok((array, _)) => Ok(array),
        Err(CellError::Other(err)) => Err(err),
        Err(CellError::Odd(index)) => {
            Err(not_of_type(cells.nth(index), data_type).in_row(index as u64))
        }
    }
}

/// Returns the error for a cell without its fields.
#[cold]
pub(super) fn unfit_cell(fields: CellFields<'_>, cell: &[u8]) -> Error {
    match fields {
        CellFields::Delimited { .. } => {
            Error::malformed("cell", "has a quote that is never closed")
        }
        CellFields::Objects(_) => {
            let cell = String::from_utf8_lossy(cell);
            let why = format!("`{}` does not fit the template of its column", clipped(&cell));
            Error::malformed("cell", why).in_stream("values")
        }
    }
}
