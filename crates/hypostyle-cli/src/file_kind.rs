//! The kinds of files that the command reads and writes, and how it recognizes them.
//!
//! The formats of the library come from [`formats::ALL`]: their names, extensions and magics
//! are not repeated here, so a new format needs no line in the command.

use std::path::Path;
use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use hypostyle::formats::{self, Format, FormatId};

/// What a file holds: a format of the library, text, Parquet or Arrow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FileKind {
    /// A format of the library.
    Format(&'static dyn Format),
    Csv,
    Tsv,
    Jsonl,
    /// Lines of text, as one column.
    Txt,
    Parquet,
    Arrow,
}

impl FileKind {
    /// The kinds that are not formats of the library.
    const OTHERS: [Self; 6] =
        [Self::Csv, Self::Tsv, Self::Jsonl, Self::Txt, Self::Parquet, Self::Arrow];

    /// Returns the format of the library, if it is one.
    pub(crate) fn format(self) -> Option<&'static dyn Format> {
        match self {
            Self::Format(format) => Some(format),
            _ => None,
        }
    }

    /// Returns the kind that a file name promises.
    pub(crate) fn by_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        if let Some(format) = formats::by_extension(extension) {
            return Some(Self::Format(format));
        }
        let matches = |known: &&str| known.eq_ignore_ascii_case(extension);
        Self::OTHERS.into_iter().find(|kind| kind.extensions().iter().any(matches))
    }

    /// Returns the kind of a file that is in no format of the library, by its first bytes.
    pub(crate) fn by_magic(head: &[u8]) -> Option<Self> {
        let matches = |magic: &&[u8]| head.starts_with(magic);
        Self::OTHERS.into_iter().find(|kind| kind.magics().iter().any(matches))
    }

    /// Returns the name that users type.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Format(format) => format.id().name(),
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Jsonl => "jsonl",
            Self::Txt => "txt",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Format(format) => format.extensions(),
            Self::Csv => &["csv"],
            Self::Tsv => &["tsv", "tab"],
            Self::Jsonl => &["jsonl", "ndjson"],
            Self::Txt => &["txt"],
            Self::Parquet => &["parquet", "pq"],
            Self::Arrow => &["arrow", "arrows", "feather", "ipc"],
        }
    }

    fn magics(self) -> &'static [&'static [u8]] {
        match self {
            Self::Format(format) => format.magics(),
            Self::Csv | Self::Tsv | Self::Jsonl | Self::Txt => &[],
            Self::Parquet => &[b"PAR1"],
            // An IPC file, and an IPC stream.
            Self::Arrow => &[b"ARRO", b"\xFF\xFF\xFF\xFF"],
        }
    }

    /// Returns whether it is an AT-1 archive, which can do more than show a table.
    pub(crate) fn is_archive(self) -> bool {
        matches!(self, Self::Format(format) if format.id() == FormatId::At1)
    }

    /// Returns whether a table can be written as such a file.
    pub(crate) fn holds_tables(self) -> bool {
        self.format().is_none_or(|format| format.holds_tables())
    }

    /// Returns whether the bytes would garble a terminal.
    pub(crate) fn is_binary(self) -> bool {
        !matches!(self, Self::Csv | Self::Tsv | Self::Jsonl | Self::Txt)
    }
}

impl ValueEnum for FileKind {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<FileKind>> = LazyLock::new(|| {
            let ours = formats::ALL.iter().map(|&format| FileKind::Format(format));
            ours.chain(FileKind::OTHERS).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = PossibleValue::new(self.name());
        Some(match self {
            Self::Txt => value.help("One column of lines"),
            _ => value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_of_the_library_is_a_kind() {
        for format in formats::ALL {
            let name = format.id().name();
            assert_eq!(FileKind::from_str(name, false).unwrap().name(), name);
            for extension in format.extensions() {
                let path = format!("table.{}", extension.to_uppercase());
                assert_eq!(FileKind::by_extension(Path::new(&path)).unwrap().name(), name);
            }
        }
    }

    #[test]
    fn kinds_have_names_extensions_and_magics_of_their_own() {
        let kinds = FileKind::value_variants();
        for (index, one) in kinds.iter().enumerate() {
            for other in &kinds[index + 1..] {
                assert_ne!(one.name(), other.name());
                let shared = |extension| other.extensions().contains(extension);
                assert!(!one.extensions().iter().any(shared), "{one:?} and {other:?}");
                for magic in one.magics() {
                    let clash =
                        |known: &&[u8]| known.starts_with(magic) || magic.starts_with(known);
                    assert!(!other.magics().iter().any(clash), "{one:?} and {other:?}");
                }
            }
        }
    }
}
