//! The structure of a JSON object as text: which keys it has, and where their values are.

use std::ops::Range;

use crate::json_scan::{JsonVisitor, walk_object};

/// A value of a JSON text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum JsonNode {
    /// A string, a number, `true`, `false` or `null`; the index counts them in the text.
    Scalar { index: usize, range: Range<usize> },
    /// An object and its members.
    Object { members: Vec<(String, Self)>, range: Range<usize> },
    /// An array and its elements.
    Array { elements: Vec<Self>, range: Range<usize> },
}

impl JsonNode {
    /// Returns the place of the value in the text.
    pub(super) fn range(&self) -> Range<usize> {
        match self {
            Self::Scalar { range, .. } | Self::Object { range, .. } | Self::Array { range, .. } => {
                range.clone()
            }
        }
    }

    /// Appends the indexes of all scalars.
    pub(super) fn scalars(&self, indexes: &mut Vec<usize>) {
        match self {
            Self::Scalar { index, .. } => indexes.push(*index),
            Self::Object { members, .. } => {
                members.iter().for_each(|(_, member)| member.scalars(indexes));
            }
            Self::Array { elements, .. } => {
                elements.iter().for_each(|element| element.scalars(indexes));
            }
        }
    }
}

/// Returns the members of the object that a line is; `None` if it is not an object.
pub(super) fn members(line: &[u8]) -> Option<Vec<(String, JsonNode)>> {
    let mut tree = TreeBuilder { line, open: Vec::new(), scalars: 0, root: None };
    walk_object(line, &mut Vec::new(), &mut tree)?;
    match tree.root {
        Some(JsonNode::Object { members, .. }) => Some(members),
        _ => None,
    }
}

/// An object or an array whose end has not been reached.
struct OpenNode {
    start: usize,
    is_array: bool,
    key: String,
    children: Vec<(String, JsonNode)>,
}

struct TreeBuilder<'a> {
    line: &'a [u8],
    open: Vec<OpenNode>,
    scalars: usize,
    root: Option<JsonNode>,
}

impl TreeBuilder<'_> {
    fn add(&mut self, node: JsonNode) {
        match self.open.last_mut() {
            Some(parent) => parent.children.push((std::mem::take(&mut parent.key), node)),
            None => self.root = Some(node),
        }
    }
}

impl JsonVisitor for TreeBuilder<'_> {
    fn open(&mut self, at: usize) -> Option<()> {
        let is_array = self.line.get(at) == Some(&b'[');
        let (key, children) = Default::default();
        self.open.push(OpenNode { start: at, is_array, key, children });
        Some(())
    }

    fn close(&mut self, at: usize) -> Option<()> {
        let OpenNode { start, is_array, children, .. } = self.open.pop()?;
        let range = start..at + 1;
        self.add(if is_array {
            let elements = children.into_iter().map(|(_, element)| element).collect();
            JsonNode::Array { elements, range }
        } else {
            JsonNode::Object { members: children, range }
        });
        Some(())
    }

    fn key(&mut self, token: Range<usize>) -> Option<()> {
        let key = serde_json::from_slice(self.line.get(token)?).ok()?;
        self.open.last_mut()?.key = key;
        Some(())
    }

    fn value(&mut self, token: Range<usize>) -> Option<()> {
        let index = self.scalars;
        self.scalars += 1;
        self.add(JsonNode::Scalar { index, range: token });
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_their_places() {
        let line = br#"{"a":1, "b":{"c":[2,"x"],"d":{}},"\u0065":null}"#;
        let tree = members(line).unwrap();
        let names: Vec<&str> = tree.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "e"]);
        let text = |node: &JsonNode| std::str::from_utf8(&line[node.range()]).unwrap().to_owned();
        assert_eq!(text(&tree[1].1), r#"{"c":[2,"x"],"d":{}}"#);
        assert_eq!(text(&tree[2].1), "null");
        let mut scalars = Vec::new();
        tree[1].1.scalars(&mut scalars);
        assert_eq!(scalars, [1, 2]);
        assert_eq!(members(b"[1]"), None);
    }
}
