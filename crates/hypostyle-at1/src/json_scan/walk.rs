//! Walks through a line of JSON and reports its structure.

use std::ops::Range;

use super::tokens::{self, string_len, valid_string_len, word_len};

/// Brackets that may be open at once in an object whose tokens are checked.
const MAX_OBJECT_DEPTH: usize = 200;

/// The same for compact lines: decoders of codec json go no deeper (§7.3).
const MAX_COMPACT_DEPTH: usize = 8192;

/// Receives the parts of a JSON value in the order of the text.
///
/// A method that returns `None` ends the walk, which then returns `None` too.
pub(crate) trait JsonVisitor {
    /// An object or an array starts with the bracket at this offset.
    fn open(&mut self, _at: usize) -> Option<()> {
        Some(())
    }

    /// The innermost object or array ends with the bracket at this offset.
    fn close(&mut self, _at: usize) -> Option<()> {
        Some(())
    }

    /// Another member or element follows in the innermost object or array.
    fn comma(&mut self) -> Option<()> {
        Some(())
    }

    /// A key, quotes included.
    fn key(&mut self, _token: Range<usize>) -> Option<()> {
        Some(())
    }

    /// A string, a number, `true`, `false` or `null`.
    fn value(&mut self, token: Range<usize>) -> Option<()>;
}

/// Walks through a line that must be one well-formed object.
///
/// Spaces, tabs and carriage returns are allowed between tokens. `open` is scratch space.
/// Returns `None` if the line is anything else; the visitor may have seen a part of it.
pub(crate) fn walk_object(
    line: &[u8],
    open: &mut Vec<u8>,
    visitor: &mut impl JsonVisitor,
) -> Option<()> {
    walk::<false>(line, open, visitor)
}

/// Walks through a line that must be one object or array without spaces between tokens.
///
/// Tokens are not checked: a number may be any word, a string any bytes up to its closing quote.
/// Returns `None` if the line is anything else; the visitor may have seen a part of it.
pub(crate) fn walk_compact(
    line: &[u8],
    open: &mut Vec<u8>,
    visitor: &mut impl JsonVisitor,
) -> Option<()> {
    walk::<true>(line, open, visitor)
}

#[inline]
fn walk<const COMPACT: bool>(
    line: &[u8],
    open: &mut Vec<u8>,
    visitor: &mut impl JsonVisitor,
) -> Option<()> {
    let max_depth = if COMPACT { MAX_COMPACT_DEPTH } else { MAX_OBJECT_DEPTH };
    open.clear();
    let mut at = skip_spaces::<COMPACT>(line, 0);
    loop {
        // A value starts here.
        match *line.get(at)? {
            bracket @ (b'{' | b'[') if COMPACT || bracket == b'{' || !open.is_empty() => {
                if open.len() >= max_depth {
                    return None;
                }
                open.push(bracket);
                visitor.open(at)?;
                at = skip_spaces::<COMPACT>(line, at + 1);
                if line.get(at) != Some(&closing(bracket)) {
                    if bracket == b'{' {
                        at = key::<COMPACT>(line, at, visitor)?;
                    }
                    continue;
                }
            }
            // The outermost value has brackets.
            _ if open.is_empty() => return None,
            _ => {
                let end = at + scalar_len::<COMPACT>(line.get(at..)?)?;
                visitor.value(at..end)?;
                at = end;
            }
        }
        // A value or the opening bracket of an empty one has ended; outer values may end too.
        loop {
            at = skip_spaces::<COMPACT>(line, at);
            let Some(&bracket) = open.last() else {
                return (at == line.len()).then_some(());
            };
            match *line.get(at)? {
                b',' => {
                    visitor.comma()?;
                    at = skip_spaces::<COMPACT>(line, at + 1);
                    if bracket == b'{' {
                        at = key::<COMPACT>(line, at, visitor)?;
                    }
                    break;
                }
                byte if byte == closing(bracket) => {
                    open.pop();
                    visitor.close(at)?;
                    at += 1;
                }
                _ => return None,
            }
        }
    }
}

/// Reads a key and its colon; returns where the value starts.
#[inline]
fn key<const COMPACT: bool>(
    line: &[u8],
    at: usize,
    visitor: &mut impl JsonVisitor,
) -> Option<usize> {
    let rest = line.get(at..)?;
    let len = if COMPACT { string_len(rest)? } else { valid_string_len(rest)? };
    visitor.key(at..at + len)?;
    let colon = skip_spaces::<COMPACT>(line, at + len);
    let is_colon = line.get(colon) == Some(&b':');
    is_colon.then(|| skip_spaces::<COMPACT>(line, colon + 1))
}

/// Returns the length of the string, number or word that `text` starts with.
#[inline]
fn scalar_len<const COMPACT: bool>(text: &[u8]) -> Option<usize> {
    match (COMPACT, text.first() == Some(&b'"')) {
        (true, true) => string_len(text),
        (true, false) => Some(word_len(text)).filter(|&len| len > 0),
        (false, _) => tokens::scalar_len(text),
    }
}

#[inline]
fn skip_spaces<const COMPACT: bool>(line: &[u8], mut at: usize) -> usize {
    while !COMPACT && matches!(line.get(at), Some(b' ' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// Returns the bracket that closes `{` or `[`.
fn closing(bracket: u8) -> u8 {
    if bracket == b'{' { b'}' } else { b']' }
}
