//! The value of a cell, as the readers of text tables take it.

use std::borrow::Cow;

use memchr::memchr;

use hypostyle_core::text::csv::undouble_into;

/// How the cells of a column are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CellSyntax<'a> {
    /// Cells of delimited text.
    Csv {
        /// Whether the cells end their lines, so that a carriage return is not theirs.
        is_last: bool,
        /// Words that mean null, unless they are quoted.
        null_words: &'a [Vec<u8>],
    },
    /// The content of quoted cells of delimited text, without the quotes.
    Quoted,
    /// JSON values.
    Json,
}

/// A cell that the row around it would not have if it was read as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OddCell;

impl CellSyntax<'_> {
    /// Returns the content of a cell; `None` is null.
    ///
    /// # Errors
    ///
    /// Fails for a quoted cell without a closing quote, and for a JSON value that is neither
    /// a string nor null.
    #[inline]
    pub(crate) fn text<'c>(&self, cell: &'c [u8]) -> Result<Option<Cow<'c, [u8]>>, OddCell> {
        match *self {
            Self::Csv { is_last, null_words } => {
                let cell = if is_last { cell.strip_suffix(b"\r").unwrap_or(cell) } else { cell };
                match cell.first() {
                    None => Ok(None),
                    Some(b'"') => unquoted(cell).map(Some),
                    Some(_) if null_words.iter().any(|word| word == cell) => Ok(None),
                    Some(_) => Ok(Some(Cow::Borrowed(cell))),
                }
            }
            Self::Quoted => Ok(Some(Cow::Borrowed(cell))),
            Self::Json => match cell {
                b"null" => Ok(None),
                [b'"', inner @ .., b'"'] if memchr(b'\\', inner).is_none() => {
                    Ok(Some(Cow::Borrowed(inner)))
                }
                [b'"', ..] => match serde_json::from_slice::<String>(cell) {
                    Ok(text) => Ok(Some(Cow::Owned(text.into_bytes()))),
                    Err(_) => Err(OddCell),
                },
                _ => Err(OddCell),
            },
        }
    }

    /// Returns the content of a cell that should be a number or a boolean.
    ///
    /// # Errors
    ///
    /// Fails for a quoted cell without a closing quote.
    #[inline]
    pub(super) fn token<'c>(&self, cell: &'c [u8]) -> Result<Option<Cow<'c, [u8]>>, OddCell> {
        match self {
            Self::Csv { .. } | Self::Quoted => Ok(self.text(cell)?.filter(|text| !text.is_empty())),
            Self::Json if cell == b"null" => Ok(None),
            Self::Json => Ok(Some(Cow::Borrowed(cell))),
        }
    }
}

/// Returns the content of a cell that starts with a quote, by the rules of the CSV reader:
/// text between the closing quote and the end of the cell belongs to the cell.
fn unquoted(cell: &[u8]) -> Result<Cow<'_, [u8]>, OddCell> {
    let mut at = 1;
    let mut is_doubled = false;
    loop {
        let rest = cell.get(at..).ok_or(OddCell)?;
        at += memchr(b'"', rest).ok_or(OddCell)?;
        if cell.get(at + 1) != Some(&b'"') {
            break;
        }
        is_doubled = true;
        at += 2;
    }
    let (inside, after) = (cell.get(1..at).unwrap_or_default(), cell.get(at + 1..));
    let after = after.unwrap_or_default();
    if !is_doubled && after.is_empty() {
        return Ok(Cow::Borrowed(inside));
    }
    let mut content = Vec::with_capacity(cell.len());
    undouble_into(inside, &mut content);
    content.extend_from_slice(after);
    Ok(Cow::Owned(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_cells_have_the_content_that_the_reader_gives_them() {
        let words = [b"NA".to_vec()];
        let csv = |is_last| CellSyntax::Csv { is_last, null_words: &words };
        let text = |syntax: CellSyntax<'_>, cell: &str| {
            let text = syntax.text(cell.as_bytes());
            text.map(|text| text.map(|text| String::from_utf8(text.into_owned()).unwrap()))
        };
        for (cell, want) in [
            ("a", Ok(Some("a"))),
            ("", Ok(None)),
            ("NA", Ok(None)),
            ("\"NA\"", Ok(Some("NA"))),
            ("\"\"", Ok(Some(""))),
            ("\"a\"\"b\"", Ok(Some("a\"b"))),
            ("\"c\"d", Ok(Some("cd"))),
            ("a\"b", Ok(Some("a\"b"))),
            ("\"a", Err(OddCell)),
            ("\"a\"\"", Err(OddCell)),
            ("\"", Err(OddCell)),
        ] {
            let want = want.map(|want: Option<&str>| want.map(str::to_owned));
            assert_eq!(text(csv(false), cell), want, "{cell}");
            assert_eq!(text(csv(true), &format!("{cell}\r")), want, "{cell}");
        }
        assert_eq!(text(csv(false), "a\r"), Ok(Some("a\r".to_owned())));
        assert_eq!(csv(false).token(b"\"\""), Ok(None));
        assert_eq!(text(CellSyntax::Json, r#""a\nb""#), Ok(Some("a\nb".to_owned())));
        assert_eq!(text(CellSyntax::Json, r#""ab""#), Ok(Some("ab".to_owned())));
        assert_eq!(text(CellSyntax::Json, "null"), Ok(None));
        assert_eq!(text(CellSyntax::Json, "12"), Err(OddCell));
        assert_eq!(CellSyntax::Json.token(b"12"), Ok(Some(Cow::Borrowed(&b"12"[..]))));
    }
}
