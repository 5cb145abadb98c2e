//! Simple reference implementations that tests compare with.

use crate::{Parts, Pattern};

/// Tokenizes a string with the longest token at each position.
pub(crate) fn tokenize(tokens: &[&[u8]], string: &[u8]) -> Vec<u16> {
    let (mut codes, mut rest) = (Vec::new(), string);
    while !rest.is_empty() {
        let fits = tokens.iter().enumerate().filter(|(_, token)| rest.starts_with(token));
        let (code, token) = fits.max_by_key(|(_, token)| token.len()).unwrap();
        codes.push(u16::try_from(code).unwrap());
        rest = &rest[token.len()..];
    }
    codes
}

/// Returns the minimum number of tokens of a string.
pub(crate) fn fewest(tokens: &[&[u8]], string: &[u8]) -> usize {
    let mut min_codes = vec![0; string.len() + 1];
    for start in (0..string.len()).rev() {
        let fits = tokens.iter().filter(|token| string[start..].starts_with(token));
        min_codes[start] = 1 + fits.map(|token| min_codes[start + token.len()]).min().unwrap();
    }
    min_codes[0]
}

/// Decodes all rows, bit by bit.
pub(crate) fn decode(parts: &Parts<'_>) -> Vec<u8> {
    let last = parts.row_offsets.len() - 1;
    let codes = parts.row_offsets.get(0).unwrap()..parts.row_offsets.get(last).unwrap();
    let bit = |at: usize| usize::from(parts.codes[at / 8] >> (at % 8) & 1);
    let bits = parts.bits as usize;
    let code = |index: usize| (0..bits).map(|at| bit(index * bits + at) << at).sum();
    codes.flat_map(|index| parts.token(code(index)).to_vec()).collect()
}

/// Returns whether a string matches a pattern.
pub(crate) fn matches(pattern: &Pattern<'_>, string: &[u8]) -> bool {
    let contains = |string: &[u8], needle: &[u8]| {
        (0..=string.len()).any(|start| string[start..].starts_with(needle))
    };
    match *pattern {
        Pattern::Equals(needle) => string == needle,
        Pattern::AnyOf(needles) => needles.contains(&string),
        Pattern::StartsWith(needle) => string.starts_with(needle),
        Pattern::EndsWith(needle) => string.ends_with(needle),
        Pattern::Contains(needle) => contains(string, needle),
        Pattern::ContainsIgnoringCase(needle) => {
            contains(&string.to_ascii_lowercase(), &needle.to_ascii_lowercase())
        }
    }
}
