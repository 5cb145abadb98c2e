//! Puts the cells of delimited lines in the order of another header.

use std::collections::HashMap;

use crate::fields::Dialect;
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::text::csv;

/// Where the columns of a header are in the lines of a text whose header has another order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnOrder {
    dialect: Dialect,
    /// For each column, its place in a line.
    places: Vec<usize>,
}

impl ColumnOrder {
    /// Finds the columns `wanted` among `found`; `None` unless both are the same names, each once.
    pub(super) fn find(dialect: Dialect, wanted: &[String], found: &[String]) -> Option<Self> {
        let known: HashMap<&String, usize> = found.iter().zip(0..).collect();
        let places: Vec<usize> =
            wanted.iter().map(|name| known.get(name).copied()).collect::<Option<_>>()?;
        let mut sorted = places.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let is_permutation = sorted.len() == found.len() && found.len() == wanted.len();
        is_permutation.then_some(Self { dialect, places })
    }

    /// Puts the cells of every line in order. Empty lines stay.
    ///
    /// # Errors
    ///
    /// Fails for a line with another number of cells, and for quotes that do not end in their line.
    pub(super) fn apply(&self, text: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            let cells = line.strip_suffix(b"\n").unwrap_or(line);
            let cells = cells.strip_suffix(b"\r").unwrap_or(cells);
            let end = line.get(cells.len()..).unwrap_or_default();
            if !cells.is_empty() {
                self.apply_to_line(cells, &mut out)?;
            }
            out.extend_from_slice(end);
        }
        Ok(out)
    }

    fn apply_to_line(&self, line: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let cells = self.dialect.fields(line);
        if cells.len() != self.places.len() {
            let (has, wants) = (cells.len(), self.places.len());
            return Err(refused(&format!("a line has {has} cells and not {wants}")));
        }
        let is_open = |cell: &&[u8]| cell.starts_with(b"\"") && csv::unquote(cell).is_none();
        if cells.iter().any(is_open) {
            return Err(refused("a cell has a quote that does not end in its line"));
        }
        for (index, &place) in self.places.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(&self.dialect.delimiter);
            }
            out.extend_from_slice(cells.get(place).copied().unwrap_or_default());
        }
        Ok(())
    }
}

fn refused(why: &str) -> Error {
    let why = format!("its columns are in another order than those of the archive, and {why}");
    Error::refused(Refusal::OtherHeader, why, "put its columns in the order of the archive")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(wanted: &str, found: &str) -> Option<ColumnOrder> {
        let names = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        let dialect = Dialect { delimiter: b",".to_vec(), quotes: true };
        ColumnOrder::find(dialect, &names(wanted), &names(found))
    }

    #[test]
    fn cells_move_with_their_names() {
        let order = order("abc", "cab").unwrap();
        let text = b"3,1,2\n\"c,\"\"\",\"a\",\r\n\n,,\nz,x,y";
        let moved = order.apply(text).unwrap();
        assert_eq!(moved, b"1,2,3\n\"a\",,\"c,\"\"\"\r\n\n,,\nx,y,z");
        for text in ["1,2\n", "1,2,3,4\n", "1,\"2,3\n", "1,2,\"3\n4\"\n"] {
            let err = order.apply(text.as_bytes()).unwrap_err();
            assert_eq!(err.refusal(), Some(Refusal::OtherHeader), "{err}");
        }
    }

    #[test]
    fn only_the_same_names_have_another_order() {
        for (wanted, found) in
            [("ab", "abc"), ("abc", "ab"), ("ab", "ac"), ("aab", "aba"), ("aa", "a")]
        {
            assert_eq!(order(wanted, found), None, "{wanted} {found}");
        }
        assert!(order("ab", "ba").is_some());
    }
}
