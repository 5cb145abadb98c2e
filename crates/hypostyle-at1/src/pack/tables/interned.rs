//! Columns as numbers of distinct cells, in the order of their first appearance.
//!
//! The later steps only use these numbers: they merge two columns, test whether one column
//! determines another, and sort a dictionary. They look at each distinct text
//! once.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::pack::tables::split::SplitRows;

/// The number for a cell that a row lacks.
pub(in crate::pack) const MISSING: u32 = u32::MAX;

/// A column of one field or of several neighbouring fields.
#[derive(Clone, Debug)]
pub(in crate::pack) struct InternedCells {
    /// The fields of the column.
    pub(in crate::pack) fields: Range<usize>,
    /// The number of the cell of each row.
    pub(in crate::pack) ids: Vec<u32>,
    /// The row in which each number first appears.
    pub(in crate::pack) firsts: Vec<u32>,
    /// SplitRows that lack the cell.
    pub(in crate::pack) missing: usize,
}

impl InternedCells {
    /// Numbers the cells of one field.
    pub(in crate::pack) fn of_field(rows: &SplitRows<'_>, field: usize) -> Self {
        let fields = field..field + 1;
        let hasher = DefaultHashBuilder::default();
        let mut seen: HashTable<(u32, u64)> = HashTable::new();
        let mut cells = Self::empty(fields, rows.len());
        for row in 0..rows.len() {
            let Some(text) = rows.cell(row, &cells.fields) else {
                cells.ids.push(MISSING);
                cells.missing += 1;
                continue;
            };
            let hash = hasher.hash_one(text);
            let (fields, firsts) = (&cells.fields, &mut cells.firsts);
            let entry = seen.entry(
                hash,
                |&(id, other)| {
                    let first = firsts.get(id as usize).copied().unwrap_or_default();
                    hash == other && rows.cell(first as usize, fields) == Some(text)
                },
                |&(_, hash)| hash,
            );
            let (id, _) = *entry.or_insert_with(|| (push(firsts, row), hash)).get();
            cells.ids.push(id);
        }
        cells
    }

    /// Merges two neighbouring columns into one.
    pub(in crate::pack) fn merge(left: &Self, right: &Self) -> Self {
        let hasher = DefaultHashBuilder::default();
        let mut seen: HashTable<(u64, u32)> = HashTable::new();
        let fields = left.fields.start..right.fields.end;
        let mut cells = Self::empty(fields, left.ids.len());
        cells.missing = left.missing;
        for (row, (&one, &other)) in left.ids.iter().zip(&right.ids).enumerate() {
            if one == MISSING {
                cells.ids.push(MISSING);
                continue;
            }
            let key = (u64::from(one) << 32) | u64::from(other);
            let firsts = &mut cells.firsts;
            let entry = seen.entry(
                hasher.hash_one(key),
                |&(there, _)| there == key,
                |&(there, _)| hasher.hash_one(there),
            );
            let (_, id) = *entry.or_insert_with(|| (key, push(firsts, row))).get();
            cells.ids.push(id);
        }
        cells
    }

    fn empty(fields: Range<usize>, rows: usize) -> Self {
        Self { fields, ids: Vec::with_capacity(rows), firsts: Vec::new(), missing: 0 }
    }

    /// Returns the number of distinct cells.
    pub(in crate::pack) fn distinct(&self) -> usize {
        self.firsts.len()
    }

    /// Returns the number of rows that have a cell.
    pub(in crate::pack) fn len(&self) -> usize {
        self.ids.len() - self.missing
    }

    /// Returns the text of a cell by its number.
    pub(in crate::pack) fn text<'a>(&self, id: usize, rows: &SplitRows<'a>) -> &'a [u8] {
        let first = self.firsts.get(id).copied().unwrap_or_default();
        rows.cell(first as usize, &self.fields).unwrap_or_default()
    }

    /// Returns the texts of all distinct cells, by number.
    pub(in crate::pack) fn texts<'a>(&self, rows: &SplitRows<'a>) -> Vec<&'a [u8]> {
        (0..self.distinct()).map(|id| self.text(id, rows)).collect()
    }

    /// Counts the rows of each number.
    pub(in crate::pack) fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0_u32; self.distinct()];
        for &id in &self.ids {
            if let Some(count) = counts.get_mut(id as usize) {
                *count += 1;
            }
        }
        counts
    }

    /// Returns, for each number of this column, the number in `other` that all its rows
    /// have; `None` if this column does not determine the other one.
    pub(in crate::pack) fn determines(&self, other: &Self) -> Option<Vec<u32>> {
        if self.missing > 0 || other.missing > 0 || other.distinct() > self.distinct() {
            return None;
        }
        let mut map = vec![MISSING; self.distinct()];
        for (&id, &there) in self.ids.iter().zip(&other.ids) {
            let mapped = map.get_mut(id as usize)?;
            if *mapped == MISSING {
                *mapped = there;
            } else if *mapped != there {
                return None;
            }
        }
        Some(map)
    }
}

/// Returns the Shannon entropy, in bits, of `total` symbols with these counts.
pub(in crate::pack) fn entropy_bits(counts: &[u32], total: usize) -> f64 {
    let bits = |&count: &u32| f64::from(count) * (total as f64 / f64::from(count)).log2();
    counts.iter().filter(|&&count| count > 0).map(bits).sum()
}

/// Adds the first row of a new cell, and returns the number of the cell.
fn push(firsts: &mut Vec<u32>, row: usize) -> u32 {
    let id = u32::try_from(firsts.len()).unwrap_or(MISSING);
    firsts.push(u32::try_from(row).unwrap_or(MISSING));
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Dialect;

    #[test]
    fn cells_are_numbered_by_first_appearance_and_merge() {
        let text = b"a,1,x\nb,1,x\na,2,x\na,1,x\nb,1,x";
        let dialect = Dialect { delimiter: b",".to_vec(), quotes: true };
        let rows = SplitRows::new(text, &dialect).unwrap();
        let columns: Vec<InternedCells> =
            (0..3).map(|field| InternedCells::of_field(&rows, field)).collect();
        assert_eq!(columns[0].ids, [0, 1, 0, 0, 1]);
        assert_eq!(columns[1].ids, [0, 0, 1, 0, 0]);
        let both = InternedCells::merge(&columns[0], &columns[1]);
        assert_eq!(both.ids, [0, 1, 2, 0, 1]);
        assert_eq!(both.texts(&rows), [b"a,1", b"b,1", b"a,2"]);
        assert_eq!(both.counts(), [2, 2, 1]);
        assert_eq!(both.determines(&columns[1]), Some(vec![0, 0, 1]));
        assert_eq!(columns[0].determines(&columns[1]), None);
        assert_eq!(columns[0].determines(&columns[2]), Some(vec![0, 0]));
    }
}
