//! What each row group of a table has in each field: statistics (§6.7) and sets of values (§5.7).

use std::borrow::Cow;

use crate::codecs::columnar::group_directory::{GroupDirectory, ValueSets, has_dictionary};
use crate::codecs::columnar::pieces;
use crate::codecs::columnar::sections::RowGroups;
use crate::codecs::kind;
use crate::group_statistics::{StatisticsKind, TableStatisticsBuilder};
use crate::pack::tables::column::ColumnEncoder;
use crate::pack::tables::encoded_column::EncodedColumn;
use crate::table::field_values::{CellFields, value_numbers};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::predicate::Decimal;

/// Maximum size of the filters or the sets of a column, as a share of what a reader reads to
/// test the column. A row group that they skip saves its share of that.
const MAX_OVERHEAD: f64 = 0.01;

/// Sets may always have this size.
const MIN_SET_BYTES: usize = 64;

/// A column of a table that is divided into row groups.
pub(in crate::pack) struct DividedColumn<'c, 'a> {
    pub(in crate::pack) encoder: &'c ColumnEncoder<'a>,
    pub(in crate::pack) encoded: &'c EncodedColumn,
    pub(in crate::pack) fields: CellFields<'c>,
    /// The compressed size of the column, and of those that it is derived from.
    pub(in crate::pack) size: usize,
}

/// Adds the sets and the statistics of all fields to a directory.
pub(in crate::pack) fn describe(
    columns: &[DividedColumn<'_, '_>],
    directory: &mut GroupDirectory,
) -> Result<()> {
    let mut statistics = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let is_last = index + 1 == columns.len();
        let parts = column.parts();
        let sets = match has_dictionary(&directory.columns, index) {
            true => column.sets(&parts, directory.groups)?,
            false => Vec::new(),
        };
        column.put_statistics(&parts, &sets, is_last, directory.groups, &mut statistics);
        directory.sets.push(sets);
    }
    directory.statistics = statistics.into();
    Ok(())
}

/// The fields of each distinct cell of a column.
type Parts<'c> = Vec<Vec<&'c [u8]>>;

impl<'c> DividedColumn<'c, '_> {
    fn width(&self) -> usize {
        self.fields.width()
    }

    /// Returns the fields of each distinct cell.
    fn parts(&self) -> Parts<'c> {
        let encoder = self.encoder;
        let distinct = u32::try_from(encoder.cells.distinct()).unwrap_or(u32::MAX);
        (0..distinct).map(|id| self.fields.parts(encoder.text(id)).unwrap_or_default()).collect()
    }

    /// Returns the largest size of the filters or the sets of a field.
    #[expect(clippy::cast_possible_truncation, reason = "a part of the size")]
    #[expect(clippy::cast_sign_loss, reason = "never negative")]
    fn max_bytes(&self) -> usize {
        (self.size as f64 * MAX_OVERHEAD) as usize / self.width().max(1)
    }

    /// Returns the values of each field that occur in each row group, where that pays.
    fn sets(&self, parts_of: &Parts<'_>, groups: RowGroups) -> Result<Vec<Option<ValueSets>>> {
        let entries = match self.encoded.type_id {
            kind::DERIVED => pieces::map(&self.encoded.chunk)?.1,
            _ => pieces::dictionary_of_chunk(&self.encoded.chunk)?,
        };
        let field_sets = |field: usize| {
            let numbers = value_numbers(&entries, field, self.fields);
            let number = |parts: &Vec<&[u8]>| numbers.get(*parts.get(field)?).copied();
            let numbers_of: Vec<Option<usize>> = parts_of.iter().map(number).collect();
            self.field_sets(numbers.len(), &numbers_of, groups)
        };
        (0..self.width()).map(field_sets).collect()
    }

    /// Returns which of `values` values occur in each row group; `None` if that would skip few
    /// row groups or take too many bytes.
    fn field_sets(
        &self,
        values: usize,
        numbers_of: &[Option<usize>],
        groups: RowGroups,
    ) -> Result<Option<ValueSets>> {
        let len = values.div_ceil(8);
        let mut bitmaps = vec![0_u8; len * groups.count()];
        let (mut occurring, mut used) = (0_usize, vec![false; values]);
        let ids = &self.encoder.cells.ids;
        for (bitmap, ids) in bitmaps.chunks_mut(len.max(1)).zip(ids.chunks(groups.rows)) {
            for &id in ids {
                let Some(number) = numbers_of.get(id as usize).copied().flatten() else {
                    return Ok(None);
                };
                if let (Some(byte), Some(used)) = (bitmap.get_mut(number / 8), used.get_mut(number))
                {
                    occurring += usize::from(*byte >> (number % 8) & 1 == 0);
                    *byte |= 1 << (number % 8);
                    *used = true;
                }
            }
        }
        let used = used.iter().filter(|&&used| used).count();
        let is_everywhere = occurring == used * groups.count();
        let max_bytes = self.max_bytes().max(MIN_SET_BYTES);
        if is_everywhere || zstd::compress(&bitmaps, 9)?.len() > max_bytes {
            return Ok(None);
        }
        Ok(Some(ValueSets { values, bitmaps: bitmaps.into() }))
    }

    /// Appends the statistics of the fields.
    fn put_statistics(
        &self,
        parts_of: &Parts<'c>,
        sets: &[Option<ValueSets>],
        is_last: bool,
        groups: RowGroups,
        out: &mut Vec<u8>,
    ) {
        let (cells, width) = (&self.encoder.cells, self.width());
        let value = |parts: &Vec<&'c [u8]>| -> Vec<Option<Cow<'c, [u8]>>> {
            let value = |(nth, part): (usize, &&'c [u8])| {
                let is_last = is_last && nth + 1 == width;
                self.fields.value(part, is_last, self.encoder.quoted)
            };
            parts.iter().enumerate().map(value).collect()
        };
        let values: Vec<_> = parts_of.iter().map(value).collect();
        let kind = |field: usize| {
            let filled = values.iter().filter_map(|values| values.get(field)?.as_deref());
            let (mut numbers, mut all) = (0_usize, 0_usize);
            for text in filled.filter(|text| !text.is_empty()) {
                numbers += usize::from(Decimal::parse(text).is_some());
                all += 1;
            }
            if numbers * 2 > all { StatisticsKind::Numbers } else { StatisticsKind::Texts }
        };
        let kinds: Vec<StatisticsKind> = (0..width).map(kind).collect();
        let mut statistics = TableStatisticsBuilder::new(groups.count(), kinds);
        // The row group in which each distinct cell was added last.
        let mut added = vec![usize::MAX; cells.distinct()];
        for (group, ids) in cells.ids.chunks(groups.rows).enumerate() {
            for &id in ids {
                let Some(last) = added.get_mut(id as usize) else { continue };
                if *last == group {
                    continue;
                }
                *last = group;
                for (field, value) in values.get(id as usize).into_iter().flatten().enumerate() {
                    statistics.push(group, field, value.as_deref());
                }
            }
        }
        let max_bytes = |field: usize| match sets.get(field) {
            // Sets say more than filters.
            Some(Some(_)) => None,
            _ => Some(self.max_bytes()),
        };
        statistics.put(&(0..width).map(max_bytes).collect::<Vec<_>>(), out);
    }
}
