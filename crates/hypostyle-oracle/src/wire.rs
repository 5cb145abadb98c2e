//! Writes containers from parts, and parses valid ones.
//!
//! Parsing serves only to make mutants of valid archives: it fails on anything unusual, so it is not
//! a decoder.

use liblzma::stream::{Action, Check, Status, Stream};
use sha2::{Digest, Sha256};
use zstd::zstd_safe;

use crate::Result;

pub(crate) const XZ: u8 = 0;
pub(crate) const ZSTD: u8 = 1;
pub(crate) const STORED: u8 = 2;

pub(crate) const COLUMNAR: u8 = 4;
pub(crate) const QCOLUMNAR: u8 = 7;
pub(crate) const QJSON: u8 = 8;
pub(crate) const RAW: u8 = 255;

const TRAILER: [u8; 4] = [0xA1, 0x53, 0x36, 0x01];

pub(crate) fn put_uv(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(0x80 | (value & 0x7F) as u8);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_sv(out: &mut Vec<u8>, value: i64) {
    put_uv(out, ((value << 1) ^ (value >> 63)) as u64);
}

pub(crate) fn put_lp(out: &mut Vec<u8>, bytes: &[u8]) {
    put_uv(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Parses the varint at the start of `bytes`. Returns its value and length.
pub(crate) fn get_uv(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (at, &byte) in bytes.iter().enumerate().take(10) {
        if at == 9 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7F) << (7 * at);
        if byte < 0x80 {
            return Some((value, at + 1));
        }
    }
    None
}

/// The options of an xz stream.
#[derive(Clone, Copy)]
pub(crate) struct XzOptions<'a> {
    pub(crate) check: Check,
    /// The offsets at which new xz blocks start.
    pub(crate) cuts: &'a [usize],
}

impl Default for XzOptions<'_> {
    fn default() -> Self {
        Self { check: Check::Crc64, cuts: &[] }
    }
}

pub(crate) fn xz(content: &[u8], options: XzOptions<'_>) -> Result<Vec<u8>> {
    let mut stream = Stream::new_easy_encoder(6, options.check)?;
    let mut out = Vec::with_capacity(content.len() / 2 + 4096);
    let mut put = |mut part: &[u8], action| -> Result<()> {
        loop {
            out.reserve(1 << 16);
            let before = stream.total_in();
            let status = stream.process_vec(part, &mut out, action)?;
            part = &part[(stream.total_in() - before) as usize..];
            if status == Status::StreamEnd {
                return Ok(());
            }
        }
    };
    let mut start = 0;
    for &cut in options.cuts {
        if cut > start && cut < content.len() {
            put(&content[start..cut], Action::FullFlush)?;
            start = cut;
        }
    }
    put(&content[start..], Action::Finish)?;
    Ok(out)
}

pub(crate) fn unxz(payload: &[u8]) -> Option<Vec<u8>> {
    let mut stream = Stream::new_stream_decoder(u64::MAX, 0).ok()?;
    let mut out = Vec::with_capacity(payload.len() * 8 + 1024);
    let mut rest = payload;
    loop {
        out.reserve(1 << 16);
        let before = (stream.total_in(), out.len());
        let status = stream.process_vec(rest, &mut out, Action::Run).ok()?;
        rest = &rest[(stream.total_in() - before.0) as usize..];
        if status == Status::StreamEnd {
            return Some(out);
        }
        if (stream.total_in(), out.len()) == before || out.len() > 64 << 20 {
            return None;
        }
    }
}

pub(crate) fn zstd(content: &[u8], level: i32) -> Result<Vec<u8>> {
    Ok(zstd::bulk::compress(content, level)?)
}

/// A compressed stream of a set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PackedStream {
    pub(crate) name: Vec<u8>,
    pub(crate) backend: u8,
    pub(crate) payload: Vec<u8>,
}

impl PackedStream {
    pub(crate) fn stored(name: &str, content: &[u8]) -> Self {
        Self { name: name.into(), backend: STORED, payload: content.to_vec() }
    }

    pub(crate) fn content(&self) -> Option<Vec<u8>> {
        match self.backend {
            ZSTD => zstd::bulk::decompress(&self.payload, 64 << 20).ok(),
            STORED => Some(self.payload.clone()),
            _ => unxz(&self.payload),
        }
    }

    /// Returns whether the payload is one valid stream of its backend, without trailing bytes.
    pub(crate) fn is_exact(&self) -> bool {
        if self.backend != ZSTD {
            return self.content().is_some();
        }
        self.payload.starts_with(&[0x28, 0xB5, 0x2F, 0xFD])
            && zstd_safe::get_frame_content_size(&self.payload).is_ok_and(|size| size.is_some())
            && zstd_safe::find_frame_compressed_size(&self.payload) == Ok(self.payload.len())
            && self.content().is_some()
    }

    /// Compresses the content with another backend.
    pub(crate) fn repacked(&self, backend: u8) -> Result<Self> {
        let content = self.content().ok_or("a stream cannot be decompressed")?;
        let payload = match backend {
            STORED => content,
            ZSTD => zstd(&content, 19)?,
            _ => xz(&content, XzOptions::default())?,
        };
        Ok(Self { name: self.name.clone(), backend, payload })
    }
}

/// The body of a frame, or of a whole-file archive.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FrameBody {
    Set { streams: Vec<PackedStream>, after: Vec<u8> },
    Raw { backend: u8, payload: Vec<u8> },
}

impl FrameBody {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Raw { backend, payload } => {
                out.push(*backend);
                out.extend_from_slice(payload);
            }
            Self::Set { streams, after } => {
                put_uv(out, streams.len() as u64);
                for stream in streams {
                    put_lp(out, &stream.name);
                    out.push(stream.backend);
                    put_lp(out, &stream.payload);
                }
                out.extend_from_slice(after);
            }
        }
    }

    fn parse(bytes: &[u8], raw: bool) -> Option<Self> {
        if raw {
            let (&backend, payload) = bytes.split_first()?;
            return Some(Self::Raw { backend, payload: payload.to_vec() });
        }
        let mut rest = bytes;
        let uv = |rest: &mut &[u8]| -> Option<usize> {
            let (value, used) = get_uv(rest)?;
            *rest = &rest[used..];
            usize::try_from(value).ok()
        };
        let count = uv(&mut rest)?;
        let mut streams = Vec::new();
        for _ in 0..count {
            let len = uv(&mut rest)?;
            let (name, tail) = rest.split_at_checked(len)?;
            let (&backend, tail) = tail.split_first()?;
            rest = tail;
            let len = uv(&mut rest)?;
            let (payload, tail) = rest.split_at_checked(len)?;
            rest = tail;
            streams.push(PackedStream { name: name.to_vec(), backend, payload: payload.to_vec() });
        }
        Some(Self::Set { streams, after: rest.to_vec() })
    }
}

/// A parsed archive.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParsedArchive {
    pub(crate) codec: u8,
    /// The number of lines per frame of a streaming archive.
    pub(crate) chunk_lines: Option<u64>,
    /// Methods and bodies. A whole-file archive has one body, and its method is not stored.
    pub(crate) frames: Vec<(u8, FrameBody)>,
    pub(crate) hash: Option<[u8; 32]>,
}

impl ParsedArchive {
    pub(crate) fn whole(codec: u8, streams: Vec<PackedStream>) -> Self {
        let body = FrameBody::Set { streams, after: Vec::new() };
        Self { codec, chunk_lines: None, frames: vec![(0, body)], hash: None }
    }

    pub(crate) fn with_hash_of(mut self, original: &[u8]) -> Self {
        self.hash = Some(sha256(original));
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = b"AT1".to_vec();
        out.push(if self.chunk_lines.is_some() { 3 } else { 2 });
        out.push(self.codec);
        match self.chunk_lines {
            None => {
                for (_, body) in &self.frames {
                    body.write(&mut out);
                }
            }
            Some(lines) => {
                put_uv(&mut out, lines);
                for (method, body) in &self.frames {
                    let mut frame = vec![*method];
                    body.write(&mut frame);
                    put_lp(&mut out, &frame);
                }
            }
        }
        if let Some(hash) = self.hash {
            out.extend_from_slice(&hash);
            out.extend_from_slice(&TRAILER);
        }
        out
    }

    pub(crate) fn parse(file: &[u8]) -> Option<Self> {
        let (head, mut rest) = file.split_at_checked(5)?;
        let codec = *head.last()?;
        let mut hash = None;
        if rest.len() >= 36 && rest.ends_with(&TRAILER) && codec != 12 {
            let (body, trailer) = rest.split_at(rest.len() - 36);
            (rest, hash) = (body, trailer.first_chunk().copied());
        }
        match *head.first_chunk::<4>()? {
            [b'A', b'T', b'1', 2] => {
                let body = FrameBody::parse(rest, codec == RAW)?;
                Some(Self { codec, chunk_lines: None, frames: vec![(0, body)], hash })
            }
            [b'A', b'T', b'1', 3] => {
                let (lines, used) = get_uv(rest)?;
                rest = &rest[used..];
                let mut frames = Vec::new();
                while !rest.is_empty() {
                    let (len, used) = get_uv(rest)?;
                    let (frame, tail) =
                        rest[used..].split_at_checked(usize::try_from(len).ok()?)?;
                    let (&method, body) = frame.split_first()?;
                    frames.push((method, FrameBody::parse(body, method == 1)?));
                    rest = tail;
                }
                Some(Self { codec, chunk_lines: Some(lines), frames, hash })
            }
            _ => None,
        }
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing_and_writing_restore_an_archive() {
        let set = vec![PackedStream::stored("meta", b"\0\0"), PackedStream::stored("x", b"")];
        let whole = ParsedArchive::whole(3, set).with_hash_of(b"");
        let body = whole.frames[0].1.clone();
        let raw = FrameBody::Raw { backend: STORED, payload: b"abc".to_vec() };
        let frames = vec![(0, body), (1, raw)];
        let streaming = ParsedArchive { codec: 3, chunk_lines: Some(300), frames, hash: None };
        for archive in [whole, streaming] {
            assert_eq!(ParsedArchive::parse(&archive.bytes()), Some(archive));
        }
    }

    #[test]
    fn both_compressors_round_trip() {
        let content: Vec<u8> = (0..100_000_u32).map(|i| (i * i / 7 % 13) as u8).collect();
        for cuts in [&[][..], &[10, 10, 50_000, 100_000]] {
            let payload = xz(&content, XzOptions { cuts, ..XzOptions::default() }).unwrap();
            assert!(unxz(&payload).unwrap() == content);
        }
        let zstd =
            PackedStream { name: Vec::new(), backend: ZSTD, payload: zstd(&content, 3).unwrap() };
        assert!(zstd.content().unwrap() == content);
    }
}
