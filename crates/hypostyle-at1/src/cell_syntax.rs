//! The value of a cell, without quotes and escapes.

use std::borrow::Cow;

use hypostyle_core::text::csv;
use hypostyle_core::text::csv::unquote;

/// The syntax of the cells of a row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Cells without quotes.
    Plain,
    /// Cells that may be in quotes, with doubled quotes inside.
    Csv,
    /// JSON values.
    Json,
}

impl Syntax {
    /// Returns the syntax of delimited text, as the table of the text has it (§11).
    pub(super) fn of_delimiter(delimiter: &[u8]) -> Self {
        match *delimiter {
            [byte] if csv::is_delimiter(byte) => Self::Csv,
            _ => Self::Plain,
        }
    }

    /// Returns the value of a cell; `None` is null, which an empty cell without quotes means
    /// in the table of the text.
    ///
    /// A carriage return at the end of a CSV row belongs to the line end, not to the last
    /// cell.
    pub(super) fn value(self, cell: &[u8], last: bool) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Plain => (!cell.is_empty()).then_some(Cow::Borrowed(cell)),
            Self::Csv => {
                let cell = if last { cell.strip_suffix(b"\r").unwrap_or(cell) } else { cell };
                match cell.first() {
                    None => None,
                    Some(b'"') => Some(unquote(cell).unwrap_or(Cow::Borrowed(cell))),
                    Some(_) => Some(Cow::Borrowed(cell)),
                }
            }
            Self::Json => match cell {
                b"null" => None,
                [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => Some(Cow::Borrowed(inner)),
                [b'"', ..] => match serde_json::from_slice::<String>(cell) {
                    Ok(text) => Some(Cow::Owned(text.into_bytes())),
                    Err(_) => Some(Cow::Borrowed(cell)),
                },
                _ => Some(Cow::Borrowed(cell)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_say_what_their_syntax_makes_of_them() {
        let value = |syntax: Syntax, cell: &str, last| {
            let value = syntax.value(cell.as_bytes(), last);
            value.map(|value| String::from_utf8(value.into_owned()).unwrap())
        };
        assert_eq!(value(Syntax::Plain, "\"a\"\r", true).as_deref(), Some("\"a\"\r"));
        assert_eq!(value(Syntax::Csv, "\"a\"\"b\"\r", true).as_deref(), Some("a\"b"));
        assert_eq!(value(Syntax::Csv, "\r", true), None);
        assert_eq!(value(Syntax::Csv, "\"\"", true).as_deref(), Some(""));
        assert_eq!(value(Syntax::Plain, "", true), None);
        assert_eq!(value(Syntax::Csv, "12\r", false).as_deref(), Some("12\r"));
        assert_eq!(value(Syntax::Csv, "a\"b", false).as_deref(), Some("a\"b"));
        assert_eq!(value(Syntax::Json, "null", false), None);
        assert_eq!(value(Syntax::Json, "\"null\"", false).as_deref(), Some("null"));
        assert_eq!(value(Syntax::Json, r#""a\n\u00e9\"""#, false).as_deref(), Some("a\né\""));
        assert_eq!(value(Syntax::Json, r#""\ud800""#, false).as_deref(), Some(r#""\ud800""#));
        assert_eq!(value(Syntax::Json, "-1.50", false).as_deref(), Some("-1.50"));
    }
}
