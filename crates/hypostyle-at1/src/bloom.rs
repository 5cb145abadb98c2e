//! Bloom filters over the texts of a column in one group (§6.5).
//!
//! A filter always finds a text that it contains, and sometimes one that it does not. The
//! hash and the bit positions are part of the format.

/// Bits per distinct text in a filter, and the number of hashes; the best first.
const SIZES: [(usize, u8); 3] = [(10, 7), (6, 4), (4, 3)];

/// Filters are left out if the average text is in more than this fraction of the groups.
const MAX_MATCHING_GROUPS: f64 = 0.7;

/// The size of the filters of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FilterSize {
    bits_per_text: usize,
    /// The number of bits that a text sets.
    pub(super) count: u8,
}

impl FilterSize {
    /// Returns the best size whose filters take at most `max_bytes`, for groups with these
    /// distinct hashes; `None` if there is none, or if filters would skip few groups.
    pub(super) fn choose<H: AsRef<[u64]>>(groups: &[H], max_bytes: usize) -> Option<Self> {
        let all: usize = groups.iter().map(|hashes| hashes.as_ref().len()).sum();
        let fits = |&(bits, _): &(usize, u8)| all.saturating_mul(bits) / 8 <= max_bytes;
        let (bits_per_text, count) = SIZES.into_iter().find(fits)?;
        let mut distinct: Vec<u64> =
            groups.iter().flat_map(|hashes| hashes.as_ref()).copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let possible = distinct.len().saturating_mul(groups.len());
        let is_useful = groups.len() > 1 && all as f64 <= MAX_MATCHING_GROUPS * possible as f64;
        is_useful.then_some(Self { bits_per_text, count })
    }

    /// The bytes of a filter of so many distinct texts.
    pub(super) fn bytes(self, texts: usize) -> usize {
        texts.saturating_mul(self.bits_per_text).div_ceil(8)
    }
}

/// Hashes a text with 64-bit FNV-1a, and mixes the bits of the result.
pub(super) fn hash(text: &[u8]) -> u64 {
    let fnv = text.iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    let mixed = (fnv ^ (fnv >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    mixed ^ (mixed >> 33)
}

/// Returns the byte and the mask of each bit that a hash sets in a filter of `bytes` bytes.
fn bit_positions(hash: u64, count: u8, bytes: usize) -> impl Iterator<Item = (usize, u8)> {
    let bits = (bytes as u64).saturating_mul(8).max(1);
    let (first, step) = (hash & 0xFFFF_FFFF, (hash >> 32) | 1);
    (0..u64::from(count)).map(move |nth| {
        let bit = first.wrapping_add(nth.wrapping_mul(step)) % bits;
        (usize::try_from(bit / 8).unwrap_or(usize::MAX), 1 << (bit % 8))
    })
}

/// Builds a filter of `bytes` bytes from these hashes, with `count` bits for each.
pub(super) fn make(hashes: &[u64], count: u8, bytes: usize) -> Vec<u8> {
    let mut filter = vec![0; bytes];
    for &hash in hashes {
        for (at, bit) in bit_positions(hash, count, bytes) {
            if let Some(byte) = filter.get_mut(at) {
                *byte |= bit;
            }
        }
    }
    filter
}

/// Returns whether a filter may contain a hash. An empty filter contains nothing.
pub(super) fn may_hold(filter: &[u8], hash: u64, count: u8) -> bool {
    !filter.is_empty()
        && bit_positions(hash, count, filter.len())
            .all(|(at, bit)| filter.get(at).is_some_and(|byte| byte & bit != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_find_all_their_texts_and_few_others() {
        let hashes: Vec<u64> = (0..1000).map(|i| hash(format!("row {i}").as_bytes())).collect();
        let filter = make(&hashes, 7, 1250);
        assert!(hashes.iter().all(|&hash| may_hold(&filter, hash, 7)));
        let strangers = (1000..11_000).map(|i| hash(format!("row {i}").as_bytes()));
        let found = strangers.filter(|&hash| may_hold(&filter, hash, 7)).count();
        assert!((20..200).contains(&found), "{found} of 10000");
        assert!(!may_hold(&[], hashes[0], 7));
    }

    #[test]
    fn the_hash_is_what_the_spec_says() {
        assert_eq!(hash(b""), 0xEFD0_1F60_BA99_2926);
        assert_eq!(hash(b"UA"), 0x6712_C640_C350_5032);
    }
}
