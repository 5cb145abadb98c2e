//! The identity of each format, as errors and options name it.

use std::fmt;

/// Which format: the identity used in errors, options and extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FormatId {
    /// COLM, little-endian, `.colfile`.
    Colm,
    /// COLF, little-endian with a JSON schema and nulls, `.colf`.
    Colf,
    /// CLMN, big-endian with 64-bit integers, `.clmn`.
    Clmn,
    /// AT-1, archives of text files, `.at1`.
    At1,
    /// Columns of strings, each string by itself, `.onpair`.
    OnPair,
}

impl FormatId {
    /// The name in lower case, as users type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Colm => "colm",
            Self::Colf => "colf",
            Self::Clmn => "clmn",
            Self::At1 => "at1",
            Self::OnPair => "onpair",
        }
    }
}

impl fmt::Display for FormatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
