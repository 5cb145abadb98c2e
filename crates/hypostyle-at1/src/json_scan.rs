//! The template of a line of JSON: what is left if its values are taken out (§6.2).

use std::ops::Range;

use hashbrown::HashSet;

/// Brackets that may be open at once; a line with more is kept as it is.
const DEEPEST: usize = 200;

/// Values that a line may have to become a row.
const WIDEST: usize = 1 << 14;

/// Bytes that the names of a line may have together.
const NAMES: usize = 1 << 22;

/// A look at a line, with room for the next one.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The line with a byte 0 for each value.
    pub(super) skeleton: Vec<u8>,
    /// Where the values are.
    pub(super) holes: Vec<(u32, u32)>,
    open: Vec<u8>,
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Value,
    /// A value, or the end of an empty array.
    FirstItem,
    /// A key, or the end of an empty object.
    FirstKey,
    Key,
    Colon,
    CommaOrEnd,
    Nothing,
}

/// A part of a line.
#[derive(Clone, Copy, Debug)]
enum Part {
    Open(usize),
    Close(usize),
    Comma,
    Key(usize, usize),
    Value(usize, usize),
}

impl Scan {
    /// Looks at a line; says whether it is an object.
    pub(super) fn line(&mut self, line: &[u8]) -> bool {
        self.skeleton.clear();
        self.holes.clear();
        let (skeleton, holes) = (&mut self.skeleton, &mut self.holes);
        let mut copied = 0;
        let done = walk(line, &mut self.open, |part| {
            if let Part::Value(from, to) = part {
                skeleton.extend_from_slice(line.get(copied..from).unwrap_or_default());
                skeleton.push(0);
                copied = to;
                let place = |at| u32::try_from(at).unwrap_or(u32::MAX);
                holes.push((place(from), place(to)));
            }
        });
        skeleton.extend_from_slice(line.get(copied..).unwrap_or_default());
        done.is_some() && holes.len() <= WIDEST
    }
}

/// Everything in a line that has a name.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// The names of strings, numbers, `true`, `false` and `null`, and where they are.
    pub(crate) values: Vec<(String, Range<usize>)>,
    /// The names of objects and arrays, and where they are.
    brackets: Vec<(String, Range<usize>)>,
}

impl Members {
    /// The members of an object, named as in `a.b[0].c`; `None` if the line is no
    /// object, or has a key twice, or names without measure.
    pub(crate) fn of(line: &[u8]) -> Option<Self> {
        let mut found = Self::default();
        // For each bracket: its name, where it is in the list, and the next item of an array.
        let mut stack: Vec<(String, usize, Option<usize>)> = Vec::new();
        let mut keys: HashSet<String> = HashSet::new();
        let mut key = String::new();
        let (mut unique, mut bytes) = (true, 0_usize);
        walk(line, &mut Vec::new(), |part| {
            if bytes > NAMES {
                return;
            }
            let here = |stack: &[(String, usize, Option<usize>)], key: &str| match stack.last() {
                None => String::new(),
                Some((before, _, Some(item))) => format!("{before}[{item}]"),
                Some((before, _, None)) => joined(before, key),
            };
            match part {
                Part::Open(at) => {
                    let name = here(&stack, &key);
                    bytes += name.len();
                    let item = (line.get(at) == Some(&b'[')).then_some(0);
                    stack.push((name.clone(), found.brackets.len(), item));
                    found.brackets.push((name, at..at));
                }
                Part::Close(at) => {
                    if let Some((_, index, _)) = stack.pop()
                        && let Some((_, place)) = found.brackets.get_mut(index)
                    {
                        place.end = at + 1;
                    }
                }
                Part::Comma => {
                    if let Some((_, _, Some(item))) = stack.last_mut() {
                        *item += 1;
                    }
                }
                Part::Key(from, to) => {
                    let token = line.get(from..to).unwrap_or_default();
                    key = serde_json::from_slice(token)
                        .unwrap_or_else(|_| String::from_utf8_lossy(token).into_owned());
                    // As to the import of objects, what counts is the outermost one.
                    if stack.len() == 1 {
                        unique &= keys.insert(key.clone());
                    }
                }
                Part::Value(from, to) => {
                    let name = here(&stack, &key);
                    bytes += name.len();
                    found.values.push((name, from..to));
                }
            }
        })?;
        (unique && bytes <= NAMES).then_some(found)
    }

    /// The names of objects and arrays inside the outermost one, which has none.
    pub(crate) fn nested(&self) -> impl Iterator<Item = &String> {
        self.brackets.iter().skip(1).map(|(name, _)| name)
    }

    /// Where the member of a name is.
    pub(crate) fn get(&self, name: &str) -> Option<Range<usize>> {
        let mut all = self.values.iter().chain(&self.brackets);
        all.find(|(known, _)| known == name).map(|(_, place)| place.clone())
    }

    /// Whether two of them have one name.
    pub(crate) fn has_twins(&self) -> bool {
        let mut names = HashSet::new();
        let values = self.values.iter().map(|(name, _)| name);
        !values.chain(self.nested()).all(|name| names.insert(name))
    }
}

/// The names of the values of a line; `None` if two have the same.
pub(super) fn paths(line: &[u8]) -> Option<Vec<String>> {
    let members = Members::of(line)?;
    if members.has_twins() {
        return None;
    }
    Some(members.values.into_iter().map(|(name, _)| name).collect())
}

/// A key behind a name; one that could be taken for something else is in brackets.
fn joined(before: &str, key: &str) -> String {
    let is_plain = !key.is_empty() && !key.contains(['.', '[', ']', '"']);
    match (before.is_empty(), is_plain) {
        // The names of a flat object are its keys, whatever they are.
        (true, _) => key.to_owned(),
        (false, true) => format!("{before}.{key}"),
        (false, false) => {
            let quoted = serde_json::to_string(key).unwrap_or_default();
            format!("{before}[{quoted}]")
        }
    }
}

/// Goes through an object; `None` if it is none.
fn walk(line: &[u8], open: &mut Vec<u8>, mut each: impl FnMut(Part)) -> Option<()> {
    open.clear();
    let mut at = 0;
    let mut next = Next::Value;
    while let Some(&byte) = line.get(at) {
        let after_value =
            |open: &[u8]| if open.is_empty() { Next::Nothing } else { Next::CommaOrEnd };
        match (byte, next) {
            (b' ' | b'\t' | b'\r', _) => at += 1,
            (b'{', Next::Value | Next::FirstItem) => {
                each(Part::Open(at));
                open.push(byte);
                (at, next) = (at + 1, Next::FirstKey);
            }
            // What a line holds is an object.
            (_, Next::Value) if open.is_empty() => return None,
            (b'[', Next::Value | Next::FirstItem) => {
                each(Part::Open(at));
                open.push(byte);
                (at, next) = (at + 1, Next::FirstItem);
            }
            (b'}', Next::FirstKey | Next::CommaOrEnd)
            | (b']', Next::FirstItem | Next::CommaOrEnd) => {
                let opened = if byte == b'}' { b'{' } else { b'[' };
                if open.pop() != Some(opened) {
                    return None;
                }
                each(Part::Close(at));
                (at, next) = (at + 1, after_value(open));
            }
            (b',', Next::CommaOrEnd) => {
                each(Part::Comma);
                let in_object = open.last() == Some(&b'{');
                (at, next) = (at + 1, if in_object { Next::Key } else { Next::Value });
            }
            (b':', Next::Colon) => (at, next) = (at + 1, Next::Value),
            (b'"', Next::FirstKey | Next::Key) => {
                let end = at + string(line.get(at..)?)?;
                each(Part::Key(at, end));
                (at, next) = (end, Next::Colon);
            }
            (_, Next::Value | Next::FirstItem) => {
                let end = at + scalar(line.get(at..)?)?;
                each(Part::Value(at, end));
                (at, next) = (end, after_value(open));
            }
            _ => return None,
        }
        if open.len() > DEEPEST {
            return None;
        }
    }
    (next == Next::Nothing).then_some(())
}

/// The length of a string, quotes included, if it is well formed.
fn string(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    let mut odd = false;
    loop {
        match *text.get(at)? {
            b'"' => break,
            b'\\' => (at, odd) = (at + 2, true),
            byte => (at, odd) = (at + 1, odd || !(b' '..=b'~').contains(&byte)),
        }
    }
    let token = text.get(..=at)?;
    let is_fine = !odd || serde_json::from_slice::<&serde_json::value::RawValue>(token).is_ok();
    is_fine.then_some(at + 1)
}

/// The length of a string, a number, `true`, `false` or `null`.
fn scalar(text: &[u8]) -> Option<usize> {
    if text.starts_with(b"\"") {
        return string(text);
    }
    for word in [&b"true"[..], b"false", b"null"] {
        if text.starts_with(word) {
            return Some(word.len());
        }
    }
    let part_of = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let len = text.iter().take_while(|byte| part_of(byte)).count();
    serde_json::from_slice::<&serde_json::value::RawValue>(text.get(..len)?).ok().map(|_| len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skeleton(line: &str) -> Option<(String, Vec<String>)> {
        let mut scan = Scan::default();
        let values = |scan: &Scan| {
            let value = |&(from, to): &(u32, u32)| line[from as usize..to as usize].to_owned();
            scan.holes.iter().map(value).collect()
        };
        scan.line(line.as_bytes())
            .then(|| (String::from_utf8_lossy(&scan.skeleton).replace('\0', "_"), values(&scan)))
    }

    #[test]
    fn values_are_taken_out_and_all_else_stays() {
        let (text, values) =
            skeleton(r#" {"a": 1,"b":{"c":"x\"}","d":[true,null,-1.5e+10]},"e":[] ,"f":{} }"#)
                .unwrap();
        assert_eq!(text, r#" {"a": _,"b":{"c":_,"d":[_,_,_]},"e":[] ,"f":{} }"#);
        assert_eq!(values, ["1", r#""x\"}""#, "true", "null", "-1.5e+10"]);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for line in [
            "",
            "1",
            "[1]",
            "null",
            "{",
            "}",
            "{]",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{"a":01}"#,
            r#"{"a":1}x"#,
            r#"{"a":[1,]}"#,
            r#"{a:1}"#,
            r#"{"a":nul}"#,
            r#"{"a":"b}"#,
            r#"{"a":--1}"#,
            r#"{"a" 1}"#,
            r#"{"a":1 2}"#,
            r#"{"a":[1}"#,
            "{\"a\":\u{0}1}",
        ] {
            assert_eq!(skeleton(line), None, "{line}");
        }
        let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(skeleton(&deep(100)).is_some());
        assert!(skeleton(&deep(100_000)).is_none());
    }

    #[test]
    fn paths_name_the_values() {
        let names = paths(br#"{"a":1,"b":{"c":2,"x.y":[3,{"d":4}]},"e":[[5],[6]],"":7,"p.q":8}"#);
        let want =
            ["a", "b.c", r#"b["x.y"][0]"#, r#"b["x.y"][1].d"#, "e[0][0]", "e[1][0]", "", "p.q"];
        assert_eq!(names.unwrap(), want);
        assert_eq!(paths(br#"{"a":1,"a":2}"#), None);
        assert_eq!(paths(br#"{"a":1,"\u0061":2}"#), None);
        assert!(paths(br#"{"a":{"b":1},"b":2}"#).is_some());
    }
}
