//! A column in a chunk: its entry in the footer, and its sections (§4.4).

#![deny(clippy::arithmetic_side_effects)]

use bytes::Bytes;
use hypostyle_onpair::Parse;

use super::layout::{MOST_TEXT, parse_by_code, parse_code, zero};
use hypostyle_core::error::{Error, ErrorKind, Refusal, Result};
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::{Cursor, bitmap};

/// Bytes of an entry without its bounds.
pub(super) const ENTRY: usize = 76;
/// Most bytes of a bound.
pub(super) const BOUND: usize = 32;
/// Sections start at multiples of this.
const ALIGN: u64 = 8;

const INDEXED: u8 = 1;
const LENGTHS: u8 = 2;
const LEAST_CUT: u8 = 4;
const GREATEST_CUT: u8 = 8;

/// The sections of a part, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Dictionary,
    Values,
    Counts,
    Lengths,
    Indexes,
    Nulls,
}

impl Section {
    pub(super) const ALL: [Self; 6] =
        [Self::Dictionary, Self::Values, Self::Counts, Self::Lengths, Self::Indexes, Self::Nulls];

    /// What errors and maps call it.
    pub(super) fn name(self, packed: bool) -> &'static str {
        match self {
            Self::Dictionary => "dictionary",
            Self::Values if packed => "codes",
            Self::Values => "text",
            Self::Counts if packed => "code counts",
            Self::Counts => "text lengths",
            Self::Lengths => "byte lengths",
            Self::Indexes => "indexes",
            Self::Nulls => "null bitmap",
        }
    }
}

/// Bytes of a section, and their checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) len: u32,
    pub(super) sum: u32,
}

/// How values are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed {
    pub(super) bits: u32,
    pub(super) parse: Parse,
    /// The chunk that has the dictionary.
    pub(super) dictionary: usize,
    pub(super) codes: u32,
}

/// Bounds of the values: the least and the greatest, or how they start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Zone {
    pub(super) least: Bytes,
    pub(super) least_cut: bool,
    pub(super) greatest: Bytes,
    pub(super) greatest_cut: bool,
}

impl Zone {
    /// The bounds of these values, if there are any.
    pub(super) fn of<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let first = values.next()?;
        let (least, greatest) = values.fold((first, first), |(least, greatest), value| {
            (least.min(value), greatest.max(value))
        });
        let cut = |value: &[u8]| value.get(..BOUND).map(Bytes::copy_from_slice);
        let whole = |value: &[u8]| Bytes::copy_from_slice(value);
        let bound = |value: &[u8]| match value.len() > BOUND {
            true => (cut(value).unwrap_or_default(), true),
            false => (whole(value), false),
        };
        let ((least, least_cut), (greatest, greatest_cut)) = (bound(least), bound(greatest));
        Some(Self { least, least_cut, greatest, greatest_cut })
    }

    /// Whether these can be the bounds of something.
    fn is_sound(&self) -> bool {
        let whole = |bound: &Bytes, cut: bool| !cut || bound.len() == BOUND;
        self.least <= self.greatest
            && whole(&self.least, self.least_cut)
            && whole(&self.greatest, self.greatest_cut)
    }
}

/// A column in a chunk.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// How values are packed; `None` if they are stored as they are.
    pub(super) packed: Option<Packed>,
    pub(super) rows: u32,
    pub(super) nulls: u32,
    /// Values that are stored: one for each row that is not null, or the distinct ones.
    pub(super) values: u32,
    /// Whether rows name values by their index.
    pub(super) indexed: bool,
    /// Bytes of all rows.
    pub(super) text: u32,
    pub(super) zone: Option<Zone>,
    pub(super) sections: [Stored; 6],
    /// Where the first section is.
    pub(super) offset: u64,
    /// Where the entry is.
    pub(super) entry: u64,
}

fn padded(len: u32) -> u64 {
    u64::from(len).next_multiple_of(ALIGN)
}

impl Part {
    /// Rows that have a value.
    pub(super) fn present(&self) -> u32 {
        self.rows.saturating_sub(self.nulls)
    }

    pub(super) fn stored(&self, section: Section) -> Stored {
        self.sections.get(section as usize).copied().unwrap_or_default()
    }

    /// Bytes of all sections, with what pads them.
    pub(super) fn len(&self) -> u64 {
        self.sections.iter().fold(0, |sum: u64, stored| sum.saturating_add(padded(stored.len)))
    }

    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.len())
    }

    /// Where a section starts.
    pub(super) fn place(&self, section: Section) -> u64 {
        let before = self.sections.iter().take(section as usize);
        before.fold(self.offset, |at, stored| at.saturating_add(padded(stored.len)))
    }

    pub(super) fn name(&self, section: Section) -> &'static str {
        section.name(self.packed.is_some())
    }

    /// What reading it may cost in memory.
    pub(super) fn cost(&self) -> u64 {
        let offsets = u64::from(self.rows).saturating_mul(8);
        self.len().saturating_add(self.text.into()).saturating_add(offsets)
    }

    pub(super) fn parse(
        cursor: &mut Cursor<'_>,
        chunk: usize,
        rows: u32,
        offset: u64,
    ) -> Result<Self> {
        let entry = cursor.offset();
        let encoding = cursor.u8("encoding")?;
        let flags = cursor.u8("flags")?;
        let bits = cursor.u8("code width")?;
        let parse = cursor.u8("way of cutting")?;
        let dictionary = cursor.u32_le("dictionary")?;
        let nulls = cursor.u32_le("null count")?;
        let values = cursor.u32_le("value count")?;
        let codes = cursor.u32_le("code count")?;
        let text = cursor.u32_le("bytes of text")?;
        let mut sections = [Stored::default(); 6];
        for stored in &mut sections {
            stored.len = cursor.u32_le("section length")?;
            stored.sum = cursor.u32_le("section checksum")?;
        }
        let least = cursor.u8("bound length")?;
        let greatest = cursor.u8("bound length")?;
        zero(cursor, 2)?;
        let mut bound = |len: u8| match usize::from(len) {
            0..=BOUND => Ok(Bytes::copy_from_slice(cursor.take(len.into(), "bound")?)),
            _ => Err(Error::malformed("bound length", format!("{len} is over {BOUND}"))),
        };
        let zone = Zone {
            least: bound(least).map_err(|err| err.at(entry))?,
            least_cut: flags & LEAST_CUT != 0,
            greatest: bound(greatest).map_err(|err| err.at(entry))?,
            greatest_cut: flags & GREATEST_CUT != 0,
        };
        let wrong = |what, why: String| Err(Error::malformed(what, why).at(entry));
        if flags & !(INDEXED | LENGTHS | LEAST_CUT | GREATEST_CUT) != 0 {
            return wrong("flags", format!("{flags:#04x} are not known"));
        }
        let packed = match (encoding, parse_by_code(parse)) {
            (0, _) if (bits, parse, dictionary, codes) == (0, 0, 0, 0) => None,
            (0, _) => return wrong("encoding", "text as it is has no codes".to_owned()),
            (1, Some(parse)) => {
                let dictionary = dictionary as usize;
                Some(Packed { bits: bits.into(), parse, dictionary, codes })
            }
            (1, None) => return wrong("way of cutting", format!("{parse} is not 0, 1 or 2")),
            _ => return wrong("encoding", format!("{encoding} is not 0 or 1")),
        };
        if nulls > rows {
            return wrong("null count", format!("{nulls} of {rows} rows"));
        }
        let indexed = flags & INDEXED != 0;
        let empty = zone == Zone::default();
        let zone = (nulls < rows).then_some(zone);
        if zone.is_none() && !empty {
            return wrong("bounds", "of no values".to_owned());
        }
        if zone.as_ref().is_some_and(|zone| !zone.is_sound()) {
            return wrong("bounds", "are out of order, or cut where they need not be".to_owned());
        }
        let part =
            Self { packed, rows, nulls, values, indexed, text, zone, sections, offset, entry };
        part.check(chunk, flags & LENGTHS != 0).map_err(|err| err.at(entry))?;
        Ok(part)
    }

    /// Whether the numbers of an entry go with each other (§4.4).
    fn check(&self, chunk: usize, lengths: bool) -> Result<()> {
        let wrong = |what, why: String| Err(Error::malformed(what, why));
        let len = |section| self.stored(section).len;
        let (present, values) = (self.present(), self.values);
        let fits = match self.indexed {
            true => (1..=present).contains(&values),
            false => values == present,
        };
        if !fits {
            return wrong("value count", format!("{values} for {present} rows that are not null"));
        }
        if self.text > MOST_TEXT && self.rows > 1 {
            let why = format!("{} in a chunk of {} rows", self.text, self.rows);
            return wrong("bytes of text", why);
        }
        if let Some(packed) = self.packed {
            self.check_packed(&packed, chunk)?;
        } else if len(Section::Dictionary) > 0 || lengths {
            return wrong("encoding", "text as it is has no dictionary".to_owned());
        } else if len(Section::Values) > self.text
            || (!self.indexed && len(Section::Values) != self.text)
        {
            let why = format!("{} bytes for {} of text", len(Section::Values), self.text);
            return wrong("section length", why);
        }
        let bits = match self.nulls > 0 && self.nulls < self.rows {
            true => bitmap::len(self.rows as usize),
            false => 0,
        };
        let absent = [
            (Section::Counts, values > 0),
            (Section::Lengths, lengths && values > 0),
            (Section::Indexes, self.indexed),
        ];
        let odd = absent.into_iter().find(|&(section, there)| (len(section) > 0) != there);
        if let Some((section, _)) = odd {
            return wrong("section length", format!("{} of {}", len(section), self.name(section)));
        }
        if len(Section::Nulls) as usize != bits {
            return wrong("section length", format!("{} of null bitmap", len(Section::Nulls)));
        }
        match self.sections.iter().find(|stored| stored.len == 0 && stored.sum != 0) {
            Some(_) => wrong("section checksum", "of no bytes is not 0".to_owned()),
            None => Ok(()),
        }
    }

    fn check_packed(&self, packed: &Packed, chunk: usize) -> Result<()> {
        let wrong = |what, why: String| Err(Error::malformed(what, why));
        let Packed { bits, dictionary, codes, .. } = *packed;
        if !(9..=16).contains(&bits) {
            return wrong("code width", format!("{bits} is not 9 to 16"));
        }
        let owned = self.stored(Section::Dictionary).len > 0;
        if dictionary > chunk || (dictionary == chunk) != owned {
            let bytes = self.stored(Section::Dictionary).len;
            let why = format!("that of chunk {dictionary}, with {bytes} bytes in chunk {chunk}");
            return wrong("dictionary", why);
        }
        let bytes = u64::from(codes).saturating_mul(bits.into()).div_ceil(8);
        if bytes != u64::from(self.stored(Section::Values).len) {
            let why = format!("{codes} codes of {bits} bits take {bytes} bytes");
            return wrong("section length", why);
        }
        Ok(())
    }

    /// Appends the entry.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        let zone = self.zone.clone().unwrap_or_default();
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(self.indexed, INDEXED)
            | flag(self.stored(Section::Lengths).len > 0, LENGTHS)
            | flag(zone.least_cut, LEAST_CUT)
            | flag(zone.greatest_cut, GREATEST_CUT);
        let too_many = |_| Error::refused(Refusal::TooLarge, "the table is too large", "split it");
        let (head, dictionary, codes) = match self.packed {
            None => ([0, flags, 0, 0], 0, 0),
            Some(Packed { bits, parse, dictionary, codes }) => {
                let bits = u8::try_from(bits).unwrap_or_default();
                let dictionary = u32::try_from(dictionary).map_err(too_many)?;
                ([1, flags, bits, parse_code(parse)], dictionary, codes)
            }
        };
        out.extend_from_slice(&head);
        for number in [dictionary, self.nulls, self.values, codes, self.text] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for stored in &self.sections {
            out.extend_from_slice(&stored.len.to_le_bytes());
            out.extend_from_slice(&stored.sum.to_le_bytes());
        }
        let len = |bound: &Bytes| u8::try_from(bound.len()).unwrap_or_default();
        out.extend_from_slice(&[len(&zone.least), len(&zone.greatest), 0, 0]);
        out.extend_from_slice(&zone.least);
        out.extend_from_slice(&zone.greatest);
        Ok(())
    }

    /// Puts sections behind each other, as they stand in the file.
    pub(super) fn place_sections(&mut self, sections: [&[u8]; 6], out: &mut Vec<u8>) -> Result<()> {
        for (stored, bytes) in self.sections.iter_mut().zip(sections) {
            let len = u32::try_from(bytes.len()).map_err(|_| {
                Error::refused(Refusal::TextTooLong, "a text is too long", "split it")
            })?;
            *stored = Stored { len, sum: hypostyle_core::wire::crc32(bytes) };
            out.extend_from_slice(bytes);
            out.resize(out.len().next_multiple_of(8), 0);
        }
        Ok(())
    }
}

/// The bytes of some sections of a part.
#[derive(Debug)]
pub(super) struct Sections<'a> {
    part: &'a Part,
    at: u64,
    bytes: Bytes,
}

impl<'a> Sections<'a> {
    /// All of them, in one read.
    pub(super) fn read(source: &dyn ByteSource, part: &'a Part) -> Result<Self> {
        Self::range(source, part, part.offset, part.len())
    }

    /// One of them.
    pub(super) fn read_one(
        source: &dyn ByteSource,
        part: &'a Part,
        section: Section,
    ) -> Result<Self> {
        Self::range(source, part, part.place(section), padded(part.stored(section).len))
    }

    fn range(source: &dyn ByteSource, part: &'a Part, at: u64, len: u64) -> Result<Self> {
        let bytes = match len {
            0 => Bytes::new(),
            _ => source::range(source, at, len, "sections")?,
        };
        Ok(Self { part, at, bytes })
    }

    /// The content of a section, compared with its checksum, and where it is.
    pub(super) fn get(&self, section: Section) -> Result<(&[u8], u64)> {
        let (place, stored) = (self.part.place(section), self.part.stored(section));
        if stored.len == 0 {
            return Ok((&[], place));
        }
        let what = self.part.name(section);
        let start = usize::try_from(place.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let end = start.saturating_add(stored.len as usize);
        let padding = end.saturating_add(7) & !7;
        let (Some(content), Some(behind)) =
            (self.bytes.get(start..end), self.bytes.get(end..padding))
        else {
            let (needed, left) = (u64::from(stored.len), self.bytes.len() as u64);
            return Err(Error::new(ErrorKind::Truncated { what, needed, left }).at(place));
        };
        if hypostyle_core::wire::crc32(content) != stored.sum {
            return Err(Error::malformed(what, "the checksum does not agree").at(place));
        }
        if behind.iter().any(|&byte| byte != 0) {
            let at = self.at.saturating_add(end as u64);
            return Err(Error::malformed(what, "the bytes that pad it are not 0").at(at));
        }
        Ok((content, place))
    }

    /// The same, to be kept.
    pub(super) fn take(&self, section: Section) -> Result<(Bytes, u64)> {
        let (content, place) = self.get(section)?;
        Ok((self.bytes.slice_ref(content), place))
    }
}
