//! The options of packing.

use std::num::NonZeroUsize;

use crate::codec::Codec;
use hypostyle_core::error::{Error, Refusal, Result};

/// How to make an archive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PackOptions {
    /// The name of the file, from which the archive learns what table its text is. `None`
    /// lets the content decide.
    pub name: Option<String>,
    /// The compression level, from 1 (fastest) to 9 (smallest).
    pub level: u8,
    /// Threads to work with; `None` means one per core. The archive does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// The codec.
    pub codec: Choice,
    /// The text of the format that the archive follows.
    pub layout: Layout,
    /// Lines in a frame of a streaming archive.
    pub chunk_lines: u64,
    /// Rows in a group of a queryable archive; `None` lets the packer choose them by cost.
    pub rows_per_group: Option<NonZeroUsize>,
    /// Whether a queryable archive has a text index, by which predicates on text skip groups.
    pub index: bool,
}

/// The choice of the codec of an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// The codec that makes the smallest archive.
    #[default]
    Auto,
    /// The codec with row groups that suits the content, so that it can be queried. Content
    /// with neither fields nor objects is packed as with [`Choice::Auto`].
    Query,
    /// This codec, whatever the size. Content that does not fit its model is stored raw.
    Only(Codec),
}

impl Choice {
    /// Returns whether the archive is to be queried.
    pub fn is_queryable(self) -> bool {
        match self {
            Self::Auto => false,
            Self::Query => true,
            Self::Only(codec) => codec.has_groups(),
        }
    }
}

/// The text of the format that an archive follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// The layout that decoders read: a backend for each stream, and a hash at the end.
    #[default]
    Reference,
    /// The published text to the letter: xz only, no backends, no hash, and only the column
    /// types that it describes.
    Published,
}

impl PackOptions {
    /// The default level.
    pub const DEFAULT_LEVEL: u8 = 6;
    /// The highest level.
    pub const MAX_LEVEL: u8 = 9;
    /// The default number of lines in a frame.
    pub const CHUNK_LINES: u64 = 500_000;

    /// Sets [`PackOptions::name`].
    #[must_use]
    pub fn with_name(mut self, name: Option<&str>) -> Self {
        self.name = name.map(str::to_owned);
        self
    }

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

    /// Fails if the options contradict each other or are out of range.
    pub(super) fn check(&self) -> Result<()> {
        if !(1..=Self::MAX_LEVEL).contains(&self.level) {
            let why = format!("level `{}` is not in 1 to {}", self.level, Self::MAX_LEVEL);
            return Err(Error::invalid_argument(why));
        }
        if self.codec.is_queryable() && self.layout == Layout::Published {
            let why = "the published text has no stored blocks, which queries need";
            return Err(Error::refused(Refusal::ConflictingOptions, why, "use the default layout"));
        }
        if self.codec == Choice::Only(Codec::Bundle) {
            let why = "a bundle is made of several files, not of one text";
            return Err(Error::refused(
                Refusal::ConflictingOptions,
                why,
                "pack the files with `pack_bundle`",
            ));
        }
        if self.chunk_lines == 0 {
            return Err(Error::invalid_argument("a frame must have at least one line"));
        }
        Ok(())
    }
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            name: None,
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
