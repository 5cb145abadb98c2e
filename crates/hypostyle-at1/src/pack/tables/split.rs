//! Splits text into rows of fields.
//!
//! A decoder joins the cells of a row with the delimiter, so splitting at any of the
//! delimiters restores the line. A split is good if similar cells share a column; quotes
//! only tell which delimiters do not separate fields.

use std::ops::Range;

use crate::fields::Dialect;

/// The end of a field that a row lacks.
const MISSING: u32 = u32::MAX;

/// Lines with a certain number of fields are rows if at least one line in this many has it.
const LINES_PER_ROW_WIDTH: usize = 50;

/// Maximum number of fields of a row; a line with more is stored verbatim.
const MAX_FIELDS: usize = 1 << 14;

/// The lines of a text, and the fields of the lines that are rows.
#[derive(Debug)]
pub(in crate::pack) struct SplitRows<'a> {
    text: &'a [u8],
    delimiter_len: usize,
    /// Fields of the widest row.
    pub(in crate::pack) width: usize,
    /// 1 for each line that is a row, 0 for each that is not.
    pub(in crate::pack) modes: Vec<u8>,
    /// The lines that are not rows.
    verbatim: Vec<Range<usize>>,
    /// The start of each row.
    starts: Vec<u32>,
    /// The ends of the fields of each row, `width` per row.
    ends: Vec<u32>,
    /// Fields that rows lack, in total.
    pub(in crate::pack) missing: usize,
    /// Approximate bytes of all cells.
    pub(in crate::pack) cell_bytes: usize,
}

impl<'a> SplitRows<'a> {
    /// Splits a text of less than 4 GiB; returns `None` unless it has rows of two fields
    /// or more.
    ///
    /// A line is a row if enough lines have the same number of fields; the other lines are
    /// stored verbatim.
    pub(in crate::pack) fn new(text: &'a [u8], dialect: &Dialect) -> Option<Self> {
        Self::of_table(text, dialect).filter(|rows| rows.width >= 2 && rows.len() >= 2)
    }

    /// Does the same for a text that is known to be a table: it may have one row or one column.
    pub(in crate::pack) fn of_table(text: &'a [u8], dialect: &Dialect) -> Option<Self> {
        let (counts, lines) =
            dialect.widths(text, |fields| (fields <= MAX_FIELDS).then_some(fields));
        let min_count = lines.div_ceil(LINES_PER_ROW_WIDTH);
        let usual: Vec<bool> = counts.iter().map(|&count| count >= min_count).collect();
        let width = usual.iter().rposition(|&usual| usual)?;
        if width < 1 || width.checked_mul(lines)? > (u32::MAX as usize) {
            return None;
        }
        Some(Self::collect(text, dialect, width, &usual))
    }

    /// Splits a text into rows that all have the same width: the given one, or the most
    /// frequent one. Returns `None` if no line has it.
    pub(in crate::pack) fn with_one_width(
        text: &'a [u8],
        dialect: &Dialect,
        width: Option<usize>,
    ) -> Option<Self> {
        let (counts, lines) =
            dialect.widths(text, |fields| (fields <= MAX_FIELDS).then_some(fields));
        let frequent = || counts.iter().copied().enumerate().max_by_key(|&(_, count)| count);
        let width = width.or_else(|| frequent().map(|(width, _)| width))?;
        if counts.get(width).is_none_or(|&count| count == 0) {
            return None;
        }
        if width.checked_mul(lines)? > (u32::MAX as usize) {
            return None;
        }
        let usual: Vec<bool> = (0..=width).map(|fields| fields == width).collect();
        Some(Self::collect(text, dialect, width, &usual))
    }

    /// Splits lines at arbitrary places, without a delimiter.
    ///
    /// `cut` pushes the ends of the fields of a line and returns whether the line is a row;
    /// it must push the same number for all rows. Returns `None` if there is no row.
    pub(in crate::pack) fn with_cuts(
        text: &'a [u8],
        mut cut: impl FnMut(&[u8], &mut Vec<usize>) -> bool,
    ) -> Option<Self> {
        let mut rows = Self::empty(text, 0, 0);
        rows.cell_bytes = 0;
        let (mut start, mut ends) = (0, Vec::new());
        for line in text.split(|&byte| byte == b'\n') {
            ends.clear();
            if cut(line, &mut ends) {
                rows.modes.push(1);
                rows.starts.push(offset(start));
                rows.ends.extend(ends.iter().map(|end| offset(start + end)));
                rows.width = ends.len();
                rows.cell_bytes += ends.last().copied().unwrap_or(0);
            } else {
                rows.modes.push(0);
                rows.verbatim.push(start..start + line.len());
            }
            start += line.len() + 1;
        }
        (rows.width > 0).then_some(rows)
    }

    fn empty(text: &'a [u8], delimiter_len: usize, width: usize) -> Self {
        Self {
            text,
            delimiter_len,
            width,
            modes: Vec::new(),
            verbatim: Vec::new(),
            starts: Vec::new(),
            ends: Vec::new(),
            missing: 0,
            cell_bytes: text.len(),
        }
    }

    fn collect(text: &'a [u8], dialect: &Dialect, width: usize, usual: &[bool]) -> Self {
        let mut rows = Self::empty(text, dialect.delimiter.len(), width);
        let mut start = 0;
        for line in text.split(|&byte| byte == b'\n') {
            let before = rows.ends.len();
            dialect.cut(line, |end| rows.ends.push(offset(start + end)));
            let fields = rows.ends.len() - before;
            if usual.get(fields).copied().unwrap_or_default() {
                rows.modes.push(1);
                rows.starts.push(offset(start));
                rows.ends.resize(before + width, MISSING);
                rows.missing += width - fields;
            } else {
                rows.modes.push(0);
                rows.verbatim.push(start..start + line.len());
                rows.ends.truncate(before);
            }
            start += line.len() + 1;
        }
        rows
    }

    /// Returns the number of rows.
    pub(in crate::pack) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the bytes between two fields.
    pub(in crate::pack) fn delimiter_len(&self) -> usize {
        self.delimiter_len
    }

    /// Makes rows verbatim, which are in order; none may lack a field.
    pub(in crate::pack) fn make_verbatim(&mut self, rows: &[usize]) {
        if rows.is_empty() {
            return;
        }
        let mut verbatim = std::mem::take(&mut self.verbatim).into_iter();
        let (mut odd, mut row) = (rows.iter().copied().peekable(), 0);
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        let mut all_verbatim = Vec::new();
        for mode in &mut self.modes {
            if *mode == 0 {
                all_verbatim.extend(verbatim.next());
                continue;
            }
            let start = self.starts.get(row).copied().unwrap_or_default();
            let of_row = self.ends.get(row * self.width..).unwrap_or_default();
            let of_row = of_row.get(..self.width).unwrap_or_default();
            if odd.next_if_eq(&row).is_some() {
                *mode = 0;
                let end = of_row.last().copied().unwrap_or(start);
                all_verbatim.push(start as usize..end as usize);
            } else {
                starts.push(start);
                ends.extend_from_slice(of_row);
            }
            row += 1;
        }
        (self.verbatim, self.starts, self.ends) = (all_verbatim, starts, ends);
    }

    /// Returns the lines that are not rows, joined by newlines.
    pub(in crate::pack) fn verbatim(&self) -> Vec<u8> {
        self.verbatim_lines().collect::<Vec<_>>().join(&b'\n')
    }

    /// Returns the lines that are not rows.
    pub(in crate::pack) fn verbatim_lines(&self) -> impl Iterator<Item = &'a [u8]> {
        let line = |line: &Range<usize>| self.text.get(line.clone()).unwrap_or_default();
        self.verbatim.iter().map(line)
    }

    /// Returns the text of some neighbouring fields of a row; `None` if it lacks the first.
    #[inline]
    pub(in crate::pack) fn cell(&self, row: usize, fields: &Range<usize>) -> Option<&'a [u8]> {
        let ends = self.ends.get(row * self.width..)?.get(..fields.end)?;
        let start = match fields.start.checked_sub(1) {
            None => *self.starts.get(row)? as usize,
            Some(before) => match *ends.get(before)? {
                MISSING => return None,
                end => end as usize + self.delimiter_len,
            },
        };
        let last = ends.get(fields.start..)?.iter().rfind(|&&end| end != MISSING)?;
        self.text.get(start..*last as usize)
    }

    /// Returns the number of fields of a row.
    pub(in crate::pack) fn fields(&self, row: usize) -> usize {
        let ends = self.ends.get(row * self.width..).and_then(|ends| ends.get(..self.width));
        ends.unwrap_or_default().iter().take_while(|&&end| end != MISSING).count()
    }
}

/// Converts an offset in a text of less than 4 GiB.
#[inline]
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(MISSING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_widths_are_verbatim_and_frequent_ones_are_rows() {
        let mut text = "1,2,3\n4,5\n".repeat(100);
        text += "6\n7,8,9";
        let dialect = Dialect { delimiter: b",".to_vec(), quotes: true };
        let rows = SplitRows::new(text.as_bytes(), &dialect).unwrap();
        assert_eq!((rows.width, rows.len(), rows.missing), (3, 201, 100));
        assert_eq!(rows.modes.iter().filter(|&&mode| mode == 0).count(), 1);
        assert_eq!(rows.verbatim.first(), Some(&(1000..1001)));
        assert_eq!(rows.cell(0, &(0..1)), Some(&b"1"[..]));
        assert_eq!(rows.cell(0, &(1..3)), Some(&b"2,3"[..]));
        assert_eq!(rows.cell(1, &(1..3)), Some(&b"5"[..]));
        assert_eq!(rows.cell(1, &(2..3)), None);
        assert_eq!((rows.fields(0), rows.fields(1)), (3, 2));
    }
}
