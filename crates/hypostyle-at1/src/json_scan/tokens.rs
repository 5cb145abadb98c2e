//! The length of JSON tokens.

use serde_json::value::RawValue;

/// Returns the length of the string that `text` starts with, quotes included.
///
/// Finds the closing quote only: escapes and control characters are not checked.
pub(crate) fn string_len(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Returns the length of the number or word that `text` starts with; 0 if there is none.
///
/// A word is any run of printable ASCII characters without brackets, quotes, commas and colons.
pub(crate) fn word_len(text: &[u8]) -> usize {
    let ends = |byte: &u8| {
        matches!(byte, b',' | b':' | b'"' | b'{' | b'}' | b'[' | b']') || !byte.is_ascii_graphic()
    };
    text.iter().position(ends).unwrap_or(text.len())
}

/// Returns the length of the string that `text` starts with, if RFC 8259 allows it.
pub(super) fn valid_string_len(text: &[u8]) -> Option<usize> {
    let len = string_len(text)?;
    let token = text.get(..len)?;
    // Printable ASCII without escapes needs no further check.
    let is_plain = |&byte: &u8| matches!(byte, b' '..=b'~') && byte != b'\\';
    (token.iter().all(is_plain) || is_valid(token)).then_some(len)
}

/// Returns the length of the number, `true`, `false` or `null` that `text` starts with.
pub(super) fn valid_word_len(text: &[u8]) -> Option<usize> {
    let word = text.get(..word_len(text))?;
    let is_word = || matches!(word, b"true" | b"false" | b"null");
    // Most numbers are short integers, which need no further check.
    (is_short_integer(word) || is_word() || is_valid(word)).then_some(word.len())
}

/// Returns whether a word is an integer of a few digits.
fn is_short_integer(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let is_canonical = digits.first() != Some(&b'0') || digits.len() == 1;
    (1..=18).contains(&digits.len()) && is_canonical && digits.iter().all(u8::is_ascii_digit)
}

/// Returns the length of the string, number, `true`, `false` or `null` that `text` starts with,
/// if RFC 8259 allows it.
pub(crate) fn scalar_len(text: &[u8]) -> Option<usize> {
    match text.first() {
        Some(b'"') => valid_string_len(text),
        _ => valid_word_len(text),
    }
}

fn is_valid(token: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(token).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_at_the_first_quote_that_is_not_escaped() {
        for (text, any, valid) in [
            (r#""""#, Some(2), Some(2)),
            (r#""a" "b""#, Some(3), Some(3)),
            (r#""a\"b",1"#, Some(6), Some(6)),
            (r#""a\\"b"#, Some(5), Some(5)),
            (r#""é""#, Some(4), Some(4)),
            (r#""\x""#, Some(4), None),
            ("\"\t\"", Some(3), None),
            (r#""a"#, None, None),
            (r#""a\""#, None, None),
            (r#""a\"#, None, None),
            ("a\"", None, None),
            ("", None, None),
        ] {
            assert_eq!(string_len(text.as_bytes()), any, "{text}");
            assert_eq!(valid_string_len(text.as_bytes()), valid, "{text}");
        }
        assert_eq!(string_len(b"\"\xFF\""), Some(3));
        assert_eq!(valid_string_len(b"\"\xFF\""), None);
    }

    #[test]
    fn words_end_at_punctuation_and_spaces() {
        for (text, any, valid) in [
            ("true,", 4, Some(4)),
            ("-1.5e+10}", 8, Some(8)),
            ("0", 1, Some(1)),
            ("-0", 2, Some(2)),
            ("-00", 3, None),
            ("-", 1, None),
            ("1234567890123456789012", 22, Some(22)),
            ("NaN]", 3, None),
            ("01", 2, None),
            ("truex", 5, None),
            ("1\u{e9}", 1, Some(1)),
            (" 1", 0, None),
            ("", 0, None),
        ] {
            assert_eq!(word_len(text.as_bytes()), any, "{text}");
            assert_eq!(valid_word_len(text.as_bytes()), valid, "{text}");
        }
    }
}
