//! The place of a row group reader in its rows.

use std::ops::Range;

use crate::row_selection::RowSelection;

/// The current window of a [`RowGroupReader`](super::RowGroupReader) that knows the number of
/// its rows.
#[derive(Clone, Debug)]
pub struct WindowCursor {
    rows: usize,
    window: Range<usize>,
}

impl WindowCursor {
    /// Returns a cursor before the first of `rows` rows.
    pub fn new(rows: usize) -> Self {
        Self { rows, window: 0..0 }
    }

    /// Returns the number of rows of the row group.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the rows of the window.
    pub fn window(&self) -> Range<usize> {
        self.window.clone()
    }

    /// Returns the number of rows of the window.
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// Returns whether the window has no rows.
    pub fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// Moves over rows behind the window; returns how many, fewer only at the end.
    pub fn skip(&mut self, rows: u64) -> u64 {
        let left = self.rows.saturating_sub(self.window.end);
        let skipped = usize::try_from(rows).unwrap_or(usize::MAX).min(left);
        let start = self.window.end.saturating_add(skipped);
        self.window = start..start;
        skipped as u64
    }

    /// Moves to the next window of at most `max_rows` rows; returns how many it has.
    pub fn advance(&mut self, max_rows: usize) -> usize {
        let start = self.window.end;
        self.window = start..self.rows.min(start.saturating_add(max_rows));
        self.window.len()
    }

    /// Returns rows of the window, all for `None`, counted from the start of the row group.
    pub fn selected(&self, rows: Option<&RowSelection>) -> RowSelection {
        match rows {
            Some(rows) => rows.shifted(self.window.start),
            None => RowSelection::from(self.window.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_each_other_and_end_with_the_rows() {
        let mut cursor = WindowCursor::new(10);
        assert_eq!((cursor.advance(4), cursor.window()), (4, 0..4));
        assert_eq!((cursor.skip(3), cursor.window()), (3, 7..7));
        assert!(cursor.is_empty());
        assert_eq!((cursor.advance(9), cursor.window()), (3, 7..10));
        let rows: RowSelection = [0_usize, 2].into_iter().collect();
        assert_eq!(cursor.selected(Some(&rows)), [7_usize, 9].into_iter().collect());
        assert_eq!(cursor.selected(None).len(), 3);
        assert_eq!((cursor.advance(9), cursor.window()), (0, 10..10));
        assert_eq!((cursor.skip(u64::MAX), cursor.window()), (0, 10..10));
        assert_eq!(WindowCursor::new(3).skip(u64::MAX), 3);
    }
}
