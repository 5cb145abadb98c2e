//! One decoder for each codec, and what the line codecs share (§3).

use std::fmt;

use super::describe::FrameInfo;
use super::output::Output;
use super::streams::{Packed, PackedSet, Stream, Streams};
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::limits::Limits;

pub(super) use columnar::project::Projection;
pub(super) use columnar::{kind, project};

pub(super) mod bundle;
mod columnar;
mod deltas;
pub(super) mod dicom;
mod embed;
pub(super) mod groups;
mod json;
mod jsondoc;
mod log;
mod osm;
mod qcolumnar;
pub(super) mod qjson;
pub(super) mod qjson2;
pub(super) mod ssh;
mod token_columns;
mod vcf;

#[cfg(test)]
mod tests;

/// How an archive is coded (§2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// Lines of sshd in an auth log.
    Ssh,
    /// JSON Lines as a tape.
    Json,
    /// OpenStreetMap XML.
    Osm,
    /// Lines of any log.
    Log,
    /// Delimited text in typed columns.
    Columnar,
    /// Variant calls.
    Vcf,
    /// One JSON document.
    JsonDoc,
    /// Delimited text in row groups.
    QColumnar,
    /// JSON Lines of one template in row groups.
    QJson,
    /// Medical images.
    Dicom,
    /// Arrays of numbers.
    Embed,
    /// JSON Lines of several templates in row groups.
    QJson2,
    /// Several archives under names.
    Bundle,
    /// Any bytes.
    Raw,
}

impl Codec {
    /// Every codec.
    pub const ALL: [Self; 14] = [
        Self::Ssh,
        Self::Json,
        Self::Osm,
        Self::Log,
        Self::Columnar,
        Self::Vcf,
        Self::JsonDoc,
        Self::QColumnar,
        Self::QJson,
        Self::Dicom,
        Self::Embed,
        Self::QJson2,
        Self::Bundle,
        Self::Raw,
    ];

    /// The byte that stands for the codec.
    pub fn id(self) -> u8 {
        match self {
            Self::Ssh => 0,
            Self::Json => 1,
            Self::Osm => 2,
            Self::Log => 3,
            Self::Columnar => 4,
            Self::Vcf => 5,
            Self::JsonDoc => 6,
            Self::QColumnar => 7,
            Self::QJson => 8,
            Self::Dicom => 9,
            Self::Embed => 10,
            Self::QJson2 => 11,
            Self::Bundle => 12,
            Self::Raw => 255,
        }
    }

    /// The codec that a byte stands for.
    pub(super) fn from_id(id: u8) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|codec| codec.id() == id);
        found.ok_or_else(|| Error::unsupported(format!("codec {id}")))
    }

    /// Whether rows are in groups, so that an archive can be queried without unpacking it.
    pub fn has_groups(self) -> bool {
        matches!(self, Self::QColumnar | Self::QJson | Self::QJson2)
    }

    /// The name, as users type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ssh => "ssh",
            Self::Json => "json",
            Self::Osm => "osm",
            Self::Log => "log",
            Self::Columnar => "columnar",
            Self::Vcf => "vcf",
            Self::JsonDoc => "jsondoc",
            Self::QColumnar => "qcolumnar",
            Self::QJson => "qjson",
            Self::Dicom => "dicom",
            Self::Embed => "embed",
            Self::QJson2 => "qjson2",
            Self::Bundle => "bundle",
            Self::Raw => "raw",
        }
    }
}

impl Codec {
    /// What it is for, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Ssh => "Lines of sshd in an auth log",
            Self::Json => "JSON Lines, values by path",
            Self::Osm => "OpenStreetMap XML",
            Self::Log => "Log lines, by template",
            Self::Columnar => "Delimited text, by columns",
            Self::Vcf => "Variant calls with genotypes",
            Self::JsonDoc => "One JSON document, or lines with values in like places",
            Self::QColumnar => "Delimited text that can be queried",
            Self::QJson => "JSON Lines of one shape that can be queried",
            Self::Dicom => "A medical image",
            Self::Embed => "An array of numbers, such as .npy",
            Self::QJson2 => "JSON Lines of several shapes that can be queried",
            Self::Bundle => "A folder, each file by its best codec",
            Self::Raw => "Compressed as it is",
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A stream of ours in a jsondoc that holds the lines of a log and no document (§7.4).
pub(super) const LINES: &str = "hyp.lines";

/// A stream of ours in a columnar frame whose cells are no fields: the codec as whose
/// lines it is viewed (§7.6.1).
pub(super) const VIEW: &str = "hyp.view";

/// One frame to be decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecodeContext<'a> {
    pub(super) set: &'a PackedSet,
    pub(super) limits: &'a Limits,
    pub(super) threads: usize,
    pub(super) deviations: &'a Deviations,
    /// Rows with too few cells get empty ones: not what the file held, but a table.
    pub(super) pad: bool,
}

impl DecodeContext<'_> {
    /// Expands the streams of these names, and no others.
    fn streams(&self, names: &[&str]) -> Result<Streams> {
        self.expand(|name| names.contains(&name))
    }

    /// Expands the streams that are wanted, and no others.
    pub(super) fn expand(&self, wanted: impl Fn(&str) -> bool) -> Result<Streams> {
        self.set.expand(wanted, self.limits, self.threads, self.deviations)
    }

    /// A stream as it is in the file, if it is there.
    fn packed(&self, name: &str) -> Option<&Packed> {
        self.set.streams.iter().find(|stream| stream.name == name)
    }

    /// Where the bytes of a stream start in the file; deviations cite it.
    fn offset_of(&self, name: &str) -> u64 {
        self.packed(name).map_or(0, |stream| stream.offset)
    }
}

/// Decodes one frame.
pub(super) fn decode(
    codec: Codec,
    context: &DecodeContext<'_>,
    out: &mut Output<'_>,
) -> Result<()> {
    match codec {
        Codec::Ssh => ssh::decode(context, out),
        Codec::Json => json::decode(context, out),
        Codec::Osm => osm::decode(context, out),
        Codec::Log => log::decode(context, out),
        Codec::Columnar => columnar::decode(context, out),
        Codec::Vcf => vcf::decode(context, out),
        Codec::JsonDoc => jsondoc::decode(context, out),
        Codec::QColumnar => qcolumnar::decode(context, out),
        Codec::QJson => qjson::decode(context, out),
        Codec::Dicom => dicom::decode(context, out),
        Codec::Embed => embed::decode(context, out),
        Codec::QJson2 => qjson2::decode(context, out),
        Codec::Bundle => Err(Error::unsupported("unpacking a bundle to a single file")),
        Codec::Raw => Err(Error::malformed("codec", "a raw archive has no streams")),
    }
}

/// How a codec for delimited text cuts lines into cells.
#[derive(Clone, Debug)]
pub(super) struct DelimitedCells {
    pub(super) delimiter: Vec<u8>,
    pub(super) columns: usize,
    /// Whether a header was split off, where the codec does such a thing.
    pub(super) header: Option<bool>,
}

/// How a frame of delimited text is cut.
pub(super) fn cells(codec: Codec, context: &DecodeContext<'_>) -> Result<DelimitedCells> {
    match codec {
        Codec::Columnar => columnar::cells(context),
        _ => qcolumnar::cells(context),
    }
}

/// Describes a columnar frame.
pub(super) fn describe_columnar(context: &DecodeContext<'_>) -> Result<FrameInfo> {
    columnar::describe(context)
}

/// Describes a frame of row groups: one table, or one for each template.
pub(super) fn describe_groups(
    codec: Codec,
    context: &DecodeContext<'_>,
    frames: &mut Vec<FrameInfo>,
) -> Result<()> {
    let prefixes = prefixes(codec, context)?;
    // The blocks themselves are not looked at.
    let streams = context.expand(|name| !name.ends_with("blocks"))?;
    for prefix in prefixes {
        let meta = groups::GroupsMeta::read(&streams, &prefix, codec == Codec::QColumnar, context)?;
        frames.push(groups::describe(
            &streams,
            &prefix,
            &meta,
            codec != Codec::QColumnar,
            context,
        )?);
    }
    Ok(())
}

/// Notes row groups whose columns have no names (A23).
pub(super) fn check_paths(codec: Codec, context: &DecodeContext<'_>) -> Result<()> {
    let streams = context.expand(|name| name.ends_with("meta") || name.ends_with("paths"))?;
    for prefix in prefixes(codec, context)? {
        let meta = groups::GroupsMeta::read(&streams, &prefix, false, context)?;
        groups::paths(&streams, &prefix, &meta, context)?;
    }
    Ok(())
}

/// What the names of streams start with: nothing, or each template's number.
pub(super) fn prefixes(codec: Codec, context: &DecodeContext<'_>) -> Result<Vec<String>> {
    Ok(match codec {
        Codec::QJson2 => {
            (0..qjson2::templates(context)?).map(|number| format!("t{number}:")).collect()
        }
        _ => vec![String::new()],
    })
}

/// Writes the lines of a log frame as objects.
pub(super) fn log_rows(
    codec: Codec,
    context: &DecodeContext<'_>,
    out: &mut Output<'_>,
) -> Result<()> {
    if codec == Codec::Log {
        return log::rows(context, out);
    }
    let mut text = Vec::new();
    let mut lines = Output::new(&mut text, false, context.limits);
    decode(codec, context, &mut lines)?;
    lines.finish(None)?;
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    match codec {
        Codec::Ssh => ssh::rows(context, text, out),
        _ => jsondoc::rows(context, text, out),
    }
}

/// Whether a frame holds the lines of a log.
pub(super) fn is_log(codec: Codec, context: &DecodeContext<'_>) -> bool {
    matches!(codec, Codec::Log | Codec::Ssh)
        || (codec == Codec::JsonDoc && jsondoc::is_log(context))
}

/// Whether a columnar frame holds variant calls.
pub(super) fn is_calls(context: &DecodeContext<'_>) -> Result<bool> {
    if context.packed(VIEW).is_none() {
        return Ok(false);
    }
    let streams = context.streams(&[VIEW])?;
    Ok(streams.read(VIEW).u8("codec of the view")? == Codec::Vcf.id())
}

/// Writes lines without a template as objects.
pub(super) fn log_lines(text: &[u8], out: &mut Output<'_>) -> Result<()> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|&byte| byte == b'\n').try_for_each(|line| log::row(None, line, &[], out))
}

/// Puts newlines between lines: before each but the first (§3).
#[derive(Debug, Default)]
struct Joiner {
    started: bool,
}

impl Joiner {
    /// Must be called before each line.
    #[inline]
    fn next(&mut self, out: &mut Output<'_>) -> Result<()> {
        if self.started {
            out.byte(b'\n')?;
        }
        self.started = true;
        Ok(())
    }
}

/// Reads a `trailing` byte: whether the text ends with a newline (A14).
fn trailing(byte: u8, only_one: bool, context: &DecodeContext<'_>) -> Result<bool> {
    let set = flag(byte, "the flag for the last newline", "meta", context)?;
    Ok(if only_one { byte == 1 } else { set })
}

/// Reads a byte that says yes or no (A14).
fn flag(byte: u8, what: &str, stream: &str, context: &DecodeContext<'_>) -> Result<bool> {
    if byte > 1 {
        let message = format!("{what} is {byte}");
        context.deviations.report("A14", context.offset_of(stream), message)?;
    }
    Ok(byte != 0)
}

/// Notes the first byte that is no mode, in a stream of modes (A14).
fn check_modes(modes: &[u8], name: &str, context: &DecodeContext<'_>) -> Result<()> {
    let odd = modes.iter().enumerate().find(|&(_, &mode)| mode > 1);
    if let Some((line, &mode)) = odd {
        let what = format!("`{name}`: the flag of line {}", line.saturating_add(1));
        flag(mode, &what, name, context)?;
    }
    Ok(())
}

/// A byte for each line: whether it is structured or verbatim (§3).
#[derive(Debug)]
struct Modes<'a> {
    name: &'a str,
    stream: Stream<'a>,
    /// Whether an odd one was met: one report is enough.
    noted: bool,
}

impl<'a> Modes<'a> {
    fn new(streams: &'a Streams, name: &'a str) -> Self {
        Self { name, stream: streams.read(name), noted: false }
    }

    /// Whether the next line is structured.
    #[inline]
    fn structured(&mut self, context: &DecodeContext<'_>) -> Result<bool> {
        let mode = self.stream.u8("flag")?;
        if mode > 1 && !self.noted {
            self.noted = true;
            let what = format!("`{}`: the flag of line {}", self.name, self.stream.offset());
            return flag(mode, &what, self.name, context);
        }
        Ok(mode != 0)
    }
}

/// Takes a number that names one of `items`.
#[inline]
fn pick<'t, T>(stream: &mut Stream<'_>, items: &'t [T], what: &'static str) -> Result<&'t T> {
    let start = stream.offset();
    let index = stream.uv(what)?;
    let found = usize::try_from(index).ok().and_then(|index| items.get(index));
    found.ok_or_else(|| {
        let why = format!("{index} is not below {}, the number there are", items.len());
        stream.malformed_at(start, what, why)
    })
}
