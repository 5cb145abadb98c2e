//! Quotes around a cell: a quote inside quotes is written twice.

use std::borrow::Cow;

use memchr::memchr;

/// Returns whether a cell must be quoted to be read back as one cell.
#[inline]
pub fn needs_quotes(text: &[u8], delimiter: u8) -> bool {
    text.iter().any(|&byte| byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r'))
}

/// Appends a cell, in quotes if it needs them.
pub fn cell_into(text: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    if needs_quotes(text, delimiter) {
        quote_into(text, out);
    } else {
        out.extend_from_slice(text);
    }
}

/// Appends a cell in quotes.
///
/// ```
/// use hypostyle_core::text::csv::{quote_into, unquote};
///
/// let mut out = Vec::new();
/// quote_into(b"say \"hi\"", &mut out);
/// assert_eq!(out, b"\"say \"\"hi\"\"\"");
/// assert_eq!(unquote(&out).as_deref(), Some(&b"say \"hi\""[..]));
/// ```
pub fn quote_into(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for part in text.split_inclusive(|&byte| byte == b'"') {
        out.extend_from_slice(part);
        if part.last() == Some(&b'"') {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

/// Returns the length of the quoted cell at the start of `text`, quotes included.
///
/// Returns `None` if `text` does not start with a quote, or if no quote closes the cell.
pub fn quoted_len(text: &[u8]) -> Option<usize> {
    let mut rest = text.strip_prefix(b"\"")?;
    loop {
        let end = memchr(b'"', rest)?;
        rest = rest.get(end + 1..)?;
        match rest.strip_prefix(b"\"") {
            Some(after) => rest = after,
            None => return Some(text.len() - rest.len()),
        }
    }
}

/// Returns the content of a quoted cell.
///
/// Returns `None` unless [`quote_into`] of the content gives `cell` back.
pub fn unquote(cell: &[u8]) -> Option<Cow<'_, [u8]>> {
    if quoted_len(cell)? != cell.len() {
        return None;
    }
    let inner = cell.get(1..cell.len() - 1)?;
    if memchr(b'"', inner).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let mut content = Vec::with_capacity(inner.len());
    undouble_into(inner, &mut content);
    Some(Cow::Owned(content))
}

/// Appends the text between two quotes, with each pair of quotes as one.
pub fn undouble_into(mut inner: &[u8], out: &mut Vec<u8>) {
    while let Some(quote) = memchr(b'"', inner) {
        let (head, tail) = inner.split_at_checked(quote + 1).unwrap_or((inner, &[]));
        out.extend_from_slice(head);
        inner = tail.strip_prefix(b"\"").unwrap_or(tail);
    }
    out.extend_from_slice(inner);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_quotes_are_removed() {
        let content = |text: &str| {
            unquote(text.as_bytes()).map(|text| String::from_utf8(text.into_owned()).unwrap())
        };
        assert_eq!(content("\"a\"").as_deref(), Some("a"));
        assert_eq!(content("\"\"").as_deref(), Some(""));
        assert_eq!(content("\"a\"\"b\"\"\"").as_deref(), Some("a\"b\""));
        assert_eq!(content("\"\"\"\"\"\"").as_deref(), Some("\"\""));
        for text in ["a", "", "\"", "\"a", "\"a\"b", "\"a\"b\"", "\"\"\""] {
            assert_eq!(content(text), None, "{text}");
        }
    }

    #[test]
    fn a_quoted_cell_ends_at_its_closing_quote() {
        for (text, len) in
            [("\"a\",b", Some(3)), ("\"\"\"\",", Some(4)), ("\"a", None), ("a", None)]
        {
            assert_eq!(quoted_len(text.as_bytes()), len, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn unquote_undoes_quote(text in "[ab,\"\r\n]{0,12}") {
            let mut cell = Vec::new();
            quote_into(text.as_bytes(), &mut cell);
            assert_eq!(quoted_len(&cell), Some(cell.len()));
            assert_eq!(unquote(&cell).as_deref(), Some(text.as_bytes()));
            assert!(needs_quotes(text.as_bytes(), b',') == text.contains(['"', ',', '\r', '\n']));
        }
    }
}
