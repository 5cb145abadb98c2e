//! Packs one input, whole or frame by frame.

use std::io::{Read, Write};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::codec::Codec;
use crate::container::{MAGIC, WHOLE};
use crate::pack::elsewhere::{FramePacker, FrameState};
use crate::pack::frame::{EncodedFrame, FrameModel};
use crate::pack::frame_encoder::{FrameEncoder, WrittenFrame};
use crate::pack::line_group_request::LineGroupRequest;
use crate::pack::lines::FrameSplitter;
use crate::pack::options::{Layout, PackOptions};
use crate::pack::row_syntax::RowSyntax;
use crate::pack::select::report::Trial;
use crate::pack::self_check::compare;
use crate::pack::stream_set::put_trailer;
use crate::pack::table_summary::{
    TextSummarizer, peek_format, served_syntax, table_frame, table_metadata, table_size,
};
use crate::table_metadata::FrameSize;
use hypostyle_core::compress::xz::encode::{self as xz, Tuning};
use hypostyle_core::error::Result;

/// The result of packing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The codec that was used.
    pub codec: Codec,
    /// Bytes of the original.
    pub original: u64,
    /// Bytes of the archive.
    pub stored: u64,
    /// Frames, and how many of them are raw.
    pub frames: (u64, u64),
    /// The codecs that were tried, for the first frame if there are several.
    pub trials: Vec<Trial>,
    /// Whether the archive was packed for queries: the options asked for it, and the content
    /// is a table whose columns the archive stores.
    pub is_queryable: bool,
}

/// Packs bytes in memory.
///
/// # Errors
///
/// Fails if the options contradict each other, if memory runs out, or if the archive does
/// not restore the original, which would be a defect of this library.
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
    options.check()?;
    let mut table = table_metadata(original, options);
    let format = table.as_ref().map(|table| table.format);
    let syntax = table.as_ref().and_then(|table| RowSyntax::of(table.format));
    let model = FrameModel::find(original, syntax, options.codec)?;
    let frame = model.map(|model| model.encode(original, options)).transpose()?.flatten();
    let served = table.as_ref().and_then(served_syntax);
    let frame = match frame {
        Some((frame, _)) => {
            let columnar = EncodedFrame::with_object_columns(original, served, options)?;
            Some(match columnar {
                Some(columnar) => frame.or_columns(columnar, options.layout)?,
                None => frame,
            })
        }
        None => EncodedFrame::for_queries(original, None, served, options)?,
    };
    let is_queryable = frame.is_some();
    let (frame, trials) = match frame {
        Some(frame) => {
            let frame = frame.with_filter(original, format, options)?;
            (frame.with_table(table.as_ref(), usize::MAX, options)?, Vec::new())
        }
        None => {
            let lines = match &table {
                Some(table) => LineGroupRequest::of(table, table_size(table)?, options),
                None => None,
            };
            let (frame, trials) =
                EncodedFrame::new(original, None, served, lines.as_ref(), options)?;
            frame.set_row_index(table.as_mut())?;
            let frame = frame.with_filter(original, format, options)?;
            let room = frame.room_below_raw(original, options)?;
            (frame.with_table(table.as_ref(), room, options)?, trials)
        }
    };
    let codec = frame.codec();
    let mut archive = MAGIC.to_vec();
    archive.extend_from_slice(&[WHOLE, codec.id()]);
    frame.put(options.layout, &mut archive);
    put_trailer(&Sha256::digest(original), options.layout, &mut archive);
    let archive = compare(archive, original, options)?;
    let packed = Packed {
        codec,
        original: original.len() as u64,
        stored: archive.len() as u64,
        frames: (1, u64::from(codec == Codec::Raw)),
        trials,
        is_queryable,
    };
    Ok((archive, packed))
}

/// Packs an input of any length, frame by frame, with memory for a few frames.
///
/// Calls `progress` after each frame with the bytes that were read and written so far.
///
/// # Errors
///
/// Fails if reading or writing fails, and for the same reasons as [`pack`].
pub fn pack_stream(
    input: impl Read,
    output: impl Write,
    options: &PackOptions,
    progress: impl FnMut(u64, u64),
) -> Result<Packed> {
    pack_frames(input, output, options, None, progress)
}

/// Packs an input like [`pack_stream`], byte for byte the same, but all frames after the first one
/// elsewhere.
///
/// # Errors
///
/// Fails for the same reasons as [`pack_stream`], and if `elsewhere` fails.
pub fn pack_stream_elsewhere(
    input: impl Read,
    output: impl Write,
    options: &PackOptions,
    elsewhere: &mut dyn FramePacker,
    progress: impl FnMut(u64, u64),
) -> Result<Packed> {
    pack_frames(input, output, options, Some(elsewhere), progress)
}

fn pack_frames(
    input: impl Read,
    mut output: impl Write,
    options: &PackOptions,
    mut elsewhere: Option<&mut dyn FramePacker>,
    mut progress: impl FnMut(u64, u64),
) -> Result<Packed> {
    options.check()?;
    let mut splitter = FrameSplitter::default();
    let (format, mut input) = peek_format(input, options)?;
    let mut next = splitter.next(&mut input, options.chunk_lines)?.map(Bytes::from);
    let has_table = next.is_some() && options.layout == Layout::Reference;
    let summarized = format.filter(|_| has_table);
    let mut table = summarized.map(|format| TextSummarizer::new(format, options.threads));
    let mut frames = FrameEncoder::new(next.as_deref().unwrap_or_default(), format, options)?;
    frames.format = format;
    let trials = frames.first.as_ref().map(|(_, trials)| trials.clone()).unwrap_or_default();
    let (codec, is_queryable) = (frames.codec, frames.is_queryable());
    let mut packed = Packed { codec, original: 0, stored: 0, frames: (0, 0), trials, is_queryable };
    let mut send = |bytes: &[u8], packed: &mut Packed| {
        packed.stored += bytes.len() as u64;
        output.write_all(bytes)
    };
    send(&frames.head, &mut packed)?;
    let mut hash = Sha256::new();
    // What the frames that are packed elsewhere depend on.
    let mut state: Option<FrameState> = None;
    let mut number = 0_usize;
    while let Some(text) = next {
        hash.update(&text);
        if let Some(table) = &mut table {
            table.push(&text);
        }
        let frame = match (&mut elsewhere, &mut state) {
            (Some(elsewhere), Some(state)) => {
                let frame = elsewhere.next(&text)?;
                if frame.next != *state {
                    state.clone_from(&frame.next);
                    elsewhere.start(state, number.saturating_add(1))?;
                }
                frame.written(codec, options.layout)?
            }
            _ => frames.encode(&text, options)?,
        };
        let WrittenFrame { bytes: frame, is_raw, checksums } = frame;
        send(&frame, &mut packed)?;
        if let Some(table) = &mut table {
            table.push_frame(FrameSize::of(frame.len() as u64, &text), checksums);
        }
        packed.original += text.len() as u64;
        packed.frames.0 += 1;
        packed.frames.1 += u64::from(is_raw);
        progress(packed.original, packed.stored);
        next = splitter.next(&mut input, options.chunk_lines)?.map(Bytes::from);
        number = number.saturating_add(1);
        if let (Some(elsewhere), None, true) = (&mut elsewhere, &state, next.is_some()) {
            let known = FrameState::of(&frames);
            elsewhere.start(&known, number)?;
            state = Some(known);
        }
    }
    if let Some(table) = table
        && let Some(frame) = table_frame(frames.codec, &table.finish())?
    {
        compare([&frames.head[..], &frame].concat(), &[], options)?;
        send(&frame, &mut packed)?;
    }
    let mut trailer = Vec::new();
    put_trailer(&hash.finalize(), options.layout, &mut trailer);
    send(&trailer, &mut packed)?;
    output.flush()?;
    Ok(packed)
}

/// Returns the size that `xz -9e` compresses some bytes to.
///
/// # Errors
///
/// Fails if memory runs out.
pub fn xz_size(original: &[u8]) -> Result<u64> {
    // Our own streams have no checksum, which takes 8 bytes with its padding.
    Ok(xz::compress(original, Tuning::XZ_9E)?.len() as u64 + 8)
}
