//! Samples of content by which encoders are compared.

use std::borrow::Cow;

/// Bytes that encoders are judged by; shorter content is not sampled.
pub(super) const SAMPLE: usize = 1 << 20;

/// Runs of whole lines that a sample has.
const RUNS: usize = 4;

/// Some runs of whole lines from all over content, or all of it if it is short.
pub(super) fn sample(content: &[u8]) -> Cow<'_, [u8]> {
    if content.len() <= SAMPLE {
        return content.into();
    }
    let run = SAMPLE / RUNS;
    let step = content.len().saturating_sub(run) / (RUNS - 1);
    let mut out = Vec::with_capacity(SAMPLE);
    let mut end = 0;
    for at in 0..RUNS {
        let start = (at * step).max(end);
        let rest = content.get(start..).unwrap_or_default();
        let skip = match start {
            0 => 0,
            _ => memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1),
        };
        let rest = rest.get(skip..).unwrap_or_default();
        let part = rest.get(..run).unwrap_or(rest);
        let len = memchr::memrchr(b'\n', part).map_or(part.len(), |at| at + 1);
        out.extend_from_slice(part.get(..len).unwrap_or_default());
        end = start + skip + len;
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_whole_lines() {
        let line = |i: usize| format!("{i:07} and some more text\n");
        let text: String = (0..100_000).map(line).collect();
        let sample = String::from_utf8(sample(text.as_bytes()).into_owned()).unwrap();
        assert!(sample.len() > SAMPLE * 9 / 10 && sample.len() <= SAMPLE);
        assert!(sample.lines().all(|line| line.len() == 26));
        assert!(sample.starts_with(&line(0)) && sample.ends_with(&line(99_999)));
        let numbers: Vec<&str> = sample.lines().map(|line| &line[..7]).collect();
        assert!(numbers.is_sorted_by(|one, other| one < other));
    }
}
