//! Columns whose cells are numbered by when they first appear.
//!
//! All later work goes by these numbers: merging two columns, finding out whether
//! one follows from another, ordering a dictionary. Each distinct text is looked
//! at once.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::pack::tables::split::Rows;

/// The number of a cell that a row does not have.
pub(in crate::pack) const MISSING: u32 = u32::MAX;

/// A column of one field or of several neighbours.
#[derive(Clone, Debug)]
pub(in crate::pack) struct Cells {
    /// The fields that it holds.
    pub(in crate::pack) fields: Range<usize>,
    /// For each row the number of its cell.
    pub(in crate::pack) ids: Vec<u32>,
    /// For each number the row in which it first appears.
    pub(in crate::pack) firsts: Vec<u32>,
    /// Rows without a cell.
    pub(in crate::pack) missing: usize,
}

impl Cells {
    /// The column of one field.
    pub(in crate::pack) fn of_field(rows: &Rows<'_>, field: usize) -> Self {
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

    /// The column of all the fields of two neighbours.
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

    /// Distinct cells.
    pub(in crate::pack) fn distinct(&self) -> usize {
        self.firsts.len()
    }

    /// Rows that have a cell.
    pub(in crate::pack) fn len(&self) -> usize {
        self.ids.len() - self.missing
    }

    /// The text of a cell by its number.
    pub(in crate::pack) fn text<'a>(&self, id: usize, rows: &Rows<'a>) -> &'a [u8] {
        let first = self.firsts.get(id).copied().unwrap_or_default();
        rows.cell(first as usize, &self.fields).unwrap_or_default()
    }

    /// All texts, by number.
    pub(in crate::pack) fn texts<'a>(&self, rows: &Rows<'a>) -> Vec<&'a [u8]> {
        (0..self.distinct()).map(|id| self.text(id, rows)).collect()
    }

    /// How often each number appears.
    pub(in crate::pack) fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0_u32; self.distinct()];
        for &id in &self.ids {
            if let Some(count) = counts.get_mut(id as usize) {
                *count += 1;
            }
        }
        counts
    }

    /// For each number of this column the number in `other` that always goes with
    /// it; `None` if there is not one for each.
    pub(in crate::pack) fn decides(&self, other: &Self) -> Option<Vec<u32>> {
        if self.missing > 0 || other.missing > 0 || other.distinct() > self.distinct() {
            return None;
        }
        let mut map = vec![MISSING; self.distinct()];
        for (&id, &there) in self.ids.iter().zip(&other.ids) {
            let answer = map.get_mut(id as usize)?;
            if *answer == MISSING {
                *answer = there;
            } else if *answer != there {
                return None;
            }
        }
        Some(map)
    }
}

/// Bits that so many things of each kind take if each is said by its share.
pub(in crate::pack) fn bits(counts: &[u32], total: usize) -> f64 {
    let share = |&count: &u32| f64::from(count) * (total as f64 / f64::from(count)).log2();
    counts.iter().filter(|&&count| count > 0).map(share).sum()
}

/// Adds a first row and gives its number.
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
        let rows = Rows::new(text, &dialect).unwrap();
        let columns: Vec<Cells> = (0..3).map(|field| Cells::of_field(&rows, field)).collect();
        assert_eq!(columns[0].ids, [0, 1, 0, 0, 1]);
        assert_eq!(columns[1].ids, [0, 0, 1, 0, 0]);
        let both = Cells::merge(&columns[0], &columns[1]);
        assert_eq!(both.ids, [0, 1, 2, 0, 1]);
        assert_eq!(both.texts(&rows), [b"a,1", b"b,1", b"a,2"]);
        assert_eq!(both.counts(), [2, 2, 1]);
        assert_eq!(both.decides(&columns[1]), Some(vec![0, 0, 1]));
        assert_eq!(columns[0].decides(&columns[1]), None);
        assert_eq!(columns[0].decides(&columns[2]), Some(vec![0, 0]));
    }
}
