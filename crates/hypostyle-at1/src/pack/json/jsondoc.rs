//! A JSON document of any formatting as jsondoc (§7.4).
//!
//! Values are taken out by path, and what stays is the skeleton. Nothing depends on the
//! document being well formed: what cannot be read stays in the skeleton, so parts of
//! documents and several of them in a row are welcome as well.

use hashbrown::HashMap;

use crate::pack::context::EncodeContext;
use crate::pack::json::paths::{ELEMENT, Paths, ROOT, string};
use crate::pack::json::token_columns as lists;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream};
use hypostyle_core::compress::xz::encode::Tuning;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Brackets that are open at once, at most; what is inside more stays as it is.
const DEEPEST: usize = 1 << 16;

/// Elements of arrays that are all as long get columns of their own up to this length.
const SHORT: u32 = 4;

/// Arrays that there must be for that.
const ARRAYS: u32 = 8;

/// Columns of fewer values share one.
const FEW: usize = 6;

/// Different values of a column that may stay in the skeleton.
const WORDS: usize = 12;

/// Bytes of a document by which encoders to form columns are judged.
const SAMPLE: usize = 512 << 10;

/// Bytes that are looked at to see what a text is.
const GLANCE: usize = 64 << 10;

/// A value: its path, its place in an array, and where it is in the text.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    path: u32,
    item: u32,
    start: u32,
    end: u32,
}

impl Leaf {
    /// The value itself.
    fn of<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
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

/// Whether a text looks like a document or a part of one, and not like lines of compact
/// objects.
pub(in crate::pack) fn suits(text: &[u8]) -> bool {
    (is_whole(text) || is_part(text)) && !crate::pack::json::lines::suits(text)
}

/// Whether a text begins and ends as documents do.
fn is_whole(text: &[u8]) -> bool {
    let inside = match text.trim_ascii() {
        [b'{', inside @ .., b'}'] | [b'[', inside @ .., b']'] => inside.trim_ascii_start(),
        _ => return false,
    };
    inside.first().is_none_or(|byte| b"\"{[-0123456789tfn".contains(byte))
}

/// Whether most lines begin with a key, or with a bracket and what may come after it.
fn is_part(text: &[u8]) -> bool {
    let start = text.get(..GLANCE.min(text.len())).unwrap_or_default();
    let (mut lines, mut fit) = (0, 0);
    for line in start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
        let Some(first) = line.first() else { continue };
        let (len, after): (_, &[u8]) = match first {
            b'{' => (Some(1), b"\"}"),
            b'[' => (Some(1), b"\"{[]"),
            b'}' | b']' => (Some(1), b",}]"),
            b'"' => (string(line), b":"),
            _ => (None, b""),
        };
        let rest = len.and_then(|len| line.get(len..)).map(<[u8]>::trim_ascii_start);
        let next =
            rest.map(|rest| rest.first().map_or(*first != b'"', |byte| after.contains(byte)));
        lines += 1;
        fit += usize::from(next == Some(true));
    }
    lines >= 8 && fit * 2 > lines
}

/// The streams of a document; `None` if there are no values in it.
pub(in crate::pack) fn streams(
    text: &[u8],
    job: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
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
            let (start, end) = (u32::try_from(start).ok()?, u32::try_from(end).ok()?);
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
    fn best(&self, search: &SearchParams) -> Result<Form> {
        let (by_path, by_key) = (self.columns(Alike::Path), self.columns(Alike::Key));
        let mut encoders = vec![(&by_path, 1), (&by_path, WORDS)];
        // Each column by key holds one or more of those by path.
        if width(&by_key) < width(&by_path) {
            encoders.extend([(&by_key, 1), (&by_key, WORDS)]);
        }
        let end = self.leaves.partition_point(|leaf| leaf.end as usize <= SAMPLE);
        let sample = self.leaves.get(..end).unwrap_or_default();
        let text = self.text.get(..SAMPLE.min(self.text.len())).unwrap_or_default();
        let mut best = (f64::INFINITY, &by_path, 1);
        for (columns, words) in encoders {
            let cost = Form::new(text, sample, columns, words).cost(search)?;
            if cost < best.0 {
                best = (cost, columns, words);
            }
        }
        Ok(Form::new(self.text, &self.leaves, best.1, best.2))
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
#[derive(Clone, Debug, Default)]
struct Column<'a> {
    count: usize,
    /// Its first different values, and whether there are no others.
    words: Vec<&'a [u8]>,
    closed: bool,
    list: Option<u32>,
}

impl<'a> Column<'a> {
    /// Notes a value; more than so many different ones are too many to know.
    fn note(&mut self, token: &'a [u8], most: usize) {
        self.closed = self.count == 0 || self.closed;
        self.count += 1;
        if self.closed && !self.words.contains(&token) {
            self.closed = self.words.len() < most;
            self.words.push(token);
        }
    }

    /// Whether values stay where they are: few different ones cost little there.
    fn stays(&self) -> bool {
        self.closed && self.count > self.words.len() * self.words.len()
    }
}

impl Form {
    /// Takes the values out of columns that have more than so many different ones.
    fn new(text: &[u8], leaves: &[Leaf], columns: &[(u32, u32)], words: usize) -> Self {
        let mut known = vec![Column::default(); width(columns)];
        let column = |leaf: &Leaf| {
            let (first, len) = columns.get(leaf.path as usize).copied().unwrap_or((0, 1));
            (first + leaf.item.min(len - 1)) as usize
        };
        for leaf in leaves {
            if let Some(column) = known.get_mut(column(leaf)) {
                column.note(leaf.of(text), words);
            }
        }
        let mut form = Self { skeleton: Vec::new(), holes: Vec::new(), lists: Vec::new() };
        let mut rare = None;
        let mut copied = 0;
        for leaf in leaves {
            let Some(column) = known.get_mut(column(leaf)) else { continue };
            if column.stays() {
                continue;
            }
            let list = if column.count < FEW { &mut rare } else { &mut column.list };
            let list = form.put(list, leaf.of(text));
            form.holes.push(list);
            let between = text.get(copied..leaf.start as usize).unwrap_or_default();
            form.skeleton.extend_from_slice(between);
            form.skeleton.push(0);
            copied = leaf.end as usize;
        }
        form.skeleton.extend_from_slice(text.get(copied..).unwrap_or_default());
        form
    }

    /// Appends a token to a list, which is made if there is none yet; its number.
    fn put(&mut self, list: &mut Option<u32>, token: &[u8]) -> u32 {
        let is_new = list.is_none();
        let number =
            *list.get_or_insert_with(|| u32::try_from(self.lists.len()).unwrap_or(u32::MAX));
        if is_new {
            self.lists.push(token.to_vec());
        } else if let Some(list) = self.lists.get_mut(number as usize) {
            list.push(b'\n');
            list.extend_from_slice(token);
        }
        number
    }

    /// What it takes, roughly.
    fn cost(&self, search: &SearchParams) -> Result<f64> {
        let mut holes = Vec::with_capacity(self.holes.len());
        self.holes.iter().for_each(|&list| put::uv(&mut holes, list.into()));
        let mut cost = 0.0;
        for part in [&self.skeleton, &holes, &self.lists.concat()] {
            cost += search.estimate(part, Tuning::flat(3))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The skeleton, with `_` for holes, and the lists that values are taken out to.
    fn form(text: &str, alike: Alike) -> (String, Vec<String>) {
        let document = Document::new(text.as_bytes());
        let form = Form::new(document.text, &document.leaves, &document.columns(alike), 1);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(form.skeleton).replace('\0', "_"), form.lists.into_iter().map(text).collect())
    }

    #[test]
    fn values_are_taken_out_by_path() {
        let item = |i: u32| format!("{{ \"t\": \"x\", \"at\": [{i}, -{i}.5], \"n\":\"{i}\" }}");
        let items: Vec<String> = (10..20).map(item).collect();
        let (skeleton, lists) = form(&format!("[\n{}\n]\n", items.join(",\n")), Alike::Path);
        let hole = "{ \"t\": \"x\", \"at\": [_, _], \"n\":_ }";
        assert_eq!(skeleton, format!("[\n{}\n]\n", [hole; 10].join(",\n")));
        // Places of arrays that are all as long are columns of their own.
        assert_eq!(lists.len(), 3);
        assert!(lists[0].starts_with("10\n11\n") && lists[1].starts_with("-10.5\n-11.5\n"));
        assert!(lists[2].starts_with("\"10\"\n"));
    }

    #[test]
    fn values_of_one_key_come_together_if_keys_are_data() {
        let item = |i: u32| format!("\"item {i}\":{{\"size\":{i},\"name\":\"n{i}\"}}");
        let text = format!("{{{}}}", (0..20).map(item).collect::<Vec<_>>().join(","));
        // Columns of one value share a list.
        assert_eq!(form(&text, Alike::Path).1.len(), 1);
        assert_eq!(form(&text, Alike::Key).1.len(), 2);
    }

    #[test]
    fn what_cannot_be_read_stays() {
        let (skeleton, lists) = form("}, 1 : \"a\": [é \"b\nc\", 2]] \"d", Alike::Path);
        assert_eq!(skeleton, "}, _ : \"a\": [é \"b\nc\", _]] \"d");
        assert_eq!(lists, ["1\n2"]);
    }

    #[test]
    fn documents_and_parts_of_them_are_known() {
        for text in
            ["{}", " [\n1, 2]\n", "{\"a\": {\n}}", "[{\"a\":1},{\"a\":2}]\n", "{\"a\": 1}\n"]
        {
            assert!(suits(text.as_bytes()), "{text}");
        }
        let part = "    },\n    {\n      \"a\": 1,\n      \"b\" : {\n".repeat(3);
        assert!(suits(part.as_bytes()));
        let lines = "{\"a\":1}\n".repeat(20);
        let table = "\"a\",\"b\"\n".repeat(20);
        let log = "[Sun Dec 04] [notice] started\n".repeat(20);
        for text in ["", "[Sun]", "{a}", &lines, &table, &log, "a:1\nb:2\n"] {
            assert!(!suits(text.as_bytes()), "{text}");
        }
    }
}
