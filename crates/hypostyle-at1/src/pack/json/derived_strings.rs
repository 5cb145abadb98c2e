//! Strings that a rule derives from other values of the same lines (§7.3).
//!
//! `rule_search` finds rules on a sample. This module tries them on every string and records
//! the strings that a rule builds; those are left out of the token columns.

use crate::pack::json::parse::ParsedLines;
use crate::pack::json::rule_search;
use crate::pack::json::string_rules::{LatestTokens, StringRule};
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Which leaves are derived, and the rules that derive them.
#[derive(Debug, Default)]
pub(in crate::pack) struct DerivedStrings {
    rules: Vec<StringRule>,
    /// For each leaf its rule plus one, or 0 if it has none. Empty if no leaf has a rule.
    rule_of_leaf: Vec<u32>,
}

impl DerivedStrings {
    /// Searches for rules and applies them to all leaves.
    pub(in crate::pack) fn new(text: &[u8], parsed: &ParsedLines<'_>) -> Result<Self> {
        let rules = rule_search::find(text, parsed)?;
        if rules.all.is_empty() {
            return Ok(Self::default());
        }
        let mut latest = LatestTokens::new(parsed.paths);
        let mut numbers = vec![0; rules.all.len()];
        let mut derived = Self { rules: Vec::new(), rule_of_leaf: vec![0; parsed.leaves.len()] };
        for (leaf, rule_of_leaf) in parsed.leaves.iter().zip(&mut derived.rule_of_leaf) {
            let token = leaf.token(text);
            let Some(found) = rules.find(leaf.path, token, &latest) else {
                latest.set(leaf.path, token);
                continue;
            };
            // Only rules that are used get a number.
            let (Some(number), Some(rule)) =
                (numbers.get_mut(found as usize), rules.all.get(found as usize))
            else {
                continue;
            };
            if *number == 0 {
                derived.rules.push(rule.clone());
                *number = u32::try_from(derived.rules.len()).unwrap_or_default();
            }
            *rule_of_leaf = *number;
        }
        Ok(derived)
    }

    /// Returns the number of the rule that derives a leaf; `None` if the leaf is not derived.
    pub(in crate::pack) fn rule(&self, leaf: usize) -> Option<u64> {
        self.rule_of_leaf.get(leaf).and_then(|&rule| rule.checked_sub(1)).map(u64::from)
    }

    /// Returns the content of stream `rules`; `columns` maps paths to column numbers.
    pub(in crate::pack) fn content(&self, columns: &[u64]) -> Vec<u8> {
        let mut out = Vec::new();
        put::uv(&mut out, self.rules.len() as u64);
        for StringRule { first, rest } in &self.rules {
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
