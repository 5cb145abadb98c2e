//! What kind of table a text is, from its name and its first bytes.
//!
//! The rules are in `docs/text-tables.md`. The same function decides for a text file and
//! for an archive that holds one, so that both are the same table.

use super::format::{TextFormat, TextKind};
use super::input::BOM;

/// Bytes at the start of a text that [`detect`] looks at; callers pass as many if they
/// have them.
pub const HEAD_BYTES: usize = 64 << 10;

/// Rows that are split to find the delimiter.
#[cfg(feature = "csv")]
const SAMPLED_ROWS: usize = 100;

/// Bytes that may separate cells, in order of preference.
#[cfg(feature = "csv")]
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Why content is not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotText {
    /// A zero byte at this offset.
    ZeroByte(usize),
    /// A sequence that is not UTF-8 at this offset.
    NotUtf8(usize),
}

impl std::fmt::Display for NotText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ZeroByte(at) => write!(f, "is not text: byte {at} is zero"),
            Self::NotUtf8(at) => write!(f, "is not text: byte {at} is not UTF-8"),
        }
    }
}

/// Returns why the start of some content is not text; `None` if it is.
///
/// The content may end within a character, because the caller cut it off.
pub fn not_text(head: &[u8]) -> Option<NotText> {
    if let Some(at) = memchr::memchr(0, head) {
        return Some(NotText::ZeroByte(at));
    }
    match std::str::from_utf8(head) {
        Err(err) if err.error_len().is_some() => Some(NotText::NotUtf8(err.valid_up_to())),
        _ => None,
    }
}

/// Finds the format of a text from its file name and its first [`HEAD_BYTES`] bytes.
///
/// A name with a known extension decides alone, except for the delimiter of `.csv`. Without
/// one the content decides; the result is `None` if it is [not text](not_text).
pub fn detect(name: Option<&str>, head: &[u8]) -> Option<TextFormat> {
    let name = name.map(without_archive_extension);
    let extension = name.and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension);
    let text = head.strip_prefix(BOM).unwrap_or(head);
    match extension.and_then(TextKind::by_extension) {
        Some(TextKind::Delimited { delimiter: b',' }) => {
            Some(TextFormat::delimited(delimiter_of_csv(text)))
        }
        Some(kind) => Some(TextFormat::new(kind)),
        None if not_text(head).is_some() => None,
        None => Some(TextFormat::new(kind_of_content(text))),
    }
}

/// Returns a name without the ending `.at1`.
fn without_archive_extension(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, extension)) if extension.eq_ignore_ascii_case("at1") => stem,
        _ => name,
    }
}

fn kind_of_content(text: &[u8]) -> TextKind {
    if text.trim_ascii_start().first() == Some(&b'{') {
        return TextKind::JsonLines;
    }
    if is_array_of_objects(text) {
        return TextKind::JsonArray;
    }
    if text.starts_with(b"##fileformat=VCF") {
        return TextKind::VariantCalls;
    }
    match fitting_delimiter(text) {
        Some(delimiter) => TextKind::Delimited { delimiter },
        None => TextKind::Lines,
    }
}

/// Returns whether a text starts like a JSON array whose first element is an object.
fn is_array_of_objects(text: &[u8]) -> bool {
    let rest = text.trim_ascii_start().strip_prefix(b"[");
    rest.is_some_and(|rest| rest.trim_ascii_start().first() == Some(&b'{'))
}

/// Returns the delimiter of a `.csv`: a comma, unless the first row has none and another
/// delimiter splits all rows into the same number of cells.
#[cfg(feature = "csv")]
fn delimiter_of_csv(text: &[u8]) -> u8 {
    let comma = sample(text, b',');
    if comma.first().is_some_and(|&cells| cells > 1) {
        return b',';
    }
    let is_consistent = |delimiter: &u8| {
        let rows = sample(text, *delimiter);
        rows.first().is_some_and(|&first| first > 1 && rows.iter().all(|&cells| cells == first))
    };
    DELIMITERS.into_iter().find(is_consistent).unwrap_or(b',')
}

#[cfg(not(feature = "csv"))]
fn delimiter_of_csv(_: &[u8]) -> u8 {
    b','
}

/// Returns the delimiter that splits at least half of the rows into as many cells as the
/// first row, and that row into several; the one that does so for most rows.
#[cfg(feature = "csv")]
fn fitting_delimiter(text: &[u8]) -> Option<u8> {
    let mut best: Option<(usize, u8)> = None;
    for delimiter in DELIMITERS {
        let rows = sample(text, delimiter);
        let Some(&first) = rows.first().filter(|&&first| first > 1) else { continue };
        let alike = rows.iter().filter(|&&cells| cells == first).count();
        if alike * 2 >= rows.len() && best.is_none_or(|(most, _)| alike > most) {
            best = Some((alike, delimiter));
        }
    }
    best.map(|(_, delimiter)| delimiter)
}

#[cfg(not(feature = "csv"))]
fn fitting_delimiter(_: &[u8]) -> Option<u8> {
    None
}

/// Returns the number of cells of each of the first rows that are not blank.
#[cfg(feature = "csv")]
fn sample(text: &[u8], delimiter: u8) -> Vec<usize> {
    use super::csv::split::{RowBlock, RowOutcome, Splitter};

    let head = text.get(..HEAD_BYTES.min(text.len())).unwrap_or_default();
    // The last line of a full sample may be cut off.
    let is_cut = text.len() + BOM.len() >= HEAD_BYTES;
    let splitter = Splitter::new(delimiter);
    let mut rows = RowBlock { text: head.to_vec(), ..RowBlock::default() };
    let (mut start, mut counts) = (0, Vec::new());
    while counts.len() < SAMPLED_ROWS
        && let RowOutcome::Row(row) = splitter.row(&mut rows, start, !is_cut)
    {
        let is_blank = row.cells == 1
            && rows.cells.last().is_some_and(|cell| !cell.quoted() && cell.bytes(&rows).is_empty());
        if !is_blank {
            counts.push(row.cells);
        }
        start = row.next;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: Option<&str>, text: &str) -> TextKind {
        detect(name, text.as_bytes()).unwrap().kind
    }

    const CSV: TextKind = TextKind::Delimited { delimiter: b',' };

    #[test]
    fn a_known_extension_decides() {
        for (name, want) in [
            ("a.csv", CSV),
            ("a.CSV", CSV),
            ("dir.txt/a.csv.at1", CSV),
            ("a.tsv", TextKind::Delimited { delimiter: b'\t' }),
            ("a.tab", TextKind::Delimited { delimiter: b'\t' }),
            ("a.jsonl", TextKind::JsonLines),
            ("a.NDJSON.At1", TextKind::JsonLines),
            ("a.txt", TextKind::Lines),
            ("server.log.at1", TextKind::Log),
            ("calls.vcf", TextKind::VariantCalls),
        ] {
            for text in ["a,b\n1,2\n", "", "{\"a\":1}\n"] {
                assert_eq!(kind(Some(name), text), want, "{name}");
            }
            assert!(detect(Some(name), b"\0\xFF").is_some(), "{name}");
        }
    }

    #[cfg(feature = "csv")]
    #[test]
    fn a_csv_may_have_another_delimiter() {
        let delimiter = |text: &str| match kind(Some("a.csv"), text) {
            TextKind::Delimited { delimiter } => char::from(delimiter),
            other => panic!("{other:?}"),
        };
        assert_eq!(delimiter("a;b\n1,5;2,5\n3;4\n"), ';');
        assert_eq!(delimiter("a\tb\tc\n1\t2\t3\n"), '\t');
        assert_eq!(delimiter("\u{FEFF}a|b\r\n\r\n1|2\r\n"), '|');
        assert_eq!(delimiter("a;b,c\n1;2,3\n"), ',');
        assert_eq!(delimiter("name\nx;y\nz\n"), ',');
        assert_eq!(delimiter("a;b\n1;2;3\n"), ',');
        assert_eq!(delimiter("\"a;b\"\n\"1;2\"\n"), ',');
        assert_eq!(delimiter("\"a\n;\";b\n1;2\n"), ';');
        // The sample may end anywhere in a row.
        let rows = "first;second\n".to_owned() + &"1234567;12345678\n".repeat(5000);
        assert_eq!(delimiter(&rows[..HEAD_BYTES]), ';');
    }

    #[cfg(feature = "csv")]
    #[test]
    fn without_an_extension_the_content_decides() {
        for name in [None, Some("data"), Some("data.bin"), Some("data.at1")] {
            assert_eq!(kind(name, "a,b\n1,2\n"), CSV);
            assert_eq!(kind(name, "a,b\n1,2,3\n"), CSV);
            assert_eq!(kind(name, "a;b\n1,5;2,5\n"), TextKind::Delimited { delimiter: b';' });
            assert_eq!(kind(name, "\u{FEFF} {\"a\":1}\n"), TextKind::JsonLines);
            assert_eq!(kind(name, "\n[\n {\"a\":1}\n]"), TextKind::JsonArray);
            assert_eq!(kind(name, "[1,2]\n[3,4]\n"), CSV);
            assert_eq!(kind(name, "##fileformat=VCFv4.2\n#CHROM\n"), TextKind::VariantCalls);
            assert_eq!(kind(name, "Dear all, hello\nthis is\na text\nof lines\n"), TextKind::Lines);
            assert_eq!(kind(name, "word\nword\n"), TextKind::Lines);
            assert_eq!(kind(name, ""), TextKind::Lines);
            assert_eq!(detect(name, b"a,b\n\0"), None);
            assert_eq!(detect(name, b"a,b\n\xFF,1"), None);
            // A character may be cut off at the end.
            assert!(detect(name, b"a,b\n1,\xC3").is_some());
        }
        assert_eq!(not_text(b"ab\0"), Some(NotText::ZeroByte(2)));
        assert_eq!(not_text(b"ab\xFFc").unwrap().to_string(), "is not text: byte 2 is not UTF-8");
    }
}
