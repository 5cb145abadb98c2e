//! Builds AT-1 archives byte by byte: numbers, streams, stream sets, frames.
//!
//! Streams are stored uncompressed unless a case is about compression. Compressed streams come
//! from liblzma and zstd directly, without the code under test.

use liblzma::stream::{Action, Check, Stream as Encoder};
use sha2::{Digest, Sha256};

/// The bytes after the hash at the end of an archive.
pub const TRAILER: [u8; 4] = [0xA1, 0x53, 0x36, 0x01];

/// An xz stream of no bytes.
pub const EMPTY_XZ: [u8; 32] = *b"\xFD7zXZ\0\0\x04\xE6\xD6\xB4\x46\0\0\0\0\x1C\xDF\x44\x21\
    \x1F\xB6\xF3\x7D\x01\0\0\0\0\x04YZ";

/// An AT-1 archive.
#[derive(Clone, Debug)]
pub struct File {
    /// The fourth byte: 2 for a whole file, 3 for frames.
    pub version: u8,
    /// The codec.
    pub codec: u8,
    /// Everything up to the trailer.
    pub body: Vec<u8>,
    /// The hash in the trailer, if there is one.
    pub hash: Option<[u8; 32]>,
}

impl File {
    /// An archive of one stream set, without a trailer.
    pub fn whole(codec: u8, streams: &[Stream]) -> Self {
        Self { version: 2, codec, body: set(streams), hash: None }
    }

    /// An archive with codec RAW: a backend and its payload.
    pub fn raw(backend: u8, payload: &[u8]) -> Self {
        Self { version: 2, codec: 255, body: [&[backend], payload].concat(), hash: None }
    }

    /// An archive of frames, without a trailer.
    pub fn streaming(codec: u8, chunk_lines: u64, frames: &[Vec<u8>]) -> Self {
        let body = [uv(chunk_lines.into()), frames.concat()].concat();
        Self { version: 3, codec, body, hash: None }
    }

    /// Adds a trailer with the hash of this original.
    #[must_use]
    pub fn hashed(self, original: &[u8]) -> Self {
        Self { hash: Some(Sha256::digest(original).into()), ..self }
    }

    /// Writes the archive.
    pub fn build(&self) -> Vec<u8> {
        let mut bytes = vec![b'A', b'T', b'1', self.version, self.codec];
        bytes.extend_from_slice(&self.body);
        if let Some(hash) = self.hash {
            bytes.extend_from_slice(&hash);
            bytes.extend_from_slice(&TRAILER);
        }
        bytes
    }
}

/// A stream of a stream set.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The name.
    pub name: String,
    /// The backend byte; `None` is the form in the published description, without a backend.
    pub backend: Option<u8>,
    /// The stored bytes.
    pub payload: Vec<u8>,
}

impl Stream {
    /// An uncompressed stream.
    pub fn new(name: &str, content: &[u8]) -> Self {
        Self { name: name.into(), backend: Some(2), payload: content.to_vec() }
    }

    /// A stream with this backend byte and payload.
    pub fn packed(name: &str, backend: u8, payload: &[u8]) -> Self {
        Self { name: name.into(), backend: Some(backend), payload: payload.to_vec() }
    }

    /// A stream compressed with xz, in the form of the published description: without a backend.
    pub fn legacy(name: &str, content: &[u8]) -> Self {
        Self { name: name.into(), backend: None, payload: xz(content) }
    }

    /// Writes the stream.
    pub fn build(&self) -> Vec<u8> {
        let backend = self.backend.as_slice();
        [&lp(self.name.as_bytes()), backend, &lp(&self.payload)].concat()
    }
}

/// Returns uncompressed streams with these names and contents.
pub fn stored(streams: &[(&str, &[u8])]) -> Vec<Stream> {
    streams.iter().map(|(name, content)| Stream::new(name, content)).collect()
}

/// Writes a stream set.
pub fn set(streams: &[Stream]) -> Vec<u8> {
    let mut bytes = uv(streams.len() as u128);
    streams.iter().for_each(|stream| bytes.extend(stream.build()));
    bytes
}

/// Writes a frame: its length, its method and its body.
pub fn frame(method: u8, body: &[u8]) -> Vec<u8> {
    lp(&[&[method], body].concat())
}

/// Encodes an unsigned LEB128 number.
pub fn uv(mut value: u128) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let low = u8::try_from(value & 0x7F).unwrap();
        value >>= 7;
        if value == 0 {
            out.push(low);
            return out;
        }
        out.push(low | 0x80);
    }
}

/// Encodes a signed number: zigzag, then LEB128.
pub fn sv(value: i128) -> Vec<u8> {
    uv(((value << 1) ^ (value >> 127)).cast_unsigned())
}

/// Encodes differences between consecutive numbers, starting from 0.
pub fn deltas(values: &[i128]) -> Vec<u8> {
    let before = std::iter::once(&0).chain(values);
    values.iter().zip(before).flat_map(|(value, before)| sv(value - before)).collect()
}

/// Encodes bytes behind their length.
pub fn lp(bytes: &[u8]) -> Vec<u8> {
    [&uv(bytes.len() as u128), bytes].concat()
}

/// Encodes a count and as many texts, each behind its length.
pub fn texts(texts: &[&str]) -> Vec<u8> {
    let mut out = uv(texts.len() as u128);
    texts.iter().for_each(|text| out.extend(lp(text.as_bytes())));
    out
}

/// Compresses to an xz stream of one block.
pub fn xz(content: &[u8]) -> Vec<u8> {
    xz_checked(content, content.len().max(1), Check::Crc64)
}

/// Compresses to an xz stream with blocks of `block_bytes` and this kind of check.
pub fn xz_checked(content: &[u8], block_bytes: usize, check: Check) -> Vec<u8> {
    let mut encoder = Encoder::new_easy_encoder(6, check).unwrap();
    let mut out = Vec::with_capacity(content.len() * 2 + 4096);
    for block in content.chunks(block_bytes) {
        encoder.process_vec(block, &mut out, Action::FullFlush).unwrap();
    }
    encoder.process_vec(&[], &mut out, Action::Finish).unwrap();
    out
}

/// Compresses to a zstd frame that declares its content size.
pub fn zstd(content: &[u8]) -> Vec<u8> {
    ::zstd::bulk::compress(content, 19).unwrap()
}

/// Writes a zstd frame of `len` equal bytes, in RLE blocks of 128 KiB.
pub fn zstd_run(byte: u8, len: u64) -> Vec<u8> {
    const BLOCK_BYTES: u64 = 128 << 10;
    // A content size of eight bytes, and a window of one block.
    let mut out = vec![0x28, 0xB5, 0x2F, 0xFD, 0xC0, 0x38];
    out.extend_from_slice(&len.to_le_bytes());
    let mut left = len;
    loop {
        let block_len = left.min(BLOCK_BYTES);
        left -= block_len;
        let header = u32::try_from(block_len << 3).unwrap() | 1 << 1 | u32::from(left == 0);
        out.extend_from_slice(header.to_le_bytes().get(..3).unwrap());
        out.push(byte);
        if left == 0 {
            return out;
        }
    }
}

/// Type, quote mode and chunk of a column.
pub type TypedChunk = (u8, u8, Vec<u8>);

/// The streams of a columnar table.
///
/// Each row has a cell in every column unless modes and field counts say otherwise.
#[derive(Clone, Debug)]
pub struct Columnar<'a> {
    /// The number of rows, including verbatim rows.
    pub rows: usize,
    /// Whether a newline ends the last line.
    pub trailing: u8,
    /// The header line.
    pub header: Option<&'a str>,
    /// The delimiter between cells.
    pub delimiter: &'a [u8],
    /// The columns.
    pub columns: Vec<TypedChunk>,
    /// The mode of each row.
    pub modes: Option<Vec<u8>>,
    /// The field count of each structured row.
    pub counts: Option<Vec<u8>>,
    /// Bitmaps of columns with some quotes.
    pub bits: Vec<u8>,
    /// Lines that are not rows.
    pub verbatim: &'a [u8],
}

impl Columnar<'_> {
    /// Rows with commas between cells and a newline at the end.
    pub fn new(rows: usize, columns: Vec<TypedChunk>) -> Self {
        Self {
            rows,
            trailing: 1,
            header: None,
            delimiter: b",",
            columns,
            modes: None,
            counts: None,
            bits: Vec::new(),
            verbatim: b"",
        }
    }

    /// Returns the streams in the order of the spec.
    pub fn streams(&self) -> Vec<Stream> {
        let ncols = self.columns.len();
        let has_header = u8::from(self.header.is_some());
        let meta = [
            uv(self.rows as u128),
            vec![self.trailing, has_header],
            lp(self.delimiter),
            uv(ncols as u128),
        ];
        let of = |pick: fn(&TypedChunk) -> Vec<u8>| -> Vec<u8> {
            self.columns.iter().flat_map(pick).collect()
        };
        let all = vec![u8::try_from(ncols).unwrap(); self.rows];
        stored(&[
            ("meta", &meta.concat()),
            ("row_modes", self.modes.as_deref().unwrap_or(&vec![1; self.rows])),
            ("fieldcounts", self.counts.as_deref().unwrap_or(&all)),
            ("coltypes", &of(|column| vec![column.0])),
            ("col_index", &of(|column| uv(column.2.len() as u128))),
            ("values", &of(|column| column.2.clone())),
            ("quotemodes", &of(|column| vec![column.1])),
            ("quotebits", &self.bits),
            ("verbatim", self.verbatim),
            ("header", self.header.unwrap_or_default().as_bytes()),
        ])
    }

    /// Returns an archive without a trailer.
    pub fn file(&self) -> File {
        File::whole(4, &self.streams())
    }
}

/// The streams of a table in row groups.
#[derive(Clone, Debug)]
pub struct RowGroups<'a> {
    /// The bytes of `meta` before the number of columns.
    pub head: Vec<u8>,
    /// The number of rows in a group.
    pub group_rows: u64,
    /// The stated numbers of rows and groups.
    pub stated: (u64, u64),
    /// The type of each column.
    pub types: &'a [u8],
    /// The mode of each line.
    pub modes: &'a [u8],
    /// Lines that are not rows.
    pub verbatim: &'a [u8],
    /// The zone of each block in `index`, and the block with its tag.
    pub blocks: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'a> RowGroups<'a> {
    /// Delimited text.
    pub fn delimited(trailing: u8, delimiter: &[u8], modes: &'a [u8]) -> Self {
        let head = [uv(modes.len() as u128), vec![trailing], lp(delimiter)].concat();
        Self::new(head, modes)
    }

    /// Lines of one template.
    pub fn template(trailing: u8, modes: &'a [u8]) -> Self {
        Self::new([uv(modes.len() as u128), vec![trailing]].concat(), modes)
    }

    fn new(head: Vec<u8>, modes: &'a [u8]) -> Self {
        let rows = modes.iter().filter(|&&mode| mode != 0).count() as u64;
        let (types, verbatim) = (&[][..], &b""[..]);
        let (group_rows, stated) = (rows.max(1), (rows, rows.min(1)));
        Self { head, group_rows, stated, types, modes, verbatim, blocks: Vec::new() }
    }

    /// Returns the streams of the row groups, with a prefix to each name.
    pub fn streams(&self, prefix: &str) -> Vec<Stream> {
        let mut meta = [self.head.clone(), uv(self.types.len() as u128)].concat();
        for number in [self.group_rows, self.stated.0, self.stated.1] {
            meta.extend(uv(number.into()));
        }
        meta.extend_from_slice(self.types);
        let index = |(zone, block): &(Vec<u8>, Vec<u8>)| [uv(block.len() as u128), zone.clone()];
        let index: Vec<u8> = self.blocks.iter().flat_map(index).flatten().collect();
        let blocks: Vec<u8> = self.blocks.iter().flat_map(|(_, block)| block.clone()).collect();
        let name = |name: &str| format!("{prefix}{name}");
        stored(&[
            (&name("meta"), &meta),
            (&name("row_modes"), self.modes),
            (&name("verbatim"), self.verbatim),
            (&name("index"), &index),
            (&name("blocks"), &blocks),
        ])
    }

    /// Returns the streams of a template.
    pub fn template_streams(&self, prefix: &str, segments: &[&str], paths: &[&str]) -> Vec<Stream> {
        let mut streams = self.streams(prefix);
        streams.insert(1, Stream::new(&format!("{prefix}template"), &texts(segments)));
        streams.insert(2, Stream::new(&format!("{prefix}paths"), &texts(paths)));
        streams
    }
}

/// A block of text compressed with xz, without a zone.
pub fn xz_block(cells: &str) -> (Vec<u8>, Vec<u8>) {
    (Vec::new(), [vec![0], xz(cells.as_bytes())].concat())
}

/// A block of text compressed with zstd, without a zone.
pub fn zstd_block(cells: &str) -> (Vec<u8>, Vec<u8>) {
    (Vec::new(), [vec![1], zstd(cells.as_bytes())].concat())
}

/// Adds a zone to a block.
#[must_use]
pub fn zoned(zone: &[u8], block: (Vec<u8>, Vec<u8>)) -> (Vec<u8>, Vec<u8>) {
    (zone.to_vec(), block.1)
}
