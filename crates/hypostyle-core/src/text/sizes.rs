//! Sizes that only tests change, to avoid inputs of megabytes.

/// Bytes of text between two entries of the row index, and so of a row group.
const INDEX_BYTES: u64 = 4 << 20;

/// Sizes of the blocks and row groups of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextSizes {
    /// Bytes of text that are parsed together; `None` takes the size that suits the kind.
    pub(super) block: Option<usize>,
    /// Bytes between two entries of the row index.
    pub(super) index: u64,
}

impl Default for TextSizes {
    fn default() -> Self {
        Self { block: None, index: INDEX_BYTES }
    }
}
