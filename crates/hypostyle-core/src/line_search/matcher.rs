//! What is asked of a line.

use std::ops::Range;

use memchr::memchr;

use super::pattern::LinePattern;
use super::required::Required;
use super::times::TimeRange;

/// Tells which lines are selected.
#[derive(Clone, Debug)]
pub struct LineMatcher {
    /// The pattern that is searched for first.
    first: usize,
    patterns: Vec<LinePattern>,
    is_inverted: bool,
    times: TimeRange,
}

impl LineMatcher {
    /// Selects the lines that match a pattern.
    pub fn new(pattern: LinePattern) -> Self {
        let times = TimeRange::default();
        Self { first: 0, patterns: vec![pattern], is_inverted: false, times }
    }

    /// Adds a pattern that must match the same line.
    #[must_use]
    pub fn and(mut self, pattern: LinePattern) -> Self {
        self.patterns.push(pattern);
        let longest = |required: &Required| match required {
            Required::Literal(literal) => literal.len(),
            _ => 0,
        };
        let lens = self.patterns.iter().map(|pattern| longest(pattern.required()));
        self.first = lens.enumerate().max_by_key(|&(_, len)| len).map_or(0, |(at, _)| at);
        self
    }

    /// Selects the lines that do not match instead.
    #[must_use]
    pub fn inverted(mut self, is_inverted: bool) -> Self {
        self.is_inverted = is_inverted;
        self
    }

    /// Selects only lines in a range of time.
    #[must_use]
    pub fn within(mut self, times: TimeRange) -> Self {
        self.times = times;
        self
    }

    /// The pattern that was given first, whose matches are shown.
    pub fn shown(&self) -> Option<&LinePattern> {
        self.patterns.first().filter(|_| !self.is_inverted)
    }

    /// The times of the selected lines.
    pub fn times(&self) -> &TimeRange {
        &self.times
    }

    /// What a text must contain to have a selected line.
    pub fn required(&self) -> Required {
        if self.is_inverted {
            return Required::Nothing;
        }
        let conditions = self.patterns.iter().map(|pattern| pattern.required().clone());
        conditions.reduce(Required::and).unwrap_or(Required::Nothing)
    }

    /// Returns the selected lines of a text, without their newlines.
    pub(super) fn lines<'m>(&'m self, text: &'m [u8]) -> SelectedLines<'m> {
        SelectedLines { matcher: self, text, next: 0, match_ahead: None }
    }

    /// Returns the first line at or after the start of a line that all patterns match.
    fn next_match(&self, text: &[u8], mut from: usize) -> Option<Range<usize>> {
        let first = self.patterns.get(self.first)?;
        loop {
            let line = first.next_line(text, from)?;
            let bytes = text.get(line.clone())?;
            let mut others = self.patterns.iter().enumerate().filter(|&(at, _)| at != self.first);
            if others.all(|(_, pattern)| pattern.is_match(bytes)) {
                return Some(line);
            }
            from = line.end.saturating_add(1);
        }
    }
}

/// Goes through the selected lines of a text.
#[derive(Debug)]
pub(super) struct SelectedLines<'m> {
    matcher: &'m LineMatcher,
    text: &'m [u8],
    /// Where the next line starts.
    next: usize,
    /// If lines without a match are selected: the next one with a match, or the end.
    match_ahead: Option<Range<usize>>,
}

impl SelectedLines<'_> {
    /// Returns the next line, whatever its time is.
    fn any_time(&mut self) -> Option<Range<usize>> {
        if !self.matcher.is_inverted {
            let line = self.matcher.next_match(self.text, self.next)?;
            self.next = line.end.saturating_add(1);
            return Some(line);
        }
        while self.next < self.text.len() {
            let end = self.text.len();
            let ahead = match self.match_ahead.take() {
                Some(ahead) => ahead,
                None => self.matcher.next_match(self.text, self.next).unwrap_or(end..end),
            };
            if ahead.start > self.next {
                self.match_ahead = Some(ahead);
                let start = self.next;
                let len = self.text.get(start..).and_then(|rest| memchr(b'\n', rest));
                let line_end = len.map_or(end, |len| start.saturating_add(len));
                self.next = line_end.saturating_add(1);
                return Some(start..line_end);
            }
            self.next = ahead.end.saturating_add(1);
        }
        None
    }
}

impl Iterator for SelectedLines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let line = self.any_time()?;
            if self.matcher.times.contains_line(self.text.get(line.clone())?) {
                return Some(line);
            }
        }
    }
}
