//! Patterns of `like`: `%` is any run of characters, `_` is one character.

use memchr::memmem;

use super::search::{FilterSearch, SearchForm};

/// A parsed pattern.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    /// The text of the pattern, for printing.
    pub(super) text: String,
    pub(super) escape: Option<char>,
    /// Whether letters match in either case, as in `ilike`.
    pub(super) any_case: bool,
    /// INVARIANT: letters are in lower case if `any_case`.
    tokens: Vec<PatternToken>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PatternToken {
    Char(char),
    /// `_`
    One,
    /// `%`
    Many,
}

impl Pattern {
    /// Parses a pattern; returns `None` if it ends with an escape character that escapes
    /// nothing.
    pub(super) fn new(text: String, escape: Option<char>, any_case: bool) -> Option<Self> {
        let mut tokens = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                c if Some(c) == escape => PatternToken::Char(chars.next()?),
                '%' => PatternToken::Many,
                '_' => PatternToken::One,
                c => PatternToken::Char(c),
            });
        }
        if any_case {
            for token in &mut tokens {
                if let PatternToken::Char(c) = token {
                    *c = lower_char(*c);
                }
            }
        }
        Some(Self { text, escape, any_case, tokens })
    }

    /// Returns the pattern of texts that contain `text`, with any text before or after it.
    pub(super) fn containing(text: &str, before: bool, after: bool) -> Self {
        let mut tokens = Vec::new();
        tokens.extend(before.then_some(PatternToken::Many));
        tokens.extend(text.chars().map(PatternToken::Char));
        tokens.extend(after.then_some(PatternToken::Many));
        Self { text: text.to_owned(), escape: None, any_case: false, tokens }
    }

    /// Returns the text that every match starts with, and whether that is the whole match.
    ///
    /// The text is in lower case for `ilike`.
    pub(super) fn prefix(&self) -> (String, bool) {
        let literal = self.tokens.iter().map_while(|token| match token {
            PatternToken::Char(c) => Some(c),
            _ => None,
        });
        let whole = self.tokens.iter().all(|token| matches!(token, PatternToken::Char(_)));
        (literal.collect(), whole)
    }

    /// Returns strings that every match contains once its ASCII letters are in lower case.
    pub(super) fn runs(&self) -> Vec<Vec<u8>> {
        // `i`, `k` and `s` are also what letters outside ASCII become in the other case.
        let is_plain = |c: char| c.is_ascii() && !matches!(c, 'i' | 'k' | 's');
        let is_literal = |token: &PatternToken| match token {
            PatternToken::Char(c) => !self.any_case || is_plain(*c),
            _ => false,
        };
        let runs = self.tokens.split(|token| !is_literal(token)).map(literal);
        let runs = runs.filter(|run| !run.is_empty());
        runs.map(|run| run.to_ascii_lowercase().into_bytes()).collect()
    }

    /// Prepares the pattern for matching many cells.
    pub(super) fn matcher(&self) -> Matcher<'_> {
        let (first, whole) = self.prefix();
        let shape = if whole {
            PatternShape::Whole(first)
        } else if self.tokens.contains(&PatternToken::One) {
            let runs =
                self.tokens.split(|token| !matches!(token, PatternToken::Char(_))).map(literal);
            PatternShape::Tokens {
                tokens: &self.tokens,
                runs: runs.filter(|run| !run.is_empty()).collect(),
            }
        } else {
            let mut parts = self.tokens.split(|token| *token == PatternToken::Many).map(literal);
            let first = parts.next().unwrap_or_default();
            let last = parts.next_back().unwrap_or_default();
            let middle = parts.filter(|part| !part.is_empty());
            let middle = middle.map(|part| memmem::Finder::new(&part).into_owned()).collect();
            PatternShape::Parts { first, middle, last }
        };
        Matcher { shape, lower: self.any_case.then(Vec::new) }
    }
}

/// Matches many cells against one pattern.
pub(super) struct Matcher<'a> {
    shape: PatternShape<'a>,
    /// A buffer for the cell in lower case, if case does not matter.
    lower: Option<Vec<u8>>,
}

/// The fastest way to match a pattern.
enum PatternShape<'a> {
    /// A pattern without wildcards.
    Whole(String),
    /// A pattern with `%` but without `_`: `first%middle%middle%last`.
    Parts { first: String, middle: Vec<memmem::Finder<'static>>, last: String },
    /// A pattern with `_`.
    Tokens {
        tokens: &'a [PatternToken],
        /// The runs of literal characters.
        runs: Vec<String>,
    },
}

impl Matcher<'_> {
    /// Returns the search form that every match has, if there is one.
    pub(super) fn search(&self) -> Option<FilterSearch<'_>> {
        let (form, exact) = self.shape.search()?;
        if self.lower.is_none() {
            return Some(FilterSearch { form, exact, also: &[] });
        }
        // The text is in lower case, and only `Contains` has a form that ignores case, for ASCII.
        let text = match form {
            SearchForm::Is(b"") | SearchForm::StartsWith(b"") => {
                return Some(FilterSearch { form, exact, also: &[] });
            }
            SearchForm::Is(text)
            | SearchForm::StartsWith(text)
            | SearchForm::EndsWith(text)
            | SearchForm::Contains(text) => text,
            _ => return None,
        };
        let run = text.split(|byte| !byte.is_ascii()).max_by_key(|run| run.len())?;
        if run.is_empty() {
            return None;
        }
        let exact = exact && run.len() == text.len() && matches!(form, SearchForm::Contains(_));
        let form = SearchForm::ContainsIgnoringCase(run);
        Some(FilterSearch { form, exact, also: outside_ascii(run) })
    }

    pub(super) fn matches(&mut self, cell: &[u8]) -> bool {
        match &mut self.lower {
            None => self.shape.matches(cell),
            Some(lower) => {
                lower.clear();
                put_lower(cell, lower);
                self.shape.matches(lower)
            }
        }
    }
}

impl PatternShape<'_> {
    /// Returns the search form that every match has, and whether every cell of that form
    /// matches.
    fn search(&self) -> Option<(SearchForm<'_>, bool)> {
        match self {
            Self::Whole(text) => Some((SearchForm::Is(text.as_bytes()), true)),
            Self::Parts { first, middle, last } => {
                let parts = [
                    SearchForm::StartsWith(first.as_bytes()),
                    SearchForm::EndsWith(last.as_bytes()),
                ];
                let inner = middle.iter().map(|part| SearchForm::Contains(part.needle()));
                let parts = || parts.into_iter().chain(inner.clone());
                let filled = parts().filter(|part| part.len() > 0).count();
                // The longest part is usually the rarest; for equal lengths, prefer prefix and
                // suffix, which are faster to check.
                let longest = parts().rev().max_by_key(SearchForm::len)?;
                Some((longest, filled <= 1))
            }
            Self::Tokens { runs, .. } => {
                let longest = runs.iter().max_by_key(|run| run.len())?;
                Some((SearchForm::Contains(longest.as_bytes()), false))
            }
        }
    }

    fn matches(&self, cell: &[u8]) -> bool {
        match self {
            Self::Whole(text) => cell == text.as_bytes(),
            Self::Parts { first, middle, last } => {
                // Empty texts have no memory. Comparing with them reads no byte, but some processors
                // take 100 ns to find out.
                let rest = match first.is_empty() {
                    true => Some(cell),
                    false => cell.strip_prefix(first.as_bytes()),
                };
                let rest = match last.is_empty() {
                    true => rest,
                    false => rest.and_then(|rest| rest.strip_suffix(last.as_bytes())),
                };
                let Some(mut rest) = rest else { return false };
                for part in middle {
                    let found = part.find(rest).map(|at| at + part.needle().len());
                    let Some(after) = found.and_then(|end| rest.get(end..)) else { return false };
                    rest = after;
                }
                true
            }
            Self::Tokens { tokens, .. } => tokens_match(tokens, cell),
        }
    }
}

/// Matches token by token.
///
/// On a mismatch, only the last `%` is retried with one character more: it can match
/// whatever an earlier `%` could.
fn tokens_match(tokens: &[PatternToken], cell: &[u8]) -> bool {
    let (mut left, mut rest) = (tokens, cell);
    let mut retry: Option<(&[PatternToken], &[u8])> = None;
    loop {
        let step = match left.split_first() {
            None if rest.is_empty() => return true,
            None => None,
            Some((PatternToken::Many, after)) => {
                retry = Some((after, rest));
                Some((after, rest))
            }
            Some((PatternToken::One, after)) => after_one(rest).map(|rest| (after, rest)),
            Some((PatternToken::Char(c), after)) if c.is_ascii() => match rest.split_first() {
                Some((first, rest)) if char::from(*first) == *c => Some((after, rest)),
                _ => None,
            },
            Some((PatternToken::Char(c), after)) => {
                let mut bytes = [0; 4];
                let c: &[u8] = c.encode_utf8(&mut bytes).as_bytes();
                rest.strip_prefix(c).map(|rest| (after, rest))
            }
        };
        if let Some(step) = step {
            (left, rest) = step;
            continue;
        }
        // Let the last `%` match one character more.
        let Some((after, from)) = retry else { return false };
        let Some(from) = after_one(from) else { return false };
        retry = Some((after, from));
        (left, rest) = (after, from);
    }
}

/// Returns the lower case of a character, which is always one character, as in `DuckDB`.
pub(super) fn lower_char(c: char) -> char {
    // Only `İ` has two: `i` and a dot above.
    c.to_lowercase().next().unwrap_or(c)
}

/// Returns the upper case of a character, which is always one character, as in `DuckDB`.
pub(super) fn upper_char(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ if c == 'ß' => 'ẞ',
        _ => c,
    }
}

/// Appends a cell in lower case; bytes that are no UTF-8 stay as they are.
fn put_lower(cell: &[u8], out: &mut Vec<u8>) {
    if cell.is_ascii() {
        let start = out.len();
        out.extend_from_slice(cell);
        out.get_mut(start..).unwrap_or_default().make_ascii_lowercase();
        return;
    }
    for chunk in cell.utf8_chunks() {
        for c in chunk.valid().chars() {
            match u8::try_from(c) {
                Ok(byte) if byte.is_ascii() => out.push(byte.to_ascii_lowercase()),
                _ => out.extend_from_slice(lower_char(c).encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        out.extend_from_slice(chunk.invalid());
    }
}

/// Returns the texts outside ASCII whose lower case is a letter of this text.
fn outside_ascii(text: &[u8]) -> &'static [&'static [u8]] {
    const DOTTED_I: &[u8] = "\u{130}".as_bytes();
    const KELVIN: &[u8] = "\u{212a}".as_bytes();
    match (text.contains(&b'i'), text.contains(&b'k')) {
        (false, false) => &[],
        (true, false) => &[DOTTED_I],
        (false, true) => &[KELVIN],
        (true, true) => &[DOTTED_I, KELVIN],
    }
}

/// Returns the cell after its first character, or after its first byte if that is not
/// valid UTF-8.
fn after_one(cell: &[u8]) -> Option<&[u8]> {
    let len = match cell.first()? {
        0..=0x7F => return cell.get(1..),
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    let is_char = cell.get(..len).is_some_and(|head| std::str::from_utf8(head).is_ok());
    cell.get(if is_char { len } else { 1 }..)
}

fn literal(tokens: &[PatternToken]) -> String {
    let chars = tokens.iter().filter_map(|token| match token {
        PatternToken::Char(c) => Some(c),
        _ => None,
    });
    chars.collect()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::predicate::tests::twin::naive_like;

    fn like(pattern: &str, cell: &[u8]) -> bool {
        Pattern::new(pattern.to_owned(), None, false).unwrap().matcher().matches(cell)
    }

    #[test]
    fn every_match_contains_the_runs_of_its_pattern() {
        let runs = |text: &str, any_case| {
            let pattern = Pattern::new(text.to_owned(), Some('\\'), any_case).unwrap();
            pattern
                .runs()
                .into_iter()
                .map(|run| String::from_utf8(run).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(runs("%Time_out\\%%é%", false), ["time", "out%", "é"]);
        // A cell may have the sign of kelvin, a dotted I or a long s in their places.
        assert_eq!(runs("%TAKE a siné%", true), ["ta", "e a ", "n"]);
        assert_eq!(runs("%", true), [""; 0]);
        let pattern = Pattern::new("ta%e".into(), None, true).unwrap();
        assert!(pattern.matcher().matches("TA\u{212A}E".as_bytes()));
    }

    #[test]
    fn wildcards_match_runs_and_characters() {
        for (pattern, yes, no) in [
            ("", &[""][..], &["a"][..]),
            ("%", &["", "a", "é"], &[]),
            ("_", &["a", "é", "😀", "%"], &["", "ab"]),
            ("ab%", &["ab", "abc"], &["a", "xab", "AB"]),
            ("%ab", &["ab", "xab", "abab"], &["abx", "b"]),
            ("a%a", &["aa", "aba"], &["a", "ab"]),
            ("%a%b%", &["ab", "xaxbx"], &["ba", "a"]),
            ("%ab%ab%", &["abab", "ab ab"], &["aab", "ab"]),
            ("_b%", &["ab", "éb!"], &["b", "ba"]),
            ("%_é", &["éé", "aé"], &["é", "e"]),
            ("a_%_d", &["abcd", "abbd"], &["abd", "abc"]),
        ] {
            for cell in yes {
                assert!(like(pattern, cell.as_bytes()), "{pattern} {cell}");
            }
            for cell in no {
                assert!(!like(pattern, cell.as_bytes()), "{pattern} {cell}");
            }
        }
    }

    #[test]
    fn one_is_a_byte_where_the_text_is_no_utf8() {
        assert!(like("_a", b"\xFFa"));
        assert!(like("__", b"\xC3\xC3"));
        assert!(like("___", b"\xE2\x82x"), "a character that was cut off is its bytes");
        assert!(!like("__", "é".as_bytes()));
        assert!(!like("%__", "é".as_bytes()));
    }

    #[test]
    fn escapes_make_wildcards_plain() {
        let escaped = |text: &str| Pattern::new(text.to_owned(), Some('!'), false);
        let matcher = |text: &str, cell: &[u8]| escaped(text).unwrap().matcher().matches(cell);
        assert!(matcher("100!%", b"100%") && !matcher("100!%", b"1000"));
        assert!(matcher("!_!!%", b"_!?") && !matcher("!_!!%", b"a!?"));
        assert!(matcher("!a", b"a"));
        assert_eq!(escaped("abc!"), None);
        // Even a wildcard may be the escape.
        let percent = Pattern::new("%%a%_".to_owned(), Some('%'), false).unwrap();
        assert_eq!(percent.prefix(), ("%a_".to_owned(), true));
    }

    proptest! {
        #[test]
        fn patterns_match_as_the_definition_says(
            pattern in "[ab%_é]{0,8}",
            cell in vec(select(vec![&b"a"[..], b"b", b"A", b"\xC3\xA9", b"\xC3", b"\xA9"]), 0..9),
            any_case: bool,
        ) {
            let cell = cell.concat();
            let compiled = Pattern::new(pattern.clone(), None, any_case).unwrap();
            let want = naive_like(&pattern, None, any_case, &cell);
            prop_assert_eq!(compiled.matcher().matches(&cell), want);
            let (prefix, whole) = compiled.prefix();
            if want {
                let mut folded = Vec::new();
                put_lower(&cell, &mut folded);
                let cell = if any_case { folded } else { cell.clone() };
                prop_assert!(cell.starts_with(prefix.as_bytes()));
                prop_assert!(!whole || cell == prefix.as_bytes());
            }
        }
    }
}
