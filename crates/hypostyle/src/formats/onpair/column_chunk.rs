//! A column chunk: its entry in the footer, parsed, checked and written (§4.4).

#![deny(clippy::arithmetic_side_effects)]

use std::ops::Range;

use bytes::Bytes;
use hypostyle_onpair::Parse;

use super::bounds::{ChunkBounds, MAX_BOUND_BYTES};
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::wire::{Cursor, bitmap};

/// Length of an entry without its bounds.
pub(super) const ENTRY_BYTES: usize = 76;
/// The maximum number of rows of a chunk (§4.3).
pub(super) const MAX_ROWS: u32 = 1 << 20;
/// The maximum text of a column in a chunk of more than one row (§4.3).
pub(super) const MAX_TEXT_BYTES: u32 = 64 << 20;
/// Sections start at multiples of this.
const SECTION_ALIGN: u64 = 8;

const INDEXED: u8 = 1;
const LENGTHS: u8 = 2;
const MIN_TRUNCATED: u8 = 4;
const MAX_TRUNCATED: u8 = 8;

/// The sections of a column chunk, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkSection {
    Dictionary,
    Values,
    Counts,
    Lengths,
    Indexes,
    Nulls,
}

impl ChunkSection {
    pub(super) const ALL: [Self; 6] =
        [Self::Dictionary, Self::Values, Self::Counts, Self::Lengths, Self::Indexes, Self::Nulls];

    /// Returns the name in errors and in the list of sections.
    fn name(self, coded: bool) -> &'static str {
        match self {
            Self::Dictionary => "dictionary",
            Self::Values if coded => "codes",
            Self::Values => "text",
            Self::Counts if coded => "code counts",
            Self::Counts => "text lengths",
            Self::Lengths => "byte lengths",
            Self::Indexes => "indexes",
            Self::Nulls => "null bitmap",
        }
    }
}

/// The length and the checksum of a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SectionEntry {
    pub(super) len: u32,
    pub(super) checksum: u32,
}

/// How values are stored as codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coding {
    /// The width of a code.
    pub(super) bits: u32,
    pub(super) parse: Parse,
    /// The chunk that stores the dictionary.
    pub(super) dictionary_chunk: usize,
    pub(super) code_count: u32,
}

/// One column of one chunk.
#[derive(Clone, Debug)]
pub(super) struct ColumnChunk {
    /// How values are stored as codes; `None` if they are stored plain.
    pub(super) coding: Option<Coding>,
    pub(super) rows: u32,
    pub(super) nulls: u32,
    /// The number of stored values: the rows that are not null, or the distinct values.
    pub(super) values: u32,
    /// Whether values are distinct and rows store indexes of values.
    pub(super) indexed: bool,
    /// Bytes of all rows.
    pub(super) text_len: u32,
    /// The bounds of the values; `None` if all rows are null.
    pub(super) bounds: Option<ChunkBounds>,
    pub(super) sections: [SectionEntry; 6],
    /// The offset of the first section.
    pub(super) offset: u64,
    /// The offset of the entry in the footer.
    pub(super) entry_offset: u64,
}

/// Returns the length of a section with its padding.
pub(super) fn padded_len(len: u32) -> u64 {
    u64::from(len).next_multiple_of(SECTION_ALIGN)
}

impl ColumnChunk {
    /// Returns the number of rows that are not null.
    pub(super) fn non_null_rows(&self) -> u32 {
        self.rows.saturating_sub(self.nulls)
    }

    /// Returns the length and the checksum of a section.
    pub(super) fn section(&self, section: ChunkSection) -> SectionEntry {
        self.sections.get(section as usize).copied().unwrap_or_default()
    }

    /// Returns the length of all sections with their padding.
    pub(super) fn len(&self) -> u64 {
        self.sections.iter().fold(0, |sum: u64, entry| sum.saturating_add(padded_len(entry.len)))
    }

    /// Returns the first byte after the last section.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.len())
    }

    /// Returns the bytes of all sections in the file.
    pub(super) fn range(&self) -> Range<u64> {
        self.offset..self.end()
    }

    /// Returns the offset of a section.
    pub(super) fn section_offset(&self, section: ChunkSection) -> u64 {
        let before = self.sections.iter().take(section as usize);
        before.fold(self.offset, |at, entry| at.saturating_add(padded_len(entry.len)))
    }

    /// Returns the name of a section in errors and in the list of sections.
    pub(super) fn section_name(&self, section: ChunkSection) -> &'static str {
        section.name(self.coding.is_some())
    }

    /// Returns an upper bound of the memory that a read takes.
    pub(super) fn read_cost(&self) -> u64 {
        let offsets = u64::from(self.rows).saturating_mul(8);
        self.len().saturating_add(self.text_len.into()).saturating_add(offsets)
    }

    /// Parses and checks an entry; `chunk` has `rows` rows, and the sections start at `offset`.
    pub(super) fn parse(
        cursor: &mut Cursor<'_>,
        chunk: usize,
        rows: u32,
        offset: u64,
    ) -> Result<Self> {
        let entry_offset = cursor.offset();
        let encoding = cursor.u8("encoding")?;
        let flags = cursor.u8("flags")?;
        let bits = cursor.u8("code width")?;
        let parse = cursor.u8("parse")?;
        let dictionary = cursor.u32_le("dictionary")?;
        let nulls = cursor.u32_le("null count")?;
        let values = cursor.u32_le("value count")?;
        let code_count = cursor.u32_le("code count")?;
        let text_len = cursor.u32_le("text length")?;
        let mut sections = [SectionEntry::default(); 6];
        for section in &mut sections {
            section.len = cursor.u32_le("section length")?;
            section.checksum = cursor.u32_le("section checksum")?;
        }
        let min_len = cursor.u8("bound length")?;
        let max_len = cursor.u8("bound length")?;
        take_zeros(cursor, 2)?;
        let mut bound = |len: u8| match usize::from(len) {
            0..=MAX_BOUND_BYTES => Ok(Bytes::copy_from_slice(cursor.take(len.into(), "bound")?)),
            _ => Err(Error::malformed("bound length", format!("{len} is over {MAX_BOUND_BYTES}"))),
        };
        let bounds = ChunkBounds {
            min: bound(min_len).map_err(|err| err.at(entry_offset))?,
            min_truncated: flags & MIN_TRUNCATED != 0,
            max: bound(max_len).map_err(|err| err.at(entry_offset))?,
            max_truncated: flags & MAX_TRUNCATED != 0,
        };
        let malformed = |what, why: String| Err(Error::malformed(what, why).at(entry_offset));
        if flags & !(INDEXED | LENGTHS | MIN_TRUNCATED | MAX_TRUNCATED) != 0 {
            return malformed("flags", format!("{flags:#04x} has unknown bits"));
        }
        let coding = match (encoding, parse_by_code(parse)) {
            (0, _) if (bits, parse, dictionary, code_count) == (0, 0, 0, 0) => None,
            (0, _) => return malformed("encoding", "plain values have no codes".to_owned()),
            (1, Some(parse)) => {
                let dictionary_chunk = dictionary as usize;
                Some(Coding { bits: bits.into(), parse, dictionary_chunk, code_count })
            }
            (1, None) => return malformed("parse", format!("{parse} is not 0, 1 or 2")),
            _ => return malformed("encoding", format!("{encoding} is not 0 or 1")),
        };
        if nulls > rows {
            return malformed("null count", format!("is {nulls} in a chunk of {rows} rows"));
        }
        let indexed = flags & INDEXED != 0;
        let are_empty = bounds == ChunkBounds::default();
        let bounds = (nulls < rows).then_some(bounds);
        if bounds.is_none() && !are_empty {
            return malformed("bounds", "are not empty, but all rows are null".to_owned());
        }
        if bounds.as_ref().is_some_and(|bounds| !bounds.is_valid()) {
            let why = format!("are out of order, or truncated below {MAX_BOUND_BYTES} bytes");
            return malformed("bounds", why);
        }
        let chunk_of_column = Self {
            coding,
            rows,
            nulls,
            values,
            indexed,
            text_len,
            bounds,
            sections,
            offset,
            entry_offset,
        };
        chunk_of_column.check(chunk, flags & LENGTHS != 0).map_err(|err| err.at(entry_offset))?;
        Ok(chunk_of_column)
    }

    /// Checks the numbers of an entry against each other (§4.4).
    fn check(&self, chunk: usize, has_lengths: bool) -> Result<()> {
        let malformed = |what, why: String| Err(Error::malformed(what, why));
        let len = |section| self.section(section).len;
        let (non_null, values) = (self.non_null_rows(), self.values);
        let fits = if self.indexed { (1..=non_null).contains(&values) } else { values == non_null };
        if !fits {
            let why = format!("is {values} for {non_null} rows that are not null");
            return malformed("value count", why);
        }
        if self.text_len > MAX_TEXT_BYTES && self.rows > 1 {
            let why = format!("is {} in a chunk of {} rows", self.text_len, self.rows);
            return malformed("text length", why);
        }
        if let Some(coding) = self.coding {
            self.check_coding(&coding, chunk)?;
        } else if len(ChunkSection::Dictionary) > 0 || has_lengths {
            return malformed("encoding", "plain values have no dictionary".to_owned());
        } else if len(ChunkSection::Values) > self.text_len
            || (!self.indexed && len(ChunkSection::Values) != self.text_len)
        {
            let values_len = len(ChunkSection::Values);
            let why = format!("{values_len} bytes of values for {} bytes of text", self.text_len);
            return malformed("section length", why);
        }
        let has_bitmap = self.nulls > 0 && self.nulls < self.rows;
        let bitmap_len = if has_bitmap { bitmap::len(self.rows as usize) } else { 0 };
        let optional = [
            (ChunkSection::Counts, values > 0),
            (ChunkSection::Lengths, has_lengths && values > 0),
            (ChunkSection::Indexes, self.indexed),
        ];
        let wrong = optional.into_iter().find(|&(section, present)| (len(section) > 0) != present);
        if let Some((section, _)) = wrong {
            let why = format!("is {} for {}", len(section), self.section_name(section));
            return malformed("section length", why);
        }
        if len(ChunkSection::Nulls) as usize != bitmap_len {
            let why = format!("is {} for the null bitmap", len(ChunkSection::Nulls));
            return malformed("section length", why);
        }
        if self.sections.iter().any(|section| section.len == 0 && section.checksum != 0) {
            return malformed("section checksum", "is not 0 for an empty section".to_owned());
        }
        Ok(())
    }

    fn check_coding(&self, coding: &Coding, chunk: usize) -> Result<()> {
        let malformed = |what, why: String| Err(Error::malformed(what, why));
        let Coding { bits, dictionary_chunk, code_count, .. } = *coding;
        if !(9..=16).contains(&bits) {
            return malformed("code width", format!("{bits} is not 9 to 16"));
        }
        let dictionary_len = self.section(ChunkSection::Dictionary).len;
        let is_own = dictionary_chunk == chunk;
        if dictionary_chunk > chunk || is_own != (dictionary_len > 0) {
            let why = format!(
                "chunk {chunk} uses that of chunk {dictionary_chunk} and stores \
                 {dictionary_len} bytes of its own"
            );
            return malformed("dictionary", why);
        }
        let bytes = u64::from(code_count).saturating_mul(bits.into()).div_ceil(8);
        if bytes != u64::from(self.section(ChunkSection::Values).len) {
            let why = format!("{code_count} codes of {bits} bits take {bytes} bytes");
            return malformed("section length", why);
        }
        Ok(())
    }

    /// Appends the entry.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        let bounds = self.bounds.clone().unwrap_or_default();
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(self.indexed, INDEXED)
            | flag(self.section(ChunkSection::Lengths).len > 0, LENGTHS)
            | flag(bounds.min_truncated, MIN_TRUNCATED)
            | flag(bounds.max_truncated, MAX_TRUNCATED);
        let too_large = |_| Error::refused(Refusal::TooLarge, "the table is too large", "split it");
        let (head, dictionary, code_count) = match self.coding {
            None => ([0, flags, 0, 0], 0, 0),
            Some(Coding { bits, parse, dictionary_chunk, code_count }) => {
                let bits = u8::try_from(bits).unwrap_or_default();
                let dictionary = u32::try_from(dictionary_chunk).map_err(too_large)?;
                ([1, flags, bits, parse_code(parse)], dictionary, code_count)
            }
        };
        out.extend_from_slice(&head);
        for number in [dictionary, self.nulls, self.values, code_count, self.text_len] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for section in &self.sections {
            out.extend_from_slice(&section.len.to_le_bytes());
            out.extend_from_slice(&section.checksum.to_le_bytes());
        }
        let len = |bound: &Bytes| u8::try_from(bound.len()).unwrap_or_default();
        out.extend_from_slice(&[len(&bounds.min), len(&bounds.max), 0, 0]);
        out.extend_from_slice(&bounds.min);
        out.extend_from_slice(&bounds.max);
        Ok(())
    }

    /// Appends the sections with their padding, and records their lengths and checksums.
    pub(super) fn append_sections(
        &mut self,
        sections: [&[u8]; 6],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        for (entry, bytes) in self.sections.iter_mut().zip(sections) {
            let len = u32::try_from(bytes.len()).map_err(|_| {
                Error::refused(Refusal::TextTooLong, "a text is too long", "split it")
            })?;
            *entry = SectionEntry { len, checksum: hypostyle_core::wire::crc32(bytes) };
            out.extend_from_slice(bytes);
            out.resize(out.len().next_multiple_of(8), 0);
        }
        Ok(())
    }
}

/// Takes reserved bytes, which must be 0.
pub(super) fn take_zeros(cursor: &mut Cursor<'_>, count: usize) -> Result<()> {
    let start = cursor.clone();
    if cursor.take(count, "reserved bytes")?.iter().all(|&byte| byte == 0) {
        Ok(())
    } else {
        Err(start.malformed("reserved bytes", "are not 0"))
    }
}

/// Returns the code of a parse (§4.4).
fn parse_code(parse: Parse) -> u8 {
    match parse {
        Parse::Greedy => 0,
        Parse::Fewest => 1,
        _ => 2,
    }
}

/// Returns the parse of a code.
fn parse_by_code(code: u8) -> Option<Parse> {
    match code {
        0 => Some(Parse::Greedy),
        1 => Some(Parse::Fewest),
        2 => Some(Parse::Unknown),
        _ => None,
    }
}
