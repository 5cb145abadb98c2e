//! Splits the text of a predicate into tokens.

use std::fmt;

use crate::error::{Error, Result, clipped};
use crate::number::decimal::Decimal;

/// Keywords; a column of that name must be written in double quotes.
const KEYWORDS: [&str; 12] =
    ["and", "between", "escape", "false", "ilike", "in", "is", "like", "not", "null", "or", "true"];

/// Symbols; each precedes its own prefixes. `--` starts a comment in SQL, so it is no sign.
const SYMBOLS: [&str; 23] = [
    "<>", "!=", "<=", ">=", "==", "=", "<", ">", "(", ")", ",", "--", "+", "-", "*", "//", "/",
    "%", "!~*", "!~", "~*", "~", "::",
];

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name without quotes, such as `a.b[0].c`.
    Name(String),
    /// A name with a part in double quotes, which are removed.
    Quoted(String),
    Keyword(&'static str),
    Symbol(&'static str),
    Number(Decimal),
    Text(String),
    /// A character that starts no token.
    Stray(char),
    End,
}

/// Prints the token as error messages name it.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) | Self::Quoted(name) => write!(f, "the name `{}`", clipped(name)),
            Self::Keyword(word) | Self::Symbol(word) => write!(f, "`{word}`"),
            Self::Number(number) => write!(f, "the number {number}"),
            Self::Text(text) => write!(f, "the text '{}'", clipped(text)),
            Self::Stray(c) => write!(f, "`{}`", c.escape_debug()),
            Self::End => f.write_str("the end"),
        }
    }
}

/// Splits a text into tokens.
#[derive(Clone, Debug)]
pub(super) struct Tokens<'a> {
    text: &'a str,
    /// The byte offset from which the next token is read.
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Reads the next token and returns its byte offset and the token.
    pub(super) fn next(&mut self) -> Result<(usize, Token)> {
        let rest = self.text.get(self.at..).unwrap_or_default().trim_start();
        let start = self.text.len() - rest.len();
        let (token, len) = self.read(rest, start)?;
        self.at = start + len;
        Ok((start, token))
    }

    /// Returns an error at a byte offset; the message counts characters from 1.
    pub(super) fn error(&self, at: usize, why: impl fmt::Display) -> Error {
        let before = self.text.get(..at).map_or(0, |before| before.chars().count());
        Error::invalid_argument(format!("at character {}: {why}", before.saturating_add(1)))
    }

    fn read(&self, rest: &str, start: usize) -> Result<(Token, usize)> {
        let Some(first) = rest.chars().next() else { return Ok((Token::End, 0)) };
        if let Some(len) = bare(rest) {
            let word = rest.get(..len).unwrap_or_default();
            if let Some(keyword) = keyword(word) {
                return Ok((Token::Keyword(keyword), len));
            }
            return self.name(word.to_owned(), rest, len, start);
        }
        if matches!(first, '"' | '\'') {
            let (text, len) = self.unquoted(rest, first, start)?;
            if first == '"' {
                return self.name(text, rest, len, start);
            }
            return Ok((Token::Text(text), len));
        }
        if let Some(len) = numeric(rest) {
            let text = rest.get(..len).unwrap_or_default();
            let number = Decimal::parse(text.as_bytes()).ok_or_else(|| {
                self.error(start, format_args!("expected a number, found `{}`", clipped(text)))
            })?;
            return Ok((Token::Number(number), len));
        }
        let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
        Ok(symbol.map_or((Token::Stray(first), first.len_utf8()), |symbol| {
            (Token::Symbol(symbol), symbol.len())
        }))
    }

    /// Reads the parts that follow the first `len` bytes of a name in `rest`.
    fn name(
        &self,
        mut name: String,
        rest: &str,
        mut len: usize,
        start: usize,
    ) -> Result<(Token, usize)> {
        let mut quoted = rest.starts_with('"');
        loop {
            let after = rest.get(len..).unwrap_or_default();
            if after.starts_with(".\"") {
                let part = after.get(1..).unwrap_or_default();
                let (text, part_len) = self.unquoted(part, '"', start + len + 1)?;
                name.push('.');
                name.push_str(&text);
                len += 1 + part_len;
                quoted = true;
                continue;
            }
            let part_len = path_len(after);
            if part_len == 0 {
                break;
            }
            name.push_str(after.get(..part_len).unwrap_or_default());
            len += part_len;
        }
        Ok((if quoted { Token::Quoted(name) } else { Token::Name(name) }, len))
    }

    /// Returns the content of the quoted text at the start of `text`, with doubled quotes as
    /// one, and its length including the quotes.
    fn unquoted(&self, text: &str, quote: char, start: usize) -> Result<(String, usize)> {
        let mut out = String::new();
        let mut chars = text.char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            if c == quote && chars.next_if(|&(_, next)| next == quote).is_none() {
                return Ok((out, at + c.len_utf8()));
            }
            out.push(c);
        }
        let what = if quote == '"' { "name" } else { "text" };
        let why = format!("expected {quote} at the end of this {what}, found the end");
        Err(self.error(start, why))
    }
}

/// Returns whether a name needs no quotes.
pub(super) fn is_bare(name: &str) -> bool {
    bare(name) == Some(name.len()) && keyword(name).is_none()
}

fn keyword(word: &str) -> Option<&'static str> {
    KEYWORDS.into_iter().find(|keyword| keyword.eq_ignore_ascii_case(word))
}

/// Returns the length of the bare name at the start of the text, such as `a.b[0].c`.
fn bare(text: &str) -> Option<usize> {
    let rest = after_word(text.as_bytes())?;
    let word = text.len() - rest.len();
    Some(word + path_len(text.get(word..).unwrap_or_default()))
}

/// Returns the length of the bare parts of a path at the start of the text, such as `.b[0]`.
fn path_len(text: &str) -> usize {
    let mut rest = text.as_bytes();
    loop {
        let after = match rest {
            [b'.', part @ ..] => after_word(part),
            [b'[', part @ ..] => after_index(part),
            _ => None,
        };
        match after {
            Some(after) => rest = after,
            None => return text.len() - rest.len(),
        }
    }
}

fn after_word(text: &[u8]) -> Option<&[u8]> {
    let (first, rest) = text.split_first()?;
    if !first.is_ascii_alphabetic() && *first != b'_' {
        return None;
    }
    let len = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$'));
    rest.get(len.count()..)
}

fn after_index(text: &[u8]) -> Option<&[u8]> {
    let len = text.iter().take_while(|b| b.is_ascii_digit()).count();
    match text.get(len..)? {
        [b']', rest @ ..] if len > 0 => Some(rest),
        _ => None,
    }
}

/// Returns the length of the number at the start of the text, including characters that
/// directly follow it; [`Decimal::parse`] refuses these later.
fn numeric(text: &str) -> Option<usize> {
    if !text.strip_prefix('.').unwrap_or(text).starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut last = ' ';
    let end = text.find(|c: char| {
        let symbol = matches!(c, '+' | '-') && matches!(last, 'e' | 'E');
        last = c;
        !(c.is_alphanumeric() || matches!(c, '.' | '_' | '$') || symbol)
    });
    Some(end.unwrap_or(text.len()))
}
