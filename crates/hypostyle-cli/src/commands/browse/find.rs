//! Finding text in cells.

use std::collections::HashSet;
use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use hypostyle::cast::spelled_text;

use super::source::{Rows, Source};
use super::ticket::Ticket;
use crate::failure::Result;

/// Positions that are searched at once when the search goes backwards.
const BACKWARD_ROWS: u64 = 65_536;

/// A text to find. Without capital letters it is found in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Needle {
    text: String,
    ignores_case: bool,
}

impl Needle {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), ignores_case: text.to_lowercase() == text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_in(&self, cell: &str) -> bool {
        if self.ignores_case && cell.chars().any(char::is_uppercase) {
            return cell.to_lowercase().contains(&self.text);
        }
        cell.contains(&self.text)
    }
}

/// A cell that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) position: u64,
    pub(super) column: usize,
    /// The search went on at the other end.
    pub(super) wrapped: bool,
}

/// A search in some columns.
pub(super) struct Search<'s> {
    pub(super) source: &'s Source,
    pub(super) needle: &'s Needle,
    pub(super) columns: &'s [usize],
    pub(super) ticket: &'s Ticket,
}

impl Search<'_> {
    /// Returns the first row from a position on, or back, and on from the other end. `base` has
    /// the same rows in the order of the file.
    ///
    /// Returns `None` if the search was cancelled, and `Some(None)` if nothing was found.
    ///
    /// # Errors
    ///
    /// Fails if the file is damaged.
    pub(super) fn run(
        &self,
        rows: &Rows,
        base: &Rows,
        from: u64,
        forward: bool,
    ) -> Result<Option<Option<Found>>> {
        self.ticket.expect(rows.len());
        let is_sorted = match (rows, base) {
            (Rows::Listed(rows), Rows::Listed(base)) => !std::ptr::eq(&**rows, &**base),
            (Rows::All(_), Rows::All(_)) => false,
            _ => true,
        };
        if is_sorted {
            return self.in_sorted_rows(rows, base, from, forward);
        }
        let len = rows.len();
        let from = from.min(len);
        let parts = if forward { [from..len, 0..from] } else { [0..from, from..len] };
        for (part, wrapped) in parts.into_iter().zip([false, true]) {
            let found = match forward {
                true => self.first_in(rows, part)?,
                false => self.last_in(rows, part)?,
            };
            match found {
                None => return Ok(None),
                Some(Some((position, column))) => {
                    return Ok(Some(Some(Found { position, column, wrapped })));
                }
                Some(None) => {}
            }
        }
        Ok(Some(None))
    }

    fn first_in(&self, rows: &Rows, part: Range<u64>) -> Result<Option<Option<(u64, usize)>>> {
        let mut found = None;
        let done = self.source.read(rows, part, self.columns, self.ticket, |at, batch| {
            found = self.hits(at, batch)?.into_iter().next();
            Ok(found.is_none())
        })?;
        Ok(done.then_some(found))
    }

    fn last_in(&self, rows: &Rows, part: Range<u64>) -> Result<Option<Option<(u64, usize)>>> {
        let mut end = part.end;
        while end > part.start {
            let mut start = end.saturating_sub(BACKWARD_ROWS).max(part.start);
            if let Rows::All(_) = rows {
                // A row group is decoded once if it is not larger than that.
                start = start.max(self.source.group_rows(self.source.group_of(end - 1)).start);
            }
            let mut found = None;
            let done =
                self.source.read(rows, start..end, self.columns, self.ticket, |at, batch| {
                    found = self.hits(at, batch)?.into_iter().next_back().or(found);
                    Ok(true)
                })?;
            if !done {
                return Ok(None);
            }
            if found.is_some() {
                return Ok(Some(found));
            }
            end = start;
        }
        Ok(Some(None))
    }

    /// Finds all rows, and of these the nearest one in the order in which they are shown.
    fn in_sorted_rows(
        &self,
        rows: &Rows,
        base: &Rows,
        from: u64,
        forward: bool,
    ) -> Result<Option<Option<Found>>> {
        let mut hits = Vec::new();
        let all = 0..base.len();
        let done = self.source.read(base, all, self.columns, self.ticket, |at, batch| {
            let found = self.hits(at, batch)?.into_iter();
            hits.extend(found.filter_map(|(position, column)| Some((base.at(position)?, column))));
            Ok(true)
        })?;
        if !done {
            return Ok(None);
        }
        let numbers: HashSet<u64> = hits.iter().map(|&(row, _)| row).collect();
        let is_hit = |position: &u64| rows.at(*position).is_some_and(|row| numbers.contains(&row));
        let (len, from) = (rows.len(), from.min(rows.len()));
        let position = match forward {
            true => (from..len).chain(0..from).find(is_hit),
            false => (0..from).rev().chain((from..len).rev()).find(is_hit),
        };
        Ok(Some(position.and_then(|position| {
            let row = rows.at(position)?;
            let column = hits.iter().find(|(hit, _)| *hit == row)?.1;
            let wrapped = if forward { position < from } else { position >= from };
            Some(Found { position, column, wrapped })
        })))
    }

    /// Returns the rows with the text, each with the first column that has it.
    fn hits(&self, at: u64, batch: &RecordBatch) -> Result<Vec<(u64, usize)>> {
        let schema = batch.schema();
        let mut first = vec![None; batch.num_rows()];
        for ((array, field), &column) in
            batch.columns().iter().zip(schema.fields()).zip(self.columns)
        {
            let texts = spelled_text(array, field)?;
            let texts = texts.as_string::<i32>().iter();
            for (slot, text) in first.iter_mut().zip(texts) {
                if slot.is_none() && text.is_some_and(|text| self.needle.is_in(text)) {
                    *slot = Some(column);
                }
            }
        }
        let hits = first.into_iter().zip(at..);
        Ok(hits.filter_map(|(column, position)| Some((position, column?))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_make_a_search_exact() {
        assert!(Needle::new("ada").is_in("ADA Lovelace"));
        assert!(Needle::new("Ada").is_in("Ada"));
        assert!(!Needle::new("Ada").is_in("ADA"));
        assert!(Needle::new("é").is_in("É"));
    }
}
