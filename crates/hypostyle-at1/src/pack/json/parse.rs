//! Parses lines of compact JSON into a tape and leaves.

use std::ops::Range;

use crate::json_scan::{JsonVisitor, walk_compact};
use crate::pack::json::paths::{ELEMENT, JsonPaths, MAX_NUMBER, ROOT};

/// A string, a number, `true`, `false` or `null`: its path and its byte range in the text.
#[derive(Clone, Copy, Debug)]
pub(in crate::pack) struct JsonLeaf {
    pub(in crate::pack) path: u32,
    start: u32,
    end: u32,
}

impl JsonLeaf {
    /// Returns the bytes of the leaf.
    pub(in crate::pack) fn token<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// A [`TapeStep`] packed into four bytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::pack) struct TapeOp(u32);

/// A step of the tape from which a decoder prints lines.
#[derive(Clone, Copy, Debug)]
pub(in crate::pack) enum TapeStep {
    /// The next leaf.
    Leaf,
    /// An object with so many members.
    Object(u32),
    /// An array with so many elements.
    Array(u32),
    /// A key, by its number.
    Key(u32),
}

impl TapeOp {
    fn new(step: TapeStep) -> Self {
        let (tag, number) = match step {
            TapeStep::Leaf => (0, 0),
            TapeStep::Object(members) => (1, members),
            TapeStep::Array(elements) => (2, elements),
            TapeStep::Key(key) => (3, key),
        };
        Self(number << 2 | tag)
    }

    pub(in crate::pack) fn step(self) -> TapeStep {
        match self.0 & 3 {
            0 => TapeStep::Leaf,
            1 => TapeStep::Object(self.0 >> 2),
            2 => TapeStep::Array(self.0 >> 2),
            _ => TapeStep::Key(self.0 >> 2),
        }
    }
}

/// The lines of a text; those that are compact JSON are parsed.
#[derive(Debug, Default)]
pub(in crate::pack) struct ParsedLines<'a> {
    /// For each line 1 if it is parsed, else 0.
    pub(in crate::pack) flags: Vec<u8>,
    /// The lines that are not parsed.
    pub(in crate::pack) verbatim: Vec<&'a [u8]>,
    pub(in crate::pack) ops: Vec<TapeOp>,
    pub(in crate::pack) leaves: Vec<JsonLeaf>,
    /// Keys with their quotes, by number.
    pub(in crate::pack) keys: Vec<&'a [u8]>,
    /// How many paths there are.
    pub(in crate::pack) paths: usize,
}

impl<'a> ParsedLines<'a> {
    /// Parses the lines of a text.
    pub(in crate::pack) fn new(text: &'a [u8]) -> Self {
        let (parsed, paths) = (Self::default(), JsonPaths::new());
        let mut parser =
            LineParser { parsed, paths, open: Vec::new(), line: &[], start: 0, path: ROOT };
        let mut brackets = Vec::new();
        let mut start = 0;
        for line in text.split(|&byte| byte == b'\n') {
            let fits = parser.parse(line, start, &mut brackets);
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

/// Adds lines to [`ParsedLines`].
#[derive(Debug)]
struct LineParser<'a> {
    parsed: ParsedLines<'a>,
    paths: JsonPaths<'a>,
    open: Vec<OpenContainer>,
    /// The current line and its offset in the text.
    line: &'a [u8],
    start: usize,
    /// The path of the next value.
    path: u32,
}

/// An object or an array whose end has not been reached.
#[derive(Clone, Copy, Debug)]
struct OpenContainer {
    is_object: bool,
    path: u32,
    /// The index of its step, which is completed at its end.
    op: usize,
    /// Members or elements so far.
    count: u32,
}

impl<'a> LineParser<'a> {
    /// Parses a line that starts at an offset of the text.
    ///
    /// Returns false if the line is not compact JSON. Its steps and leaves are removed again;
    /// its keys and paths keep their numbers.
    fn parse(&mut self, line: &'a [u8], start: usize, brackets: &mut Vec<u8>) -> bool {
        let before = (self.parsed.ops.len(), self.parsed.leaves.len());
        self.open.clear();
        (self.line, self.start, self.path) = (line, start, ROOT);
        let fits = walk_compact(line, brackets, self).is_some();
        if !fits {
            self.parsed.ops.truncate(before.0);
            self.parsed.leaves.truncate(before.1);
        }
        fits
    }

    /// Counts a member or an element of the innermost container, and returns the container.
    fn count(&mut self) -> Option<OpenContainer> {
        let container = self.open.last_mut()?;
        container.count += 1;
        (container.count < MAX_NUMBER).then_some(*container)
    }

    /// Starts an element of the innermost array.
    fn element(&mut self) -> Option<()> {
        let array = self.count()?;
        self.path = self.paths.child(array.path, ELEMENT)?;
        Some(())
    }
}

impl JsonVisitor for LineParser<'_> {
    fn open(&mut self, at: usize) -> Option<()> {
        let is_object = self.line.get(at) == Some(&b'{');
        let op = self.parsed.ops.len();
        self.open.push(OpenContainer { is_object, path: self.path, op, count: 0 });
        // The step is replaced when the number of members or elements is known.
        self.parsed.ops.push(TapeOp::new(TapeStep::Array(0)));
        if !is_object && self.line.get(at + 1) != Some(&b']') {
            self.element()?;
        }
        Some(())
    }

    fn close(&mut self, _at: usize) -> Option<()> {
        let OpenContainer { is_object, op, count, .. } = self.open.pop()?;
        let step = if is_object { TapeStep::Object(count) } else { TapeStep::Array(count) };
        *self.parsed.ops.get_mut(op)? = TapeOp::new(step);
        Some(())
    }

    fn comma(&mut self) -> Option<()> {
        if self.open.last()?.is_object { Some(()) } else { self.element() }
    }

    fn key(&mut self, token: Range<usize>) -> Option<()> {
        let object = self.count()?;
        let key = self.paths.key(self.line.get(token)?)?;
        self.parsed.ops.push(TapeOp::new(TapeStep::Key(key)));
        self.path = self.paths.child(object.path, key)?;
        Some(())
    }

    fn value(&mut self, token: Range<usize>) -> Option<()> {
        let offset = |at: usize| u32::try_from(self.start + at).ok();
        let (start, end) = (offset(token.start)?, offset(token.end)?);
        self.parsed.leaves.push(JsonLeaf { path: self.path, start, end });
        self.parsed.ops.push(TapeOp::new(TapeStep::Leaf));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the paths and texts of the leaves of a line; `None` if it is not parsed.
    fn leaves(line: &str) -> Option<Vec<(u32, &str)>> {
        let parsed = ParsedLines::new(line.as_bytes());
        let leaf = |leaf: &JsonLeaf| (leaf.path, &line[leaf.start as usize..leaf.end as usize]);
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
    fn lines_that_the_tape_would_print_differently_are_refused() {
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
        // Decoders of codec json go no deeper (§7.3).
        let max_depth = 8192;
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(leaves(&deep(max_depth)).is_some());
        assert!(leaves(&deep(max_depth + 1)).is_none());
    }
}
