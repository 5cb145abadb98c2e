//! CLMN's header and column table: parse and write (§2).

#![deny(clippy::arithmetic_side_effects)]

use super::schema;
use crate::formats::columnfile::{
    BlockLocation, ColumnEntry, ColumnFileLayout, ColumnTableReader, ColumnToWrite, DeviationCodes,
    EntryParse, column_name,
};
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::format::Sniff;
use hypostyle_core::options::{ReadOptions, TextPolicy};
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

pub(super) const MAGIC: [u8; 4] = *b"CLMN";
/// The magic as written by a program that stores it as a little-endian number.
pub(super) const SWAPPED_MAGIC: [u8; 4] = *b"NMLC";
const VERSION: u16 = 1;
/// Length of the header (§2.1).
const HEADER_BYTES: u64 = 18;
/// Length of a column's entry without its name (§2.2).
const ENTRY_BYTES: u64 = 19;

pub(super) const CODES: DeviationCodes = DeviationCodes {
    overlap: "N8",
    order: Some("N8"),
    gap: Some("N1"),
    trailing: "N19",
    after_stream: "N18",
    names: "N11",
    text: "N15",
};

/// The header; only the magic is checked.
struct Header {
    version: u16,
    columns: u32,
    rows: u64,
}

impl Header {
    fn read(source: &dyn ByteSource) -> Result<Self> {
        let bytes = source::range(source, 0, HEADER_BYTES, "header")?;
        let mut cursor = Cursor::new(&bytes, 0);
        if cursor.take(MAGIC.len(), "magic")? != MAGIC {
            return Err(Error::malformed("magic", "is not `CLMN`").at(0));
        }
        Ok(Self {
            version: cursor.u16_be("version")?,
            columns: cursor.u32_be("column count")?,
            rows: cursor.u64_be("row count")?,
        })
    }
}

/// Decides whether the content is CLMN, or another format with the same magic (§6).
pub(super) fn sniff(source: &dyn ByteSource) -> Result<Sniff> {
    if source.size() < MAGIC.len() as u64 {
        return Ok(Sniff::No);
    }
    let magic = source::range(source, 0, MAGIC.len() as u64, "magic")?;
    if *magic == SWAPPED_MAGIC {
        let why = "the magic reads `NMLC`: the magic of CLMN with its bytes reversed, as written \
                   by a program that stores the magic as a little-endian number";
        return Ok(Sniff::Lookalike(why.to_owned()));
    }
    if *magic != MAGIC {
        return Ok(Sniff::No);
    }
    let size = source.size();
    let why = if size < HEADER_BYTES {
        format!("but a header of {HEADER_BYTES} bytes does not fit in {size}")
    } else {
        let Header { version, columns, .. } = Header::read(source)?;
        if version != VERSION {
            format!("but version {version}: another version or another format")
        } else if u64::from(columns).saturating_mul(ENTRY_BYTES) > size.saturating_sub(HEADER_BYTES)
        {
            format!("but no room for the {columns} columns that it states")
        } else {
            return Ok(Sniff::Yes);
        }
    };
    Ok(Sniff::Lookalike(format!("has the magic of CLMN, {why}")))
}

/// Parses and checks everything before the blocks.
pub(super) fn parse(
    source: &dyn ByteSource,
    options: &ReadOptions,
    deviations: &Deviations,
) -> Result<ColumnFileLayout> {
    let Header { version, columns, rows } = Header::read(source)?;
    if version != VERSION {
        return Err(Error::unsupported(format!("version {version}")).at(4)); // N16
    }
    if columns == 0 {
        return Err(Error::malformed("column count", "is 0").at(6));
    }
    if i64::try_from(rows).is_err() {
        return Err(Error::malformed("row count", "has bit 63 set").at(10));
    }
    let columns = u64::from(columns);
    let reader =
        ColumnTableReader::try_new(source, HEADER_BYTES, columns, ENTRY_BYTES, &options.limits)?;
    let (columns, table_end) =
        reader.entries(columns, |bytes, at| entry(bytes, at, options.text, deviations))?;
    let layout = ColumnFileLayout {
        rows,
        columns,
        header_end: HEADER_BYTES,
        table_start: HEADER_BYTES,
        table_end,
    };
    layout.check(source.size(), &CODES, deviations)
}

fn entry(
    bytes: &[u8],
    at: u64,
    policy: TextPolicy,
    deviations: &Deviations,
) -> Result<EntryParse<ColumnEntry>> {
    let mut cursor = Cursor::new(bytes, at);
    let Ok(name_len) = cursor.u16_be("name length") else {
        return Ok(EntryParse::NeedsBytes(ENTRY_BYTES));
    };
    let len = ENTRY_BYTES.saturating_add(u64::from(name_len));
    let whole = usize::try_from(len).unwrap_or(usize::MAX);
    if bytes.len() < whole {
        return Ok(EntryParse::NeedsBytes(len));
    }
    let name_at = cursor.offset();
    let name = cursor.take(usize::from(name_len), "column name")?;
    let name = column_name(name, name_at, policy, CODES.text, deviations)?;
    let type_at = cursor.offset();
    let column_type =
        schema::column_type(cursor.u8("data type")?).map_err(|err| err.at(type_at))?;
    let block = BlockLocation {
        raw: u64::from(cursor.u32_be("uncompressed size")?),
        stored: u64::from(cursor.u32_be("compressed size")?),
        offset: cursor.u64_be("block offset")?,
    };
    let value = ColumnEntry { name, column_type, block, entry_offset: at };
    Ok(EntryParse::Complete { value, len: whole })
}

/// Returns the length of header and column table; the first block follows them (§5).
pub(super) fn header_len(columns: &[ColumnToWrite]) -> u64 {
    columns.iter().fold(HEADER_BYTES, |sum, column| {
        sum.saturating_add(ENTRY_BYTES).saturating_add(column.name.len() as u64)
    })
}

/// Returns the header and the column table.
pub(super) fn write(
    columns: &[ColumnToWrite],
    blocks: &[BlockLocation],
    rows: u64,
) -> Result<Vec<u8>> {
    let too_many =
        |what| Error::refused(Refusal::TooLarge, format!("too many {what}"), "split the table");
    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_be_bytes());
    let count = u32::try_from(columns.len()).map_err(|_| too_many("columns"))?;
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(&rows.to_be_bytes());
    for (column, block) in columns.iter().zip(blocks) {
        let name_len = u16::try_from(column.name.len()).map_err(|_| too_many("bytes of name"))?;
        out.extend_from_slice(&name_len.to_be_bytes());
        out.extend_from_slice(column.name.as_bytes());
        out.push(schema::code(column.column_type));
        // A known reader treats sizes as signed (N5).
        for size in [block.raw, block.stored] {
            let size = i32::try_from(size).map_err(|_| too_many("bytes in a block"))?;
            out.extend_from_slice(&size.to_be_bytes());
        }
        out.extend_from_slice(&block.offset.to_be_bytes());
    }
    Ok(out)
}
