//! The kinds of text that are tables.

use super::options::TextOptions;

/// How a text is read as a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextFormat {
    /// The syntax of rows.
    pub kind: TextKind,
    /// Whether the first row holds the column names; only delimited text and variant calls
    /// have a header.
    pub header: bool,
}

/// The syntax of the rows of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextKind {
    /// Cells with a delimiter between them, and quotes: CSV, TSV.
    Delimited {
        /// The byte between cells.
        delimiter: u8,
    },
    /// A JSON object on every line.
    JsonLines,
    /// An array of JSON objects, which [`TextTable`](super::TextTable) reads as JSON Lines.
    JsonArray,
    /// A text on every line: one column, `line`.
    Lines,
    /// A log: each line with its time, template and variables.
    Log,
    /// VCF: lines that start with `##`, a header that starts with `#`, and cells with tabs
    /// between them, without quotes.
    VariantCalls,
}

impl TextKind {
    /// Returns the name of the kind, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delimited { delimiter: b'\t' } => "tsv",
            Self::Delimited { .. } => "csv",
            Self::JsonLines | Self::JsonArray => "jsonl",
            Self::Lines => "txt",
            Self::Log => "log",
            Self::VariantCalls => "vcf",
        }
    }

    /// Returns the kind of a file with this extension, in any case.
    pub fn by_extension(extension: &str) -> Option<Self> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "csv" => Self::Delimited { delimiter: b',' },
            "tsv" | "tab" => Self::Delimited { delimiter: b'\t' },
            "jsonl" | "ndjson" => Self::JsonLines,
            "txt" => Self::Lines,
            "log" => Self::Log,
            "vcf" => Self::VariantCalls,
            _ => return None,
        })
    }
}

impl TextFormat {
    /// Returns the format of a kind, with a header where the kind has one.
    pub fn new(kind: TextKind) -> Self {
        let header = matches!(kind, TextKind::Delimited { .. } | TextKind::VariantCalls);
        Self { kind, header }
    }

    /// Returns delimited text with a header.
    pub fn delimited(delimiter: u8) -> Self {
        Self::new(TextKind::Delimited { delimiter })
    }

    /// Returns the format with what the caller overrides: delimiter and header.
    ///
    /// With a delimiter, lines become delimited text.
    #[must_use]
    pub fn with_options(self, options: &TextOptions) -> Self {
        let mut format = match (self.kind, options.delimiter) {
            (TextKind::Delimited { .. }, Some(delimiter)) => {
                Self { kind: TextKind::Delimited { delimiter }, ..self }
            }
            (TextKind::Lines, Some(delimiter)) => Self::delimited(delimiter),
            _ => self,
        };
        if matches!(format.kind, TextKind::Delimited { .. } | TextKind::VariantCalls) {
            format.header = options.header.unwrap_or(format.header);
        }
        format
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_override_the_delimiter_and_the_header() {
        let mut options = TextOptions::default();
        let txt = TextFormat::new(TextKind::Lines);
        assert_eq!(txt.with_options(&options), txt);
        options.delimiter = Some(b';');
        assert_eq!(txt.with_options(&options), TextFormat::delimited(b';'));
        options.header = Some(false);
        assert!(!TextFormat::delimited(b',').with_options(&options).header);
        let json = TextFormat::new(TextKind::JsonLines);
        assert_eq!(json.with_options(&options), json);
    }
}
