//! A buffer of rows that are assembled cell by cell.
//!
//! Cells are short and numerous. A copy of variable length costs a function call, but a copy
//! of 8 or 16 bytes costs two instructions. So cells are copied in such pieces, and the next
//! cell overwrites the excess bytes. `digits` formats numbers, `inline_cell` holds short
//! cells in a register, and `padded_dict` holds entries that are padded to whole pieces.

mod digits;
mod inline_cell;
mod padded_dict;

pub(super) use inline_cell::InlineCell;
pub(super) use padded_dict::{DictEntry, PaddedDict};

use digits::{ASCII, eight_digits, leading_zeros};
use padded_dict::PAD_BYTES;

/// The length from which on a buffer is full; rows continue in the next buffer.
pub(super) const FULL: usize = 4 << 20;

/// Bytes that a copy of fixed size may write beyond the end.
const SLACK: usize = 64;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Rows that are appended to.
#[derive(Debug, Default)]
pub(super) struct RowBuffer {
    bytes: Vec<u8>,
    len: usize,
}

impl RowBuffer {
    /// Makes room for `bytes` bytes in total, or for a full buffer if that is less.
    pub(super) fn reserve(&mut self, bytes: usize) {
        let bytes = bytes.min(FULL).saturating_add(SLACK);
        if self.bytes.len() < bytes {
            self.bytes.resize(bytes, 0);
        }
    }

    /// Returns whether the buffer should be written out.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len >= FULL
    }

    /// The text so far.
    pub(super) fn text(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Removes the text, and keeps the allocation.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) {
        let room = self.len.saturating_add(more).saturating_add(SLACK);
        self.bytes.resize(room.max(self.bytes.len().saturating_mul(2)), 0);
    }

    /// Returns `N` bytes at the end to write to.
    #[inline]
    fn place<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
        if self.bytes.len().saturating_sub(self.len) < N {
            self.grow(N);
        }
        self.bytes.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut)
    }

    /// Appends a byte.
    #[inline]
    pub(super) fn byte(&mut self, byte: u8) {
        self.byte_if(byte, true);
    }

    /// Appends a byte if `wanted`, without a branch.
    #[inline]
    fn byte_if(&mut self, byte: u8, wanted: bool) {
        if let Some(place) = self.place::<1>() {
            *place = [byte];
        }
        self.len += usize::from(wanted);
    }

    /// Appends the first `len` bytes of a word, at most 8, lowest first.
    #[inline]
    fn word(&mut self, word: u64, len: usize) {
        if let Some(place) = self.place::<8>() {
            *place = word.to_le_bytes();
        }
        self.len += len.min(8);
    }

    /// Appends bytes.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        if self.bytes.len().saturating_sub(self.len) < bytes.len() {
            self.grow(bytes.len());
        }
        let end = self.len + bytes.len();
        if let Some(place) = self.bytes.get_mut(self.len..end) {
            place.copy_from_slice(bytes);
        }
        self.len = end;
    }

    /// Appends an entry.
    #[inline]
    pub(super) fn entry(&mut self, entry: DictEntry<'_>) {
        let (pieces, mut left) = (entry.pieces, entry.len);
        for piece in pieces {
            if let Some(place) = self.place::<PAD_BYTES>() {
                *place = *piece;
            }
            self.len += left.min(PAD_BYTES);
            left = left.saturating_sub(PAD_BYTES);
        }
    }

    /// The number of bytes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends inline cells.
    #[inline]
    pub(super) fn inline_cells(&mut self, cells: &[InlineCell]) {
        let max_len = cells.len().saturating_mul(16);
        if self.bytes.len().saturating_sub(self.len) < max_len {
            self.grow(max_len);
        }
        let room = self.bytes.get_mut(self.len..).unwrap_or_default();
        let mut at = 0;
        for cell in cells {
            if let Some(place) = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                *place = cell.0.to_le_bytes();
            }
            at += cell.len();
        }
        self.len += at;
    }

    /// Appends an inline cell and the first line of a list, for each list, as
    /// [`RowBuffer::line`] does.
    ///
    /// Returns the number of lists before the first one that has ended.
    #[inline]
    pub(super) fn lines(&mut self, leads: &[InlineCell], lists: &mut [Option<&[u8]>]) -> usize {
        let mut done = 0;
        while let Some(lists) = lists.get_mut(done..).filter(|lists| !lists.is_empty()) {
            let leads = leads.get(done..).unwrap_or_default();
            let room = self.bytes.get_mut(self.len..).unwrap_or_default();
            let (count, len) = quick_lines(leads, lists, room);
            (done, self.len) = (done + count, self.len + len);
            if let Some((list, lead)) = lists.get_mut(count).zip(leads.get(count)) {
                self.inline_cells(&[*lead]);
                if !self.line(list) {
                    break;
                }
                done += 1;
            }
        }
        done
    }

    /// Doubles the quotes from `start` on, and appends the closing quote.
    #[inline]
    pub(super) fn end_quotes(&mut self, start: usize) {
        // Quotes inside a cell are rare, so look for one before copying.
        let cell = self.bytes.get(start..self.len).unwrap_or_default();
        if memchr::memchr(b'"', cell).is_some() {
            self.double_quotes(start);
        }
        self.byte(b'"');
    }

    #[cold]
    fn double_quotes(&mut self, start: usize) {
        let cell = self.text().get(start..).unwrap_or_default().to_vec();
        self.len = start.min(self.len);
        for part in cell.split_inclusive(|&byte| byte == b'"') {
            self.put(part);
            self.byte_if(b'"', part.ends_with(b"\""));
        }
    }

    /// Removes the first line of `list`, and appends it without its newline.
    ///
    /// Returns `false` at the end of the list, which is `None`.
    #[inline]
    pub(super) fn line(&mut self, list: &mut Option<&[u8]>) -> bool {
        self.part::<b'\n'>(list)
    }

    /// Does the same for a list with another separator.
    #[inline]
    pub(super) fn part<const END: u8>(&mut self, list: &mut Option<&[u8]>) -> bool {
        let Some(mut rest) = *list else { return false };
        while let Some((head, tail)) = rest.split_first_chunk::<8>() {
            let word = u64::from_le_bytes(*head);
            let len = first::<END>(word);
            if len < 8 {
                self.word(word, len);
                *list = rest.get(len + 1..);
                return true;
            }
            self.word(word, 8);
            rest = tail;
        }
        match rest.iter().position(|&byte| byte == END) {
            Some(len) => {
                self.put(rest.get(..len).unwrap_or_default());
                *list = rest.get(len + 1..);
            }
            None => {
                self.put(rest);
                *list = None;
            }
        }
        true
    }

    /// Appends an integer in decimal.
    #[inline]
    pub(super) fn integer(&mut self, value: i64) {
        let size = value.unsigned_abs();
        self.byte_if(b'-', value < 0);
        match u32::try_from(size) {
            Ok(size) if size < 100_000_000 => {
                let digits = eight_digits(size);
                let zeros = leading_zeros(digits).min(7);
                self.word((digits | ASCII) >> (8 * zeros), 8 - zeros);
            }
            _ => self.put(itoa::Buffer::new().format(size).as_bytes()),
        }
    }

    /// Appends a decimal with `digits` digits after the point, and at least one before it.
    #[inline]
    pub(super) fn decimal(&mut self, value: i64, digits: usize) {
        let size = value.unsigned_abs();
        self.byte_if(b'-', value < 0);
        match u32::try_from(size) {
            Ok(size) if size < 100_000_000 && (1..=7).contains(&digits) => {
                let text = eight_digits(size);
                let zeros = leading_zeros(text).min(7 - digits);
                let text = (text | ASCII) >> (8 * zeros);
                let whole = 8 - zeros - digits;
                self.word(text, whole);
                self.word((text >> (8 * whole) << 8) | u64::from(b'.'), digits + 1);
            }
            _ => self.fixed(itoa::Buffer::new().format(size).as_bytes(), digits),
        }
    }

    /// Appends a number of up to 128 bits, as [`RowBuffer::integer`] or
    /// [`RowBuffer::decimal`] do.
    pub(super) fn wide(&mut self, value: i128, digits: Option<usize>) {
        self.byte_if(b'-', value < 0);
        let mut text = itoa::Buffer::new();
        let text = text.format(value.unsigned_abs()).as_bytes();
        match digits {
            None => self.put(text),
            Some(digits) => self.fixed(text, digits),
        }
    }

    /// Appends digits with a point before the last `digits`, and at least one before it.
    fn fixed(&mut self, text: &[u8], digits: usize) {
        const ZEROS: [u8; 20] = [b'0'; 20];
        let (whole, fraction) = match text.len().checked_sub(digits) {
            Some(point @ 1..) => text.split_at_checked(point).unwrap_or((text, &[])),
            _ => (&b"0"[..], text),
        };
        self.put(whole);
        self.byte(b'.');
        let missing = digits.saturating_sub(fraction.len());
        self.put(ZEROS.get(..missing).unwrap_or_default());
        self.put(fraction);
    }
}

/// Copies lines while there is room to write and eight bytes to read; returns their number
/// and length.
#[inline]
fn quick_lines(
    leads: &[InlineCell],
    lists: &mut [Option<&[u8]>],
    room: &mut [u8],
) -> (usize, usize) {
    let (mut done, mut end) = (0, 0);
    for (list, lead) in lists.iter_mut().zip(leads) {
        let Some(mut rest) = *list else { break };
        let Some(place) = room.get_mut(end..).and_then(<[u8]>::first_chunk_mut) else { break };
        *place = lead.0.to_le_bytes();
        let mut at = end + lead.len();
        loop {
            let Some((head, tail)) = rest.split_first_chunk::<8>() else { return (done, end) };
            let place = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<8>);
            let Some(place) = place else { return (done, end) };
            *place = *head;
            let found = first::<b'\n'>(u64::from_le_bytes(*head));
            if found < 8 {
                *list = rest.get(found + 1..);
                (done, end) = (done + 1, at + found);
                break;
            }
            at += 8;
            rest = tail;
        }
    }
    (done, end)
}

/// Returns the index of the first `BYTE` in a word, from its lowest byte; 8 if there is none.
#[inline]
fn first<const BYTE: u8>(word: u64) -> usize {
    let other = word ^ (LOW_BITS * BYTE as u64);
    // Only the lowest set bit is reliable.
    let found = other.wrapping_sub(LOW_BITS) & !other & HIGH_BITS;
    (found.trailing_zeros() / 8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(work: impl FnOnce(&mut RowBuffer)) -> String {
        let mut buffer = RowBuffer::default();
        buffer.put(b"<");
        work(&mut buffer);
        buffer.put(b">");
        String::from_utf8(buffer.text().to_vec()).unwrap()
    }

    #[test]
    fn integers_print_as_the_standard_library_prints_them() {
        let ends = [i64::MIN, i64::MAX, i64::MIN + 1, u32::MAX.into()];
        let powers = (0..19).map(|digits| 10_i64.pow(digits));
        let near = powers.flat_map(|power| [power - 1, power, power + 1]);
        let some = (0..100_000_000).step_by(7919);
        for value in ends.into_iter().chain(near).chain(some).chain(0..20_000) {
            for value in [value, value.saturating_neg()] {
                assert_eq!(put(|buffer| buffer.integer(value)), format!("<{value}>"));
            }
        }
    }

    #[test]
    fn decimals_have_their_point_in_the_right_place() {
        let plain = |value: i128, digits: usize| {
            let sign = if value < 0 { "-" } else { "" };
            let text = format!("{:0>1$}", value.unsigned_abs(), digits + 1);
            let (whole, fraction) = text.split_at(text.len() - digits);
            format!("<{sign}{whole}.{fraction}>")
        };
        let near = (0..19).flat_map(|digits| [10_i64.pow(digits) - 1, 10_i64.pow(digits)]);
        for value in near.chain([i64::MIN, i64::MAX, 12_345_678, 5, 150]) {
            for value in [value, value.saturating_neg()] {
                for digits in 0..=18 {
                    let want = plain(value.into(), digits);
                    assert_eq!(put(|buffer| buffer.decimal(value, digits)), want);
                    assert_eq!(put(|buffer| buffer.wide(value.into(), Some(digits))), want);
                }
            }
        }
        assert_eq!(put(|buffer| buffer.wide(i128::MIN, None)), format!("<{}>", i128::MIN));
        let want = plain(-(1 << 100), 18);
        assert_eq!(put(|buffer| buffer.wide(-(1 << 100), Some(18))), want);
    }

    #[test]
    fn inline_cells_equal_what_buffers_print() {
        let near = (0..10).flat_map(|digits| [10_i32.pow(digits) - 1, 10_i32.pow(digits)]);
        let some = (0..i32::MAX).step_by(104_729);
        for value in near.chain(some).chain([i32::MAX, i32::MIN]) {
            for value in [value, value.saturating_neg()] {
                let cell = InlineCell::integer(b',', value);
                assert_eq!(put(|buffer| buffer.inline_cells(&[cell])), format!("<,{value}>"));
                assert_eq!(
                    put(|buffer| buffer.inline_cells(&[cell.without_lead()])),
                    format!("<{value}>")
                );
                for digits in 1..=InlineCell::MAX_SCALE {
                    let want = put(|buffer| buffer.decimal(value.into(), digits));
                    let cell = InlineCell::decimal(b'<', value, digits);
                    assert_eq!(put(|buffer| buffer.inline_cells(&[cell.without_lead()])), want);
                }
            }
        }
        for len in 0..20 {
            let text = "x".repeat(len);
            match InlineCell::new(text.as_bytes()) {
                Some(cell) => {
                    assert_eq!(put(|buffer| buffer.inline_cells(&[cell])), format!("<{text}>"))
                }
                None => assert!(len > 15),
            }
        }
    }

    #[test]
    fn lines_of_every_length_come_off_a_list_one_by_one() {
        let lines: Vec<String> = (0..40).chain([0, 0, 7, 8, 9, 1]).map(|n| "x".repeat(n)).collect();
        for keep in 0..lines.len() {
            let text = lines[keep..].join("\n");
            let mut list = Some(text.as_bytes());
            for line in &lines[keep..] {
                assert_eq!(put(|buffer| assert!(buffer.line(&mut list))), format!("<{line}>"));
            }
            assert_eq!(put(|buffer| assert!(!buffer.line(&mut list))), "<>");
        }
        // Several lists at once.
        let lists: Vec<String> = (0..30).map(|from| lines[from..].join("\n")).collect();
        let leads: Vec<InlineCell> =
            (0..30).map(|len| InlineCell::new("-".repeat(len % 16).as_bytes()).unwrap()).collect();
        let mut rests: Vec<Option<&[u8]>> =
            lists.iter().map(|list| Some(list.as_bytes())).collect();
        let mut buffer = RowBuffer::default();
        let mut want = String::new();
        for row in 0..lines.len() - 29 {
            assert_eq!(buffer.lines(&leads, &mut rests), 30);
            for column in 0..30 {
                want += &"-".repeat(column % 16);
                want += &lines[row + column];
            }
            assert_eq!(buffer.text(), want.as_bytes());
        }
        assert_eq!(buffer.lines(&leads, &mut rests), 29);
        // Bytes that a word-wise search may mistake for newlines.
        let odd = b"\x0b\x0a\x0b\x8a\x0b\x0a\x0b\x8a\x0a\x8a\x0b\x0b\x0b\x0b\x0b\x0b\x0b";
        let mut list = Some(&odd[..]);
        let mut buffer = RowBuffer::default();
        while buffer.line(&mut list) {
            buffer.byte(b'\n');
        }
        assert_eq!(buffer.text(), [&odd[..], b"\n"].concat());
    }

    #[test]
    fn entries_of_every_length_are_copied_whole() {
        let all: Vec<Vec<u8>> = (0..70).map(|len| vec![b'a' + len % 26; len.into()]).collect();
        let entries: PaddedDict = all.iter().map(Vec::as_slice).collect();
        assert_eq!(entries.len(), all.len());
        let mut buffer = RowBuffer::default();
        for (index, bytes) in all.iter().enumerate() {
            buffer.entry(entries.get(index).unwrap());
            assert_eq!(entries.get(index).unwrap().bytes().to_vec(), *bytes);
        }
        assert_eq!(buffer.text(), all.concat());
        assert!(entries.get(all.len()).is_none());
        let mut entries = entries;
        let pieces = entries.pieces.len();
        (0..1000).for_each(|_| entries.push_again());
        assert_eq!(entries.get(all.len() + 999).unwrap().bytes().to_vec(), all[all.len() - 1]);
        assert_eq!(entries.pieces.len(), pieces);
    }

    #[test]
    fn quotes_are_doubled_inside_quotes() {
        for (cell, want) in [("", "\"\""), ("a", "\"a\""), ("\"a\"b\"\"", "\"\"\"a\"\"b\"\"\"\"\"")]
        {
            let quoted = put(|buffer| {
                buffer.byte(b'"');
                let start = buffer.len();
                buffer.put(cell.as_bytes());
                buffer.end_quotes(start);
            });
            assert_eq!(quoted, format!("<{want}>"));
        }
    }
}
