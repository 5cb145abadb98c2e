//! Takes JSON values apart without parsing their parts.
//!
//! The text has been checked by a parser before, or comes from an archive that was written
//! from checked text. So the cuts are quick, and text that is not JSON is only noticed where
//! a cut is impossible.

use std::borrow::Cow;

use memchr::memchr2;

use super::object::JsonText;

/// The parts of an object or array, from the first to the last.
#[derive(Clone, Debug)]
pub(super) struct Parts<'a> {
    rest: &'a str,
    is_first: bool,
}

/// The text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotJson;

impl<'a> Parts<'a> {
    /// Takes apart an object, or an array.
    pub(super) fn of(raw: &'a str) -> Result<Self, NotJson> {
        let inner = raw.trim_ascii();
        let inner = inner.get(1..inner.len().saturating_sub(1)).ok_or(NotJson)?;
        Ok(Self { rest: inner.trim_ascii_start(), is_first: true })
    }

    /// Returns the next element of an array.
    pub(super) fn element(&mut self) -> Result<Option<&'a str>, NotJson> {
        if !self.comma()? {
            return Ok(None);
        }
        self.value().map(Some)
    }

    /// Returns the next member of an object.
    pub(super) fn member(&mut self) -> Result<Option<(Cow<'a, str>, &'a str)>, NotJson> {
        if !self.comma()? {
            return Ok(None);
        }
        let key = self.value()?;
        let after = self.rest.strip_prefix(':').ok_or(NotJson)?;
        self.rest = after.trim_ascii_start();
        Ok(Some((string(key)?, self.value()?)))
    }

    /// Takes the comma between two parts; returns whether a part follows.
    fn comma(&mut self) -> Result<bool, NotJson> {
        if self.rest.is_empty() {
            return Ok(false);
        }
        if !std::mem::take(&mut self.is_first) {
            self.rest = self.rest.strip_prefix(',').ok_or(NotJson)?.trim_ascii_start();
        }
        Ok(true)
    }

    /// Takes a value, and the spaces after it.
    fn value(&mut self) -> Result<&'a str, NotJson> {
        let len = value_len(self.rest.as_bytes()).filter(|&len| len > 0).ok_or(NotJson)?;
        let (value, rest) = self.rest.split_at_checked(len).ok_or(NotJson)?;
        self.rest = rest.trim_ascii_start();
        Ok(value)
    }
}

/// Returns the content of a string.
pub(super) fn string(raw: &str) -> Result<Cow<'_, str>, NotJson> {
    let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).ok_or(NotJson)?;
    if !inner.as_bytes().contains(&b'\\') {
        return Ok(Cow::Borrowed(inner));
    }
    let JsonText(text) = serde_json::from_str(raw).map_err(|_| NotJson)?;
    Ok(text)
}

/// Returns the length of the value at the start of a text.
fn value_len(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' => string_len(text),
        b'{' | b'[' => {
            let (mut at, mut depth) = (0, 0_usize);
            loop {
                match text.get(at)? {
                    b'"' => {
                        at += string_len(text.get(at..)?)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        _ => {
            let ends = |byte: &u8| {
                matches!(byte, b',' | b':' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n')
            };
            Some(text.iter().position(ends).unwrap_or(text.len()))
        }
    }
}

/// Returns the length of the string at the start of a text, quotes included.
fn string_len(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_arrays_are_taken_apart() {
        let raw = r#" { "a" : [1, {"x":"]}"}] , "b\u0041":"q\"\\", "c":{} ,"d": -1.5e3 } "#;
        let mut parts = Parts::of(raw).unwrap();
        let mut members = Vec::new();
        while let Some((key, value)) = parts.member().unwrap() {
            members.push((key.into_owned(), value));
        }
        let want =
            [("a", r#"[1, {"x":"]}"}]"#), ("bA", r#""q\"\\""#), ("c", "{}"), ("d", "-1.5e3")];
        assert_eq!(members, want.map(|(key, value)| (key.to_owned(), value)));
        let mut parts = Parts::of(members[0].1).unwrap();
        assert_eq!(parts.element(), Ok(Some("1")));
        assert_eq!(parts.element(), Ok(Some(r#"{"x":"]}"}"#)));
        assert_eq!(parts.element(), Ok(None));
        assert_eq!(Parts::of("[ ]").unwrap().element(), Ok(None));
        assert_eq!(string("\"\\u00e9\""), Ok("é".into()));
    }

    #[test]
    fn text_that_is_not_json_does_no_harm() {
        for text in
            ["", "{", "[", "{]", "[\"", "[\"\\", "{\"a\"}", "{\"a\":}", "[1 2]", "[,]", "{é:1}"]
        {
            if let Ok(mut parts) = Parts::of(text) {
                while let Ok(Some(_)) = parts.clone().member() {
                    parts.member().unwrap();
                }
                while let Ok(Some(_)) = parts.element() {}
            }
        }
        assert_eq!(string("\"\\ud800\""), Err(NotJson));
    }
}
