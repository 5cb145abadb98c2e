//! The column types that the formats share, and the capabilities of each format.

use arrow_schema::{DataType, TimeUnit};

/// A column type of the column files, and a type that users can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// 32-bit signed integers.
    Int32,
    /// 64-bit signed integers.
    Int64,
    /// 64-bit floating point.
    Float64,
    /// UTF-8 text.
    Text,
}

impl ColumnType {
    /// Returns the type with a name that users type, such as `int` or `text`.
    pub fn by_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "int32" | "int" | "i32" => Some(Self::Int32),
            "int64" | "long" | "i64" => Some(Self::Int64),
            "float64" | "float" | "double" | "f64" => Some(Self::Float64),
            "text" | "string" | "utf8" | "str" => Some(Self::Text),
            _ => None,
        }
    }

    /// Returns the column type that holds an Arrow type without change, if one does.
    pub fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Int32 => Some(Self::Int32),
            DataType::Int64 => Some(Self::Int64),
            DataType::Float64 => Some(Self::Float64),
            DataType::Utf8 | DataType::LargeUtf8 => Some(Self::Text),
            _ => None,
        }
    }

    /// Returns the Arrow type; text gets 32-bit offsets.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Float64 => DataType::Float64,
            Self::Text => DataType::Utf8,
        }
    }

    /// Returns the Arrow type for a column whose values take `bytes` bytes.
    ///
    /// Text that 32-bit offsets cannot address gets 64-bit offsets.
    pub fn data_type_for(self, bytes: u64) -> DataType {
        match self {
            Self::Text if i32::try_from(bytes).is_err() => DataType::LargeUtf8,
            other => other.data_type(),
        }
    }

    /// Returns the bytes of one value; `None` for text.
    pub fn width(self) -> Option<u64> {
        match self {
            Self::Int32 => Some(4),
            Self::Int64 | Self::Float64 => Some(8),
            Self::Text => None,
        }
    }
}

/// A type that a caller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestedType {
    /// A type of the column files.
    Column(ColumnType),
    /// Booleans.
    Boolean,
    /// Dates.
    Date,
    /// Timestamps in microseconds, without a time zone.
    Timestamp,
    /// Instants in microseconds.
    TimestampUtc,
    /// Decimals with a precision of at most 38, and a scale of at most the precision.
    Decimal(u8, u8),
}

impl From<ColumnType> for RequestedType {
    fn from(column_type: ColumnType) -> Self {
        Self::Column(column_type)
    }
}

impl RequestedType {
    /// The names of types, for messages.
    pub const NAMES: &str =
        "int32, int64, float64, text, boolean, date, timestamp, timestamptz or decimal(P,S)";

    /// Returns the type with a name that users type, such as `int`, `date` or `decimal(10,2)`.
    pub fn by_name(name: &str) -> Option<Self> {
        if let Some(column_type) = ColumnType::by_name(name) {
            return Some(Self::Column(column_type));
        }
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "boolean" | "bool" => return Some(Self::Boolean),
            "date" => return Some(Self::Date),
            "timestamp" | "datetime" => return Some(Self::Timestamp),
            "timestamptz" => return Some(Self::TimestampUtc),
            _ => {}
        }
        let size = name.strip_prefix("decimal(")?.strip_suffix(')')?;
        let (precision, scale) = size.split_once(',')?;
        let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
        let is_valid = (1..=38).contains(&precision) && scale <= precision;
        is_valid.then_some(Self::Decimal(precision, scale))
    }

    /// Returns the name by which [`RequestedType::by_name`] finds the type.
    pub fn name(self) -> String {
        match self {
            Self::Column(ColumnType::Int32) => "int32".to_owned(),
            Self::Column(ColumnType::Int64) => "int64".to_owned(),
            Self::Column(ColumnType::Float64) => "float64".to_owned(),
            Self::Column(ColumnType::Text) => "text".to_owned(),
            Self::Boolean => "boolean".to_owned(),
            Self::Date => "date".to_owned(),
            Self::Timestamp => "timestamp".to_owned(),
            Self::TimestampUtc => "timestamptz".to_owned(),
            Self::Decimal(precision, scale) => format!("decimal({precision},{scale})"),
        }
    }

    /// Returns the Arrow type.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Column(column_type) => column_type.data_type(),
            Self::Boolean => DataType::Boolean,
            Self::Date => DataType::Date32,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::TimestampUtc => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Decimal(precision, scale) => {
                DataType::Decimal128(precision, i8::try_from(scale).unwrap_or_default())
            }
        }
    }
}

/// Describes which values a format can store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The format stores nulls.
    pub nulls: bool,
    /// The format stores 64-bit integers; a format with numbers always stores 32-bit ones.
    pub int64: bool,
    /// The format stores numbers; every format stores text.
    pub numbers: bool,
    /// The format stores bytes that are not text.
    pub binary: bool,
    /// The format stores booleans, dates, timestamps and decimals, and how cells of text spell
    /// them.
    pub arrow_types: bool,
}

impl Capabilities {
    /// The capabilities of Arrow and of formats that store everything it does.
    pub const EVERYTHING: Self =
        Self { nulls: true, int64: true, numbers: true, binary: true, arrow_types: true };
}
