//! Options for reading and writing files.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::thread;

use crate::limits::Limits;

/// Options for reading a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Upper bounds on what the file may ask for.
    pub limits: Limits,
    /// Treat every [`Deviation`](crate::deviation::Deviation) as an error.
    pub strict: bool,
    /// Also verify what only a forged file gets wrong; `strict` implies this.
    pub thorough: bool,
    /// How to decode strings that are not UTF-8.
    pub text: TextPolicy,
    /// Threads that decompress and decode columns; `None` uses one per core.
    pub threads: Option<NonZeroUsize>,
    /// Whether the first line of an archived text table holds the column names.
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

/// How a reader decodes strings that are not UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextPolicy {
    /// Fail with an error that names the row.
    #[default]
    Strict,
    /// Replace invalid sequences with U+FFFD, and report a deviation.
    Lossy,
    /// Accept Java's modified UTF-8 (`C0 80`, and surrogates of three bytes each).
    Java,
}

/// Options for writing a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Compression level: 0 stores, 1 is fastest, 6 is the default, 12 is smallest.
    pub level: u8,
    /// Threads that encode and compress columns; `None` uses one per core.
    pub threads: Option<NonZeroUsize>,
    /// Whether several columns may have the same name.
    pub duplicate_names: DuplicateNames,
    /// Departures from the canonical form that particular readers need.
    pub compat: Compat,
}

impl WriteOptions {
    /// The default level.
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

/// What a writer does when several columns have the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicateNames {
    /// Refuse the table: known readers lose a column or refuse the file.
    #[default]
    Refuse,
    /// Write the names as they are, where the format allows it.
    Keep,
}

/// Compatibility switches, all off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compat {
    /// COLF: write an empty string as null, for a reader that decodes it wrongly (F2).
    pub colf_empty_as_null: bool,
    /// CLMN: add a zero byte to a block whose last string is empty, for a reader that
    /// fails without it (N10).
    pub clmn_pad_last_empty: bool,
}

impl Compat {
    /// The name of every switch, as users type it.
    pub const NAMES: [&str; 2] = ["colf-empty-as-null", "clmn-pad-last-empty"];

    /// Turns on the switch with this name; returns `None` if there is no such switch.
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

/// Returns the number of threads to use: `threads`, or one per core for `None`.
///
/// It is 1 on WebAssembly, which has no threads.
pub fn resolve_threads(threads: Option<NonZeroUsize>) -> usize {
    if cfg!(target_family = "wasm") {
        return 1;
    }
    // The question takes longer than a small block does, and the answer stays the same.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    threads.map_or_else(|| *CORES.get_or_init(cores), NonZeroUsize::get)
}
