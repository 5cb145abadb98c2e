//! Decodes the frames of an archive into the original text, or into views of it.

use std::io::Write;

use bytes::Bytes;

use super::codecs::context::DecodeContext;
use super::codecs::entry::{Decode, Projection};
use super::codecs::project;
use super::codecs::{self, log_rows};
use super::container::{Extent, Method, in_at1};
use super::frames::FrameReader;
use super::header_dedup::HeaderDedup;
use super::output::Output;
use hypostyle_core::error::Result;

/// The result of unpacking an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// The number of bytes of the original.
    pub bytes: u64,
    /// Whether the archive has a hash; if it does, the unpacked bytes match it.
    pub hash_agreed: bool,
}

/// Decodes the frames of one archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unpacker<'a> {
    frames: &'a FrameReader,
}

impl<'a> Unpacker<'a> {
    /// Returns an unpacker for all frames of an archive.
    pub(super) fn new(frames: &'a FrameReader) -> Self {
        Self { frames }
    }

    /// Writes the original bytes, and compares their hash with `hash` if there is one.
    pub(super) fn original(&self, out: &mut dyn Write, hash: Option<[u8; 32]>) -> Result<Unpacked> {
        self.all(out, hash, false)
    }

    /// Writes the text with every structured row padded to all columns.
    pub(super) fn padded_rows(&self, out: &mut dyn Write) -> Result<()> {
        self.all(out, None, true).map(|_| ())
    }

    /// Writes padded rows as [`Unpacker::padded_rows`] does, with a single header line.
    ///
    /// If text was appended to a streaming archive, a later frame may start with the
    /// same header line, outside of its row groups. This leaves such lines out, as
    /// queries do.
    pub(super) fn padded_rows_with_one_header(&self, out: &mut dyn Write) -> Result<()> {
        let entry = codecs::entry(self.frames.codec());
        let is_delimited = entry.groups.is_some_and(|groups| groups.delimited);
        if !is_delimited || self.frames.container().chunk_lines.is_none() {
            return self.padded_rows(out);
        }
        let mut dedup = HeaderDedup::new(out);
        let mut limits = self.frames.limits().clone();
        self.frames.for_each(|extent, body| {
            let written = match extent.method {
                Method::Raw => {
                    let text = self.frames.raw_text(extent, body)?;
                    dedup.start_frame(&text);
                    let mut output = Output::new(&mut dedup, false, &limits);
                    output.put(&text)?;
                    output.finish(None)?
                }
                Method::Structured => {
                    let set = self.frames.stream_set(extent, body)?;
                    let context = DecodeContext { pad: true, ..self.frames.context(&set) };
                    let streams =
                        context.decompress(|name| matches!(name, "row_modes" | "verbatim"))?;
                    let verbatim = streams.bytes("row_modes").first() == Some(&0);
                    dedup.start_frame(if verbatim { streams.bytes("verbatim") } else { b"" });
                    let mut output = Output::new(&mut dedup, false, &limits);
                    (entry.decode)(&context, &mut output)?;
                    output.finish(None)?
                }
            };
            limits.output_bytes = limits.output_bytes.saturating_sub(written);
            Ok(())
        })
    }

    /// Writes the text of the first structured frame with the projected columns only.
    pub(super) fn projected(&self, out: &mut dyn Write, projection: &Projection) -> Result<()> {
        let mut output = Output::new(out, false, self.frames.limits());
        self.frames
            .first_structured(|context| project::decode(projection, context, &mut output))?;
        output.finish(None).map(|_| ()).map_err(in_at1)
    }

    /// Writes each line of a log as a JSON object: template, time, line and variables.
    ///
    /// `put_rows` writes the objects of a structured frame.
    pub(super) fn log_rows(&self, out: &mut dyn Write, put_rows: Decode) -> Result<()> {
        let mut output = Output::new(out, false, self.frames.limits());
        self.frames.for_each(|extent, body| match extent.method {
            Method::Structured => {
                let set = self.frames.stream_set(extent, body)?;
                put_rows(&self.frames.context(&set), &mut output)
            }
            Method::Raw => {
                let packed = self.frames.raw_stream(extent, body)?;
                let deviations = self.frames.deviations();
                let text = packed.decompress(self.frames.limits(), 1, deviations)?;
                log_rows::put_plain_lines(&text, &mut output)
            }
        })?;
        output.finish(None).map(|_| ()).map_err(in_at1)
    }

    /// Writes the text of one frame.
    pub(super) fn frame(&self, extent: Extent, out: &mut dyn Write) -> Result<()> {
        let mut output = Output::new(out, false, self.frames.limits());
        self.put_frame(extent, &self.frames.body(extent)?, false, &mut output)?;
        output.finish(None).map(|_| ())
    }

    fn all(&self, out: &mut dyn Write, hash: Option<[u8; 32]>, pad: bool) -> Result<Unpacked> {
        let mut limits = self.frames.limits().clone();
        if let Some(budget) = self.frames.budget() {
            limits.output_bytes = budget.left(limits.output_bytes);
        }
        let mut output = Output::new(out, hash.is_some(), &limits);
        self.frames.for_each(|extent, body| self.put_frame(extent, body, pad, &mut output))?;
        let bytes = output.finish(hash.as_ref()).map_err(in_at1)?;
        if let Some(budget) = self.frames.budget() {
            budget.spend(bytes);
        }
        Ok(Unpacked { bytes, hash_agreed: hash.is_some() })
    }

    fn put_frame(
        &self,
        extent: Extent,
        body: &Bytes,
        pad: bool,
        output: &mut Output<'_>,
    ) -> Result<()> {
        match extent.method {
            Method::Raw => output.put(&self.frames.raw_text(extent, body)?),
            Method::Structured => {
                let set = self.frames.stream_set(extent, body)?;
                let context = DecodeContext { pad, ..self.frames.context(&set) };
                (codecs::entry(self.frames.codec()).decode)(&context, output)
            }
        }
    }
}
