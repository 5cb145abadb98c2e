//! The list of all kinds of files: formats, text, Parquet and Arrow.
//!
//! The command, the SQL engines, the bindings and the tests loop over this list.

use std::fmt;
use std::str::FromStr;

use crate::formats::{self, Format};
use hypostyle_core::error::{Error, Result, clipped};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::text::TextKind;
use hypostyle_core::types::Capabilities;

/// A kind of file that this build knows, with its name, extensions and magics.
///
/// ```
/// use hypostyle::FileKind;
///
/// let names: Vec<&str> = FileKind::all().map(|kind| kind.name()).collect();
/// # #[cfg(all(feature = "colf", feature = "csv"))]
/// assert!(names.contains(&"colf") && names.contains(&"csv"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileKind(FormatId);

/// The kinds beside [`formats::ALL`].
const OTHERS: &[FormatId] = &[
    #[cfg(feature = "csv")]
    FormatId::Csv,
    #[cfg(feature = "csv")]
    FormatId::Tsv,
    #[cfg(feature = "json")]
    FormatId::Jsonl,
    FormatId::Txt,
    FormatId::Log,
    FormatId::Vcf,
    #[cfg(feature = "parquet")]
    FormatId::Parquet,
    #[cfg(feature = "arrow")]
    FormatId::Arrow,
];

impl FileKind {
    /// Returns all kinds of this build, the formats first.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        let ours = formats::ALL.iter().map(|format| format.id());
        ours.chain(OTHERS.iter().copied()).map(Self)
    }

    /// Returns the kind of a format.
    ///
    /// # Errors
    ///
    /// Fails if this build does not have it.
    pub fn of(id: FormatId) -> Result<Self> {
        Self::all().find(|kind| kind.0 == id).ok_or_else(|| {
            Error::unsupported("the format is switched off in this build; it").in_format(id)
        })
    }

    /// Returns the kind whose files have this extension, without the dot and in any case.
    pub fn by_extension(extension: &str) -> Option<Self> {
        let matches = |known: &&str| known.eq_ignore_ascii_case(extension);
        Self::all().find(|kind| kind.extensions().iter().any(matches))
    }

    /// Returns the kind of a file that starts with these bytes, as far as they show it.
    ///
    /// Text has no magic.
    pub fn by_magic(head: &[u8]) -> Option<Self> {
        let matches = |kind: &Self| match kind.format() {
            Some(format) => format.has_magic(head),
            None => kind.magics().iter().any(|magic| head.starts_with(magic)),
        };
        Self::all().find(matches)
    }

    /// Returns the identity of the kind.
    pub fn id(self) -> FormatId {
        self.0
    }

    /// Returns the name in lower case, as users type it.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns the format, if [`formats::ALL`] has it.
    pub fn format(self) -> Option<&'static dyn Format> {
        formats::ALL.iter().copied().find(|format| format.id() == self.0)
    }

    /// Returns the file extensions without the dot; new files get the first one.
    pub fn extensions(self) -> &'static [&'static str] {
        match self.0 {
            FormatId::Csv => &["csv"],
            FormatId::Tsv => &["tsv", "tab"],
            FormatId::Jsonl => &["jsonl", "ndjson"],
            FormatId::Txt => &["txt"],
            FormatId::Log => &["log"],
            FormatId::Vcf => &["vcf"],
            FormatId::Parquet => &["parquet", "pq"],
            FormatId::Arrow => &["arrow", "arrows", "feather", "ipc"],
            _ => self.format().map(|format| format.extensions()).unwrap_or_default(),
        }
    }

    /// Returns the byte strings that files start with; none for text.
    pub fn magics(self) -> &'static [&'static [u8]] {
        match self.0 {
            #[cfg(feature = "parquet")]
            FormatId::Parquet => crate::parquet_file::MAGICS,
            #[cfg(feature = "arrow")]
            FormatId::Arrow => crate::arrow_file::MAGICS,
            _ => self.format().map(|format| format.magics()).unwrap_or_default(),
        }
    }

    /// Returns the syntax of the rows, if files are text.
    pub fn text_kind(self) -> Option<TextKind> {
        match self.0 {
            FormatId::Csv => Some(TextKind::Delimited { delimiter: b',' }),
            FormatId::Tsv => Some(TextKind::Delimited { delimiter: b'\t' }),
            FormatId::Jsonl => Some(TextKind::JsonLines),
            FormatId::Txt => Some(TextKind::Lines),
            FormatId::Log => Some(TextKind::Log),
            FormatId::Vcf => Some(TextKind::VariantCalls),
            _ => None,
        }
    }

    /// Returns whether files are text.
    pub fn is_text(self) -> bool {
        self.text_kind().is_some()
    }

    /// Returns whether files have one compressed block for each column.
    pub fn is_column_file(self) -> bool {
        matches!(self.0, FormatId::Colm | FormatId::Colf | FormatId::Clmn)
    }

    /// Returns whether a [`Writer`](crate::Writer) can write tables in such files.
    pub fn holds_tables(self) -> bool {
        match self.0 {
            // Their syntax holds no other tables than logs and variant calls.
            FormatId::Log | FormatId::Vcf => false,
            _ => self.format().is_none_or(|format| format.holds_tables()),
        }
    }

    /// Returns which values such a file can store.
    pub fn capabilities(self) -> Capabilities {
        self.format().map_or(Capabilities::EVERYTHING, |format| format.capabilities())
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Finds a kind by its name, in any case.
impl FromStr for FileKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::all().find(|kind| kind.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            let known: Vec<&str> = Self::all().map(Self::name).collect();
            let known = known.join(", ");
            let why = format!("no format is named `{}`; the formats are {known}", clipped(name));
            Error::invalid_argument(why)
        })
    }
}

impl From<FileKind> for FormatId {
    fn from(kind: FileKind) -> Self {
        kind.0
    }
}

/// Returns the kind of a text with this syntax.
pub(crate) fn id_of_text(kind: TextKind) -> FormatId {
    match kind {
        TextKind::Delimited { delimiter: b'\t' } => FormatId::Tsv,
        TextKind::Delimited { .. } => FormatId::Csv,
        TextKind::JsonLines | TextKind::JsonArray => FormatId::Jsonl,
        TextKind::Log => FormatId::Log,
        TextKind::VariantCalls => FormatId::Vcf,
        _ => FormatId::Txt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_a_kind() {
        for format in formats::ALL {
            let name = format.id().name();
            assert_eq!(name.to_uppercase().parse::<FileKind>().unwrap().name(), name);
            for extension in format.extensions() {
                let kind = FileKind::by_extension(&extension.to_uppercase()).unwrap();
                assert_eq!(kind.name(), name);
            }
        }
        let err = "xlsx".parse::<FileKind>().unwrap_err().to_string();
        assert!(err.contains("`xlsx`") && err.contains("colf"), "{err}");
    }

    #[test]
    fn kinds_have_names_extensions_and_magics_of_their_own() {
        let kinds: Vec<FileKind> = FileKind::all().collect();
        for (index, one) in kinds.iter().enumerate() {
            assert_eq!(FileKind::of(one.id()).unwrap(), *one);
            assert!(!one.extensions().is_empty(), "{one}");
            assert_eq!(one.is_text(), one.magics().is_empty(), "{one}");
            for other in &kinds[index + 1..] {
                assert_ne!(one.name(), other.name());
                let shared = |extension| other.extensions().contains(extension);
                assert!(!one.extensions().iter().any(shared), "{one} and {other}");
                for magic in one.magics() {
                    let clash =
                        |known: &&[u8]| known.starts_with(magic) || magic.starts_with(known);
                    assert!(!other.magics().iter().any(clash), "{one} and {other}");
                }
            }
        }
    }
}
