//! Parses elements that are laid out exactly as the decoder prints them.

use super::scalars::{coordinate, timestamp};
use crate::pack::tables::decimal::canonical;

/// The types of members, by the number that is stored for them.
const MEMBER_TYPES: [&[u8]; 3] = [b"node", b"way", b"relation"];

/// The type of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ElementType {
    #[default]
    Node,
    Way,
    Relation,
}

impl ElementType {
    const ALL: [Self; 3] = [Self::Node, Self::Way, Self::Relation];

    /// Returns the type of the element that starts here.
    pub(super) fn of(text: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|element_type| text.starts_with(element_type.start()))
    }

    /// Returns how the first line starts.
    fn start(self) -> &'static [u8] {
        match self {
            Self::Node => b"  <node id=\"",
            Self::Way => b"  <way id=\"",
            Self::Relation => b"  <relation id=\"",
        }
    }

    /// Returns the last line of an element with content.
    fn end(self) -> &'static [u8] {
        match self {
            Self::Node => b"  </node>",
            Self::Way => b"  </way>",
            Self::Relation => b"  </relation>",
        }
    }
}

/// An element and its content.
#[derive(Default)]
pub(super) struct OsmElement<'a> {
    pub(super) head: ElementHead,
    pub(super) children: Vec<OsmChild<'a>>,
    /// Keys and values.
    pub(super) tags: Vec<(&'a [u8], &'a [u8])>,
}

/// A node of a way, or a member of a relation.
pub(super) struct OsmChild<'a> {
    pub(super) id: i64,
    /// The type of a member and its role.
    pub(super) member: Option<(u8, &'a [u8])>,
}

impl<'a> OsmElement<'a> {
    /// Parses the element that `text` starts with, reusing the buffers of `self`.
    ///
    /// Returns its length without the final newline; `None` if the layout differs.
    pub(super) fn parse(&mut self, text: &'a [u8]) -> Option<usize> {
        let element_type = ElementType::of(text)?;
        let mut lines = LineCursor { text, next: 0 };
        let (head, has_content) = ElementHead::parse(element_type, lines.next()?)?;
        self.head = head;
        self.children.clear();
        self.tags.clear();
        if !has_content {
            return Some(lines.consumed());
        }
        loop {
            let line = lines.next()?;
            if line == element_type.end() {
                // The decoder prints an element without content on one line.
                let is_empty = self.children.is_empty() && self.tags.is_empty();
                return (!is_empty).then(|| lines.consumed());
            }
            if let Some(tag) = parse_tag(line) {
                self.tags.push(tag);
                continue;
            }
            // The decoder prints tags last.
            let child = parse_child(element_type, line).filter(|_| self.tags.is_empty())?;
            self.children.push(child);
        }
    }
}

/// Takes lines off the start of a text.
struct LineCursor<'a> {
    text: &'a [u8],
    /// Where the next line starts; beyond the end if there is none.
    next: usize,
}

impl<'a> LineCursor<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.text.get(self.next..)?;
        let line = rest.get(..memchr::memchr(b'\n', rest).unwrap_or(rest.len()))?;
        self.next += line.len() + 1;
        Some(line)
    }

    /// Returns the bytes of the lines taken so far, without the last newline.
    fn consumed(&self) -> usize {
        self.next.saturating_sub(1)
    }
}

/// The attributes of an element.
#[derive(Default)]
pub(super) struct ElementHead {
    pub(super) element_type: ElementType,
    pub(super) id: i64,
    pub(super) version: u64,
    /// Seconds since 1970.
    pub(super) time: i64,
    /// Latitude and longitude of a node, in 10^-7 degrees.
    pub(super) coordinates: Option<(i64, i64)>,
}

impl ElementHead {
    /// Parses the first line of an element, and says whether the element has content.
    pub(super) fn parse(element_type: ElementType, line: &[u8]) -> Option<(Self, bool)> {
        let mut rest = AttributeCursor(line);
        rest.skip(element_type.start())?;
        let id = canonical(rest.quoted()?)?;
        rest.skip(b" version=\"")?;
        let version = u64::try_from(canonical(rest.quoted()?)?).ok()?;
        rest.skip(b" timestamp=\"")?;
        let time = timestamp(rest.quoted()?)?;
        let mut coordinates = None;
        if element_type == ElementType::Node {
            rest.skip(b" lat=\"")?;
            let lat = coordinate(rest.quoted()?)?;
            rest.skip(b" lon=\"")?;
            coordinates = Some((lat, coordinate(rest.quoted()?)?));
        }
        let has_content = match rest.0 {
            b"/>" => false,
            b">" => true,
            _ => return None,
        };
        Some((Self { element_type, id, version, time, coordinates }, has_content))
    }
}

/// Takes fixed text and attribute values off the start of a line.
struct AttributeCursor<'a>(&'a [u8]);

impl<'a> AttributeCursor<'a> {
    fn skip(&mut self, text: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// Takes the text before the next quote, and the quote.
    fn quoted(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(b'"', self.0)?;
        let text = self.0.get(..end)?;
        self.0 = self.0.get(end + 1..)?;
        Some(text)
    }

    /// Checks that `text` is the rest of the line.
    fn end(&self, text: &[u8]) -> Option<()> {
        (self.0 == text).then_some(())
    }
}

fn parse_tag(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = AttributeCursor(line);
    rest.skip(b"    <tag k=\"")?;
    let key = without_nul(rest.quoted()?)?;
    rest.skip(b" v=\"")?;
    let value = rest.quoted()?;
    rest.end(b"/>")?;
    Some((key, value))
}

fn parse_child(element_type: ElementType, line: &[u8]) -> Option<OsmChild<'_>> {
    let mut rest = AttributeCursor(line);
    match element_type {
        ElementType::Node => None,
        ElementType::Way => {
            rest.skip(b"    <nd ref=\"")?;
            let id = canonical(rest.quoted()?)?;
            rest.end(b"/>")?;
            Some(OsmChild { id, member: None })
        }
        ElementType::Relation => {
            rest.skip(b"    <member type=\"")?;
            let name = rest.quoted()?;
            let member_type = MEMBER_TYPES.iter().position(|member_type| *member_type == name)?;
            rest.skip(b" ref=\"")?;
            let id = canonical(rest.quoted()?)?;
            rest.skip(b" role=\"")?;
            let role = without_nul(rest.quoted()?)?;
            rest.end(b"/>")?;
            Some(OsmChild { id, member: Some((u8::try_from(member_type).ok()?, role)) })
        }
    }
}

/// Returns a text unless it contains a byte 0, which ends the strings of the dictionaries.
fn without_nul(text: &[u8]) -> Option<&[u8]> {
    memchr::memchr(0, text).is_none().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_layout_of_the_decoder_is_parsed() {
        let good = "  <way id=\"5\" version=\"3\" timestamp=\"1970-01-01T00:00:00Z\">\n    \
                    <nd ref=\"10\"/>\n    <tag k=\"hw\" v=\"\"/>\n  </way>";
        let parse = |text: &str| OsmElement::default().parse(text.as_bytes());
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
