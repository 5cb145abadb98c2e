//! Text without characters that control a terminal.
//!
//! Names of files, columns, streams and members come from others. An escape sequence in one
//! could recolour, move or rewrite what the terminal shows.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

/// Escapes characters that control the terminal or reorder the text around them.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe)
}

/// Escapes like [`plain`], but keeps the ends of lines.
pub(crate) fn plain_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && is_unsafe(c))
}

/// Prints a warning on standard error.
pub(crate) fn warn(message: impl Display) {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(io::stderr(), "warning: {}", plain_lines(&message.to_string()));
}

/// Prints on standard error what the user may want to know.
pub(crate) fn note(message: impl Display) {
    let _ = writeln!(io::stderr(), "note: {}", plain_lines(&message.to_string()));
}

fn escaped(text: &str, is_unsafe: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_unsafe) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_unsafe(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.into()
}

fn is_unsafe(c: char) -> bool {
    c.is_control() || is_bidi(c)
}

/// Returns whether a character reorders the text around it.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_marks_of_direction_are_spelled_out() {
        assert_eq!(plain("a\u{1b}[31m\n\u{202e}b\u{9b}é"), "a\\u{1b}[31m\\n\\u{202e}b\\u{9b}é");
        assert_eq!(plain_lines("a\nb\r\u{7f}"), "a\nb\\r\\u{7f}");
        assert!(matches!(plain("Zürich"), Cow::Borrowed(_)));
    }
}
