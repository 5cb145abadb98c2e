//! The cells of verbatim lines, in the form that blocks have.

use std::ops::Range;

use memchr::memchr;

use super::cell_list::CellList;
use super::json_tree;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::text::BOM;

/// Splits a line of delimited text as the CSV reader does.
///
/// Returns `None` if a quoted cell is not closed, so that the row does not end here.
pub(crate) fn split(line: &[u8], delimiter: u8) -> Option<Vec<&[u8]>> {
    let mut cells = Vec::new();
    for_each_cell(line, delimiter, |cell| cells.push(cell))?;
    Some(cells)
}

/// Returns one of the cells that [`split`] returns, or an empty one.
pub(crate) fn nth_cell(line: &[u8], delimiter: u8, nth: usize) -> Option<&[u8]> {
    let (mut index, mut found) = (0, &[][..]);
    for_each_cell(line, delimiter, |cell| {
        if index == nth {
            found = cell;
        }
        index += 1;
    })?;
    Some(found)
}

fn for_each_cell<'l>(line: &'l [u8], delimiter: u8, mut add: impl FnMut(&'l [u8])) -> Option<()> {
    let mut rest = line.strip_suffix(b"\r").unwrap_or(line);
    loop {
        let mut from = 0;
        if rest.first() == Some(&b'"') {
            from = 1;
            loop {
                from += memchr(b'"', rest.get(from..)?)? + 1;
                if rest.get(from) != Some(&b'"') {
                    break;
                }
                from += 1;
            }
        }
        let Some(len) = memchr(delimiter, rest.get(from..)?) else {
            add(rest);
            return Some(());
        };
        let (cell, others) = rest.split_at_checked(from + len)?;
        add(cell);
        rest = others.get(1..)?;
    }
}

/// Verbatim lines of one row group.
#[derive(Clone, Copy, Debug)]
pub(super) struct VerbatimLines<'a> {
    /// The text of all verbatim lines of the frame.
    pub(super) text: &'a [u8],
    /// The lines that are rows.
    pub(super) lines: &'a [Range<usize>],
    /// The byte between cells; `None` for JSON.
    pub(super) delimiter: Option<u8>,
    /// Whether the text starts with these lines, perhaps after a byte order mark.
    pub(super) starts_text: bool,
}

impl<'a> VerbatimLines<'a> {
    /// Returns the text of one of the lines.
    pub(super) fn line(&self, row: usize) -> &'a [u8] {
        let line = self.lines.get(row).cloned().unwrap_or_default();
        let is_first = self.starts_text && line.start == 0;
        let line = self.text.get(line).unwrap_or_default();
        if is_first { line.strip_prefix(BOM).unwrap_or(line) } else { line }
    }

    /// Returns columns of the selected lines, as lists of cells in the syntax of blocks.
    ///
    /// `names` are the keys of the columns, for JSON.
    pub(super) fn columns(
        &self,
        rows: &[Range<usize>],
        columns: &[usize],
        names: &[&str],
    ) -> Result<Vec<CellList>> {
        let mut texts: Vec<Vec<u8>> = vec![Vec::new(); columns.len()];
        let mut count = 0_usize;
        for row in rows.iter().cloned().flatten() {
            let line = self.line(row);
            let cells = match self.delimiter {
                Some(delimiter) => split(line, delimiter).map(|cells| {
                    let cell = |&column: &usize| cells.get(column).copied().unwrap_or_default();
                    columns.iter().map(cell).collect::<Vec<_>>()
                }),
                None => json_tree::members(line).map(|members| {
                    let value = |name: &&str| {
                        let member = members.iter().find(|(key, _)| key == name);
                        member.and_then(|(_, node)| line.get(node.range())).unwrap_or(b"null")
                    };
                    names.iter().map(value).collect()
                }),
            };
            let Some(cells) = cells else { return Err(not_a_row(count)) };
            for (text, cell) in texts.iter_mut().zip(cells) {
                if count > 0 {
                    text.push(b'\n');
                }
                text.extend_from_slice(cell);
            }
            count += 1;
        }
        let list = |text| CellList::try_new(text, count).map_err(|_| not_a_row(count));
        texts.into_iter().map(list).collect()
    }
}

#[cold]
fn not_a_row(row: usize) -> Error {
    Error::malformed("verbatim line", "is not a row of the table").in_row(row as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_the_csv_reader_splits_them() {
        let cells = |line: &str| {
            let cells = split(line.as_bytes(), b',')?;
            Some(cells.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect())
        };
        let some = |cells: &[&str]| Some(cells.iter().map(|&cell| cell.to_owned()).collect());
        for (line, want) in [
            ("a,b", some(&["a", "b"])),
            ("", some(&[""])),
            (",\r", some(&["", ""])),
            ("\"a,b\"d,c", some(&["\"a,b\"d", "c"])),
            ("\"a\"\",\",\"\"", some(&["\"a\"\",\"", "\"\""])),
            ("a\"b,c", some(&["a\"b", "c"])),
            ("a,\"b,c", None),
        ] {
            let second = nth_cell(line.as_bytes(), b',', 1).map(String::from_utf8_lossy);
            let nth = want.as_ref().map(|want: &Vec<String>| want.get(1).cloned());
            assert_eq!(second.map(Into::into), nth.map(Option::unwrap_or_default));
            let found: Option<Vec<String>> = cells(line);
            assert_eq!(found, want, "{line}");
        }
    }
}
