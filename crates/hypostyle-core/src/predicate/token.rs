//! Splits the text of a predicate into tokens.

use std::fmt;

use crate::error::{Error, Result, clipped};
use crate::number::decimal::Decimal;

/// Keywords; a column of that name must be written in double quotes.
const KEYWORDS: [&str; 12] =
    ["and", "between", "escape", "false", "ilike", "in", "is", "like", "not", "null", "or", "true"];

/// Symbols; each precedes its own prefixes.
const SYMBOLS: [&str; 10] = ["<>", "!=", "<=", ">=", "=", "<", ">", "(", ")", ","];

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
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
            Self::Name(name) => write!(f, "the name `{}`", clipped(name)),
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
            let name = || Token::Name(word.to_owned());
            return Ok((keyword(word).map_or_else(name, Token::Keyword), len));
        }
        if matches!(first, '"' | '\'') {
            let (text, len) = unquoted(rest, first).ok_or_else(|| {
                let what = if first == '"' { "name" } else { "text" };
                let why = format!("expected {first} at the end of this {what}, found the end");
                self.error(start, why)
            })?;
            return Ok((if first == '"' { Token::Name(text) } else { Token::Text(text) }, len));
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
    let mut rest = after_word(text.as_bytes())?;
    loop {
        rest = match rest {
            [b'.', part @ ..] => match after_word(part) {
                Some(rest) => rest,
                None => break,
            },
            [b'[', part @ ..] => match after_index(part) {
                Some(rest) => rest,
                None => break,
            },
            _ => break,
        };
    }
    Some(text.len() - rest.len())
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

/// Returns the content of the quoted text at the start of `text`, with doubled quotes as
/// one, and its length including the quotes.
fn unquoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote && chars.next_if(|&(_, next)| next == quote).is_none() {
            return Some((out, at + c.len_utf8()));
        }
        out.push(c);
    }
    None
}

/// Returns the length of the number at the start of the text, including characters that
/// directly follow it; [`Decimal::parse`] refuses these later.
fn numeric(text: &str) -> Option<usize> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.strip_prefix('.').unwrap_or(unsigned).starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut last = ' ';
    let end = unsigned.find(|c: char| {
        let symbol = matches!(c, '+' | '-') && matches!(last, 'e' | 'E');
        last = c;
        !(c.is_alphanumeric() || matches!(c, '.' | '_' | '$') || symbol)
    });
    Some(text.len() - unsigned.len() + end.unwrap_or(unsigned.len()))
}
