//! Upper bounds on the memory, time and disk that one file may cost.

/// Upper bounds on what a file may ask for.
///
/// Limits are arguments, not globals: a server and a laptop need different ones, and a
/// test can set one to 1. Every limit is checked before memory is allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum bytes that one block may decompress to. Default 4 GiB.
    pub block_bytes: u64,
    /// Maximum bytes that all blocks of one `Reader::read` may
    /// decompress to, or occupy in the file. Default 8 GiB.
    pub read_bytes: u64,
    /// Maximum bytes of header: column table or schema text. Default 256 MiB.
    pub header_bytes: u64,
    /// Maximum bytes that an archive may unpack to. Default 64 GiB.
    ///
    /// Unpacking streams its output, so this bounds time and disk, not memory.
    pub output_bytes: u64,
    /// Maximum number of columns of a text, and of keys of its JSON objects, nested ones
    /// included. Default 1,048,576.
    ///
    /// Each column costs memory, even if it has few values.
    pub columns: u64,
    /// Maximum bytes of a row of text, which must fit in memory as a whole. Default 2 GiB.
    ///
    /// Without a maximum, an open quote would extend a row to the end of the file.
    pub row_bytes: u64,
}

impl Limits {
    /// The maximum compression ratio of deflate.
    ///
    /// A block that claims more is malformed, whatever the other limits are.
    pub const DEFLATE_RATIO: u64 = 1032;

    /// Sets [`Limits::block_bytes`].
    #[must_use]
    pub fn with_block_bytes(mut self, bytes: u64) -> Self {
        self.block_bytes = bytes;
        self
    }

    /// Sets [`Limits::read_bytes`].
    #[must_use]
    pub fn with_read_bytes(mut self, bytes: u64) -> Self {
        self.read_bytes = bytes;
        self
    }

    /// Sets [`Limits::output_bytes`].
    #[must_use]
    pub fn with_output_bytes(mut self, bytes: u64) -> Self {
        self.output_bytes = bytes;
        self
    }

    /// Sets [`Limits::columns`].
    #[must_use]
    pub fn with_columns(mut self, columns: u64) -> Self {
        self.columns = columns;
        self
    }

    /// Sets [`Limits::row_bytes`].
    #[must_use]
    pub fn with_row_bytes(mut self, bytes: u64) -> Self {
        self.row_bytes = bytes;
        self
    }

    /// Sets [`Limits::header_bytes`].
    #[must_use]
    pub fn with_header_bytes(mut self, bytes: u64) -> Self {
        self.header_bytes = bytes;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            block_bytes: 4 << 30,
            read_bytes: 8 << 30,
            header_bytes: 256 << 20,
            output_bytes: 64 << 30,
            columns: 1 << 20,
            row_bytes: 2 << 30,
        }
    }
}
