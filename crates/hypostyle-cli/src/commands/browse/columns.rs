//! Which columns are shown, in which order and how wide.

use std::collections::HashMap;

/// Columns between which nothing is cut, at the left; a column on its own may be as wide.
const MAX_WIDTH: u16 = 40;

/// The width of columns that the user widens.
const MAX_WIDE_WIDTH: u16 = 400;

/// Space between columns.
pub(super) const GAP: u16 = 2;

/// The columns of the grid.
#[derive(Debug)]
pub(super) struct ShownColumns {
    /// All columns in the order in which they are shown.
    order: Vec<usize>,
    is_hidden: Vec<bool>,
    is_wide: Vec<bool>,
    /// The width of the cells that were seen.
    widths: HashMap<usize, u16>,
    /// So many columns that are shown stay at the left.
    frozen: usize,
    /// The place of the current column among the shown ones.
    current: usize,
    /// The first shown column behind the frozen ones.
    first: usize,
}

/// A column on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) column: usize,
    pub(super) x: u16,
    pub(super) width: u16,
    pub(super) is_current: bool,
    pub(super) is_frozen: bool,
}

impl ShownColumns {
    pub(super) fn new(count: usize) -> Self {
        Self {
            order: (0..count).collect(),
            is_hidden: vec![false; count],
            is_wide: vec![false; count],
            widths: HashMap::new(),
            frozen: 0,
            current: 0,
            first: 0,
        }
    }

    /// Returns all columns in their order.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the columns that are shown, in their order.
    pub(super) fn shown(&self) -> Vec<usize> {
        self.order.iter().copied().filter(|&column| !self.is_hidden(column)).collect()
    }

    pub(super) fn is_hidden(&self, column: usize) -> bool {
        self.is_hidden.get(column).copied().unwrap_or(false)
    }

    pub(super) fn hidden(&self) -> usize {
        self.is_hidden.iter().filter(|&&is_hidden| is_hidden).count()
    }

    /// Returns the current column.
    pub(super) fn current(&self) -> Option<usize> {
        self.shown().get(self.current).copied()
    }

    /// Moves to a column that is so many columns to the right, or to the left.
    pub(super) fn step(&mut self, columns: isize) {
        let last = self.shown().len().saturating_sub(1);
        self.current = self.current.saturating_add_signed(columns).min(last);
    }

    /// Moves to a column, and shows it if it is hidden.
    pub(super) fn go_to(&mut self, column: usize) {
        if let Some(is_hidden) = self.is_hidden.get_mut(column) {
            *is_hidden = false;
        }
        let found = self.shown().iter().position(|&shown| shown == column);
        self.current = found.unwrap_or(self.current);
    }

    /// Hides or shows a column; the last one that is shown stays.
    pub(super) fn toggle(&mut self, column: usize) {
        let shown = self.shown();
        if shown == [column] {
            return;
        }
        let place = shown.iter().position(|&other| other == column);
        if let Some(is_hidden) = self.is_hidden.get_mut(column) {
            *is_hidden = !*is_hidden;
        }
        if let Some(place) = place {
            // A column that goes takes its place with it.
            self.frozen = self.frozen.saturating_sub(usize::from(place < self.frozen));
            let was_before = place < self.current;
            self.current = self.current.saturating_sub(usize::from(was_before));
        }
        self.step(0);
    }

    /// Shows all columns.
    pub(super) fn show_all(&mut self) {
        let current = self.current();
        self.is_hidden.fill(false);
        self.frozen = 0;
        current.into_iter().for_each(|column| self.go_to(column));
    }

    /// Freezes the columns up to the current one, or none if these are frozen.
    pub(super) fn freeze(&mut self) {
        let up_to = self.current.saturating_add(1);
        self.frozen = if self.frozen == up_to { 0 } else { up_to };
    }

    /// Moves the current column to another place.
    pub(super) fn shift(&mut self, columns: isize) {
        let shown = self.shown();
        let to = self.current.saturating_add_signed(columns).min(shown.len().saturating_sub(1));
        let (Some(&column), Some(&other)) = (shown.get(self.current), shown.get(to)) else {
            return;
        };
        let place = |wanted| self.order.iter().position(|&column| column == wanted);
        if let (Some(from), Some(to)) = (place(column), place(other)) {
            let moved = self.order.remove(from);
            self.order.insert(to.min(self.order.len()), moved);
        }
        self.current = to;
    }

    /// Orders the columns by name, or as in the file if they are.
    pub(super) fn sort(&mut self, name: impl Fn(usize) -> String) {
        let current = self.current();
        let mut sorted: Vec<usize> = (0..self.order.len()).collect();
        sorted.sort_by_cached_key(|&column| name(column));
        if sorted == self.order {
            sorted.sort_unstable();
        }
        self.order = sorted;
        current.into_iter().for_each(|column| self.go_to(column));
    }

    /// Widens the current column, or makes it as wide as others again.
    pub(super) fn widen(&mut self) {
        let current = self.current();
        if let Some(is_wide) = current.and_then(|column| self.is_wide.get_mut(column)) {
            *is_wide = !*is_wide;
        }
    }

    /// Makes a column at least so wide; columns do not become narrower while rows scroll.
    pub(super) fn fit(&mut self, column: usize, width: usize) {
        let width = u16::try_from(width).unwrap_or(u16::MAX).min(MAX_WIDE_WIDTH);
        let known = self.widths.entry(column).or_insert(0);
        *known = width.max(*known);
    }

    fn width(&self, column: usize) -> u16 {
        let is_wide = self.is_wide.get(column).copied().unwrap_or(false);
        let max = if is_wide { MAX_WIDE_WIDTH } else { MAX_WIDTH };
        self.widths.get(&column).copied().unwrap_or(1).clamp(1, max)
    }

    /// Scrolls so that the current column is on the screen, and returns the columns that are.
    pub(super) fn place(&mut self, left: u16, right: u16) -> Vec<Placed> {
        let shown = self.shown();
        self.current = self.current.min(shown.len().saturating_sub(1));
        // Frozen columns leave room for one that scrolls.
        let mut frozen = self.frozen.min(shown.len());
        let total = |columns: &[usize]| {
            columns.iter().map(|&column| u32::from(self.width(column) + GAP)).sum::<u32>()
        };
        let room = u32::from(right.saturating_sub(left));
        while frozen > 0 && total(shown.get(..frozen).unwrap_or_default()) > room / 2 {
            frozen -= 1;
        }
        self.first = self.first.max(frozen);
        if self.current >= frozen {
            self.first = self.first.min(self.current);
        }
        loop {
            let placed = self.placed(&shown, frozen, left, right);
            let is_cut = placed.last().is_some_and(|last| {
                last.is_current && last.width < self.width(last.column).min(right - left)
            });
            let is_there = placed.iter().any(|it| it.is_current) && !is_cut;
            if is_there || self.first >= self.current {
                return placed;
            }
            self.first += 1;
        }
    }

    fn placed(&self, shown: &[usize], frozen: usize, left: u16, right: u16) -> Vec<Placed> {
        let mut placed = Vec::new();
        let mut x = left;
        let places = (0..frozen).chain(self.first..shown.len());
        for place in places {
            let Some(&column) = shown.get(place) else { break };
            if x >= right {
                break;
            }
            let width = self.width(column).min(right - x);
            let (is_current, is_frozen) = (place == self.current, place < frozen);
            placed.push(Placed { column, x, width, is_current, is_frozen });
            x = x.saturating_add(width).saturating_add(GAP);
        }
        placed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(count: usize, width: usize) -> ShownColumns {
        let mut columns = ShownColumns::new(count);
        (0..count).for_each(|column| columns.fit(column, width));
        columns
    }

    fn on_screen(columns: &mut ShownColumns, right: u16) -> Vec<usize> {
        columns.place(0, right).iter().map(|placed| placed.column).collect()
    }

    #[test]
    fn the_current_column_scrolls_into_view_beside_the_frozen_ones() {
        let mut columns = columns(10, 8);
        assert_eq!(on_screen(&mut columns, 38), [0, 1, 2, 3]);
        columns.freeze();
        columns.step(5);
        assert_eq!(on_screen(&mut columns, 38), [0, 3, 4, 5]);
        columns.step(-3);
        assert_eq!(on_screen(&mut columns, 38), [0, 2, 3, 4]);
        columns.step(100);
        assert_eq!(columns.current(), Some(9));
        assert!(on_screen(&mut columns, 38).contains(&9));
        columns.step(-100);
        columns.freeze();
        assert_eq!((columns.frozen, columns.current()), (0, Some(0)));
    }

    #[test]
    fn columns_are_hidden_moved_and_ordered() {
        let mut columns = columns(4, 3);
        columns.step(1);
        columns.freeze();
        columns.toggle(1);
        assert_eq!((columns.shown(), columns.current()), (vec![0, 2, 3], Some(2)));
        assert_eq!((columns.frozen, columns.hidden()), (1, 1));
        columns.shift(1);
        assert_eq!((columns.shown(), columns.current()), (vec![0, 3, 2], Some(2)));
        columns.shift(-5);
        assert_eq!(columns.shown(), [2, 0, 3]);
        columns.show_all();
        assert_eq!((columns.shown().len(), columns.current()), (4, Some(2)));
        columns.sort(|column| format!("{}", 9 - column));
        assert_eq!(columns.shown(), [3, 2, 1, 0]);
        columns.sort(|column| format!("{}", 9 - column));
        assert_eq!((columns.shown(), columns.current()), (vec![0, 1, 2, 3], Some(2)));
        for column in 0..4 {
            columns.toggle(column);
        }
        assert_eq!(columns.shown(), [3], "one column stays");
    }

    #[test]
    fn any_screen_is_wide_enough() {
        for width in 0..30 {
            let mut columns = columns(6, 12);
            for step in 0..6 {
                if step % 2 == 0 {
                    columns.freeze();
                }
                let placed = columns.place(width / 3, width);
                assert!(placed.iter().all(|it| it.x + it.width <= width), "{placed:?}");
                columns.step(1);
            }
        }
        assert!(ShownColumns::new(0).place(0, 80).is_empty());
    }
}
