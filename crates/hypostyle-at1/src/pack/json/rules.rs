//! Strings that are made of what other values say (§7.3): `"https://x/7"` beside `7`.
//!
//! A rule is literal text around the latest tokens of other columns. `mine` finds rules
//! on a sample; here they are tried on every string, and used where they hold.

use super::mine;
use super::parse::{Parsed, token};
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// How a string is made: literal text, and between each two a source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::pack) struct Rule {
    pub(in crate::pack) first: Vec<u8>,
    /// The path of a source, and the text behind it.
    pub(in crate::pack) rest: Vec<(u32, Vec<u8>)>,
}

impl Rule {
    /// Whether it makes this string out of the latest tokens.
    pub(in crate::pack) fn makes(&self, string: &[u8], latest: &Latest<'_>) -> bool {
        let mut left = string.strip_prefix(self.first.as_slice());
        for (path, literal) in &self.rest {
            left = left
                .and_then(|left| left.strip_prefix(latest.of(*path)))
                .and_then(|left| left.strip_prefix(literal.as_slice()));
        }
        left.is_some_and(<[u8]>::is_empty)
    }
}

/// The latest token of each path, without quotes.
#[derive(Debug)]
pub(in crate::pack) struct Latest<'a>(Vec<&'a [u8]>);

impl<'a> Latest<'a> {
    pub(in crate::pack) fn new(paths: usize) -> Self {
        Self(vec![&[]; paths])
    }

    pub(in crate::pack) fn of(&self, path: u32) -> &'a [u8] {
        self.0.get(path as usize).copied().unwrap_or_default()
    }

    pub(in crate::pack) fn set(&mut self, path: u32, token: &'a [u8]) {
        if let Some(latest) = self.0.get_mut(path as usize) {
            *latest = bare(token);
        }
    }
}

/// A token as sources have it.
fn bare(token: &[u8]) -> &[u8] {
    match token {
        [b'"', inner @ .., _] => inner,
        _ => token,
    }
}

/// What is between the quotes, if a token is a string.
pub(in crate::pack) fn string(token: &[u8]) -> Option<&[u8]> {
    match token {
        [b'"', inner @ .., b'"'] => Some(inner),
        _ => None,
    }
}

/// Rules that strings of each path may be made by, the most frequent first.
#[derive(Debug, Default)]
pub(in crate::pack) struct Rules {
    pub(in crate::pack) all: Vec<Rule>,
    pub(in crate::pack) of_path: Vec<Vec<u32>>,
}

impl Rules {
    /// The rule that makes this token.
    pub(in crate::pack) fn find(
        &self,
        path: u32,
        token: &[u8],
        latest: &Latest<'_>,
    ) -> Option<u32> {
        let rules = self.of_path.get(path as usize).filter(|rules| !rules.is_empty())?;
        let string = string(token)?;
        let makes = |&rule: &u32| {
            self.all.get(rule as usize).is_some_and(|rule| rule.makes(string, latest))
        };
        rules.iter().copied().find(makes)
    }
}

/// Which leaves are derived, and how.
#[derive(Debug, Default)]
pub(in crate::pack) struct Derived {
    rules: Vec<Rule>,
    /// One more than the rule of each leaf; 0 if it has none. Empty if none has.
    of_leaf: Vec<u32>,
}

impl Derived {
    /// Finds rules, and the leaves that they make.
    pub(in crate::pack) fn new(text: &[u8], parsed: &Parsed<'_>) -> Result<Self> {
        let rules = mine::rules(text, parsed)?;
        if rules.all.is_empty() {
            return Ok(Self::default());
        }
        let mut latest = Latest::new(parsed.paths);
        let mut numbers = vec![0; rules.all.len()];
        let mut derived = Self { rules: Vec::new(), of_leaf: vec![0; parsed.leaves.len()] };
        for (leaf, place) in parsed.leaves.iter().zip(&mut derived.of_leaf) {
            let token = token(text, leaf);
            let Some(found) = rules.find(leaf.path, token, &latest) else {
                latest.set(leaf.path, token);
                continue;
            };
            // Rules that are never used get no number.
            let (Some(number), Some(rule)) =
                (numbers.get_mut(found as usize), rules.all.get(found as usize))
            else {
                continue;
            };
            if *number == 0 {
                derived.rules.push(rule.clone());
                *number = u32::try_from(derived.rules.len()).unwrap_or_default();
            }
            *place = *number;
        }
        Ok(derived)
    }

    /// The rule of a leaf.
    pub(in crate::pack) fn rule(&self, leaf: usize) -> Option<u64> {
        self.of_leaf.get(leaf).and_then(|&rule| rule.checked_sub(1)).map(u64::from)
    }

    /// The content of `rules`, with a column for each path.
    pub(in crate::pack) fn content(&self, columns: &[u64]) -> Vec<u8> {
        let mut out = Vec::new();
        put::uv(&mut out, self.rules.len() as u64);
        for Rule { first, rest } in &self.rules {
            put::uv(&mut out, rest.len() as u64 + 1);
            put::lp(&mut out, first);
            rest.iter().for_each(|(_, literal)| put::lp(&mut out, literal));
            put::uv(&mut out, rest.len() as u64);
            for (path, _) in rest {
                put::uv(&mut out, columns.get(*path as usize).copied().unwrap_or_default());
            }
        }
        out
    }
}
