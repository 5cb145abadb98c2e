//! COLM's header and column table: parse and write (§2).

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

pub(super) const MAGIC: [u8; 4] = *b"COLM";
/// The magic as written by a program that stores it as a little-endian number (M20).
pub(super) const SWAPPED_MAGIC: [u8; 4] = *b"MLOC";
const VERSION: u32 = 1;
/// Length of the header (§2.1).
const HEADER_BYTES: u64 = 32;
/// Length of a column's entry without its name (§2.2).
const ENTRY_BYTES: u64 = 29;

pub(super) const CODES: DeviationCodes = DeviationCodes {
    overlap: "M8",
    order: None,
    gap: None,
    trailing: "M23",
    after_stream: "M16",
    names: "M17",
    text: "M18",
};

/// The header; only the magic is checked.
struct Header {
    version: u32,
    columns: u32,
    rows: u32,
    table: u64,
    data: u64,
}

impl Header {
    fn read(source: &dyn ByteSource) -> Result<Self> {
        let bytes = source::range(source, 0, HEADER_BYTES, "header")?;
        let mut cursor = Cursor::new(&bytes, 0);
        let magic = cursor.take(MAGIC.len(), "magic")?;
        if magic == SWAPPED_MAGIC {
            return Err(Error::malformed("magic", swapped()).at(0));
        }
        if magic != MAGIC {
            return Err(Error::malformed("magic", "is not `COLM`").at(0));
        }
        Ok(Self {
            version: cursor.u32_le("version")?,
            columns: cursor.u32_le("column count")?,
            rows: cursor.u32_le("row count")?,
            table: cursor.u64_le("metadata offset")?,
            data: cursor.u64_le("data offset")?,
        })
    }
}

fn swapped() -> String {
    "reads `MLOC`: the magic of COLM with its bytes reversed, as written by a program that \
     stores the magic as a little-endian number"
        .to_owned()
}

/// Decides whether the content is COLM, or another format with the same magic (§6).
pub(super) fn sniff(source: &dyn ByteSource) -> Result<Sniff> {
    if source.size() < MAGIC.len() as u64 {
        return Ok(Sniff::No);
    }
    let magic = source::range(source, 0, MAGIC.len() as u64, "magic")?;
    if *magic == SWAPPED_MAGIC {
        return Ok(Sniff::Lookalike(format!("the magic {}", swapped())));
    }
    if *magic != MAGIC {
        return Ok(Sniff::No);
    }
    if source.size() < HEADER_BYTES {
        let why = format!(
            "has the magic of COLM, but a header of {HEADER_BYTES} bytes does not fit in {}",
            source.size()
        );
        return Ok(Sniff::Lookalike(why));
    }
    let Header { version, columns, table, .. } = Header::read(source)?;
    let size = source.size();
    let why = if version != VERSION {
        format!("has the magic of COLM, but version {version}: another version or another format")
    } else if table < HEADER_BYTES || table > size {
        format!("has the magic of COLM, but its column table would be at byte {table} of {size}")
    } else if u64::from(columns).saturating_mul(ENTRY_BYTES) > size.saturating_sub(table) {
        format!("has the magic of COLM, but no room for the {columns} columns that it states")
    } else {
        return Ok(Sniff::Yes);
    };
    Ok(Sniff::Lookalike(why))
}

/// Parses and checks everything before the blocks.
pub(super) fn parse(
    source: &dyn ByteSource,
    options: &ReadOptions,
    deviations: &Deviations,
) -> Result<ColumnFileLayout> {
    let Header { version, columns, rows, table, data } = Header::read(source)?;
    if version != VERSION {
        return Err(Error::unsupported(format!("version {version}")).at(4)); // M14
    }
    if columns == 0 {
        return Err(Error::malformed("column count", "is 0").at(8)); // M10
    }
    if table < HEADER_BYTES {
        let why = format!("{table} lies inside the header");
        return Err(Error::malformed("metadata offset", why).at(16)); // M1
    }
    let columns = u64::from(columns);
    let reader = ColumnTableReader::try_new(source, table, columns, ENTRY_BYTES, &options.limits)?;
    let (columns, table_end) =
        reader.entries(columns, |bytes, at| entry(bytes, at, options.text, deviations))?;
    let layout = ColumnFileLayout {
        rows: u64::from(rows),
        columns,
        header_end: HEADER_BYTES,
        table_start: table,
        table_end,
    };
    let layout = layout.check(source.size(), &CODES, deviations)?;
    let first_block = layout.columns.iter().map(|entry| entry.block.offset).min();
    let first_block = first_block.unwrap_or(table_end);
    if data != first_block {
        let message =
            format!("the header puts the data at byte {data}, the columns at {first_block}");
        deviations.report("M7", 24, message)?;
    }
    Ok(layout)
}

fn entry(
    bytes: &[u8],
    at: u64,
    policy: TextPolicy,
    deviations: &Deviations,
) -> Result<EntryParse<ColumnEntry>> {
    let mut cursor = Cursor::new(bytes, at);
    let Ok(name_len) = cursor.u32_le("name length") else {
        return Ok(EntryParse::NeedsBytes(ENTRY_BYTES));
    };
    let len = ENTRY_BYTES.saturating_add(u64::from(name_len));
    let Ok(whole) = usize::try_from(len) else {
        return Err(Error::malformed("name length", "does not fit in memory").at(at));
    };
    if bytes.len() < whole {
        return Ok(EntryParse::NeedsBytes(len));
    }
    let name_at = cursor.offset();
    let name = cursor.take(name_len as usize, "column name")?;
    let name = column_name(name, name_at, policy, CODES.text, deviations)?;
    let type_at = cursor.offset();
    let column_type =
        schema::column_type(cursor.u8("data type")?).map_err(|err| err.at(type_at))?;
    let block = BlockLocation {
        stored: cursor.u64_le("compressed size")?,
        raw: cursor.u64_le("uncompressed size")?,
        offset: cursor.u64_le("block offset")?,
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
    out.extend_from_slice(&VERSION.to_le_bytes());
    let count = u32::try_from(columns.len()).map_err(|_| too_many("columns"))?;
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&u32::try_from(rows).map_err(|_| too_many("rows"))?.to_le_bytes());
    out.extend_from_slice(&HEADER_BYTES.to_le_bytes());
    out.extend_from_slice(&header_len(columns).to_le_bytes());
    for (column, block) in columns.iter().zip(blocks) {
        let name_len = u32::try_from(column.name.len()).map_err(|_| too_many("bytes of name"))?;
        out.extend_from_slice(&name_len.to_le_bytes());
        out.extend_from_slice(column.name.as_bytes());
        out.push(schema::code(column.column_type).unwrap_or_default());
        for number in [block.stored, block.raw, block.offset] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
    Ok(out)
}
