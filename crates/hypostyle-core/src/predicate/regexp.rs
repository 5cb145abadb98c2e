//! Regular expressions with the syntax and meaning of RE2.

use regex::bytes::RegexBuilder;

use super::expr::RegexPattern;

/// The largest compiled form of a pattern, in bytes.
const MAX_COMPILED_SIZE: usize = 1 << 20;

/// Compiles a pattern; matching takes time linear in the text.
///
/// Fails with what is wrong with the pattern.
pub(super) fn pattern(text: String, whole: bool, any_case: bool) -> Result<RegexPattern, String> {
    let translated = ascii_classes(&text);
    let anchored = if whole { format!("^(?:{translated})$") } else { translated };
    let compiled = RegexBuilder::new(&anchored)
        .case_insensitive(any_case)
        .size_limit(MAX_COMPILED_SIZE)
        .build();
    match compiled {
        Ok(compiled) => Ok(RegexPattern { text, whole, any_case, compiled }),
        Err(error) => {
            let error = error.to_string();
            // The last line says what is wrong; the lines before draw the pattern.
            let why = error.lines().last().unwrap_or_default();
            let why = why.strip_prefix("error: ").unwrap_or(why);
            Err(format!("expected a regular expression, found one that is not valid: {why}"))
        }
    }
}

/// Replaces `\d`, `\w`, `\s`, their negations, `\b` and `\B` by forms for ASCII, which is what
/// they mean in RE2.
fn ascii_classes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let next = chars.next();
                let class = match next {
                    Some('d') => "[:digit:]",
                    Some('D') => "[:^digit:]",
                    Some('w') => "[:word:]",
                    Some('W') => "[:^word:]",
                    Some('s') => "\\t\\n\\x0C\\r ",
                    Some('S') => "\\x00-\\x08\\x0B\\x0E-\\x1F!-\\x{10FFFF}",
                    Some(edge @ ('b' | 'B')) if !in_class => {
                        out.push_str("(?-u:\\");
                        out.push(edge);
                        out.push(')');
                        continue;
                    }
                    other => {
                        out.push('\\');
                        out.extend(other);
                        continue;
                    }
                };
                if in_class {
                    out.push_str(class);
                } else {
                    out.push('[');
                    out.push_str(class);
                    out.push(']');
                }
            }
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                // `]` right after the opening bracket is a member.
                let mut rest = chars.as_str();
                if let Some(after) = rest.strip_prefix('^') {
                    out.push('^');
                    rest = after;
                }
                if let Some(after) = rest.strip_prefix(']') {
                    out.push_str("\\]");
                    rest = after;
                }
                chars = rest.chars();
            }
            '[' if chars.as_str().starts_with(':') => {
                // A POSIX class such as `[:alpha:]`, which ends with a bracket of its own.
                let rest = chars.as_str();
                let len = rest.find(":]").map_or(0, |at| at + 2);
                out.push('[');
                out.push_str(rest.get(..len).unwrap_or_default());
                chars = rest.get(len..).unwrap_or_default().chars();
            }
            // Inside a class, `[`, `&&` and `~~` are plain characters in RE2.
            '[' => out.push_str("\\["),
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern_text: &str, text: &str) -> bool {
        pattern(pattern_text.to_owned(), false, false).unwrap().compiled.is_match(text.as_bytes())
    }

    #[test]
    fn classes_are_those_of_ascii() {
        for (pattern, yes, no) in [
            (r"^\w+$", "aZ_9", "é"),
            (r"^\W$", "é", "a"),
            (r"^\d$", "7", "٣"),
            (r"^[\d-]+$", "7-7", "٣"),
            (r"^[^\w]$", "é", "a"),
            (r"^\s$", "\t", "\u{b}"),
            (r"^\S$", "\u{b}", " "),
            (r"^[\S]$", "é", "\n"),
            (r"\bé", "aé", "é"),
            (r"^[]a]$", "]", "b"),
            (r"^[^]a]$", "b", "]"),
            (r"^[[:alpha:]\]]+$", "a]", "1"),
            (r"^[a[]$", "[", "]"),
            (r"^[&&b]$", "&", "c"),
            (r"^a.b$", "aéb", "a\nb"),
            (r"^\p{L}$", "é", "1"),
            (r"(?i)É", "é", "e"),
        ] {
            assert!(matches(pattern, yes), "{pattern} {yes}");
            assert!(!matches(pattern, no), "{pattern} {no:?}");
        }
    }

    #[test]
    fn a_pattern_that_is_not_valid_or_too_large_is_refused() {
        for (text, why) in [("a(", "unclosed group"), ("(?:(?:a{999}){999}){999}", "size limit")] {
            let error = pattern(text.to_owned(), false, false).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
