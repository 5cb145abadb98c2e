//! Finds what a column chunk repeats, at any distance.
//!
//! A piece of a chunk cannot copy from the pieces before it. Two neighbouring pieces show what
//! a cut between them loses, but not that a piece repeats one far before it. So the chunk is
//! searched for repeats in one pass: a hash of the last bytes selects some positions, and a
//! table has the last position with each hash.

/// Bytes that a hash depends on: it moves by one bit with each byte.
const WINDOW_BYTES: usize = u32::BITS as usize;

/// One position in 32 is selected: that is enough to measure long repeats, and takes about
/// 1 % of the time of packing.
const SELECTED_SHIFT: u32 = 27;

/// The number of pieces doubles with each level up to this one.
const MAX_LEVEL: usize = 10;

/// Maximum bits of the number of positions that are remembered.
const MAX_TABLE_BITS: u32 = 21;

/// A random number for each byte.
const BYTE_HASHES: [u32; 256] = byte_hashes();

/// The repeats of a chunk, by the pieces that separate them.
#[derive(Clone, Debug, Default)]
pub(in crate::pack) struct FarRepeats {
    /// For each level, the bytes that pieces of this level separate from the last place where
    /// they were before, and that larger pieces do not.
    separated: [usize; MAX_LEVEL + 1],
}

impl FarRepeats {
    /// Adds the repeats inside a section of a chunk.
    pub(in crate::pack) fn add(&mut self, section: &[u8]) {
        let bits = (section.len() / 8).max(2).ilog2().min(MAX_TABLE_BITS);
        let mut last_positions = vec![(0_u32, 0_u32); 1 << bits];
        let (mut hash, mut after_last) = (0_u32, 0);
        for (at, &byte) in section.iter().enumerate() {
            hash = (hash << 1).wrapping_add(BYTE_HASHES.get(usize::from(byte)).map_or(0, |it| *it));
            let mixed = hash.wrapping_mul(0x9E37_79B1);
            if mixed >> SELECTED_SHIFT != 0 || at < WINDOW_BYTES {
                continue;
            }
            // The highest bits are the same for all selected positions.
            let slot = (mixed << (u32::BITS - SELECTED_SHIFT)) >> (u32::BITS - bits);
            let position = u32::try_from(at).unwrap_or(u32::MAX);
            if let Some(last) = last_positions.get_mut(slot as usize) {
                if last.0 == hash
                    && last.1 > 0
                    && let Some(level) = separating_level(last.1 as usize, at, section.len())
                    && let Some(bytes) = self.separated.get_mut(level)
                {
                    *bytes += (at + 1 - after_last).min(4 * WINDOW_BYTES);
                }
                *last = (hash, position);
            }
            after_last = at + 1;
        }
    }

    /// Returns the bytes that are also in the chunk before them, but in none of their own
    /// piece, if the chunk is cut into so many pieces.
    pub(in crate::pack) fn lost_bytes(&self, pieces: f64) -> f64 {
        let level = pieces.max(1.0).log2().ceil();
        let levels = self.separated.iter().enumerate();
        levels.filter(|(at, _)| *at as f64 <= level).map(|(_, bytes)| *bytes as f64).sum()
    }
}

/// Returns the first level at which two positions are in different pieces.
fn separating_level(one: usize, other: usize, len: usize) -> Option<usize> {
    let piece = |at: usize| (at << MAX_LEVEL) / len.max(1);
    let highest = (piece(one) ^ piece(other)).checked_ilog2()?;
    MAX_LEVEL.checked_sub(highest as usize)
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn byte_hashes() -> [u32; 256] {
    let mut hashes = [0; 256];
    let (mut state, mut at) = (0x2545_F491_u32, 0);
    while at < hashes.len() {
        // The xorshift generator of Marsaglia.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        hashes[at] = state;
        at += 1;
    }
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes that do not repeat.
    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            state.to_be_bytes()[0]
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    fn lost(section: &[u8], pieces: f64) -> f64 {
        let mut repeats = FarRepeats::default();
        repeats.add(section);
        repeats.lost_bytes(pieces)
    }

    #[test]
    fn repeats_are_lost_where_a_cut_separates_them() {
        let noise = noise(100_000);
        assert!(lost(&noise, 1024.0) < 100.0);
        // Eight blocks, each of them twice.
        let doubled: Vec<u8> =
            noise.chunks(12_500).flat_map(|block| [block, block].concat()).collect();
        assert!(lost(&doubled, 1.0) < 1.0 && lost(&doubled, 8.0) < 1000.0);
        assert!((80_000.0..110_000.0).contains(&lost(&doubled, 16.0)));
        // Two pieces separate each byte from its copy.
        let twice = noise.repeat(2);
        assert!((80_000.0..110_000.0).contains(&lost(&twice, 2.0)));
    }

    #[test]
    fn runs_and_short_sections_lose_nothing() {
        for byte in 0..=255 {
            assert!(lost(&[byte; 50_000], 16.0) < 16.0 * 64.0);
        }
        for len in 0..100 {
            assert!(lost(&noise(len), 1024.0) < 1.0);
        }
    }
}
