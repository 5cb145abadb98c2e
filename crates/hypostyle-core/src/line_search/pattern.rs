//! Patterns, compiled for a search in whole blocks of lines.

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};
use regex_automata::meta::{Config, Regex};
use regex_automata::{Input, util::syntax};
use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look,
    Repetition,
};

use super::required::{Required, longest_literal};
use crate::error::{Error, Result};

/// The most memory that the automaton of a pattern takes.
const MAX_AUTOMATON_BYTES: usize = 256 << 20;

/// The most memory for the states that a search has visited.
const STATE_CACHE_BYTES: usize = 64 << 20;

/// A literal that is shorter occurs too often to be searched for before the pattern.
const MIN_LITERAL_BYTES: usize = 3;

/// How patterns are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatternOptions {
    /// The patterns are strings, and not regular expressions.
    pub is_fixed: bool,
    /// Letters match in both cases.
    pub ignores_case: bool,
    /// A match must be a word: no letter, digit or underscore is next to it.
    pub is_word: bool,
    /// A match must be the whole line.
    pub is_line: bool,
}

/// Patterns of which one must match a line.
#[derive(Clone, Debug)]
pub struct LinePattern {
    regex: Regex,
    /// A string that each match contains, if the search for it is quicker.
    literal: Option<memmem::Finder<'static>>,
    /// The pattern looks for the ends of words. Bytes that are not UTF-8 hide them, but not next to a
    /// newline, so a line may match in a block and not alone.
    sees_words: bool,
    required: Required,
}

impl LinePattern {
    /// Compiles patterns; a line matches if one of them does.
    ///
    /// A newline in a pattern separates two patterns.
    ///
    /// # Errors
    ///
    /// Fails for a pattern that is not a regular expression, for one that can only match a
    /// newline, and if the automaton is too large.
    pub fn new<P: AsRef<[u8]>>(patterns: &[P], options: PatternOptions) -> Result<Self> {
        let lines = patterns.iter().flat_map(|pattern| pattern.as_ref().split(|&b| b == b'\n'));
        let parsed: Vec<Hir> = lines.map(|line| parse(line, options)).collect::<Result<_>>()?;
        let mut hir = match <[Hir; 1]>::try_from(parsed) {
            Ok([one]) => one,
            Err(several) => Hir::alternation(several),
        };
        let required = Required::of(&hir);
        let is_pure = hir.properties().is_alternation_literal();
        let literal =
            longest_literal(&hir).filter(|literal| !is_pure && literal.len() >= MIN_LITERAL_BYTES);
        if options.is_word {
            let (start, end) = (Look::WordStartHalfUnicode, Look::WordEndHalfUnicode);
            hir = Hir::concat(vec![Hir::look(start), hir, Hir::look(end)]);
        }
        if options.is_line {
            hir = Hir::concat(vec![Hir::look(Look::StartLF), hir, Hir::look(Look::EndLF)]);
        }
        let config = Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(MAX_AUTOMATON_BYTES))
            .hybrid_cache_capacity(STATE_CACHE_BYTES);
        let regex = Regex::builder().configure(config).build_from_hir(&hir).map_err(|err| {
            let why = match err.size_limit() {
                Some(limit) => format!("the patterns need more than {} MiB", limit >> 20),
                None => err.to_string(),
            };
            Error::invalid_argument(why)
        })?;
        let literal = literal.map(|literal| memmem::Finder::new(&literal).into_owned());
        let sees_words = hir.properties().look_set().contains_word_unicode();
        Ok(Self { regex, literal, sees_words, required })
    }

    /// What a line must contain to match.
    pub fn required(&self) -> &Required {
        &self.required
    }

    /// Returns whether a line matches.
    pub fn is_match(&self, line: &[u8]) -> bool {
        self.regex.is_match(line)
    }

    /// Returns the matches in a line that are not empty, from left to right.
    pub fn matches<'p>(&'p self, line: &'p [u8]) -> impl Iterator<Item = Range<usize>> + 'p {
        self.regex.find_iter(line).map(|found| found.range()).filter(|range| !range.is_empty())
    }

    /// Returns the first line at or after `from` that matches, without its newline; `from` must
    /// be the start of a line.
    pub(super) fn next_line(&self, text: &[u8], mut from: usize) -> Option<Range<usize>> {
        while from < text.len() {
            let (place, is_certain) = match &self.literal {
                Some(literal) => (from.saturating_add(literal.find(text.get(from..)?)?), false),
                None => {
                    let input = Input::new(text).range(from..).earliest(true);
                    (self.regex.search_half(&input)?.offset(), !self.sees_words)
                }
            };
            // No line starts after the last newline of the text.
            if place == text.len() && text.last() == Some(&b'\n') {
                return None;
            }
            let line = line_at(text, place);
            if is_certain || self.is_match(text.get(line.clone())?) {
                return Some(line);
            }
            from = line.end.saturating_add(1);
        }
        None
    }
}

/// Returns the line that a place is in, or whose newline it is.
fn line_at(text: &[u8], place: usize) -> Range<usize> {
    let (before, after) = text.split_at_checked(place).unwrap_or((text, &[]));
    let start = memrchr(b'\n', before).map_or(0, |newline| newline.saturating_add(1));
    let len = memchr(b'\n', after).unwrap_or(after.len());
    start..before.len().saturating_add(len)
}

/// Parses one pattern.
fn parse(pattern: &[u8], options: PatternOptions) -> Result<Hir> {
    // Without a difference of case, the bytes are the pattern.
    if options.is_fixed && !options.ignores_case {
        return Ok(Hir::literal(pattern));
    }
    let text = std::str::from_utf8(pattern).map_err(|_| {
        Error::invalid_argument("a pattern that is not UTF-8 (write its bytes as `(?-u:\\xFF)`)")
    })?;
    let escaped;
    let text = if options.is_fixed {
        escaped = regex_syntax::escape(text);
        &escaped
    } else {
        text
    };
    let config =
        syntax::Config::new().utf8(false).multi_line(true).case_insensitive(options.ignores_case);
    let hir = syntax::parse_with(text, &config)
        .map_err(|err| Error::invalid_argument(format!("a pattern that is not valid: {err}")))?;
    within_line(&hir)
}

/// Changes an expression so that it matches only within lines, and sees only the line.
fn within_line(hir: &Hir) -> Result<Hir> {
    let all = |list: &[Hir]| list.iter().map(within_line).collect::<Result<Vec<Hir>>>();
    Ok(match hir.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) if literal.0.contains(&b'\n') => {
            return Err(Error::invalid_argument("a pattern for a newline, which no line has"));
        }
        HirKind::Literal(literal) => Hir::literal(literal.0.clone()),
        HirKind::Class(Class::Unicode(class)) => {
            let mut class = class.clone();
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut class = class.clone();
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
            Hir::class(Class::Bytes(class))
        }
        HirKind::Look(Look::Start) => Hir::look(Look::StartLF),
        HirKind::Look(Look::End) => Hir::look(Look::EndLF),
        HirKind::Look(look) => Hir::look(*look),
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            sub: Box::new(within_line(&repetition.sub)?),
            ..*repetition
        }),
        HirKind::Capture(capture) => within_line(&capture.sub)?,
        HirKind::Concat(list) => Hir::concat(all(list)?),
        HirKind::Alternation(list) => Hir::alternation(all(list)?),
    })
}
