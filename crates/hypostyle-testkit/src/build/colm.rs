//! Builds COLM files byte by byte.

use std::ops::Range;

use super::{Block, BuiltFile, place, ranges, read_array};

/// A COLM file. `None` in a field means the correct value.
#[derive(Clone, Debug)]
pub struct File {
    /// The first four bytes.
    pub magic: [u8; 4],
    /// The version.
    pub version: u32,
    /// Overrides the column count.
    pub column_count: Option<u32>,
    /// The row count.
    pub rows: u32,
    /// Bytes between the header and the column table.
    pub gap: Vec<u8>,
    /// Overrides the metadata offset.
    pub table_at: Option<u64>,
    /// Overrides the data offset in the header.
    pub data_at: Option<u64>,
    /// The columns.
    pub columns: Vec<Column>,
    /// The order of the blocks; empty means schema order.
    pub order: Vec<usize>,
    /// Bytes after the last block.
    pub tail: Vec<u8>,
}

/// A column of a COLM file.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name, which need not be UTF-8.
    pub name: Vec<u8>,
    /// The type code.
    pub code: u8,
    /// The block.
    pub block: Block,
}

impl Column {
    /// A column with this content.
    pub fn new(name: &str, code: u8, content: &[u8]) -> Self {
        Self { name: name.into(), code, block: Block::of(content) }
    }

    /// A column of integers.
    pub fn int32(name: &str, values: &[i32]) -> Self {
        Self::new(name, 1, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
    }

    /// A column of floats, given by their bits.
    pub fn float64(name: &str, bits: &[u64]) -> Self {
        Self::new(name, 2, &bits.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
    }

    /// A column of strings.
    pub fn string(name: &str, values: &[&str]) -> Self {
        Self::new(name, 3, &strings(values))
    }
}

/// Encodes the content of a block of strings.
pub fn strings<T: AsRef<[u8]>>(values: &[T]) -> Vec<u8> {
    let text = |value: &T| {
        let bytes = value.as_ref();
        [&u32::try_from(bytes.len()).unwrap().to_le_bytes()[..], bytes].concat()
    };
    values.iter().flat_map(text).collect()
}

impl File {
    /// A file with these columns.
    pub fn new(rows: u32, columns: Vec<Column>) -> Self {
        Self {
            magic: *b"COLM",
            version: 1,
            column_count: None,
            rows,
            gap: Vec::new(),
            table_at: None,
            data_at: None,
            columns,
            order: Vec::new(),
            tail: Vec::new(),
        }
    }

    /// Writes the file.
    pub fn build(&self) -> BuiltFile {
        let table_at = 32 + self.gap.len() as u64;
        let mut entries = Vec::new();
        let mut table_end = table_at;
        for column in &self.columns {
            entries.push(table_end);
            table_end += 29 + column.name.len() as u64;
        }
        let blocks: Vec<_> = self.columns.iter().map(|column| &column.block).collect();
        let (stated, data) = place(table_end, &blocks, &self.order);
        let first = stated.iter().map(|s| s.offset).min().unwrap_or(table_end);

        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.magic);
        let count = self.column_count.unwrap_or(u32::try_from(self.columns.len()).unwrap());
        for number in [self.version, count, self.rows] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.table_at.unwrap_or(table_at).to_le_bytes());
        bytes.extend_from_slice(&self.data_at.unwrap_or(first).to_le_bytes());
        bytes.extend_from_slice(&self.gap);
        for (column, stated) in self.columns.iter().zip(&stated) {
            bytes.extend_from_slice(&u32::try_from(column.name.len()).unwrap().to_le_bytes());
            bytes.extend_from_slice(&column.name);
            bytes.push(column.code);
            for number in [stated.stored, stated.raw, stated.offset] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        bytes.extend_from_slice(&data);
        bytes.extend_from_slice(&self.tail);
        BuiltFile { bytes, entries, table_end, blocks: ranges(&stated) }
    }
}

/// Parses a file. Returns the end of its column table and the ranges of its blocks.
pub fn places(file: &[u8]) -> (u64, Vec<Range<u64>>) {
    let columns = u32::from_le_bytes(read_array(file, 8));
    let mut at = usize::try_from(u64::from_le_bytes(read_array(file, 16))).unwrap();
    let mut blocks = Vec::new();
    for _ in 0..columns {
        let name = u32::from_le_bytes(read_array(file, at)) as usize;
        let stored = u64::from_le_bytes(read_array(file, at + 5 + name));
        let offset = u64::from_le_bytes(read_array(file, at + 21 + name));
        blocks.push(offset..offset + stored);
        at += 29 + name;
    }
    (at as u64, blocks)
}
