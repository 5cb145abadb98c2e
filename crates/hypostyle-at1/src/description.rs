//! What `hyp inspect` shows of a frame: columns, row groups, statistics.

use super::statistics::GroupStatistics;

/// A frame as its codec describes it.
#[derive(Clone, Debug, Default)]
pub struct FrameInfo {
    /// The number of lines or rows that the frame states.
    pub rows: u64,
    /// The columns, for codecs that have columns.
    pub columns: Vec<ColumnInfo>,
    /// The number of rows in a group, for codecs that have row groups.
    pub group_rows: Option<u64>,
    /// The statistics of each group and column, group by group; `None` for columns
    /// without statistics.
    pub statistics: Vec<Option<GroupStatistics>>,
}

/// A column of a frame.
#[derive(Clone, Debug)]
pub struct ColumnInfo {
    /// The name or path, if the archive has one.
    pub name: Option<String>,
    /// The encoding or the type, in the words of the spec.
    pub kind: &'static str,
    /// The bytes of its chunk or blocks in the stream that holds them.
    pub bytes: u64,
}

/// A frame of an archive; a whole-file archive has exactly one.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The offset of its content in the file.
    pub offset: u64,
    /// The length of its content in bytes.
    pub stored: u64,
    /// Whether it is stored raw, without a codec.
    pub raw: bool,
    /// Its streams, in file order; a raw frame has one without a name.
    pub streams: Vec<StreamInfo>,
}

/// A stream of a frame.
#[derive(Clone, Debug)]
pub struct StreamInfo {
    /// The name.
    pub name: String,
    /// The compressor: `xz`, `zstd` or `stored`.
    pub backend: &'static str,
    /// The offset of its bytes in the file.
    pub offset: u64,
    /// Its length in the file.
    pub stored: u64,
    /// Its decompressed length, if the stream states it.
    pub raw: Option<u64>,
}

/// A template of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTemplate {
    /// The text; a byte 0 stands for a value.
    pub text: Vec<u8>,
    /// The number of lines that have this form.
    pub lines: u64,
}
