//! The cells of a text that statistics are about.

use std::borrow::Cow;
use std::ops::Range;

use hashbrown::HashMap;

use super::metadata::StatisticsPath;
use crate::group_statistics::StatisticsKind;
use crate::json_scan::{JsonVisitor, walk_compact, walk_object};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::text::{ColumnState, TextKind, TextSummary, ValueState, log};

/// The most values that have statistics.
const MAX_PATHS: usize = 256;

/// The deepest value that has statistics.
const MAX_DEPTH: usize = 4;

/// The values of a table whose cells are known from its lines alone.
#[derive(Debug)]
pub(crate) struct StatisticsCells {
    pub(crate) paths: Vec<StatisticsPath>,
    pub(crate) kinds: Vec<StatisticsKind>,
    kind: TextKind,
    /// The keys that lead to the values, if lines are objects.
    nodes: Vec<KeyNode>,
}

/// An object that may have values, or a value.
#[derive(Debug, Default)]
struct KeyNode {
    children: HashMap<String, usize>,
    path: Option<usize>,
}

impl StatisticsCells {
    /// Returns the values of the table of a summary.
    pub(crate) fn of(summary: &TextSummary) -> Self {
        let mut found = Self {
            paths: Vec::new(),
            kinds: Vec::new(),
            kind: summary.format.kind,
            nodes: vec![KeyNode::default()],
        };
        for (column, stated) in summary.columns.iter().enumerate() {
            match &stated.state {
                ColumnState::Values(values) => {
                    found.add_values(column, &mut vec![stated.name.clone()], values);
                }
                ColumnState::Text => found.add(column, &[], StatisticsKind::Texts),
                _ => {}
            }
        }
        found
    }

    /// Returns the cells of these values, which an archive states.
    pub(crate) fn stated(summary: &TextSummary, paths: &[StatisticsPath]) -> Result<Self> {
        let mut found = Self::of(summary);
        let known: Option<Vec<StatisticsKind>> = paths
            .iter()
            .map(|path| {
                let at = found.paths.iter().position(|known| known == path)?;
                found.kinds.get(at).copied()
            })
            .collect();
        let Some(kinds) = known else {
            return Err(Error::malformed("statistics", "are about a value that has none"));
        };
        for node in &mut found.nodes {
            let path = node.path.take().and_then(|path| found.paths.get(path));
            node.path = path.and_then(|path| paths.iter().position(|stated| stated == path));
        }
        (found.paths, found.kinds) = (paths.to_vec(), kinds);
        Ok(found)
    }

    fn add(&mut self, column: usize, keys: &[String], kind: StatisticsKind) {
        let keys = keys.get(1..).unwrap_or_default().to_vec();
        self.paths.push(StatisticsPath { column, keys });
        self.kinds.push(kind);
    }

    /// Adds the values at a path; the first key is the name of the column.
    fn add_values(&mut self, column: usize, keys: &mut Vec<String>, values: &ValueState) {
        let scalars = &values.scalars;
        let is_number = scalars.ints || scalars.floats;
        let is_other = scalars.bools || values.list.is_some() || values.is_raw;
        let kind = match &values.object {
            _ if is_other || self.paths.len() >= MAX_PATHS => return,
            Some(_) if is_number || scalars.texts => return,
            Some(object) => {
                for (key, member) in object.fields() {
                    if keys.len() <= MAX_DEPTH {
                        keys.push(key.clone());
                        self.add_values(column, keys, member);
                        keys.pop();
                    }
                }
                return;
            }
            None if is_number && scalars.texts => return,
            None if is_number => StatisticsKind::Numbers,
            None if scalars.texts => StatisticsKind::Texts,
            None => return,
        };
        let mut at = 0;
        for key in &*keys {
            let next = self.nodes.len();
            let Some(node) = self.nodes.get_mut(at) else { return };
            at = *node.children.entry_ref(key.as_str()).or_insert(next);
            if at == next {
                self.nodes.push(KeyNode::default());
            }
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.path = Some(self.paths.len());
        }
        self.add(column, keys, kind);
    }

    /// Calls `each` with every cell of some lines that is not null, and once with null for
    /// each value that is null in some line.
    pub(crate) fn for_each(
        &self,
        text: &[u8],
        mut each: impl FnMut(usize, Option<&[u8]>) -> Result<()>,
    ) -> Result<()> {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let (mut lines, mut filled) = (0_u64, vec![0_u64; self.paths.len()]);
        let (mut open, mut nodes, mut cells) = (Vec::new(), Vec::new(), Vec::new());
        for line in text.split(|&byte| byte == b'\n') {
            lines += 1;
            cells.clear();
            if self.kind == TextKind::JsonLines {
                self.members(line, &mut open, &mut nodes, &mut cells)?;
            } else {
                self.log_cells(line, &mut cells);
            }
            for (path, cell) in &cells {
                each(*path, Some(cell))?;
                if let Some(filled) = filled.get_mut(*path) {
                    *filled += 1;
                }
            }
        }
        let has_nulls = filled.into_iter().enumerate().filter(|&(_, filled)| filled < lines);
        has_nulls.map(|(path, _)| path).try_for_each(|path| each(path, None))
    }

    /// Collects the cells of a line of a log.
    fn log_cells<'l>(&self, line: &'l [u8], cells: &mut Vec<(usize, Cow<'l, [u8]>)>) {
        for (at, path) in self.paths.iter().enumerate() {
            match path.column {
                0 => cells.push((at, line.into())),
                1 => cells.extend(log::time(line).map(|time| (at, time.into_bytes().into()))),
                _ => {
                    let mut template = String::new();
                    log::template_into(&String::from_utf8_lossy(line), &mut template);
                    cells.push((at, template.into_bytes().into()));
                }
            }
        }
    }

    /// Collects the cells of an object.
    fn members<'l>(
        &self,
        line: &'l [u8],
        open: &mut Vec<u8>,
        nodes: &mut Vec<Option<usize>>,
        cells: &mut Vec<(usize, Cow<'l, [u8]>)>,
    ) -> Result<()> {
        nodes.clear();
        let mut visitor = ValueVisitor { table: self, line, nodes, next: Some(0), cells };
        if walk_compact(line, open, &mut visitor).is_some() {
            return Ok(());
        }
        // The slower walk takes spaces between tokens.
        visitor.nodes.clear();
        visitor.cells.clear();
        visitor.next = Some(0);
        let walked = walk_object(line, open, &mut visitor);
        walked.ok_or_else(|| Error::malformed("line", "has a value that is not JSON"))
    }
}

/// Collects the values of a line.
struct ValueVisitor<'v, 'l> {
    table: &'v StatisticsCells,
    line: &'l [u8],
    /// The nodes of the objects that are open; `None` for arrays, and for objects without
    /// values.
    nodes: &'v mut Vec<Option<usize>>,
    /// The node of the next value.
    next: Option<usize>,
    cells: &'v mut Vec<(usize, Cow<'l, [u8]>)>,
}

impl JsonVisitor for ValueVisitor<'_, '_> {
    fn open(&mut self, at: usize) -> Option<()> {
        let is_object = self.line.get(at) == Some(&b'{');
        self.nodes.push(self.next.take().filter(|_| is_object));
        Some(())
    }

    fn close(&mut self, _at: usize) -> Option<()> {
        self.nodes.pop();
        self.next = None;
        Some(())
    }

    fn key(&mut self, token: Range<usize>) -> Option<()> {
        let Some(&Some(node)) = self.nodes.last() else { return Some(()) };
        let children = &self.table.nodes.get(node)?.children;
        let key = string(self.line.get(token)?)?;
        self.next = children.get(std::str::from_utf8(&key).ok()?).copied();
        Some(())
    }

    fn value(&mut self, token: Range<usize>) -> Option<()> {
        let Some(node) = self.next.take() else { return Some(()) };
        let Some(path) = self.table.nodes.get(node)?.path else { return Some(()) };
        let token = self.line.get(token)?;
        match token.first()? {
            b'n' => {}
            b'"' => self.cells.push((path, string(token)?)),
            _ => self.cells.push((path, token.into())),
        }
        Some(())
    }
}

/// Returns the content of a string.
fn string(token: &[u8]) -> Option<Cow<'_, [u8]>> {
    match token {
        [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => Some(inner.into()),
        _ => serde_json::from_slice::<String>(token).ok().map(|text| text.into_bytes().into()),
    }
}
