//! What the codecs send, as protocol buffers.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use datafusion_proto::protobuf;
use hypostyle::formats::at1::{Choice, Codec, Layout, PackOptions};
use hypostyle::text::{Encoding, Infer, Ragged, TextOptions};
use hypostyle::{FileKind, FormatId, Limits, OpenOptions, ReadOptions, TextPolicy};
use hypostyle_datafusion::TableOptions;

/// The first bytes of our nodes: Ballista's own messages start with another one.
const MAGIC: &[u8] = b"HYPO\x01";

/// A node of a plan.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Node {
    #[prost(oneof = "NodeKind", tags = "1, 2, 3, 4")]
    pub(crate) kind: Option<NodeKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum NodeKind {
    #[prost(message, tag = "1")]
    Scan(ScanNode),
    #[prost(message, tag = "2")]
    Sink(SinkNode),
    #[prost(message, tag = "3")]
    PartSink(PartSinkNode),
    #[prost(message, tag = "4")]
    Pack(PackNode),
}

/// A scan of files.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ScanNode {
    #[prost(message, optional, tag = "1")]
    pub(crate) format: Option<FormatMessage>,
    #[prost(message, optional, tag = "2")]
    pub(crate) scan: Option<protobuf::FileScanExecConf>,
    /// The filters that the scan applies to every row.
    #[prost(message, repeated, tag = "3")]
    pub(crate) exact: Vec<protobuf::PhysicalExprNode>,
    /// The filters by which it skips what it can.
    #[prost(message, repeated, tag = "4")]
    pub(crate) wider: Vec<protobuf::PhysicalExprNode>,
    #[prost(uint64, optional, tag = "5")]
    pub(crate) memory: Option<u64>,
    /// What the engine does not send of the files, in the order of the file groups.
    #[prost(message, repeated, tag = "6")]
    pub(crate) parts: Vec<PartMessage>,
}

/// A part of a file.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PartMessage {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) first_group: Option<u64>,
    #[prost(uint64, tag = "2")]
    pub(crate) end_group: u64,
    #[prost(string, optional, tag = "3")]
    pub(crate) e_tag: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub(crate) version: Option<String>,
}

/// A sink that one task writes.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SinkNode {
    #[prost(message, optional, tag = "1")]
    pub(crate) format: Option<FormatMessage>,
    #[prost(message, optional, tag = "2")]
    pub(crate) config: Option<protobuf::FileSinkConfig>,
    #[prost(string, tag = "3")]
    pub(crate) original_url: String,
}

/// A sink of one file per partition.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PartSinkNode {
    #[prost(message, optional, tag = "1")]
    pub(crate) sink: Option<SinkNode>,
    /// What the names of the files start with.
    #[prost(string, tag = "2")]
    pub(crate) token: String,
    /// The numbers of the partitions of a task.
    #[prost(uint64, repeated, tag = "3")]
    pub(crate) numbers: Vec<u64>,
}

/// Packs texts.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PackNode {
    #[prost(message, optional, tag = "1")]
    pub(crate) options: Option<PackMessage>,
}

/// How texts are packed.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PackMessage {
    #[prost(uint32, tag = "1")]
    pub(crate) level: u32,
    /// `auto`, `query`, or the name of a codec.
    #[prost(string, tag = "2")]
    pub(crate) codec: String,
    #[prost(bool, tag = "3")]
    pub(crate) published: bool,
    #[prost(uint64, tag = "4")]
    pub(crate) chunk_lines: u64,
    #[prost(uint64, optional, tag = "5")]
    pub(crate) rows_per_group: Option<u64>,
    #[prost(bool, tag = "6")]
    pub(crate) index: bool,
}

/// What became of a text that was packed.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PackedMessage {
    /// The SHA-256 of the text.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) hash: Vec<u8>,
    /// The state after a frame.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(crate) next: Option<Vec<u8>>,
    #[prost(string, tag = "3")]
    pub(crate) codec: String,
    #[prost(uint64, tag = "4")]
    pub(crate) original: u64,
    #[prost(bool, tag = "5")]
    pub(crate) is_raw: bool,
    #[prost(bool, tag = "6")]
    pub(crate) is_queryable: bool,
}

/// A kind of files, and how they are read and written.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct FormatMessage {
    #[prost(string, tag = "1")]
    pub(crate) kind: String,
    #[prost(map = "string, string", tag = "2")]
    pub(crate) settings: HashMap<String, String>,
    #[prost(message, optional, tag = "3")]
    pub(crate) open: Option<OpenMessage>,
}

/// How files are opened.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct OpenMessage {
    #[prost(string, optional, tag = "1")]
    pub(crate) format: Option<String>,
    #[prost(bool, tag = "2")]
    pub(crate) strict: bool,
    #[prost(bool, tag = "3")]
    pub(crate) thorough: bool,
    #[prost(uint32, tag = "4")]
    pub(crate) text_policy: u32,
    #[prost(uint64, optional, tag = "5")]
    pub(crate) threads: Option<u64>,
    #[prost(bool, tag = "6")]
    pub(crate) header: bool,
    /// The limits, in the order of the fields.
    #[prost(uint64, repeated, tag = "7")]
    pub(crate) limits: Vec<u64>,
    #[prost(message, optional, tag = "8")]
    pub(crate) text: Option<TextMessage>,
}

/// How text is read as a table.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TextMessage {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) delimiter: Option<u32>,
    #[prost(bool, optional, tag = "2")]
    pub(crate) header: Option<bool>,
    #[prost(bool, tag = "3")]
    pub(crate) pad: bool,
    #[prost(bool, tag = "4")]
    pub(crate) latin1: bool,
    #[prost(uint32, tag = "5")]
    pub(crate) infer: u32,
    /// Pairs of names and types.
    #[prost(string, repeated, tag = "6")]
    pub(crate) types: Vec<String>,
    #[prost(string, repeated, tag = "7")]
    pub(crate) null_words: Vec<String>,
    #[prost(bool, tag = "8")]
    pub(crate) skip: bool,
}

impl Node {
    /// Returns the bytes of a node.
    pub(crate) fn put(kind: NodeKind, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(MAGIC);
        let node = Self { kind: Some(kind) };
        prost::Message::encode(&node, out).map_err(|err| DataFusionError::External(err.into()))
    }

    /// Reads a node; `None` if it is none of ours.
    pub(crate) fn get(bytes: &[u8]) -> Result<Option<NodeKind>> {
        let Some(bytes) = bytes.strip_prefix(MAGIC) else { return Ok(None) };
        let node = <Self as prost::Message>::decode(bytes)
            .map_err(|err| DataFusionError::External(err.into()))?;
        node.kind.map(Some).ok_or_else(|| missing("node"))
    }
}

/// The error of a message that lacks a field.
pub(crate) fn missing(field: &str) -> DataFusionError {
    internal_datafusion_err!("a message of the cluster lacks the field `{field}`")
}

impl FormatMessage {
    pub(crate) fn new(kind: FileKind, options: &TableOptions) -> Result<Self> {
        let (settings, open) = options.settings();
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let open = open.map(OpenMessage::new).transpose()?;
        Ok(Self { kind: kind.name().to_owned(), settings, open })
    }

    pub(crate) fn kind(&self) -> Result<FileKind> {
        let unknown = |_| internal_datafusion_err!("unknown kind of files `{}`", self.kind);
        self.kind.parse().map_err(unknown)
    }

    pub(crate) fn options(&self) -> Result<TableOptions> {
        let options = TableOptions::try_new(&self.settings)?;
        match &self.open {
            Some(open) => Ok(options.with_open(open.options()?)),
            None => Ok(options),
        }
    }
}

impl PackMessage {
    pub(crate) fn new(options: &PackOptions) -> Result<Self> {
        let codec = match options.codec {
            Choice::Auto => "auto",
            Choice::Query => "query",
            Choice::Only(codec) => codec.name(),
            _ => return Err(missing("codec")),
        };
        Ok(Self {
            level: options.level.into(),
            codec: codec.to_owned(),
            published: options.layout == Layout::Published,
            chunk_lines: options.chunk_lines,
            rows_per_group: options.rows_per_group.map(|rows| rows.get() as u64),
            index: options.index,
        })
    }

    /// Returns the options of a task, which has one thread.
    pub(crate) fn options(&self) -> Result<PackOptions> {
        let codec = match self.codec.as_str() {
            "auto" => Choice::Auto,
            "query" => Choice::Query,
            name => Choice::Only(codec_by_name(name)?),
        };
        let layout = if self.published { Layout::Published } else { Layout::Reference };
        let level = u8::try_from(self.level).map_err(|_| missing("level"))?;
        Ok(PackOptions::default()
            .with_level(level)
            .with_codec(codec)
            .with_layout(layout)
            .with_chunk_lines(self.chunk_lines)
            .with_rows_per_group(self.rows_per_group.and_then(threads))
            .with_index(self.index)
            .with_threads(Some(NonZeroUsize::MIN)))
    }
}

/// Returns the codec of a name.
pub(crate) fn codec_by_name(name: &str) -> Result<Codec> {
    let found = Codec::ALL.into_iter().find(|codec| codec.name() == name);
    found.ok_or_else(|| internal_datafusion_err!("unknown codec `{name}`"))
}

impl OpenMessage {
    fn new(open: &OpenOptions) -> Result<Self> {
        let OpenOptions { format, read, text, .. } = open;
        let Limits {
            block_bytes, read_bytes, header_bytes, output_bytes, columns, row_bytes, ..
        } = read.limits;
        Ok(Self {
            format: format.map(|format| format.name().to_owned()),
            strict: read.strict,
            thorough: read.thorough,
            text_policy: match read.text {
                TextPolicy::Strict => 0,
                TextPolicy::Lossy => 1,
                TextPolicy::Java => 2,
            },
            threads: read.threads.map(|threads| threads.get() as u64),
            header: read.header,
            limits: vec![block_bytes, read_bytes, header_bytes, output_bytes, columns, row_bytes],
            text: Some(TextMessage::new(text)),
        })
    }

    fn options(&self) -> Result<OpenOptions> {
        let &[block_bytes, read_bytes, header_bytes, output_bytes, columns, row_bytes] =
            self.limits.as_slice()
        else {
            return Err(missing("limits"));
        };
        let mut limits = Limits::default();
        (limits.block_bytes, limits.read_bytes) = (block_bytes, read_bytes);
        (limits.header_bytes, limits.output_bytes) = (header_bytes, output_bytes);
        (limits.columns, limits.row_bytes) = (columns, row_bytes);
        let mut read = ReadOptions::default()
            .with_limits(limits)
            .with_strict(self.strict)
            .with_threads(self.threads.and_then(threads))
            .with_header(self.header)
            .with_text(match self.text_policy {
                0 => TextPolicy::Strict,
                1 => TextPolicy::Lossy,
                _ => TextPolicy::Java,
            });
        read.thorough = self.thorough;
        let text = self.text.as_ref().ok_or_else(|| missing("text"))?;
        let mut open = OpenOptions::default().with_read(read).with_text(text.options()?);
        let format = self.format.as_deref().map(str::parse::<FileKind>).transpose();
        let format = format.map_err(|_| internal_datafusion_err!("unknown format"))?;
        open.format = format.map(FormatId::from);
        Ok(open)
    }
}

fn threads(count: u64) -> Option<NonZeroUsize> {
    usize::try_from(count).ok().and_then(NonZeroUsize::new)
}

impl TextMessage {
    fn new(text: &TextOptions) -> Self {
        let types = text.types.iter().flat_map(|(name, of)| [name.clone(), of.name()]);
        Self {
            delimiter: text.delimiter.map(u32::from),
            header: text.header,
            pad: text.ragged == Ragged::Pad,
            latin1: text.encoding == Encoding::Latin1,
            infer: match text.infer {
                Infer::Exact => 0,
                Infer::Numeric => 1,
                Infer::Text => 2,
            },
            types: types.collect(),
            null_words: text.null_words.clone(),
            skip: text.skip,
        }
    }

    fn options(&self) -> Result<TextOptions> {
        let mut text = TextOptions::default();
        text.delimiter = self.delimiter.and_then(|byte| u8::try_from(byte).ok());
        text.header = self.header;
        text.ragged = if self.pad { Ragged::Pad } else { Ragged::Refuse };
        text.encoding = if self.latin1 { Encoding::Latin1 } else { Encoding::Utf8 };
        text.infer = match self.infer {
            0 => Infer::Exact,
            1 => Infer::Numeric,
            _ => Infer::Text,
        };
        for pair in self.types.chunks(2) {
            let [name, of] = pair else { return Err(missing("types")) };
            let of = hypostyle::formats::RequestedType::by_name(of);
            text.types.push((name.clone(), of.ok_or_else(|| missing("types"))?));
        }
        text.null_words.clone_from(&self.null_words);
        text.skip = self.skip;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_survive_the_way_to_an_executor() {
        let mut open = OpenOptions::default();
        open.read = open.read.with_strict(true).with_text(TextPolicy::Java).with_header(false);
        open.read.limits.output_bytes = 77;
        open.text.delimiter = Some(b';');
        open.text.types = ["int64", "decimal(10,2)", "timestamptz", "text", "boolean"]
            .map(|name| (format!("a {name}"), hypostyle::formats::RequestedType::by_name(name)))
            .map(|(name, of)| (name, of.unwrap()))
            .to_vec();
        open.text.null_words = vec!["NA".to_owned(), String::new()];
        open.text.ragged = Ragged::Pad;
        open.text.infer = Infer::Numeric;
        let settings = [("level", "9"), ("rows_per_group", "100"), ("null_as", "-")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let options = TableOptions::try_new(&settings.into()).unwrap().with_open(open);
        let kind: FileKind = "at1".parse().unwrap();
        let message = FormatMessage::new(kind, &options).unwrap();
        assert_eq!(message.kind().unwrap(), kind);
        assert!(message.options().unwrap() == options);
        assert_eq!(FormatMessage::new(kind, &message.options().unwrap()).unwrap(), message);
    }

    #[test]
    fn messages_of_others_are_not_ours() {
        assert_eq!(Node::get(b"").unwrap(), None);
        assert_eq!(Node::get(b"\x0a\x03abc").unwrap(), None);
        assert!(Node::get(b"HYPO\x01\xff").is_err());
        assert!(Node::get(b"HYPO\x01").is_err());
    }
}
