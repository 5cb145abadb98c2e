//! Searches a sample of leaves for rules that build strings.
//!
//! For some strings of each path, the search looks for the latest tokens of other paths inside
//! the string; those become the sources of a candidate rule. A candidate is kept if it occurs
//! often and saves more in the column than it adds to the tape.

use std::cmp::Reverse;
use std::ops::Range;

use hashbrown::{HashMap, HashSet};

use crate::pack::json::parse::{JsonLeaf, ParsedLines};
use crate::pack::json::string_rules::{LatestTokens, StringRule, StringRules, string_content};
use crate::pack::sample::spaced_pieces;
use hypostyle_core::compress::zstd;
use hypostyle_core::error::{Error, Result};

/// Runs of leaves in the sample, and the leaves of each run.
const SAMPLE_RUNS: usize = 12;
const RUN_LEAVES: usize = 6000;

/// Paths that are searched for rules: those with the most text.
const MAX_SEARCHED_PATHS: usize = 64;

/// With more paths than this, keys are data, and a rule between two paths applies too rarely.
const MAX_PATHS: usize = 1 << 15;

/// Strings of a path from which candidate rules are derived.
const EXAMPLES: usize = 96;

/// Strings that a path must have in the sample, and that a kept rule must build.
const MIN_STRINGS: usize = 8;

/// Leaves before a string that may be its sources.
const MAX_SOURCE_DISTANCE: usize = 120;

/// Longer strings are prose, which rules do not build.
const MAX_STRING_BYTES: usize = 1 << 10;

/// Bytes of a source, unless it is a separate number.
const MIN_SOURCE_BYTES: usize = 3;

/// Rules that are kept for a path, and candidates that are tried for it.
const MAX_RULES: usize = 4;
const MAX_CANDIDATES: usize = 12;

/// Different strings that a rule must build.
const MIN_DISTINCT: usize = 4;

/// Estimated bytes that a repeated string costs in its column, for each literal of the rule.
const COPY_COST: f64 = 2.0;

/// Estimated bytes on the tape for each byte of entropy of the chosen rules.
const TAPE_COST: f64 = 1.5;

/// Returns the rules for the strings of a text.
pub(in crate::pack) fn find(text: &[u8], parsed: &ParsedLines<'_>) -> Result<StringRules> {
    let sample = LeafSample {
        text,
        runs: spaced_pieces(&parsed.leaves, RUN_LEAVES, SAMPLE_RUNS),
        paths: parsed.paths,
    };
    let mut rules = StringRules { all: Vec::new(), by_path: vec![Vec::new(); parsed.paths] };
    if parsed.paths > MAX_PATHS {
        return Ok(rules);
    }
    for path in sample.searched_paths() {
        let candidates = sample.candidates(path, &rules);
        let mut kept = sample.choose(path, &candidates, &rules)?;
        let first = u32::try_from(rules.all.len()).unwrap_or(u32::MAX);
        let numbers = (first..).take(kept.len()).collect();
        rules.all.append(&mut kept);
        if let Some(rules_of_path) = rules.by_path.get_mut(path as usize) {
            *rules_of_path = numbers;
        }
    }
    Ok(rules)
}

/// A sample of the leaves of a text.
struct LeafSample<'a> {
    text: &'a [u8],
    runs: Vec<&'a [JsonLeaf]>,
    /// Number of paths in the whole text.
    paths: usize,
}

/// A string of the searched path and what precedes it.
struct StringCase<'a, 's> {
    string: &'a [u8],
    latest: &'s LatestTokens<'a>,
    /// The paths of the preceding leaves that are not derived, in order.
    preceding: &'s [u32],
}

impl<'a> LeafSample<'a> {
    /// Returns the paths with the most text in strings, in order of first appearance.
    fn searched_paths(&self) -> Vec<u32> {
        let mut found: HashMap<u32, (usize, usize, usize)> = HashMap::new();
        for (at, leaf) in self.runs.iter().copied().flatten().enumerate() {
            let (bytes, count, _) = found.entry(leaf.path).or_insert((0, 0, at));
            let string = string_content(leaf.token(self.text));
            if let Some(string) = string.filter(|it| it.len() >= MIN_SOURCE_BYTES) {
                (*bytes, *count) = (*bytes + string.len(), *count + 1);
            }
        }
        let mut found: Vec<(u32, usize, usize)> = found
            .into_iter()
            .filter(|(_, (_, count, _))| *count >= MIN_STRINGS)
            .map(|(path, (bytes, _, at))| (path, bytes, at))
            .collect();
        found.sort_unstable_by_key(|&(path, bytes, _)| (Reverse(bytes), path));
        found.truncate(MAX_SEARCHED_PATHS);
        found.sort_unstable_by_key(|&(_, _, at)| at);
        found.into_iter().map(|(path, ..)| path).collect()
    }

    /// Calls `each` for the strings of a path, with the latest tokens as the decoder knows them
    /// if `rules` apply to the other paths.
    fn visit(&self, path: u32, rules: &StringRules, mut each: impl FnMut(StringCase<'a, '_>)) {
        let mut preceding: Vec<u32> = Vec::new();
        for run in &self.runs {
            let mut latest = LatestTokens::new(self.paths);
            preceding.clear();
            for leaf in *run {
                let token = leaf.token(self.text);
                if leaf.path == path {
                    if let Some(string) = string_content(token) {
                        each(StringCase { string, latest: &latest, preceding: &preceding });
                    }
                } else if rules.find(leaf.path, token, &latest).is_some() {
                    continue;
                }
                latest.set(leaf.path, token);
                preceding.push(leaf.path);
            }
        }
    }

    /// Returns rules that build some strings of a path, the most frequent first.
    fn candidates(&self, path: u32, rules: &StringRules) -> Vec<StringRule> {
        let (mut strings, mut seen) = (0_usize, 0_usize);
        self.visit(path, rules, |_| strings += 1);
        let step = (strings / EXAMPLES).max(1);
        let mut found: HashMap<StringRule, usize> = HashMap::new();
        self.visit(path, rules, |case| {
            seen += 1;
            if seen.is_multiple_of(step) && case.string.len() <= MAX_STRING_BYTES {
                let matches = case.matches(path);
                for nearest in [true, false] {
                    if let Some(rule) = case.rule(&matches, nearest) {
                        *found.entry(rule).or_default() += 1;
                    }
                }
            }
        });
        let mut found: Vec<(StringRule, usize)> = found.into_iter().filter(|it| it.1 > 2).collect();
        found.sort_unstable_by(|one, other| {
            let key = |it: &(StringRule, usize)| (it.0.first.clone(), it.0.rest.clone());
            other.1.cmp(&one.1).then_with(|| key(one).cmp(&key(other)))
        });
        found.truncate(MAX_CANDIDATES);
        found.into_iter().map(|(rule, _)| rule).collect()
    }

    /// Returns the candidates that build the most strings of a path; none if they do not pay.
    fn choose(
        &self,
        path: u32,
        candidates: &[StringRule],
        rules: &StringRules,
    ) -> Result<Vec<StringRule>> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        // Each string, and a bit for each candidate that builds it.
        let mut cases: Vec<(&[u8], u32)> = Vec::new();
        self.visit(path, rules, |case| {
            let builds = |rule: &StringRule| rule.builds(case.string, case.latest);
            let bits = candidates.iter().zip(0..).filter(|(rule, _)| builds(rule));
            cases.push((case.string, bits.fold(0, |built, (_, bit)| built | 1 << bit)));
        });
        // A rule for few different strings saves nothing: the compressor soon knows them.
        let is_varied = |bit: u32| {
            let built = cases.iter().filter(|(_, built)| built >> bit & 1 == 1);
            built.map(|(string, _)| *string).collect::<HashSet<_>>().len() >= MIN_DISTINCT
        };
        let varied: Vec<u32> = (0..).take(candidates.len()).filter(|&bit| is_varied(bit)).collect();
        let mut kept: Vec<u32> = Vec::new();
        while kept.len() < MAX_RULES {
            let newly_built = |bit: u32| {
                let is_new = |built: u32| {
                    built >> bit & 1 == 1 && kept.iter().all(|&bit| built >> bit & 1 == 0)
                };
                cases.iter().filter(|&&(_, built)| is_new(built)).count()
            };
            let best = varied.iter().copied().max_by_key(|&bit| (newly_built(bit), u32::MAX - bit));
            match best {
                Some(bit)
                    if newly_built(bit) * 20 >= cases.len() && newly_built(bit) >= MIN_STRINGS =>
                {
                    kept.push(bit);
                }
                _ => break,
            }
        }
        if !pays(&cases, &kept, candidates)? {
            return Ok(Vec::new());
        }
        Ok(kept.iter().filter_map(|&bit| candidates.get(bit as usize).cloned()).collect())
    }
}

/// Returns whether rules save more in the column than they add to the tape.
fn pays(cases: &[(&[u8], u32)], kept: &[u32], candidates: &[StringRule]) -> Result<bool> {
    // For each string the number of its rule plus one, or 0.
    let choices: Vec<usize> = cases
        .iter()
        .map(|&(_, built)| {
            kept.iter().position(|&bit| built >> bit & 1 == 1).map_or(0, |at| at + 1)
        })
        .collect();
    let joined = |wanted: &dyn Fn(usize) -> bool| {
        let cases = cases.iter().zip(&choices).filter(|(_, choice)| wanted(**choice));
        cases.map(|((string, _), _)| *string).collect::<Vec<_>>().join(&b'\n')
    };
    let size = |bytes: &[u8]| Ok::<_, Error>(zstd::compress(bytes, 3)?.len() as f64);
    let saved = size(&joined(&|_| true))? - size(&joined(&|choice| choice == 0))?;
    // A string that repeats its sources is cheap without a rule too.
    let copies = choices.iter().filter_map(|&choice| {
        let rule = candidates.get(*kept.get(choice.checked_sub(1)?)? as usize)?;
        Some(COPY_COST * (1 + rule.rest.len()) as f64)
    });
    let saved = saved.min(copies.sum());
    Ok(saved > entropy(&choices) * TAPE_COST + 8.0)
}

/// Returns the entropy in bytes of a sequence of choices, each given the one before it.
fn entropy(choices: &[usize]) -> f64 {
    let mut pairs = [[0_u32; MAX_RULES + 1]; MAX_RULES + 1];
    for pair in choices.windows(2) {
        if let [one, other] = pair
            && let Some(count) = pairs.get_mut(*one).and_then(|row| row.get_mut(*other))
        {
            *count += 1;
        }
    }
    let bits = |row: &[u32; MAX_RULES + 1]| {
        let total: f64 = row.iter().map(|&count| f64::from(count)).sum();
        let share = |&count: &u32| f64::from(count) * (total / f64::from(count)).log2();
        row.iter().filter(|&&count| count > 0).map(share).sum::<f64>()
    };
    pairs.iter().map(bits).sum::<f64>() / 8.0
}

/// A place in a string that equals the latest token of a path.
#[derive(Clone, Debug)]
struct TokenMatch {
    range: Range<usize>,
    path: u32,
    /// How many paths occur closer to the string.
    rank: usize,
}

impl StringCase<'_, '_> {
    /// Returns where the latest tokens of other paths occur in the string.
    fn matches(&self, path: u32) -> Vec<TokenMatch> {
        let mut matches = Vec::new();
        let mut met: Vec<u32> = vec![path];
        for &path in self.preceding.iter().rev().take(MAX_SOURCE_DISTANCE) {
            if met.contains(&path) {
                continue;
            }
            met.push(path);
            let token = self.latest.get(path);
            if token.is_empty() {
                continue;
            }
            for at in memchr::memmem::find_iter(self.string, token) {
                let range = at..at + token.len();
                if token.len() >= MIN_SOURCE_BYTES || self.is_number(&range) {
                    matches.push(TokenMatch { range, path, rank: met.len() });
                }
            }
        }
        matches
    }

    /// Returns whether a range is a number that touches no other letters or digits.
    fn is_number(&self, range: &Range<usize>) -> bool {
        let is_apart = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let before = range.start.checked_sub(1).and_then(|at| self.string.get(at));
        let inside = self.string.get(range.clone()).unwrap_or_default();
        let after = self.string.get(range.end);
        inside.iter().all(u8::is_ascii_digit) && is_apart(before) && is_apart(after)
    }

    /// Builds the rule with the longest matches; among equally long ones it takes the nearest
    /// or the farthest.
    fn rule(&self, matches: &[TokenMatch], nearest: bool) -> Option<StringRule> {
        let mut sorted: Vec<&TokenMatch> = matches.iter().collect();
        sorted.sort_by_key(|found| {
            let rank = if nearest { found.rank } else { usize::MAX - found.rank };
            (usize::MAX - found.range.len(), rank, found.range.start)
        });
        let mut taken: Vec<&TokenMatch> = Vec::new();
        for found in sorted {
            let (start, end) = (found.range.start, found.range.end);
            if taken.iter().all(|other| end <= other.range.start || other.range.end <= start) {
                taken.push(found);
            }
        }
        taken.sort_by_key(|found| found.range.start);
        let literal = |from: usize, to: usize| self.string.get(from..to).map(<[u8]>::to_vec);
        let first = literal(0, taken.first()?.range.start)?;
        let ends = taken.iter().skip(1).map(|found| found.range.start);
        let ends = ends.chain([self.string.len()]);
        let rest = taken
            .iter()
            .zip(ends)
            .map(|(found, end)| Some((found.path, literal(found.range.end, end)?)))
            .collect::<Option<_>>()?;
        Some(StringRule { first, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the literals of the rules that are found for lines.
    fn found(line: impl Fn(u32) -> String) -> Vec<Vec<String>> {
        let lines: Vec<String> = (0..200).map(line).collect();
        let text = lines.join("\n");
        let parsed = ParsedLines::new(text.as_bytes());
        let literals = |rule: &StringRule| {
            let rest = rule.rest.iter().map(|(_, literal)| literal);
            let all = std::iter::once(&rule.first).chain(rest);
            all.map(|literal| String::from_utf8(literal.clone()).unwrap()).collect()
        };
        find(text.as_bytes(), &parsed).unwrap().all.iter().map(literals).collect()
    }

    /// Returns a number that looks random.
    fn random(i: u32) -> u32 {
        i.wrapping_mul(2_654_435_761) >> 4
    }

    #[test]
    fn sources_become_holes_between_literals() {
        let line = |i| {
            let (a, b) = (random(i), random(i + 1000));
            format!(r#"{{"a":{a},"b":"b{b}","c":"see {a}/b{b}.","d":"{}"}}"#, random(i + 2000))
        };
        assert_eq!(found(line), [["see ", "/", "."]]);
    }

    #[test]
    fn derived_strings_are_not_sources() {
        let line = |i| format!(r#"{{"a":{0},"b":"{0}","c":"x{0}","d":"x{0}y"}}"#, random(i));
        assert_eq!(found(line), [["", ""], ["x", ""], ["x", "y"]]);
    }

    #[test]
    fn strings_with_few_values_or_no_source_have_no_rule() {
        let few = |i| format!(r#"{{"a":{},"b":"v{}"}}"#, i % 2, i % 2);
        assert!(found(few).is_empty());
        let other = |i| format!(r#"{{"a":{},"b":"v{}"}}"#, random(i), random(i + 500));
        assert!(found(other).is_empty());
    }
}
