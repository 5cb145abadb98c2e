//! Which strings tokens are learned from.

use crate::strings::Strings;
use crate::train::{Token, width};

/// The strings that tokens are learned from.
///
/// They are copied, so that going through them is going through memory.
#[derive(Debug)]
pub(crate) struct Sample {
    text: Vec<u8>,
    lengths: Vec<u32>,
    /// Bytes that there are for each one of the sample.
    scale: f64,
}

/// Bytes of a string that are learned from in one piece: what meets far apart in one
/// long string would otherwise not be learned from at all.
const PIECE: usize = 4 << 10;

impl Sample {
    /// Some strings from all over, in an order that has nothing to do with theirs.
    pub(crate) fn new(strings: &(impl Strings + ?Sized), bytes: usize, seed: u64) -> Self {
        let total: usize = (0..strings.len()).map(|row| strings.get(row).len()).sum();
        let mut sample =
            Self { text: Vec::with_capacity(bytes.min(total)), lengths: Vec::new(), scale: 1.0 };
        let rows = strings.len();
        // Every step is the same, and meets every row before it meets one twice.
        let mut step = (rows as u64).wrapping_mul(0x9E37_79B9) >> 32 | 1;
        while gcd(step, rows as u64) > 1 {
            step += 2;
        }
        let mut row = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (rows as u64).max(1);
        let mut left = rows;
        while left > 0 && sample.text.len() < bytes {
            let string = strings.get(usize::try_from(row).unwrap_or(0));
            // Of a string that is longer than all of the sample may be, some places.
            let skip = (string.len() / bytes.max(1)).max(1);
            for piece in string.chunks(PIECE).step_by(skip) {
                sample.text.extend_from_slice(piece);
                sample.lengths.push(u32::try_from(piece.len()).unwrap_or(0));
            }
            row = (row + step) % rows as u64;
            left -= 1;
        }
        sample.scale = total as f64 / sample.text.len().max(1) as f64;
        sample
    }

    /// Bytes of the sample.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// What all strings take at so many codes for a byte, dictionary and all.
    pub(crate) fn cost(&self, codes: f64, tokens: &[Token]) -> f64 {
        self.cost_with(codes, width(tokens.len()), tokens.iter())
    }

    pub(crate) fn cost_with<'t>(
        &self,
        codes: f64,
        bits: u32,
        tokens: impl Iterator<Item = &'t Token>,
    ) -> f64 {
        // Neighbours share about half of their bytes.
        let dictionary: usize = tokens.map(|token| token.bytes().len() / 2 + 1).sum();
        let bytes = self.text.len() as f64 * self.scale;
        codes * bytes * f64::from(bits) / 8.0 + dictionary as f64
    }

    pub(crate) fn pieces(&self) -> Vec<&[u8]> {
        let mut rest = &self.text[..];
        let cut = |&len: &u32| {
            let (piece, after) = rest.split_at_checked(len as usize).unwrap_or((rest, &[]));
            rest = after;
            piece
        };
        self.lengths.iter().map(cut).collect()
    }
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}
