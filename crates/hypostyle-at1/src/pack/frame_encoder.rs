//! Encodes the frames of a streaming archive, one after the other.

use crate::codec::Codec;
use crate::container::{MAGIC, Method, STREAMING};
use crate::frame_checksums::FrameChecksums;
use crate::pack::frame::{EncodedFrame, FrameModel};
use crate::pack::options::{Choice, Layout, PackOptions};
use crate::pack::row_syntax::RowSyntax;
use crate::pack::select::report::Trial;
use crate::pack::self_check::compare;
use hypostyle_core::error::Result;
use hypostyle_core::text::TextFormat;
use hypostyle_core::wire::put;

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
    pub(super) first: Option<(EncodedFrame, Vec<Trial>)>,
    /// What kind of text the frames are, if they may have search filters.
    pub(super) format: Option<TextFormat>,
}

impl FrameEncoder {
    /// Chooses the codec that suits the text of the first frame.
    pub(super) fn new(
        text: &[u8],
        format: Option<TextFormat>,
        options: &PackOptions,
    ) -> Result<Self> {
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

    /// Sets how the rows of the next frames are written, and whether they are made for queries.
    #[must_use]
    pub(super) fn with_state(mut self, table: Option<RowSyntax>, serves_queries: bool) -> Self {
        (self.table, self.serves_queries) = (table, serves_queries);
        self
    }

    pub(super) fn table(&self) -> Option<RowSyntax> {
        self.table
    }

    pub(super) fn serves_queries(&self) -> bool {
        self.serves_queries
    }

    /// Returns whether the frames are made for queries.
    pub(super) fn is_queryable(&self) -> bool {
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
