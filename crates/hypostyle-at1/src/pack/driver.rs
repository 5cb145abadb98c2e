//! Packs one input, whole or frame by frame.

use std::io::{Read, Write};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::codec::Codec;
use crate::container::{MAGIC, Method, STREAMING, WHOLE};
use crate::frame_checksums::FrameChecksums;
use crate::pack::frame::{EncodedFrame, FrameModel};
use crate::pack::line_group_request::LineGroupRequest;
use crate::pack::lines::FrameSplitter;
use crate::pack::options::{Choice, Layout, PackOptions};
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
use hypostyle_core::text::TextFormat;
use hypostyle_core::wire::put;

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
    mut output: impl Write,
    options: &PackOptions,
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
    while let Some(text) = next {
        hash.update(&text);
        if let Some(table) = &mut table {
            table.push(&text);
        }
        let WrittenFrame { bytes: frame, is_raw, checksums } = frames.encode(&text, options)?;
        send(&frame, &mut packed)?;
        if let Some(table) = &mut table {
            table.push_frame(FrameSize::of(frame.len() as u64, &text), checksums);
        }
        packed.original += text.len() as u64;
        packed.frames.0 += 1;
        packed.frames.1 += u64::from(is_raw);
        progress(packed.original, packed.stored);
        next = splitter.next(&mut input, options.chunk_lines)?.map(Bytes::from);
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

/// Encodes the frames of a streaming archive, which all have one codec.
#[derive(Debug)]
pub(super) struct FrameEncoder {
    pub(super) codec: Codec,
    /// The bytes of the archive before the first frame.
    pub(super) head: Vec<u8>,
    pub(super) model: Option<FrameModel>,
    /// How the rows of the next frame are written, if codecs can store their cells.
    table: Option<RowSyntax>,
    /// Whether the columns of the first frame are those of a table, as the options asked.
    serves_queries: bool,
    /// The first frame, if it was encoded to find the codec, and what was tried.
    first: Option<(EncodedFrame, Vec<Trial>)>,
    /// What kind of text the frames are, if they may have search filters.
    format: Option<TextFormat>,
}

impl FrameEncoder {
    /// Chooses the codec that suits the text of the first frame.
    fn new(text: &[u8], format: Option<TextFormat>, options: &PackOptions) -> Result<Self> {
        let table = format.and_then(RowSyntax::of);
        let model = FrameModel::find(text, table, options.codec)?;
        let (codec, model) = match (options.codec, model) {
            (_, Some(FrameModel::Table(format))) => {
                (Codec::QColumnar, Some(FrameModel::Table(format)))
            }
            // Later frames may have templates that the first one lacks.
            (_, Some(FrameModel::Json(codec, asked))) => {
                let codec = codec.unwrap_or(Codec::QJson2);
                (codec, Some(FrameModel::Json(Some(codec), asked)))
            }
            (Choice::Only(codec), None) if !codec.has_groups() => (codec, None),
            _ => {
                let (frame, trials) = match EncodedFrame::for_queries(text, None, table, options)? {
                    Some(frame) => (frame, Vec::new()),
                    None => EncodedFrame::new(text, None, table, None, options)?,
                };
                let codec = match frame.codec() {
                    // Later frames may have structure; a table is the likeliest one.
                    Codec::Raw => Codec::Columnar,
                    codec => codec,
                };
                // Only an archive for queries is made without a comparison.
                let serves_queries = trials.is_empty() && options.codec == Choice::Query;
                let first = Some((frame, trials));
                let encoder = Self::with_codec(codec, None, options.chunk_lines);
                return Ok(Self { first, table, serves_queries, ..encoder });
            }
        };
        Ok(Self { table, ..Self::with_codec(codec, model, options.chunk_lines) })
    }

    /// Encodes frames of this codec and this model.
    pub(super) fn with_codec(codec: Codec, model: Option<FrameModel>, chunk_lines: u64) -> Self {
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&[STREAMING, codec.id()]);
        put::uv(&mut head, chunk_lines);
        Self { codec, head, model, table: None, serves_queries: false, first: None, format: None }
    }

    /// Sets how the rows of the next frames are written. A frame without such rows is raw.
    #[must_use]
    pub(super) fn with_table(mut self, table: Option<RowSyntax>) -> Self {
        (self.table, self.serves_queries) = (table, table.is_some());
        self
    }

    /// Returns whether the frames are made for queries.
    fn is_queryable(&self) -> bool {
        self.model.is_some() || self.serves_queries
    }

    /// Encodes the next frame.
    pub(super) fn encode(&mut self, text: &[u8], options: &PackOptions) -> Result<WrittenFrame> {
        let by_model = self.model.as_ref().map(|model| model.encode(text, options)).transpose()?;
        let raw = || options.clone().with_codec(Choice::Only(Codec::Raw));
        let encoded = match (by_model, self.first.take()) {
            (Some(Some((encoded, model))), _) => {
                self.model = Some(model);
                encoded
            }
            (Some(None), _) => EncodedFrame::new(text, None, None, None, &raw())?.0,
            (None, Some((encoded, _))) => encoded,
            (None, None) => {
                let only = Some(self.codec);
                match EncodedFrame::for_queries(text, only, self.table, options)? {
                    Some(frame) => frame,
                    None if self.serves_queries => {
                        EncodedFrame::new(text, None, None, None, &raw())?.0
                    }
                    None => EncodedFrame::new(text, only, self.table, None, options)?.0,
                }
            }
        };
        let encoded = encoded.with_filter(text, self.format, options)?;
        // Only the first frame has a header.
        self.table = self.table.map(RowSyntax::without_header);
        let is_raw = matches!(encoded, EncodedFrame::Raw(_));
        let mut body = vec![u8::from(is_raw)];
        encoded.put(options.layout, &mut body);
        let method = if is_raw { Method::Raw } else { Method::Structured };
        let checksums = match options.layout {
            Layout::Reference => {
                Some(FrameChecksums::of(self.codec, method, body.get(1..).unwrap_or_default())?)
            }
            // This layout has no stream that could state them.
            Layout::Published => None,
        };
        let mut bytes = Vec::new();
        put::lp(&mut bytes, &body);
        compare([&self.head[..], &bytes].concat(), text, options)?;
        Ok(WrittenFrame { bytes, is_raw, checksums })
    }
}

/// A frame of a streaming archive.
#[derive(Debug)]
pub(super) struct WrittenFrame {
    /// The frame, with its length and its method.
    pub(super) bytes: Vec<u8>,
    pub(super) is_raw: bool,
    pub(super) checksums: Option<FrameChecksums>,
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
