//! Finds the cells of whole rows in a buffer of text.
//!
//! A row ends with LF, CRLF or CR outside quotes. A quote counts only at the
//! start of a cell; inside quotes, two quotes are one. What follows a closing
//! quote before the next delimiter belongs to the cell, as most readers have it.

use memchr::{memchr, memchr3};

use super::quote::put_unquoted;

/// A cell: where its bytes are, and whether it was quoted.
///
/// Eight bytes, since there are as many of these as cells in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    start: u32,
    len_and_flags: u32,
}

const SIDE: u32 = 1 << 31;
const QUOTED: u32 = 1 << 30;
const LEN: u32 = QUOTED - 1;

/// Bytes that are looked at together: one for each bit of a word.
const CHUNK: usize = u64::BITS as usize;

impl Cell {
    /// The cell that a short row lacks.
    pub(super) const MISSING: Self = Self { start: 0, len_and_flags: 0 };

    /// `None` if the cell is too long.
    fn try_new(start: usize, len: usize, flags: u32) -> Option<Self> {
        let len = u32::try_from(len).ok().filter(|&len| len <= LEN)?;
        let start = u32::try_from(start).ok()?;
        Some(Self { start, len_and_flags: len | flags })
    }

    /// Whether the cell stood in quotes.
    pub(super) fn quoted(self) -> bool {
        self.len_and_flags & QUOTED != 0
    }

    /// The content, without quotes.
    pub(super) fn bytes(self, rows: &Rows) -> &[u8] {
        let home = if self.len_and_flags & SIDE == 0 { &rows.text } else { &rows.side };
        let start = self.start as usize;
        home.get(start..start + (self.len_and_flags & LEN) as usize).unwrap_or_default()
    }
}

/// Whole rows, all of the same width.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The text itself.
    pub(super) text: Vec<u8>,
    /// The content of cells that is not a slice of the text, such as `a""b`.
    pub(super) side: Vec<u8>,
    /// All cells, row by row.
    pub(super) cells: Vec<Cell>,
    /// Cells in a row.
    pub(super) width: usize,
    /// The number of the first row, from 0, headers not counted.
    pub(super) first_row: u64,
}

impl Rows {
    /// Forgets all rows, and keeps the memory for those to come.
    pub(super) fn reset(&mut self, width: usize, first_row: u64) {
        self.text.clear();
        self.side.clear();
        self.cells.clear();
        (self.width, self.first_row) = (width, first_row);
    }

    /// The number of rows.
    pub(super) fn count(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }
}

/// One row as it was found: its cells are the last `cells` of the list.
#[derive(Debug)]
pub(super) struct Found {
    /// How many cells.
    pub(super) cells: usize,
    /// Where the next row starts.
    pub(super) next: usize,
}

/// What came of looking for a row.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A row.
    Row(Found),
    /// The text ends inside the row, and more may come.
    Partial {
        /// How many cells of the row have begun.
        cells: usize,
    },
    /// There is nothing left.
    End,
    /// A cell that no text to come can mend.
    Bad {
        /// How many cells of the row have begun.
        cells: usize,
        /// Where it starts.
        at: usize,
        /// What it is.
        what: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// Splits rows at a delimiter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Splitter {
    delimiter: u8,
}

impl Splitter {
    pub(super) fn new(delimiter: u8) -> Self {
        Self { delimiter }
    }

    /// Adds as many rows as there are from `start` on, all of the width of
    /// `rows` and none with a quoted cell, and says where they end.
    ///
    /// Most files have no other rows. Whatever ends them, a quote, a lone CR, a
    /// row of another width or the end of the text, is for [`Splitter::row`].
    pub(super) fn plain_rows(self, rows: &mut Rows, start: usize) -> usize {
        let Rows { text, cells, width, .. } = rows;
        let (Ok(from), true) = (u32::try_from(start), text.len() <= LEN as usize) else {
            return start;
        };
        let (chunks, _) = text.get(start..).unwrap_or_default().as_chunks::<CHUNK>();
        // Where this row and this cell start, and the list's length at the former.
        let (mut row, mut cell, mut whole) = (from, from, cells.len());
        let mut base = from;
        'rows: for chunk in chunks {
            let mut marks = self.marks(chunk);
            while marks != 0 {
                let place = marks.trailing_zeros();
                let at = base + place;
                marks &= marks - 1;
                let byte = chunk.get(place as usize).copied().unwrap_or_default();
                let next = || text.get(at as usize + 1);
                if byte == self.delimiter {
                    cells.push(Cell { start: cell, len_and_flags: at - cell });
                    cell = at + 1;
                } else if byte == b'\n' {
                    let before = at.checked_sub(1).filter(|&before| before >= cell);
                    let crlf = before.is_some_and(|at| text.get(at as usize) == Some(&b'\r'));
                    cells.push(Cell { start: cell, len_and_flags: at - cell - u32::from(crlf) });
                    if cells.len() - whole != *width {
                        break 'rows;
                    }
                    (row, cell, whole) = (at + 1, at + 1, cells.len());
                } else if (byte == b'"' && at == cell) || (byte == b'\r' && next() != Some(&b'\n'))
                {
                    break 'rows;
                }
            }
            base += u64::BITS;
        }
        cells.truncate(whole);
        row as usize
    }

    /// A bit for each byte that may end a cell or a row, or quote a cell.
    #[inline]
    fn marks(self, chunk: &[u8; CHUNK]) -> u64 {
        let mut flags = [0_u8; CHUNK];
        for (flag, &byte) in flags.iter_mut().zip(chunk) {
            let ends = (byte == self.delimiter) | (byte == b'\n') | (byte == b'\r');
            *flag = u8::from(ends | (byte == b'"'));
        }
        // Multiplying brings the low bits of eight bytes together in the highest.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        let (words, _) = flags.as_chunks::<8>();
        words.iter().rev().fold(0, |marks, word| {
            marks << 8 | u64::from_le_bytes(*word).wrapping_mul(GATHER) >> 56
        })
    }

    /// Finds the row at `start` and adds its cells to `rows`.
    ///
    /// `last` says that no more text will come. On [`Outcome::Partial`], cells
    /// and side text are as they were.
    pub(super) fn row(self, rows: &mut Rows, start: usize, last: bool) -> Outcome {
        let Rows { text, side, cells, .. } = rows;
        let (cells_before, side_before) = (cells.len(), side.len());
        if start >= text.len() {
            return if last { Outcome::End } else { Outcome::Partial { cells: 0 } };
        }
        let mut at = start;
        let mut begun = 0;
        loop {
            begun += 1;
            let rest = text.get(at..).unwrap_or_default();
            let end = if rest.first() == Some(&b'"') {
                self.quoted(rest, side).map(|(cell, used)| (cell.placed(at), used))
            } else {
                let found = memchr3(self.delimiter, b'\n', b'\r', rest);
                let len = found.or(last.then_some(rest.len()));
                len.map(|len| (Cell::try_new(at, len, 0), len))
            };
            let bad = |what, why| Outcome::Bad { cells: begun, at, what, why };
            let used = match end {
                Some((Some(cell), used)) => {
                    cells.push(cell);
                    used
                }
                Some((None, _)) => return bad("cell", "is longer than 1 GiB"),
                None if last => return bad("quoted cell", "is never closed"),
                None => break,
            };
            at += used;
            match text.get(at) {
                Some(&byte) if byte == self.delimiter => at += 1,
                Some(b'\r') => match text.get(at + 1) {
                    Some(b'\n') => return found(begun, at + 2),
                    Some(_) => return found(begun, at + 1),
                    None if last => return found(begun, at + 1),
                    // An LF may be the first byte of what is to come.
                    None => break,
                },
                // A cell ends with nothing else.
                Some(_) => return found(begun, at + 1),
                None if last => return found(begun, at),
                None => break,
            }
        }
        cells.truncate(cells_before);
        side.truncate(side_before);
        Outcome::Partial { cells: begun }
    }

    /// Reads a cell that starts with a quote; `None` if its end is not there yet.
    fn quoted(self, rest: &[u8], side: &mut Vec<u8>) -> Option<(Loose, usize)> {
        let mut at = 1;
        let mut doubled = false;
        loop {
            at += memchr(b'"', rest.get(at..).unwrap_or_default())?;
            match rest.get(at + 1) {
                Some(b'"') => {
                    doubled = true;
                    at += 2;
                }
                // At the very end of the text, another quote may follow; the
                // caller sees no line end and asks again with more, or is done.
                _ => break,
            }
        }
        let after = rest.get(at + 1..).unwrap_or_default();
        let tail = memchr3(self.delimiter, b'\n', b'\r', after).unwrap_or(after.len());
        let used = at + 1 + tail;
        let inside = rest.get(1..at).unwrap_or_default();
        if !doubled && tail == 0 {
            return Some((Loose::InText { start: 1, len: inside.len() }, used));
        }
        let start = side.len();
        put_unquoted(inside, side);
        side.extend_from_slice(after.get(..tail).unwrap_or_default());
        Some((Loose::InSide { start, len: side.len() - start }, used))
    }
}

fn found(cells: usize, next: usize) -> Outcome {
    Outcome::Row(Found { cells, next })
}

/// A quoted cell before its place in the whole text is known.
#[derive(Debug)]
enum Loose {
    InText { start: usize, len: usize },
    InSide { start: usize, len: usize },
}

impl Loose {
    fn placed(self, at: usize) -> Option<Cell> {
        match self {
            Self::InText { start, len } => Cell::try_new(at + start, len, QUOTED),
            Self::InSide { start, len } => Cell::try_new(start, len, QUOTED | SIDE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<Vec<String>> {
        let mut rows = Rows { text: text.as_bytes().to_vec(), ..Rows::default() };
        let (mut start, mut out) = (0, Vec::new());
        while let Outcome::Row(row) = Splitter::new(b',').row(&mut rows, start, true) {
            start = row.next;
            let first = rows.cells.len() - row.cells;
            let cells = rows.cells[first..].iter();
            out.push(cells.map(|c| String::from_utf8(c.bytes(&rows).to_vec()).unwrap()).collect());
        }
        out
    }

    #[test]
    fn rows_end_with_any_line_end_and_quotes_protect() {
        assert_eq!(split("a,b\n1,2\r\n3,4\r5,6"), [["a", "b"], ["1", "2"], ["3", "4"], ["5", "6"]]);
        assert_eq!(split("\"a,\"\"b\"\"\n\",\"\"\n"), [["a,\"b\"\n", ""]]);
        assert_eq!(split("a\"b,\"c\"d,\"e\"\"\"\n"), [["a\"b", "cd", "e\""]]);
        assert_eq!(split(",\n"), [["", ""]]);
        assert_eq!(split("x"), [["x"]]);
        assert_eq!(split("x,"), [["x", ""]]);
        assert_eq!(split("\n\n"), [[""], [""]]);
        assert!(split("").is_empty());
    }

    #[test]
    fn an_open_quote_is_an_error_at_the_end_and_only_there() {
        let mut rows = Rows { text: b"a,\"b\nc".to_vec(), ..Rows::default() };
        let splitter = Splitter::new(b',');
        let partial = splitter.row(&mut rows, 0, false);
        assert!(matches!(partial, Outcome::Partial { cells: 2 }));
        assert!(rows.cells.is_empty());
        assert!(matches!(splitter.row(&mut rows, 0, true), Outcome::Bad { at: 2, .. }));
    }

    proptest::proptest! {
        /// Rows that are taken many at a time are those that are taken one by one.
        #[test]
        fn plain_rows_are_rows(text in "[ab,\"\r\n]{0,20}([a-f]{0,9},[0-9]{0,20}\r?\n){0,40}[a,\"\r\n]{0,9}") {
            for width in 1..4 {
                let rows = || Rows { text: text.clone().into_bytes(), width, ..Rows::default() };
                let (mut many, mut single) = (rows(), rows());
                let splitter = Splitter::new(b',');
                let end = splitter.plain_rows(&mut many, 0);
                let mut start = 0;
                while start < end {
                    let Outcome::Row(row) = splitter.row(&mut single, start, false) else {
                        panic!("no row at {start} of {text:?}");
                    };
                    assert_eq!(row.cells, width);
                    start = row.next;
                }
                assert_eq!(start, end);
                let cells = |rows: &Rows| {
                    let cell = |cell: &Cell| (cell.bytes(rows).to_vec(), cell.quoted());
                    rows.cells.iter().map(cell).collect::<Vec<_>>()
                };
                assert_eq!(cells(&many), cells(&single));
            }
        }
    }

    #[test]
    fn plain_rows_go_on_to_the_end() {
        let text = b"abc,1\r\n".repeat(100);
        let mut rows = Rows { text, width: 2, ..Rows::default() };
        let end = Splitter::new(b',').plain_rows(&mut rows, 0);
        assert!(end > 700 - CHUNK, "{end}");
        assert_eq!(rows.count(), end / 7);
    }

    /// However the text is cut, a row is either found whole or asked for again.
    #[test]
    fn every_cut_gives_the_same_rows() {
        let text = "a,\"b\"\"c\"\r\n\"\",\"x\ny\"\r\n\"q\"z,\r1,2\n";
        let whole = split(text);
        for cut in 0..=text.len() {
            let mut rows = Rows { text: text.as_bytes()[..cut].to_vec(), ..Rows::default() };
            let (mut start, mut found) = (0, Vec::new());
            let mut full = false;
            loop {
                match Splitter::new(b',').row(&mut rows, start, full) {
                    Outcome::Row(row) => {
                        start = row.next;
                        let first = rows.cells.len() - row.cells;
                        found.push(
                            rows.cells[first..]
                                .iter()
                                .map(|c| String::from_utf8(c.bytes(&rows).to_vec()).unwrap())
                                .collect::<Vec<_>>(),
                        );
                    }
                    Outcome::Partial { .. } => {
                        rows.text = text.as_bytes().to_vec();
                        full = true;
                    }
                    Outcome::End => break,
                    Outcome::Bad { why, .. } => panic!("{why}"),
                }
            }
            assert_eq!(found, whole, "cut at {cut}");
        }
    }
}
