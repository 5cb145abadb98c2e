//! The template of a line: the text that remains without its values (§6.2).

use std::ops::Range;

use super::walk::{JsonVisitor, walk_object};

/// Values that a line may have to become a row.
const MAX_VALUES: usize = 1 << 14;

/// Cuts lines into template and values; keeps its buffers from line to line.
#[derive(Debug, Default)]
pub(crate) struct TemplateScan {
    /// The line with a byte 0 in place of each value.
    pub(crate) skeleton: Vec<u8>,
    /// The byte range of each value in the line.
    pub(crate) holes: Vec<(u32, u32)>,
    open: Vec<u8>,
}

impl TemplateScan {
    /// Scans a line; returns false if it is not an object or has too many values.
    pub(crate) fn line(&mut self, line: &[u8]) -> bool {
        let Self { skeleton, holes, open } = self;
        skeleton.clear();
        holes.clear();
        let mut cut = TemplateCut { line, copied: 0, skeleton, holes };
        let is_object = walk_object(line, open, &mut cut).is_some();
        let rest = line.get(cut.copied..).unwrap_or_default();
        self.skeleton.extend_from_slice(rest);
        is_object && self.holes.len() <= MAX_VALUES
    }
}

/// Copies a line except for its values.
struct TemplateCut<'a> {
    line: &'a [u8],
    /// How far the line has been copied or skipped.
    copied: usize,
    skeleton: &'a mut Vec<u8>,
    holes: &'a mut Vec<(u32, u32)>,
}

impl JsonVisitor for TemplateCut<'_> {
    fn value(&mut self, token: Range<usize>) -> Option<()> {
        let between = self.line.get(self.copied..token.start).unwrap_or_default();
        self.skeleton.extend_from_slice(between);
        self.skeleton.push(0);
        self.copied = token.end;
        let offset = |at| u32::try_from(at).unwrap_or(u32::MAX);
        self.holes.push((offset(token.start), offset(token.end)));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skeleton(line: &str) -> Option<(String, Vec<String>)> {
        let mut scan = TemplateScan::default();
        let values = |scan: &TemplateScan| {
            let value = |&(from, to): &(u32, u32)| line[from as usize..to as usize].to_owned();
            scan.holes.iter().map(value).collect()
        };
        scan.line(line.as_bytes())
            .then(|| (String::from_utf8_lossy(&scan.skeleton).replace('\0', "_"), values(&scan)))
    }

    #[test]
    fn the_skeleton_is_the_line_without_its_values() {
        let (text, values) =
            skeleton(r#" {"a": 1,"b":{"c":"x\"}","d":[true,null,-1.5e+10]},"e":[] ,"f":{} }"#)
                .unwrap();
        assert_eq!(text, r#" {"a": _,"b":{"c":_,"d":[_,_,_]},"e":[] ,"f":{} }"#);
        assert_eq!(values, ["1", r#""x\"}""#, "true", "null", "-1.5e+10"]);
    }

    #[test]
    fn lines_other_than_objects_are_refused() {
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
}
