//! Builds `.onpair` files byte by byte.

#![expect(clippy::indexing_slicing, reason = "indices are in range by construction")]

use std::ops::Range;

use super::{BuiltFile, read_array};

/// The first and last bytes of a file.
pub const MAGIC: [u8; 8] = *b"HYPOPAIR";

/// An `.onpair` file. `None` in a field means the correct value.
#[derive(Clone, Debug)]
pub struct File {
    /// The first bytes.
    pub magic: [u8; 8],
    /// The versions in the header and in the tail.
    pub versions: [u32; 2],
    /// Overrides the row count.
    pub rows: Option<u64>,
    /// Overrides the column count.
    pub column_count: Option<u32>,
    /// The row count of each chunk.
    pub chunks: Vec<u32>,
    /// The columns.
    pub columns: Vec<Column>,
    /// Bytes between the last section and the footer.
    pub gap: Vec<u8>,
    /// Bytes at the end of the footer.
    pub more: Vec<u8>,
    /// Overrides the length of the footer.
    pub footer_len: Option<u64>,
    /// Makes the checksum of the footer wrong.
    pub false_sum: bool,
}

/// A column of an `.onpair` file.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name, which need not be UTF-8.
    pub name: Vec<u8>,
    /// The type: 0 is text, 1 is binary.
    pub code: u8,
    /// The column chunks, one for each row group.
    pub chunks: Vec<ColumnChunk>,
}

/// A column chunk: the fields of its entry in order, and its sections.
#[derive(Clone, Debug, Default)]
pub struct ColumnChunk {
    /// 0 is plain, 1 is packed.
    pub encoding: u8,
    /// Bit flags: 1 has indexes, 2 has lengths, 4 has a truncated minimum, 8 a truncated maximum.
    pub flags: u8,
    /// The width of codes.
    pub bits: u8,
    /// The parse: how the encoder tokenized rows.
    pub parse: u8,
    /// The number of the chunk whose dictionary this one uses.
    pub dictionary: u32,
    /// The number of null rows.
    pub nulls: u32,
    /// The number of stored values.
    pub values: u32,
    /// The number of codes.
    pub codes: u32,
    /// The total length of all rows in bytes.
    pub text: u32,
    /// Dictionary, values, counts, lengths, indexes, null bitmap.
    pub sections: [Vec<u8>; 6],
    /// The section whose checksum is wrong.
    pub false_sum: Option<usize>,
    /// The padding byte after sections.
    pub padding: u8,
    /// The minimum value or a prefix of it.
    pub min: Vec<u8>,
    /// The maximum value or a prefix of it.
    pub max: Vec<u8>,
}

/// Computes the checksum of RFC 1952 from its definition.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 }
        })
    })
}

/// Encodes numbers in blocks of 128: a base, a bit width, and differences from the base.
pub fn numbers(all: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    for block in all.chunks(128) {
        let base = *block.iter().min().unwrap();
        let max_difference = block.iter().max().unwrap() - base;
        let width = (0..=32).find(|&width| u64::from(max_difference) < 1 << width).unwrap();
        let mut rest = base;
        while rest >= 0x80 {
            out.push(0x80 | u8::try_from(rest & 0x7F).unwrap());
            rest >>= 7;
        }
        out.push(u8::try_from(rest).unwrap());
        out.push(u8::try_from(width).unwrap());
        let differences = block.iter().map(|number| (u64::from(number - base), width));
        out.extend(bits(differences));
    }
    out
}

/// Packs bit fields, least significant bit first.
pub fn bits(fields: impl Iterator<Item = (u64, usize)>) -> Vec<u8> {
    let all: Vec<bool> = fields
        .flat_map(|(field, width)| (0..width).map(move |bit| field >> bit & 1 == 1))
        .collect();
    let byte =
        |bits: &[bool]| (0..).zip(bits).fold(0, |byte, (at, &bit)| byte | u8::from(bit) << at);
    all.chunks(8).map(byte).collect()
}

/// Encodes a dictionary of these tokens, which must be sorted.
pub fn dictionary(complete: bool, tokens: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![u8::from(complete)];
    out.extend_from_slice(&u32::try_from(tokens.len()).unwrap().to_le_bytes()[..3]);
    let mut before: &[u8] = &[];
    for token in tokens {
        let shared = before.iter().zip(*token).take_while(|(a, b)| a == b).count();
        out.push(u8::try_from(token.len() - 1 + 16 * shared).unwrap());
        out.extend_from_slice(&token[shared..]);
        before = token;
    }
    out
}

impl ColumnChunk {
    /// Plain values, one for each row that is not null.
    pub fn plain<T: AsRef<[u8]>>(cells: &[Option<T>]) -> Self {
        let present: Vec<&[u8]> = cells.iter().flatten().map(AsRef::as_ref).collect();
        Self::of(&present).with_rows(cells)
    }

    /// Distinct plain values, and an index for each row that is not null.
    pub fn indexed<T: AsRef<[u8]>>(cells: &[Option<T>]) -> Self {
        let present: Vec<&[u8]> = cells.iter().flatten().map(AsRef::as_ref).collect();
        let mut distinct = present.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let index = |value: &&[u8]| distinct.iter().position(|one| one == value).unwrap();
        let indexes: Vec<u32> =
            present.iter().map(|value| u32::try_from(index(value)).unwrap()).collect();
        let mut chunk = Self::of(&distinct).with_rows(cells);
        chunk.flags |= 1;
        chunk.sections[4] = numbers(&indexes);
        chunk
    }

    /// Rows of dictionary codes.
    pub fn packed(bits: u8, tokens: &[&[u8]], rows: &[&[u16]]) -> Self {
        let texts: Vec<Vec<u8>> = rows
            .iter()
            .map(|row| row.iter().flat_map(|&code| tokens[usize::from(code)]).copied().collect())
            .collect();
        let cells: Vec<Option<&[u8]>> = texts.iter().map(|text| Some(&text[..])).collect();
        let mut chunk = Self::of(&cells.iter().copied().flatten().collect::<Vec<_>>());
        chunk = chunk.with_rows(&cells);
        (chunk.encoding, chunk.bits) = (1, bits);
        let codes = rows.iter().copied().flatten();
        chunk.codes = u32::try_from(codes.clone().count()).unwrap();
        chunk.sections[0] = dictionary(false, tokens);
        chunk.sections[1] = self::bits(codes.map(|&code| (code.into(), bits.into())));
        let counts: Vec<u32> = rows.iter().map(|row| u32::try_from(row.len()).unwrap()).collect();
        chunk.sections[2] = numbers(&counts);
        chunk
    }

    fn of(values: &[&[u8]]) -> Self {
        let lengths: Vec<u32> =
            values.iter().map(|value| u32::try_from(value.len()).unwrap()).collect();
        let mut chunk = Self { values: u32::try_from(values.len()).unwrap(), ..Self::default() };
        chunk.sections[1] = values.concat();
        chunk.sections[2] = numbers(&lengths);
        chunk
    }

    /// Sets the fields that describe all rows: nulls, text length and bounds.
    fn with_rows<T: AsRef<[u8]>>(mut self, cells: &[Option<T>]) -> Self {
        let present = || cells.iter().flatten().map(AsRef::as_ref);
        let null = |cell: &Option<T>| (u64::from(cell.is_none()), 1);
        self.nulls = u32::try_from(cells.len() - present().count()).unwrap();
        self.text = u32::try_from(present().map(<[u8]>::len).sum::<usize>()).unwrap();
        if self.nulls > 0 && present().count() > 0 {
            self.sections[5] = bits(cells.iter().map(null));
        }
        let bound = |value: Option<&[u8]>| {
            let value = value.unwrap_or_default();
            (value[..value.len().min(32)].to_vec(), value.len() > 32)
        };
        let (min, min_cut) = bound(present().min());
        let (max, max_cut) = bound(present().max());
        (self.min, self.max) = (min, max);
        self.flags |= u8::from(min_cut) << 2 | u8::from(max_cut) << 3;
        self
    }

    fn entry(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.encoding, self.flags, self.bits, self.parse]);
        for number in [self.dictionary, self.nulls, self.values, self.codes, self.text] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for (at, section) in self.sections.iter().enumerate() {
            let sum = crc32(section) ^ u32::from(self.false_sum == Some(at));
            out.extend_from_slice(&u32::try_from(section.len()).unwrap().to_le_bytes());
            out.extend_from_slice(&sum.to_le_bytes());
        }
        let lens = [&self.min, &self.max].map(|bound| u8::try_from(bound.len()).unwrap());
        out.extend_from_slice(&[lens[0], lens[1], 0, 0]);
        out.extend_from_slice(&self.min);
        out.extend_from_slice(&self.max);
    }
}

impl Column {
    /// A column of text in one chunk.
    pub fn new(name: &str, chunk: ColumnChunk) -> Self {
        Self { name: name.into(), code: 0, chunks: vec![chunk] }
    }

    /// A column of plain text.
    pub fn texts(name: &str, cells: &[Option<&str>]) -> Self {
        Self::new(name, ColumnChunk::plain(cells))
    }
}

impl File {
    /// A file with these row counts of chunks and these columns.
    pub fn new(chunks: &[u32], columns: Vec<Column>) -> Self {
        Self {
            magic: MAGIC,
            versions: [1, 1],
            rows: None,
            column_count: None,
            chunks: chunks.to_vec(),
            columns,
            gap: Vec::new(),
            more: Vec::new(),
            footer_len: None,
            false_sum: false,
        }
    }

    /// Writes the file.
    pub fn build(&self) -> BuiltFile {
        let mut bytes = self.magic.to_vec();
        bytes.extend_from_slice(&self.versions[0].to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        let mut blocks = Vec::new();
        for column in &self.columns {
            let start = bytes.len() as u64;
            for chunk in &column.chunks {
                for section in &chunk.sections {
                    bytes.extend_from_slice(section);
                    bytes.resize(bytes.len().next_multiple_of(8), chunk.padding);
                }
            }
            blocks.push(start..bytes.len() as u64);
        }
        bytes.extend_from_slice(&self.gap);

        let mut footer = Vec::new();
        let rows = self.chunks.iter().map(|&rows| u64::from(rows)).sum();
        footer.extend_from_slice(&self.rows.unwrap_or(rows).to_le_bytes());
        let count = |count: usize| u32::try_from(count).unwrap();
        let columns = self.column_count.unwrap_or(count(self.columns.len()));
        footer.extend_from_slice(&columns.to_le_bytes());
        footer.extend_from_slice(&count(self.chunks.len()).to_le_bytes());
        for column in &self.columns {
            footer.extend_from_slice(&count(column.name.len()).to_le_bytes());
            footer.extend_from_slice(&column.name);
            footer.extend_from_slice(&[column.code, 0, 0, 0]);
        }
        self.chunks.iter().for_each(|rows| footer.extend_from_slice(&rows.to_le_bytes()));
        let mut entries = Vec::new();
        for chunk in self.columns.iter().flat_map(|column| &column.chunks) {
            entries.push((bytes.len() + footer.len()) as u64);
            chunk.entry(&mut footer);
        }
        footer.extend_from_slice(&self.more);
        bytes.extend_from_slice(&footer);
        let table_end = bytes.len() as u64;
        let len = self.footer_len.unwrap_or(footer.len() as u64);
        bytes.extend_from_slice(&len.to_le_bytes());
        let sum = crc32(&footer) ^ u32::from(self.false_sum);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(&self.versions[1].to_le_bytes());
        bytes.extend_from_slice(&MAGIC);
        BuiltFile { bytes, entries, table_end, blocks }
    }
}

/// Writes a file of the C++ implementation with these tokens and rows of codes.
pub fn cpp(width: u8, tokens: &[&[u8]], rows: &[&[u16]]) -> BuiltFile {
    let mut bytes = b"ONPAIR01".to_vec();
    bytes.push(width);
    let mut put = |count: usize, content: &[u8]| {
        bytes.extend_from_slice(&u32::try_from(count).unwrap().to_le_bytes());
        bytes.extend_from_slice(content);
    };
    let sums = |lens: &mut dyn Iterator<Item = usize>| -> Vec<u8> {
        let mut sum = 0;
        let after = lens.map(|len| {
            sum += u32::try_from(len).unwrap();
            sum
        });
        std::iter::once(0).chain(after).flat_map(u32::to_le_bytes).collect()
    };
    let text = tokens.concat();
    put(text.len(), &text);
    put(tokens.len() + 1, &sums(&mut tokens.iter().map(|token| token.len())));
    let codes = rows.iter().copied().flatten();
    let mut words = bits(codes.map(|&code| (code.into(), width.into())));
    words.resize(words.len().next_multiple_of(8), 0);
    put(words.len() / 8, &words);
    put(rows.len() + 1, &sums(&mut rows.iter().map(|row| row.len())));
    BuiltFile { bytes, entries: Vec::new(), table_end: 9, blocks: Vec::new() }
}

/// Parses a file. Returns the ranges of header and footer, and the range of each column.
pub fn places(file: &[u8]) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
    let size = file.len();
    let len = usize::try_from(u64::from_le_bytes(read_array(file, size - 24))).unwrap();
    let footer = size - 24 - len;
    let columns = u32::from_le_bytes(read_array(file, footer + 8));
    let chunks = u32::from_le_bytes(read_array(file, footer + 12));
    let mut at = footer + 16;
    for _ in 0..columns {
        at += 8 + u32::from_le_bytes(read_array(file, at)) as usize;
    }
    at += 4 * chunks as usize;
    let mut blocks = Vec::new();
    let mut place = 16;
    for _ in 0..columns {
        let start = place;
        for _ in 0..chunks {
            for section in 0..6 {
                let len = u32::from_le_bytes(read_array(file, at + 24 + 8 * section));
                place += u64::from(len).next_multiple_of(8);
            }
            let [min_len, max_len] = read_array(file, at + 72);
            at += 76 + usize::from(min_len) + usize::from(max_len);
        }
        blocks.push(start..place);
    }
    (vec![0..16, footer as u64..size as u64], blocks)
}
