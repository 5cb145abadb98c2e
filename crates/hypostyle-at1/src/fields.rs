//! Splits lines into fields.
//!
//! A decoder joins the cells of a row with the delimiter, so any split at delimiters
//! restores the line. A split that puts the values of one column below each other
//! compresses best. Quotes only say which delimiters do not separate fields.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memmem};

use hypostyle_core::text::csv;

/// How lines are split into fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) delimiter: Vec<u8>,
    /// Whether a field in quotes may contain delimiters.
    pub(super) quotes: bool,
}

impl Dialect {
    /// Calls `each` with the end of every field of a line.
    pub(super) fn cut(&self, line: &[u8], mut each: impl FnMut(usize)) {
        let quoted = self.quotes && memchr(b'"', line).is_some();
        match *self.delimiter {
            [byte] if !quoted => memchr_iter(byte, line).for_each(&mut each),
            _ if !quoted => memmem::find_iter(line, &self.delimiter).for_each(&mut each),
            _ => {
                let mut at = 0;
                while let Some(end) = self.next(line, at) {
                    each(end);
                    at = end + self.delimiter.len();
                }
            }
        }
        each(line.len());
    }

    /// Returns the fields of a line.
    pub(super) fn fields<'a>(&self, line: &'a [u8]) -> Vec<&'a [u8]> {
        let (mut fields, mut start) = (Vec::new(), 0);
        self.cut(line, |end| {
            fields.push(line.get(start..end).unwrap_or_default());
            start = end + self.delimiter.len();
        });
        fields
    }

    /// Counts the lines of a text by their number of fields, and all lines.
    ///
    /// `class` maps the number of fields of a line to the number that it is counted under,
    /// or to `None` to leave the line out.
    pub(super) fn widths(
        &self,
        text: &[u8],
        class: impl Fn(usize) -> Option<usize>,
    ) -> (Vec<usize>, usize) {
        let (mut counts, mut lines) = (Vec::new(), 0);
        for line in text.split(|&byte| byte == b'\n') {
            lines += 1;
            let mut fields = 0;
            self.cut(line, |_| fields += 1);
            let Some(fields) = class(fields) else { continue };
            if counts.len() <= fields {
                counts.resize(fields + 1, 0);
            }
            if let Some(count) = counts.get_mut(fields) {
                *count += 1;
            }
        }
        (counts, lines)
    }

    /// Finds the delimiter after the field that starts at `at`.
    fn next(&self, line: &[u8], at: usize) -> Option<usize> {
        let rest = line.get(at..)?;
        if let Some(len) = csv::quoted_len(rest) {
            let after = rest.get(len..)?;
            if matches!(after, b"" | b"\r") {
                return None;
            }
            if after.starts_with(&self.delimiter) {
                return Some(at + len);
            }
        }
        memmem::find(rest, &self.delimiter).map(|found| at + found)
    }
}

/// Returns the name in a field of a header.
pub(super) fn name(field: &[u8]) -> String {
    let field = field.strip_suffix(b"\r").unwrap_or(field);
    String::from_utf8_lossy(&csv::unquote(field).unwrap_or(Cow::Borrowed(field))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(line: &str, delimiter: &str, quotes: bool) -> Vec<String> {
        let dialect = Dialect { delimiter: delimiter.as_bytes().to_vec(), quotes };
        let (mut fields, mut start) = (Vec::new(), 0);
        dialect.cut(line.as_bytes(), |end| {
            fields.push(line[start..end].to_owned());
            start = end + delimiter.len();
        });
        assert_eq!(fields.join(delimiter), line);
        fields
    }

    #[test]
    fn quotes_keep_delimiters_together_where_they_are_well_formed() {
        assert_eq!(cut("a,\"b,\"\"c\",d", ",", true), ["a", "\"b,\"\"c\"", "d"]);
        assert_eq!(cut("a,\"b,c", ",", true), ["a", "\"b", "c"]);
        assert_eq!(cut("\"a\"b,c", ",", true), ["\"a\"b", "c"]);
        assert_eq!(cut("\"a,b\"", ",", true), ["\"a,b\""]);
        assert_eq!(cut("\"a,b\"", ",", false), ["\"a", "b\""]);
        assert_eq!(cut("a\t|\tb|c", "\t|\t", true), ["a", "b|c"]);
        assert_eq!(cut("a,\"b,c\"\r", ",", true), ["a", "\"b,c\"\r"]);
        assert_eq!(cut("", ",", true), [""]);
        assert_eq!(cut("\"\",\"\"", ",", true), ["\"\"", "\"\""]);
    }

    #[test]
    fn quotes_come_off_only_where_they_go_on_again() {
        let plain = |text: &str| {
            csv::unquote(text.as_bytes()).map(|text| String::from_utf8(text.into_owned()).unwrap())
        };
        assert_eq!(plain("\"a\"").as_deref(), Some("a"));
        assert_eq!(plain("\"\"").as_deref(), Some(""));
        assert_eq!(plain("\"a\"\"b\"\"\"").as_deref(), Some("a\"b\""));
        assert_eq!(plain("\"\"\"\"\"\"").as_deref(), Some("\"\""));
        for text in ["a", "", "\"", "\"a", "\"a\"b", "\"a\"b\"", "\"\"\""] {
            assert_eq!(plain(text), None, "{text}");
        }
    }
}
