//! A JSON document of any formatting as jsondoc (§7.4).
//!
//! Values are taken out by path, and what stays is the skeleton. Nothing depends on the
//! document being well formed: what cannot be read stays in the skeleton, so parts of
//! documents and several of them in a row are welcome as well.

use hashbrown::HashMap;

use super::container::{Body, Stream};
use super::effort::Search;
use super::lists;
use super::paths::{ELEMENT, Paths, ROOT};
use super::ways::Job;
use crate::compress::xz::encode::Tuning;
use crate::error::Result;
use crate::wire::put;

/// Brackets that are open at once, at most; what is inside more stays as it is.
const DEEPEST: usize = 1 << 16;

/// Elements of arrays that are all as long get columns of their own up to this length.
const SHORT: u32 = 4;

/// Arrays that there must be for that.
const ARRAYS: u32 = 8;

/// Columns of fewer values share one.
const FEW: usize = 6;

/// Bytes of a document by which ways to form columns are judged.
const SAMPLE: usize = 512 << 10;

/// Bytes that are looked at to see what a text is.
const GLANCE: usize = 64 << 10;

/// A value: its path, its place in an array, and where it is in the text.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    path: u32,
    item: u32,
    start: usize,
    end: usize,
}

/// The values of a document.
struct Document<'a> {
    text: &'a [u8],
    leaves: Vec<Leaf>,
    paths: Paths<'a>,
    /// For each path of elements: how many arrays there are, and how long they all are;
    /// 0 if they differ.
    arrays: Vec<(u32, u32)>,
}

/// What values of a column have in common.
#[derive(Clone, Copy, Debug)]
enum Alike {
    /// All keys before them.
    Path,
    /// The last key.
    Key,
}

/// Whether a text looks like a document, and not like lines of compact objects.
pub(super) fn suits(text: &[u8]) -> bool {
    let start = text.get(..GLANCE.min(text.len())).unwrap_or_default();
    let is_json = matches!(start.trim_ascii_start(), [b'{' | b'[', after @ ..]
        if after.trim_ascii_start().first().is_some_and(|byte| b"\"{[]}-0123456789tfn".contains(byte)));
    is_json && matches!(text.trim_ascii_end(), [.., b'}' | b']']) && !super::json::suits(text)
}

/// The streams of a document; `None` if there are no values in it.
pub(super) fn streams(text: &[u8], job: &Job<'_>) -> Result<Option<Vec<Stream>>> {
    // What stays may not look like a hole.
    if memchr::memchr(0, text).is_some() {
        return Ok(None);
    }
    let document = Document::new(text);
    if document.leaves.is_empty() {
        return Ok(None);
    }
    let form = document.best(job.search)?;
    let arranged = lists::arrange(&form.lists, b"", job)?;
    let mut colids = Vec::with_capacity(form.holes.len());
    for &list in &form.holes {
        put::uv(&mut colids, arranged.numbers.get(list as usize).copied().unwrap_or_default());
    }
    let fitted = |content: &[u8]| Body::fitted(content, job.search);
    let stream = |name: &'static str, body| Stream { name: name.into(), body };
    Ok(Some(vec![
        stream("meta", fitted(&[1])?),
        stream("raw", fitted(&[])?),
        stream("skeleton", fitted(&form.skeleton)?),
        stream("colids", fitted(&colids)?),
        stream("value_index", arranged.index),
        stream("values", arranged.values),
    ]))
}

/// An object or an array that is open.
#[derive(Clone, Copy, Debug)]
struct Nest {
    object: bool,
    path: u32,
    /// The path of the value that comes next, if it is known.
    next: Option<u32>,
    item: u32,
}

impl<'a> Document<'a> {
    fn new(text: &'a [u8]) -> Self {
        let (leaves, paths, arrays) = (Vec::new(), Paths::new(), Vec::new());
        let mut document = Self { text, leaves, paths, arrays };
        // What cannot be read is no error.
        let _ = document.read();
        document
    }

    /// Reads values as long as that goes well.
    fn read(&mut self) -> Option<()> {
        let text = self.text;
        let mut open: Vec<Nest> = Vec::new();
        let mut now = Nest { object: true, path: ROOT, next: None, item: 0 };
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            match byte {
                b'{' | b'[' => {
                    let path = self.path(&now)?;
                    open.push(now);
                    if open.len() > DEEPEST {
                        return None;
                    }
                    let object = byte == b'{';
                    let next = if object { None } else { self.paths.behind(path, ELEMENT) };
                    now = Nest { object, path, next, item: 0 };
                    at += 1;
                }
                b'}' | b']' => {
                    if !now.object {
                        self.note(&now);
                    }
                    now = open.pop().unwrap_or(Nest { next: None, ..now });
                    at += 1;
                }
                b',' => {
                    match now.object {
                        true => now.next = None,
                        false => now.item = now.item.saturating_add(1),
                    }
                    at += 1;
                }
                b'"' => {
                    let end = at + string(text.get(at..)?)?;
                    let is_key = || {
                        text.get(end..).unwrap_or_default().trim_ascii_start().first()
                            == Some(&b':')
                    };
                    if now.object && now.next.is_none() && is_key() {
                        let key = self.paths.key(text.get(at..end)?)?;
                        now.next = self.paths.behind(now.path, key);
                    } else {
                        self.leaf(&now, at, end)?;
                    }
                    at = end;
                }
                _ => {
                    let rest = text.get(at..)?;
                    let len = rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len());
                    if len > 0 {
                        self.leaf(&now, at, at + len)?;
                    }
                    at += len.max(1);
                }
            }
        }
        Some(())
    }

    /// The path of the value that comes next.
    fn path(&mut self, now: &Nest) -> Option<u32> {
        match now.next {
            Some(path) => Some(path),
            None => self.paths.behind(now.path, ELEMENT),
        }
    }

    fn leaf(&mut self, now: &Nest, start: usize, end: usize) -> Option<()> {
        let path = self.path(now)?;
        // A token with a newline cannot be in a list.
        if memchr::memchr(b'\n', self.text.get(start..end)?).is_none() {
            self.leaves.push(Leaf { path, item: now.item, start, end });
        }
        Some(())
    }

    /// Notes how long an array is.
    fn note(&mut self, array: &Nest) {
        let Some(path) = array.next else { return };
        if self.arrays.len() < self.paths.len() {
            self.arrays.resize(self.paths.len(), (0, 0));
        }
        if let Some((count, len)) = self.arrays.get_mut(path as usize) {
            if *count == 0 {
                *len = array.item + 1;
            } else if *len != array.item + 1 {
                *len = 0;
            }
            *count = count.saturating_add(1);
        }
    }

    /// The form that takes least, as far as a sample tells.
    fn best(&self, search: &Search) -> Result<Form> {
        let (by_path, by_key) = (self.columns(Alike::Path), self.columns(Alike::Key));
        let full = |columns| Ok(Form::new(self.text, &self.leaves, columns));
        // Each column by key holds one or more of those by path.
        if width(&by_path) == width(&by_key) {
            return full(&by_path);
        }
        let end = self.leaves.partition_point(|leaf| leaf.end <= SAMPLE);
        let sample = self.leaves.get(..end).unwrap_or_default();
        let text = self.text.get(..SAMPLE.min(self.text.len())).unwrap_or_default();
        let cost = |columns| Form::new(text, sample, columns).cost(search);
        full(if cost(&by_key)? < cost(&by_path)? { &by_key } else { &by_path })
    }

    /// The columns of each path: the first one, and how many there are.
    fn columns(&self, alike: Alike) -> Vec<(u32, u32)> {
        let mut groups: Vec<u32> = Vec::with_capacity(self.paths.len());
        let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
        let mut lengths: Vec<Option<u32>> = Vec::new();
        for (path, (before, key)) in self.paths.iter().enumerate() {
            let before = match alike {
                Alike::Key if key != ELEMENT => u32::MAX,
                _ => groups.get(before as usize).copied().unwrap_or_default(),
            };
            let new = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let group = *numbers.entry((before, key)).or_insert(new);
            groups.push(group);
            let (count, len) = self.arrays.get(path).copied().unwrap_or_default();
            let is_split = count >= ARRAYS && (2..=SHORT).contains(&len);
            let len = if is_split { len } else { 1 };
            match lengths.get_mut(group as usize) {
                None => lengths.push(Some(len)),
                Some(known) if *known != Some(len) => *known = Some(1),
                Some(_) => {}
            }
        }
        let mut next = 0;
        let mut firsts = Vec::with_capacity(lengths.len());
        for len in lengths {
            let len = len.unwrap_or(1);
            firsts.push((next, len));
            next += len;
        }
        groups.iter().map(|&group| firsts.get(group as usize).copied().unwrap_or((0, 1))).collect()
    }
}

/// A document that was taken apart.
struct Form {
    skeleton: Vec<u8>,
    /// The list of each hole.
    holes: Vec<u32>,
    lists: Vec<Vec<u8>>,
}

/// What is known of a column before lists are made.
#[derive(Clone, Copy, Debug)]
struct Column {
    count: usize,
    /// Where its first value is.
    first: (usize, usize),
    constant: bool,
    list: u32,
}

impl Form {
    fn new(text: &[u8], leaves: &[Leaf], columns: &[(u32, u32)]) -> Self {
        /// In place of a list: there is none yet.
        const NONE: u32 = u32::MAX;
        let empty = Column { count: 0, first: (0, 0), constant: true, list: NONE };
        let mut known = vec![empty; width(columns)];
        let column = |leaf: &Leaf| {
            let (first, len) = columns.get(leaf.path as usize).copied().unwrap_or((0, 1));
            (first + leaf.item.min(len - 1)) as usize
        };
        let token = |(start, end): (usize, usize)| text.get(start..end).unwrap_or_default();
        for leaf in leaves {
            let Some(column) = known.get_mut(column(leaf)) else { continue };
            if column.count == 0 {
                column.first = (leaf.start, leaf.end);
            }
            column.count += 1;
            column.constant =
                column.constant && token(column.first) == token((leaf.start, leaf.end));
        }
        let mut form = Self { skeleton: Vec::new(), holes: Vec::new(), lists: Vec::new() };
        let mut rare = NONE;
        let mut copied = 0;
        for leaf in leaves {
            let Some(column) = known.get_mut(column(leaf)) else { continue };
            // What is always the same costs nothing where it is.
            if column.constant && column.count > 1 {
                continue;
            }
            let list = if column.count < FEW { &mut rare } else { &mut column.list };
            if *list == NONE {
                *list = u32::try_from(form.lists.len()).unwrap_or(NONE);
                form.lists.push(Vec::new());
            } else if let Some(list) = form.lists.get_mut(*list as usize) {
                list.push(b'\n');
            }
            if let Some(tokens) = form.lists.get_mut(*list as usize) {
                tokens.extend_from_slice(token((leaf.start, leaf.end)));
            }
            form.holes.push(*list);
            form.skeleton.extend_from_slice(token((copied, leaf.start)));
            form.skeleton.push(0);
            copied = leaf.end;
        }
        form.skeleton.extend_from_slice(token((copied, text.len())));
        form
    }

    /// What it takes, roughly.
    fn cost(&self, search: &Search) -> Result<f64> {
        let mut holes = Vec::with_capacity(self.holes.len());
        self.holes.iter().for_each(|&list| put::uv(&mut holes, list.into()));
        let mut cost = 0.0;
        for part in [&self.skeleton, &holes, &self.lists.concat()] {
            cost += search.trial(part, Tuning::flat(3))?;
        }
        Ok(cost)
    }
}

/// How many columns there are.
fn width(columns: &[(u32, u32)]) -> usize {
    columns.iter().map(|&(first, len)| (first + len) as usize).max().unwrap_or(0)
}

/// Whether a byte may be in a number or a word.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b',' | b':' | b'"' | b'{' | b'}' | b'[' | b']')
}

/// The length of a string with its quotes.
fn string(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}
