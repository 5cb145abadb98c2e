//! Reads texts as booleans, dates, timestamps and decimals.

use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray};
use arrow_buffer::{NullBuffer, NullBufferBuilder};
use arrow_schema::{DataType, TimeUnit};

use crate::number::decimal::Decimal;
use crate::number::exact_decimal;
use crate::spelling::Spelling;
use crate::temporal;

/// Collects cells of text as an array of booleans, dates, timestamps or decimals.
///
/// It reads more spellings than a column of one type may have, so that it also serves columns
/// whose type was requested. It never rounds, and drops nothing.
#[derive(Debug)]
pub struct ValueBuilder {
    data_type: DataType,
    /// The spelling of the last cell, which the next one most likely has.
    spelling: Option<Spelling>,
    /// The last cell and its value: cells often repeat.
    last: (Vec<u8>, i64),
    values: Values,
    nulls: NullBufferBuilder,
}

#[derive(Debug)]
enum Values {
    Booleans(BooleanBufferBuilder),
    Days(Vec<i32>),
    Instants(Vec<i64>),
    /// The digits of decimals of a precision and a scale.
    Decimals(Vec<i128>, u8, i8),
}

impl ValueBuilder {
    /// Returns a builder for arrays of a type; `None` for types that it does not read.
    pub fn try_new(data_type: &DataType, rows: usize) -> Option<Self> {
        let values = match data_type {
            DataType::Boolean => Values::Booleans(BooleanBufferBuilder::new(rows)),
            DataType::Date32 => Values::Days(Vec::with_capacity(rows)),
            DataType::Timestamp(..) => Values::Instants(Vec::with_capacity(rows)),
            DataType::Decimal128(precision, scale) => {
                Values::Decimals(Vec::with_capacity(rows), *precision, *scale)
            }
            _ => return None,
        };
        let (data_type, nulls) = (data_type.clone(), NullBufferBuilder::new(rows));
        Some(Self { data_type, spelling: None, last: (Vec::new(), 0), values, nulls })
    }

    /// Adds a cell several times; returns false, and adds nothing, if it is not of the type.
    ///
    /// An empty cell is null.
    #[inline]
    pub fn push(&mut self, cell: Option<&[u8]>, times: usize) -> bool {
        let Some(cell) = cell.filter(|cell| !cell.is_empty()) else {
            self.push_nulls(times);
            return true;
        };
        let Some(()) = self.push_value(cell, times) else { return false };
        self.nulls.append_n_non_nulls(times);
        true
    }

    /// Adds nulls.
    pub fn push_nulls(&mut self, times: usize) {
        self.nulls.append_n_nulls(times);
        match &mut self.values {
            Values::Booleans(values) => values.append_n(times, false),
            Values::Days(values) => values.resize(values.len().saturating_add(times), 0),
            Values::Instants(values) => values.resize(values.len().saturating_add(times), 0),
            Values::Decimals(values, ..) => values.resize(values.len().saturating_add(times), 0),
        }
    }

    #[inline]
    fn push_value(&mut self, cell: &[u8], times: usize) -> Option<()> {
        if let Values::Decimals(values, precision, scale) = &mut self.values {
            let value = decimal(cell, *precision, *scale)?;
            values.resize(values.len().saturating_add(times), value);
            return Some(());
        }
        if self.last.0 != cell {
            let value = match self.spelling.and_then(|spelling| spelling.read(cell)) {
                Some(value) => value,
                None => self.read(cell)?,
            };
            self.last.0.clear();
            self.last.0.extend_from_slice(cell);
            self.last.1 = value;
        }
        let value = self.last.1;
        match &mut self.values {
            Values::Booleans(values) => values.append_n(times, value != 0),
            Values::Days(values) => {
                let value = i32::try_from(value).ok()?;
                values.resize(values.len().saturating_add(times), value);
            }
            Values::Instants(values) if times == 1 => values.push(value),
            Values::Instants(values) => values.resize(values.len().saturating_add(times), value),
            Values::Decimals(..) => {}
        }
        Some(())
    }

    /// Reads a cell of another spelling than the last one.
    #[inline(never)]
    fn read(&mut self, cell: &[u8]) -> Option<i64> {
        if let Some(spelling) = Spelling::of(cell)
            && spelling.data_type() == self.data_type
        {
            self.spelling = Some(spelling);
            return spelling.read(cell);
        }
        let text = std::str::from_utf8(cell).ok()?;
        match &self.data_type {
            DataType::Boolean if text.eq_ignore_ascii_case("true") => Some(1),
            DataType::Boolean if text.eq_ignore_ascii_case("false") => Some(0),
            DataType::Date32 => temporal::exact_date(text).map(i64::from),
            DataType::Timestamp(unit, zone) => {
                temporal::exact_timestamp(text, *unit, zone.is_some())
            }
            _ => None,
        }
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.nulls.len()
    }

    /// Returns whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the array.
    pub fn finish(mut self) -> ArrayRef {
        let (nulls, data_type) = (self.nulls.finish(), self.data_type);
        match self.values {
            Values::Booleans(mut values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Days(values) => primitive::<Date32Type>(values, nulls, data_type),
            Values::Decimals(values, ..) => primitive::<Decimal128Type>(values, nulls, data_type),
            Values::Instants(values) => match data_type {
                DataType::Timestamp(TimeUnit::Second, _) => {
                    primitive::<TimestampSecondType>(values, nulls, data_type)
                }
                DataType::Timestamp(TimeUnit::Millisecond, _) => {
                    primitive::<TimestampMillisecondType>(values, nulls, data_type)
                }
                DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                    primitive::<TimestampNanosecondType>(values, nulls, data_type)
                }
                _ => primitive::<TimestampMicrosecondType>(values, nulls, data_type),
            },
        }
    }
}

fn primitive<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
    data_type: DataType,
) -> ArrayRef {
    let array = PrimitiveArray::<T>::new(values.into(), nulls);
    Arc::new(array.with_data_type(data_type))
}

/// Reads a decimal that a precision and a scale represent.
fn decimal(cell: &[u8], precision: u8, scale: i8) -> Option<i128> {
    let value = match exact_decimal(cell) {
        Some((value, digits)) if i8::try_from(digits) == Ok(scale) => value,
        // A number of more digits would be rounded.
        _ if cell.len() > 38 => return None,
        _ => match Decimal::parse(cell)?.scaled_floor(i32::from(scale)) {
            (value, true) => value,
            (_, false) => return None,
        },
    };
    let digits = value.unsigned_abs().checked_ilog10().map_or(0, |digits| digits + 1);
    (digits <= u32::from(precision)).then_some(value)
}

/// Returns values as the integers that a [spelling](Spelling) prints; `None` for other types.
pub(super) fn spelled_values(array: &ArrayRef) -> Option<Vec<Option<i64>>> {
    match array.data_type() {
        DataType::Boolean => {
            Some(array.as_boolean().iter().map(|value| value.map(i64::from)).collect())
        }
        DataType::Date32 => {
            let array = array.as_primitive::<Date32Type>();
            Some(array.iter().map(|value| value.map(i64::from)).collect())
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Some(array.as_primitive::<TimestampMicrosecondType>().iter().collect())
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            Some(array.as_primitive::<TimestampNanosecondType>().iter().collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::cast;

    fn built(data_type: &DataType, cells: &[&str]) -> Option<Vec<Option<String>>> {
        let mut builder = ValueBuilder::try_new(data_type, cells.len()).unwrap();
        for cell in cells {
            if !builder.push(Some(cell.as_bytes()), 1) {
                return None;
            }
        }
        let array = cast(&builder.finish(), &DataType::Utf8).unwrap();
        let texts = arrow_array::cast::AsArray::as_string::<i32>(&array);
        Some(texts.iter().map(|cell| cell.map(str::to_owned)).collect())
    }

    #[test]
    fn cells_are_read_in_many_spellings_and_never_rounded() {
        let some = |cells: &[&str]| Some(cells.iter().map(|it| Some((*it).to_owned())).collect());
        assert_eq!(built(&DataType::Boolean, &["true", "FALSE"]), some(&["true", "false"]));
        assert_eq!(built(&DataType::Boolean, &["1"]), None);
        let dates = ["2024-01-04", "2024/1/5"];
        assert_eq!(built(&DataType::Date32, &dates), some(&["2024-01-04", "2024-01-05"]));
        assert_eq!(built(&DataType::Date32, &["2024-01-04 12:00"]), None);
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        let cells = ["2024-01-04", "2024-01-04 12:00:00.5"];
        let want = ["2024-01-04T00:00:00", "2024-01-04T12:00:00.500"];
        assert_eq!(built(&micros, &cells), some(&want));
        assert_eq!(built(&micros, &["2024-01-04 12:00:00.1234567"]), None);
        assert_eq!(built(&micros, &["2024-01-04 12:00:00Z"]), None);
        let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let cells = ["2024-01-04T12:00:00+02:00", "2024-01-04T12:00:00Z"];
        let want = ["2024-01-04T10:00:00Z", "2024-01-04T12:00:00Z"];
        assert_eq!(built(&zoned, &cells), some(&want));
        let money = DataType::Decimal128(5, 2);
        assert_eq!(built(&money, &["1.50", "7", "-0.1"]), some(&["1.50", "7.00", "-0.10"]));
        assert_eq!(built(&money, &["1.505"]), None);
        assert_eq!(built(&money, &["1000.00"]), None);
        assert_eq!(built(&money, &[""]), Some(vec![None]));
        assert!(ValueBuilder::try_new(&DataType::Int32, 0).is_none());
    }
}
