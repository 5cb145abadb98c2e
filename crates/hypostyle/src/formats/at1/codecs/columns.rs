//! Lists of tokens, one after another in `values` (§7.3, §7.4).

#![deny(clippy::arithmetic_side_effects)]

use memchr::memchr;

use crate::error::{Error, Result};
use crate::formats::at1::page::Page;
use crate::formats::at1::streams::{Stream, Streams};

const VALUES: &str = "values";

/// The columns of `values`, each with a cursor of its own.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    columns: Vec<Column<'a>>,
}

/// A column of `values`.
#[derive(Clone, Copy, Debug)]
struct Column<'a> {
    /// What is left of it. A list of no bytes has one element, so the end of a column is not
    /// where its bytes end.
    rest: Option<&'a [u8]>,
    /// Where its bytes end in `values`.
    end: u64,
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
            let rest = Some(values.take(len, "column")?);
            columns.push(Column { rest, end: values.offset() });
        }
        Ok(Self { columns })
    }

    /// For each column whether its tokens differ.
    pub(super) fn differ(&self) -> Vec<bool> {
        let differs = |column: &Column<'_>| {
            let mut tokens = column.rest.unwrap_or_default().split(|&byte| byte == b'\n');
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
        let (index, column) = self.named(ids)?;
        let Some(rest) = column.rest else { return Err(column.ended(index)) };
        let len = memchr(b'\n', rest).unwrap_or(rest.len());
        column.rest = rest.get(len.saturating_add(1)..);
        Ok((index, rest.get(..len).unwrap_or_default()))
    }

    /// Puts the next token of the column that `ids` names on a page.
    #[inline]
    pub(super) fn put_token(&mut self, ids: &mut Stream<'_>, page: &mut Page) -> Result<()> {
        let (index, column) = self.named(ids)?;
        match page.line(&mut column.rest) {
            true => Ok(()),
            false => Err(column.ended(index)),
        }
    }

    /// The column that `ids` names, and its number.
    #[inline]
    fn named(&mut self, ids: &mut Stream<'_>) -> Result<(usize, &mut Column<'a>)> {
        let start = ids.offset();
        let index = ids.size("column")?;
        let count = self.columns.len();
        match self.columns.get_mut(index) {
            Some(column) => Ok((index, column)),
            None => {
                let why = format!("{index} is not below {count}, the number there are");
                Err(ids.malformed_at(start, "column", why))
            }
        }
    }
}

impl Column<'_> {
    #[cold]
    fn ended(&self, index: usize) -> Error {
        let why = format!("is missing: column {index} has ended");
        Stream::new(VALUES, &[]).malformed_at(self.end, "token", why)
    }
}
