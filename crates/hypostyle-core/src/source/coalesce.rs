//! Reads ranges that lie close together with one read.

use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bytes::Bytes;

use super::ByteSource;

/// The largest number of concurrent reads; each has a thread that waits for it.
const MAX_READS: usize = 32;

/// Merges ranges that overlap or have a gap of at most `max_gap` bytes between them; the result
/// is sorted.
pub(super) fn merge_near(ranges: &[Range<u64>], max_gap: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> =
        ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
    sorted.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(max_gap) => {
                last.end = last.end.max(range.end);
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// Reads ranges of a source, several at the same time if the source profits from it.
pub(super) fn read<S: ByteSource + ?Sized>(
    source: &S,
    ranges: &[Range<u64>],
) -> io::Result<Vec<Bytes>> {
    let merged = merge_near(ranges, source.read_cost());
    let read = |range: &Range<u64>| {
        let len = usize::try_from(range.end.saturating_sub(range.start));
        source.read(range.start, len.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?)
    };
    let threads = source.concurrent_reads().clamp(1, MAX_READS).min(merged.len());
    let pieces: Vec<io::Result<Bytes>> = if threads <= 1 {
        merged.iter().map(read).collect()
    } else {
        read_concurrently(&merged, threads, &read)
    };
    let pieces = pieces.into_iter().collect::<io::Result<Vec<Bytes>>>()?;
    let slice = |range: &Range<u64>| {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let piece = merged.partition_point(|piece| piece.end < range.end);
        let start = merged.get(piece).map_or(0, |piece| piece.start);
        let from = usize::try_from(range.start.saturating_sub(start)).unwrap_or(usize::MAX);
        let len = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let to = from.saturating_add(len);
        match pieces.get(piece) {
            Some(bytes) if to <= bytes.len() => Ok(bytes.slice(from..to)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    };
    ranges.iter().map(slice).collect()
}

fn read_concurrently(
    ranges: &[Range<u64>],
    threads: usize,
    read: &(dyn Fn(&Range<u64>) -> io::Result<Bytes> + Sync),
) -> Vec<io::Result<Bytes>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(ranges.len()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(range) = ranges.get(index) else { return };
                    let bytes = read(range);
                    let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    done.push((index, bytes));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, bytes)| bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_are_read_together_and_returned_in_the_order_asked_for() {
        let merged = merge_near(&[70_000..70_010, 0..4, 4..8, 9_000..9_001, 5..5], 16 << 10);
        assert_eq!(merged, [0..9_001, 70_000..70_010]);
        let content: Vec<u8> = (0..80_000_u32).map(|at| at.to_le_bytes()[0]).collect();
        let source = Bytes::from(content.clone());
        let ranges = [70_000..70_010_u64, 3..3, 4..8, 9_000..9_001, 0..70_005];
        for (range, bytes) in ranges.iter().zip(source.read_ranges(&ranges).unwrap()) {
            let range = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
            assert_eq!(bytes, content[range]);
        }
        let past_the_end = 79_999..80_001;
        assert!(source.read_ranges(std::slice::from_ref(&past_the_end)).is_err());
    }
}
