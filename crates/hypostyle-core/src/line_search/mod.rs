//! Finds lines of a text, as `grep` does.
//!
//! A [`LinePattern`] is one or more regular expressions or fixed strings. It is searched for in
//! whole blocks of text, so that lines without a match cost nothing of their own. A
//! [`LineMatcher`] adds what else is asked of a line: further patterns, a [`TimeRange`], or that
//! the patterns do *not* match. [`PartBlocks`] reads [`TextParts`] in blocks of whole lines. A
//! [`LineSearcher`] takes one [`LineBlock`](crate::text::LineBlock) after the other, and hands the lines that are found to a [`LineSink`], with the lines around
//! them.
//!
//! [`Required`] is what a text must contain for a pattern to match: a reader that knows this
//! of parts of a text need not decode them.
//!
//! A line matches if the pattern matches the line alone, without its newline: so `\A` is `^`, and
//! no pattern spans lines. Bytes that are not UTF-8 match nothing but themselves.

mod matcher;
mod parts;
mod pattern;
mod required;
mod searcher;
#[cfg(test)]
mod tests;
mod times;

pub use matcher::LineMatcher;
pub use parts::{PartBlocks, TextPart, TextParts, WholeText};
pub use pattern::{LinePattern, PatternOptions};
pub use required::Required;
pub use searcher::{FoundLine, LineSearcher, LineSink};
pub use times::TimeRange;
