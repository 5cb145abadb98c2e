//! Builds COLF files byte by byte.

use std::ops::Range;

use super::{Block, BuiltFile, place, ranges, read_array};

/// A COLF file. `None` in a field means the correct value.
#[derive(Clone, Debug)]
pub struct File {
    /// The first four bytes.
    pub magic: [u8; 4],
    /// The version.
    pub version: u8,
    /// The endianness byte.
    pub endianness: u8,
    /// Overrides the header size.
    pub header_size: Option<u32>,
    /// Overrides the schema length.
    pub schema_len: Option<u32>,
    /// Overrides the schema, which otherwise comes from `rows` and `columns`.
    pub schema: Option<Vec<u8>>,
    /// The row count as JSON text.
    pub rows: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The order of the blocks; empty means schema order.
    pub order: Vec<usize>,
    /// Bytes after the last block.
    pub tail: Vec<u8>,
}

/// A column of a COLF file.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name.
    pub name: String,
    /// The type in the schema.
    pub kind: &'static str,
    /// `nullable` in the schema.
    pub nullable: bool,
    /// The null flag in the column table.
    pub flag: u8,
    /// The block.
    pub block: Block,
}

impl Column {
    /// A column with this payload; `nullable` and `flag` repeat the null flag of the payload.
    pub fn new(name: &str, kind: &'static str, payload: &[u8]) -> Self {
        let flag = payload.get(1).copied().unwrap_or(0);
        let block = Block::of(payload);
        Self { name: name.to_owned(), kind, nullable: flag == 1, flag, block }
    }

    /// A column of integers without nulls.
    pub fn int32(name: &str, values: &[i32]) -> Self {
        Self::new(name, "int32", &payload(1, None, &int32s(values)))
    }

    /// A column of integers; the bitmap has a set bit for each null.
    pub fn int32_nulls(name: &str, bitmap: &[u8], values: &[i32]) -> Self {
        Self::new(name, "int32", &payload(1, Some(bitmap), &int32s(values)))
    }

    /// A column of floats without nulls, given by their bits.
    pub fn float64(name: &str, bits: &[u64]) -> Self {
        let values: Vec<u8> = bits.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self::new(name, "float64", &payload(2, None, &values))
    }

    /// A column of strings without nulls.
    pub fn utf8(name: &str, values: &[&str]) -> Self {
        let mut end = 0;
        let starts: Vec<u32> = values
            .iter()
            .map(|value| {
                let start = end;
                end += u32::try_from(value.len()).unwrap();
                start
            })
            .collect();
        Self::new(name, "utf8", &payload(3, None, &texts(&starts, values.concat().as_bytes())))
    }

    /// A column of strings, from its bitmap, start offsets and bytes.
    pub fn utf8_parts(name: &str, bitmap: Option<&[u8]>, starts: &[u32], bytes: &[u8]) -> Self {
        Self::new(name, "utf8", &payload(3, bitmap, &texts(starts, bytes)))
    }
}

/// Encodes a payload: type, null flag, bitmap, values.
pub fn payload(code: u8, bitmap: Option<&[u8]>, values: &[u8]) -> Vec<u8> {
    [&[code, u8::from(bitmap.is_some())], bitmap.unwrap_or_default(), values].concat()
}

/// Encodes the values of an integer column.
pub fn int32s(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Encodes the values of a string column.
pub fn texts(starts: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = starts.iter().flat_map(|start| start.to_le_bytes()).collect();
    out.extend_from_slice(bytes);
    out
}

impl File {
    /// A file with these columns.
    pub fn new(rows: u64, columns: Vec<Column>) -> Self {
        Self {
            magic: *b"COLF",
            version: 1,
            endianness: 1,
            header_size: None,
            schema_len: None,
            schema: None,
            rows: rows.to_string(),
            columns,
            order: Vec::new(),
            tail: Vec::new(),
        }
    }

    /// Returns the schema of `rows` and `columns` as JSON.
    pub fn schema_text(&self) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|Column { name, kind, nullable, .. }| {
                let name = serde_json::to_string(name).unwrap();
                format!("{{\"name\":{name},\"type\":\"{kind}\",\"nullable\":{nullable}}}")
            })
            .collect();
        format!("{{\"num_rows\":{},\"columns\":[{}]}}", self.rows, columns.join(","))
    }

    /// Writes the file.
    pub fn build(&self) -> BuiltFile {
        let schema = self.schema.clone().unwrap_or_else(|| self.schema_text().into_bytes());
        let table_at = 14 + schema.len() as u64;
        let table_end = table_at + 25 * self.columns.len() as u64;
        let entries = (0..self.columns.len() as u64).map(|index| table_at + 25 * index).collect();
        let blocks: Vec<_> = self.columns.iter().map(|column| &column.block).collect();
        let (stated, data) = place(table_end, &blocks, &self.order);

        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.magic);
        bytes.extend_from_slice(&[self.version, self.endianness]);
        let header_size = self.header_size.unwrap_or(u32::try_from(table_end - 10).unwrap());
        let schema_len = self.schema_len.unwrap_or(u32::try_from(schema.len()).unwrap());
        bytes.extend_from_slice(&header_size.to_le_bytes());
        bytes.extend_from_slice(&schema_len.to_le_bytes());
        bytes.extend_from_slice(&schema);
        for (column, stated) in self.columns.iter().zip(&stated) {
            for number in [stated.offset, stated.stored, stated.raw] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            bytes.push(column.flag);
        }
        bytes.extend_from_slice(&data);
        bytes.extend_from_slice(&self.tail);
        BuiltFile { bytes, entries, table_end, blocks: ranges(&stated) }
    }
}

/// Parses a canonical file. Returns the end of its column table and the ranges of its blocks.
pub fn places(file: &[u8]) -> (u64, Vec<Range<u64>>) {
    let table_end = 10 + u32::from_le_bytes(read_array(file, 6)) as usize;
    let mut at = 14 + u32::from_le_bytes(read_array(file, 10)) as usize;
    let mut blocks = Vec::new();
    while at < table_end {
        let offset = u64::from_le_bytes(read_array(file, at));
        let stored = u64::from_le_bytes(read_array(file, at + 8));
        blocks.push(offset..offset + stored);
        at += 25;
    }
    (table_end as u64, blocks)
}
