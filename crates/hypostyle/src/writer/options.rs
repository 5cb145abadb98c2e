//! How a file is written.

use hypostyle_core::options::WriteOptions;
use hypostyle_core::types::RequestedType;

/// Options for writing a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Level, threads, duplicate names and compatibility.
    pub encode: WriteOptions,
    /// Columns with a requested type, by name.
    pub types: Vec<(String, RequestedType)>,
    /// The text for null in CSV, and in formats that have no nulls, which else refuse them.
    pub null_word: Option<String>,
    /// Whether texts in CSV that a spreadsheet would take for formulas get an apostrophe before
    /// them; false by default.
    pub guard_formulas: bool,
    /// Bytes of rows that wait in memory until their columns are written; further rows wait in
    /// a temporary file. 256 MiB by default.
    pub memory: u64,
    /// Whether a file with the same path is replaced; true by default.
    pub replace: bool,
}

impl Default for WriterOptions {
    fn default() -> Self {
        let encode = WriteOptions::default();
        Self {
            encode,
            types: Vec::new(),
            null_word: None,
            guard_formulas: false,
            memory: 256 << 20,
            replace: true,
        }
    }
}

impl WriterOptions {
    /// Sets [`WriterOptions::encode`].
    #[must_use]
    pub fn with_encode(mut self, encode: WriteOptions) -> Self {
        self.encode = encode;
        self
    }

    /// Sets [`WriterOptions::types`].
    #[must_use]
    pub fn with_types(mut self, types: Vec<(String, RequestedType)>) -> Self {
        self.types = types;
        self
    }

    /// Sets [`WriterOptions::null_word`].
    #[must_use]
    pub fn with_null_word(mut self, word: Option<String>) -> Self {
        self.null_word = word;
        self
    }

    /// Sets [`WriterOptions::guard_formulas`].
    #[must_use]
    pub fn with_guard_formulas(mut self, guard: bool) -> Self {
        self.guard_formulas = guard;
        self
    }

    /// Sets [`WriterOptions::memory`].
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets [`WriterOptions::replace`].
    #[must_use]
    pub fn with_replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }
}
