//! Writing archives: any bytes in, a small archive that restores them out.
//!
//! `dialect` finds out how a text is cut into fields, `split` cuts it, `cells`
//! numbers what is in the fields, `plan` decides which of them become a column
//! and how it is coded, `column` codes it, and `columnar` makes streams of it all.
//! `json` does the same for lines of JSON, by `paths` instead of fields, `jsondoc` for
//! documents; their values are `lists`.
//! `raw` is the way out for everything else. `container` writes streams and
//! trailers, and what a level spends its time on is in `effort`. `append` adds frames
//! to an archive that is there, `bundle` makes one of several files.
//!
//! An archive is unpacked and compared with the original before anybody gets it.

use std::io::{Read, Write};

use sha2::{Digest, Sha256};

use super::codec::Codec;
use super::container::{MAGIC, STREAMING, WHOLE};
use hypostyle_core::compress::xz::encode::{self as xz, Tuning};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::wire::put;

mod append;
mod bundle;
mod context;
mod frame;
mod groups;
mod json;
mod lines;
mod logs;
mod options;
mod sample;
mod science;
mod search;
mod select;
mod self_check;
mod stream_set;
mod tables;

#[cfg(test)]
mod tests;

pub use append::{Appended, Appender, append};
pub use bundle::{Content, PackedBundle, pack_bundle};
pub use options::{Choice, Layout, PackOptions};
pub use select::report::{Outcome, Trial};

use frame::{EncodedFrame, FrameModel};
use lines::Lines;
use self_check::compare;
use stream_set::put_trailer;

/// What came of packing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The codec that was used.
    pub codec: Codec,
    /// Bytes of the original.
    pub original: u64,
    /// Bytes of the archive.
    pub stored: u64,
    /// Frames, and how many of them have no structure.
    pub frames: (u64, u64),
    /// What was tried, for the first frame if there are several.
    pub trials: Vec<Trial>,
}

/// Packs bytes that are all in memory.
///
/// # Errors
///
/// When memory runs out, and if the archive did not restore the original, which
/// would be a defect of this library.
///
/// ```
/// use hypostyle_at1::PackOptions;
///
/// let table = "id,price\n1,1.50\n2,1.25\n".repeat(1000);
/// let (archive, packed) = hypostyle_at1::pack(table.as_bytes(), &PackOptions::default())?;
/// assert_eq!(packed.stored, archive.len() as u64);
/// assert!(archive.len() < 300);
/// # Ok::<(), hypostyle_core::error::Error>(())
/// ```
pub fn pack(original: &[u8], options: &PackOptions) -> Result<(Vec<u8>, Packed)> {
    check(options)?;
    let model = FrameModel::find(original, options.codec)?;
    let part = model.map(|model| model.part(original, options)).transpose()?.flatten();
    let (part, trials) = match part {
        Some((part, _)) => (part, Vec::new()),
        None => EncodedFrame::new(original, None, options)?,
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
        trials,
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
    let trials = frames.first.as_ref().map(|(_, trials)| trials.clone()).unwrap_or_default();
    let mut packed = Packed { codec: frames.codec, original: 0, stored: 0, frames: (0, 0), trials };
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
    model: Option<FrameModel>,
    /// The first frame, if it was made to find the codec, and what was tried.
    first: Option<(EncodedFrame, Vec<Trial>)>,
}

impl Frames {
    /// Frames that suit a text, which is the first of them.
    fn new(text: &[u8], options: &PackOptions) -> Result<Self> {
        let model = FrameModel::find(text, options.codec)?;
        let (codec, model) = match (options.codec, model) {
            (_, Some(FrameModel::Table(cut))) => (Codec::QColumnar, Some(FrameModel::Table(cut))),
            // Later frames may have templates that the first one has not.
            (_, Some(FrameModel::Json(codec, asked))) => {
                let codec = codec.unwrap_or(Codec::QJson2);
                (codec, Some(FrameModel::Json(Some(codec), asked)))
            }
            (Choice::Only(codec), None) if !codec.has_groups() => (codec, None),
            _ => {
                let (part, trials) = EncodedFrame::new(text, None, options)?;
                let codec = match part.codec() {
                    // What comes later may have a structure; most texts do as tables.
                    Codec::Raw => Codec::Columnar,
                    codec => codec,
                };
                let first = Some((part, trials));
                return Ok(Self { first, ..Self::of(codec, None, options.chunk_lines) });
            }
        };
        Ok(Self::of(codec, model, options.chunk_lines))
    }

    fn of(codec: Codec, model: Option<FrameModel>, chunk_lines: u64) -> Self {
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&[STREAMING, codec.id()]);
        put::uv(&mut head, chunk_lines);
        Self { codec, head, model, first: None }
    }

    /// The next frame, and whether it has no structure.
    fn frame(&mut self, text: &[u8], options: &PackOptions) -> Result<(Vec<u8>, bool)> {
        let made = self.model.as_ref().map(|model| model.part(text, options)).transpose()?;
        let raw = || options.clone().with_codec(Choice::Only(Codec::Raw));
        let part = match (made, self.first.take()) {
            (Some(Some((part, model))), _) => {
                self.model = Some(model);
                part
            }
            (Some(None), _) => EncodedFrame::new(text, None, &raw())?.0,
            (None, Some((part, _))) => part,
            (None, None) => EncodedFrame::new(text, Some(self.codec), options)?.0,
        };
        let raw = matches!(part, EncodedFrame::Raw(_));
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
    if options.codec == Choice::Only(Codec::Bundle) {
        let why = "a bundle is made of several files, and not of one text";
        return Err(Error::refused(why, "pack the files with `pack_bundle`"));
    }
    if options.chunk_lines == 0 {
        return Err(Error::invalid_argument("a frame must have a line"));
    }
    Ok(())
}
