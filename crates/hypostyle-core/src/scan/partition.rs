//! Parts of a table that can be scanned independently.

use std::ops::Range;

/// A part of a table that can be scanned on a thread or machine of its own.
///
/// Partitions hold whole row groups where the table has enough of them, and ranges of rows
/// otherwise. Those of one table cover every row once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Partition {
    /// The rows of the table.
    pub rows: Range<u64>,
}

impl Partition {
    /// Returns the partition of these rows.
    pub fn new(rows: Range<u64>) -> Self {
        Self { rows }
    }

    /// Cuts row groups with these numbers of rows into at most `count` partitions of
    /// roughly equal size, each with whole row groups.
    pub(super) fn of_row_groups(rows: &[u64], count: usize) -> Vec<Self> {
        let total: u64 = rows.iter().sum();
        let count = count.clamp(1, rows.len().max(1)) as u64;
        let (mut parts, mut start, mut end) = (Vec::new(), 0_u64, 0_u64);
        for (index, &group) in rows.iter().enumerate() {
            end = end.saturating_add(group);
            let made = parts.len() as u64;
            let goal = total.saturating_mul(made.saturating_add(1)).div_ceil(count);
            let groups_left = rows.len().saturating_sub(index).saturating_sub(1) as u64;
            let parts_left = count.saturating_sub(made).saturating_sub(1);
            if (end >= goal || groups_left < parts_left) && parts_left > 0 {
                parts.push(Self { rows: start..end });
                start = end;
            }
        }
        parts.push(Self { rows: start..end });
        parts
    }

    /// Cuts a range of rows into at most `count` partitions of equal size.
    pub(super) fn of_rows(rows: u64, count: usize) -> Vec<Self> {
        let count = (count as u64).clamp(1, rows.max(1));
        let (size, more) = (rows / count, rows % count);
        // The first `more` parts have one row more than the others.
        let cut = |part: u64| part * size + part.min(more);
        (0..count).map(|part| Self { rows: cut(part)..cut(part + 1) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_cover_every_row_once() {
        for (rows, count) in [
            (vec![10, 10, 10, 10], 2),
            (vec![1, 100, 1], 3),
            (vec![5], 4),
            (vec![], 2),
            (vec![0, 0, 7], 2),
        ] {
            let parts = Partition::of_row_groups(&rows, count);
            assert!(parts.len() <= count.min(rows.len().max(1)), "{parts:?}");
            let mut at = 0;
            for part in &parts {
                assert_eq!(part.rows.start, at);
                at = part.rows.end;
            }
            assert_eq!(at, rows.iter().sum::<u64>());
        }
        assert_eq!(Partition::of_row_groups(&[10, 10, 10, 10], 2)[0].rows, 0..20);
        let parts = Partition::of_rows(10, 3);
        assert_eq!(
            parts.iter().map(|part| part.rows.clone()).collect::<Vec<_>>(),
            [0..4, 4..7, 7..10]
        );
        assert_eq!(Partition::of_rows(0, 3), [Partition::new(0..0)]);
    }
}
