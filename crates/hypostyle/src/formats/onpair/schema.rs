//! The types of columns (§4.2).

use arrow_schema::DataType;

use hypostyle_core::error::{Error, Result};

/// What the bytes of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strings {
    /// UTF-8 text.
    Text,
    /// Any bytes.
    Binary,
}

impl Strings {
    /// What a type code stands for.
    pub(super) fn by_code(code: u8) -> Result<Self> {
        match code {
            0 => Ok(Self::Text),
            1 => Ok(Self::Binary),
            _ => Err(Error::malformed("column type", format!("{code} is not 0 or 1"))),
        }
    }

    /// The type code.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }

    /// What holds an Arrow type without change, if anything does.
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Utf8 | DataType::LargeUtf8 => Some(Self::Text),
            DataType::Binary | DataType::LargeBinary => Some(Self::Binary),
            _ => None,
        }
    }

    /// The Arrow type, with wide offsets if a chunk may need them.
    pub(super) fn data_type(self, wide: bool) -> DataType {
        match (self, wide) {
            (Self::Text, false) => DataType::Utf8,
            (Self::Text, true) => DataType::LargeUtf8,
            (Self::Binary, false) => DataType::Binary,
            (Self::Binary, true) => DataType::LargeBinary,
        }
    }
}
