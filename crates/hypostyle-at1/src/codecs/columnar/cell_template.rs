//! The text around the JSON values in the cells of a column (§5.7.1).

use std::ops::Range;

use crate::json_scan::scalar_len;
use crate::streams::StreamCursor;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// The byte that stands for a value in the text of a template.
const PLACEHOLDER: u8 = b'0';

/// The text that all cells of a column have before, between and after their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellTemplate {
    /// The text before the first value.
    start: Vec<u8>,
    /// The text after each value.
    after: Vec<Vec<u8>>,
}

impl CellTemplate {
    /// Returns the template of a cell with values in these places, which are in order.
    pub(crate) fn of_cell(cell: &[u8], values: &[Range<usize>]) -> Self {
        let text = |from: usize, to: usize| cell.get(from..to).unwrap_or_default().to_vec();
        let ends = values.iter().skip(1).map(|value| value.start).chain([cell.len()]);
        let after = values.iter().zip(ends).map(|(value, end)| text(value.end, end)).collect();
        let start = text(0, values.first().map_or(cell.len(), |value| value.start));
        Self { start, after }
    }

    /// Returns the number of values in each cell.
    pub(crate) fn values(&self) -> usize {
        self.after.len()
    }

    /// Returns the values of a cell; `None` if it does not fit.
    pub(crate) fn parts<'c>(&self, cell: &'c [u8]) -> Option<Vec<&'c [u8]>> {
        let mut parts = Vec::with_capacity(self.after.len());
        self.for_each(cell, |part| parts.push(part))?;
        Some(parts)
    }

    /// Returns one of the values of a cell; `None` if the cell does not fit.
    pub(crate) fn nth<'c>(&self, cell: &'c [u8], nth: usize) -> Option<&'c [u8]> {
        let (mut index, mut found) = (0, None);
        self.for_each(cell, |part| {
            if index == nth {
                found = Some(part);
            }
            index += 1;
        })?;
        found
    }

    /// Returns whether a cell fits: it has the text, and JSON values between.
    pub(crate) fn fits(&self, cell: &[u8]) -> bool {
        self.for_each(cell, |_| {}).is_some()
    }

    fn for_each<'c>(&self, cell: &'c [u8], mut add: impl FnMut(&'c [u8])) -> Option<()> {
        let mut rest = cell.strip_prefix(&self.start[..])?;
        for text in &self.after {
            let (value, after) = rest.split_at_checked(scalar_len(rest)?)?;
            add(value);
            rest = after.strip_prefix(&text[..])?;
        }
        rest.is_empty().then_some(())
    }

    /// Adds a delimiter and the cells of another template to all cells.
    pub(crate) fn join(&mut self, delimiter: &[u8], next: &Self) {
        let end = self.after.last_mut().unwrap_or(&mut self.start);
        end.extend_from_slice(delimiter);
        end.extend_from_slice(&next.start);
        self.after.extend(next.after.iter().cloned());
    }

    /// Returns the template with one byte in place of each value, and the offsets of these.
    pub(crate) fn text(&self) -> (Vec<u8>, Vec<usize>) {
        let (mut text, mut places) = (self.start.clone(), Vec::with_capacity(self.after.len()));
        for after in &self.after {
            places.push(text.len());
            text.push(PLACEHOLDER);
            text.extend_from_slice(after);
        }
        (text, places)
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put::uv(out, self.after.len() as u64);
        put::lp(out, &self.start);
        self.after.iter().for_each(|text| put::lp(out, text));
    }

    pub(super) fn read(stream: &mut StreamCursor<'_>) -> Result<Self> {
        let count = stream.count(1, "value count")?;
        let start = stream.lp("text before a value")?.to_vec();
        let after = (0..count).map(|_| stream.lp("text after a value").map(<[u8]>::to_vec));
        Ok(Self { start, after: after.collect::<Result<_>>()? })
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one place")]
mod tests {
    use super::*;

    #[test]
    fn cells_that_fit_have_the_text_and_valid_values() {
        let mut template = CellTemplate::of_cell(br#"{"a": 12"#, &[6..8]);
        let last = CellTemplate::of_cell(br#""b":"x","c":null}"#, &[4..7, 12..16]);
        template.join(b",", &last);
        assert_eq!(template.values(), 3);
        let (text, places) = template.text();
        assert_eq!(text, br#"{"a": 0,"b":0,"c":0}"#);
        assert!(places.iter().all(|&at| text[at] == b'0') && places.len() == 3);
        let parts = |cell: &str| {
            let parts = template.parts(cell.as_bytes())?;
            let text = |part: &&[u8]| String::from_utf8(part.to_vec()).unwrap();
            Some(parts.iter().map(text).collect::<Vec<_>>())
        };
        let want = ["-1.5e3", r#""\",\"c\":""#, "true"].map(str::to_owned).to_vec();
        assert_eq!(parts(r#"{"a": -1.5e3,"b":"\",\"c\":","c":true}"#), Some(want));
        for odd in [
            r#"{"a":1,"b":2,"c":3}"#,
            r#"{"a": 1,"b":2,"c":3} "#,
            r#"{"a": 01,"b":2,"c":3}"#,
            r#"{"a": 1,"b":"\x","c":3}"#,
            r#"{"a": 1,"b":2,"c":}"#,
            r#"{"a": 1,"b":2,"d":3}"#,
            r#"{"a": {},"b":2,"c":3}"#,
            r#"{"a": 1,"b":2"#,
            "",
        ] {
            assert_eq!(parts(odd), None, "{odd}");
            assert!(!template.fits(odd.as_bytes()));
        }
        let cell = br#"{"a": 1,"b":2,"c":3}"#;
        assert_eq!(template.nth(cell, 1), Some(&b"2"[..]));
        assert_eq!(template.nth(cell, 3), None);
    }

    #[test]
    fn a_template_without_values_is_a_constant() {
        let mut template = CellTemplate::of_cell(b"{\"a\"", &[]);
        assert!(template.fits(b"{\"a\"") && !template.fits(b"{\"b\""));
        template.join(b":", &CellTemplate::of_cell(b"1}", &[0..1]));
        assert_eq!(template.parts(b"{\"a\":\"x\"}"), Some(vec![&b"\"x\""[..]]));
    }
}
