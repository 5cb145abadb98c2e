//! The forms in which a filter can be searched for without testing every cell.

use std::ops::Bound;

/// What to search a column for instead of testing every cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterSearch<'a> {
    /// The form that every passing cell has, except those that contain a text of `also`.
    pub form: SearchForm<'a>,
    /// Whether every cell of that form passes; otherwise the cells found must be tested.
    pub exact: bool,
    /// Cells that contain one of these texts must be tested even if they do not have the form:
    /// the few characters outside ASCII that are equal to an ASCII letter in lower case.
    pub also: &'static [&'static [u8]],
}

/// A condition on the bytes of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchForm<'a> {
    /// The cell equals this text.
    Is(&'a [u8]),
    /// The cell equals one of these texts.
    AnyOf(&'a [&'a [u8]]),
    /// The cell lies within these bounds.
    Within(Bound<&'a [u8]>, Bound<&'a [u8]>),
    /// The cell starts with this text.
    StartsWith(&'a [u8]),
    /// The cell ends with this text.
    EndsWith(&'a [u8]),
    /// The cell contains this text.
    Contains(&'a [u8]),
    /// The cell contains this text, with ASCII letters in either case.
    ContainsIgnoringCase(&'a [u8]),
}

impl SearchForm<'_> {
    /// Returns the bytes of the text that a matching cell contains; 0 if there is no such text.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Is(text)
            | Self::StartsWith(text)
            | Self::EndsWith(text)
            | Self::Contains(text)
            | Self::ContainsIgnoringCase(text) => text.len(),
            Self::AnyOf(_) | Self::Within(..) => 0,
        }
    }
}
