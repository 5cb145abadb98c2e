//! What a caller may choose when an archive is made.

use std::num::NonZeroUsize;

use crate::codec::Codec;

/// How an archive is made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PackOptions {
    /// From 1, which is quick, to 9, which searches long.
    pub level: u8,
    /// Threads to work with; `None` takes one per core. The archive does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// The codec.
    pub codec: Choice,
    /// Which text of the format the archive follows.
    pub layout: Layout,
    /// Lines in a frame of a streaming archive.
    pub chunk_lines: u64,
    /// Rows in a group of a queryable archive; `None` chooses by what groups cost.
    pub rows_per_group: Option<NonZeroUsize>,
    /// Whether a queryable archive gets what tells which groups may hold a text.
    pub index: bool,
}

/// Which codec an archive gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// Whichever makes the smallest archive.
    #[default]
    Auto,
    /// Whichever codec with row groups suits the content, so that it can be queried;
    /// what has neither fields nor objects is stored as [`Choice::Auto`] does it.
    Query,
    /// This one, whatever its size; what does not fit its model at all is stored raw.
    Only(Codec),
}

impl Choice {
    /// Whether the archive is to be queried.
    pub fn is_queryable(self) -> bool {
        match self {
            Self::Auto => false,
            Self::Query => true,
            Self::Only(codec) => codec.has_groups(),
        }
    }
}

/// Which text of the format an archive follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// What decoders really read: a backend for each stream, and a hash at the end.
    #[default]
    Reference,
    /// The published text to the letter: xz only, no backends, no hash, and only
    /// the column types that it describes.
    Published,
}

impl PackOptions {
    /// The level that is used unless the caller chooses.
    pub const DEFAULT_LEVEL: u8 = 6;
    /// The highest level.
    pub const MAX_LEVEL: u8 = 9;
    /// Lines in a frame unless the caller chooses.
    pub const CHUNK_LINES: u64 = 500_000;

    /// Sets [`PackOptions::level`].
    #[must_use]
    pub fn with_level(mut self, level: u8) -> Self {
        self.level = level;
        self
    }

    /// Sets [`PackOptions::threads`].
    #[must_use]
    pub fn with_threads(mut self, threads: Option<NonZeroUsize>) -> Self {
        self.threads = threads;
        self
    }

    /// Sets [`PackOptions::codec`].
    #[must_use]
    pub fn with_codec(mut self, codec: Choice) -> Self {
        self.codec = codec;
        self
    }

    /// Sets [`PackOptions::layout`].
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Sets [`PackOptions::chunk_lines`].
    #[must_use]
    pub fn with_chunk_lines(mut self, lines: u64) -> Self {
        self.chunk_lines = lines;
        self
    }

    /// Sets [`PackOptions::rows_per_group`].
    #[must_use]
    pub fn with_rows_per_group(mut self, rows: Option<NonZeroUsize>) -> Self {
        self.rows_per_group = rows;
        self
    }

    /// Sets [`PackOptions::index`].
    #[must_use]
    pub fn with_index(mut self, index: bool) -> Self {
        self.index = index;
        self
    }
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            level: Self::DEFAULT_LEVEL,
            threads: None,
            codec: Choice::default(),
            layout: Layout::default(),
            chunk_lines: Self::CHUNK_LINES,
            rows_per_group: None,
            index: true,
        }
    }
}
