//! Tokenizing a needle in the same way as the rows.

use super::scan;
use crate::{Column, MAX_TOKEN_SIZE, Parse, Parts};

/// Tokenizes strings in the same way as the rows of a column.
///
/// # Invariants
///
/// 1. The rows of the column have the longest token at each position.
/// 2. No two tokens are equal, and `order` has all codes in order of their tokens.
pub(super) struct NeedleTokenizer<'c> {
    column: &'c Column<'c>,
    /// `None` if the tokens are in order.
    order: Option<Vec<u16>>,
}

impl<'c> NeedleTokenizer<'c> {
    /// Returns `None` if rows have an unknown split into tokens, or equal strings may have
    /// different codes.
    pub(super) fn new(column: &'c Column<'c>) -> Option<Self> {
        if column.parts().parse != Parse::Greedy {
            return None;
        }
        if is_sorted(column.parts()) {
            return Some(Self { column, order: None });
        }
        let tokens = scan::tokens(column);
        let mut order: Vec<(Key, u16)> =
            tokens.map(|code| (key(column.decode_table().token(code)), code)).collect();
        order.sort_unstable();
        let is_unique = order.is_sorted_by(|one, other| one.0 < other.0);
        let order = order.into_iter().map(|(_, code)| code).collect();
        is_unique.then_some(Self { column, order: Some(order) })
    }

    /// Returns the codes of a string; `None` if no row can contain it.
    pub(super) fn tokenize(&self, string: &[u8]) -> Option<Vec<u16>> {
        let (mut codes, mut rest) = (Vec::new(), string);
        while !rest.is_empty() {
            let code = self.longest(rest)?;
            codes.push(code);
            rest = rest.get(self.column.decode_table().length(code)..)?;
        }
        Some(codes)
    }

    /// Returns the longest token that a string starts with.
    fn longest(&self, string: &[u8]) -> Option<u16> {
        let mut max_len = string.len().min(MAX_TOKEN_SIZE);
        while max_len > 0 {
            let start = string.get(..max_len)?;
            let last = self.last_up_to(key(start))?;
            let token = self.column.decode_table().token(last);
            let common = token.iter().zip(start).take_while(|(one, other)| one == other).count();
            if common == token.len() {
                return Some(last);
            }
            // A longer token that the string starts with would be after this one in order.
            max_len = common;
        }
        None
    }

    /// Returns the last token in order that is at most `max`.
    fn last_up_to(&self, max: Key) -> Option<u16> {
        let (mut low, mut high) = (0, self.column.parts().token_count());
        while low < high {
            let middle = low + (high - low) / 2;
            if key(self.column.decode_table().token(self.at(middle)?)) <= max {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.at(low.checked_sub(1)?)
    }

    fn at(&self, position: usize) -> Option<u16> {
        match &self.order {
            Some(order) => order.get(position).copied(),
            None => u16::try_from(position).ok(),
        }
    }
}

/// Does the same as [`Parts::is_sorted`], but faster for many tokens.
fn is_sorted(parts: &Parts<'_>) -> bool {
    let mut last = (0, 0);
    parts.dict_offsets.windows(2).all(|pair| {
        let &[start, end] = pair else { return false };
        // A checked column has 16 bytes from the start of every token on.
        let rest = parts.dict_bytes.get(start as usize..).and_then(<[u8]>::first_chunk);
        let Some(&bytes) = rest else { return false };
        let len = end.saturating_sub(start);
        let others = u128::MAX.checked_shr(len * 8).unwrap_or(0);
        let before = std::mem::replace(&mut last, (u128::from_be_bytes(bytes) & !others, len));
        before < last
    })
}

/// A key with the order of tokens: the bytes padded with zeros, then the length, which orders
/// tokens that differ only in zeros at the end.
type Key = (u128, usize);

#[inline]
fn key(token: &[u8]) -> Key {
    let mut bytes = [0; MAX_TOKEN_SIZE];
    bytes.iter_mut().zip(token).for_each(|(to, from)| *to = *from);
    (u128::from_be_bytes(bytes), token.len())
}
