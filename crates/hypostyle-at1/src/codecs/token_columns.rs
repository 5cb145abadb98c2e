//! The token columns of json and jsondoc: lists of tokens in `values` (§7.3, §7.4).

#![deny(clippy::arithmetic_side_effects)]

use memchr::memchr;

use crate::row_buffer::RowBuffer;
use crate::streams::{StreamCursor, Streams};
use hypostyle_core::error::{Error, Result};

const VALUES: &str = "values";

/// The number of holes that are filled at once.
const EIGHT: usize = 8;
/// Eight holes without text between them.
const NO_TEXT: [u8; EIGHT] = [0; EIGHT];
/// Eight empty tokens.
const NO_TOKENS: [u8; EIGHT] = [b'\n'; EIGHT];

/// The columns of `values`, each with its own cursor.
#[derive(Debug)]
pub(super) struct TokenColumns<'a> {
    columns: Vec<TokenColumn<'a>>,
}

/// The cursor over one column of `values`.
#[derive(Clone, Copy, Debug)]
struct TokenColumn<'a> {
    /// The remaining tokens; `None` after the last one. Empty bytes are one empty token.
    rest: Option<&'a [u8]>,
    /// The end of the column in `values`.
    end: u64,
}

impl<'a> TokenColumns<'a> {
    /// Parses `value_index`; `gap` bytes between two columns are skipped.
    pub(super) fn parse(streams: &'a Streams, gap: usize) -> Result<Self> {
        let mut index = streams.read("value_index");
        let mut values = streams.read(VALUES);
        // Each length takes a byte.
        let count = index.count(1, "column count")?;
        streams.charge::<TokenColumn<'_>>(count, "columns")?;
        let mut columns = Vec::with_capacity(count);
        for column in 0..count {
            if column > 0 {
                values.take(gap, "separator of columns")?;
            }
            let len = index.size("column length")?;
            let rest = Some(values.take(len, "column")?);
            columns.push(TokenColumn { rest, end: values.offset() });
        }
        Ok(Self { columns })
    }

    /// Returns columns of these tokens; a column without tokens is `None`.
    pub(super) fn of(columns: impl Iterator<Item = Option<&'a [u8]>>) -> Self {
        let column = |rest: Option<&'a [u8]>| TokenColumn { rest, end: 0 };
        Self { columns: columns.map(column).collect() }
    }

    /// Returns the first column that has tokens left.
    pub(super) fn unfinished(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.rest.is_some())
    }

    /// The number of columns.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Takes the next token of the column that `ids` names; returns the column and the token.
    #[inline]
    pub(super) fn token(&mut self, ids: &mut StreamCursor<'_>) -> Result<(usize, &'a [u8])> {
        let (index, column) = self.named(ids)?;
        Ok((index, column.next(index)?))
    }

    /// Takes the next token of a column.
    pub(super) fn next_of(&mut self, index: usize) -> Result<&'a [u8]> {
        match self.columns.get_mut(index) {
            Some(column) => column.next(index),
            None => Err(Error::internal("a column that does not exist")),
        }
    }

    /// Appends the next token of the column that `ids` names to a buffer.
    #[inline]
    pub(super) fn put_token(
        &mut self,
        ids: &mut StreamCursor<'_>,
        buffer: &mut RowBuffer,
    ) -> Result<()> {
        let (index, column) = self.named(ids)?;
        if buffer.line(&mut column.rest) { Ok(()) } else { Err(column.ended(index)) }
    }

    /// Fills adjacent holes with empty tokens of one column, eight at a time.
    ///
    /// `holes` is the text after a hole. The records of a log are padded to the longest one
    /// with such holes, so most holes are of this kind.
    #[inline]
    pub(super) fn fill_empty(
        &mut self,
        ids: &mut StreamCursor<'_>,
        holes: &mut Option<&[u8]>,
    ) -> Result<()> {
        while let Some((&NO_TEXT, rest)) = holes.and_then(<[u8]>::split_first_chunk)
            && let Some(named @ [id @ ..0x80, ..]) = ids.peek::<EIGHT>()
            && named == [id; EIGHT]
            && let Some(column) = self.columns.get_mut(usize::from(id))
            && let Some(tokens) = column.rest.and_then(|rest| rest.strip_prefix(&NO_TOKENS))
        {
            ids.take(EIGHT, "column")?;
            column.rest = Some(tokens);
            *holes = Some(rest);
        }
        Ok(())
    }

    /// Returns the index and the cursor of the column that `ids` names.
    #[inline]
    fn named(&mut self, ids: &mut StreamCursor<'_>) -> Result<(usize, &mut TokenColumn<'a>)> {
        let start = ids.offset();
        let index = ids.size("column")?;
        let count = self.columns.len();
        match self.columns.get_mut(index) {
            Some(column) => Ok((index, column)),
            None => {
                let why = format!("{index} is not below {count}, the number of columns");
                Err(ids.malformed_at(start, "column", why))
            }
        }
    }
}

impl<'a> TokenColumn<'a> {
    /// Takes the next token.
    #[inline]
    fn next(&mut self, index: usize) -> Result<&'a [u8]> {
        let Some(rest) = self.rest else { return Err(self.ended(index)) };
        let len = memchr(b'\n', rest).unwrap_or(rest.len());
        self.rest = rest.get(len.saturating_add(1)..);
        Ok(rest.get(..len).unwrap_or_default())
    }

    #[cold]
    fn ended(&self, index: usize) -> Error {
        let why = format!("is missing: column {index} has ended");
        StreamCursor::new(VALUES, &[]).malformed_at(self.end, "token", why)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    /// Fills the holes of a skeleton, one by one or eight at a time.
    fn filled(skeleton: &[u8], streams: &Streams, quick: bool) -> Result<Vec<u8>> {
        let mut columns = TokenColumns::parse(streams, 0)?;
        let mut ids = streams.read("colids");
        let (mut buffer, mut skeleton) = (RowBuffer::default(), Some(skeleton));
        buffer.part::<0>(&mut skeleton);
        while skeleton.is_some() {
            if quick {
                columns.fill_empty(&mut ids, &mut skeleton)?;
            }
            columns.put_token(&mut ids, &mut buffer)?;
            buffer.part::<0>(&mut skeleton);
        }
        Ok(buffer.text().to_vec())
    }

    #[test]
    fn filling_eight_holes_at_once_changes_nothing() {
        let (mut filled_well, mut refused) = (0, 0);
        for holes in 1..40_usize {
            for empty in 0..40_usize {
                // A word, then empty tokens, of which there may be too few.
                let ids: Vec<u8> = (0..holes).map(|hole| u8::from(hole > 0)).collect();
                let values = [&b"word"[..], &vec![b'\n'; empty]].concat();
                let index = vec![2, 4, u8::try_from(empty).unwrap()];
                let streams = Streams::of([
                    ("colids", Bytes::from(ids)),
                    ("value_index", Bytes::from(index)),
                    (VALUES, Bytes::from(values)),
                ]);
                let skeleton = [&b"<"[..], &vec![0; holes], b">"].concat();
                let one_by_one = filled(&skeleton, &streams, false);
                let quickly = filled(&skeleton, &streams, true);
                match (one_by_one, quickly) {
                    (Ok(one), Ok(other)) => {
                        assert_eq!(one, other);
                        assert_eq!(one, b"<word>");
                        filled_well += 1;
                    }
                    (Err(one), Err(other)) => {
                        assert_eq!(one.to_string(), other.to_string());
                        refused += 1;
                    }
                    _ => panic!("{holes} holes and {empty} newlines"),
                }
            }
        }
        assert!(filled_well > 100 && refused > 100);
    }
}
