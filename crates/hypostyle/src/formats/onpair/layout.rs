//! Head, footer and tail: parse and write (§4).

#![deny(clippy::arithmetic_side_effects)]

use std::ops::Range;

use bytes::Bytes;

use super::column_chunk::{ColumnChunk, ENTRY_BYTES, MAX_ROWS, take_zeros};
use super::schema::{ColumnSchema, StringType};
use hypostyle_core::error::{Error, ErrorKind, Refusal, Result};
use hypostyle_core::format::Sniff;
use hypostyle_core::limits::Limits;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

pub(super) const MAGIC: [u8; 8] = *b"HYPOPAIR";
/// The magic of the files of the C++ implementation (§7).
pub(super) const CPP_MAGIC: [u8; 8] = *b"ONPAIR01";
const VERSION: u32 = 1;
/// Length of the head (§4.1).
pub(super) const HEAD_BYTES: u64 = 16;
/// Length of the tail (§4.1).
pub(super) const TAIL_BYTES: u64 = 24;

/// The position of every column chunk and of the footer.
///
/// # Invariants
///
/// [`parse`], the only constructor, establishes these:
///
/// 1. There is at least one column and at least one chunk, and column names are unique.
/// 2. `column_chunks` has one for each column and chunk, column by column. Each has passed
///    [`ColumnChunk::parse`], and an earlier chunk that it takes its dictionary from has one.
/// 3. The column chunks fill the file from the head to the footer.
#[derive(Debug)]
pub(super) struct OnPairLayout {
    pub(super) rows: u64,
    pub(super) columns: Vec<ColumnSchema>,
    /// The number of rows of each chunk.
    pub(super) chunk_rows: Vec<u32>,
    column_chunks: Vec<ColumnChunk>,
    pub(super) footer: Range<u64>,
}

impl OnPairLayout {
    /// Returns one chunk of a column.
    pub(super) fn column_chunk(&self, column: usize, chunk: usize) -> Option<&ColumnChunk> {
        if chunk >= self.chunk_rows.len() {
            return None;
        }
        let index = column.checked_mul(self.chunk_rows.len())?.checked_add(chunk)?;
        self.column_chunks.get(index)
    }

    /// Returns all chunks of a column.
    pub(super) fn column_chunks(&self, column: usize) -> &[ColumnChunk] {
        let start = column.saturating_mul(self.chunk_rows.len());
        let end = start.saturating_add(self.chunk_rows.len());
        self.column_chunks.get(start..end).unwrap_or_default()
    }

    /// Returns the number of rows before a chunk.
    pub(super) fn first_row(&self, chunk: usize) -> u64 {
        self.chunk_rows.iter().take(chunk).fold(0, |sum, &rows| sum.saturating_add(rows.into()))
    }
}

/// Decides by the magic whether the content is ours or that of the C++ implementation.
pub(super) fn sniff(source: &dyn ByteSource) -> Result<Sniff> {
    let len = MAGIC.len() as u64;
    if source.size() < len {
        return Ok(Sniff::No);
    }
    let magic = source::range(source, 0, len, "magic")?;
    let is_known = [MAGIC, CPP_MAGIC].iter().any(|known| *magic == *known);
    Ok(if is_known { Sniff::Yes } else { Sniff::No })
}

/// Reads the head, whatever its magic.
pub(super) fn read_head(source: &dyn ByteSource) -> Result<Bytes> {
    source::range(source, 0, HEAD_BYTES, "head")
}

/// Parses and checks head, tail and footer; `head` is from [`read_head`].
pub(super) fn parse(source: &dyn ByteSource, head: &[u8], limits: &Limits) -> Result<OnPairLayout> {
    let mut cursor = Cursor::new(head, 0);
    if cursor.take(MAGIC.len(), "magic")? != MAGIC {
        return Err(Error::malformed("magic", "is not `HYPOPAIR`").at(0));
    }
    check_version(&mut cursor)?;
    take_zeros(&mut cursor, 4)?;

    source::check(source, HEAD_BYTES, TAIL_BYTES, "tail")?;
    let tail_at = source.size().saturating_sub(TAIL_BYTES);
    let tail = source::range(source, tail_at, TAIL_BYTES, "tail")?;
    let mut cursor = Cursor::new(&tail, tail_at);
    let len = cursor.u64_le("footer length")?;
    let checksum = cursor.u32_le("checksum of the footer")?;
    if !tail.ends_with(&MAGIC) {
        let why = "the file does not end with `HYPOPAIR`: it was truncated, or never finished";
        return Err(Error::malformed("magic", why).at(tail_at.saturating_add(16)));
    }
    check_version(&mut cursor)?;
    let Some(at) = tail_at.checked_sub(len).filter(|&at| at >= HEAD_BYTES) else {
        let why = format!("{len} is more than the bytes between head and tail");
        return Err(Error::malformed("footer length", why).at(tail_at));
    };
    if len > limits.header_bytes {
        let (what, asked, limit) = ("size of the footer", len, limits.header_bytes);
        return Err(Error::new(ErrorKind::LimitExceeded { what, asked, limit }).at(tail_at));
    }
    let footer = source::range(source, at, len, "footer")?;
    if hypostyle_core::wire::crc32(&footer) != checksum {
        return Err(Error::malformed("footer", "the checksum does not agree").at(at));
    }
    let layout = parse_footer(&footer, at..tail_at)?;
    check_dictionaries(&layout)?;
    Ok(layout)
}

fn check_version(cursor: &mut Cursor<'_>) -> Result<()> {
    let at = cursor.offset();
    match cursor.u32_le("version")? {
        VERSION => Ok(()),
        other => Err(Error::unsupported(format!("version {other}")).at(at)),
    }
}

fn parse_footer(bytes: &[u8], range: Range<u64>) -> Result<OnPairLayout> {
    let mut cursor = Cursor::new(bytes, range.start);
    let rows = cursor.u64_le("row count")?;
    let columns = count(&mut cursor, "column count")?;
    let chunks = count(&mut cursor, "chunk count")?;
    // The entries of all column chunks must fit, so that bytes back both counts.
    let min_len = ENTRY_BYTES.checked_mul(columns).and_then(|each| each.checked_mul(chunks));
    if min_len.is_none_or(|min_len| min_len > cursor.left()) {
        let why = format!("{columns} columns in {chunks} chunks do not fit in the footer");
        return Err(cursor.malformed("column count", why));
    }
    let columns: Vec<ColumnSchema> =
        (0..columns).map(|_| column_schema(&mut cursor)).collect::<Result<_>>()?;
    check_names(&columns, range.start)?;
    let chunk_rows = (0..chunks).map(|_| {
        let start = cursor.clone();
        let rows = cursor.u32_le("rows of a chunk")?;
        if rows > MAX_ROWS || (rows == 0 && chunks > 1) {
            return Err(start.malformed("rows of a chunk", format!("are {rows}")));
        }
        Ok(rows)
    });
    let chunk_rows: Vec<u32> = chunk_rows.collect::<Result<_>>()?;
    let sum = chunk_rows.iter().fold(0_u64, |sum, &rows| sum.saturating_add(rows.into()));
    if sum != rows {
        let why = format!("is {rows}, but the chunks have {sum}");
        return Err(Error::malformed("row count", why).at(range.start));
    }
    let mut column_chunks = Vec::with_capacity(columns.len().saturating_mul(chunk_rows.len()));
    let mut offset = HEAD_BYTES;
    for (index, column) in columns.iter().enumerate() {
        for (chunk, &rows) in chunk_rows.iter().enumerate() {
            let column_chunk = ColumnChunk::parse(&mut cursor, chunk, rows, offset)
                .map_err(|err| err.in_column(index, &column.name))?;
            offset = column_chunk.end();
            column_chunks.push(column_chunk);
        }
    }
    if !cursor.is_empty() {
        return Err(cursor.malformed("footer", "bytes are left over"));
    }
    if offset != range.start {
        let why = format!("starts at byte {}, but the sections end at {offset}", range.start);
        return Err(Error::malformed("footer", why).at(range.start));
    }
    Ok(OnPairLayout { rows, columns, chunk_rows, column_chunks, footer: range })
}

/// Takes a count, which must not be 0.
fn count(cursor: &mut Cursor<'_>, what: &'static str) -> Result<usize> {
    let start = cursor.clone();
    match cursor.u32_le(what)? {
        0 => Err(start.malformed(what, "is 0")),
        count => Ok(count as usize),
    }
}

fn column_schema(cursor: &mut Cursor<'_>) -> Result<ColumnSchema> {
    let len = cursor.u32_le("name length")? as usize;
    let name = cursor.text(len, "column name")?.to_owned();
    let at = cursor.offset();
    let string_type = StringType::by_code(cursor.u8("column type")?).map_err(|err| err.at(at))?;
    take_zeros(cursor, 3)?;
    Ok(ColumnSchema { name, string_type })
}

fn check_names(columns: &[ColumnSchema], at: u64) -> Result<()> {
    let mut seen = std::collections::HashMap::new();
    for (index, column) in columns.iter().enumerate() {
        if let Some(first) = seen.insert(column.name.as_str(), index) {
            let first: usize = first;
            let why = format!("is the same as that of column {}", first.saturating_add(1));
            let err = Error::malformed("column name", why).at(at);
            return Err(err.in_column(index, &column.name));
        }
    }
    Ok(())
}

/// Checks that the dictionary of an earlier chunk exists and has codes of the same width.
fn check_dictionaries(layout: &OnPairLayout) -> Result<()> {
    for (index, column) in layout.columns.iter().enumerate() {
        let chunks = layout.column_chunks(index);
        for (number, chunk) in chunks.iter().enumerate() {
            let Some(coding) = chunk.coding.filter(|coding| coding.dictionary_chunk != number)
            else {
                continue;
            };
            let owner = chunks.get(coding.dictionary_chunk).and_then(|owner| owner.coding);
            let is_owner = owner.is_some_and(|owner| {
                owner.dictionary_chunk == coding.dictionary_chunk && owner.bits == coding.bits
            });
            if !is_owner {
                let (owner, bits) = (coding.dictionary_chunk, coding.bits);
                let why = format!("chunk {owner} has none for codes of {bits} bits");
                let err = Error::malformed("dictionary", why).at(chunk.entry_offset);
                return Err(err.in_column(index, &column.name));
            }
        }
    }
    Ok(())
}

/// Returns the head.
pub(super) fn head() -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out
}

/// Returns the footer and the tail; `column_chunks` are ordered column by column.
pub(super) fn footer_and_tail(
    columns: &[ColumnSchema],
    chunk_rows: &[u32],
    column_chunks: &[ColumnChunk],
) -> Result<Vec<u8>> {
    let number = |count: usize| {
        let count = u32::try_from(count);
        count.map_err(|_| Error::refused(Refusal::TooLarge, "the table is too large", "split it"))
    };
    let mut out = Vec::new();
    let rows = chunk_rows.iter().fold(0_u64, |sum, &rows| sum.saturating_add(rows.into()));
    out.extend_from_slice(&rows.to_le_bytes());
    out.extend_from_slice(&number(columns.len())?.to_le_bytes());
    out.extend_from_slice(&number(chunk_rows.len())?.to_le_bytes());
    for column in columns {
        out.extend_from_slice(&number(column.name.len())?.to_le_bytes());
        out.extend_from_slice(column.name.as_bytes());
        out.extend_from_slice(&[column.string_type.code(), 0, 0, 0]);
    }
    chunk_rows.iter().for_each(|rows| out.extend_from_slice(&rows.to_le_bytes()));
    column_chunks.iter().try_for_each(|chunk| chunk.write(&mut out))?;
    let (len, checksum) = (out.len() as u64, hypostyle_core::wire::crc32(&out));
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&checksum.to_le_bytes());
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&MAGIC);
    Ok(out)
}
