//! Mutants: archives with a little damage, in the bytes or in what they mean.

use liblzma::stream::Check;

use crate::wire::{self, Archive, Body, Packed, STORED, XZ, Xz, ZSTD};

/// SplitMix64: small, seeded, and good enough to choose with.
#[derive(Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.roll() % end.max(1) as u64) as usize
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let at = self.below(from.len());
        &from[at]
    }
}

/// Numbers at which things change.
const NUMBERS: [u64; 24] = [
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

/// Varints that no writer makes: too long, too large, or longer than they need be.
const ODD: [&[u8]; 10] = [
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

const NAMES: [&str; 8] =
    ["meta", "row_modes", "values", "verbatim", "blocks", "index", "header", "coltypes"];

/// A mutant of a file; `others` lends it streams.
pub(crate) fn mutant(file: &[u8], others: &[Archive], dice: &mut Dice) -> Vec<u8> {
    let rounds = 1 + [0, 0, 0, 1, 2, 4][dice.below(6)];
    let Some(mut archive) = Archive::parse(file) else {
        let mut file = file.to_vec();
        (0..rounds).for_each(|_| damage(&mut file, dice));
        return file;
    };
    if !dice.chance(10) {
        archive.hash = None; // else nearly every mutant is refused for its hash alone
    }
    if dice.chance(4) {
        let mut file = archive.bytes();
        (0..rounds).for_each(|_| damage(&mut file, dice));
        return file;
    }
    for _ in 0..rounds {
        rebuild(&mut archive, others, dice);
    }
    let mut file = archive.bytes();
    if dice.chance(20) {
        damage(&mut file, dice);
    }
    file
}

/// Damages bytes.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    if bytes.is_empty() {
        bytes.push(dice.roll() as u8);
        return;
    }
    let at = dice.below(bytes.len());
    match dice.below(12) {
        0 | 1 => bytes[at] ^= 1 << dice.below(8),
        2 => bytes[at] = *dice.pick(&[0, 1, 2, 3, 7, 9, 10, 0x20, 0x22, 0x2C, 0x7F, 0x80, 0xFF]),
        3 => bytes[at] = bytes[at].wrapping_add(if dice.chance(2) { 1 } else { 255 }),
        4 => bytes[at] = dice.roll() as u8,
        5 => bytes.insert(at, dice.roll() as u8),
        6 => {
            bytes.remove(at);
        }
        7 => bytes.truncate(at),
        8 => {
            let mut number = Vec::new();
            wire::put_uv(&mut number, *dice.pick(&NUMBERS));
            splice(bytes, at, &number, dice);
        }
        9 => splice(bytes, at, *dice.pick(&ODD), dice),
        10 => {
            let end = at + dice.below(bytes.len() - at).min(40);
            let part = bytes[at..end].to_vec();
            let to = dice.below(bytes.len());
            bytes.splice(to..to, part);
        }
        _ => bytes.extend_from_within(at..),
    }
}

/// Puts a number where one is, or before it.
fn splice(bytes: &mut Vec<u8>, at: usize, number: &[u8], dice: &mut Dice) {
    let there = wire::get_uv(&bytes[at..]).map_or(1, |(_, used)| used);
    let end = if dice.chance(4) { at } else { at + there };
    bytes.splice(at..end, number.iter().copied());
}

/// Changes a part of an archive; lengths around it stay right.
fn rebuild(archive: &mut Archive, others: &[Archive], dice: &mut Dice) {
    if archive.frames.is_empty() {
        archive.codec = dice.below(14) as u8;
        return;
    }
    match dice.below(24) {
        0 => archive.codec = *dice.pick(&[3, 4, 7, 8, 11, 255]),
        1 => {
            let frame = dice.pick(&archive.frames).clone();
            archive.chunk_lines.get_or_insert(1000);
            archive.frames.push(frame);
        }
        2 => archive.chunk_lines = Some(*dice.pick(&NUMBERS)),
        3 => {
            let at = dice.below(archive.frames.len());
            archive.frames[at].0 = *dice.pick(&[0, 1, 2, 255]);
        }
        _ => {
            let at = dice.below(archive.frames.len());
            match &mut archive.frames[at].1 {
                Body::Raw { backend, payload } => {
                    let mut packed =
                        Packed { name: Vec::new(), backend: *backend, payload: payload.clone() };
                    change(&mut packed, dice);
                    (*backend, *payload) = (packed.backend, packed.payload);
                }
                Body::Set { streams, after } => reset(streams, after, others, dice),
            }
        }
    }
}

/// Changes the streams of a set.
fn reset(streams: &mut Vec<Packed>, after: &mut Vec<u8>, others: &[Archive], dice: &mut Dice) {
    if streams.is_empty() {
        let name = *dice.pick(&NAMES);
        streams.push(Packed::stored(name, b""));
        return;
    }
    let at = dice.below(streams.len());
    match dice.below(30) {
        0 => {
            let other = dice.below(streams.len());
            let payload = streams[other].payload.clone();
            let backend = streams[other].backend;
            streams[other].payload = std::mem::replace(&mut streams[at].payload, payload);
            streams[other].backend = std::mem::replace(&mut streams[at].backend, backend);
        }
        1 => {
            let other = dice.below(streams.len());
            streams.swap(at, other);
        }
        2 => {
            streams.remove(at);
        }
        3 => {
            let mut copy = streams[at].clone();
            if dice.chance(2) {
                change(&mut copy, dice);
            }
            let to = dice.below(streams.len() + 1);
            streams.insert(to, copy);
        }
        4 => damage(&mut streams[at].name, dice),
        5 => {
            let tail = if dice.chance(2) { "x".repeat(40) } else { "\u{e9}".into() };
            streams[at].name.extend_from_slice(tail.as_bytes());
        }
        6 => damage(after, dice),
        7 => {
            // A stream of another archive, under its own name or this one's.
            if let Some(Body::Set { streams: lent, .. }) =
                others.get(dice.below(others.len())).and_then(|a| a.frames.first()).map(|f| &f.1)
                && !lent.is_empty()
            {
                let stream = dice.pick(lent).clone();
                match streams.iter().position(|known| known.name == stream.name) {
                    Some(same) => streams[same] = stream,
                    None => {
                        streams[at] = Packed { name: streams[at].name.clone(), ..stream };
                    }
                }
            }
        }
        8 => {
            let unknown = Packed { name: b"bloom".to_vec(), backend: 77, payload: vec![1, 2, 3] };
            streams.insert(at, unknown);
        }
        _ => change(&mut streams[at], dice),
    }
}

/// Changes the content of a stream, or how it is packed.
fn change(stream: &mut Packed, dice: &mut Dice) {
    match dice.below(20) {
        0 => damage(&mut stream.payload, dice),
        1 => stream.backend = *dice.pick(&[0, 1, 2, 3, 7, 0x1F, 0x20, 0x7F, 0xFD, 0xFF]),
        2 => {
            let tails: [&[u8]; 4] = [b"tail", &[0; 4], &[0; 3], &[0xFF; 40]];
            let tail = *dice.pick(&tails);
            stream.payload.extend_from_slice(tail);
        }
        3 => {
            let again = stream.payload.clone();
            stream.payload.extend_from_slice(&again);
        }
        4 => repack(stream, dice),
        _ => {
            let Some(mut content) = stream.content() else {
                damage(&mut stream.payload, dice);
                return;
            };
            damage(&mut content, dice);
            *stream = Packed { name: stream.name.clone(), backend: STORED, payload: content };
            if dice.chance(4) {
                repack(stream, dice);
            }
        }
    }
}

/// Packs the content in another way, some of them unusual.
fn repack(stream: &mut Packed, dice: &mut Dice) {
    let Some(content) = stream.content() else { return };
    let cuts = [dice.below(content.len() + 1)];
    let checked = |check| wire::xz(&content, Xz { check, cuts: &[] });
    let (backend, payload) = match dice.below(9) {
        0 => (XZ, wire::xz(&content, Xz { cuts: &cuts, ..Xz::default() })),
        1 => (XZ, checked(Check::None)),
        2 => (XZ, checked(Check::Crc32)),
        3 => (XZ, checked(Check::Sha256)),
        4 => (ZSTD, wire::zstd(&content, 3)),
        5 => (ZSTD, without_size(&content)),
        6 => {
            // A skippable frame first.
            let frame = wire::zstd(&content, 3);
            let skip = [0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 9];
            (ZSTD, frame.map(|frame| [&skip[..], &frame].concat()))
        }
        7 => (STORED, Ok(content)),
        _ => (XZ, wire::xz(&content, Xz::default())),
    };
    if let Ok(payload) = payload {
        *stream = Packed { name: stream.name.clone(), backend, payload };
    }
}

/// A frame of zstd that does not say how long its content is, with a checksum.
fn without_size(content: &[u8]) -> crate::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3)?;
    encoder.include_checksum(true)?;
    std::io::Write::write_all(&mut encoder, content)?;
    Ok(encoder.finish()?)
}
