//! The first and the last bytes of a file, which are fetched when it is opened.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// The first and the last bytes of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    pub(crate) head: Bytes,
    pub(crate) tail: Bytes,
    /// The offset of the tail.
    pub(crate) tail_start: u64,
}

impl Ends {
    /// Returns what the ends do not have of a range; it is empty if they have all of it.
    pub(crate) fn missing(&self, range: &Range<u64>) -> Range<u64> {
        let start = range.start.max((self.head.len() as u64).min(range.end));
        let tail_end = self.tail_start.saturating_add(self.tail.len() as u64);
        let is_in_tail = !self.tail.is_empty() && range.end <= tail_end;
        let end = if is_in_tail { range.end.min(self.tail_start).max(start) } else { range.end };
        // A range inside the tail misses nothing.
        if is_in_tail && range.start >= self.tail_start {
            return range.start..range.start;
        }
        start..end
    }

    /// Returns a range, of which `middle` is [what is missing](Ends::missing).
    pub(crate) fn assemble(&self, range: &Range<u64>, middle: Bytes) -> Bytes {
        let missing = self.missing(range);
        let before = slice(&self.head, 0, range.start..missing.start);
        let after = slice(&self.tail, self.tail_start, missing.end..range.end);
        match (before.is_empty(), middle.is_empty(), after.is_empty()) {
            (true, _, true) => middle,
            (false, true, true) => before,
            (true, true, false) => after,
            _ => {
                let len = before.len().saturating_add(middle.len()).saturating_add(after.len());
                let mut all = BytesMut::with_capacity(len);
                for part in [before, middle, after] {
                    all.extend_from_slice(&part);
                }
                all.freeze()
            }
        }
    }
}

/// Returns the bytes of a range of a file from those that start at an offset.
fn slice(bytes: &Bytes, offset: u64, range: Range<u64>) -> Bytes {
    let inside = |at: u64| {
        usize::try_from(at.saturating_sub(offset)).map_or(bytes.len(), |at| at.min(bytes.len()))
    };
    if range.start >= range.end || range.start < offset {
        return Bytes::new();
    }
    bytes.slice(inside(range.start)..inside(range.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_is_assembled_from_the_ends_and_what_is_missing() {
        let file: Vec<u8> = (0..40).collect();
        let file = Bytes::from(file);
        for (head, tail) in [(0, 40), (10, 30), (10, 40), (0, 25), (25, 15), (40, 0)] {
            let ends = Ends {
                head: file.slice(..head),
                tail: file.slice(tail..),
                tail_start: tail as u64,
            };
            for (start, end) in (0..=40).flat_map(|start| (start..=40).map(move |end| (start, end)))
            {
                let missing = ends.missing(&(start as u64..end as u64));
                assert!(start as u64 <= missing.start && missing.end <= end as u64);
                assert!(missing.is_empty() || missing.start >= head as u64);
                assert!(missing.is_empty() || missing.end <= tail as u64);
                let of_middle = |(at, _): &(u64, u8)| missing.contains(at);
                let middle: Vec<u8> = (0..)
                    .zip(file.iter().copied())
                    .filter(of_middle)
                    .map(|(_, byte)| byte)
                    .collect();
                let all = ends.assemble(&(start as u64..end as u64), middle.into());
                assert_eq!(all, file.slice(start..end), "{start}..{end}, {head}, {tail}");
            }
        }
    }
}
