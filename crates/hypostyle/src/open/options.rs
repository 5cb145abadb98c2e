//! How a file is opened.

use crate::file_kind::FileKind;
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::text::TextOptions;

/// How a file is opened.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The name of the file, whose extension tells kinds of text apart.
    pub name: Option<String>,
    /// The format, in place of the one that the content and the name show.
    pub format: Option<FormatId>,
    /// Limits, strictness and threads.
    pub read: ReadOptions,
    /// How text is read as a table.
    pub text: TextOptions,
}

impl OpenOptions {
    /// Sets [`OpenOptions::name`].
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets [`OpenOptions::format`].
    #[must_use]
    pub fn with_format(mut self, format: impl Into<FormatId>) -> Self {
        self.format = Some(format.into());
        self
    }

    /// Sets [`OpenOptions::read`].
    #[must_use]
    pub fn with_read(mut self, read: ReadOptions) -> Self {
        self.read = read;
        self
    }

    /// Sets [`OpenOptions::text`].
    #[must_use]
    pub fn with_text(mut self, text: TextOptions) -> Self {
        self.text = text;
        self
    }

    /// Infers types of text that a file of this format can store, for a conversion.
    ///
    /// A column with nulls becomes text for a format without nulls, for example.
    #[must_use]
    pub fn with_target(mut self, format: impl Into<FormatId>) -> Self {
        if let Ok(kind) = FileKind::of(format.into()) {
            self.text.capabilities = kind.capabilities();
            // A target with nothing but text also stores whether the last line has a newline.
            let capabilities = self.text.capabilities;
            self.text.mark_open_line = capabilities.nulls && !capabilities.numbers;
        }
        self
    }
}
