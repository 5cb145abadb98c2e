//! What a text must contain for a pattern to match.

use regex_syntax::hir::{Class, Hir, HirKind};

/// A condition on a text that every match of a pattern fulfils.
///
/// Literals are compared after both sides are in lower case (ASCII letters only).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Required {
    /// Nothing is known.
    Nothing,
    /// These bytes.
    Literal(Vec<u8>),
    /// All of these.
    All(Vec<Required>),
    /// One of these.
    Any(Vec<Required>),
}

impl Required {
    /// Returns what an expression requires.
    pub(super) fn of(hir: &Hir) -> Self {
        Walk { folds_case: true }.required(hir)
    }

    /// Returns a condition that holds if both do.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        all([self, other])
    }

    /// Returns whether a text can fulfil the condition, by what is known of single literals.
    ///
    /// `may_contain` returns `false` only for a literal that the text does not contain.
    pub fn may_hold(&self, may_contain: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        match self {
            Self::Nothing => true,
            Self::Literal(literal) => may_contain(literal),
            Self::All(list) => list.iter().all(|required| required.may_hold(may_contain)),
            Self::Any(list) => list.iter().any(|required| required.may_hold(may_contain)),
        }
    }
}

/// Returns the longest literal that every match contains as it is spelled.
pub(super) fn longest_literal(hir: &Hir) -> Option<Vec<u8>> {
    fn longest(required: Required) -> Option<Vec<u8>> {
        match required {
            Required::Nothing | Required::Any(_) => None,
            Required::Literal(literal) => Some(literal),
            Required::All(list) => list.into_iter().filter_map(longest).max_by_key(Vec::len),
        }
    }
    longest(Walk { folds_case: false }.required(hir))
}

/// Joins conditions of which all hold.
fn all(conditions: impl IntoIterator<Item = Required>) -> Required {
    let mut list = Vec::new();
    for condition in conditions {
        match condition {
            Required::Nothing => {}
            Required::All(more) => list.extend(more),
            one => list.push(one),
        }
    }
    match <[Required; 1]>::try_from(list) {
        Ok([one]) => one,
        Err(list) if list.is_empty() => Required::Nothing,
        Err(list) => Required::All(list),
    }
}

/// The longest literal that a repetition is written out to.
const MAX_REPEATED_BYTES: usize = 64;

/// Walks through an expression.
struct Walk {
    folds_case: bool,
}

/// What is known about the text that a part of an expression matches.
enum Part {
    /// The text is this.
    Exact(Vec<u8>),
    /// The text fulfils this.
    Has(Required),
}

impl Walk {
    fn required(&self, hir: &Hir) -> Required {
        self.part(hir).required()
    }

    fn part(&self, hir: &Hir) -> Part {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Part::Exact(Vec::new()),
            HirKind::Literal(literal) if self.folds_case => {
                Part::Exact(literal.0.to_ascii_lowercase())
            }
            HirKind::Literal(literal) => Part::Exact(literal.0.to_vec()),
            HirKind::Class(class) => match self.single(class) {
                Some(byte) => Part::Exact(vec![byte]),
                None => Part::Has(Required::Nothing),
            },
            HirKind::Repetition(repetition) if repetition.min > 0 => {
                match self.part(&repetition.sub) {
                    Part::Exact(text)
                        if repetition.max == Some(repetition.min)
                            && text.len().saturating_mul(repetition.min as usize)
                                <= MAX_REPEATED_BYTES =>
                    {
                        Part::Exact(text.repeat(repetition.min as usize))
                    }
                    part => Part::Has(part.required()),
                }
            }
            HirKind::Repetition(_) => Part::Has(Required::Nothing),
            HirKind::Capture(capture) => self.part(&capture.sub),
            HirKind::Concat(list) => self.concat(list),
            HirKind::Alternation(list) => {
                let list: Vec<Required> = list.iter().map(|hir| self.required(hir)).collect();
                let is_known = !list.contains(&Required::Nothing);
                Part::Has(if is_known { Required::Any(list) } else { Required::Nothing })
            }
        }
    }

    fn concat(&self, list: &[Hir]) -> Part {
        let (mut run, mut conditions) = (Vec::new(), Vec::new());
        for hir in list {
            match self.part(hir) {
                Part::Exact(text) => run.extend(text),
                Part::Has(required) => {
                    conditions.push(Part::Exact(std::mem::take(&mut run)).required());
                    conditions.push(required);
                }
            }
        }
        if conditions.is_empty() {
            return Part::Exact(run);
        }
        conditions.push(Part::Exact(run).required());
        Part::Has(all(conditions))
    }

    /// Returns the byte that all members of a class are, apart from case.
    fn single(&self, class: &Class) -> Option<u8> {
        let members = match class {
            Class::Unicode(class) => {
                let ranges = class.ranges().iter();
                members(ranges.map(|range| (u32::from(range.start()), u32::from(range.end()))))
            }
            Class::Bytes(class) => {
                let ranges = class.ranges().iter();
                members(ranges.map(|range| (u32::from(range.start()), u32::from(range.end()))))
            }
        }?;
        let lower = members.map(|byte| byte.to_ascii_lowercase());
        (self.folds_case && lower[0] == lower[1]).then_some(lower[0])
    }
}

impl Part {
    fn required(self) -> Required {
        match self {
            Self::Exact(text) if text.is_empty() => Required::Nothing,
            Self::Exact(text) => Required::Literal(text),
            Self::Has(required) => required,
        }
    }
}

/// Returns the members of a class of two ASCII characters.
fn members(mut ranges: impl Iterator<Item = (u32, u32)>) -> Option<[u8; 2]> {
    let (first, second) = (ranges.next()?, ranges.next()?);
    let is_pair = ranges.next().is_none() && first.0 == first.1 && second.0 == second.1;
    let ascii = |code: u32| u8::try_from(code).ok().filter(u8::is_ascii);
    is_pair.then_some([ascii(first.0)?, ascii(second.0)?])
}
