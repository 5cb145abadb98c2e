//! The names of types in `cast(x as type)`.

use std::fmt;

use arrow_schema::{DataType, TimeUnit};

/// The time zone of every timestamp with a time zone inside this module: its values count from
/// the epoch in UTC, whatever zone they are shown in.
pub(super) const UTC: &str = "+00:00";

/// A type as predicates name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeName {
    Plain(&'static str),
    /// INVARIANT: at most 38 digits, of which at most all follow the point.
    Decimal(u8, i8),
}

/// Names of types, and the name that each prints as. The names are those of `DuckDB`, in which
/// `int8` has 8 bytes.
const NAMES: [(&str, &str); 37] = [
    ("bool", "boolean"),
    ("boolean", "boolean"),
    ("logical", "boolean"),
    ("tinyint", "tinyint"),
    ("int1", "tinyint"),
    ("smallint", "smallint"),
    ("int2", "smallint"),
    ("short", "smallint"),
    ("integer", "integer"),
    ("int", "integer"),
    ("int4", "integer"),
    ("signed", "integer"),
    ("bigint", "bigint"),
    ("int8", "bigint"),
    ("long", "bigint"),
    ("utinyint", "utinyint"),
    ("usmallint", "usmallint"),
    ("uinteger", "uinteger"),
    ("ubigint", "ubigint"),
    ("float", "float"),
    ("float4", "float"),
    ("real", "float"),
    ("double", "double"),
    ("float8", "double"),
    ("varchar", "varchar"),
    ("text", "varchar"),
    ("string", "varchar"),
    ("char", "varchar"),
    ("blob", "blob"),
    ("bytea", "blob"),
    ("binary", "blob"),
    ("varbinary", "blob"),
    ("date", "date"),
    ("time", "time"),
    ("timestamp", "timestamp"),
    ("datetime", "timestamp"),
    ("timestamptz", "timestamptz"),
];

impl TypeName {
    /// Returns the type with this name, in any case.
    pub(super) fn find(name: &str) -> Option<Self> {
        let found = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, canonical)| Self::Plain(canonical))
    }

    /// Returns whether `name 'text'` is a literal of this type.
    pub(super) fn prefixes_literals(self) -> bool {
        matches!(self, Self::Plain("date" | "time" | "timestamp" | "timestamptz"))
    }

    pub(super) fn data_type(self) -> DataType {
        let name = match self {
            Self::Decimal(precision, scale) => return DataType::Decimal128(precision, scale),
            Self::Plain(name) => name,
        };
        match name {
            "boolean" => DataType::Boolean,
            "tinyint" => DataType::Int8,
            "smallint" => DataType::Int16,
            "integer" => DataType::Int32,
            "bigint" => DataType::Int64,
            "utinyint" => DataType::UInt8,
            "usmallint" => DataType::UInt16,
            "uinteger" => DataType::UInt32,
            "ubigint" => DataType::UInt64,
            "float" => DataType::Float32,
            "double" => DataType::Float64,
            "blob" => DataType::Binary,
            "date" => DataType::Date32,
            "time" => DataType::Time64(TimeUnit::Microsecond),
            "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
            "timestamptz" => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
            _ => DataType::Utf8,
        }
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(name) => f.write_str(name),
            Self::Decimal(precision, scale) => write!(f, "decimal({precision}, {scale})"),
        }
    }
}
