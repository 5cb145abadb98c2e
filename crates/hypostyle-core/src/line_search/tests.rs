//! Searches beside a naive one that takes line by line.

use proptest::prelude::*;

use super::*;
use crate::error::Result;
use crate::text::{LineBlock, LineBlocks};

/// Keeps what it is given, as `grep -n` prints it.
#[derive(Default)]
struct Printed(Vec<String>);

impl LineSink for Printed {
    fn line(&mut self, line: &FoundLine<'_>) -> Result<()> {
        let mark = if line.is_selected { ':' } else { '-' };
        let FoundLine { number, offset, text, has_newline, .. } = line;
        let text = String::from_utf8_lossy(text);
        self.0.push(format!("{number}{mark}{offset}{mark}{text}{}", u8::from(*has_newline)));
        Ok(())
    }

    fn gap(&mut self) -> Result<()> {
        self.0.push("--".into());
        Ok(())
    }
}

/// Searches in blocks of a few bytes; also returns the count.
fn searched(
    matcher: &LineMatcher,
    text: &[u8],
    (before, after): (usize, usize),
    max: Option<u64>,
    block: usize,
) -> (Vec<String>, u64) {
    let new = || LineSearcher::new(matcher).with_context(before, after).with_max_lines(max);
    let (mut searcher, mut counter, mut printed) = (new(), new(), Printed::default());
    let mut blocks = LineBlocks::new(text, block, 1 << 20, false);
    while let Some(block) = blocks.next(LineBlock::default()).unwrap() {
        let _ = counter.count(&block);
        if searcher.search(&block, &mut printed).unwrap().is_break() {
            break;
        }
    }
    assert_eq!(searcher.selected(), counter.selected());
    (printed.0, searcher.selected())
}

/// The same, line by line.
fn naive(
    is_selected: impl Fn(&[u8]) -> bool,
    text: &[u8],
    (before, after): (usize, usize),
    max: Option<u64>,
) -> (Vec<String>, u64) {
    let mut lines: Vec<(usize, &[u8], bool)> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let bare = line.strip_suffix(b"\n");
        lines.push((start, bare.unwrap_or(line), bare.is_some()));
        start += line.len();
    }
    let max = usize::try_from(max.unwrap_or(u64::MAX)).unwrap();
    let selected: Vec<usize> =
        (0..lines.len()).filter(|&at| is_selected(lines[at].1)).take(max).collect();
    let mut shown = Printed::default();
    let mut last = None;
    for (at, &(offset, text, has_newline)) in lines.iter().enumerate() {
        let near = selected.iter().any(|&hit| at + before >= hit && at <= hit + after);
        if near {
            if (before > 0 || after > 0) && last.is_some_and(|last| last + 1 != at) {
                shown.gap().unwrap();
            }
            let is_selected = selected.contains(&at);
            let (number, offset) = (at as u64 + 1, offset as u64);
            shown.line(&FoundLine { number, offset, text, has_newline, is_selected }).unwrap();
            last = Some(at);
        }
    }
    (shown.0, selected.len() as u64)
}

fn pattern(text: &str, options: PatternOptions) -> LinePattern {
    LinePattern::new(&[text], options).unwrap()
}

const PATTERNS: &[&str] = &[
    "a",
    "ab",
    "^a",
    "b$",
    "^$",
    "",
    "a|b",
    "a+b?",
    "[ab]c",
    "[^a]",
    ".",
    "a.*c",
    r"\w+",
    r"\s",
    r"\d+ms",
    r"\bab\b",
    "(a|bc)+",
    r"\Aa",
    r"c\z",
    "x*",
    "ab|cd|^$",
    "(?i)AB",
    "(?-u:\\xFF)",
    "abc.*abc",
    "c?abc",
    "(abc){2}",
    "é",
    "[é-ü]a",
];

proptest! {
    #[test]
    fn a_search_is_a_naive_search(
        text in "[abc1 \n\u{e9}A]{0,60}",
        tail in prop::collection::vec(any::<u8>(), 0..4),
        which in 0..PATTERNS.len(),
        and in prop::option::of(0..PATTERNS.len()),
        flags in 0..16_u8,
        context in (0..3_usize, 0..3_usize),
        max in prop::option::of(0..4_u64),
        block in 1..40_usize,
    ) {
        let text = [text.as_bytes(), &tail].concat();
        let options = PatternOptions {
            is_fixed: flags & 1 != 0,
            ignores_case: flags & 2 != 0,
            is_word: flags & 4 != 0,
            is_line: false,
        };
        let first = pattern(PATTERNS[which], options);
        let second = and.map(|and| pattern(PATTERNS[and], options));
        let inverted = flags & 8 != 0;
        let mut matcher = LineMatcher::new(first.clone());
        if let Some(second) = second.clone() {
            matcher = matcher.and(second);
        }
        let matcher = matcher.inverted(inverted);
        let is_selected = |line: &[u8]| {
            let other = second.as_ref().is_none_or(|second| second.is_match(line));
            (first.is_match(line) && other) != inverted
        };
        prop_assert_eq!(
            searched(&matcher, &text, context, max, block),
            naive(is_selected, &text, context, max)
        );
    }

    /// A line that matches contains what its pattern requires.
    #[test]
    fn what_is_required_is_in_every_match(
        line in "[abcABC1 msKké]{0,20}",
        which in 0..PATTERNS.len(),
        ignores_case in any::<bool>(),
    ) {
        let options = PatternOptions { ignores_case, ..PatternOptions::default() };
        let pattern = pattern(PATTERNS[which], options);
        if pattern.is_match(line.as_bytes()) {
            let folded = line.to_ascii_lowercase();
            let mut contains = |literal: &[u8]| memchr::memmem::find(folded.as_bytes(), literal).is_some();
            prop_assert!(pattern.required().may_hold(&mut contains), "{:?}", pattern.required());
        }
    }
}

/// Bytes that are not UTF-8 hide the ends of words, and those next to them in other lines do not.
#[test]
fn words_are_seen_within_lines() {
    let options = PatternOptions { is_word: true, ..PatternOptions::default() };
    let matcher = LineMatcher::new(pattern("[^a]", options));
    let text = b"1\n\x80\0\n1\n";
    let (lines, _) = searched(&matcher, text, (0, 0), None, text.len());
    // The last digit says that a newline follows.
    assert_eq!(lines, ["1:0:11", "3:5:11"]);
}

#[test]
fn literals_are_extracted() {
    let required = |text: &str| pattern(text, PatternOptions::default()).required().clone();
    let literal = |text: &str| Required::Literal(text.into());
    assert_eq!(required("timeout"), literal("timeout"));
    assert_eq!(
        required("^Time(out|r) in [0-9]+ms$"),
        Required::All(vec![
            literal("time"),
            Required::Any(vec![literal("out"), literal("r")]),
            literal(" in "),
            literal("ms"),
        ])
    );
    assert_eq!(required("(?i)Error: x{3}"), literal("error: xxx"));
    // `(?i)k` also matches the sign of kelvin, which has other bytes.
    assert_eq!(required("(?i)take"), Required::All(vec![literal("ta"), literal("e")]));
    assert_eq!(required("a|b*"), Required::Nothing);
}

#[test]
fn ten_thousand_alternatives_are_one_search() {
    let words: Vec<String> = (0..10_000).map(|n| format!("needle{n}x")).collect();
    for (is_fixed, ignores_case) in [(true, false), (true, true), (false, false)] {
        let options = PatternOptions { is_fixed, ignores_case, ..PatternOptions::default() };
        let matcher = LineMatcher::new(LinePattern::new(&words, options).unwrap());
        let text = "nothing\nhas needle777x in it\nneedle\nNEEDLE9999X".as_bytes();
        let (found, count) = searched(&matcher, text, (0, 0), None, 1 << 16);
        assert_eq!(count, if ignores_case { 2 } else { 1 });
        assert!(found[0].starts_with("2:"), "{found:?}");
    }
}

#[test]
fn patterns_that_cannot_be_searched_are_refused() {
    for bad in ["(", "a\\nb", "[z-a]", "\\xFFFF{", "a{1000}{1000}{1000}"] {
        assert!(LinePattern::new(&[bad], PatternOptions::default()).is_err(), "{bad}");
    }
}

#[test]
fn times_are_compared_as_they_are_written() {
    let range = |since, until| TimeRange::new(since, until).unwrap();
    let line = b"2015-10-18 18:01:47,978 INFO x".as_slice();
    let syslog = b"Dec 31 23:59:59 host x".as_slice();
    for (since, until, want) in [
        (Some("2015-10-18"), Some("2015-10-18"), true),
        (Some("2015-10-18 18:01:47.978"), None, true),
        (Some("2015-10-18 18:01:47.979"), None, false),
        (None, Some("2015-10-18 18:01"), true),
        (None, Some("2015-10-18 18:00"), false),
        (None, Some("2015-10-18T19"), true),
    ] {
        let found = TimeRange::new(since, until).map(|range| range.contains_line(line));
        assert_eq!(found.unwrap_or_default(), want, "{since:?} {until:?}");
    }
    assert!(range(Some("2015-12-31"), Some("2016-01-02")).contains_line(syslog));
    assert!(range(Some("2015-12-01"), None).contains_line(syslog));
    assert!(!range(Some("2015-01-01"), Some("2015-06-01")).contains_line(syslog));
    assert!(!range(Some("2015-01-01"), None).contains_line(b"no time"));
    let object = br#"{"n":1,"at":"2020-10-09 18:27:49","x":"2021-01-01 00:00:00"}"#;
    assert!(range(None, Some("2020-10-09")).contains_line(object));
    let day = range(Some("2015-10-18"), Some("2015-10-18"));
    for (min, max, want) in [
        ("2015-10-17 08:00", "2015-10-18 01:00", true),
        ("2015-10-17 08:00", "2015-10-17 09:00", false),
        ("2015-10-18 23:00", "2015-10-19 09:00", true),
        ("2015-10-19 00:00", "2015-10-19 09:00", false),
        ("2015-10-17 08:00", "2015-10", true),
        ("10-17 08:00", "10-17 09:00", true),
    ] {
        assert_eq!(day.may_overlap(min.as_bytes(), max.as_bytes()), want, "{min} {max}");
    }
    for bad in ["", "yesterday", "2015-13-01", "18:00", "2015"] {
        assert!(TimeRange::new(Some(bad), None).is_err(), "{bad}");
    }
}
