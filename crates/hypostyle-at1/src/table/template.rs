//! Where the columns of the table are in a template of JSON lines.

use super::json_tree::{JsonNode, members};
use crate::row_groups::grouped_table::GroupedTable;

/// The values of a template that the columns of the table are made of.
#[derive(Debug)]
pub(super) struct TemplateColumns {
    /// The template with one byte in place of each value.
    pub(super) line: Vec<u8>,
    columns: Vec<Option<JsonNode>>,
}

impl TemplateColumns {
    /// Finds the columns of these names; `None` if the template has others.
    pub(super) fn of(table: &GroupedTable, names: &[&str]) -> Option<Self> {
        let line = table.segments.join(&b'0');
        let mut columns = vec![None; names.len()];
        for (name, node) in members(&line)? {
            let column = names.iter().position(|known| *known == name)?;
            let slot = columns.get_mut(column)?;
            // A key that occurs twice, or two columns of one name.
            if slot.is_some() {
                return None;
            }
            *slot = Some(node);
        }
        Some(Self { line, columns })
    }

    /// Returns a column; `None` if lines of the template do not have it.
    pub(super) fn column(&self, column: usize) -> Option<&JsonNode> {
        self.columns.get(column)?.as_ref()
    }

    /// Returns the values that a column is made of.
    pub(super) fn scalars(&self, column: usize) -> Vec<usize> {
        let mut scalars = Vec::new();
        if let Some(node) = self.column(column) {
            node.scalars(&mut scalars);
        }
        scalars
    }

    /// Returns the text of the template around the cells of a value: before the first,
    /// between two, and after the last.
    pub(super) fn text_around(&self, node: &JsonNode) -> Vec<&[u8]> {
        let (mut holes, mut texts) = (Vec::new(), Vec::new());
        places(node, &mut holes);
        let range = node.range();
        let mut at = range.start;
        for start in holes {
            texts.push(self.line.get(at..start).unwrap_or_default());
            at = start + 1;
        }
        texts.push(self.line.get(at..range.end).unwrap_or_default());
        texts
    }
}

/// Appends the place of every scalar.
fn places(node: &JsonNode, holes: &mut Vec<usize>) {
    match node {
        JsonNode::Scalar { range, .. } => holes.push(range.start),
        JsonNode::Object { members, .. } => {
            members.iter().for_each(|(_, member)| places(member, holes));
        }
        JsonNode::Array { elements, .. } => {
            elements.iter().for_each(|element| places(element, holes));
        }
    }
}
