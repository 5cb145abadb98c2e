//! The statistics of the fields of a table in each row group (§6.7).

use std::borrow::Cow;

use crate::codecs::columnar::sections::RowGroups;
use crate::group_statistics::{StatisticsKind, TableStatisticsBuilder};
use crate::pack::tables::column::ColumnEncoder;
use crate::table::cell_value::CellSyntax;
use crate::table::verbatim_cells::split;
use hypostyle_core::predicate::Decimal;

/// Maximum size of the filters of a column, as a share of the column.
const MAX_FILTER_OVERHEAD: f64 = 0.03;

/// A column, and what may be spent on its filters.
pub(in crate::pack) struct SummarizedColumn<'c, 'a> {
    pub(in crate::pack) encoder: &'c ColumnEncoder<'a>,
    /// The compressed size of the column.
    pub(in crate::pack) size: usize,
    /// Whether the entries that occur in each row group are stored, so that filters are not
    /// needed.
    pub(in crate::pack) has_sets: bool,
}

/// Returns the statistics of all fields, in the order of the table.
pub(in crate::pack) fn statistics(
    columns: &[SummarizedColumn<'_, '_>],
    groups: RowGroups,
    delimiter: u8,
) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let is_last = index + 1 == columns.len();
        column.put(groups, delimiter, is_last, &mut out);
    }
    out
}

/// The values of the fields of a cell; `None` is null.
type FieldValues<'c> = Vec<Option<Cow<'c, [u8]>>>;

impl SummarizedColumn<'_, '_> {
    fn put(&self, groups: RowGroups, delimiter: u8, is_last: bool, out: &mut Vec<u8>) {
        let cells = &self.encoder.cells;
        let width = cells.fields.len();
        let values: Vec<FieldValues<'_>> =
            (0..cells.distinct()).map(|id| self.values(id, width, delimiter, is_last)).collect();
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
        #[expect(clippy::cast_possible_truncation, reason = "a part of the size")]
        #[expect(clippy::cast_sign_loss, reason = "never negative")]
        let max_bytes = match self.has_sets {
            true => 0,
            false => (self.size as f64 * MAX_FILTER_OVERHEAD) as usize,
        };
        // Fields that share a column share the room for filters.
        statistics.put(&vec![max_bytes / width.max(1); width], out);
    }

    /// Returns the values of the fields of a distinct cell.
    fn values(&self, id: usize, width: usize, delimiter: u8, is_last: bool) -> FieldValues<'_> {
        let text = self.encoder.text(u32::try_from(id).unwrap_or(u32::MAX));
        if self.encoder.quoted {
            return vec![Some(Cow::Borrowed(text))];
        }
        let value = |(nth, part): (usize, &'_ [u8])| {
            let is_last = is_last && nth + 1 == width;
            let syntax = CellSyntax::Csv { is_last, null_words: &[] };
            // A cell that is not closed makes the text no table of lines.
            syntax.text(part).ok().flatten().map(|text| text.into_owned())
        };
        let parts = match width {
            1 => vec![text],
            _ => split(text, delimiter).unwrap_or_default(),
        };
        let values = parts.into_iter().enumerate().map(value);
        values.map(|value| value.map(Cow::Owned)).collect()
    }
}
