//! Finds the cells of complete rows in a buffer of text.
//!
//! A row ends with LF, CRLF or CR outside quotes. A quote opens a quoted cell only at the
//! start of a cell; inside quotes, two quotes stand for one. Text between a closing quote
//! and the next delimiter belongs to the cell, as in most readers.

use memchr::{memchr, memchr3};

use super::quote::undouble_into;
use crate::number;
use crate::text::position::RowPosition;

/// The place of a cell's bytes, and whether the cell was quoted.
///
/// It takes eight bytes because a block has one for every cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellSpan {
    start: u32,
    len_and_flags: u32,
}

/// Flag: the bytes are in [`RowBlock::side`].
const SIDE: u32 = 1 << 31;
/// Flag: the cell was quoted.
const QUOTED: u32 = 1 << 30;
/// The bits of the length.
const LEN: u32 = QUOTED - 1;

/// Bytes that are scanned together: one for each bit of a word.
const SCAN_BYTES: usize = u64::BITS as usize;

impl CellSpan {
    /// The cell that pads a short row.
    pub(crate) const MISSING: Self = Self { start: 0, len_and_flags: 0 };

    /// Returns `None` if the cell is too long.
    fn try_new(start: usize, len: usize, flags: u32) -> Option<Self> {
        let len = u32::try_from(len).ok().filter(|&len| len <= LEN)?;
        let start = u32::try_from(start).ok()?;
        Some(Self { start, len_and_flags: len | flags })
    }

    /// Returns whether the cell was quoted.
    pub(crate) fn quoted(self) -> bool {
        self.len_and_flags & QUOTED != 0
    }

    /// Returns the content without quotes.
    pub(crate) fn bytes(self, rows: &RowBlock) -> &[u8] {
        let buffer = if self.len_and_flags & SIDE == 0 { &rows.text } else { &rows.side };
        let start = self.start as usize;
        buffer.get(start..start + (self.len_and_flags & LEN) as usize).unwrap_or_default()
    }
}

/// A block of complete rows that all have the same width.
#[derive(Debug, Default)]
pub(crate) struct RowBlock {
    /// The text of the rows.
    pub(crate) text: Vec<u8>,
    /// The content of cells that are not a slice of the text, such as `a""b`.
    pub(crate) side: Vec<u8>,
    /// All cells, row by row.
    pub(crate) cells: Vec<CellSpan>,
    /// The number of cells of a row.
    pub(crate) width: usize,
    /// Where the first row starts; the header does not count.
    pub(crate) start: RowPosition,
    /// The number of newlines in the text.
    pub(crate) newlines: usize,
    /// Some row ends with a CR alone.
    pub(crate) has_lone_cr: bool,
}

impl RowBlock {
    /// Removes all rows, but keeps the allocated memory.
    pub(crate) fn reset(&mut self, width: usize, start: RowPosition) {
        self.text.clear();
        self.side.clear();
        self.cells.clear();
        (self.width, self.start) = (width, start);
        (self.newlines, self.has_lone_cr) = (0, false);
    }

    /// Returns the integer that a cell of at most eight bytes is the printed form of; `None`
    /// if there is none, or if only a closer look can tell.
    #[inline]
    pub(crate) fn short_int(&self, cell: CellSpan) -> Option<i64> {
        let start = cell.start as usize;
        let len = (cell.len_and_flags & (SIDE | LEN)) as usize;
        if !(1..=8).contains(&len) {
            return None;
        }
        let word = self.text.get(start..)?.first_chunk::<8>()?;
        number::exact_int_in_word(u64::from_le_bytes(*word), len)
    }

    /// Returns the number of rows.
    pub(crate) fn count(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }
}

/// A row that was found; its cells are the last `cells` of the block.
#[derive(Debug)]
pub(crate) struct RowSpan {
    /// The number of cells.
    pub(crate) cells: usize,
    /// The offset of the next row.
    pub(crate) next: usize,
}

/// The result of [`Splitter::row`].
#[derive(Debug)]
pub(crate) enum RowOutcome {
    /// A complete row.
    Row(RowSpan),
    /// The text ends inside the row, and more text may follow.
    Partial {
        /// The number of cells that have begun.
        cells: usize,
    },
    /// No text is left.
    End,
    /// A cell is malformed, whatever text follows.
    Bad {
        /// The number of cells that have begun.
        cells: usize,
        /// The offset of the cell.
        at: usize,
        /// The kind of cell, for the error.
        what: &'static str,
        /// The defect, for the error.
        why: &'static str,
    },
}

/// Splits rows into cells at a delimiter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Splitter {
    pub(crate) delimiter: u8,
    /// A quote at the start of a cell opens a quoted cell.
    pub(crate) quotes: bool,
}

impl Splitter {
    pub(crate) fn new(delimiter: u8) -> Self {
        Self { delimiter, quotes: true }
    }

    /// Adds the plain rows from `start` on, and returns the offset where they end.
    ///
    /// A plain row has the width of `rows` and no quoted cell; most files have no other
    /// rows. Quotes, a lone CR, a row of another width and the end of the text stop this
    /// fast path, and [`Splitter::row`] handles them.
    pub(crate) fn plain_rows(self, rows: &mut RowBlock, start: usize) -> usize {
        let RowBlock { text, cells, width, .. } = rows;
        let (Ok(from), true) = (u32::try_from(start), text.len() <= LEN as usize) else {
            return start;
        };
        let (chunks, _) = text.get(start..).unwrap_or_default().as_chunks::<SCAN_BYTES>();
        // The starts of this row and this cell, and the number of cells before this row.
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
                    cells.push(CellSpan { start: cell, len_and_flags: at - cell });
                    cell = at + 1;
                } else if byte == b'\n' {
                    let before = at.checked_sub(1).filter(|&before| before >= cell);
                    let crlf = before.is_some_and(|at| text.get(at as usize) == Some(&b'\r'));
                    cells
                        .push(CellSpan { start: cell, len_and_flags: at - cell - u32::from(crlf) });
                    if cells.len() - whole != *width {
                        break 'rows;
                    }
                    (row, cell, whole) = (at + 1, at + 1, cells.len());
                } else if (byte == b'"' && at == cell && self.quotes)
                    || (byte == b'\r' && next() != Some(&b'\n'))
                {
                    break 'rows;
                }
            }
            base += u64::BITS;
        }
        cells.truncate(whole);
        row as usize
    }

    /// Returns a bit for each byte that may end a cell or a row, or open a quote.
    #[inline]
    fn marks(self, chunk: &[u8; SCAN_BYTES]) -> u64 {
        let mut flags = [0_u8; SCAN_BYTES];
        for (flag, &byte) in flags.iter_mut().zip(chunk) {
            let ends = (byte == self.delimiter) | (byte == b'\n') | (byte == b'\r');
            *flag = u8::from(ends | (byte == b'"'));
        }
        // The multiplication gathers the low bits of eight bytes in the highest byte.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        let (words, _) = flags.as_chunks::<8>();
        words.iter().rev().fold(0, |marks, word| {
            marks << 8 | u64::from_le_bytes(*word).wrapping_mul(GATHER) >> 56
        })
    }

    /// Finds the row at `start` and adds its cells to `rows`.
    ///
    /// `last` means that no more text follows. On [`RowOutcome::Partial`], cells and side
    /// text are unchanged.
    pub(crate) fn row(self, rows: &mut RowBlock, start: usize, last: bool) -> RowOutcome {
        let RowBlock { text, side, cells, has_lone_cr, .. } = rows;
        let (cells_before, side_before) = (cells.len(), side.len());
        if start >= text.len() {
            return if last { RowOutcome::End } else { RowOutcome::Partial { cells: 0 } };
        }
        let mut at = start;
        let mut begun = 0;
        loop {
            begun += 1;
            let rest = text.get(at..).unwrap_or_default();
            let end = if self.quotes && rest.first() == Some(&b'"') {
                self.quoted(rest, side).map(|(cell, used)| (cell.placed(at), used))
            } else {
                let found = memchr3(self.delimiter, b'\n', b'\r', rest);
                let len = found.or(last.then_some(rest.len()));
                len.map(|len| (CellSpan::try_new(at, len, 0), len))
            };
            let bad = |what, why| RowOutcome::Bad { cells: begun, at, what, why };
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
                    // The next byte, which is not read yet, may be LF.
                    None if !last => break,
                    _ => {
                        *has_lone_cr = true;
                        return found(begun, at + 1);
                    }
                },
                // This is LF: a cell ends with no other byte.
                Some(_) => return found(begun, at + 1),
                None if last => return found(begun, at),
                None => break,
            }
        }
        cells.truncate(cells_before);
        side.truncate(side_before);
        RowOutcome::Partial { cells: begun }
    }

    /// Reads a cell that starts with a quote; returns `None` if its end is not read yet.
    fn quoted(self, rest: &[u8], side: &mut Vec<u8>) -> Option<(QuotedSpan, usize)> {
        let mut at = 1;
        let mut doubled = false;
        loop {
            at += memchr(b'"', rest.get(at..).unwrap_or_default())?;
            match rest.get(at + 1) {
                Some(b'"') => {
                    doubled = true;
                    at += 2;
                }
                // At the end of the text, another quote may follow. The caller then finds
                // no line end, and calls again with more text unless this is the last.
                _ => break,
            }
        }
        let after = rest.get(at + 1..).unwrap_or_default();
        let tail = memchr3(self.delimiter, b'\n', b'\r', after).unwrap_or(after.len());
        let used = at + 1 + tail;
        let inside = rest.get(1..at).unwrap_or_default();
        if !doubled && tail == 0 {
            return Some((QuotedSpan::InText { start: 1, len: inside.len() }, used));
        }
        let start = side.len();
        undouble_into(inside, side);
        side.extend_from_slice(after.get(..tail).unwrap_or_default());
        Some((QuotedSpan::InSide { start, len: side.len() - start }, used))
    }
}

fn found(cells: usize, next: usize) -> RowOutcome {
    RowOutcome::Row(RowSpan { cells, next })
}

/// The place of a quoted cell relative to its start.
#[derive(Debug)]
enum QuotedSpan {
    InText { start: usize, len: usize },
    InSide { start: usize, len: usize },
}

impl QuotedSpan {
    fn placed(self, at: usize) -> Option<CellSpan> {
        match self {
            Self::InText { start, len } => CellSpan::try_new(at + start, len, QUOTED),
            Self::InSide { start, len } => CellSpan::try_new(start, len, QUOTED | SIDE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<Vec<String>> {
        let mut rows = RowBlock { text: text.as_bytes().to_vec(), ..RowBlock::default() };
        let (mut start, mut out) = (0, Vec::new());
        while let RowOutcome::Row(row) = Splitter::new(b',').row(&mut rows, start, true) {
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
        let mut rows = RowBlock { text: b"a,\"b\nc".to_vec(), ..RowBlock::default() };
        let splitter = Splitter::new(b',');
        let partial = splitter.row(&mut rows, 0, false);
        assert!(matches!(partial, RowOutcome::Partial { cells: 2 }));
        assert!(rows.cells.is_empty());
        assert!(matches!(splitter.row(&mut rows, 0, true), RowOutcome::Bad { at: 2, .. }));
    }

    proptest::proptest! {
        /// The fast path finds the same rows as the slow path.
        #[test]
        fn plain_rows_are_rows(text in "[ab,\"\r\n]{0,20}([a-f]{0,9},[0-9]{0,20}\r?\n){0,40}[a,\"\r\n]{0,9}") {
            for width in 1..4 {
                let rows = || RowBlock { text: text.clone().into_bytes(), width, ..RowBlock::default() };
                let (mut many, mut single) = (rows(), rows());
                let splitter = Splitter::new(b',');
                let end = splitter.plain_rows(&mut many, 0);
                let mut start = 0;
                while start < end {
                    let RowOutcome::Row(row) = splitter.row(&mut single, start, false) else {
                        panic!("no row at {start} of {text:?}");
                    };
                    assert_eq!(row.cells, width);
                    start = row.next;
                }
                assert_eq!(start, end);
                let cells = |rows: &RowBlock| {
                    let cell = |cell: &CellSpan| (cell.bytes(rows).to_vec(), cell.quoted());
                    rows.cells.iter().map(cell).collect::<Vec<_>>()
                };
                assert_eq!(cells(&many), cells(&single));
            }
        }
    }

    #[test]
    fn plain_rows_go_on_to_the_end() {
        let text = b"abc,1\r\n".repeat(100);
        let mut rows = RowBlock { text, width: 2, ..RowBlock::default() };
        let end = Splitter::new(b',').plain_rows(&mut rows, 0);
        assert!(end > 700 - SCAN_BYTES, "{end}");
        assert_eq!(rows.count(), end / 7);
    }

    /// Wherever the text is cut, a row is found complete or requested again.
    #[test]
    fn every_cut_gives_the_same_rows() {
        let text = "a,\"b\"\"c\"\r\n\"\",\"x\ny\"\r\n\"q\"z,\r1,2\n";
        let whole = split(text);
        for cut in 0..=text.len() {
            let mut rows =
                RowBlock { text: text.as_bytes()[..cut].to_vec(), ..RowBlock::default() };
            let (mut start, mut found) = (0, Vec::new());
            let mut full = false;
            loop {
                match Splitter::new(b',').row(&mut rows, start, full) {
                    RowOutcome::Row(row) => {
                        start = row.next;
                        let first = rows.cells.len() - row.cells;
                        found.push(
                            rows.cells[first..]
                                .iter()
                                .map(|c| String::from_utf8(c.bytes(&rows).to_vec()).unwrap())
                                .collect::<Vec<_>>(),
                        );
                    }
                    RowOutcome::Partial { .. } => {
                        rows.text = text.as_bytes().to_vec();
                        full = true;
                    }
                    RowOutcome::End => break,
                    RowOutcome::Bad { why, .. } => panic!("{why}"),
                }
            }
            assert_eq!(found, whole, "cut at {cut}");
        }
    }
}
