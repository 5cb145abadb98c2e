//! Encodes a JSON document of any formatting with codec jsondoc (§7.4).
//!
//! The encoder cuts values out of the text and stores them as columns; the remaining text,
//! with a byte 0 for each value, is the skeleton. Columns of few different values stay in the
//! skeleton.

use crate::json_scan::string_len;
use crate::pack::context::EncodeContext;
use crate::pack::json::document::{ColumnGrouping, ColumnMap, Document, DocumentLeaf};
use crate::pack::json::token_columns;
use crate::pack::newline_list::NewlineList;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream};
use hypostyle_core::compress::xz::encode::Tuning;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Columns with fewer values share one list.
const MIN_LIST_VALUES: usize = 6;

/// Distinct values of a column that may stay in the skeleton, in the two variants that are
/// tried.
const KEPT_DISTINCT: [usize; 2] = [1, 12];

/// Bytes at the start of a document by which groupings are compared.
const SAMPLE_BYTES: usize = 512 << 10;

/// Bytes at the start of a text by which it is taken for a fragment of a document.
const FRAGMENT_SAMPLE_BYTES: usize = 64 << 10;

/// Returns whether a text looks like a document or a fragment of one, and not like lines of
/// compact objects.
pub(in crate::pack) fn suits(text: &[u8]) -> bool {
    (is_document(text) || is_fragment(text)) && !crate::pack::json::lines::suits(text)
}

/// Returns whether a text begins and ends as documents do.
fn is_document(text: &[u8]) -> bool {
    let inside = match text.trim_ascii() {
        [b'{', inside @ .., b'}'] | [b'[', inside @ .., b']'] => inside.trim_ascii_start(),
        _ => return false,
    };
    inside.first().is_none_or(|byte| b"\"{[-0123456789tfn".contains(byte))
}

/// Returns whether most lines begin with a key, or with a bracket and a token that may follow
/// it.
fn is_fragment(text: &[u8]) -> bool {
    let start = text.get(..FRAGMENT_SAMPLE_BYTES.min(text.len())).unwrap_or_default();
    let (mut lines, mut fit) = (0, 0);
    for line in start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
        let Some(first) = line.first() else { continue };
        let (len, followers): (_, &[u8]) = match first {
            b'{' => (Some(1), b"\"}"),
            b'[' => (Some(1), b"\"{[]"),
            b'}' | b']' => (Some(1), b",}]"),
            b'"' => (string_len(line), b":"),
            _ => (None, b""),
        };
        let rest = len.and_then(|len| line.get(len..)).map(<[u8]>::trim_ascii_start);
        let fits = rest.is_some_and(|rest| {
            rest.first().map_or(*first != b'"', |byte| followers.contains(byte))
        });
        lines += 1;
        fit += usize::from(fits);
    }
    lines >= 8 && fit * 2 > lines
}

/// Encodes a document; returns `None` if it has no values, or a byte 0.
pub(in crate::pack) fn streams(
    text: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    // A byte 0 of the text would read as a hole of the skeleton.
    if memchr::memchr(0, text).is_some() {
        return Ok(None);
    }
    let document = Document::new(text);
    if document.leaves.is_empty() {
        return Ok(None);
    }
    let split = smallest_split(&document, context.search)?;
    let encoded = token_columns::encode(&split.lists, b"", context)?;
    let mut colids = Vec::with_capacity(split.holes.len());
    for &list in &split.holes {
        put::uv(&mut colids, encoded.numbers.get(list as usize).copied().unwrap_or_default());
    }
    let fitted = |content: &[u8]| Body::fitted(content, context.search);
    let stream = |name: &'static str, body| Stream { name: name.into(), body };
    Ok(Some(vec![
        stream("meta", fitted(&[1])?),
        stream("raw", fitted(&[])?),
        stream("skeleton", fitted(&split.skeleton)?),
        stream("colids", fitted(&colids)?),
        stream("value_index", encoded.index),
        stream("values", encoded.values),
    ]))
}

/// Splits a document in the variant that makes a sample of it smallest.
fn smallest_split(document: &Document<'_>, search: &SearchParams) -> Result<DocumentSplit> {
    let by_path = document.columns(ColumnGrouping::ByPath);
    let by_key = document.columns(ColumnGrouping::ByKey);
    let mut maps = vec![&by_path];
    // As many columns by key as by path are the same columns.
    if by_key.width() < by_path.width() {
        maps.push(&by_key);
    }
    let end = document.leaves.partition_point(|leaf| leaf.end as usize <= SAMPLE_BYTES);
    let sample = document.leaves.get(..end).unwrap_or_default();
    let text = document.text.get(..SAMPLE_BYTES.min(document.text.len())).unwrap_or_default();
    let mut best = (f64::INFINITY, &by_path, 1);
    for columns in maps {
        for max_distinct in KEPT_DISTINCT {
            let cost = DocumentSplit::new(text, sample, columns, max_distinct).cost(search)?;
            if cost < best.0 {
                best = (cost, columns, max_distinct);
            }
        }
    }
    Ok(DocumentSplit::new(document.text, &document.leaves, best.1, best.2))
}

/// A document split into a skeleton and lists of values.
struct DocumentSplit {
    skeleton: Vec<u8>,
    /// The list of each hole in the skeleton.
    holes: Vec<u32>,
    lists: Vec<Vec<u8>>,
}

/// The values of a column, counted before lists are made.
#[derive(Clone, Debug, Default)]
struct ColumnProfile<'a> {
    count: usize,
    /// The first distinct values.
    distinct: Vec<&'a [u8]>,
    /// Whether `distinct` contains all of them.
    is_complete: bool,
    /// The list that takes the values.
    list: Option<u32>,
}

impl<'a> ColumnProfile<'a> {
    /// Counts a value, and records up to `max_distinct` distinct ones.
    fn add(&mut self, token: &'a [u8], max_distinct: usize) {
        self.is_complete = self.count == 0 || self.is_complete;
        self.count += 1;
        if self.is_complete && !self.distinct.contains(&token) {
            self.is_complete = self.distinct.len() < max_distinct;
            self.distinct.push(token);
        }
    }

    /// Returns whether values stay in the skeleton, where few distinct ones are cheap.
    fn stays(&self) -> bool {
        self.is_complete && self.count > self.distinct.len() * self.distinct.len()
    }
}

impl DocumentSplit {
    /// Cuts out the values of all columns but those with at most `max_distinct` distinct ones.
    fn new(text: &[u8], leaves: &[DocumentLeaf], columns: &ColumnMap, max_distinct: usize) -> Self {
        let mut profiles = vec![ColumnProfile::default(); columns.width()];
        for leaf in leaves {
            if let Some(profile) = profiles.get_mut(columns.column(leaf)) {
                profile.add(leaf.token(text), max_distinct);
            }
        }
        let (mut skeleton, mut holes) = (Vec::new(), Vec::new());
        let mut lists: Vec<NewlineList> = Vec::new();
        let mut shared_list = None;
        let mut copied = 0;
        for leaf in leaves {
            let Some(profile) = profiles.get_mut(columns.column(leaf)) else { continue };
            if profile.stays() {
                continue;
            }
            let is_rare = profile.count < MIN_LIST_VALUES;
            let list = if is_rare { &mut shared_list } else { &mut profile.list };
            let list = *list.get_or_insert_with(|| {
                lists.push(NewlineList::default());
                u32::try_from(lists.len() - 1).unwrap_or(u32::MAX)
            });
            if let Some(list) = lists.get_mut(list as usize) {
                list.push(leaf.token(text));
            }
            holes.push(list);
            skeleton.extend_from_slice(text.get(copied..leaf.start as usize).unwrap_or_default());
            skeleton.push(0);
            copied = leaf.end as usize;
        }
        skeleton.extend_from_slice(text.get(copied..).unwrap_or_default());
        Self { skeleton, holes, lists: lists.into_iter().map(|list| list.bytes).collect() }
    }

    /// Estimates the compressed size.
    fn cost(&self, search: &SearchParams) -> Result<f64> {
        let mut holes = Vec::with_capacity(self.holes.len());
        self.holes.iter().for_each(|&list| put::uv(&mut holes, list.into()));
        let mut cost = 0.0;
        for content in [&self.skeleton, &holes, &self.lists.concat()] {
            cost += search.estimate(content, Tuning::flat(3))?;
        }
        Ok(cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the skeleton, with `_` for holes, and the lists of values.
    fn split(text: &str, grouping: ColumnGrouping) -> (String, Vec<String>) {
        let document = Document::new(text.as_bytes());
        let columns = document.columns(grouping);
        let split = DocumentSplit::new(document.text, &document.leaves, &columns, 1);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(split.skeleton).replace('\0', "_"), split.lists.into_iter().map(text).collect())
    }

    #[test]
    fn values_are_cut_out_by_path() {
        let item = |i: u32| format!("{{ \"t\": \"x\", \"at\": [{i}, -{i}.5], \"n\":\"{i}\" }}");
        let items: Vec<String> = (10..20).map(item).collect();
        let (skeleton, lists) =
            split(&format!("[\n{}\n]\n", items.join(",\n")), ColumnGrouping::ByPath);
        let hole = "{ \"t\": \"x\", \"at\": [_, _], \"n\":_ }";
        assert_eq!(skeleton, format!("[\n{}\n]\n", [hole; 10].join(",\n")));
        // Elements of arrays of one length have columns of their own.
        assert_eq!(lists.len(), 3);
        assert!(lists[0].starts_with("10\n11\n") && lists[1].starts_with("-10.5\n-11.5\n"));
        assert!(lists[2].starts_with("\"10\"\n"));
    }

    #[test]
    fn values_of_one_key_share_a_list_if_keys_are_data() {
        let item = |i: u32| format!("\"item {i}\":{{\"size\":{i},\"name\":\"n{i}\"}}");
        let text = format!("{{{}}}", (0..20).map(item).collect::<Vec<_>>().join(","));
        // Columns of one value share a list.
        assert_eq!(split(&text, ColumnGrouping::ByPath).1.len(), 1);
        assert_eq!(split(&text, ColumnGrouping::ByKey).1.len(), 2);
    }

    #[test]
    fn unreadable_text_stays_in_the_skeleton() {
        let (skeleton, lists) = split("}, 1 : \"a\": [é \"b\nc\", 2]] \"d", ColumnGrouping::ByPath);
        assert_eq!(skeleton, "}, _ : \"a\": [é \"b\nc\", _]] \"d");
        assert_eq!(lists, ["1\n2"]);
    }

    #[test]
    fn documents_and_fragments_are_recognized() {
        for text in
            ["{}", " [\n1, 2]\n", "{\"a\": {\n}}", "[{\"a\":1},{\"a\":2}]\n", "{\"a\": 1}\n"]
        {
            assert!(suits(text.as_bytes()), "{text}");
        }
        let fragment = "    },\n    {\n      \"a\": 1,\n      \"b\" : {\n".repeat(3);
        assert!(suits(fragment.as_bytes()));
        let lines = "{\"a\":1}\n".repeat(20);
        let table = "\"a\",\"b\"\n".repeat(20);
        let log = "[Sun Dec 04] [notice] started\n".repeat(20);
        for text in ["", "[Sun]", "{a}", &lines, &table, &log, "a:1\nb:2\n"] {
            assert!(!suits(text.as_bytes()), "{text}");
        }
    }
}
