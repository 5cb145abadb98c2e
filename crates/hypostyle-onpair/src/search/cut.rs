//! Cutting a needle as rows were cut.

use super::scan;
use crate::{Column, MAX_TOKEN_SIZE, Parse, Parts};

/// Cuts strings as the rows of a column were cut, if that is known.
///
/// # Invariants
///
/// 1. The rows of the column were cut into the longest tokens.
/// 2. No two tokens are equal, and `order` has all of them in order of their bytes.
pub(super) struct Cutter<'c> {
    column: &'c Column<'c>,
    /// `None` if they are numbered in order.
    order: Option<Vec<u16>>,
}

impl<'c> Cutter<'c> {
    /// `None` if it is not known how rows were cut, or equal strings may have different
    /// codes.
    pub(super) fn new(column: &'c Column<'c>) -> Option<Self> {
        if column.parts().parse != Parse::Greedy {
            return None;
        }
        if is_sorted(column.parts()) {
            return Some(Self { column, order: None });
        }
        let tokens = scan::tokens(column);
        let mut order: Vec<(Key, u16)> =
            tokens.map(|code| (key(column.table().token(code)), code)).collect();
        order.sort_unstable();
        let is_unique = order.is_sorted_by(|one, other| one.0 < other.0);
        let order = order.into_iter().map(|(_, code)| code).collect();
        is_unique.then_some(Self { column, order: Some(order) })
    }

    /// The codes of a string; `None` if no row can have it.
    pub(super) fn cut(&self, string: &[u8]) -> Option<Vec<u16>> {
        let (mut codes, mut rest) = (Vec::new(), string);
        while !rest.is_empty() {
            let code = self.longest(rest)?;
            codes.push(code);
            rest = rest.get(self.column.table().length(code)..)?;
        }
        Some(codes)
    }

    /// The longest token that a string starts with.
    fn longest(&self, string: &[u8]) -> Option<u16> {
        let mut most = string.len().min(MAX_TOKEN_SIZE);
        while most > 0 {
            let start = string.get(..most)?;
            let last = self.last_up_to(key(start))?;
            let token = self.column.table().token(last);
            let common = token.iter().zip(start).take_while(|(one, other)| one == other).count();
            if common == token.len() {
                return Some(last);
            }
            // A longer token that the string starts with would come after this one.
            most = common;
        }
        None
    }

    /// The last token in order that is not above a key.
    fn last_up_to(&self, most: Key) -> Option<u16> {
        let (mut low, mut high) = (0, self.column.parts().token_count());
        while low < high {
            let middle = low + (high - low) / 2;
            match key(self.column.table().token(self.at(middle)?)) <= most {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        self.at(low.checked_sub(1)?)
    }

    fn at(&self, place: usize) -> Option<u16> {
        match &self.order {
            Some(order) => order.get(place).copied(),
            None => u16::try_from(place).ok(),
        }
    }
}

/// As [`Parts::is_sorted`], in much less time for many tokens.
fn is_sorted(parts: &Parts<'_>) -> bool {
    let mut last = (0, 0);
    parts.dict_offsets.windows(2).all(|pair| {
        let &[start, end] = pair else { return false };
        // A column has 16 bytes behind the start of every token.
        let rest = parts.dict_bytes.get(start as usize..).and_then(<[u8]>::first_chunk);
        let Some(&bytes) = rest else { return false };
        let len = end.saturating_sub(start);
        let others = u128::MAX.checked_shr(len * 8).unwrap_or(0);
        let before = std::mem::replace(&mut last, (u128::from_be_bytes(bytes) & !others, len));
        before < last
    })
}

/// What is in order as the tokens are: bytes, and of those that differ only in zeros at
/// the end the length.
type Key = (u128, usize);

#[inline]
fn key(token: &[u8]) -> Key {
    let mut bytes = [0; MAX_TOKEN_SIZE];
    bytes.iter_mut().zip(token).for_each(|(to, from)| *to = *from);
    (u128::from_be_bytes(bytes), token.len())
}
