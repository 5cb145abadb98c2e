//! Writing archives: any bytes in, a small archive that restores them out.
//!
//! `dialect` finds out how a text is cut into fields, `split` cuts it, `cells`
//! numbers what is in the fields, `plan` decides which of them become a column
//! and how it is coded, `column` codes it, and `columnar` makes streams of it all.
//! `raw` is the way out for everything else. `container` writes streams and
//! trailers, and what a level spends its time on is in `effort`. `append` adds frames
//! to an archive that is there.
//!
//! An archive is unpacked and compared with the original before anybody gets it.

use std::io::{Read, Write};

use sha2::{Digest, Sha256};

use super::codecs::Codec;
use super::container::{MAGIC, STREAMING, WHOLE};
use crate::compress::xz::encode::{self as xz, Tuning};
use crate::error::{Error, Result};
use crate::wire::put;

mod append;
mod cells;
mod check;
mod column;
mod columnar;
mod container;
mod dialect;
mod effort;
mod groups;
mod index;
mod lines;
mod options;
mod part;
mod plan;
mod qcolumnar;
mod qjson;
mod raw;
mod split;
pub(super) mod template;
mod zones;

#[cfg(test)]
mod tests;

pub use append::{Appended, Appender, append};
pub use options::{Choice, Layout, PackOptions};

use check::compare;
use container::put_trailer;
use lines::Lines;
use part::{Model, Part};

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
    let model = Model::find(original, options.codec)?;
    let part = model.map(|model| model.part(original, options)).transpose()?.flatten();
    let part = match part {
        Some((part, _)) => part,
        None => Part::new(original, options)?,
    };
    let codec = part.codec();
    let mut archive = MAGIC.to_vec();
    archive.extend_from_slice(&[WHOLE, codec.id()]);
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
    let mut lines = Lines::default();
    let mut next = lines.next(&mut input, options.chunk_lines)?;
    let mut frames = Frames::new(next.as_deref().unwrap_or_default(), options)?;
    let mut packed = Packed { codec: frames.codec, original: 0, stored: 0, frames: (0, 0) };
    let mut send = |bytes: &[u8], packed: &mut Packed| {
        packed.stored += bytes.len() as u64;
        output.write_all(bytes)
    };
    send(&frames.head, &mut packed)?;
    let mut hash = Sha256::new();
    while let Some(text) = next {
        hash.update(&text);
        let (frame, raw) = frames.frame(&text, options)?;
        send(&frame, &mut packed)?;
        packed.original += text.len() as u64;
        packed.frames.0 += 1;
        packed.frames.1 += u64::from(raw);
        progress(packed.original, packed.stored);
        next = lines.next(&mut input, options.chunk_lines)?;
    }
    let mut trailer = Vec::new();
    put_trailer(&hash.finalize(), options.layout, &mut trailer);
    send(&trailer, &mut packed)?;
    output.flush()?;
    Ok(packed)
}

/// The frames of a streaming archive, which all have one codec.
#[derive(Debug)]
struct Frames {
    codec: Codec,
    /// What stands before them.
    head: Vec<u8>,
    model: Option<Model>,
}

impl Frames {
    /// Frames that suit a text, which is the first of them.
    fn new(text: &[u8], options: &PackOptions) -> Result<Self> {
        let model = Model::find(text, options.codec)?;
        let (codec, model) = match (options.codec, model) {
            (Choice::Raw, _) => (Codec::Raw, None),
            (_, Some(Model::Table(cut))) => (Codec::QColumnar, Some(Model::Table(cut))),
            // Later frames may have templates that the first one has not.
            (_, Some(Model::Json(codec, asked))) => {
                let codec = codec.unwrap_or(Codec::QJson2);
                (codec, Some(Model::Json(Some(codec), asked)))
            }
            _ => (Codec::Columnar, None),
        };
        Ok(Self::of(codec, model, options.chunk_lines))
    }

    fn of(codec: Codec, model: Option<Model>, chunk_lines: u64) -> Self {
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&[STREAMING, codec.id()]);
        put::uv(&mut head, chunk_lines);
        Self { codec, head, model }
    }

    /// The next frame, and whether it has no structure.
    fn frame(&mut self, text: &[u8], options: &PackOptions) -> Result<(Vec<u8>, bool)> {
        let made = self.model.as_ref().map(|model| model.part(text, options)).transpose()?;
        let part = match made {
            Some(Some((part, model))) => {
                self.model = Some(model);
                part
            }
            Some(None) => Part::new(text, &options.clone().with_codec(Choice::Raw))?,
            None => Part::new(text, options)?,
        };
        let raw = matches!(part, Part::Raw(_));
        let mut body = vec![u8::from(raw)];
        part.put(options.layout, &mut body);
        let mut frame = Vec::new();
        put::lp(&mut frame, &body);
        compare([&self.head[..], &frame].concat(), text, options)?;
        Ok((frame, raw))
    }
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
    if options.codec.is_queryable() && options.layout == Layout::Published {
        let why = "the published text has no blocks that are stored as they are";
        return Err(Error::refused(why, "leave the layout as it is by default"));
    }
    if options.chunk_lines == 0 {
        return Err(Error::invalid_argument("a frame must have a line"));
    }
    Ok(())
}
