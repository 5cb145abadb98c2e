//! Finding rules on a sample.
//!
//! Strings of a path are compared with what came shortly before them: where the tokens
//! of other paths are in it, they become sources. What is found often, and saves more
//! than it takes to say where it holds, is kept.

use std::ops::Range;

use hashbrown::{HashMap, HashSet};

use super::parse::{Leaf, Parsed, token};
use super::rules::{Latest, Rule, Rules, string};
use crate::pack::sample::spaced_pieces;
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;

/// Runs of leaves that a sample has, and the leaves of each.
const RUNS: usize = 12;
const RUN: usize = 6000;

/// Paths that rules are looked for, at most: those with most text.
const PATHS: usize = 64;

/// With more paths than this, keys are data, and what goes together is not to be found.
const MANY: usize = 1 << 15;

/// Strings of a path that are looked at closely.
const EXAMPLES: usize = 96;

/// Strings of a path that there must be in a sample.
const LEAST: usize = 8;

/// Leaves before a string that may be its sources.
const BACK: usize = 120;

/// Longer strings are text, and nobody puts text together of so few parts.
const LONGEST: usize = 1 << 10;

/// Bytes of a source, unless it is a number that stands by itself.
const SOURCE: usize = 3;

/// Rules of a path, and those that are tried for it.
const KEPT: usize = 4;
const TRIED: usize = 12;

/// Different strings that a rule must make.
const VARIED: usize = 4;

/// Bytes that a string takes which has been said before, for each of its sources.
const COPY: f64 = 2.0;

/// What a byte of entropy takes on the tape.
const TAPE: f64 = 1.5;

/// The rules for the strings of a text.
pub(in crate::pack) fn rules(text: &[u8], parsed: &Parsed<'_>) -> Result<Rules> {
    let sample =
        Sample { text, leaves: spaced_pieces(&parsed.leaves, RUN, RUNS), paths: parsed.paths };
    let mut rules = Rules { all: Vec::new(), of_path: vec![Vec::new(); parsed.paths] };
    if parsed.paths > MANY {
        return Ok(rules);
    }
    for path in sample.candidates() {
        let found = sample.mine(path, &rules);
        let mut kept = sample.choose(path, &found, &rules)?;
        let first = u32::try_from(rules.all.len()).unwrap_or(u32::MAX);
        let numbers = (first..).take(kept.len()).collect();
        rules.all.append(&mut kept);
        if let Some(place) = rules.of_path.get_mut(path as usize) {
            *place = numbers;
        }
    }
    Ok(rules)
}

/// Some leaves of a text.
struct Sample<'a> {
    text: &'a [u8],
    leaves: Vec<&'a [Leaf]>,
    paths: usize,
}

/// A string of the path that is looked at.
struct Case<'a, 's> {
    string: &'a [u8],
    latest: &'s Latest<'a>,
    /// The leaves that came before it and are not derived.
    before: &'s [u32],
}

impl<'a> Sample<'a> {
    /// The paths with most text in strings, in the order in which they come.
    fn candidates(&self) -> Vec<u32> {
        let mut found: HashMap<u32, (usize, usize, usize)> = HashMap::new();
        for (at, leaf) in self.leaves.iter().copied().flatten().enumerate() {
            let (bytes, count, _) = found.entry(leaf.path).or_insert((0, 0, at));
            if let Some(string) = string(token(self.text, leaf)).filter(|it| it.len() >= SOURCE) {
                (*bytes, *count) = (*bytes + string.len(), *count + 1);
            }
        }
        let mut found: Vec<(u32, usize, usize)> = found
            .into_iter()
            .filter(|(_, (_, count, _))| *count >= LEAST)
            .map(|(path, (bytes, _, at))| (path, bytes, at))
            .collect();
        found.sort_unstable_by_key(|&(path, bytes, _)| (std::cmp::Reverse(bytes), path));
        found.truncate(PATHS);
        found.sort_unstable_by_key(|&(_, _, at)| at);
        found.into_iter().map(|(path, ..)| path).collect()
    }

    /// Calls `each` for the strings of a path, as they are met if `rules` are used.
    fn visit(&self, path: u32, rules: &Rules, mut each: impl FnMut(Case<'a, '_>)) {
        let mut before: Vec<u32> = Vec::new();
        for run in &self.leaves {
            let mut latest = Latest::new(self.paths);
            before.clear();
            for leaf in *run {
                let token = token(self.text, leaf);
                if leaf.path == path {
                    if let Some(string) = string(token) {
                        each(Case { string, latest: &latest, before: &before });
                    }
                } else if rules.find(leaf.path, token, &latest).is_some() {
                    continue;
                }
                latest.set(leaf.path, token);
                before.push(leaf.path);
            }
        }
    }

    /// Rules that make some strings of a path, the most frequent first.
    fn mine(&self, path: u32, rules: &Rules) -> Vec<Rule> {
        let (mut strings, mut seen) = (0_usize, 0_usize);
        self.visit(path, rules, |_| strings += 1);
        let step = (strings / EXAMPLES).max(1);
        let mut found: HashMap<Rule, usize> = HashMap::new();
        self.visit(path, rules, |case| {
            seen += 1;
            if seen.is_multiple_of(step) && case.string.len() <= LONGEST {
                let sources = case.sources(path);
                for nearest in [true, false] {
                    if let Some(rule) = case.rule(&sources, nearest) {
                        *found.entry(rule).or_default() += 1;
                    }
                }
            }
        });
        let mut found: Vec<(Rule, usize)> = found.into_iter().filter(|it| it.1 > 2).collect();
        found.sort_unstable_by(|one, other| {
            let key = |it: &(Rule, usize)| (it.0.first.clone(), it.0.rest.clone());
            other.1.cmp(&one.1).then_with(|| key(one).cmp(&key(other)))
        });
        found.truncate(TRIED);
        found.into_iter().map(|(rule, _)| rule).collect()
    }

    /// Those of some rules that make most strings of a path, if they pay.
    fn choose(&self, path: u32, found: &[Rule], rules: &Rules) -> Result<Vec<Rule>> {
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let mut cases: Vec<(&[u8], u32)> = Vec::new();
        self.visit(path, rules, |case| {
            let makes = |rule: &Rule| rule.makes(case.string, case.latest);
            let made = found.iter().zip(0..).filter(|(rule, _)| makes(rule));
            cases.push((case.string, made.fold(0, |made, (_, bit)| made | 1 << bit)));
        });
        // A rule that makes few different strings saves nothing: they are known soon.
        let varied = |bit: u32| {
            let made = cases.iter().filter(|(_, made)| made >> bit & 1 == 1);
            made.map(|(string, _)| *string).collect::<HashSet<_>>().len() >= VARIED
        };
        let varied: Vec<u32> = (0..).take(found.len()).filter(|&bit| varied(bit)).collect();
        let mut kept: Vec<u32> = Vec::new();
        while kept.len() < KEPT {
            let new = |bit: u32| {
                let is_new = |made: u32| {
                    made >> bit & 1 == 1 && kept.iter().all(|&bit| made >> bit & 1 == 0)
                };
                cases.iter().filter(|&&(_, made)| is_new(made)).count()
            };
            let best = varied.iter().copied().max_by_key(|&bit| (new(bit), u32::MAX - bit));
            match best {
                Some(bit) if new(bit) * 20 >= cases.len() && new(bit) >= LEAST => kept.push(bit),
                _ => break,
            }
        }
        if !pays(&cases, &kept, found)? {
            return Ok(Vec::new());
        }
        Ok(kept.iter().filter_map(|&bit| found.get(bit as usize).cloned()).collect())
    }
}

/// Whether rules save more in the column than they add to the tape.
fn pays(cases: &[(&[u8], u32)], kept: &[u32], found: &[Rule]) -> Result<bool> {
    let choices: Vec<usize> = cases
        .iter()
        .map(|&(_, made)| kept.iter().position(|&bit| made >> bit & 1 == 1).map_or(0, |at| at + 1))
        .collect();
    let joined = |left: &dyn Fn(usize) -> bool| {
        let cases = cases.iter().zip(&choices).filter(|(_, choice)| left(**choice));
        cases.map(|((string, _), _)| *string).collect::<Vec<_>>().join(&b'\n')
    };
    let size = |bytes: &[u8]| {
        Ok::<_, hypostyle_core::error::Error>(zstd::compress(bytes, 3)?.len() as f64)
    };
    let saved = size(&joined(&|_| true))? - size(&joined(&|choice| choice == 0))?;
    // What is like its sources takes little as it is.
    let copies = choices.iter().filter_map(|&choice| {
        let rule = found.get(*kept.get(choice.checked_sub(1)?)? as usize)?;
        Some(COPY * (1 + rule.rest.len()) as f64)
    });
    let saved = saved.min(copies.sum());
    Ok(saved > entropy(&choices) * TAPE + 8.0)
}

/// Bytes that it takes to say a sequence of choices, each after the one before.
fn entropy(choices: &[usize]) -> f64 {
    let mut pairs = [[0_u32; KEPT + 1]; KEPT + 1];
    for pair in choices.windows(2) {
        if let [one, other] = pair
            && let Some(count) = pairs.get_mut(*one).and_then(|row| row.get_mut(*other))
        {
            *count += 1;
        }
    }
    let bits = |row: &[u32; KEPT + 1]| {
        let total: f64 = row.iter().map(|&count| f64::from(count)).sum();
        let share = |&count: &u32| f64::from(count) * (total / f64::from(count)).log2();
        row.iter().filter(|&&count| count > 0).map(share).sum::<f64>()
    };
    pairs.iter().map(bits).sum::<f64>() / 8.0
}

/// A place of a string where the token of a path is.
#[derive(Clone, Debug)]
struct Source {
    place: Range<usize>,
    path: u32,
    /// How many paths are nearer.
    rank: usize,
}

impl Case<'_, '_> {
    /// Where the latest tokens of other paths are in the string.
    fn sources(&self, path: u32) -> Vec<Source> {
        let mut sources = Vec::new();
        let mut met: Vec<u32> = vec![path];
        for &path in self.before.iter().rev().take(BACK) {
            if met.contains(&path) {
                continue;
            }
            met.push(path);
            let token = self.latest.of(path);
            if token.is_empty() {
                continue;
            }
            for at in memchr::memmem::find_iter(self.string, token) {
                let place = at..at + token.len();
                if token.len() >= SOURCE || self.is_number(&place) {
                    sources.push(Source { place, path, rank: met.len() });
                }
            }
        }
        sources
    }

    /// Whether the bytes of a place are a number by itself.
    fn is_number(&self, place: &Range<usize>) -> bool {
        let apart = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let before = place.start.checked_sub(1).and_then(|at| self.string.get(at));
        let inside = self.string.get(place.clone()).unwrap_or_default();
        inside.iter().all(u8::is_ascii_digit) && apart(before) && apart(self.string.get(place.end))
    }

    /// The rule that takes the longest sources, and of those as long the nearest ones
    /// or the farthest.
    fn rule(&self, sources: &[Source], nearest: bool) -> Option<Rule> {
        let mut sorted: Vec<&Source> = sources.iter().collect();
        sorted.sort_by_key(|source| {
            let rank = if nearest { source.rank } else { usize::MAX - source.rank };
            (usize::MAX - source.place.len(), rank, source.place.start)
        });
        let mut taken: Vec<&Source> = Vec::new();
        for source in sorted {
            let (start, end) = (source.place.start, source.place.end);
            if taken.iter().all(|other| end <= other.place.start || other.place.end <= start) {
                taken.push(source);
            }
        }
        taken.sort_by_key(|source| source.place.start);
        let literal = |from: usize, to: usize| self.string.get(from..to).map(<[u8]>::to_vec);
        let first = literal(0, taken.first()?.place.start)?;
        let nexts = taken.iter().skip(1).map(|source| source.place.start);
        let nexts = nexts.chain([self.string.len()]);
        let rest = taken
            .iter()
            .zip(nexts)
            .map(|(source, next)| Some((source.path, literal(source.place.end, next)?)))
            .collect::<Option<_>>()?;
        Some(Rule { first, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules that are found for lines, by their literals.
    fn found(line: impl Fn(u32) -> String) -> Vec<Vec<String>> {
        let lines: Vec<String> = (0..200).map(line).collect();
        let text = lines.join("\n");
        let parsed = Parsed::new(text.as_bytes());
        let literals = |rule: &Rule| {
            let rest = rule.rest.iter().map(|(_, literal)| literal);
            let all = std::iter::once(&rule.first).chain(rest);
            all.map(|literal| String::from_utf8(literal.clone()).unwrap()).collect()
        };
        rules(text.as_bytes(), &parsed).unwrap().all.iter().map(literals).collect()
    }

    /// A number that looks like chance.
    fn chance(i: u32) -> u32 {
        i.wrapping_mul(2_654_435_761) >> 4
    }

    #[test]
    fn sources_are_found_where_they_are() {
        let line = |i| {
            let (a, b) = (chance(i), chance(i + 1000));
            format!(r#"{{"a":{a},"b":"b{b}","c":"see {a}/b{b}.","d":"{}"}}"#, chance(i + 2000))
        };
        assert_eq!(found(line), [["see ", "/", "."]]);
    }

    #[test]
    fn what_is_derived_is_no_source() {
        let line = |i| format!(r#"{{"a":{0},"b":"{0}","c":"x{0}","d":"x{0}y"}}"#, chance(i));
        assert_eq!(found(line), [["", ""], ["x", ""], ["x", "y"]]);
    }

    #[test]
    fn strings_that_are_few_or_like_nothing_have_no_rule() {
        let few = |i| format!(r#"{{"a":{},"b":"v{}"}}"#, i % 2, i % 2);
        assert!(found(few).is_empty());
        let other = |i| format!(r#"{{"a":{},"b":"v{}"}}"#, chance(i), chance(i + 500));
        assert!(found(other).is_empty());
    }
}
