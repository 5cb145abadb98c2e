//! The identity of each format, as used in errors and options.

use std::fmt;

/// Identifies a format in errors, options and file extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FormatId {
    /// COLM: little-endian column files, `.colfile`.
    Colm,
    /// COLF: little-endian column files with a JSON schema and nulls, `.colf`.
    Colf,
    /// CLMN: big-endian column files with 64-bit integers, `.clmn`.
    Clmn,
    /// AT-1: archives of text files, `.at1`.
    At1,
    /// OnPair: columns of strings with random access to each string, `.onpair`.
    OnPair,
    /// Delimited text, `.csv`.
    Csv,
    /// Delimited text with tabs, `.tsv`.
    Tsv,
    /// JSON Lines: an object on each line, `.jsonl`.
    JsonLines,
    /// Plain lines of text, `.txt`.
    Lines,
    /// Logs: lines with a time, a template and variables, `.log`.
    Log,
    /// VCF: variant calls, `.vcf`.
    Vcf,
    /// Parquet, `.parquet`.
    Parquet,
    /// Arrow IPC files and streams, `.arrow`.
    Arrow,
}

impl FormatId {
    /// Returns the name in lower case, as users type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Colm => "colm",
            Self::Colf => "colf",
            Self::Clmn => "clmn",
            Self::At1 => "at1",
            Self::OnPair => "onpair",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::JsonLines => "jsonl",
            Self::Lines => "txt",
            Self::Log => "log",
            Self::Vcf => "vcf",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }
}

impl fmt::Display for FormatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
