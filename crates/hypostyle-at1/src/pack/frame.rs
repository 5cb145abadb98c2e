//! Encodes the content of one frame, structured or raw.

use crate::codec::Codec;
use crate::codecs::columnar::group_directory::has_several_groups;
use crate::container::Method;
use crate::frame_checksums::{ArchiveChecksums, FrameChecksums};
use crate::line_groups::{GROUPS, layout, text_sizes};
use crate::pack::context::EncodeContext;
use crate::pack::grouping::Grouping;
use crate::pack::groups::qcolumnar::{self, RowFormat};
use crate::pack::groups::qjson;
use crate::pack::line_group_request::LineGroupRequest;
use crate::pack::options::{Choice, Layout, PackOptions};
use crate::pack::row_syntax::{RowSyntax, compared_size};
use crate::pack::search::SearchParams;
use crate::pack::select::encoders::{ENCODERS, Encoder};
use crate::pack::select::raw;
use crate::pack::select::report::{Outcome, Trial};
use crate::pack::select::selection::{self, Structured};
use crate::pack::select::structured_size::{SizeReporter, StructuredSize};
use crate::pack::self_check;
use crate::pack::stream_set::{Body, Stream, put_set};
use crate::pack::table_summary::{max_table_bytes, table_stream};
use crate::pack::text_filter;
use crate::table_frame::TABLE;
use crate::table_metadata::TableMetadata;
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::options::resolve_threads;
use hypostyle_core::parallel;
use hypostyle_core::text::{RowPosition, TextFormat, TextKind};

/// Maximum bytes of text that encoders accept: they store offsets in 32 bits.
const MAX_TEXT_BYTES: usize = u32::MAX as usize - 1;

/// Maximum bytes of a text whose archive must not become larger than RAW by the stream of
/// its table.
const MAX_TINY_BYTES: usize = 64 << 10;

/// The share of an archive that row groups may cost.
const GROUP_SHARE: f64 = 0.018;

/// The same for an archive that is made to be queried.
const QUERY_GROUP_SHARE: f64 = 0.039;

/// The content of a frame, or of a whole archive, as it is written.
#[derive(Debug)]
pub(super) enum EncodedFrame {
    Structured(Codec, Vec<Stream>),
    Raw(Body),
}

/// What all frames of a queryable archive have in common.
#[derive(Clone, Debug)]
pub(super) enum FrameModel {
    /// Delimited text.
    Table(RowFormat),
    /// JSON Lines: the codec, if it is settled, and whether the caller asked for it.
    Json(Option<Codec>, bool),
}

impl FrameModel {
    /// Returns the model that suits a text whose table has this syntax; `None` if the text
    /// has neither cells nor objects, or if the archive is not to be queried.
    ///
    /// If the caller asked for a codec, a text without such a table is split into the fields
    /// that make it smallest.
    pub(super) fn find(
        text: &[u8],
        table: Option<RowSyntax>,
        choice: Choice,
    ) -> Result<Option<Self>> {
        if !choice.is_queryable() || text.len() > MAX_TEXT_BYTES {
            return Ok(None);
        }
        match choice {
            Choice::Only(Codec::QJson) => Ok(Some(Self::Json(Some(Codec::QJson), true))),
            Choice::Only(Codec::QJson2) => Ok(Some(Self::Json(Some(Codec::QJson2), true))),
            Choice::Query if table == Some(RowSyntax::Objects) => Ok(Some(Self::Json(None, false))),
            // The columns of codec columnar answer queries of other tables.
            Choice::Query => Ok(None),
            _ => match table.and_then(qcolumnar::of_table) {
                Some(format) => Ok(Some(Self::Table(format))),
                None => Ok(qcolumnar::find(text)?.map(Self::Table)),
            },
        }
    }

    /// Encodes a text; returns the frame and the model for the text after it, or `None` if
    /// no line fits the model.
    pub(super) fn encode(
        &self,
        text: &[u8],
        options: &PackOptions,
    ) -> Result<Option<(EncodedFrame, Self)>> {
        let search = &SearchParams::new(options);
        if text.len() > MAX_TEXT_BYTES {
            return Ok(None);
        }
        Ok(match self {
            Self::Table(format) => {
                let encoded = qcolumnar::streams(text, format, search, options)?;
                encoded.map(|(streams, width)| {
                    // Only the first frame has a header.
                    let next = RowFormat { width: Some(width), header: false, ..format.clone() };
                    (EncodedFrame::Structured(Codec::QColumnar, streams), Self::Table(next))
                })
            }
            Self::Json(codec, asked) => {
                let encoded = qjson::streams(text, *codec, *asked, search, options)?;
                encoded.map(|(streams, codec)| {
                    (EncodedFrame::Structured(codec, streams), Self::Json(Some(codec), *asked))
                })
            }
        })
    }
}

impl EncodedFrame {
    /// Encodes some content in its smallest form, structured or raw; also returns a report
    /// of what was tried.
    ///
    /// If `only` is set, the other codecs are not tried. If the options ask for a codec, its
    /// structured form is used even if it is larger than the raw one. With `lines`, the lines
    /// may be divided into groups.
    pub(super) fn new(
        original: &[u8],
        only: Option<Codec>,
        table: Option<RowSyntax>,
        lines: Option<&LineGroupRequest>,
        options: &PackOptions,
    ) -> Result<(Self, Vec<Trial>)> {
        let search = &SearchParams::new(options);
        let zstd_size = zstd::compress(original, 1)?.len();
        let asked = matches!(options.codec, Choice::Only(_));
        let is_noise = !asked && raw::is_noise(original, zstd_size);
        let (suited, mut trials) = suited_encoders(original, only, is_noise, options.codec);
        let size = StructuredSize::default();
        // The reporter moves into the closure, so that it is dropped when the closure ends.
        let reporter = size.reporter();
        let structured =
            move || Self::structured(original, &suited, (table, lines), search, options, reporter);
        let raw = || raw::body(original, zstd_size, &size, search);
        let (structured, raw) = if asked {
            match structured()? {
                (Some(form), trials) => {
                    return Ok((Self::Structured(form.codec, form.streams), trials));
                }
                none => (Ok(none), raw()),
            }
        } else {
            parallel::both(resolve_threads(options.threads), structured, raw)
        };
        let (structured, tried) = structured?;
        trials.extend(tried);
        let (frame, outcome) = match (structured, raw?) {
            (_, Some(body)) => {
                let outcome = Outcome::Made(body.bytes.len() as u64);
                (Self::Raw(body), outcome)
            }
            (Some(form), None) => (Self::Structured(form.codec, form.streams), Outcome::GivenUp),
            (None, None) => return Err(self_check::failed("packing made neither form")),
        };
        trials.push(Trial { codec: Codec::Raw, form: "", outcome });
        Ok((frame, trials))
    }

    /// Encodes some content so that the columns of its table can be read, whatever the size.
    ///
    /// If `only` is set, the other codecs are not tried. Returns `None` if the options do not
    /// ask for that, or if the content has no such form.
    pub(super) fn for_queries(
        original: &[u8],
        only: Option<Codec>,
        table: Option<RowSyntax>,
        options: &PackOptions,
    ) -> Result<Option<Self>> {
        if options.codec != Choice::Query || original.len() > MAX_TEXT_BYTES {
            return Ok(None);
        }
        let objects = Self::with_object_columns(original, table, options)?;
        if objects.is_some() {
            return Ok(objects);
        }
        let is_allowed = |encoder: &&Encoder| only.is_none_or(|codec| codec == encoder.codec);
        let serving = ENCODERS.iter().filter(|encoder| encoder.serves(table)).filter(is_allowed);
        let form = Self::form_of(&serving.collect::<Vec<_>>(), original, table, options)?;
        Ok(form.map(|form| Self::Structured(form.codec, form.streams)))
    }

    /// Encodes JSON Lines by fields that say where the values are (§5.7.1); `None` if the
    /// options do not ask for queries, or if there are no such fields.
    pub(super) fn with_object_columns(
        original: &[u8],
        table: Option<RowSyntax>,
        options: &PackOptions,
    ) -> Result<Option<Self>> {
        let is_asked = options.codec == Choice::Query && original.len() <= MAX_TEXT_BYTES;
        if !is_asked || table != Some(RowSyntax::Objects) {
            return Ok(None);
        }
        let columnar = ENCODERS.iter().filter(|it| it.by_lines && it.codec == Codec::Columnar);
        let form = Self::form_of(&columnar.collect::<Vec<_>>(), original, table, options)?;
        let has_groups = |form: &Structured| form.streams.iter().any(|it| it.name == GROUPS);
        Ok(form.filter(has_groups).map(|form| Self::Structured(form.codec, form.streams)))
    }

    /// Returns the smallest form that some encoders make for queries.
    fn form_of(
        encoders: &[&Encoder],
        original: &[u8],
        table: Option<RowSyntax>,
        options: &PackOptions,
    ) -> Result<Option<Structured>> {
        let (search, size) = (&SearchParams::new(options), StructuredSize::default());
        let from = (table, None);
        let (form, _) =
            Self::structured(original, encoders, from, search, options, size.reporter())?;
        Ok(form)
    }

    /// Returns the smallest structured form and a report, and reports its size.
    fn structured(
        original: &[u8],
        encoders: &[&Encoder],
        (table, lines): (Option<RowSyntax>, Option<&LineGroupRequest>),
        search: &SearchParams,
        options: &PackOptions,
        reporter: SizeReporter<'_>,
    ) -> Result<(Option<Structured>, Vec<Trial>)> {
        let default = PackOptions::DEFAULT_LEVEL;
        let second_search = (options.level > default)
            .then(|| SearchParams::new(&options.clone().with_level(default)));
        // Above the default level, skip rough estimates.
        let rough_search = (options.level <= default && !search.is_quick()).then(|| search.rough());
        let context = EncodeContext {
            search,
            rough_search: rough_search.as_ref(),
            second_search: second_search.as_ref(),
            table,
            grouping: grouping(options),
            must_serve: options.codec == Choice::Query || options.rows_per_group.is_some(),
            lines,
            threads: resolve_threads(options.threads),
            report_estimate: &|bytes| reporter.estimate(bytes),
        };
        let (best, trials) = selection::best(original, encoders, &context)?;
        if let Some(form) = &best {
            let mut set = Vec::new();
            put_set(&form.streams, options.layout, &mut set);
            reporter.finish(compared_size(set.len(), form.service));
        }
        Ok((best, trials))
    }

    /// Adds the stream that says what table the text is, if it takes at most `room` bytes.
    ///
    /// If only the summary is too large, the stream has the format of the text alone.
    pub(super) fn with_table(
        mut self,
        table: Option<&TableMetadata>,
        room: usize,
        options: &PackOptions,
    ) -> Result<Self> {
        let mut set = Vec::new();
        self.put(options.layout, &mut set);
        let Self::Structured(codec, streams) = &mut self else { return Ok(self) };
        // Line groups serve nobody without the table, which was weighed with them.
        let has_groups = line_groups_of(*codec, streams).is_some();
        let room = if has_groups { usize::MAX } else { room.min(max_table_bytes(set.len())) };
        let Some(table) = table.filter(|_| options.layout == Layout::Reference) else {
            return Ok(self);
        };
        // The checksums cover all streams but this one, which counts.
        streams.insert(0, Stream { name: TABLE.into(), body: Body::stored(Vec::new()) });
        set.clear();
        put_set(streams, options.layout, &mut set);
        let checksums = FrameChecksums::of(*codec, Method::Structured, &set)?;
        streams.remove(0);
        let checksums = Some(ArchiveChecksums::new(vec![checksums]));
        let table = TableMetadata { checksums, ..table.clone() };
        let format = TableMetadata { summary: None, ..table.clone() };
        for table in [&table, &format] {
            if let Some(stream) = table_stream(table)?
                && stream.written_size() <= room
            {
                // The first read of an archive returns the first stream.
                streams.insert(0, stream);
                break;
            }
        }
        Ok(self)
    }

    /// Adds the stream that says which strings the text may have, if it pays.
    ///
    /// People search logs, lines and JSON Lines; the bytes of a filter would be lost on tables.
    /// A text with a zero byte has none: whether a text is binary is seen at its start.
    pub(super) fn with_filter(
        mut self,
        text: &[u8],
        format: Option<TextFormat>,
        options: &PackOptions,
    ) -> Result<Self> {
        let is_searched = |format: TextFormat| {
            matches!(format.kind, TextKind::Log | TextKind::Lines | TextKind::JsonLines)
        };
        let is_wanted = options.index && options.layout == Layout::Reference;
        if !is_wanted
            || !format.is_some_and(is_searched)
            || text.len() < text_filter::MIN_TEXT_BYTES
            || text.contains(&0)
        {
            return Ok(self);
        }
        let mut set = Vec::new();
        self.put(options.layout, &mut set);
        let Self::Structured(codec, streams) = &mut self else { return Ok(self) };
        let sizes = match line_groups_of(*codec, streams) {
            Some(groups) => {
                let sizes = text_sizes(&groups.body.content()?)?;
                sizes.into_iter().map(|(_, bytes)| bytes).collect()
            }
            None => vec![text.len() as u64],
        };
        if let Some(stream) = text_filter::stream(text, &sizes, set.len())? {
            // Readers of the small streams before it pass it by.
            let bulk = streams.iter().position(|stream| codec.is_bulk(&stream.name));
            streams.insert(bulk.unwrap_or(streams.len()), stream);
        }
        Ok(self)
    }

    /// Makes each line group of the frame a row group of its table.
    pub(super) fn set_row_index(&self, table: Option<&mut TableMetadata>) -> Result<()> {
        let Self::Structured(codec, streams) = self else { return Ok(()) };
        let stream = line_groups_of(*codec, streams);
        let summary = table.and_then(|table| table.summary.as_mut());
        let (Some(stream), Some(summary)) = (stream, summary) else { return Ok(()) };
        // A byte order mark is before the first row.
        let first = summary.row_index.first().copied().unwrap_or_default();
        let (mut row, mut offset) = (0, 0);
        summary.row_index.clear();
        for (lines, bytes) in text_sizes(&stream.body.content()?)? {
            summary.row_index.push(RowPosition { row, offset, line: row });
            (row, offset) = (row + lines, offset + bytes);
        }
        if let Some(start) = summary.row_index.first_mut() {
            *start = first;
        }
        Ok(())
    }

    /// Returns how many bytes smaller than RAW the frame is.
    pub(super) fn room_below_raw(&self, original: &[u8], options: &PackOptions) -> Result<usize> {
        // Next to a larger text, the stream of the table is negligible.
        if matches!(options.codec, Choice::Only(_)) || original.len() > MAX_TINY_BYTES {
            return Ok(usize::MAX);
        }
        let mut set = Vec::new();
        self.put(options.layout, &mut set);
        let raw = raw::smallest_size(original, &SearchParams::new(options))?;
        Ok(raw.saturating_sub(set.len()))
    }

    /// Returns another frame of columns if it is smaller and has several row groups.
    pub(super) fn or_columns(self, columns: Self, layout: Layout) -> Result<Self> {
        let size = |frame: &Self| {
            let mut out = Vec::new();
            frame.put(layout, &mut out);
            out.len()
        };
        let has_groups = match &columns {
            Self::Structured(Codec::Columnar, streams) => {
                let groups = streams.iter().find(|stream| stream.name == GROUPS);
                let groups = groups.map(|stream| has_several_groups(&stream.body.content()?));
                groups.transpose()? == Some(true)
            }
            _ => false,
        };
        Ok(if has_groups && size(&columns) < size(&self) { columns } else { self })
    }

    /// Appends the frame as it is written.
    pub(super) fn put(&self, layout: Layout, out: &mut Vec<u8>) {
        match self {
            Self::Structured(_, streams) => put_set(streams, layout, out),
            Self::Raw(body) => body.put(layout, out),
        }
    }

    /// Returns the codec of the frame.
    pub(super) fn codec(&self) -> Codec {
        match self {
            Self::Structured(codec, _) => *codec,
            Self::Raw(_) => Codec::Raw,
        }
    }
}

/// Returns how finely a table is divided into row groups.
fn grouping(options: &PackOptions) -> Option<Grouping> {
    if !options.index || options.layout == Layout::Published {
        return None;
    }
    let is_asked = options.rows_per_group.is_some() || options.codec == Choice::Query;
    if SearchParams::new(options).is_quick() && !is_asked {
        return None;
    }
    Some(match (options.rows_per_group, options.codec) {
        (Some(rows), _) => Grouping::Rows(rows.get()),
        (None, Choice::Query) => Grouping::Budget(QUERY_GROUP_SHARE),
        (None, _) => Grouping::Budget(GROUP_SHARE),
    })
}

/// Returns the stream that states line groups; codec columnar has another one of this name.
fn line_groups_of(codec: Codec, streams: &[Stream]) -> Option<&Stream> {
    layout(codec)?;
    streams.iter().find(|stream| stream.name == GROUPS)
}

/// Returns the encoders to try for some content, and the trials of those that do not suit it.
fn suited_encoders(
    original: &[u8],
    only: Option<Codec>,
    is_noise: bool,
    choice: Choice,
) -> (Vec<&'static Encoder>, Vec<Trial>) {
    let (mut suited, mut trials) = (Vec::new(), Vec::new());
    if original.len() > MAX_TEXT_BYTES {
        return (suited, trials);
    }
    // Noise has no lines, but it may be an array of numbers.
    for encoder in ENCODERS.iter().filter(|encoder| !(is_noise && encoder.by_lines)) {
        match choice {
            Choice::Only(codec) if codec != encoder.codec => {}
            Choice::Only(_) => suited.push(encoder),
            _ if only.is_some_and(|codec| codec != encoder.codec) => {}
            _ if (encoder.suits)(original) => suited.push(encoder),
            _ => trials.push(encoder.trial(Outcome::Unlike)),
        }
    }
    (suited, trials)
}
