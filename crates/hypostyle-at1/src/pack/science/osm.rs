//! Maps as osm (§7.5).
//!
//! An element is structured if it is laid out to the letter as the decoder prints it;
//! lines between such elements are kept as they are, as one item.

use std::cmp::Reverse;

use hashbrown::HashMap;

use crate::pack::context::EncodeContext;
use crate::pack::lines::split_final_newline;
use crate::pack::stream_set::{Body, Stream};
use crate::pack::tables::decimal::{canonical, padded};
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Bytes by which content is taken for a map or not.
const LOOKED_AT: usize = 64 << 10;

/// How the three kinds of elements start.
const STARTS: [&[u8]; 3] = [b"  <node id=\"", b"  <way id=\"", b"  <relation id=\""];

/// The lines that end them.
const ENDS: [&[u8]; 3] = [b"  </node>", b"  </way>", b"  </relation>"];

/// What a member may be, by the number that is stored for it.
const MEMBERS: [&[u8]; 3] = [b"node", b"way", b"relation"];

/// Whether content is a map whose elements are mostly laid out as they must be.
pub(in crate::pack) fn suits(content: &[u8]) -> bool {
    let start = content.get(..content.len().min(LOOKED_AT)).unwrap_or_default();
    let (mut elements, mut fit) = (0, 0);
    for line in start.split(|&byte| byte == b'\n') {
        let kind = STARTS.iter().position(|start| line.starts_with(start));
        elements += usize::from(kind.is_some());
        fit += usize::from(kind.is_some_and(|kind| Head::parse(kind, line).is_some()));
    }
    fit > 0 && fit * 2 >= elements
}

/// The streams of a map; `None` if no element is laid out as it must be.
pub(in crate::pack) fn streams(
    text: &[u8],
    job: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let (lines, trailing) = split_final_newline(text);
    let mut map = Map::default();
    map.read(lines);
    if map.opcodes.iter().all(|&opcode| opcode == 0) {
        return Ok(None);
    }
    let (keys, key_places) = map.keys.ordered();
    let (roles, role_places) = map.roles.ordered();
    let [nodes, encoders, relations] = map.kinds;
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
        ("n_tagcnt", nodes.tags),
        ("n_tagkey", placed(&nodes.keys, &key_places)),
        ("n_tagval", nodes.values),
        ("w_id", encoders.ids.out),
        ("w_ver", encoders.versions),
        ("w_ts", encoders.times.out),
        ("w_ndcnt", encoders.children),
        ("w_ndref", encoders.refs.out),
        ("w_tagcnt", encoders.tags),
        ("w_tagkey", placed(&encoders.keys, &key_places)),
        ("w_tagval", encoders.values),
        ("r_id", relations.ids.out),
        ("r_ver", relations.versions),
        ("r_ts", relations.times.out),
        ("r_memcnt", relations.children),
        ("r_memtype", map.member_kinds),
        ("r_memref", relations.refs.out),
        ("r_memrole", placed(&map.member_roles, &role_places)),
        ("r_tagcnt", relations.tags),
        ("r_tagkey", placed(&relations.keys, &key_places)),
        ("r_tagval", relations.values),
    ];
    Body::all(content, job).map(Some)
}

/// Numbers as differences.
#[derive(Default)]
struct Deltas {
    last: i64,
    out: Vec<u8>,
}

impl Deltas {
    fn push(&mut self, value: i64) {
        put::sv(&mut self.out, value.wrapping_sub(self.last));
        self.last = value;
    }
}

/// Distinct texts, in the order in which they come.
#[derive(Default)]
struct Texts<'a> {
    numbers: HashMap<&'a [u8], u32>,
    counts: Vec<(&'a [u8], usize)>,
}

impl<'a> Texts<'a> {
    fn number(&mut self, text: &'a [u8]) -> u32 {
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

    /// The texts as they are stored, the most common first, and where each stands.
    fn ordered(&self) -> (Vec<u8>, Vec<u64>) {
        let mut order: Vec<usize> = (0..self.counts.len()).collect();
        order.sort_by_key(|&number| self.counts.get(number).map(|&(_, count)| Reverse(count)));
        let mut out = Vec::new();
        put::uv(&mut out, order.len() as u64);
        let mut places = vec![0; order.len()];
        for (place, &number) in (0..).zip(&order) {
            let text = self.counts.get(number).map(|&(text, _)| text).unwrap_or_default();
            out.extend_from_slice(text);
            out.push(0);
            if let Some(slot) = places.get_mut(number) {
                *slot = place;
            }
        }
        (out, places)
    }
}

/// Numbers of texts, by where the texts stand.
fn placed(numbers: &[u32], places: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(numbers.len());
    for &number in numbers {
        put::uv(&mut out, places.get(number as usize).copied().unwrap_or(0));
    }
    out
}

/// What is stored of one kind of element.
#[derive(Default)]
struct Kind {
    ids: Deltas,
    versions: Vec<u8>,
    times: Deltas,
    /// How many nodes or members each has, and their numbers.
    children: Vec<u8>,
    refs: Deltas,
    tags: Vec<u8>,
    keys: Vec<u32>,
    values: Vec<u8>,
}

#[derive(Default)]
struct Map<'a> {
    opcodes: Vec<u8>,
    verbatim: Vec<u8>,
    keys: Texts<'a>,
    roles: Texts<'a>,
    kinds: [Kind; 3],
    lat: Deltas,
    lon: Deltas,
    member_kinds: Vec<u8>,
    member_roles: Vec<u32>,
}

impl<'a> Map<'a> {
    fn read(&mut self, lines: &'a [u8]) {
        let mut element = Element::default();
        // Where lines start that no element has taken.
        let mut loose: Option<usize> = None;
        let mut at = Some(0);
        while let Some(start) = at {
            let rest = lines.get(start..).unwrap_or_default();
            if let Some(len) = element.parse(rest) {
                if let Some(from) = loose.take() {
                    self.keep(lines.get(from..start.saturating_sub(1)).unwrap_or_default());
                }
                self.add(&element);
                at = (len < rest.len()).then_some(start + len + 1);
            } else {
                loose = loose.or(Some(start));
                at = memchr::memchr(b'\n', rest).map(|end| start + end + 1);
            }
        }
        if let Some(from) = loose {
            self.keep(lines.get(from..).unwrap_or_default());
        }
    }

    /// Keeps lines as they are.
    fn keep(&mut self, lines: &[u8]) {
        self.opcodes.push(0);
        put::lp(&mut self.verbatim, lines);
    }

    fn add(&mut self, element: &Element<'a>) {
        let head = &element.head;
        let Some(kind) = self.kinds.get_mut(head.kind) else { return };
        self.opcodes.push(u8::try_from(head.kind + 1).unwrap_or(0));
        kind.ids.push(head.id);
        put::uv(&mut kind.versions, head.version);
        kind.times.push(head.time);
        if let Some((lat, lon)) = head.place {
            self.lat.push(lat);
            self.lon.push(lon);
        }
        put::uv(&mut kind.children, element.children.len() as u64);
        for child in &element.children {
            kind.refs.push(child.id);
            if let Some((member, role)) = child.member {
                self.member_kinds.push(member);
                self.member_roles.push(self.roles.number(role));
            }
        }
        put::uv(&mut kind.tags, element.tags.len() as u64);
        for &(key, value) in &element.tags {
            kind.keys.push(self.keys.number(key));
            put::lp(&mut kind.values, value);
        }
    }
}

/// An element and what is in it.
#[derive(Default)]
struct Element<'a> {
    head: Head,
    children: Vec<Child<'a>>,
    tags: Vec<(&'a [u8], &'a [u8])>,
}

/// A node of a way, or a member of a relation.
struct Child<'a> {
    id: i64,
    /// The kind of a member, and its role.
    member: Option<(u8, &'a [u8])>,
}

impl<'a> Element<'a> {
    /// Reads an element and says how many bytes it takes, without the newline behind it.
    fn parse(&mut self, text: &'a [u8]) -> Option<usize> {
        let kind = STARTS.iter().position(|start| text.starts_with(start))?;
        let mut lines = Lines { text, done: 0 };
        let (head, is_open) = Head::parse(kind, lines.next()?)?;
        self.head = head;
        self.children.clear();
        self.tags.clear();
        if !is_open {
            return Some(lines.len());
        }
        let end = ENDS.get(kind)?;
        loop {
            let line = lines.next()?;
            if line == *end {
                let is_empty = self.children.is_empty() && self.tags.is_empty();
                return (!is_empty).then(|| lines.len());
            }
            if let Some(tag) = tag(line) {
                self.tags.push(tag);
                continue;
            }
            // Tags come last.
            let child = child(kind, line).filter(|_| self.tags.is_empty())?;
            self.children.push(child);
        }
    }
}

/// Lines one after the other.
struct Lines<'a> {
    text: &'a [u8],
    /// Where the next one starts; beyond the end if there is none.
    done: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.text.get(self.done..)?;
        let line = rest.get(..memchr::memchr(b'\n', rest).unwrap_or(rest.len()))?;
        self.done += line.len() + 1;
        Some(line)
    }

    /// Bytes of the lines so far, without the last newline.
    fn len(&self) -> usize {
        self.done.saturating_sub(1)
    }
}

/// The attributes of an element.
#[derive(Default)]
struct Head {
    kind: usize,
    id: i64,
    version: u64,
    time: i64,
    place: Option<(i64, i64)>,
}

impl Head {
    /// Reads the first line of an element, and whether there is more of it.
    fn parse(kind: usize, line: &[u8]) -> Option<(Self, bool)> {
        let mut rest = Rest(line);
        rest.skip(STARTS.get(kind)?)?;
        let id = canonical(rest.quoted()?)?;
        rest.skip(b" version=\"")?;
        let version = u64::try_from(canonical(rest.quoted()?)?).ok()?;
        rest.skip(b" timestamp=\"")?;
        let time = timestamp(rest.quoted()?)?;
        let mut place = None;
        if kind == 0 {
            rest.skip(b" lat=\"")?;
            let lat = coordinate(rest.quoted()?)?;
            rest.skip(b" lon=\"")?;
            place = Some((lat, coordinate(rest.quoted()?)?));
        }
        let is_open = match rest.0 {
            b"/>" => false,
            b">" => true,
            _ => return None,
        };
        Some((Self { kind, id, version, time, place }, is_open))
    }
}

/// What is left of a line.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn skip(&mut self, text: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// What stands before the next quote, and is taken with it.
    fn quoted(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(b'"', self.0)?;
        let text = self.0.get(..end)?;
        self.0 = self.0.get(end + 1..)?;
        Some(text)
    }

    fn end(&self, text: &[u8]) -> Option<()> {
        (self.0 == text).then_some(())
    }
}

fn tag(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = Rest(line);
    rest.skip(b"    <tag k=\"")?;
    let key = name(rest.quoted()?)?;
    rest.skip(b" v=\"")?;
    let value = rest.quoted()?;
    rest.end(b"/>")?;
    Some((key, value))
}

fn child(kind: usize, line: &[u8]) -> Option<Child<'_>> {
    let mut rest = Rest(line);
    match kind {
        1 => {
            rest.skip(b"    <nd ref=\"")?;
            let id = canonical(rest.quoted()?)?;
            rest.end(b"/>")?;
            Some(Child { id, member: None })
        }
        2 => {
            rest.skip(b"    <member type=\"")?;
            let word = rest.quoted()?;
            let member = MEMBERS.iter().position(|member| *member == word)?;
            rest.skip(b" ref=\"")?;
            let id = canonical(rest.quoted()?)?;
            rest.skip(b" role=\"")?;
            let role = name(rest.quoted()?)?;
            rest.end(b"/>")?;
            Some(Child { id, member: Some((u8::try_from(member).ok()?, role)) })
        }
        _ => None,
    }
}

/// A text that can be stored with a byte 0 at its end.
fn name(text: &[u8]) -> Option<&[u8]> {
    memchr::memchr(0, text).is_none().then_some(text)
}

/// The number of 10^-7 degrees that prints as this text.
fn coordinate(text: &[u8]) -> Option<i64> {
    const ONE: i64 = 10_000_000;
    let (digits, negative) = match text.strip_prefix(b"-") {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let (whole, fraction) = match memchr::memchr(b'.', digits) {
        Some(point) => (digits.get(..point)?, digits.get(point + 1..)?),
        None => (digits, &b""[..]),
    };
    let is_shortest = match fraction.last() {
        Some(last) => *last != b'0',
        None => whole.len() == digits.len(),
    };
    if !is_shortest || fraction.len() > 7 || whole.len() > 9 || whole.starts_with(b"-") {
        return None;
    }
    let places = u32::try_from(7 - fraction.len()).ok()?;
    let fraction = padded(fraction, fraction.len())? * 10_i64.pow(places);
    let value = canonical(whole)? * ONE + fraction;
    match negative {
        true => (value > 0).then_some(-value),
        false => Some(value),
    }
}

/// The seconds since 1970 that print as this text, in every decoder.
fn timestamp(text: &[u8]) -> Option<i64> {
    let part = |range: std::ops::Range<usize>| {
        let width = range.len();
        text.get(range).and_then(|digits| padded(digits, width))
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')];
    if text.len() != 20 || marks.iter().any(|&(at, mark)| text.get(at) != Some(&mark)) {
        return None;
    }
    let (year, month, day) = (part(0..4)?, part(5..7)?, part(8..10)?);
    let (hour, minute, second) = (part(11..13)?, part(14..16)?, part(17..19)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    // Not every decoder prints earlier years with four digits.
    if year < 1000 || !(1..=last).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Days from the start of 1970 to a date in the years 1000 to 9999.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years are taken to start in March, so that a leap day is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year
        - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_print_the_same() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59Z", -1),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
            ("2024-01-02T03:04:06Z", 1_704_164_646),
            ("1000-01-01T00:00:00Z", -30_610_224_000),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
        ] {
            assert_eq!(timestamp(text.as_bytes()), Some(seconds), "{text}");
        }
        for text in [
            "",
            "0999-12-31T23:59:59Z",
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-00-01T00:00:00Z",
            "2024-01-00T00:00:00Z",
            "2024-01-32T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2016-12-31T23:59:60Z",
            "2024-01-01 00:00:00Z",
            "2024-01-01T00:00:00+",
            "2024-01-01T00:00:0xZ",
            "2024-01-01T00:00:00.0Z",
            "-024-01-01T00:00:00Z",
        ] {
            assert_eq!(timestamp(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn coordinates_are_those_that_print_the_same() {
        for (text, value) in [
            ("0", 0),
            ("52.5", 525_000_000),
            ("13.4050001", 134_050_001),
            ("-0.0000001", -1),
            ("-180", -1_800_000_000),
            ("0.000001", 10),
            ("999999999.9999999", 9_999_999_999_999_999),
        ] {
            assert_eq!(coordinate(text.as_bytes()), Some(value), "{text}");
        }
        for text in [
            "",
            "-",
            "-0",
            "-0.0",
            "1.",
            ".5",
            "1.0",
            "1.50",
            "01.5",
            "+1",
            "--1",
            "1.00000001",
            "1e1",
            "1.-5",
            "-.5",
            "1.5.5",
            "9999999999",
        ] {
            assert_eq!(coordinate(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn elements_are_read_to_the_letter() {
        let good = "  <way id=\"5\" version=\"3\" timestamp=\"1970-01-01T00:00:00Z\">\n    \
                    <nd ref=\"10\"/>\n    <tag k=\"hw\" v=\"\"/>\n  </way>";
        let parse = |text: &str| Element::default().parse(text.as_bytes());
        assert_eq!(parse(good), Some(good.len()));
        assert_eq!(parse(&[good, "\nmore"].concat()), Some(good.len()));
        for (from, to) in [
            ("  <way", " <way"),
            ("version=\"3\"", "version=\"-3\""),
            ("version=\"3\"", "version=\"03\""),
            ("\">", "\" >"),
            ("\">", "\"/>x"),
            ("\"10\"", "\"10"),
            ("<nd", "\t<nd"),
            ("\"/>\n    <tag", "\"/>\r\n    <tag"),
            ("k=\"hw\"", "k=\"h\0w\""),
            ("k=\"hw\"", "k='hw'"),
            ("    <nd ref=\"10\"/>\n    <tag k=\"hw\" v=\"\"/>\n", ""),
            ("  </way>", "  </node>"),
            ("\n  </way>", ""),
        ] {
            let text = good.replacen(from, to, 1);
            assert_ne!(text, good);
            assert_eq!(parse(&text), None, "{text}");
        }
        let tag = "    <tag k=\"hw\" v=\"\"/>\n";
        let late = good.replace(tag, "").replace("    <nd", &[tag, "    <nd"].concat());
        assert_eq!(parse(&late), None);
        let short = "  <way id=\"5\" version=\"3\" timestamp=\"1970-01-01T00:00:00Z\"/>";
        assert_eq!(parse(short), Some(short.len()));
    }
}
