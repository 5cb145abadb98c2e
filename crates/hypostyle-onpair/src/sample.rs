//! Choosing the strings that the dictionary is learned from.

use crate::strings::Strings;
use crate::token::{Token, width};

/// A sample of the strings, copied into contiguous memory.
#[derive(Debug)]
pub(crate) struct Sample {
    text: Vec<u8>,
    piece_lengths: Vec<u32>,
    /// Size of all strings, relative to the size of the sample.
    scale: f64,
}

/// Maximum size of a piece. Long strings are split, so that the sample can take pieces from
/// all over them.
const MAX_PIECE_BYTES: usize = 4 << 10;

impl Sample {
    /// Copies about `max_bytes` from rows all over the column, in pseudo-random order.
    ///
    /// `rows` and `total_bytes` are the number of strings and their total size.
    pub(crate) fn new(
        strings: &(impl Strings + ?Sized),
        rows: usize,
        total_bytes: u64,
        max_bytes: usize,
        seed: u64,
    ) -> Self {
        let capacity = usize::try_from(total_bytes).unwrap_or(usize::MAX).min(max_bytes);
        let mut sample =
            Self { text: Vec::with_capacity(capacity), piece_lengths: Vec::new(), scale: 1.0 };
        // A constant step that is coprime to the number of rows visits each row once.
        let mut step = (rows as u64).wrapping_mul(0x9E37_79B9) >> 32 | 1;
        while gcd(step, rows as u64) > 1 {
            step += 2;
        }
        let mut row = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (rows as u64).max(1);
        let mut left = rows;
        while left > 0 && sample.text.len() < max_bytes {
            let string = strings.get(usize::try_from(row).unwrap_or(0));
            // Of a string longer than the whole sample, take pieces at regular distances.
            let skip = (string.len() / max_bytes.max(1)).max(1);
            for piece in string.chunks(MAX_PIECE_BYTES).step_by(skip) {
                sample.text.extend_from_slice(piece);
                sample.piece_lengths.push(u32::try_from(piece.len()).unwrap_or(0));
            }
            row = (row + step) % rows as u64;
            left -= 1;
        }
        sample.scale = total_bytes as f64 / sample.text.len().max(1) as f64;
        sample
    }

    /// Returns the size of the sample in bytes.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Estimates the size of all strings and the dictionary, given the number of codes per
    /// byte.
    pub(crate) fn cost(&self, codes_per_byte: f64, tokens: &[Token]) -> f64 {
        self.cost_with(codes_per_byte, width(tokens.len()), tokens.iter())
    }

    /// Estimates the same for codes of `bits`.
    pub(crate) fn cost_with<'t>(
        &self,
        codes_per_byte: f64,
        bits: u32,
        tokens: impl Iterator<Item = &'t Token>,
    ) -> f64 {
        // Neighbouring tokens share about half of their bytes.
        let dictionary: usize = tokens.map(|token| token.bytes().len() / 2 + 1).sum();
        let bytes = self.text.len() as f64 * self.scale;
        codes_per_byte * bytes * f64::from(bits) / 8.0 + dictionary as f64
    }

    /// Returns the pieces of the sample.
    pub(crate) fn pieces(&self) -> Vec<&[u8]> {
        let mut rest = &self.text[..];
        let next_piece = |&len: &u32| {
            let (piece, after) = rest.split_at_checked(len as usize).unwrap_or((rest, &[]));
            rest = after;
            piece
        };
        self.piece_lengths.iter().map(next_piece).collect()
    }
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}
