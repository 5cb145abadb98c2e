//! COLF files by hand.

use std::ops::Range;

use super::{Block, Made, number, place, ranges};

/// A COLF file, as it should be unless a field says otherwise.
#[derive(Clone, Debug)]
pub struct File {
    /// The first four bytes.
    pub magic: [u8; 4],
    /// The version.
    pub version: u8,
    /// The endianness byte.
    pub endianness: u8,
    /// The header size, if it is to be false.
    pub header_size: Option<u32>,
    /// The schema length, if it is to be false.
    pub schema_len: Option<u32>,
    /// The schema, if it is not to be made of the rows and the columns.
    pub schema: Option<Vec<u8>>,
    /// The row count as JSON text.
    pub rows: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The order of the blocks; none is that of the schema.
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
    /// A column with this payload, whose null flag the others repeat.
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

    /// A column of texts without nulls.
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

    /// A column of texts, part by part.
    pub fn utf8_parts(name: &str, bitmap: Option<&[u8]>, starts: &[u32], bytes: &[u8]) -> Self {
        Self::new(name, "utf8", &payload(3, bitmap, &texts(starts, bytes)))
    }
}

/// A payload: type, null flag, bitmap, values.
pub fn payload(code: u8, bitmap: Option<&[u8]>, values: &[u8]) -> Vec<u8> {
    [&[code, u8::from(bitmap.is_some())], bitmap.unwrap_or_default(), values].concat()
}

/// The values of a column of integers.
pub fn int32s(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The values of a column of texts.
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

    /// The schema that the rows and the columns make.
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

    /// The bytes.
    pub fn build(&self) -> Made {
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
        Made { bytes, entries, table_end, blocks: ranges(&stated) }
    }
}

/// Where a canonical file says that its column table ends and its blocks are.
pub fn places(file: &[u8]) -> (u64, Vec<Range<u64>>) {
    let table_end = 10 + u32::from_le_bytes(number(file, 6)) as usize;
    let mut at = 14 + u32::from_le_bytes(number(file, 10)) as usize;
    let mut blocks = Vec::new();
    while at < table_end {
        let offset = u64::from_le_bytes(number(file, at));
        let stored = u64::from_le_bytes(number(file, at + 8));
        blocks.push(offset..offset + stored);
        at += 25;
    }
    (table_end as u64, blocks)
}
