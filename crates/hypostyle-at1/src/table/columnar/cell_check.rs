//! Compares the cells of row groups with their sets of values (§5.7) and statistics (§6.7).

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::frame::ColumnarFrame;
use super::group_cells::GroupCells;
use crate::codecs::columnar::group_directory::{GROUPS, GroupDirectory, ValueSets};
use crate::row_buffer::{DictEntry, PaddedDict};
use crate::table::field_values::{CellFields, value_numbers};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::predicate::Decimal;

/// Bytes of a cell that an error quotes.
const SHOWN_BYTES: usize = 40;

/// A column whose cells are being checked.
pub(super) struct ColumnCheck<'c> {
    frame: &'c ColumnarFrame,
    column: usize,
    /// The number of its first field in the table.
    first_field: usize,
    fields: CellFields<'c>,
    quotes: u8,
    is_last: bool,
    /// What is stated for each field, if anything is.
    sets: Vec<Option<FieldSets<'c>>>,
}

/// The sets of a field, and what they should contain.
struct FieldSets<'c> {
    stated: &'c ValueSets,
    /// The number of the value of each entry.
    numbers: Vec<usize>,
    /// The number of distinct values.
    values: usize,
}

/// A cell as it is stored, and whether it is printed in quotes.
struct StoredCell {
    text: Vec<u8>,
    is_quoted: bool,
}

impl<'c> ColumnCheck<'c> {
    /// Prepares for a column, which may have a dictionary with these entries.
    pub(super) fn new(
        frame: &'c ColumnarFrame,
        directory: &'c GroupDirectory,
        column: usize,
        entries: Option<&PaddedDict>,
    ) -> Self {
        let columns = &frame.layout.columns;
        let stored = columns.get(column);
        let first_field = columns.iter().take(column).map(|stored| stored.width).sum();
        let width = stored.map_or(1, |stored| stored.width);
        let delimiter = frame.layout.delimiter.first().copied().unwrap_or_default();
        let stated = directory.sets.get(column).map(Vec::as_slice).unwrap_or_default();
        let fields = CellFields::of(Some(directory), column, delimiter, width);
        let field_sets = |(field, stated): (usize, &'c Option<ValueSets>)| {
            let (stated, entries) = stated.as_ref().zip(entries)?;
            let numbers = value_numbers(entries, field, fields);
            let number = |index: usize| {
                let entry = entries.get(index).map(DictEntry::bytes).unwrap_or_default();
                let parts = fields.parts(entry).unwrap_or_default();
                let part = parts.get(field).copied().unwrap_or_default();
                numbers.get(part).copied().unwrap_or_default()
            };
            let of_entries = (0..entries.len()).map(number).collect();
            Some(FieldSets { stated, numbers: of_entries, values: numbers.len() })
        };
        Self {
            frame,
            column,
            first_field,
            fields,
            quotes: stored.map_or(0, |stored| stored.quotes),
            is_last: column.saturating_add(1) == columns.len(),
            sets: stated.iter().enumerate().map(field_sets).collect(),
        }
    }

    /// Returns errors for sets of another number of values than the dictionary has.
    pub(super) fn wrong_sets(&self) -> Vec<Error> {
        let wrong = |(field, sets): (usize, &Option<FieldSets<'_>>)| {
            let FieldSets { stated, values, .. } = sets.as_ref()?;
            let why = format!("are of {} values, but the field has {values}", stated.values);
            (stated.values != *values).then(|| self.placed("sets of values", why, field))
        };
        self.sets.iter().enumerate().filter_map(wrong).collect()
    }

    fn placed(&self, what: &'static str, why: String, field: usize) -> Error {
        let err = Error::malformed(what, why).in_stream(GROUPS);
        match self.fields.width() {
            1 => self.frame.in_column(err, self.column),
            _ => err.in_column(self.first_field.saturating_add(field), ""),
        }
    }

    /// Checks the cells of a row group; returns an error for each field that does not fit.
    pub(super) fn group(&self, group: usize, cells: &GroupCells) -> Result<Vec<Error>> {
        let mut found = Vec::new();
        if let Some((ids, _)) = cells.column.dictionary() {
            let ids = ids.get(cells.cells.clone()).unwrap_or_default();
            for (field, sets) in self.sets.iter().enumerate() {
                if sets.as_ref().is_some_and(|sets| !sets.fits(group, ids)) {
                    let why = format!("are not those of row group {group}");
                    found.push(self.placed("sets of values", why, field));
                }
            }
        }
        let mut is_wrong = vec![false; self.fields.width()];
        // What the sets of integers have that no cell had so far.
        let integers = |field: usize| {
            let field = self.first_field.saturating_add(field);
            self.frame.statistics.integers_of(group, field).unwrap_or_default()
        };
        let mut unseen: Vec<BTreeSet<i64>> = (0..self.fields.width()).map(integers).collect();
        for cell in self.distinct_cells(cells)? {
            let parts = self.fields.parts(&cell.text);
            if let (None, CellFields::Objects(_)) = (&parts, self.fields) {
                let why =
                    format!("row group {group} has `{}`, which does not fit it", cell.shown());
                let err = Error::malformed("template", why).in_stream(GROUPS);
                found.push(self.frame.in_column(err, self.column));
                break;
            }
            let parts = parts.unwrap_or_default();
            let checked = is_wrong.iter_mut().zip(&mut unseen).enumerate();
            for (field, (is_wrong, unseen)) in checked.filter(|(_, (wrong, _))| !**wrong) {
                let part = parts.get(field).copied().unwrap_or_default();
                let value = self.value(field, part, cell.is_quoted);
                if !unseen.is_empty()
                    && let Some(integer) = value.as_deref().and_then(Decimal::parse)
                {
                    integer.to_i64().map(|integer| unseen.remove(&integer));
                }
                if let Err(excluded) = self.check_value(group, field, value.as_deref()) {
                    *is_wrong = true;
                    unseen.clear();
                    let why = format!("row group {group} has {excluded}, which they exclude");
                    found.push(self.placed("statistics", why, field));
                }
            }
        }
        for (field, unseen) in unseen.iter().enumerate().filter(|_| found.is_empty()) {
            if let Some(integer) = unseen.first() {
                let why = format!("row group {group} has no {integer}");
                found.push(self.placed("set of integers", why, field));
                break;
            }
        }
        Ok(found)
    }

    /// Returns the cells of a row group, each entry of a dictionary once.
    fn distinct_cells(&self, cells: &GroupCells) -> Result<Vec<StoredCell>> {
        let GroupCells { column, cells } = cells;
        let is_quoted = self.quotes == 1;
        if self.quotes <= 1
            && let Some((ids, entries)) = column.dictionary()
        {
            let mut ids = ids.get(cells.clone()).unwrap_or_default().to_vec();
            ids.sort_unstable();
            ids.dedup();
            let text = |id: u32| entries.get(id as usize).map(|entry| entry.bytes().to_vec());
            let cell = |id| StoredCell { text: text(id).unwrap_or_default(), is_quoted };
            return Ok(ids.into_iter().map(cell).collect());
        }
        let text = column.text(cells.clone());
        let texts: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
        if texts.len() != cells.len() {
            let err = Error::malformed("cell", "has a newline");
            return Err(self.frame.in_column(err, self.column));
        }
        let bits = self.frame.quote_bits(self.column, self.frame.layout.structured);
        let bits = bits.filter(|_| self.quotes > 1).unwrap_or_default();
        let cell = |(text, at): (&&[u8], usize)| {
            let has_bit = bits.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
            StoredCell { text: text.to_vec(), is_quoted: is_quoted || has_bit }
        };
        Ok(texts.iter().zip(cells.clone()).map(cell).collect())
    }

    /// Returns the value of a field of a cell.
    fn value<'v>(&self, field: usize, part: &'v [u8], is_quoted: bool) -> Option<Cow<'v, [u8]>> {
        let is_last = self.is_last && field.saturating_add(1) == self.fields.width();
        self.fields.value(part, is_last, is_quoted)
    }

    /// Fails with the value of a field if the statistics of a row group exclude it.
    fn check_value(&self, group: usize, field: usize, value: Option<&[u8]>) -> Result<(), String> {
        let field = self.first_field.saturating_add(field);
        if self.frame.statistics.may_hold_cell(group, field, value) {
            return Ok(());
        }
        let Some(value) = value else { return Err("a null".to_owned()) };
        if value.is_empty() {
            return Err("an empty text".to_owned());
        }
        Err(format!("`{}`", shown(value)))
    }
}

impl StoredCell {
    fn shown(&self) -> Cow<'_, str> {
        shown(&self.text)
    }
}

/// Returns the start of a text.
fn shown(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(text.get(..SHOWN_BYTES).unwrap_or(text))
}

impl FieldSets<'_> {
    /// Returns whether the set of a row group has the values of these entries and no others.
    fn fits(&self, group: usize, ids: &[u32]) -> bool {
        // Sets of another number of values have no meaning.
        if self.stated.values != self.values {
            return true;
        }
        let mut set = vec![0_u8; self.values.div_ceil(8)];
        for &id in ids {
            let number = self.numbers.get(id as usize).copied().unwrap_or_default();
            if let Some(byte) = set.get_mut(number / 8) {
                *byte |= 1 << (number % 8);
            }
        }
        self.stated.of_group(group) == Some(&set[..])
    }
}
