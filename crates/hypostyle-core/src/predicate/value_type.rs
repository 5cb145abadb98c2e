//! The types of values in predicates, and which of them can be compared.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_schema::{DataType, TimeUnit};

use super::type_name::UTC;
use crate::error::Result;

/// The digits of the widest integers and decimals that 128 bits store.
const DECIMAL128_DIGITS: u8 = 38;
const DECIMAL256_DIGITS: u8 = 76;

/// What a type has in common with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Int,
    Float,
    Decimal,
    Text,
    Bytes,
    Date,
    Time,
    Timestamp,
    Duration,
    List,
    Struct,
    Other,
}

impl Kind {
    pub(super) fn of(data_type: &DataType) -> Self {
        use DataType as T;
        match data_type {
            T::Null => Self::Null,
            T::Boolean => Self::Bool,
            T::Float16 | T::Float32 | T::Float64 => Self::Float,
            T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..) | T::Decimal256(..) => {
                Self::Decimal
            }
            T::Utf8 | T::LargeUtf8 | T::Utf8View => Self::Text,
            T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => Self::Bytes,
            T::Date32 | T::Date64 => Self::Date,
            T::Time32(_) | T::Time64(_) => Self::Time,
            T::Timestamp(..) => Self::Timestamp,
            T::Duration(_) => Self::Duration,
            T::List(_)
            | T::LargeList(_)
            | T::FixedSizeList(..)
            | T::ListView(_)
            | T::LargeListView(_) => Self::List,
            T::Struct(_) => Self::Struct,
            other if other.is_integer() => Self::Int,
            _ => Self::Other,
        }
    }

    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Float | Self::Decimal)
    }

    /// Returns the word for values of this kind in messages.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "boolean",
            Self::Int | Self::Float | Self::Decimal => "number",
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Date => "date",
            Self::Time => "time",
            Self::Timestamp => "timestamp",
            Self::Duration => "duration",
            Self::List => "list",
            Self::Struct => "struct",
            Self::Other => "other type",
        }
    }
}

/// Returns the type in which values of a column are computed with: encodings are removed, and
/// types that differ only in their storage become one.
pub(super) fn plain(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain(values),
        DataType::RunEndEncoded(_, values) => plain(values.data_type()),
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::FixedSizeBinary(_) => DataType::Binary,
        DataType::Date64 => DataType::Date32,
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some(UTC.into())),
        other => other.clone(),
    }
}

/// Returns the type to which two plain types are cast before they are compared, as in `DuckDB`;
/// `None` if they cannot be compared.
///
/// Text is not compared with other kinds here: the rules for it depend on the other kind.
pub(super) fn common(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType as T;
    if left == right {
        let kind = Kind::of(left);
        return (!matches!(kind, Kind::List | Kind::Struct | Kind::Other)).then(|| left.clone());
    }
    Some(match (Kind::of(left), Kind::of(right)) {
        (Kind::Null, _) => right.clone(),
        (_, Kind::Null) => left.clone(),
        (Kind::Int, Kind::Int) => match (left.is_signed_integer(), right.is_signed_integer()) {
            (a, b) if a != b && (*left == T::UInt64 || *right == T::UInt64) => T::Decimal128(20, 0),
            (false, false) => T::UInt64,
            _ => T::Int64,
        },
        (Kind::Float, Kind::Float) => T::Float64,
        (Kind::Float, other) | (other, Kind::Float) if other.is_number() || other == Kind::Bool => {
            if *left == T::Float64 || *right == T::Float64 {
                T::Float64
            } else {
                T::Float32
            }
        }
        (a, b)
            if (a == Kind::Decimal || b == Kind::Decimal)
                && [a, b].iter().all(|kind| kind.is_number() || *kind == Kind::Bool) =>
        {
            let ((left_digits, left_scale), (right_digits, right_scale)) =
                (decimal_size(left), decimal_size(right));
            let scale = left_scale.max(right_scale);
            let digits = left_digits.max(right_digits).saturating_add(scale);
            let scale = i8::try_from(scale).ok()?;
            if digits <= DECIMAL128_DIGITS {
                T::Decimal128(DECIMAL128_DIGITS, scale)
            } else {
                T::Decimal256(DECIMAL256_DIGITS, scale)
            }
        }
        (Kind::Bool, Kind::Int) => right.clone(),
        (Kind::Int, Kind::Bool) => left.clone(),
        (Kind::Text, Kind::Text) => T::Utf8View,
        (Kind::Bytes, Kind::Bytes) => T::BinaryView,
        (Kind::Time, Kind::Time) => match finer(time_unit(left)?, time_unit(right)?) {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => T::Time32(unit),
            unit => T::Time64(unit),
        },
        (Kind::Duration, Kind::Duration) => T::Duration(finer(time_unit(left)?, time_unit(right)?)),
        (Kind::Date | Kind::Timestamp, Kind::Date | Kind::Timestamp) => {
            let unit = match (time_unit(left), time_unit(right)) {
                (Some(left), Some(right)) => finer(left, right),
                (Some(unit), None) | (None, Some(unit)) => unit,
                (None, None) => return Some(T::Date32),
            };
            let zoned = is_zoned(left) || is_zoned(right);
            T::Timestamp(unit, zoned.then(|| UTC.into()))
        }
        _ => return None,
    })
}

/// Returns the digits before the point and after it that values of a numeric type may have.
pub(super) fn decimal_size(data_type: &DataType) -> (u8, u8) {
    match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => {
            let fraction = u8::try_from(*scale).unwrap_or(0);
            let shift = scale.unsigned_abs();
            let whole = if *scale < 0 {
                precision.saturating_add(shift)
            } else {
                precision.saturating_sub(shift)
            };
            (whole, fraction)
        }
        DataType::Boolean => (1, 0),
        DataType::Int64 => (19, 0),
        DataType::UInt64 => (20, 0),
        _ => (10, 0),
    }
}

pub(super) fn is_zoned(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, Some(_)))
}

fn time_unit(data_type: &DataType) -> Option<TimeUnit> {
    match data_type {
        DataType::Time32(unit)
        | DataType::Time64(unit)
        | DataType::Timestamp(unit, _)
        | DataType::Duration(unit) => Some(*unit),
        _ => None,
    }
}

fn finer(left: TimeUnit, right: TimeUnit) -> TimeUnit {
    // The units are declared from the coarsest to the finest.
    left.max(right)
}

/// Returns an array in its [plain] type.
pub(super) fn plain_array(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Dictionary(_, values) => plain_array(&arrow_cast::cast(array, values)?)?,
        DataType::RunEndEncoded(_, values) => {
            plain_array(&arrow_cast::cast(array, values.data_type())?)?
        }
        DataType::Timestamp(unit, Some(_)) => in_utc(array, *unit),
        found => {
            let wanted = plain(found);
            if *found == wanted { array.clone() } else { arrow_cast::cast(array, &wanted)? }
        }
    })
}

/// Replaces the time zone, which does not change the values.
fn in_utc(array: &ArrayRef, unit: TimeUnit) -> ArrayRef {
    fn go<T: ArrowTimestampType>(array: &ArrayRef) -> ArrayRef {
        Arc::new(array.as_primitive::<T>().clone().with_timezone(UTC))
    }
    match unit {
        TimeUnit::Second => go::<TimestampSecondType>(array),
        TimeUnit::Millisecond => go::<TimestampMillisecondType>(array),
        TimeUnit::Microsecond => go::<TimestampMicrosecondType>(array),
        TimeUnit::Nanosecond => go::<TimestampNanosecondType>(array),
    }
}
