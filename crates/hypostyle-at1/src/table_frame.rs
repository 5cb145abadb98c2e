//! The last frame of a streaming archive, which holds the stream `hyp.table` (§2.2.2).
//!
//! The table of a text is known when its last frame has been written. So the writer adds a
//! frame that decodes to nothing: the streams that the codec has for a text without lines,
//! `hyp.table`, and `hyp.frame`, by which the frame is found from the end of the archive.

use bytes::Bytes;

use super::codec::Codec;
use super::container::{Container, Extent, Method};
use super::streams::{Backend, CompressedStream, StreamSet};
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::Result;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::put;

/// The name of the stream that says what table the text is.
pub(super) const TABLE: &str = "hyp.table";

/// The last stream of the frame, stored: the bytes from the start of the frame to its end,
/// as four bytes, lowest first.
pub(super) const FRAME: &str = "hyp.frame";

/// Bytes at the end of an archive that are read to find the frame.
const TAIL_BYTES: u64 = 16 << 10;

/// The frame of the table.
#[derive(Debug)]
pub(super) struct TableFrame {
    /// The offset of the frame, with its length and its method.
    pub(super) start: u64,
    pub(super) extent: Extent,
    /// All streams of the frame.
    pub(super) set: StreamSet,
}

impl TableFrame {
    /// Finds the frame at the end of a streaming archive, with few reads.
    ///
    /// A frame counts only if it decodes to nothing, so that a reader may leave it out.
    ///
    /// # Errors
    ///
    /// Fails if the source fails, never because of what the bytes say.
    pub(super) fn find(source: &dyn ByteSource, container: &Container) -> Result<Option<Self>> {
        let Some(want) = contents(container.codec).filter(|_| container.chunk_lines.is_some())
        else {
            return Ok(None);
        };
        let room = container.end.saturating_sub(container.start);
        let tail = room.min(TAIL_BYTES);
        let bytes = source::range(source, container.end - tail, tail, "last frame")?;
        let Some(distance) = bytes.last_chunk::<4>() else { return Ok(None) };
        let distance = u64::from(u32::from_le_bytes(*distance));
        if distance > room {
            return Ok(None);
        }
        let start = container.end - distance;
        let bytes = match usize::try_from(tail.saturating_sub(distance)) {
            Ok(at) if distance <= tail => bytes.slice(at..),
            _ => source::range(source, start, distance, "last frame")?,
        };
        Ok(Self::parse(bytes, start, &want))
    }

    fn parse(bytes: Bytes, start: u64, want: &[(&'static str, Vec<u8>)]) -> Option<Self> {
        let mut cursor = hypostyle_core::wire::Cursor::new(&bytes, start);
        let len = cursor.size("frame length").ok()?;
        if len != cursor.left() || cursor.u8("method").ok()? != 0 {
            return None;
        }
        let (offset, left) = (cursor.offset(), cursor.left());
        let body = bytes.slice(bytes.len().checked_sub(left)?..);
        let set = StreamSet::parse(&body, offset, &Deviations::new(true)).ok()?;
        let (empty, ours) = set.streams.split_at_checked(want.len())?;
        let is_empty = |(stream, (name, content)): (&CompressedStream, &(&str, Vec<u8>))| {
            stream.name == *name && stream.backend == Backend::Stored && stream.bytes == *content
        };
        let names = ours.iter().map(|stream| stream.name.as_str());
        if !empty.iter().zip(want).all(is_empty) || !names.eq([TABLE, FRAME]) {
            return None;
        }
        let extent = Extent { method: Method::Structured, offset, len: left as u64 };
        Some(Self { start, extent, set })
    }
}

/// Returns the streams of an empty text and their contents; `None` if the codec has no
/// frames of lines.
pub(super) fn contents(codec: Codec) -> Option<Vec<(&'static str, Vec<u8>)>> {
    // No lines, and no newline at the end.
    let no_lines = || vec![0, 0];
    let mut contents: Vec<(&'static str, Vec<u8>)> = match codec {
        Codec::Columnar => {
            let mut meta = no_lines();
            meta.push(0);
            put::lp(&mut meta, b",");
            put::uv(&mut meta, 0);
            vec![("meta", meta)]
        }
        Codec::Log | Codec::Ssh => vec![("meta", no_lines())],
        Codec::Json => vec![("meta", no_lines()), ("value_index", vec![0]), ("rules", vec![0])],
        Codec::Vcf => {
            let mut meta = no_lines();
            // No samples, positions as text, an empty usual token, no other tokens.
            meta.extend_from_slice(&[0, 0, 0, 0]);
            vec![("meta", meta)]
        }
        Codec::Osm => vec![("meta", vec![0]), ("tag_keys", vec![0]), ("roles", vec![0])],
        Codec::JsonDoc => vec![("meta", vec![0])],
        Codec::QColumnar => {
            let mut meta = no_lines();
            put::lp(&mut meta, b",");
            meta.extend_from_slice(&NO_GROUPS);
            vec![("meta", meta)]
        }
        Codec::QJson => {
            let mut meta = no_lines();
            meta.extend_from_slice(&NO_GROUPS);
            vec![("meta", meta), ("template", vec![1, 0]), ("paths", vec![0])]
        }
        Codec::QJson2 => {
            let mut meta = no_lines();
            // No templates.
            meta.push(0);
            vec![("meta", meta)]
        }
        Codec::Dicom | Codec::Embed | Codec::Bundle | Codec::Raw => return None,
    };
    for &name in names(codec) {
        if contents.iter().all(|(known, _)| *known != name) {
            contents.push((name, Vec::new()));
        }
    }
    Some(contents)
}

/// No columns, one row in a group, no rows and no groups.
const NO_GROUPS: [u8; 4] = [0, 1, 0, 0];

/// Returns the names of all streams of a codec: a decoder may require them.
fn names(codec: Codec) -> &'static [&'static str] {
    match codec {
        Codec::Columnar => &[
            "meta",
            "row_modes",
            "fieldcounts",
            "coltypes",
            "col_index",
            "values",
            "quotemodes",
            "quotebits",
            "verbatim",
            "header",
        ],
        Codec::Log => &["meta", "templates", "flags", "tids", "vars", "verbatim"],
        Codec::Ssh => &[
            "meta",
            "flags",
            "months",
            "days",
            "times",
            "hosts",
            "pids",
            "template_ids",
            "templates",
            "vars",
            "rawmsgs",
            "verbatim",
        ],
        Codec::Json => {
            &["meta", "flags", "verbatim", "keyvocab", "value_index", "values", "rules", "tape"]
        }
        Codec::JsonDoc => &["meta", "raw"],
        Codec::Vcf => &[
            "meta", "flags", "chrom", "pos", "id", "ref", "alt", "qual", "filter", "info",
            "format", "gt", "verbatim",
        ],
        Codec::Osm => &["meta", "opcodes", "verbatim", "tag_keys", "roles"],
        Codec::QColumnar => &["meta", "row_modes", "verbatim", "index", "blocks"],
        Codec::QJson => &["meta", "template", "paths", "row_modes", "verbatim", "index", "blocks"],
        Codec::QJson2 => &["meta", "line_map", "verbatim"],
        Codec::Dicom | Codec::Embed | Codec::Bundle | Codec::Raw => &[],
    }
}
