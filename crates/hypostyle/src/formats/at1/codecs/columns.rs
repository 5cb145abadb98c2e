//! Lists of tokens, one after another in `values` (§7.3, §7.4).

#![deny(clippy::arithmetic_side_effects)]

use memchr::memchr;

use crate::error::Result;
use crate::formats::at1::streams::{Stream, Streams};

const VALUES: &str = "values";

/// The columns of `values`, each with a cursor of its own.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    values: &'a [u8],
    columns: Vec<Column>,
}

/// What is left of a column, as a range of `values`.
///
/// A list of no bytes has one element, so the end of a column is not where its
/// bytes end: `next` is then past `end`.
#[derive(Clone, Copy, Debug)]
struct Column {
    next: usize,
    end: usize,
}

impl<'a> Columns<'a> {
    /// Reads `value_index`; between neighbours lie `gap` bytes that mean nothing.
    pub(super) fn parse(streams: &'a Streams, gap: usize) -> Result<Self> {
        let mut index = streams.read("value_index");
        let mut values = streams.read(VALUES);
        // Each length takes a byte.
        let count = index.count(1, "column count")?;
        let mut columns = Vec::with_capacity(count);
        for column in 0..count {
            if column > 0 {
                values.take(gap, "separator of columns")?;
            }
            let len = index.size("column length")?;
            let next = position(&values);
            values.take(len, "column")?;
            columns.push(Column { next, end: position(&values) });
        }
        Ok(Self { values: streams.bytes(VALUES), columns })
    }

    /// For each column whether its tokens differ.
    pub(super) fn differ(&self) -> Vec<bool> {
        let differs = |column: &Column| {
            let tokens = self.values.get(column.next..column.end).unwrap_or_default();
            let mut tokens = tokens.split(|&byte| byte == b'\n');
            let first = tokens.next();
            tokens.any(|token| Some(token) != first)
        };
        self.columns.iter().map(differs).collect()
    }

    /// How many columns there are.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// The next token of the column that `ids` names, and which column that is.
    #[inline]
    pub(super) fn token(&mut self, ids: &mut Stream<'_>) -> Result<(usize, &'a [u8])> {
        let start = ids.offset();
        let index = ids.size("column")?;
        let count = self.columns.len();
        let Some(column) = self.columns.get_mut(index) else {
            let why = format!("{index} is not below {count}, the number there are");
            return Err(ids.malformed_at(start, "column", why));
        };
        let Some(rest) = self.values.get(column.next..column.end) else {
            let why = format!("is missing: column {index} has ended");
            let at = column.end as u64;
            return Err(Stream::new(VALUES, &[]).malformed_at(at, "token", why));
        };
        let len = memchr(b'\n', rest).unwrap_or(rest.len());
        // One past the newline, or one past the end.
        column.next = column.next.saturating_add(len).saturating_add(1);
        Ok((index, rest.get(..len).unwrap_or_default()))
    }
}

fn position(stream: &Stream<'_>) -> usize {
    // A stream is in memory, so its positions fit.
    usize::try_from(stream.offset()).unwrap_or(usize::MAX)
}
