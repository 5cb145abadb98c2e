//! CLMN's header and column table: parse and write (§2).

#![deny(clippy::arithmetic_side_effects)]

use super::schema;
use crate::formats::columnfile::{
    Dialect, Entry, Layout, Placed, Planned, Plot, TableReader, text,
};
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::format::Sniff;
use hypostyle_core::options::{ReadOptions, TextPolicy};
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

pub(super) const MAGIC: [u8; 4] = *b"CLMN";
/// The magic as a program writes it that takes it for a little-endian number.
pub(super) const SWAPPED: [u8; 4] = *b"NMLC";
const VERSION: u16 = 1;
/// Bytes of the header (§2.1).
const HEADER: u64 = 18;
/// Bytes of a column's entry without its name (§2.2).
const ENTRY: u64 = 19;

/// The header as it stands.
struct Header {
    version: u16,
    columns: u32,
    rows: u64,
}

impl Header {
    fn read(source: &dyn ByteSource) -> Result<Self> {
        let bytes = source::range(source, 0, HEADER, "header")?;
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

/// Whether the content is CLMN, or something else with the same magic (§6).
pub(super) fn sniff(source: &dyn ByteSource) -> Result<Sniff> {
    if source.size() < MAGIC.len() as u64 {
        return Ok(Sniff::No);
    }
    let magic = source::range(source, 0, MAGIC.len() as u64, "magic")?;
    if *magic == SWAPPED {
        let why = "the magic reads `NMLC`: the magic of CLMN with its bytes reversed, as a \
                   program writes it that takes the magic for a little-endian number";
        return Ok(Sniff::Lookalike(why.to_owned()));
    }
    if *magic != MAGIC {
        return Ok(Sniff::No);
    }
    let size = source.size();
    let why = if size < HEADER {
        format!("but a header of {HEADER} bytes does not fit in {size}")
    } else {
        let Header { version, columns, .. } = Header::read(source)?;
        if version != VERSION {
            format!("but version {version}: another version or another format")
        } else if u64::from(columns).saturating_mul(ENTRY) > size.saturating_sub(HEADER) {
            format!("but no room for the {columns} columns that it states")
        } else {
            return Ok(Sniff::Yes);
        }
    };
    Ok(Sniff::Lookalike(format!("has the magic of CLMN, {why}")))
}

/// Reads and checks everything before the blocks.
pub(super) fn parse(
    source: &dyn ByteSource,
    options: &ReadOptions,
    deviations: &Deviations,
) -> Result<Layout> {
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
    let (plots, table_end) = TableReader::try_new(source, HEADER, columns, ENTRY, &options.limits)?
        .entries(columns, |bytes, at| entry(bytes, at, options.text, deviations))?;
    let layout = Layout { rows, plots, header_end: HEADER, table_start: HEADER, table_end };
    Layout::try_new(layout, source.size(), &super::Clmn::CODES, deviations)
}

fn entry(bytes: &[u8], at: u64, text: TextPolicy, deviations: &Deviations) -> Result<Entry<Plot>> {
    let mut cursor = Cursor::new(bytes, at);
    let Ok(name_len) = cursor.u16_be("name length") else {
        return Ok(Entry::Needs(ENTRY));
    };
    let len = ENTRY.saturating_add(u64::from(name_len));
    let whole = usize::try_from(len).unwrap_or(usize::MAX);
    if bytes.len() < whole {
        return Ok(Entry::Needs(len));
    }
    let name_at = cursor.offset();
    let name = cursor.take(usize::from(name_len), "column name")?;
    let name = text::name(name, name_at, text, "N15", deviations)?;
    let kind_at = cursor.offset();
    let kind = schema::kind(cursor.u8("data type")?).map_err(|err| err.at(kind_at))?;
    let value = Plot {
        name,
        kind,
        raw: u64::from(cursor.u32_be("uncompressed size")?),
        stored: u64::from(cursor.u32_be("compressed size")?),
        offset: cursor.u64_be("block offset")?,
        entry: at,
        null_flag: false,
        nullable: false,
    };
    Ok(Entry::Whole { value, len: whole })
}

/// Bytes of header and column table: the blocks start right behind (§5).
pub(super) fn header_len(columns: &[Planned]) -> u64 {
    columns.iter().fold(HEADER, |sum, column| {
        sum.saturating_add(ENTRY).saturating_add(column.name.len() as u64)
    })
}

/// The header and the column table.
pub(super) fn write(columns: &[Planned], blocks: &[Placed], rows: u64) -> Result<Vec<u8>> {
    let too_much =
        |what| Error::refused(Refusal::TooLarge, format!("too many {what}"), "split the table");
    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_be_bytes());
    let count = u32::try_from(columns.len()).map_err(|_| too_much("columns"))?;
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(&rows.to_be_bytes());
    for (column, block) in columns.iter().zip(blocks) {
        let name_len = u16::try_from(column.name.len()).map_err(|_| too_much("bytes of name"))?;
        out.extend_from_slice(&name_len.to_be_bytes());
        out.extend_from_slice(column.name.as_bytes());
        out.push(schema::code(column.kind));
        // A known reader takes sizes as signed (N5).
        for size in [block.raw, block.stored] {
            let size = i32::try_from(size).map_err(|_| too_much("bytes in a block"))?;
            out.extend_from_slice(&size.to_be_bytes());
        }
        out.extend_from_slice(&block.offset.to_be_bytes());
    }
    Ok(out)
}
