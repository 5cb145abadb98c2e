//! Samples of content: evenly spaced pieces, whole lines, and the middle.

use std::borrow::Cow;
use std::ops::Range;

/// Bytes of the sample by which encoders are compared; shorter content is not sampled.
pub(super) const ENCODER_SAMPLE_BYTES: usize = 1 << 20;

/// Runs of whole lines in that sample.
const ENCODER_SAMPLE_RUNS: usize = 4;

/// Returns the sample of some content by which encoders are compared.
pub(super) fn encoder_sample(content: &[u8]) -> Cow<'_, [u8]> {
    spaced_lines(content, ENCODER_SAMPLE_BYTES, ENCODER_SAMPLE_RUNS)
}

/// Returns `count` ranges of `run` items, evenly spaced over `len` items.
///
/// The first range starts at 0 and the last one ends at `len`, up to rounding. A range
/// ends at `len` if fewer than `run` items remain.
pub(super) fn spaced_runs(
    len: usize,
    run: usize,
    count: usize,
) -> impl Iterator<Item = Range<usize>> {
    let step = len.saturating_sub(run) / count.saturating_sub(1).max(1);
    (0..count).map(move |at| at * step..(at * step).saturating_add(run).min(len))
}

/// Returns `count` evenly spaced pieces of `run` items, or all items as one piece if
/// there are no more than that.
pub(super) fn spaced_pieces<T>(items: &[T], run: usize, count: usize) -> Vec<&[T]> {
    aligned_pieces(items, run, count, 1)
}

/// Returns the same pieces, but each starts at a multiple of `unit` items and has whole
/// units.
pub(super) fn aligned_pieces<T>(items: &[T], run: usize, count: usize, unit: usize) -> Vec<&[T]> {
    if items.len() <= run.saturating_mul(count) {
        return vec![items];
    }
    let whole = |items: usize| items / unit.max(1) * unit.max(1);
    let step = whole((items.len() - run) / count.saturating_sub(1).max(1));
    (0..count).filter_map(|at| items.get(at * step..at * step + whole(run))).collect()
}

/// Returns the `run` items in the middle of `len` items, or all of them if there are fewer.
pub(super) fn middle_run(len: usize, run: usize) -> Range<usize> {
    let start = len.saturating_sub(run) / 2;
    start..len.min(start + run)
}

/// Returns `runs` runs of whole lines from all over some content, about `bytes` bytes in
/// all, or the whole content if it is not longer than that.
fn spaced_lines(content: &[u8], bytes: usize, runs: usize) -> Cow<'_, [u8]> {
    if content.len() <= bytes {
        return content.into();
    }
    let run = bytes / runs.max(1);
    let mut out = Vec::with_capacity(bytes);
    let mut end = 0;
    for range in spaced_runs(content.len(), run, runs) {
        let start = range.start.max(end);
        let rest = content.get(start..).unwrap_or_default();
        let skip = match start {
            0 => 0,
            _ => memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1),
        };
        let rest = rest.get(skip..).unwrap_or_default();
        let lines = rest.get(..run).unwrap_or(rest);
        let len = memchr::memrchr(b'\n', lines).map_or(lines.len(), |at| at + 1);
        out.extend_from_slice(lines.get(..len).unwrap_or_default());
        end = start + skip + len;
    }
    out.into()
}

/// Returns the whole lines within the `bytes` bytes in the middle of a text, or the whole
/// text if it is not longer than that; without the newline at the end.
pub(super) fn middle_lines(text: &[u8], bytes: usize) -> &[u8] {
    if text.len() <= bytes {
        return text.strip_suffix(b"\n").unwrap_or(text);
    }
    let middle = text.get(middle_run(text.len(), bytes)).unwrap_or_default();
    let first = memchr::memchr(b'\n', middle).map_or(0, |at| at + 1);
    let last = memchr::memrchr(b'\n', middle).unwrap_or(middle.len());
    middle.get(first..last).unwrap_or(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_lines_are_whole_and_in_order() {
        let line = |i: usize| format!("{i:07} and some more text\n");
        let text: String = (0..100_000).map(line).collect();
        let sample = encoder_sample(text.as_bytes()).into_owned();
        let sample = String::from_utf8(sample).unwrap();
        assert!(
            sample.len() > ENCODER_SAMPLE_BYTES * 9 / 10 && sample.len() <= ENCODER_SAMPLE_BYTES
        );
        assert!(sample.lines().all(|line| line.len() == 26));
        assert!(sample.starts_with(&line(0)) && sample.ends_with(&line(99_999)));
        let numbers: Vec<&str> = sample.lines().map(|line| &line[..7]).collect();
        assert!(numbers.is_sorted_by(|one, other| one < other));
    }

    #[test]
    fn spaced_pieces_cover_both_ends() {
        let items: Vec<usize> = (0..100).collect();
        let pieces = spaced_pieces(&items, 10, 3);
        assert_eq!(pieces, [&items[..10], &items[45..55], &items[90..]]);
        assert_eq!(spaced_pieces(&items, 50, 2), [&items[..]]);
        assert_eq!(aligned_pieces(&items, 11, 3, 4), [&items[..8], &items[44..52], &items[88..96]]);
        assert!(spaced_runs(5, 10, 1).eq(std::iter::once(0..5)));
        assert_eq!((middle_run(10, 4), middle_run(3, 4)), (3..7, 0..3));
    }

    #[test]
    fn middle_lines_are_whole() {
        let text = "first\nsecond\nthird\nfourth\nfifth\n";
        assert_eq!(middle_lines(text.as_bytes(), 20), b"third\nfourth");
        assert_eq!(middle_lines(b"a\nb\n", 20), b"a\nb");
    }
}
