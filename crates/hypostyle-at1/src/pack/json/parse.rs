//! Lines of compact JSON, taken apart.

use crate::pack::json::paths::{ELEMENT, MOST, Paths, ROOT, string};

/// Objects and arrays that decoders let be open at once (§7.3).
const DEEPEST: usize = 8192;

/// A string, a number, `true`, `false` or `null`: its path, and where it is in the text.
#[derive(Clone, Copy, Debug)]
pub(in crate::pack) struct Leaf {
    pub(in crate::pack) path: u32,
    pub(in crate::pack) start: u32,
    pub(in crate::pack) end: u32,
}

/// What comes next on the tape, in four bytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::pack) struct Op(u32);

/// What an [`Op`] says.
#[derive(Clone, Copy, Debug)]
pub(in crate::pack) enum Step {
    Leaf,
    Object(u32),
    Array(u32),
    Key(u32),
}

impl Op {
    fn new(step: Step) -> Self {
        let (kind, number) = match step {
            Step::Leaf => (0, 0),
            Step::Object(members) => (1, members),
            Step::Array(elements) => (2, elements),
            Step::Key(key) => (3, key),
        };
        Self(number << 2 | kind)
    }

    pub(in crate::pack) fn step(self) -> Step {
        match self.0 & 3 {
            0 => Step::Leaf,
            1 => Step::Object(self.0 >> 2),
            2 => Step::Array(self.0 >> 2),
            _ => Step::Key(self.0 >> 2),
        }
    }
}

/// The lines of a text, of which those that fit are taken apart.
#[derive(Debug, Default)]
pub(in crate::pack) struct Parsed<'a> {
    /// For each line whether it was taken apart.
    pub(in crate::pack) flags: Vec<u8>,
    /// The other lines.
    pub(in crate::pack) verbatim: Vec<&'a [u8]>,
    pub(in crate::pack) ops: Vec<Op>,
    pub(in crate::pack) leaves: Vec<Leaf>,
    /// Keys with their quotes, in the order in which they were met.
    pub(in crate::pack) keys: Vec<&'a [u8]>,
    /// How many paths there are.
    pub(in crate::pack) paths: usize,
}

/// What is known of lines while they are parsed.
#[derive(Debug)]
struct Parser<'a> {
    parsed: Parsed<'a>,
    paths: Paths<'a>,
    open: Vec<Nest>,
}

/// An object or an array that is open.
#[derive(Clone, Copy, Debug)]
struct Nest {
    object: bool,
    path: u32,
    /// Where its start is among the steps.
    op: usize,
    count: u32,
}

impl<'a> Parsed<'a> {
    /// Takes the lines of a text apart.
    pub(in crate::pack) fn new(text: &'a [u8]) -> Self {
        let (parsed, paths) = (Self::default(), Paths::new());
        let mut parser = Parser { parsed, paths, open: Vec::new() };
        let mut start = 0;
        for line in text.split(|&byte| byte == b'\n') {
            let fits = parser.line(line, start);
            start += line.len() + 1;
            parser.parsed.flags.push(u8::from(fits));
            if !fits {
                parser.parsed.verbatim.push(line);
            }
        }
        let (paths, keys) = (parser.paths.len(), parser.paths.keys);
        Self { paths, keys, ..parser.parsed }
    }
}

impl<'a> Parser<'a> {
    /// Takes a line apart, which starts at a place of the text; false if it does not
    /// fit, and nothing of it stays.
    fn line(&mut self, line: &'a [u8], start: usize) -> bool {
        let before = (self.parsed.ops.len(), self.parsed.leaves.len());
        self.open.clear();
        let fits = self.value(line, start).is_some();
        if !fits {
            self.parsed.ops.truncate(before.0);
            self.parsed.leaves.truncate(before.1);
        }
        fits
    }

    /// Takes the object or the array apart that a line is.
    fn value(&mut self, line: &'a [u8], start: usize) -> Option<()> {
        let mut at = 0;
        let mut path = ROOT;
        loop {
            // A value begins here.
            match line.get(at)? {
                opening @ (b'{' | b'[') => {
                    let object = *opening == b'{';
                    self.open(object, path)?;
                    at += 1;
                    if line.get(at) != Some(if object { &b'}' } else { &b']' }) {
                        (at, path) = self.part(line, at)?;
                        continue;
                    }
                }
                // What a line holds has something in it.
                _ if self.open.is_empty() => return None,
                _ => {
                    let end = at + scalar(line.get(at..)?)?;
                    let place = |at: usize| u32::try_from(start + at).ok();
                    let leaf = Leaf { path, start: place(at)?, end: place(end)? };
                    self.parsed.leaves.push(leaf);
                    self.parsed.ops.push(Op::new(Step::Leaf));
                    at = end;
                }
            }
            // It has ended, and so may those have that it is in.
            loop {
                let Some(nest) = self.open.last() else {
                    return (at == line.len()).then_some(());
                };
                match (line.get(at)?, nest.object) {
                    (b',', _) => {
                        (at, path) = self.part(line, at + 1)?;
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        self.close();
                        at += 1;
                    }
                    _ => return None,
                }
            }
        }
    }

    fn open(&mut self, object: bool, path: u32) -> Option<()> {
        if self.open.len() >= DEEPEST {
            return None;
        }
        self.open.push(Nest { object, path, op: self.parsed.ops.len(), count: 0 });
        // What is in it is counted when it ends.
        self.parsed.ops.push(Op::new(Step::Array(0)));
        Some(())
    }

    fn close(&mut self) {
        if let Some(Nest { object, op, count, .. }) = self.open.pop()
            && let Some(op) = self.parsed.ops.get_mut(op)
        {
            *op = Op::new(if object { Step::Object(count) } else { Step::Array(count) });
        }
    }

    /// Begins a member or an element: where its value is, and its path.
    fn part(&mut self, line: &'a [u8], at: usize) -> Option<(usize, u32)> {
        let nest = self.open.last_mut()?;
        nest.count += 1;
        let (object, path) = (nest.object, nest.path);
        if nest.count >= MOST {
            return None;
        }
        if !object {
            return Some((at, self.paths.behind(path, ELEMENT)?));
        }
        let len = string(line.get(at..)?)?;
        let key = self.paths.key(line.get(at..at + len)?)?;
        self.parsed.ops.push(Op::new(Step::Key(key)));
        let path = self.paths.behind(path, key)?;
        (line.get(at + len) == Some(&b':')).then_some((at + len + 1, path))
    }
}

/// The length of the string, number or word that `text` starts with.
///
/// What is in a token does not matter, so that of a number is not looked at.
fn scalar(text: &[u8]) -> Option<usize> {
    if text.first() == Some(&b'"') {
        return string(text);
    }
    let ends = |byte: &u8| {
        matches!(byte, b',' | b':' | b'"' | b'{' | b'}' | b'[' | b']') || !byte.is_ascii_graphic()
    };
    let len = text.iter().position(ends)?;
    (len > 0).then_some(len)
}

/// The bytes of a leaf.
pub(super) fn token<'a>(text: &'a [u8], leaf: &Leaf) -> &'a [u8] {
    text.get(leaf.start as usize..leaf.end as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a line is taken apart, and what its leaves are.
    fn leaves(line: &str) -> Option<Vec<(u32, &str)>> {
        let parsed = Parsed::new(line.as_bytes());
        let leaf = |leaf: &Leaf| (leaf.path, &line[leaf.start as usize..leaf.end as usize]);
        (parsed.flags == [1]).then(|| parsed.leaves.iter().map(leaf).collect())
    }

    #[test]
    fn leaves_have_paths_where_elements_share_one() {
        let line = r#"{"a":1,"b":[2,{"c":"x\"]"}],"":{},"a":nan,"d":[[],[3]]}"#;
        let got = leaves(line).unwrap();
        let texts: Vec<&str> = got.iter().map(|leaf| leaf.1).collect();
        assert_eq!(texts, ["1", "2", r#""x\"]""#, "nan", "3"]);
        assert_eq!(got[0].0, got[3].0);
        let two = leaves(r#"[1,[2,3],4]"#).unwrap();
        assert_eq!(two[0].0, two[3].0);
        assert_eq!(two[1].0, two[2].0);
        assert_ne!(two[0].0, two[1].0);
    }

    #[test]
    fn what_the_tape_would_print_otherwise_is_refused() {
        for line in [
            "",
            "1",
            "\"a\"",
            "{",
            "}",
            "{]",
            "[1}",
            "[1,]",
            "[,1]",
            "[1] ",
            " [1]",
            "[1]\r",
            "[1, 2]",
            "[1][2]",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{"a" :1}"#,
            r#"{"a": 1}"#,
            r#"{a:1}"#,
            r#"{"a":"b}"#,
            r#"{"a":"b\"}"#,
            r#"{"a":1:2}"#,
            r#"{"a":1"b"}"#,
        ] {
            assert_eq!(leaves(line), None, "{line}");
        }
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(leaves(&deep(DEEPEST)).is_some());
        assert!(leaves(&deep(DEEPEST + 1)).is_none());
    }
}
