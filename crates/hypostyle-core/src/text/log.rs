//! Log lines as rows: the line, its time, its template and its variables.
//!
//! All columns follow from the line alone. A *token* is a run of bytes other than ASCII
//! whitespace, ASCII control characters and the separators `=:,;|()[]{}<>"'/`. The template
//! is the line with [`VARIABLE`] in place of each token that has an ASCII digit; these
//! tokens, in order, are the variables.

use std::ops::Range;

use super::stamp;

/// The names of the columns of a log.
pub const COLUMNS: [&str; 4] = ["line", "time", "template", "variables"];

/// What stands for a variable in a template.
pub const VARIABLE: &str = "<*>";

/// Returns the time stamp near the start of a line; see [`stamp::find`].
pub fn time(line: &[u8]) -> Option<String> {
    stamp::find(line)
}

/// Appends the template of a line.
///
/// ```
/// use hypostyle_core::text::log;
///
/// let mut template = String::new();
/// log::template_into("sshd[24200]: port 22 of 10.0.0.1:80 in blk_-1608", &mut template);
/// assert_eq!(template, "sshd[<*>]: port <*> of <*>:<*> in <*>");
/// ```
pub fn template_into(line: &str, out: &mut String) {
    for Piece { range, has_digit } in pieces(line.as_bytes()) {
        let piece = || line.get(range).unwrap_or_default();
        out.push_str(if has_digit { VARIABLE } else { piece() });
    }
}

/// Returns the variables of a line.
///
/// ```
/// use hypostyle_core::text::log;
///
/// let variables: Vec<_> = log::variables("took 5ms, x=é7;y").collect();
/// assert_eq!(variables, ["5ms", "é7"]);
/// ```
pub fn variables(line: &str) -> impl Iterator<Item = &str> {
    // Separators are ASCII, so the cuts are between characters.
    variable_ranges(line.as_bytes()).filter_map(|range| line.get(range))
}

/// Returns the places of the variables of a line.
///
/// If the line is not UTF-8, the variables are these bytes with replacement characters: a
/// sequence that is not UTF-8 ends before a separator.
pub fn variable_ranges(line: &[u8]) -> impl Iterator<Item = Range<usize>> {
    pieces(line).filter(|piece| piece.has_digit).map(|piece| piece.range)
}

/// The bits of [`BYTE_CLASSES`].
const SEPARATOR: u8 = 1;
const DIGIT: u8 = 2;

/// What each byte is; a table is faster than comparisons with all separators.
static BYTE_CLASSES: [u8; 256] = byte_classes();

const fn byte_classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut rest = classes.as_mut_slice();
    let mut byte = 0_u8;
    while let Some((class, after)) = rest.split_first_mut() {
        *class = match byte {
            b'0'..=b'9' => DIGIT,
            b'=' | b':' | b',' | b';' | b'|' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<'
            | b'>' | b'"' | b'\'' | b'/' | b' ' => SEPARATOR,
            _ if byte.is_ascii_control() => SEPARATOR,
            _ => 0,
        };
        rest = after;
        byte = byte.wrapping_add(1);
    }
    classes
}

fn class(byte: u8) -> u8 {
    BYTE_CLASSES.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Returns whether a byte separates tokens.
pub fn is_separator(byte: u8) -> bool {
    class(byte) == SEPARATOR
}

/// Returns whether some bytes have a digit and no separator, so that the token of a line that they
/// are in is a variable, whatever else is in the token.
pub fn is_variable(bytes: &[u8]) -> bool {
    let mut found = 0;
    bytes.iter().for_each(|&byte| found |= class(byte));
    found == DIGIT
}

/// A token or a run of separators.
struct Piece {
    range: Range<usize>,
    has_digit: bool,
}

/// Cuts a line into tokens and runs of separators.
fn pieces(line: &[u8]) -> impl Iterator<Item = Piece> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = line.get(start..)?;
        let first = class(*rest.first()?) & SEPARATOR;
        let mut found = 0;
        let is_other = |&byte: &u8| {
            let class = class(byte);
            if class & SEPARATOR == first {
                found |= class;
                return false;
            }
            true
        };
        let end = rest.iter().position(is_other).map_or(line.len(), |len| start + len);
        let range = start..end;
        start = end;
        Some(Piece { range, has_digit: found & DIGIT != 0 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_ascii() {
        let listed = b"=:,;|()[]{}<>\"'/";
        for byte in 0..=255_u8 {
            let is_listed = byte.is_ascii_whitespace() || listed.contains(&byte);
            assert_eq!(is_separator(byte), byte.is_ascii_control() || is_listed, "{byte}");
        }
        assert!(
            is_variable(b"a7-") && !is_variable(b"a7:") && !is_variable(b"a") && !is_variable(b"")
        );
    }

    proptest::proptest! {
        /// The variables put into the template give the line back.
        #[test]
        fn template_and_variables_are_the_line(line in "[a-c0-2é :=\\[\\]/.\t-]{0,30}") {
            let mut template = String::new();
            template_into(&line, &mut template);
            let mut back = String::new();
            let mut variables = variables(&line);
            for (at, part) in template.split(VARIABLE).enumerate() {
                if at > 0 {
                    back.push_str(variables.next().unwrap());
                }
                back.push_str(part);
                assert!(!part.bytes().any(|byte| byte.is_ascii_digit()));
            }
            assert_eq!(variables.next(), None);
            assert_eq!(back, line);
        }

        /// Replacement characters do not change where variables are.
        #[test]
        fn variables_of_bytes_are_those_of_the_text(
            line in proptest::collection::vec(proptest::sample::select(&b"a7 =\xC3\xA9\xE2\x82\xFF"[..]), 0..20),
        ) {
            let text = String::from_utf8_lossy(&line);
            let found: Vec<_> = variable_ranges(&line)
                .map(|range| String::from_utf8_lossy(&line[range]).into_owned())
                .collect();
            assert_eq!(found, variables(&text).collect::<Vec<_>>());
        }
    }
}
