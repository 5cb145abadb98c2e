//! Types that hold the values of several columns.

use arrow_schema::DataType;

/// Returns the type that holds the values of both without loss.
pub fn common_type(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType as T;
    let is_small = |of: &T| matches!(of, T::Int8 | T::Int16 | T::Int32 | T::UInt8 | T::UInt16);
    match (one, other) {
        (one, other) if one == other => Some(one.clone()),
        (T::Null, other) | (other, T::Null) => Some(other.clone()),
        (T::Utf8View, other) | (other, T::Utf8View) if *plain_type(other) == T::Utf8 => {
            Some(T::Utf8View)
        }
        (T::Dictionary(_, values), other) | (other, T::Dictionary(_, values)) => {
            common_type(values, plain_type(other))
        }
        (one, other) if one.is_signed_integer() && other.is_signed_integer() => {
            let is_wider = one.primitive_width() > other.primitive_width();
            Some(if is_wider { one.clone() } else { other.clone() })
        }
        (T::Float64, int) | (int, T::Float64) if is_small(int) => Some(T::Float64),
        _ => None,
    }
}

/// Returns the type of the values of a column, whatever their encoding.
pub fn plain_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        DataType::Utf8View => &DataType::Utf8,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_widen_without_loss_or_clash() {
        use DataType as T;
        assert_eq!(common_type(&T::Int32, &T::Int64), Some(T::Int64));
        assert_eq!(common_type(&T::Int64, &T::Int32), Some(T::Int64));
        assert_eq!(common_type(&T::Int32, &T::Float64), Some(T::Float64));
        assert_eq!(common_type(&T::Int64, &T::Float64), None);
        assert_eq!(common_type(&T::Utf8, &T::Int32), None);
        assert_eq!(common_type(&T::Null, &T::Utf8), Some(T::Utf8));
        let dictionary = T::Dictionary(Box::new(T::Int32), Box::new(T::Utf8));
        assert_eq!(common_type(&dictionary, &dictionary), Some(dictionary.clone()));
        assert_eq!(common_type(&T::Utf8, &dictionary), Some(T::Utf8));
        assert_eq!(common_type(&dictionary, &T::Int32), None);
        assert_eq!(common_type(&T::Utf8View, &dictionary), Some(T::Utf8View));
        assert_eq!(common_type(&T::Utf8, &T::Utf8View), Some(T::Utf8View));
        assert_eq!(common_type(&T::Utf8View, &T::Int32), None);
    }
}
