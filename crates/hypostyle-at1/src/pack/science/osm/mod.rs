//! Encodes OpenStreetMap XML with codec osm (§7.5).
//!
//! `element` parses nodes, ways and relations that are laid out exactly as the decoder prints
//! them, with the timestamps and coordinates that `scalars` parses. This module adds their
//! fields to columns and keeps the lines between such elements verbatim.

mod element;
mod scalars;

use std::cmp::Reverse;

use hashbrown::HashMap;

use crate::pack::context::EncodeContext;
use crate::pack::lines::split_final_newline;
use crate::pack::stream_set::{Body, Stream};
use element::{ElementHead, ElementType, OsmElement};
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Bytes at the start by which content is judged.
const SAMPLE_BYTES: usize = 64 << 10;

/// Returns whether content is a map in which most elements have the layout of the decoder.
pub(in crate::pack) fn suits(content: &[u8]) -> bool {
    let start = content.get(..content.len().min(SAMPLE_BYTES)).unwrap_or_default();
    let (mut elements, mut fit) = (0, 0);
    for line in start.split(|&byte| byte == b'\n') {
        if let Some(element_type) = ElementType::of(line) {
            elements += 1;
            fit += usize::from(ElementHead::parse(element_type, line).is_some());
        }
    }
    fit > 0 && fit * 2 >= elements
}

/// Encodes a map; returns `None` if no element has the layout of the decoder.
pub(in crate::pack) fn streams(
    text: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let (lines, trailing) = split_final_newline(text);
    let mut map = OsmColumns::default();
    map.read(lines);
    if map.opcodes.iter().all(|&opcode| opcode == 0) {
        return Ok(None);
    }
    let (keys, key_ranks) = map.keys.ranked();
    let (roles, role_ranks) = map.roles.ranked();
    let OsmColumns { nodes, ways, relations, .. } = map;
    let content = [
        ("meta", vec![trailing.into()]),
        ("opcodes", map.opcodes),
        ("verbatim", map.verbatim),
        ("tag_keys", keys),
        ("roles", roles),
        ("n_id", nodes.ids.out),
        ("n_ver", nodes.versions),
        ("n_ts", nodes.times.out),
        ("n_lat", map.lat.out),
        ("n_lon", map.lon.out),
        ("n_tagcnt", nodes.tag_counts),
        ("n_tagkey", ranks(&nodes.tag_keys, &key_ranks)),
        ("n_tagval", nodes.tag_values),
        ("w_id", ways.ids.out),
        ("w_ver", ways.versions),
        ("w_ts", ways.times.out),
        ("w_ndcnt", ways.child_counts),
        ("w_ndref", ways.child_refs.out),
        ("w_tagcnt", ways.tag_counts),
        ("w_tagkey", ranks(&ways.tag_keys, &key_ranks)),
        ("w_tagval", ways.tag_values),
        ("r_id", relations.ids.out),
        ("r_ver", relations.versions),
        ("r_ts", relations.times.out),
        ("r_memcnt", relations.child_counts),
        ("r_memtype", map.member_types),
        ("r_memref", relations.child_refs.out),
        ("r_memrole", ranks(&map.member_roles, &role_ranks)),
        ("r_tagcnt", relations.tag_counts),
        ("r_tagkey", ranks(&relations.tag_keys, &key_ranks)),
        ("r_tagval", relations.tag_values),
    ];
    Body::all(content, context).map(Some)
}

/// Signed varints of the differences between numbers.
#[derive(Default)]
struct DeltaColumn {
    last: i64,
    out: Vec<u8>,
}

impl DeltaColumn {
    fn push(&mut self, value: i64) {
        put::sv(&mut self.out, value.wrapping_sub(self.last));
        self.last = value;
    }
}

/// Distinct strings, numbered by first appearance, and how often each occurs.
#[derive(Default)]
struct StringDict<'a> {
    numbers: HashMap<&'a [u8], u32>,
    counts: Vec<(&'a [u8], usize)>,
}

impl<'a> StringDict<'a> {
    /// Counts a string and returns its number.
    fn add(&mut self, text: &'a [u8]) -> u32 {
        let next = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(text).or_insert(next);
        if number == next {
            self.counts.push((text, 0));
        }
        if let Some((_, count)) = self.counts.get_mut(number as usize) {
            *count += 1;
        }
        number
    }

    /// Returns the dictionary as it is stored, the most frequent string first, and the rank of
    /// each number in it.
    fn ranked(&self) -> (Vec<u8>, Vec<u64>) {
        let mut order: Vec<usize> = (0..self.counts.len()).collect();
        order.sort_by_key(|&number| self.counts.get(number).map(|&(_, count)| Reverse(count)));
        let mut out = Vec::new();
        put::uv(&mut out, order.len() as u64);
        let mut ranks = vec![0; order.len()];
        for (rank, &number) in (0..).zip(&order) {
            let text = self.counts.get(number).map(|&(text, _)| text).unwrap_or_default();
            out.extend_from_slice(text);
            out.push(0);
            if let Some(slot) = ranks.get_mut(number) {
                *slot = rank;
            }
        }
        (out, ranks)
    }
}

/// Writes the ranks of dictionary numbers.
fn ranks(numbers: &[u32], ranks: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(numbers.len());
    for &number in numbers {
        put::uv(&mut out, ranks.get(number as usize).copied().unwrap_or(0));
    }
    out
}

/// The columns that each type of element has.
#[derive(Default)]
struct ElementColumns {
    ids: DeltaColumn,
    versions: Vec<u8>,
    times: DeltaColumn,
    /// How many nodes a way or members a relation has, and their ids.
    child_counts: Vec<u8>,
    child_refs: DeltaColumn,
    tag_counts: Vec<u8>,
    tag_keys: Vec<u32>,
    tag_values: Vec<u8>,
}

/// The columns of a map.
#[derive(Default)]
struct OsmColumns<'a> {
    opcodes: Vec<u8>,
    verbatim: Vec<u8>,
    keys: StringDict<'a>,
    roles: StringDict<'a>,
    nodes: ElementColumns,
    ways: ElementColumns,
    relations: ElementColumns,
    lat: DeltaColumn,
    lon: DeltaColumn,
    member_types: Vec<u8>,
    member_roles: Vec<u32>,
}

impl<'a> OsmColumns<'a> {
    /// Adds all lines, as elements where they parse and verbatim where not.
    fn read(&mut self, lines: &'a [u8]) {
        let mut element = OsmElement::default();
        // Where the lines start that belong to no element.
        let mut verbatim: Option<usize> = None;
        let mut at = Some(0);
        while let Some(start) = at {
            let rest = lines.get(start..).unwrap_or_default();
            if let Some(len) = element.parse(rest) {
                if let Some(from) = verbatim.take() {
                    self.add_verbatim(lines.get(from..start.saturating_sub(1)).unwrap_or_default());
                }
                self.add(&element);
                at = (len < rest.len()).then_some(start + len + 1);
            } else {
                verbatim = verbatim.or(Some(start));
                at = memchr::memchr(b'\n', rest).map(|end| start + end + 1);
            }
        }
        if let Some(from) = verbatim {
            self.add_verbatim(lines.get(from..).unwrap_or_default());
        }
    }

    fn add_verbatim(&mut self, lines: &[u8]) {
        self.opcodes.push(0);
        put::lp(&mut self.verbatim, lines);
    }

    fn add(&mut self, element: &OsmElement<'a>) {
        let head = &element.head;
        let (opcode, columns) = match head.element_type {
            ElementType::Node => (1, &mut self.nodes),
            ElementType::Way => (2, &mut self.ways),
            ElementType::Relation => (3, &mut self.relations),
        };
        self.opcodes.push(opcode);
        columns.ids.push(head.id);
        put::uv(&mut columns.versions, head.version);
        columns.times.push(head.time);
        if let Some((lat, lon)) = head.coordinates {
            self.lat.push(lat);
            self.lon.push(lon);
        }
        put::uv(&mut columns.child_counts, element.children.len() as u64);
        for child in &element.children {
            columns.child_refs.push(child.id);
            if let Some((member_type, role)) = child.member {
                self.member_types.push(member_type);
                self.member_roles.push(self.roles.add(role));
            }
        }
        put::uv(&mut columns.tag_counts, element.tags.len() as u64);
        for &(key, value) in &element.tags {
            columns.tag_keys.push(self.keys.add(key));
            put::lp(&mut columns.tag_values, value);
        }
    }
}
