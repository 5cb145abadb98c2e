//! Finds the delimiter and the quoting of a text, and whether its first line is a header.
//!
//! Every known delimiter splits a sample of the lines. The few for which the number of
//! fields varies least are then compared by compressed size.

use std::borrow::Cow;

use crate::fields::Dialect;
use crate::pack::sample::middle_lines;
use crate::pack::tables::decimal::CanonicalNumber;
use crate::pack::tables::interned::{InternedCells, entropy_bits};
use crate::pack::tables::split::SplitRows;
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::text::csv::unquote;

/// Delimiters of tables. A longer one precedes those that are part of it.
const DELIMITERS: [&[u8]; 12] =
    [b"\t|\t", b", ", b"; ", b" | ", b"::", b",", b";", b"\t", b"|", b" ", b":", b"\x01"];

/// Maximum number of dialects that are compared by size.
const MAX_COMPARED_DIALECTS: usize = 4;

/// Bytes of text by which dialects are compared.
const SAMPLE_BYTES: usize = 256 << 10;

/// Returns the dialect in which a text is smallest; `None` if the text is not a table.
pub(in crate::pack) fn find(text: &[u8]) -> Result<Option<Dialect>> {
    let sample = middle_lines(text, SAMPLE_BYTES);
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
    for (_, dialect) in likely.into_iter().take(MAX_COMPARED_DIALECTS) {
        if let Some(size) = estimated_size(sample, &dialect)?
            // A dialect with more odd lines must be clearly smaller.
            && best.as_ref().is_none_or(|&(smallest, _)| size < smallest - smallest / 20)
        {
            best = Some((size, dialect));
        }
    }
    Ok(best.map(|(_, dialect)| dialect))
}

/// Returns whether nearly all lines of a text have the same number of fields, at least
/// three, by a delimiter that is frequent in tables and rare in prose.
pub(in crate::pack) fn is_table(text: &[u8]) -> bool {
    let sample = middle_lines(text, SAMPLE_BYTES);
    let is_uniform = |delimiter: &[u8]| {
        let dialect = Dialect { delimiter: delimiter.to_vec(), quotes: true };
        let (widths, lines) = dialect.widths(sample, |fields| Some(fields.min(1000)));
        // A comma before the milliseconds splits every line of a log in two.
        widths.iter().skip(3).max().is_some_and(|&usual| (lines - usual) * 50 <= lines)
    };
    [&b","[..], b";", b"\t", b"|"].into_iter().any(is_uniform)
}

/// Counts the lines that have another number of fields than most lines; returns `None` if
/// half of the lines or more have a single field.
fn odd_lines(sample: &[u8], dialect: &Dialect) -> Option<usize> {
    let (widths, lines) = dialect.widths(sample, |fields| Some(fields.min(1000)));
    let single = widths.get(1).copied().unwrap_or_default();
    let usual = widths.iter().copied().max().unwrap_or_default();
    (single * 2 < lines).then_some(lines - usual)
}

/// Estimates the compressed size of a sample, column by column; returns `None` if it has no
/// rows.
fn estimated_size(sample: &[u8], dialect: &Dialect) -> Result<Option<usize>> {
    let Some(rows) = SplitRows::new(sample, dialect) else { return Ok(None) };
    let mut total = 0;
    for field in 0..rows.width {
        let cells = InternedCells::of_field(&rows, field);
        let texts = cells.texts(&rows).join(&b'\n');
        let mut all = Vec::new();
        for row in 0..rows.len() {
            all.extend_from_slice(rows.cell(row, &cells.fields).unwrap_or_default());
            all.push(b'\n');
        }
        let plain = zstd::compress(&all, 3)?.len();
        let bits = entropy_bits(&cells.counts(), cells.len());
        let entries = zstd::compress(&texts, 3)?.len();
        #[expect(clippy::cast_possible_truncation, reason = "bits of a sample")]
        #[expect(clippy::cast_sign_loss, reason = "never negative")]
        let entropy = (bits / 8.0) as usize;
        total += plain.min(entropy + entries);
    }
    total += zstd::compress(&rows.verbatim(), 3)?.len();
    Ok(Some(total))
}

/// Returns whether the first line names the columns.
///
/// It does if its fields are all distinct, none is empty or a number, and none appears
/// again in its column.
pub(in crate::pack) fn has_header(text: &[u8], dialect: &Dialect) -> bool {
    let end = text.len().min(SAMPLE_BYTES);
    let start = text.get(..end).unwrap_or_default();
    let start = start.get(..memchr::memrchr(b'\n', start).unwrap_or(end)).unwrap_or(start);
    let mut lines = start.split(|&byte| byte == b'\n');
    let Some(first) = lines.next() else { return false };
    let names = dialect.fields(first);
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() < names.len().max(2) {
        return false;
    }
    let is_name = |name: &&[u8]| {
        let bare = unquote(name).unwrap_or(Cow::Borrowed(name));
        !bare.trim_ascii().is_empty() && CanonicalNumber::parse(bare.trim_ascii()).is_none()
    };
    if !names.iter().all(is_name) {
        return false;
    }
    let mut rows = 0;
    for line in lines.take(2000) {
        let cells = dialect.fields(line);
        rows += usize::from(cells.len() == names.len());
        if cells.iter().zip(&names).any(|(cell, name)| cell == name) {
            return false;
        }
    }
    rows > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        let dialect = find(text.as_bytes()).unwrap()?;
        Some(String::from_utf8(dialect.delimiter).unwrap())
    }

    #[test]
    fn the_delimiter_gives_all_lines_the_same_number_of_fields() {
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
    fn a_header_differs_from_the_cells_below_it() {
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
