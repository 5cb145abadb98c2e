//! Which streams the lines of a codec follow from group to group.

use crate::codec::Codec;

/// How the lines of a group use a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamRole {
    /// One byte for each line.
    Flags,
    /// Elements between newlines.
    Elements,
    /// Bytes.
    Bytes,
    /// Columns of elements between newlines, with so many bytes between two columns.
    Values { gap: usize },
    /// All groups need all of it.
    Shared,
}

/// A stream of a codec.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupedStream {
    pub(crate) name: &'static str,
    pub(crate) role: StreamRole,
}

impl GroupedStream {
    /// Returns whether `hyp.groups` states the parts of the stream.
    pub(crate) fn has_parts(&self) -> bool {
        matches!(self.role, StreamRole::Elements | StreamRole::Bytes)
    }
}

const fn stream(name: &'static str, role: StreamRole) -> GroupedStream {
    GroupedStream { name, role }
}

use StreamRole::{Bytes, Elements, Flags, Shared, Values};

static SSH: [GroupedStream; 11] = [
    stream("flags", Flags),
    stream("months", Elements),
    stream("days", Elements),
    stream("times", Elements),
    stream("hosts", Elements),
    stream("pids", Bytes),
    stream("template_ids", Bytes),
    stream("templates", Shared),
    stream("vars", Elements),
    stream("rawmsgs", Elements),
    stream("verbatim", Elements),
];

static JSON: [GroupedStream; 7] = [
    stream("flags", Flags),
    stream("verbatim", Elements),
    stream("keyvocab", Shared),
    stream("value_index", Shared),
    stream("values", Values { gap: 1 }),
    stream("rules", Shared),
    stream("tape", Bytes),
];

static LOG: [GroupedStream; 5] = [
    stream("flags", Flags),
    stream("templates", Shared),
    stream("tids", Bytes),
    stream("vars", Elements),
    stream("verbatim", Elements),
];

static RECORDS: [GroupedStream; 4] = [
    stream("skeleton", Bytes),
    stream("colids", Bytes),
    stream("value_index", Shared),
    stream("values", Values { gap: 0 }),
];

/// Returns the streams of a codec; `None` if it has no line groups.
pub(crate) fn layout(codec: Codec) -> Option<&'static [GroupedStream]> {
    match codec {
        Codec::Ssh => Some(&SSH),
        Codec::Json => Some(&JSON),
        Codec::Log => Some(&LOG),
        Codec::JsonDoc => Some(&RECORDS),
        _ => None,
    }
}
