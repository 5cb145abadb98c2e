//! Text into rows of fields.
//!
//! A row is put together again from its cells and the delimiter between them,
//! whatever the cells hold. So any way of cutting a line at delimiters restores
//! it; what matters is that like comes to stand below like. Quotes only say which
//! delimiters do not separate fields.

use std::ops::Range;

use crate::fields::Dialect;

/// The end of a field that a row does not have.
const MISSING: u32 = u32::MAX;

/// A number of fields is usual if one row in so many has it.
const USUAL: usize = 50;

/// Most fields that a row may have; a line of more is none.
const WIDEST: usize = 1 << 14;

/// Lines of a text, and the fields of those that are rows.
#[derive(Debug)]
pub(in crate::pack) struct Rows<'a> {
    text: &'a [u8],
    delimiter: usize,
    /// Fields of the widest row.
    pub(in crate::pack) width: usize,
    /// For each line whether it is a row.
    pub(in crate::pack) modes: Vec<u8>,
    /// The lines that are none.
    verbatim: Vec<Range<usize>>,
    /// Where each row starts.
    starts: Vec<u32>,
    /// Where the fields of each row end, `width` for each.
    ends: Vec<u32>,
    /// Fields that rows lack, all told.
    pub(in crate::pack) missing: usize,
    /// Bytes that its columns are made of, roughly.
    pub(in crate::pack) judged: usize,
}

impl<'a> Rows<'a> {
    /// Cuts lines; `None` if they are not rows of two fields or more.
    ///
    /// Numbers of fields that few rows have are left out: those lines stay as they
    /// are. The text is shorter than 4 GiB.
    pub(in crate::pack) fn new(text: &'a [u8], dialect: &Dialect) -> Option<Self> {
        let (counts, lines) = dialect.widths(text, |fields| (fields <= WIDEST).then_some(fields));
        let least = lines.div_ceil(USUAL);
        let usual: Vec<bool> = counts.iter().map(|&count| count >= least).collect();
        let width = usual.iter().rposition(|&usual| usual)?;
        let rows: usize = usual.iter().zip(&counts).filter(|it| *it.0).map(|it| it.1).sum();
        if width < 2 || rows < 2 || width.checked_mul(lines)? > (u32::MAX as usize) {
            return None;
        }
        Some(Self::collect(text, dialect, width, &usual))
    }

    /// Cuts lines; rows are those with the number of fields that most have, or with
    /// just so many. `None` if there are none.
    pub(in crate::pack) fn alike(
        text: &'a [u8],
        dialect: &Dialect,
        width: Option<usize>,
    ) -> Option<Self> {
        let (counts, lines) = dialect.widths(text, |fields| (fields <= WIDEST).then_some(fields));
        let most = || counts.iter().copied().enumerate().max_by_key(|&(_, count)| count);
        let width = width.or_else(|| most().map(|(width, _)| width))?;
        if counts.get(width).is_none_or(|&count| count == 0) {
            return None;
        }
        if width.checked_mul(lines)? > (u32::MAX as usize) {
            return None;
        }
        let usual: Vec<bool> = (0..=width).map(|fields| fields == width).collect();
        Some(Self::collect(text, dialect, width, &usual))
    }

    /// Cuts lines anywhere, with nothing between the fields. `cut` says where the fields
    /// of a line end, and whether it is a row; all rows have as many. `None` if there are
    /// none.
    pub(in crate::pack) fn by(
        text: &'a [u8],
        mut cut: impl FnMut(&[u8], &mut Vec<usize>) -> bool,
    ) -> Option<Self> {
        let mut rows = Self::empty(text, 0, 0);
        rows.judged = 0;
        let (mut start, mut ends) = (0, Vec::new());
        for line in text.split(|&byte| byte == b'\n') {
            ends.clear();
            if cut(line, &mut ends) {
                rows.modes.push(1);
                rows.starts.push(offset(start));
                rows.ends.extend(ends.iter().map(|end| offset(start + end)));
                rows.width = ends.len();
                rows.judged += ends.last().copied().unwrap_or(0);
            } else {
                rows.modes.push(0);
                rows.verbatim.push(start..start + line.len());
            }
            start += line.len() + 1;
        }
        (rows.width > 0).then_some(rows)
    }

    fn empty(text: &'a [u8], delimiter: usize, width: usize) -> Self {
        Self {
            text,
            delimiter,
            width,
            modes: Vec::new(),
            verbatim: Vec::new(),
            starts: Vec::new(),
            ends: Vec::new(),
            missing: 0,
            judged: text.len(),
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

    /// The number of rows.
    pub(in crate::pack) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The lines that are no rows, as a list.
    pub(in crate::pack) fn verbatim(&self) -> Vec<u8> {
        let line = |line: &Range<usize>| self.text.get(line.clone()).unwrap_or_default();
        self.verbatim.iter().map(line).collect::<Vec<_>>().join(&b'\n')
    }

    /// The text of some neighbouring fields of a row; `None` if it has not even the first.
    #[inline]
    pub(in crate::pack) fn cell(&self, row: usize, fields: &Range<usize>) -> Option<&'a [u8]> {
        let ends = self.ends.get(row * self.width..)?.get(..fields.end)?;
        let start = match fields.start.checked_sub(1) {
            None => *self.starts.get(row)? as usize,
            Some(before) => match *ends.get(before)? {
                MISSING => return None,
                end => end as usize + self.delimiter,
            },
        };
        let last = ends.get(fields.start..)?.iter().rfind(|&&end| end != MISSING)?;
        self.text.get(start..*last as usize)
    }

    /// The fields that a row has.
    pub(in crate::pack) fn fields(&self, row: usize) -> usize {
        let ends = self.ends.get(row * self.width..).and_then(|ends| ends.get(..self.width));
        ends.unwrap_or_default().iter().take_while(|&&end| end != MISSING).count()
    }
}

/// An offset in a text below 4 GiB.
#[inline]
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(MISSING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_lines_stay_out_and_ragged_ones_come_in() {
        let mut text = "1,2,3\n4,5\n".repeat(100);
        text += "6\n7,8,9";
        let dialect = Dialect { delimiter: b",".to_vec(), quotes: true };
        let rows = Rows::new(text.as_bytes(), &dialect).unwrap();
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
