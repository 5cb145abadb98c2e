//! Hints: the flag of this command that helps with an error of the library.
//!
//! The library says what is wrong and what a caller of its API can do. Only the command knows
//! its flags, so this module maps the typed reason of an error to one.

use hypostyle::{Error, ErrorKind, Refusal};

use crate::failure::Failure;

/// Turns an error of reading text into a failure with a hint.
pub(crate) fn reading(err: Error) -> Failure {
    let hint = match err.kind() {
        ErrorKind::NotUtf8 => Some("--encoding latin1 reads every byte as a character"),
        ErrorKind::RaggedRow { short: true, .. } => Some("--ragged pad fills up short rows"),
        _ => None,
    };
    Failure::from(err).with_hint(hint)
}

/// Turns an error of writing a column file into a failure with a hint.
pub(crate) fn writing(err: Error) -> Failure {
    let hint = match err.refusal() {
        Some(Refusal::DuplicateName | Refusal::EmptyName) => {
            Some("--names rename gives every column a name of its own")
        }
        Some(Refusal::NullsNotSupported) => {
            Some("--null-as TEXT writes nulls as a text of your choice")
        }
        Some(Refusal::IntegerTooWide) => Some("--types NAME=text keeps every digit"),
        _ => None,
    };
    Failure::from(err).with_hint(hint)
}

/// Turns an error of appending to an archive into a failure with a hint.
pub(crate) fn appending(err: Error) -> Failure {
    let hint = match err.refusal() {
        Some(Refusal::NotAppendable) => {
            Some("hyp pack --query packs an archive that can be appended to")
        }
        _ => None,
    };
    Failure::from(err).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_follows_the_reason_and_not_the_words() {
        let refused = |reason| writing(Error::refused(reason, "x", "y"));
        assert!(refused(Refusal::EmptyName).report_text().ends_with("of its own"));
        assert!(refused(Refusal::IntegerTooWide).report_text().contains("\nhint: --types"));
        assert_eq!(refused(Refusal::TooLarge).report_text(), "x; y");
        let named = refused(Refusal::NullsNotSupported).in_file("a.csv");
        assert_eq!(named.message(), "`a.csv`: x; y");
        assert!(named.report_text().starts_with("`a.csv`: x; y\nhint: --null-as"));
    }
}
