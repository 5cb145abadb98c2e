//! COLF's header and column table: parse and write (§2).

#![deny(clippy::arithmetic_side_effects)]

use bytes::Bytes;

use super::schema::{self, JsonColumn, has_nulls};
use crate::formats::columnfile::{
    BlockLocation, ColumnEntry, ColumnFileLayout, ColumnToWrite, DeviationCodes,
};
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, ErrorKind, Refusal, Result};
use hypostyle_core::format::Sniff;
use hypostyle_core::limits::Limits;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

pub(super) const MAGIC: [u8; 4] = *b"COLF";
/// The magic as written by a program that stores it as a little-endian number.
pub(super) const SWAPPED_MAGIC: [u8; 4] = *b"FLOC";
const VERSION: u8 = 1;
const LITTLE_ENDIAN: u8 = 1;
/// Length of the header before the schema text (§2.1).
const HEADER_BYTES: u64 = 14;
/// Bytes that the header size does not count: those up to and including the field itself.
const UNCOUNTED_BYTES: u64 = 10;
/// Length of a column's entry (§2.2).
const ENTRY_BYTES: u64 = 25;
/// A known reader refuses a longer schema (F10).
const MAX_SCHEMA_BYTES: usize = 10_000_000;

pub(super) const CODES: DeviationCodes = DeviationCodes {
    overlap: "F23",
    order: None,
    gap: None,
    trailing: "F24",
    after_stream: "F22",
    names: "F19",
    text: "F16",
};

/// What the header says about a column.
#[derive(Debug)]
pub(crate) struct ColfEntry {
    pub(super) column: ColumnEntry,
    /// The null flag of the column table.
    pub(super) null_flag: bool,
    /// Whether the schema allows nulls.
    pub(super) nullable: bool,
}

impl AsRef<ColumnEntry> for ColfEntry {
    fn as_ref(&self) -> &ColumnEntry {
        &self.column
    }
}

/// The header before the schema; only the magic is checked.
struct Header {
    version: u8,
    endianness: u8,
    header_size: u32,
    schema_len: u32,
}

impl Header {
    fn read(source: &dyn ByteSource) -> Result<Self> {
        let bytes = source::range(source, 0, HEADER_BYTES, "header")?;
        let mut cursor = Cursor::new(&bytes, 0);
        if cursor.take(MAGIC.len(), "magic")? != MAGIC {
            return Err(Error::malformed("magic", "is not `COLF`").at(0));
        }
        Ok(Self {
            version: cursor.u8("version")?,
            endianness: cursor.u8("endianness")?,
            header_size: cursor.u32_le("header size")?,
            schema_len: cursor.u32_le("schema length")?,
        })
    }

    fn schema(&self, source: &dyn ByteSource, limits: &Limits) -> Result<Bytes> {
        let (what, limit, asked) =
            ("schema length", limits.header_bytes, u64::from(self.schema_len));
        source::check(source, HEADER_BYTES, asked, "schema")?;
        if asked > limit {
            return Err(Error::new(ErrorKind::LimitExceeded { what, asked, limit }).at(10));
        }
        source::range(source, HEADER_BYTES, asked, "schema")
    }
}

/// Decides whether the content is COLF, or another format with the same magic (§6).
pub(super) fn sniff(source: &dyn ByteSource) -> Result<Sniff> {
    if source.size() < MAGIC.len() as u64 {
        return Ok(Sniff::No);
    }
    let magic = source::range(source, 0, MAGIC.len() as u64, "magic")?;
    if *magic == SWAPPED_MAGIC {
        let why = "the magic reads `FLOC`: the magic of COLF with its bytes reversed, as written \
                   by a program that stores the magic as a little-endian number";
        return Ok(Sniff::Lookalike(why.to_owned()));
    }
    if *magic != MAGIC {
        return Ok(Sniff::No);
    }
    let why = if source.size() < HEADER_BYTES {
        format!("but a header of {HEADER_BYTES} bytes does not fit in {}", source.size())
    } else {
        let header = Header::read(source)?;
        let Header { version, endianness, schema_len, .. } = header;
        if version != VERSION {
            format!("but version {version}: another version or another format")
        } else if endianness != LITTLE_ENDIAN {
            format!("but endianness {endianness}, where only 1 (little) is known to exist")
        } else if HEADER_BYTES.saturating_add(u64::from(schema_len)) > source.size() {
            format!("but no room for the {schema_len} bytes of schema that it states")
        } else {
            let text = header.schema(source, &Limits::default())?;
            if schema::is_object(&text) {
                return Ok(Sniff::Yes);
            }
            "but no JSON schema at byte 14".to_owned()
        }
    };
    Ok(Sniff::Lookalike(format!("has the magic of COLF, {why}")))
}

/// Parses and checks everything before the blocks.
pub(super) fn parse(
    source: &dyn ByteSource,
    options: &ReadOptions,
    deviations: &Deviations,
) -> Result<ColumnFileLayout<ColfEntry>> {
    let header = Header::read(source)?;
    if header.version != VERSION {
        return Err(Error::unsupported(format!("version {}", header.version)).at(4));
    }
    match header.endianness {
        LITTLE_ENDIAN => {}
        0 => return Err(Error::unsupported("a file that says it is big-endian").at(5)), // F5
        other => {
            let why = format!("{other} is neither 0 nor 1");
            return Err(Error::malformed("endianness", why).at(5));
        }
    }
    let schema = schema::parse(&header.schema(source, &options.limits)?)
        .map_err(|err| err.at(HEADER_BYTES))?;
    if schema.columns.is_empty() {
        return Err(Error::malformed("schema", "has no columns").at(HEADER_BYTES)); // F21
    }
    if schema.rows_as_float {
        deviations.report(
            "F8",
            HEADER_BYTES,
            "the row count is written as a floating-point number",
        )?;
    }
    let table_start = HEADER_BYTES.saturating_add(u64::from(header.schema_len));
    let table_len = ENTRY_BYTES.saturating_mul(schema.columns.len() as u64);
    let table_end = table_start.saturating_add(table_len);
    let table = source::range(source, table_start, table_len, "column table")?;
    if u64::from(header.header_size) != table_end.saturating_sub(UNCOUNTED_BYTES) {
        let (stated, real) = (header.header_size, table_end.saturating_sub(UNCOUNTED_BYTES));
        deviations.report("F6", 6, format!("the header size is {stated} where it takes {real}"))?;
    }
    let mut cursor = Cursor::new(&table, table_start);
    let mut columns = Vec::with_capacity(schema.columns.len());
    for (index, column) in schema.columns.into_iter().enumerate() {
        columns.push(entry(&mut cursor, index, column)?);
    }
    let layout = ColumnFileLayout {
        rows: schema.rows,
        columns,
        header_end: table_start,
        table_start,
        table_end,
    };
    layout.check(source.size(), &CODES, deviations)
}

fn entry(cursor: &mut Cursor<'_>, index: usize, column: JsonColumn) -> Result<ColfEntry> {
    let entry_offset = cursor.offset();
    let JsonColumn { name, column_type, nullable } = column;
    let block = BlockLocation {
        offset: cursor.u64_le("block offset")?,
        stored: cursor.u64_le("compressed size")?,
        raw: cursor.u64_le("uncompressed size")?,
    };
    let flag_at = cursor.offset();
    let null_flag = parse_null_flag(cursor.u8("has nulls")?)
        .map_err(|err| err.at(flag_at).in_column(index, &name))?;
    let column = ColumnEntry { name, column_type, block, entry_offset };
    Ok(ColfEntry { column, null_flag, nullable })
}

/// Parses a null flag: 0 or 1.
pub(super) fn parse_null_flag(byte: u8) -> Result<bool> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::malformed("has nulls", format!("{other} is neither 0 nor 1"))),
    }
}

/// Returns the length of header, schema and column table; the first block follows them (§5).
pub(super) fn header_len(columns: &[ColumnToWrite], rows: u64) -> Result<u64> {
    let schema = schema_text(columns, rows)?;
    let table = ENTRY_BYTES.saturating_mul(columns.len() as u64);
    Ok(HEADER_BYTES.saturating_add(schema.len() as u64).saturating_add(table))
}

/// Returns the header, the schema and the column table.
pub(super) fn write(
    columns: &[ColumnToWrite],
    blocks: &[BlockLocation],
    rows: u64,
) -> Result<Vec<u8>> {
    let too_long = || {
        Error::refused(
            Refusal::NamesTooLong,
            "the header is too long",
            "use fewer or shorter names",
        )
    };
    let schema = schema_text(columns, rows)?;
    let size = header_len(columns, rows)?.saturating_sub(UNCOUNTED_BYTES);
    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[VERSION, LITTLE_ENDIAN]);
    out.extend_from_slice(&u32::try_from(size).map_err(|_| too_long())?.to_le_bytes());
    let schema_len = u32::try_from(schema.len()).map_err(|_| too_long())?;
    out.extend_from_slice(&schema_len.to_le_bytes());
    out.extend_from_slice(&schema);
    for (column, block) in columns.iter().zip(blocks) {
        for number in [block.offset, block.stored, block.raw] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.push(u8::from(has_nulls(column)));
    }
    Ok(out)
}

fn schema_text(columns: &[ColumnToWrite], rows: u64) -> Result<Vec<u8>> {
    let text = schema::write(columns, rows)?;
    if text.len() <= MAX_SCHEMA_BYTES {
        return Ok(text);
    }
    let why = format!(
        "the schema takes {} bytes, and known readers stop at {MAX_SCHEMA_BYTES}",
        text.len()
    );
    Err(Error::refused(Refusal::NamesTooLong, why, "use fewer or shorter column names"))
}
