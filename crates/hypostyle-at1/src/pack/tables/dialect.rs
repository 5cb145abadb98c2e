//! How a text is cut into fields, and whether its first line holds names.
//!
//! Nothing is known of the text. Each delimiter that is used anywhere is tried on
//! some lines; those that cut them most alike are tried for size.

use std::borrow::Cow;

use crate::fields::{Dialect, unquoted};
use crate::pack::tables::column::Number;
use crate::pack::tables::interned::{Cells, bits};
use crate::pack::tables::split::Rows;
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;

/// Delimiters that tables use. A longer one comes before a part of it.
const DELIMITERS: [&[u8]; 12] =
    [b"\t|\t", b", ", b"; ", b" | ", b"::", b",", b";", b"\t", b"|", b" ", b":", b"\x01"];

/// Bytes that dialects are judged by.
const SAMPLE: usize = 256 << 10;

/// Finds the dialect in which a text is smallest; `None` if it is no table in any.
pub(in crate::pack) fn find(text: &[u8]) -> Result<Option<Dialect>> {
    let sample = sample(text);
    let mut likely: Vec<(usize, Dialect)> = Vec::new();
    for delimiter in DELIMITERS {
        for quotes in [true, false] {
            let dialect = Dialect { delimiter: delimiter.to_vec(), quotes };
            if !quotes && memchr::memchr(b'"', sample).is_none() {
                continue;
            }
            if let Some(odd) = odd_lines(sample, &dialect) {
                likely.push((odd, dialect));
            }
        }
    }
    likely.sort_by_key(|&(odd, _)| odd);
    let mut best: Option<(usize, Dialect)> = None;
    for (_, dialect) in likely.into_iter().take(4) {
        if let Some(size) = size(sample, &dialect)?
            // One that cuts lines less alike must be clearly better.
            && best.as_ref().is_none_or(|&(least, _)| size < least - least / 20)
        {
            best = Some((size, dialect));
        }
    }
    Ok(best.map(|(_, dialect)| dialect))
}

/// Whether nearly all lines of a text have as many fields, three or more, by a delimiter
/// that tables have and prose has not.
pub(in crate::pack) fn is_table(text: &[u8]) -> bool {
    let sample = sample(text);
    let alike = |delimiter: &[u8]| {
        let dialect = Dialect { delimiter: delimiter.to_vec(), quotes: true };
        let (usual, lines) = dialect.widths(sample, |fields| Some(fields.min(1000)));
        // A comma before the milliseconds makes two fields of any line of a log.
        usual.iter().skip(3).max().is_some_and(|&most| (lines - most) * 50 <= lines)
    };
    [&b","[..], b";", b"\t", b"|"].into_iter().any(alike)
}

/// Whole lines from the middle of a text, where it is long.
fn sample(text: &[u8]) -> &[u8] {
    if text.len() <= SAMPLE {
        return text.strip_suffix(b"\n").unwrap_or(text);
    }
    let start = (text.len() - SAMPLE) / 2;
    let part = text.get(start..start + SAMPLE).unwrap_or_default();
    let first = memchr::memchr(b'\n', part).map_or(0, |at| at + 1);
    let last = memchr::memrchr(b'\n', part).unwrap_or(part.len());
    part.get(first..last).unwrap_or(part)
}

/// Lines that have another number of fields than most; `None` if most have one.
fn odd_lines(sample: &[u8], dialect: &Dialect) -> Option<usize> {
    let (usual, lines) = dialect.widths(sample, |fields| Some(fields.min(1000)));
    let single = usual.get(1).copied().unwrap_or_default();
    let most = usual.iter().copied().max().unwrap_or_default();
    (single * 2 < lines).then_some(lines - most)
}

/// What a sample takes, column by column, roughly.
fn size(sample: &[u8], dialect: &Dialect) -> Result<Option<usize>> {
    let Some(rows) = Rows::new(sample, dialect) else { return Ok(None) };
    let mut total = 0;
    for field in 0..rows.width {
        let cells = Cells::of_field(&rows, field);
        let texts = cells.texts(&rows).join(&b'\n');
        let mut all = Vec::new();
        for row in 0..rows.len() {
            all.extend_from_slice(rows.cell(row, &cells.fields).unwrap_or_default());
            all.push(b'\n');
        }
        let plain = zstd::compress(&all, 3)?.len();
        let bits = bits(&cells.counts(), cells.len());
        let entries = zstd::compress(&texts, 3)?.len();
        #[expect(clippy::cast_possible_truncation, reason = "bits of a sample")]
        #[expect(clippy::cast_sign_loss, reason = "never negative")]
        let entropy = (bits / 8.0) as usize;
        total += plain.min(entropy + entries);
    }
    total += zstd::compress(&rows.verbatim(), 3)?.len();
    Ok(Some(total))
}

/// Whether the first line names the columns below it.
///
/// It does if its fields are all different, none is empty or a number, and none
/// appears in its column again.
pub(in crate::pack) fn has_header(text: &[u8], dialect: &Dialect) -> bool {
    let end = text.len().min(SAMPLE);
    let part = text.get(..end).unwrap_or_default();
    let part = part.get(..memchr::memrchr(b'\n', part).unwrap_or(end)).unwrap_or(part);
    let mut lines = part.split(|&byte| byte == b'\n');
    let Some(first) = lines.next() else { return false };
    let names = dialect.fields(first);
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() < names.len().max(2) {
        return false;
    }
    let is_name = |name: &&[u8]| {
        let bare = unquoted(name).unwrap_or(Cow::Borrowed(name));
        !bare.trim_ascii().is_empty() && Number::parse(bare.trim_ascii()).is_none()
    };
    if !names.iter().all(is_name) {
        return false;
    }
    let mut alike = 0;
    for line in lines.take(2000) {
        let cells = dialect.fields(line);
        alike += usize::from(cells.len() == names.len());
        if cells.iter().zip(&names).any(|(cell, name)| cell == name) {
            return false;
        }
    }
    alike > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        let dialect = find(text.as_bytes()).unwrap()?;
        Some(String::from_utf8(dialect.delimiter).unwrap())
    }

    #[test]
    fn the_delimiter_is_the_one_that_cuts_lines_alike() {
        let table = |delimiter: &str| -> String {
            let row = |i: usize| {
                let name = ["John, Smith", "Ann; Lee", "a b c"][i * i * 31 % 101 % 3];
                [i.to_string(), format!("\"{name}\""), (i * 7 % 13).to_string()].join(delimiter)
            };
            (0..500).map(row).collect::<Vec<_>>().join("\n")
        };
        for delimiter in [",", ";", "\t", "|", "\t|\t"] {
            assert_eq!(found(&table(delimiter)).as_deref(), Some(delimiter));
        }
        assert_eq!(found("one\ntwo\nthree\n"), None);
    }

    #[test]
    fn a_header_is_unlike_what_stands_below_it() {
        let dialect = Dialect { delimiter: b",".to_vec(), quotes: true };
        for (text, want) in [
            ("id,name\n1,a\n2,b\n", true),
            ("\"id\",\"name\"\n1,a\n", true),
            ("1,a\n2,b\n", false),
            ("id,id\n1,a\n", false),
            ("id,\n1,a\n", false),
            ("x,y\na,y\n", false),
            ("id,name\n", false),
        ] {
            assert_eq!(has_header(text.as_bytes(), &dialect), want, "{text}");
        }
    }
}
