//! Packs frames in other places than the one that writes the archive, such as other machines.
//!
//! A frame depends on those before it only by a [`FrameState`]: the codec, and how rows are split.
//! It is known after the first frame and hardly ever changes, so all later ones can be packed at
//! the same time.

use std::io::Read;
use std::ops::Range;

use crate::codec::Codec;
use crate::container::Method;
use crate::fields::Dialect;
use crate::frame_checksums::FrameChecksums;
use crate::pack::frame::FrameModel;
use crate::pack::frame_encoder::{FrameEncoder, WrittenFrame};
use crate::pack::groups::qcolumnar::RowFormat;
use crate::pack::lines::FrameSplitter;
use crate::pack::options::{Layout, PackOptions};
use crate::pack::row_syntax::RowSyntax;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::text::{TextFormat, TextKind};
use hypostyle_core::wire::{Cursor, put};

/// What the encoder of a frame knows of the frames before it, as bytes that can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameState(Vec<u8>);

/// A frame that was packed elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedFrame {
    /// The frame as the archive has it.
    pub bytes: Vec<u8>,
    /// What the frame after it depends on.
    pub next: FrameState,
}

/// Packs the frames of an archive after the first one.
pub trait FramePacker {
    /// Starts to pack all frames from a number on, from this state; the first one is 0.
    ///
    /// # Errors
    ///
    /// Fails if frames cannot be packed.
    fn start(&mut self, state: &FrameState, first: usize) -> Result<()>;

    /// Returns the next frame, whose text is given for comparison.
    ///
    /// # Errors
    ///
    /// Fails if the frame could not be packed, or is not one of this text.
    fn next(&mut self, text: &[u8]) -> Result<PackedFrame>;
}

/// Returns the ranges of bytes of the frames that [`pack_stream`](super::pack_stream) makes.
///
/// # Errors
///
/// Fails if the input cannot be read.
pub fn frame_ranges(mut input: impl Read, options: &PackOptions) -> Result<Vec<Range<u64>>> {
    let mut splitter = FrameSplitter::default();
    let (mut ranges, mut start) = (Vec::new(), 0_u64);
    while let Some(text) = splitter.next(&mut input, options.chunk_lines)? {
        let end = start.saturating_add(text.len() as u64);
        ranges.push(start..end);
        start = end;
    }
    Ok(ranges)
}

/// Packs the text of one frame, unpacks it and compares.
///
/// # Errors
///
/// Fails if the state is none, and for the same reasons as [`pack`](super::pack).
pub fn pack_frame(state: &FrameState, text: &[u8], options: &PackOptions) -> Result<PackedFrame> {
    options.check()?;
    let mut encoder = state.encoder(options)?;
    let WrittenFrame { bytes, .. } = encoder.encode(text, options)?;
    Ok(PackedFrame { bytes, next: FrameState::of(&encoder) })
}

/// How the model of frames is written.
const NO_MODEL: u8 = 0;
const TABLE_MODEL: u8 = 1;
const JSON_MODEL: u8 = 2;

/// How the syntax of rows is written.
const NO_ROWS: u8 = 0;
const DELIMITED_ROWS: u8 = 1;
const OBJECT_ROWS: u8 = 2;

/// The kinds of text whose frames may have search filters.
const SEARCHED: [TextKind; 3] = [TextKind::Log, TextKind::Lines, TextKind::JsonLines];

impl FrameState {
    /// Returns the bytes of the state.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns a state from its bytes, which are checked when it is used.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Returns the state of an encoder that has encoded a frame.
    pub(super) fn of(encoder: &FrameEncoder) -> Self {
        let mut out = vec![encoder.codec.id(), u8::from(encoder.serves_queries())];
        match &encoder.model {
            None => out.push(NO_MODEL),
            Some(FrameModel::Table(RowFormat { dialect, width, header })) => {
                out.extend([TABLE_MODEL, u8::from(*header), u8::from(dialect.quotes)]);
                put::lp(&mut out, &dialect.delimiter);
                put_width(&mut out, *width);
            }
            Some(FrameModel::Json(codec, asked)) => {
                // A codec has another number than 255.
                out.extend([JSON_MODEL, codec.map_or(u8::MAX, Codec::id), u8::from(*asked)]);
            }
        }
        match encoder.table() {
            None => out.push(NO_ROWS),
            Some(RowSyntax::Delimited { delimiter, header, width }) => {
                out.extend([DELIMITED_ROWS, delimiter, u8::from(header)]);
                put_width(&mut out, width);
            }
            Some(RowSyntax::Objects) => out.push(OBJECT_ROWS),
        }
        // Frames of other kinds have no search filters.
        let kind = encoder.format.map(|format| format.kind);
        let searched = SEARCHED.iter().position(|of| Some(*of) == kind);
        put_width(&mut out, searched);
        Self(out)
    }

    /// Returns an encoder in this state.
    pub(super) fn encoder(&self, options: &PackOptions) -> Result<FrameEncoder> {
        let mut bytes = Cursor::new(&self.0, 0);
        let codec = Codec::from_id(bytes.u8("codec")?)?;
        let serves_queries = flag(&mut bytes)?;
        let model = match bytes.u8("model")? {
            NO_MODEL => None,
            TABLE_MODEL => {
                let (header, quotes) = (flag(&mut bytes)?, flag(&mut bytes)?);
                let delimiter = bytes.lp("delimiter")?.to_vec();
                let dialect = Dialect { delimiter, quotes };
                Some(FrameModel::Table(RowFormat { dialect, width: width(&mut bytes)?, header }))
            }
            JSON_MODEL => {
                let codec = match bytes.u8("codec of the model")? {
                    u8::MAX => None,
                    id => Some(Codec::from_id(id)?),
                };
                Some(FrameModel::Json(codec, flag(&mut bytes)?))
            }
            _ => return Err(unknown()),
        };
        let table = match bytes.u8("rows")? {
            NO_ROWS => None,
            DELIMITED_ROWS => {
                let (delimiter, header) = (bytes.u8("delimiter")?, flag(&mut bytes)?);
                let width = width(&mut bytes)?;
                Some(RowSyntax::Delimited { delimiter, header, width })
            }
            OBJECT_ROWS => Some(RowSyntax::Objects),
            _ => return Err(unknown()),
        };
        let format = match width(&mut bytes)? {
            Some(index) => {
                let kind = SEARCHED.get(index).copied().ok_or_else(unknown)?;
                Some(TextFormat { kind, header: false })
            }
            None => None,
        };
        if !bytes.is_empty() {
            return Err(unknown());
        }
        let mut encoder = FrameEncoder::with_codec(codec, model, options.chunk_lines);
        encoder.format = format;
        Ok(encoder.with_state(table, serves_queries))
    }
}

fn put_width(out: &mut Vec<u8>, width: Option<usize>) {
    put::uv(out, width.map_or(0, |width| (width as u64).saturating_add(1)));
}

fn width(bytes: &mut Cursor<'_>) -> Result<Option<usize>> {
    Ok(bytes.size("width")?.checked_sub(1))
}

fn flag(bytes: &mut Cursor<'_>) -> Result<bool> {
    Ok(bytes.u8("flag")? != 0)
}

fn unknown() -> Error {
    Error::malformed("frame state", "it is of another version")
}

impl PackedFrame {
    /// Returns the frame as one that was packed here.
    pub(super) fn written(self, codec: Codec, layout: Layout) -> Result<WrittenFrame> {
        let mut bytes = Cursor::new(&self.bytes, 0);
        let body = bytes.lp("frame")?;
        let (Some((&method, body)), true) = (body.split_first(), bytes.is_empty()) else {
            return Err(Error::malformed("frame", "it is not one frame"));
        };
        let is_raw = method != 0;
        let method = if is_raw { Method::Raw } else { Method::Structured };
        let checksums = match layout {
            Layout::Reference => Some(FrameChecksums::of(codec, method, body)?),
            Layout::Published => None,
        };
        Ok(WrittenFrame { bytes: self.bytes, is_raw, checksums })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::driver::{pack_stream, pack_stream_elsewhere};
    use crate::pack::options::Choice;

    /// Packs frames from the ranges that an executor would read.
    struct ByRanges<'a> {
        text: &'a [u8],
        ranges: Vec<Range<u64>>,
        options: PackOptions,
        state: Option<FrameState>,
        next: usize,
        starts: usize,
    }

    impl FramePacker for ByRanges<'_> {
        fn start(&mut self, state: &FrameState, first: usize) -> Result<()> {
            (self.state, self.next) = (Some(FrameState::from_bytes(state.as_bytes())), first);
            self.starts += 1;
            Ok(())
        }

        fn next(&mut self, _: &[u8]) -> Result<PackedFrame> {
            let range = self.ranges[self.next].clone();
            self.next += 1;
            let at = |offset: u64| usize::try_from(offset).unwrap();
            let text = &self.text[at(range.start)..at(range.end)];
            pack_frame(self.state.as_ref().unwrap(), text, &self.options)
        }
    }

    /// Packs a text in both ways, and returns how often the state of frames has changed.
    fn packed_alike(text: &[u8], options: &PackOptions) -> usize {
        let mut here = Vec::new();
        let expected = pack_stream(text, &mut here, options, |_, _| {}).unwrap();
        let ranges = frame_ranges(text, options).unwrap();
        assert_eq!(ranges.len() as u64, expected.frames.0);
        let (state, options) = (None, options.clone());
        let mut elsewhere = ByRanges { text, ranges, options, state, next: 0, starts: 0 };
        let mut out = Vec::new();
        let options = elsewhere.options.clone();
        let packed = pack_stream_elsewhere(text, &mut out, &options, &mut elsewhere, |_, _| {});
        assert_eq!(packed.unwrap(), expected);
        assert!(out == here);
        elsewhere.starts
    }

    #[test]
    fn frames_that_are_packed_elsewhere_are_the_same() {
        let table: String =
            (0..500).map(|row| format!("{row},name {},{}.5\n", row % 7, row * 31 % 97)).collect();
        let table = format!("id,name,price\n{table}");
        let objects: String =
            (0..500).map(|row| format!("{{\"id\":{row},\"of\":\"{}\"}}\n", row % 5)).collect();
        let log: String =
            (0..500).map(|row| format!("GET /page/{} took {row} ms\n", row % 9)).collect();
        let late = format!("{}{table}", "\u{1}\n".repeat(200));
        let codecs = [Choice::Auto, Choice::Query, Choice::Only(Codec::QColumnar)];
        for choice in codecs.into_iter().chain([Choice::Only(Codec::Columnar)]) {
            for text in [&table, &objects, &log, &late, "", "a\n", "no newline"] {
                for lines in [200, 5000] {
                    let options = PackOptions::default().with_chunk_lines(lines).with_level(1);
                    packed_alike(text.as_bytes(), &options.with_codec(choice));
                }
            }
        }
    }

    #[test]
    fn a_state_that_changes_is_noticed() {
        // The first frame has no line that fits the table, so the second one finds its width.
        let table: String = (0..300).map(|row| format!("{row};x{}\n", row % 3)).collect();
        let text = format!("{}{table}", "\n".repeat(100));
        let options = PackOptions::default().with_chunk_lines(100);
        let options = options.with_codec(Choice::Only(Codec::QColumnar));
        assert!(packed_alike(text.as_bytes(), &options) >= 1);
    }

    #[test]
    fn a_state_survives_the_way() {
        let options = PackOptions::default();
        let dialect = Dialect { delimiter: b"||".to_vec(), quotes: true };
        let format = |width, header| RowFormat { dialect: dialect.clone(), width, header };
        let models = [
            None,
            Some(FrameModel::Table(format(Some(3), false))),
            Some(FrameModel::Table(format(None, true))),
            Some(FrameModel::Json(Some(Codec::QJson2), true)),
            Some(FrameModel::Json(None, false)),
        ];
        let delimited = |width| RowSyntax::Delimited { delimiter: b';', header: true, width };
        let tables =
            [None, Some(RowSyntax::Objects), Some(delimited(None)), Some(delimited(Some(9)))];
        let kinds = SEARCHED.into_iter().map(Some).chain([None]);
        let mut states = Vec::new();
        for (model, kind) in
            models.iter().flat_map(|model| kinds.clone().map(move |of| (model, of)))
        {
            for (table, serves) in tables.into_iter().flat_map(|it| [(it, false), (it, true)]) {
                let mut encoder = FrameEncoder::with_codec(Codec::Columnar, model.clone(), 7);
                encoder.format = kind.map(|kind| TextFormat { kind, header: false });
                let state = FrameState::of(&encoder.with_state(table, serves));
                let arrived = FrameState::from_bytes(state.as_bytes()).encoder(&options).unwrap();
                assert_eq!(FrameState::of(&arrived), state);
                assert_eq!(arrived.format.map(|format| format.kind), kind);
                assert!(!states.contains(&state), "two encoders have one state");
                states.push(state);
            }
        }
    }

    #[test]
    fn a_state_of_another_version_is_refused() {
        let options = PackOptions::default();
        for bytes in [&b""[..], b"\xff", b"\x01\x00\x09", b"\x01\x00\x00\x00\x00\x00"] {
            let state = FrameState::from_bytes(bytes);
            assert!(pack_frame(&state, b"a\n", &options).is_err(), "{bytes:?}");
        }
    }
}
