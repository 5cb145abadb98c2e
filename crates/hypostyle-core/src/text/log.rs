//! Log lines as rows: the line, its time, its template and its variables.
//!
//! All columns follow from the line alone. A *token* is a run of bytes other than ASCII
//! whitespace, ASCII control characters and the separators `=:,;|()[]{}<>"'/`. The template
//! is the line with [`VARIABLE`] in place of each token that has an ASCII digit; these
//! tokens, in order, are the variables.

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
    for piece in pieces(line) {
        out.push_str(if has_digit(piece) { VARIABLE } else { piece });
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
    pieces(line).filter(|piece| has_digit(piece))
}

fn is_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_control() || b"=:,;|()[]{}<>\"'/".contains(&byte)
}

fn has_digit(piece: &str) -> bool {
    piece.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns whether some bytes have a digit and no separator, so that the token of a line that they
/// are in is a variable, whatever else is in the token.
pub fn is_variable(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_digit) && !bytes.iter().any(|&byte| is_separator(byte))
}

/// Cuts a line into tokens and runs of separators.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = is_separator(*rest.as_bytes().first()?);
        let end = rest.bytes().position(|byte| is_separator(byte) != first);
        // Separators are ASCII, so the cut is between characters.
        let (piece, tail) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        rest = tail;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
