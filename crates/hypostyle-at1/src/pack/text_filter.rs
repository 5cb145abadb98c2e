//! Makes the search filter of a text, if it pays (§11.3).

use crate::pack::options::Layout;
use crate::pack::stream_set::{Body, Stream};
use crate::text_filter::{
    FILTER, GRAM_BYTES, GramReader, GramShape, LOG_BITS, TextFilter, set_bit,
};
use hypostyle_core::error::Result;

/// Texts that are shorter are decoded before a filter could be read.
pub(super) const MIN_TEXT_BYTES: usize = 1 << 20;

/// A filter may take one part in so many of the archive.
const FILTERS_PER_ARCHIVE: usize = 50;

/// Grams that are tried, the longest first: they exclude more strings, but there are more of them.
const TRIED_GRAMS: [u32; 3] = [5, 4, 3];

/// The largest share of bits that are set. A string of ten bytes that a part does not have passes by
/// chance in one of 64 parts, or in fewer.
const MAX_FILL: f64 = 0.5;

/// A bitmap with fewer bits set is halved, which hardly changes what it excludes.
const MIN_FILL: f64 = 0.1;

/// Returns the filter of a text whose parts have these sizes, for an archive of `archive` bytes.
///
/// Returns `None` if the bitmaps that there is room for would exclude little.
pub(super) fn stream(text: &[u8], sizes: &[u64], archive: usize) -> Result<Option<Stream>> {
    let room = (archive / FILTERS_PER_ARCHIVE).saturating_sub(FILTER.len() + 32);
    let bits = (room / sizes.len().max(1)).saturating_mul(8);
    let Some(log_bits) = bits.checked_ilog2().map(|log| log.min(*LOG_BITS.end())) else {
        return Ok(None);
    };
    if !LOG_BITS.contains(&log_bits) {
        return Ok(None);
    }
    for gram in TRIED_GRAMS.into_iter().filter(|gram| GRAM_BYTES.contains(gram)) {
        let shape = GramShape { gram, log_bits };
        let Some(parts) = bitmaps(text, sizes, shape) else { continue };
        let (shape, parts) = halved(shape, parts);
        let content = TextFilter::content(shape, &parts);
        let body = Body::smallest(&content, Layout::Reference)?;
        return Ok(Some(Stream { name: FILTER.into(), body }));
    }
    Ok(None)
}

/// Returns the bitmaps of all parts; `None` if too many bits would be set.
fn bitmaps(text: &[u8], sizes: &[u64], shape: GramShape) -> Option<Vec<Vec<u8>>> {
    let (mut rest, mut parts) = (text, Vec::with_capacity(sizes.len()));
    for &size in sizes {
        let (part, after) = rest.split_at_checked(usize::try_from(size).ok()?)?;
        rest = after;
        let mut bitmap = vec![0; 1 << (shape.log_bits - 3)];
        GramReader::new(shape).read(part, |bit| set_bit(&mut bitmap, bit));
        parts.push(bitmap);
        // The first parts tell soon that there is no room.
        if fill(&parts) > MAX_FILL {
            return None;
        }
    }
    Some(parts)
}

/// Returns the share of bits that are set.
#[expect(clippy::cast_precision_loss, reason = "a share need not be exact")]
fn fill(parts: &[Vec<u8>]) -> f64 {
    let bytes: usize = parts.iter().map(Vec::len).sum();
    let set: u64 = parts.iter().flatten().map(|byte| u64::from(byte.count_ones())).sum();
    set as f64 / (bytes.max(1) * 8) as f64
}

/// Halves bitmaps of which few bits are set: the bit of a gram loses its last digit.
fn halved(mut shape: GramShape, mut parts: Vec<Vec<u8>>) -> (GramShape, Vec<Vec<u8>>) {
    while shape.log_bits > *LOG_BITS.start() && fill(&parts) < MIN_FILL {
        shape.log_bits -= 1;
        for part in &mut parts {
            let mut half = vec![0; part.len() / 2];
            for (at, byte) in part.iter().enumerate() {
                for bit in (0..8).filter(|bit| byte >> bit & 1 == 1) {
                    set_bit(&mut half, (at as u64 * 8 + bit) / 2);
                }
            }
            *part = half;
        }
    }
    (shape, parts)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_filter_keeps_to_its_room_and_excludes_what_is_not_there() {
        let line = |n: u32| format!("worker {} took {}ms in phase {}\n", n % 17, n % 1000, n % 5);
        let text: String = (0..40_000).map(line).collect();
        let sizes = [text.len() as u64 / 2, text.len() as u64 - text.len() as u64 / 2];
        for archive in [10_000, 100_000, 1_000_000, 10_000_000] {
            let Some(stream) = stream(text.as_bytes(), &sizes, archive).unwrap() else {
                assert!(archive < 100_000, "{archive}");
                continue;
            };
            assert!(stream.written_size() <= archive / 50, "{archive}");
            let content: Bytes = stream.body.content().unwrap();
            let filter = TextFilter::parse(&content).unwrap().unwrap();
            for part in 0..2 {
                assert!(filter.may_contain(part, b"took 999ms in phase 4"));
                assert!(!filter.may_contain(part, b"connection refused"), "{archive}");
            }
        }
        // Noise has all grams.
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[2]
        })
        .take(1 << 20)
        .collect();
        assert!(stream(&noise, &[1 << 20], 1 << 20).unwrap().is_none());
    }
}
