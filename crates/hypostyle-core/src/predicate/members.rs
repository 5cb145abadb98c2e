//! Sets of values for `in`, for columns of fixed width.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::bound::Members;

/// A value of fixed width as a key: equal values of a type have equal keys, others differ.
trait Key: Copy {
    fn key(self) -> i128;
}

macro_rules! integer_keys {
    ($($native:ty),*) => {
        $(impl Key for $native {
            #[inline]
            fn key(self) -> i128 {
                i128::from(self)
            }
        })*
    };
}

integer_keys!(i8, i16, i32, i64, u8, u16, u32, u64, i128);

impl Key for f64 {
    fn key(self) -> i128 {
        // Every NaN is equal to every other, and so are both zeros.
        let value = if self.is_nan() { Self::NAN } else { self + 0.0 };
        i128::from(value.to_bits())
    }
}

impl Key for f32 {
    fn key(self) -> i128 {
        f64::from(self).key()
    }
}

/// Calls `$f` with the Arrow type of `$data_type` as its type parameter.
macro_rules! with_type {
    ($data_type:expr, $f:ident, $($argument:expr),*) => {
        match $data_type {
            DataType::Int8 => Some($f::<Int8Type>($($argument),*)),
            DataType::Int16 => Some($f::<Int16Type>($($argument),*)),
            DataType::Int32 => Some($f::<Int32Type>($($argument),*)),
            DataType::Int64 => Some($f::<Int64Type>($($argument),*)),
            DataType::UInt8 => Some($f::<UInt8Type>($($argument),*)),
            DataType::UInt16 => Some($f::<UInt16Type>($($argument),*)),
            DataType::UInt32 => Some($f::<UInt32Type>($($argument),*)),
            DataType::UInt64 => Some($f::<UInt64Type>($($argument),*)),
            DataType::Float32 => Some($f::<Float32Type>($($argument),*)),
            DataType::Float64 => Some($f::<Float64Type>($($argument),*)),
            DataType::Decimal128(..) => Some($f::<Decimal128Type>($($argument),*)),
            DataType::Date32 => Some($f::<Date32Type>($($argument),*)),
            DataType::Time32(TimeUnit::Second) => Some($f::<Time32SecondType>($($argument),*)),
            DataType::Time32(_) => Some($f::<Time32MillisecondType>($($argument),*)),
            DataType::Time64(TimeUnit::Microsecond) => {
                Some($f::<Time64MicrosecondType>($($argument),*))
            }
            DataType::Time64(_) => Some($f::<Time64NanosecondType>($($argument),*)),
            DataType::Timestamp(TimeUnit::Second, _) => {
                Some($f::<TimestampSecondType>($($argument),*))
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                Some($f::<TimestampMillisecondType>($($argument),*))
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                Some($f::<TimestampMicrosecondType>($($argument),*))
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                Some($f::<TimestampNanosecondType>($($argument),*))
            }
            _ => None,
        }
    };
}

/// Returns the key of the first value of an array; `None` if its type has no keys.
pub(super) fn key(array: &ArrayRef) -> Option<i128> {
    fn first<T: ArrowPrimitiveType<Native: Key>>(array: &ArrayRef) -> Option<i128> {
        array.as_primitive::<T>().values().first().map(|value| value.key())
    }
    with_type!(array.data_type(), first, array).flatten()
}

impl Members {
    /// Returns for each value whether it is a member; `None` if the type has no keys.
    pub(super) fn contain(&self, array: &ArrayRef) -> Option<BooleanArray> {
        let found = with_type!(array.data_type(), found, array, self)?;
        // A value that is not found is unknown if the list has a null.
        let known = self.has_null.then(|| NullBuffer::new(found.clone()));
        let nulls = NullBuffer::union(array.nulls(), known.as_ref());
        Some(BooleanArray::new(found, nulls))
    }
}

fn found<T: ArrowPrimitiveType<Native: Key>>(array: &ArrayRef, members: &Members) -> BooleanBuffer {
    let values = array.as_primitive::<T>().values();
    values.iter().map(|value| members.keys.contains(&value.key())).collect()
}
