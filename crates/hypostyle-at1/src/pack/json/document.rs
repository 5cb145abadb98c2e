//! Reads the values of a JSON document of any formatting.
//!
//! The reader accepts any text: fragments of documents, several documents in a row, and text
//! that is not JSON. It follows brackets, keys and commas as far as they make sense and passes
//! over everything else. This is why it does not use `json_scan::walk_compact`, which refuses
//! what is not well formed.

use hashbrown::HashMap;

use crate::json_scan::{string_len, word_len};
use crate::pack::json::paths::{ELEMENT, JsonPaths, ROOT};

/// Brackets that may be open at once; the reader stops at deeper ones.
const MAX_DEPTH: usize = 1 << 16;

/// Arrays that all have the same length, up to this one, get a column for each element.
const MAX_SPLIT_LEN: u32 = 4;

/// Arrays that a path must have for that.
const MIN_SPLIT_ARRAYS: u32 = 8;

/// A value: its path, its index in an array, and its byte range in the text.
#[derive(Clone, Copy, Debug)]
pub(in crate::pack) struct DocumentLeaf {
    path: u32,
    element: u32,
    pub(in crate::pack) start: u32,
    pub(in crate::pack) end: u32,
}

impl DocumentLeaf {
    /// Returns the bytes of the value.
    pub(in crate::pack) fn token<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The values of a document.
pub(in crate::pack) struct Document<'a> {
    pub(in crate::pack) text: &'a [u8],
    pub(in crate::pack) leaves: Vec<DocumentLeaf>,
    paths: JsonPaths<'a>,
    /// For each path of array elements the number of arrays and their common length, or 0 if
    /// their lengths differ.
    arrays: Vec<(u32, u32)>,
}

/// Which values share a column.
#[derive(Clone, Copy, Debug)]
pub(in crate::pack) enum ColumnGrouping {
    /// Values with the same path.
    ByPath,
    /// Values with the same last key.
    ByKey,
}

/// Maps leaves to columns: for each path its first column and how many it has.
#[derive(Clone, Debug)]
pub(in crate::pack) struct ColumnMap(Vec<(u32, u32)>);

impl ColumnMap {
    /// Returns the number of columns.
    pub(in crate::pack) fn width(&self) -> usize {
        self.0.iter().map(|&(first, len)| (first + len) as usize).max().unwrap_or(0)
    }

    /// Returns the column of a leaf.
    pub(in crate::pack) fn column(&self, leaf: &DocumentLeaf) -> usize {
        let (first, len) = self.0.get(leaf.path as usize).copied().unwrap_or((0, 1));
        (first + leaf.element.min(len - 1)) as usize
    }
}

/// An object or an array whose end has not been reached.
#[derive(Clone, Copy, Debug)]
struct DocumentContainer {
    is_object: bool,
    path: u32,
    /// The path of the next value, if it is known.
    next: Option<u32>,
    /// The index of the next element.
    element: u32,
}

impl<'a> Document<'a> {
    /// Reads the values of a text.
    pub(in crate::pack) fn new(text: &'a [u8]) -> Self {
        let (leaves, paths, arrays) = (Vec::new(), JsonPaths::new(), Vec::new());
        let mut document = Self { text, leaves, paths, arrays };
        // The reader may stop early; the rest of the text then stays in the skeleton.
        let _ = document.read();
        document
    }

    /// Reads values up to the end of the text, an open string or a limit.
    fn read(&mut self) -> Option<()> {
        let text = self.text;
        let mut open: Vec<DocumentContainer> = Vec::new();
        let mut current = DocumentContainer { is_object: true, path: ROOT, next: None, element: 0 };
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            match byte {
                b'{' | b'[' => {
                    let path = self.next_path(&current)?;
                    open.push(current);
                    if open.len() > MAX_DEPTH {
                        return None;
                    }
                    let is_object = byte == b'{';
                    let next = if is_object { None } else { self.paths.child(path, ELEMENT) };
                    current = DocumentContainer { is_object, path, next, element: 0 };
                    at += 1;
                }
                b'}' | b']' => {
                    if !current.is_object {
                        self.record_array(&current);
                    }
                    current = open.pop().unwrap_or(DocumentContainer { next: None, ..current });
                    at += 1;
                }
                b',' => {
                    if current.is_object {
                        current.next = None;
                    } else {
                        current.element = current.element.saturating_add(1);
                    }
                    at += 1;
                }
                b'"' => {
                    let end = at + string_len(text.get(at..)?)?;
                    let is_key = || {
                        text.get(end..).unwrap_or_default().trim_ascii_start().first()
                            == Some(&b':')
                    };
                    if current.is_object && current.next.is_none() && is_key() {
                        let key = self.paths.key(text.get(at..end)?)?;
                        current.next = self.paths.child(current.path, key);
                    } else {
                        self.push_leaf(&current, at, end)?;
                    }
                    at = end;
                }
                _ => {
                    let len = word_len(text.get(at..)?);
                    if len > 0 {
                        self.push_leaf(&current, at, at + len)?;
                    }
                    at += len.max(1);
                }
            }
        }
        Some(())
    }

    /// Returns the path of the next value.
    fn next_path(&mut self, current: &DocumentContainer) -> Option<u32> {
        match current.next {
            Some(path) => Some(path),
            None => self.paths.child(current.path, ELEMENT),
        }
    }

    fn push_leaf(&mut self, current: &DocumentContainer, start: usize, end: usize) -> Option<()> {
        let path = self.next_path(current)?;
        // Newlines separate the tokens of a column.
        if memchr::memchr(b'\n', self.text.get(start..end)?).is_none() {
            let (start, end) = (u32::try_from(start).ok()?, u32::try_from(end).ok()?);
            self.leaves.push(DocumentLeaf { path, element: current.element, start, end });
        }
        Some(())
    }

    /// Records the length of an array that has ended.
    fn record_array(&mut self, array: &DocumentContainer) {
        let Some(path) = array.next else { return };
        if self.arrays.len() < self.paths.len() {
            self.arrays.resize(self.paths.len(), (0, 0));
        }
        if let Some((count, len)) = self.arrays.get_mut(path as usize) {
            if *count == 0 {
                *len = array.element + 1;
            } else if *len != array.element + 1 {
                *len = 0;
            }
            *count = count.saturating_add(1);
        }
    }

    /// Assigns the paths to columns.
    pub(in crate::pack) fn columns(&self, grouping: ColumnGrouping) -> ColumnMap {
        let mut groups: Vec<u32> = Vec::with_capacity(self.paths.len());
        let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
        let mut lengths: Vec<u32> = Vec::new();
        for (path, (parent, key)) in self.paths.iter().enumerate() {
            let parent_group = match grouping {
                ColumnGrouping::ByKey if key != ELEMENT => u32::MAX,
                _ => groups.get(parent as usize).copied().unwrap_or_default(),
            };
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let group = *numbers.entry((parent_group, key)).or_insert(next);
            groups.push(group);
            let (count, len) = self.arrays.get(path).copied().unwrap_or_default();
            let is_split = count >= MIN_SPLIT_ARRAYS && (2..=MAX_SPLIT_LEN).contains(&len);
            let len = if is_split { len } else { 1 };
            match lengths.get_mut(group as usize) {
                None => lengths.push(len),
                Some(known) if *known != len => *known = 1,
                Some(_) => {}
            }
        }
        let mut first = 0;
        let mut columns = Vec::with_capacity(lengths.len());
        for len in lengths {
            columns.push((first, len));
            first += len;
        }
        let column = |&group: &u32| columns.get(group as usize).copied().unwrap_or((0, 1));
        ColumnMap(groups.iter().map(column).collect())
    }
}
