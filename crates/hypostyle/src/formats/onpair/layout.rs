//! Head, footer and tail: parse and write (§4).

#![deny(clippy::arithmetic_side_effects)]

use std::ops::Range;

use hypostyle_onpair::Parse;

use super::part::{ENTRY, Part};
use super::schema::Strings;
use hypostyle_core::error::{Error, ErrorKind, Refusal, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

pub(super) const MAGIC: [u8; 8] = *b"HYPOPAIR";
pub(super) const VERSION: u32 = 1;
/// Bytes of the head (§4.1).
pub(super) const HEAD: u64 = 16;
/// Bytes of the tail (§4.1).
pub(super) const TAIL: u64 = 24;
/// Most rows of a chunk (§4.3).
pub(super) const MOST_ROWS: u32 = 1 << 20;
/// Most bytes of text that a chunk of more than one row has in a column (§4.3).
pub(super) const MOST_TEXT: u32 = 64 << 20;

/// Where the parts of a file are.
///
/// # Invariants
///
/// Set up by [`parse`], the only constructor:
///
/// 1. There is at least one column, with a name of its own, and at least one chunk.
/// 2. `parts` has one for each column and chunk, those of a column in a row, and each has
///    passed [`Part::check`]; so has what a part says of the dictionary of another.
/// 3. The parts follow one another from the head to the footer.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) rows: u64,
    pub(super) columns: Vec<Column>,
    /// The rows of each chunk.
    pub(super) chunks: Vec<u32>,
    parts: Vec<Part>,
    pub(super) footer: Range<u64>,
}

/// A column's name and type.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) strings: Strings,
}

impl Layout {
    /// A part by column and chunk.
    pub(super) fn part(&self, column: usize, chunk: usize) -> Option<&Part> {
        if chunk >= self.chunks.len() {
            return None;
        }
        let index = column.checked_mul(self.chunks.len())?.checked_add(chunk)?;
        self.parts.get(index)
    }

    /// The parts of a column, by chunk.
    pub(super) fn parts(&self, column: usize) -> &[Part] {
        let start = column.saturating_mul(self.chunks.len());
        let end = start.saturating_add(self.chunks.len());
        self.parts.get(start..end).unwrap_or_default()
    }

    /// The first row of a chunk.
    pub(super) fn first_row(&self, chunk: usize) -> u64 {
        self.chunks.iter().take(chunk).fold(0, |sum, &rows| sum.saturating_add(rows.into()))
    }
}

/// Reads and checks everything but the parts; `head` is what the file starts with.
pub(super) fn parse(source: &dyn ByteSource, head: &[u8], limits: &Limits) -> Result<Layout> {
    let mut cursor = Cursor::new(head, 0);
    if cursor.take(MAGIC.len(), "magic")? != MAGIC {
        return Err(Error::malformed("magic", "is not `HYPOPAIR`").at(0));
    }
    version(&mut cursor)?;
    zero(&mut cursor, 4)?;

    source::check(source, HEAD, TAIL, "tail")?;
    let tail_at = source.size().saturating_sub(TAIL);
    let tail = source::range(source, tail_at, TAIL, "tail")?;
    let mut cursor = Cursor::new(&tail, tail_at);
    let len = cursor.u64_le("footer length")?;
    let sum = cursor.u32_le("checksum of the footer")?;
    if !tail.ends_with(&MAGIC) {
        let why = "the file does not end with `HYPOPAIR`: it was cut, or never finished";
        return Err(Error::malformed("magic", why).at(tail_at.saturating_add(16)));
    }
    version(&mut cursor)?;
    let Some(at) = tail_at.checked_sub(len).filter(|&at| at >= HEAD) else {
        let why = format!("{len} is more than there is before the tail");
        return Err(Error::malformed("footer length", why).at(tail_at));
    };
    if len > limits.header_bytes {
        let (what, asked, limit) = ("size of the footer", len, limits.header_bytes);
        return Err(Error::new(ErrorKind::LimitExceeded { what, asked, limit }).at(tail_at));
    }
    let footer = source::range(source, at, len, "footer")?;
    if hypostyle_core::wire::crc32(&footer) != sum {
        return Err(Error::malformed("footer", "the checksum does not agree").at(at));
    }
    let layout = read_footer(&footer, at..tail_at)?;
    check_dictionaries(&layout)?;
    Ok(layout)
}

fn version(cursor: &mut Cursor<'_>) -> Result<()> {
    let at = cursor.offset();
    match cursor.u32_le("version")? {
        VERSION => Ok(()),
        other => Err(Error::unsupported(format!("version {other}")).at(at)),
    }
}

/// Takes bytes that must be zero.
pub(super) fn zero(cursor: &mut Cursor<'_>, count: usize) -> Result<()> {
    let start = cursor.clone();
    match cursor.take(count, "reserved bytes")?.iter().all(|&byte| byte == 0) {
        true => Ok(()),
        false => Err(start.malformed("reserved bytes", "are not 0")),
    }
}

fn read_footer(bytes: &[u8], place: Range<u64>) -> Result<Layout> {
    let mut cursor = Cursor::new(bytes, place.start);
    let rows = cursor.u64_le("row count")?;
    let columns = count(&mut cursor, "column count")?;
    let chunks = count(&mut cursor, "chunk count")?;
    // Each takes so much further on, so that what is made room for is there.
    let least = ENTRY.checked_mul(columns).and_then(|each| each.checked_mul(chunks));
    if least.is_none_or(|least| least > cursor.left()) {
        let why = format!("{columns} columns in {chunks} chunks do not fit in the footer");
        return Err(cursor.malformed("column count", why));
    }
    let columns: Vec<Column> = (0..columns).map(|_| column(&mut cursor)).collect::<Result<_>>()?;
    check_names(&columns, place.start)?;
    let chunks = (0..chunks).map(|index| {
        let start = cursor.clone();
        let rows = cursor.u32_le("rows of a chunk")?;
        match rows > MOST_ROWS || (rows == 0 && (index > 0 || chunks > 1)) {
            true => Err(start.malformed("rows of a chunk", format!("are {rows}"))),
            false => Ok(rows),
        }
    });
    let chunks: Vec<u32> = chunks.collect::<Result<_>>()?;
    let sum = chunks.iter().fold(0_u64, |sum, &rows| sum.saturating_add(rows.into()));
    if sum != rows {
        let why = format!("is {rows}, and the chunks have {sum}");
        return Err(Error::malformed("row count", why).at(place.start));
    }
    let mut parts = Vec::with_capacity(columns.len().saturating_mul(chunks.len()));
    let mut offset = HEAD;
    for (index, column) in columns.iter().enumerate() {
        for (chunk, &rows) in chunks.iter().enumerate() {
            let part = Part::parse(&mut cursor, chunk, rows, offset)
                .map_err(|err| err.in_column(index, &column.name))?;
            offset = part.end();
            parts.push(part);
        }
    }
    if !cursor.is_empty() {
        return Err(cursor.malformed("footer", "bytes are left over"));
    }
    if offset != place.start {
        let why = format!("the sections end at byte {offset}, the footer starts elsewhere");
        return Err(Error::malformed("footer", why).at(place.start));
    }
    Ok(Layout { rows, columns, chunks, parts, footer: place })
}

/// A count that is not 0.
fn count(cursor: &mut Cursor<'_>, what: &'static str) -> Result<usize> {
    let start = cursor.clone();
    match cursor.u32_le(what)? {
        0 => Err(start.malformed(what, "is 0")),
        count => Ok(count as usize),
    }
}

fn column(cursor: &mut Cursor<'_>) -> Result<Column> {
    let len = cursor.u32_le("name length")? as usize;
    let name = cursor.text(len, "column name")?.to_owned();
    let at = cursor.offset();
    let strings = Strings::by_code(cursor.u8("column type")?).map_err(|err| err.at(at))?;
    zero(cursor, 3)?;
    Ok(Column { name, strings })
}

fn check_names(columns: &[Column], at: u64) -> Result<()> {
    let mut seen = std::collections::HashMap::new();
    for (index, column) in columns.iter().enumerate() {
        if let Some(first) = seen.insert(column.name.as_str(), index) {
            let first: usize = first;
            let why = format!("is also that of column {}", first.saturating_add(1));
            let err = Error::malformed("column name", why).at(at);
            return Err(err.in_column(index, &column.name));
        }
    }
    Ok(())
}

/// A dictionary that is shared is there, and has the same width.
fn check_dictionaries(layout: &Layout) -> Result<()> {
    for (index, column) in layout.columns.iter().enumerate() {
        let parts = layout.parts(index);
        for (chunk, part) in parts.iter().enumerate() {
            let Some(packed) = part.packed.filter(|packed| packed.dictionary != chunk) else {
                continue;
            };
            let owner = parts.get(packed.dictionary).and_then(|owner| owner.packed);
            let is_owner = owner.is_some_and(|owner| {
                owner.dictionary == packed.dictionary && owner.bits == packed.bits
            });
            if !is_owner {
                let why = format!("chunk {} has none of this width", packed.dictionary);
                let err = Error::malformed("dictionary", why).at(part.entry);
                return Err(err.in_column(index, &column.name));
            }
        }
    }
    Ok(())
}

/// The head.
pub(super) fn head() -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out
}

/// The footer and the tail; `parts` has those of a column in a row.
pub(super) fn foot(columns: &[Column], chunks: &[u32], parts: &[Part]) -> Result<Vec<u8>> {
    let number = |count: usize| {
        let count = u32::try_from(count);
        count.map_err(|_| Error::refused(Refusal::TooLarge, "the table is too large", "split it"))
    };
    let mut out = Vec::new();
    let rows = chunks.iter().fold(0_u64, |sum, &rows| sum.saturating_add(rows.into()));
    out.extend_from_slice(&rows.to_le_bytes());
    out.extend_from_slice(&number(columns.len())?.to_le_bytes());
    out.extend_from_slice(&number(chunks.len())?.to_le_bytes());
    for column in columns {
        out.extend_from_slice(&number(column.name.len())?.to_le_bytes());
        out.extend_from_slice(column.name.as_bytes());
        out.extend_from_slice(&[column.strings.code(), 0, 0, 0]);
    }
    chunks.iter().for_each(|rows| out.extend_from_slice(&rows.to_le_bytes()));
    parts.iter().try_for_each(|part| part.write(&mut out))?;
    let (len, sum) = (out.len() as u64, hypostyle_core::wire::crc32(&out));
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&sum.to_le_bytes());
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&MAGIC);
    Ok(out)
}

/// The codes of ways to cut (§4.4).
pub(super) fn parse_code(parse: Parse) -> u8 {
    match parse {
        Parse::Greedy => 0,
        Parse::Fewest => 1,
        _ => 2,
    }
}

/// The way to cut that a code stands for.
pub(super) fn parse_by_code(code: u8) -> Option<Parse> {
    match code {
        0 => Some(Parse::Greedy),
        1 => Some(Parse::Fewest),
        2 => Some(Parse::Unknown),
        _ => None,
    }
}
