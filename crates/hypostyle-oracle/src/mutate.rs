//! Mutants: archives with a little damage, in the bytes or in the content of streams.

use liblzma::stream::Check;

use crate::rng::Rng;
use crate::wire::{self, FrameBody, PackedStream, ParsedArchive, STORED, XZ, XzOptions, ZSTD};

/// Boundary values.
const BOUNDARIES: [u64; 24] = [
    0,
    1,
    2,
    3,
    7,
    8,
    9,
    18,
    19,
    31,
    32,
    63,
    64,
    127,
    128,
    255,
    256,
    16_383,
    16_384,
    u32::MAX as u64,
    1 << 32,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Varints that no writer writes: too long, too large, or with redundant bytes.
const ODD_VARINTS: [&[u8]; 10] = [
    &[0x80, 0x00],
    &[0x81, 0x80, 0x00],
    &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
    &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x03],
    &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02],
    &[0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
    &[0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
    &[0xFF; 12],
    &[0x80; 30],
    &[0x80, 0x80],
];

const STREAM_NAMES: [&str; 8] =
    ["meta", "row_modes", "values", "verbatim", "blocks", "index", "header", "coltypes"];

/// Returns a mutant of a file, which may get streams of `others`.
pub(crate) fn mutant(file: &[u8], others: &[ParsedArchive], rng: &mut Rng) -> Vec<u8> {
    let rounds = 1 + [0, 0, 0, 1, 2, 4][rng.below(6)];
    let Some(mut archive) = ParsedArchive::parse(file) else {
        let mut file = file.to_vec();
        (0..rounds).for_each(|_| damage(&mut file, rng));
        return file;
    };
    if !rng.one_in(10) {
        archive.hash = None; // otherwise the hash alone refuses nearly every mutant
    }
    if rng.one_in(4) {
        let mut file = archive.bytes();
        (0..rounds).for_each(|_| damage(&mut file, rng));
        return file;
    }
    for _ in 0..rounds {
        change_archive(&mut archive, others, rng);
    }
    let mut file = archive.bytes();
    if rng.one_in(20) {
        damage(&mut file, rng);
    }
    file
}

/// Changes bytes at random.
fn damage(bytes: &mut Vec<u8>, rng: &mut Rng) {
    if bytes.is_empty() {
        bytes.push(rng.next_u64() as u8);
        return;
    }
    let at = rng.below(bytes.len());
    match rng.below(12) {
        0 | 1 => bytes[at] ^= 1 << rng.below(8),
        2 => bytes[at] = *rng.choose(&[0, 1, 2, 3, 7, 9, 10, 0x20, 0x22, 0x2C, 0x7F, 0x80, 0xFF]),
        3 => bytes[at] = bytes[at].wrapping_add(if rng.one_in(2) { 1 } else { 255 }),
        4 => bytes[at] = rng.next_u64() as u8,
        5 => bytes.insert(at, rng.next_u64() as u8),
        6 => {
            bytes.remove(at);
        }
        7 => bytes.truncate(at),
        8 => {
            let mut number = Vec::new();
            wire::put_uv(&mut number, *rng.choose(&BOUNDARIES));
            splice_varint(bytes, at, &number, rng);
        }
        9 => splice_varint(bytes, at, *rng.choose(&ODD_VARINTS), rng),
        10 => {
            let end = at + rng.below(bytes.len() - at).min(40);
            let copied = bytes[at..end].to_vec();
            let to = rng.below(bytes.len());
            bytes.splice(to..to, copied);
        }
        _ => bytes.extend_from_within(at..),
    }
}

/// Replaces the varint at `at`, or inserts one before it.
fn splice_varint(bytes: &mut Vec<u8>, at: usize, number: &[u8], rng: &mut Rng) {
    let old_len = wire::get_uv(&bytes[at..]).map_or(1, |(_, used)| used);
    let end = if rng.one_in(4) { at } else { at + old_len };
    bytes.splice(at..end, number.iter().copied());
}

/// Changes a part of an archive; the lengths around it stay correct.
fn change_archive(archive: &mut ParsedArchive, others: &[ParsedArchive], rng: &mut Rng) {
    if archive.frames.is_empty() {
        archive.codec = rng.below(14) as u8;
        return;
    }
    match rng.below(24) {
        0 => archive.codec = *rng.choose(&[3, 4, 7, 8, 11, 255]),
        1 => {
            let frame = rng.choose(&archive.frames).clone();
            archive.chunk_lines.get_or_insert(1000);
            archive.frames.push(frame);
        }
        2 => archive.chunk_lines = Some(*rng.choose(&BOUNDARIES)),
        3 => {
            let at = rng.below(archive.frames.len());
            archive.frames[at].0 = *rng.choose(&[0, 1, 2, 255]);
        }
        _ => {
            let at = rng.below(archive.frames.len());
            match &mut archive.frames[at].1 {
                FrameBody::Raw { backend, payload } => {
                    let mut packed = PackedStream {
                        name: Vec::new(),
                        backend: *backend,
                        payload: payload.clone(),
                    };
                    change_stream(&mut packed, rng);
                    (*backend, *payload) = (packed.backend, packed.payload);
                }
                FrameBody::Set { streams, after } => change_streams(streams, after, others, rng),
            }
        }
    }
}

/// Changes the streams of a set.
fn change_streams(
    streams: &mut Vec<PackedStream>,
    after: &mut Vec<u8>,
    others: &[ParsedArchive],
    rng: &mut Rng,
) {
    if streams.is_empty() {
        let name = *rng.choose(&STREAM_NAMES);
        streams.push(PackedStream::stored(name, b""));
        return;
    }
    let at = rng.below(streams.len());
    match rng.below(30) {
        0 => {
            let other = rng.below(streams.len());
            let payload = streams[other].payload.clone();
            let backend = streams[other].backend;
            streams[other].payload = std::mem::replace(&mut streams[at].payload, payload);
            streams[other].backend = std::mem::replace(&mut streams[at].backend, backend);
        }
        1 => {
            let other = rng.below(streams.len());
            streams.swap(at, other);
        }
        2 => {
            streams.remove(at);
        }
        3 => {
            let mut copy = streams[at].clone();
            if rng.one_in(2) {
                change_stream(&mut copy, rng);
            }
            let to = rng.below(streams.len() + 1);
            streams.insert(to, copy);
        }
        4 => damage(&mut streams[at].name, rng),
        5 => {
            let tail = if rng.one_in(2) { "x".repeat(40) } else { "\u{e9}".into() };
            streams[at].name.extend_from_slice(tail.as_bytes());
        }
        6 => damage(after, rng),
        7 => {
            // A stream of another archive replaces the one with its name, or else this one.
            if let Some(FrameBody::Set { streams: lent, .. }) =
                others.get(rng.below(others.len())).and_then(|a| a.frames.first()).map(|f| &f.1)
                && !lent.is_empty()
            {
                let stream = rng.choose(lent).clone();
                match streams.iter().position(|known| known.name == stream.name) {
                    Some(same) => streams[same] = stream,
                    None => {
                        streams[at] = PackedStream { name: streams[at].name.clone(), ..stream };
                    }
                }
            }
        }
        8 => {
            let unknown =
                PackedStream { name: b"bloom".to_vec(), backend: 77, payload: vec![1, 2, 3] };
            streams.insert(at, unknown);
        }
        _ => change_stream(&mut streams[at], rng),
    }
}

/// Changes the content of a stream, its payload or its backend.
fn change_stream(stream: &mut PackedStream, rng: &mut Rng) {
    match rng.below(20) {
        0 => damage(&mut stream.payload, rng),
        1 => stream.backend = *rng.choose(&[0, 1, 2, 3, 7, 0x1F, 0x20, 0x7F, 0xFD, 0xFF]),
        2 => {
            let tails: [&[u8]; 4] = [b"tail", &[0; 4], &[0; 3], &[0xFF; 40]];
            let tail = *rng.choose(&tails);
            stream.payload.extend_from_slice(tail);
        }
        3 => {
            let again = stream.payload.clone();
            stream.payload.extend_from_slice(&again);
        }
        4 => repack(stream, rng),
        _ => {
            let Some(mut content) = stream.content() else {
                damage(&mut stream.payload, rng);
                return;
            };
            damage(&mut content, rng);
            *stream = PackedStream { name: stream.name.clone(), backend: STORED, payload: content };
            if rng.one_in(4) {
                repack(stream, rng);
            }
        }
    }
}

/// Compresses the content with another backend or with unusual options.
fn repack(stream: &mut PackedStream, rng: &mut Rng) {
    let Some(content) = stream.content() else { return };
    let cuts = [rng.below(content.len() + 1)];
    let checked = |check| wire::xz(&content, XzOptions { check, cuts: &[] });
    let (backend, payload) = match rng.below(9) {
        0 => (XZ, wire::xz(&content, XzOptions { cuts: &cuts, ..XzOptions::default() })),
        1 => (XZ, checked(Check::None)),
        2 => (XZ, checked(Check::Crc32)),
        3 => (XZ, checked(Check::Sha256)),
        4 => (ZSTD, wire::zstd(&content, 3)),
        5 => (ZSTD, without_size(&content)),
        6 => {
            // Start with a skippable frame.
            let frame = wire::zstd(&content, 3);
            let skip = [0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 9];
            (ZSTD, frame.map(|frame| [&skip[..], &frame].concat()))
        }
        7 => (STORED, Ok(content)),
        _ => (XZ, wire::xz(&content, XzOptions::default())),
    };
    if let Ok(payload) = payload {
        *stream = PackedStream { name: stream.name.clone(), backend, payload };
    }
}

/// Compresses to a zstd frame with a checksum and without a content size.
fn without_size(content: &[u8]) -> crate::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3)?;
    encoder.include_checksum(true)?;
    std::io::Write::write_all(&mut encoder, content)?;
    Ok(encoder.finish()?)
}
