//! What a caller may choose when a file is read or written.

use std::num::NonZeroUsize;
use std::thread;

use crate::limits::Limits;

/// How a file is read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadOptions {
    /// What the file may cost.
    pub limits: Limits,
    /// Treat every [`Deviation`](crate::deviation::Deviation) as an error.
    pub strict: bool,
    /// Look closely even at what only a forger would get wrong; `strict` does too.
    pub thorough: bool,
    /// What to do with text that is not UTF-8.
    pub text: TextPolicy,
    /// Threads that inflate and decode columns; `None` takes one per core.
    pub threads: Option<NonZeroUsize>,
    /// Whether the first line of an archived text table holds names.
    pub header: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            strict: false,
            thorough: false,
            text: TextPolicy::default(),
            threads: None,
            header: true,
        }
    }
}

impl ReadOptions {
    /// Sets [`ReadOptions::header`].
    #[must_use]
    pub fn with_header(mut self, header: bool) -> Self {
        self.header = header;
        self
    }

    /// Sets [`ReadOptions::limits`].
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets [`ReadOptions::strict`].
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Sets [`ReadOptions::thorough`].
    #[must_use]
    pub fn with_thorough(mut self, thorough: bool) -> Self {
        self.thorough = thorough;
        self
    }

    /// Sets [`ReadOptions::text`].
    #[must_use]
    pub fn with_text(mut self, text: TextPolicy) -> Self {
        self.text = text;
        self
    }

    /// Sets [`ReadOptions::threads`].
    #[must_use]
    pub fn with_threads(mut self, threads: Option<NonZeroUsize>) -> Self {
        self.threads = threads;
        self
    }
}

/// What a reader does with string bytes that are not UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextPolicy {
    /// An error that names the row.
    #[default]
    Strict,
    /// Replace what cannot be read by U+FFFD, and report a deviation.
    Lossy,
    /// Accept Java's modified UTF-8 (`C0 80`, surrogates in three bytes each).
    Java,
}

/// How a file is written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Compression level: 0 stores, 1 is quick, 6 the default, 12 the smallest.
    pub level: u8,
    /// Threads that encode and deflate columns; `None` takes one per core.
    pub threads: Option<NonZeroUsize>,
    /// What to do with columns of the same name.
    pub duplicate_names: DuplicateNames,
    /// Departures from the canonical form that please a particular reader.
    pub compat: Compat,
}

impl WriteOptions {
    /// The level that is used unless the caller chooses.
    pub const DEFAULT_LEVEL: u8 = 6;
    /// The highest level.
    pub const MAX_LEVEL: u8 = 12;

    /// Sets [`WriteOptions::level`].
    #[must_use]
    pub fn with_level(mut self, level: u8) -> Self {
        self.level = level;
        self
    }

    /// Sets [`WriteOptions::threads`].
    #[must_use]
    pub fn with_threads(mut self, threads: Option<NonZeroUsize>) -> Self {
        self.threads = threads;
        self
    }

    /// Sets [`WriteOptions::duplicate_names`].
    #[must_use]
    pub fn with_duplicate_names(mut self, duplicate_names: DuplicateNames) -> Self {
        self.duplicate_names = duplicate_names;
        self
    }

    /// Sets [`WriteOptions::compat`].
    #[must_use]
    pub fn with_compat(mut self, compat: Compat) -> Self {
        self.compat = compat;
        self
    }
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            level: Self::DEFAULT_LEVEL,
            threads: None,
            duplicate_names: DuplicateNames::default(),
            compat: Compat::default(),
        }
    }
}

/// What a writer does when two columns have one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicateNames {
    /// Refuse: known readers lose a column or refuse the file.
    #[default]
    Refuse,
    /// Write them as they are, where the format allows it.
    Keep,
}

/// Compatibility switches, all off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compat {
    /// COLF: write an empty string as null, for a reader that misreads it (F2).
    pub colf_empty_as_null: bool,
    /// CLMN: end a block whose last string is empty with one zero byte, for a
    /// reader that fails on it otherwise (N10).
    pub clmn_pad_last_empty: bool,
}

impl Compat {
    /// Every switch by the name that users type.
    pub const NAMES: [&str; 2] = ["colf-empty-as-null", "clmn-pad-last-empty"];

    /// Turns on the switch of this name; `None` if there is no such switch.
    #[must_use]
    pub fn with(mut self, name: &str) -> Option<Self> {
        match name {
            "colf-empty-as-null" => self.colf_empty_as_null = true,
            "clmn-pad-last-empty" => self.clmn_pad_last_empty = true,
            _ => return None,
        }
        Some(self)
    }
}

/// The number of threads that a choice stands for.
pub fn resolve_threads(threads: Option<NonZeroUsize>) -> usize {
    threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}
