//! Writing archives: any bytes in, a small archive that restores them out.
//!
//! `dialect` finds out how a text is cut into fields, `split` cuts it, `cells`
//! numbers what is in the fields, `plan` decides which of them become a column
//! and how it is coded, `column` codes it, and `columnar` makes streams of it all.
//! `raw` is the way out for everything else. `container` writes streams and
//! trailers, and what a level spends its time on is in `effort`.
//!
//! An archive is unpacked and compared with the original before anybody gets it.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::archive::Archive;
use super::codecs::Codec;
use crate::compress::xz::encode::{self as xz, Tuning};
use crate::compress::zstd;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::options::{ReadOptions, resolve_threads};
use crate::parallel;
use crate::wire::put;

mod cells;
mod column;
mod columnar;
mod container;
mod dialect;
mod effort;
mod options;
mod plan;
mod raw;
mod split;
#[cfg(test)]
mod tests;

pub use options::{Choice, Layout, PackOptions};

use container::{Body, Stream, put_set, put_trailer};
use effort::Search;
use raw::{Rival, Size};

const WHOLE: [u8; 4] = *b"AT1\x02";
const STREAMING: [u8; 4] = *b"AT1\x03";

/// Bytes of text that are looked at as one: offsets in them have 32 bits.
const LARGEST: usize = u32::MAX as usize - 1;

/// Most bytes of a frame, whatever its lines.
const FRAME: usize = 256 << 20;

/// What came of packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The codec that was used.
    pub codec: Codec,
    /// Bytes of the original.
    pub original: u64,
    /// Bytes of the archive.
    pub stored: u64,
    /// Frames, and how many of them have no structure.
    pub frames: (u64, u64),
}

/// The one part of an archive, or one of many.
enum Part {
    Structured(Vec<Stream>),
    Raw(Body),
}

impl Part {
    /// The structured form of a text if it has one and it is smaller, else the raw one.
    fn new(original: &[u8], options: &PackOptions) -> Result<Self> {
        let search = &Search::new(options);
        // What a quick compressor makes of it tells what is worth trying.
        let quick = zstd::compress(original, 1)?.len();
        let hopeless = match options.codec {
            Choice::Raw => true,
            Choice::Auto => original.len() > LARGEST || raw::is_noise(original, quick),
            Choice::Columnar => original.len() > LARGEST,
        };
        let (tell, news) = mpsc::channel();
        let structured = move || match hopeless {
            true => Ok(None),
            false => Self::table(original, search, options, &tell),
        };
        let rival = Rival::new(news);
        let raw = move || raw::body(original, quick, &rival, search);
        let threads = resolve_threads(options.threads);
        let (structured, raw) = parallel::both(threads, structured, raw);
        match (structured?, raw?) {
            (_, Some(body)) => Ok(Self::Raw(body)),
            (Some(streams), None) => Ok(Self::Structured(streams)),
            (None, None) => Err(Error::invalid_argument("nothing came of packing")),
        }
    }

    /// The columns of a text; at high levels the better of two searches, since one
    /// that looks farther may end up in a worse place. Tells its size.
    fn table(
        original: &[u8],
        search: &Search,
        options: &PackOptions,
        tell: &Sender<Size>,
    ) -> Result<Option<Vec<Stream>>> {
        let mut searches = vec![search.clone()];
        if options.level > PackOptions::DEFAULT_LEVEL {
            searches.push(Search::new(&options.clone().with_level(PackOptions::DEFAULT_LEVEL)));
        }
        let threads = resolve_threads(options.threads);
        // What was asked for wins, whatever its size. Nobody may listen any more.
        let told = |size| if options.codec == Choice::Auto { size } else { 0 };
        let guess = |size| tell.send(Size::Guessed(told(size))).unwrap_or_default();
        let streams = columnar::streams(original, &searches, threads, guess)?;
        if let Some(streams) = &streams {
            let mut set = Vec::new();
            put_set(streams, options.layout, &mut set);
            tell.send(Size::Known(told(set.len()))).unwrap_or_default();
        }
        Ok(streams)
    }

    fn put(&self, layout: Layout, out: &mut Vec<u8>) {
        match self {
            Self::Structured(streams) => put_set(streams, layout, out),
            Self::Raw(body) => body.put(layout, out),
        }
    }

    fn codec(&self) -> Codec {
        match self {
            Self::Structured(_) => Codec::Columnar,
            Self::Raw(_) => Codec::Raw,
        }
    }
}

/// Packs bytes that are all in memory.
///
/// # Errors
///
/// When memory runs out, and if the archive did not restore the original, which
/// would be a defect of this library.
///
/// ```
/// use hypostyle::formats::at1::{self, PackOptions};
///
/// let table = "id,price\n1,1.50\n2,1.25\n".repeat(1000);
/// let (archive, packed) = at1::pack(table.as_bytes(), &PackOptions::default())?;
/// assert_eq!(packed.stored, archive.len() as u64);
/// assert!(archive.len() < 300);
/// # Ok::<(), hypostyle::Error>(())
/// ```
pub fn pack(original: &[u8], options: &PackOptions) -> Result<(Vec<u8>, Packed)> {
    check(options)?;
    let part = Part::new(original, options)?;
    let codec = part.codec();
    let mut archive = WHOLE.to_vec();
    archive.push(codec.id());
    part.put(options.layout, &mut archive);
    put_trailer(&Sha256::digest(original), options.layout, &mut archive);
    let archive = compare(archive, original, options)?;
    let packed = Packed {
        codec,
        original: original.len() as u64,
        stored: archive.len() as u64,
        frames: (1, u64::from(codec == Codec::Raw)),
    };
    Ok((archive, packed))
}

/// Packs what comes out of `input`, however long, frame by frame.
///
/// Takes memory for a few frames. `progress` hears how many bytes have been read
/// and written.
///
/// # Errors
///
/// When reading or writing fails; else as [`pack`].
pub fn pack_stream(
    mut input: impl Read,
    mut output: impl Write,
    options: &PackOptions,
    mut progress: impl FnMut(u64, u64),
) -> Result<Packed> {
    check(options)?;
    let codec = match options.codec {
        Choice::Raw => Codec::Raw,
        Choice::Auto | Choice::Columnar => Codec::Columnar,
    };
    let mut packed = Packed { codec, original: 0, stored: 0, frames: (0, 0) };
    let mut head = STREAMING.to_vec();
    head.push(codec.id());
    put::uv(&mut head, options.chunk_lines);
    let mut send = |bytes: &[u8], packed: &mut Packed| {
        packed.stored += bytes.len() as u64;
        output.write_all(bytes)
    };
    send(&head, &mut packed)?;
    let mut hash = Sha256::new();
    let mut lines = Lines::default();
    while let Some(text) = lines.next(&mut input, options.chunk_lines)? {
        hash.update(&text);
        let part = Part::new(&text, options)?;
        let mut body = vec![u8::from(matches!(part, Part::Raw(_)))];
        part.put(options.layout, &mut body);
        let mut frame = Vec::new();
        put::lp(&mut frame, &body);
        compare([&head[..], &frame].concat(), &text, options)?;
        send(&frame, &mut packed)?;
        packed.original += text.len() as u64;
        packed.frames.0 += 1;
        packed.frames.1 += u64::from(matches!(part, Part::Raw(_)));
        progress(packed.original, packed.stored);
    }
    let mut trailer = Vec::new();
    put_trailer(&hash.finalize(), options.layout, &mut trailer);
    send(&trailer, &mut packed)?;
    output.flush()?;
    Ok(packed)
}

/// Bytes that `xz -9e` would take for the same.
///
/// # Errors
///
/// When memory runs out.
pub fn xz_size(original: &[u8]) -> Result<u64> {
    // A checksum and its padding are what our own streams do without.
    Ok(xz::compress(original, Tuning::XZ_9E)?.len() as u64 + 8)
}

fn check(options: &PackOptions) -> Result<()> {
    if !(1..=PackOptions::MAX_LEVEL).contains(&options.level) {
        let why = format!("level {} is not 1 to {}", options.level, PackOptions::MAX_LEVEL);
        return Err(Error::invalid_argument(why));
    }
    if options.chunk_lines == 0 {
        return Err(Error::invalid_argument("a frame must have a line"));
    }
    Ok(())
}

/// Unpacks an archive and compares it with the original; gives it back if all is well.
fn compare(archive: Vec<u8>, original: &[u8], options: &PackOptions) -> Result<Vec<u8>> {
    let bytes = Bytes::from(archive);
    let limits = Limits::default()
        .with_output_bytes(u64::MAX)
        .with_read_bytes(u64::MAX)
        .with_block_bytes(u64::MAX);
    let read = ReadOptions::default().with_limits(limits).with_threads(options.threads);
    let source = Arc::new(bytes.clone());
    let mut left = Compared { original };
    let unpacked = Archive::open(source, &read).and_then(|archive| archive.unpack(&mut left));
    if let Err(err) = unpacked {
        return Err(Error::invalid_argument(format!("the archive would not unpack: {err}")));
    }
    if !left.original.is_empty() {
        return Err(Error::invalid_argument("the archive would not unpack to the original"));
    }
    Ok(bytes.into())
}

/// Takes bytes that must be those of the original.
struct Compared<'a> {
    original: &'a [u8],
}

impl Write for Compared<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.original.strip_prefix(bytes) {
            Some(rest) => self.original = rest,
            None => return Err(io::Error::other("other bytes than the original has")),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Cuts what is read into runs of whole lines.
#[derive(Default)]
struct Lines {
    /// What was read beyond the last run.
    rest: Vec<u8>,
    ended: bool,
}

impl Lines {
    /// The next run of at most so many lines; a line beyond a frame's size is cut.
    fn next(&mut self, input: &mut impl Read, lines: u64) -> Result<Option<Vec<u8>>> {
        let mut text = std::mem::take(&mut self.rest);
        let (mut seen, mut newlines) = (0, 0);
        loop {
            let fresh = text.get(seen..).unwrap_or_default();
            for at in memchr::memchr_iter(b'\n', fresh) {
                newlines += 1;
                if newlines == lines {
                    self.rest = text.split_off(seen + at + 1);
                    return Ok(Some(text));
                }
            }
            seen = text.len();
            if seen >= FRAME {
                let end = memchr::memrchr(b'\n', &text).map_or(seen, |at| at + 1);
                self.rest = text.split_off(end);
                return Ok(Some(text));
            }
            if self.ended {
                return Ok((!text.is_empty()).then_some(text));
            }
            let got = input.by_ref().take(1 << 20).read_to_end(&mut text)?;
            self.ended = got == 0;
        }
    }
}
