//! COLM's header and column table: parse and write (§2).

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

pub(super) const MAGIC: [u8; 4] = *b"COLM";
/// The magic as a program writes it that takes it for a little-endian number (M20).
pub(super) const SWAPPED: [u8; 4] = *b"MLOC";
const VERSION: u32 = 1;
/// Bytes of the header (§2.1).
pub(super) const HEADER: u64 = 32;
/// Bytes of a column's entry without its name (§2.2).
pub(super) const ENTRY: u64 = 29;

/// The header as it stands, checked no further than the magic.
struct Header {
    version: u32,
    columns: u32,
    rows: u32,
    table: u64,
    data: u64,
}

impl Header {
    fn read(source: &dyn ByteSource) -> Result<Self> {
        let bytes = source::range(source, 0, HEADER, "header")?;
        let mut cursor = Cursor::new(&bytes, 0);
        let magic = cursor.take(MAGIC.len(), "magic")?;
        if magic == SWAPPED {
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
    "reads `MLOC`: the magic of COLM with its bytes reversed, as a program writes it that \
     takes the magic for a little-endian number"
        .to_owned()
}

/// Whether the content is COLM, or something else with the same magic (§6).
pub(super) fn sniff(source: &dyn ByteSource) -> Result<Sniff> {
    if source.size() < MAGIC.len() as u64 {
        return Ok(Sniff::No);
    }
    let magic = source::range(source, 0, MAGIC.len() as u64, "magic")?;
    if *magic == SWAPPED {
        return Ok(Sniff::Lookalike(format!("the magic {}", swapped())));
    }
    if *magic != MAGIC {
        return Ok(Sniff::No);
    }
    if source.size() < HEADER {
        let why = format!(
            "has the magic of COLM, but a header of 32 bytes does not fit in {}",
            source.size()
        );
        return Ok(Sniff::Lookalike(why));
    }
    let Header { version, columns, table, .. } = Header::read(source)?;
    let size = source.size();
    let why = if version != VERSION {
        format!("has the magic of COLM, but version {version}: another version or another format")
    } else if table < HEADER || table > size {
        format!("has the magic of COLM, but its column table would be at byte {table} of {size}")
    } else if u64::from(columns).saturating_mul(ENTRY) > size.saturating_sub(table) {
        format!("has the magic of COLM, but no room for the {columns} columns that it states")
    } else {
        return Ok(Sniff::Yes);
    };
    Ok(Sniff::Lookalike(why))
}

/// Reads and checks everything before the blocks.
pub(super) fn parse(
    source: &dyn ByteSource,
    options: &ReadOptions,
    deviations: &Deviations,
) -> Result<Layout> {
    let Header { version, columns, rows, table, data } = Header::read(source)?;
    if version != VERSION {
        return Err(Error::unsupported(format!("version {version}")).at(4)); // M14
    }
    if columns == 0 {
        return Err(Error::malformed("column count", "is 0").at(8)); // M10
    }
    if table < HEADER {
        let why = format!("{table} lies inside the header");
        return Err(Error::malformed("metadata offset", why).at(16)); // M1
    }
    let columns = u64::from(columns);
    let (plots, table_end) = TableReader::try_new(source, table, columns, ENTRY, &options.limits)?
        .entries(columns, |bytes, at| entry(bytes, at, options.text, deviations))?;
    let layout =
        Layout { rows: u64::from(rows), plots, header_end: HEADER, table_start: table, table_end };
    let layout = Layout::try_new(layout, source.size(), &super::Colm::CODES, deviations)?;
    if data != layout.first_block() {
        let first = layout.first_block();
        let message = format!("the header puts the data at byte {data}, the columns at {first}");
        deviations.report("M7", 24, message)?;
    }
    Ok(layout)
}

fn entry(
    bytes: &[u8],
    at: u64,
    policy: TextPolicy,
    deviations: &Deviations,
) -> Result<Entry<Plot>> {
    let mut cursor = Cursor::new(bytes, at);
    let Ok(name_len) = cursor.u32_le("name length") else {
        return Ok(Entry::Needs(ENTRY));
    };
    let len = ENTRY.saturating_add(u64::from(name_len));
    let Ok(whole) = usize::try_from(len) else {
        return Err(Error::malformed("name length", "is beyond memory").at(at));
    };
    if bytes.len() < whole {
        return Ok(Entry::Needs(len));
    }
    let name_at = cursor.offset();
    let name = cursor.take(name_len as usize, "column name")?;
    let name = text::name(name, name_at, policy, "M18", deviations)?;
    let kind_at = cursor.offset();
    let kind = schema::kind(cursor.u8("data type")?).map_err(|err| err.at(kind_at))?;
    let value = Plot {
        name,
        kind,
        stored: cursor.u64_le("compressed size")?,
        raw: cursor.u64_le("uncompressed size")?,
        offset: cursor.u64_le("block offset")?,
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
    let too_many =
        |what| Error::refused(Refusal::TooLarge, format!("too many {what}"), "split the table");
    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    let count = u32::try_from(columns.len()).map_err(|_| too_many("columns"))?;
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&u32::try_from(rows).map_err(|_| too_many("rows"))?.to_le_bytes());
    out.extend_from_slice(&HEADER.to_le_bytes());
    out.extend_from_slice(&header_len(columns).to_le_bytes());
    for (column, block) in columns.iter().zip(blocks) {
        let name_len = u32::try_from(column.name.len()).map_err(|_| too_many("bytes of name"))?;
        out.extend_from_slice(&name_len.to_le_bytes());
        out.extend_from_slice(column.name.as_bytes());
        out.push(schema::code(column.kind).unwrap_or_default());
        for number in [block.stored, block.raw, block.offset] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
    Ok(out)
}
