//! The names and types of columns (§4.2).

use arrow_schema::DataType;

use hypostyle_core::error::{Error, Result};

/// The name and the type of a column.
#[derive(Clone, Debug)]
pub(super) struct ColumnSchema {
    pub(super) name: String,
    pub(super) string_type: StringType,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringType {
    /// UTF-8 text.
    Text,
    /// Any bytes.
    Binary,
}

impl StringType {
    /// Returns the type of a type code.
    pub(super) fn by_code(code: u8) -> Result<Self> {
        match code {
            0 => Ok(Self::Text),
            1 => Ok(Self::Binary),
            _ => Err(Error::malformed("column type", format!("{code} is not 0 or 1"))),
        }
    }

    /// Returns the type code.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }

    /// Returns the type that stores an Arrow type without change, if one does.
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Utf8 | DataType::LargeUtf8 => Some(Self::Text),
            DataType::Binary | DataType::LargeBinary => Some(Self::Binary),
            _ => None,
        }
    }

    /// Returns the Arrow type, with 64-bit offsets if `wide`.
    pub(super) fn data_type(self, wide: bool) -> DataType {
        match (self, wide) {
            (Self::Text, false) => DataType::Utf8,
            (Self::Text, true) => DataType::LargeUtf8,
            (Self::Binary, false) => DataType::Binary,
            (Self::Binary, true) => DataType::LargeBinary,
        }
    }
}
