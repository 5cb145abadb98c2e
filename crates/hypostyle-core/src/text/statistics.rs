//! What a summary says about the values of a column.

use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray};
use arrow_schema::DataType;

use super::row_blocks::TextColumn;
use super::state::{InferredState, SpelledRange};
use super::summary::{ColumnState, ColumnSummary};
use crate::cast::ValueBuilder;
use crate::reader::ColumnStatistics;

/// Returns the null count and the bounds of a column.
pub(super) fn statistics(
    column: &TextColumn,
    summary: &ColumnSummary,
    marks: u64,
) -> ColumnStatistics {
    let mut found = ColumnStatistics::default();
    let is_text = matches!(column.data_type, DataType::Utf8 | DataType::Binary);
    // How often `NaN` means null is not counted.
    let is_counted = match (&column.null_token, &summary.odd_token) {
        (None, _) => Some(0),
        (Some(token), Some(odd)) if *token == odd.text => Some(odd.count),
        (Some(_), _) => None,
    };
    found.null_count = match (&summary.state, summary.nulls.filter(|_| is_counted.is_some())) {
        (ColumnState::Cells(_), Some(_)) if column.gaps_are_empty && is_text => Some(0),
        (ColumnState::Cells(_), Some(nulls)) if !is_text => {
            let counts = [summary.empty_texts, is_counted.unwrap_or_default()];
            Some(counts.into_iter().fold(nulls, u64::saturating_add))
        }
        (_, nulls) => nulls.map(|nulls| nulls.saturating_add(marks)),
    };
    let scalars = match (&summary.state, &summary.odd_token) {
        (ColumnState::Cells(_), Some(odd)) if column.null_token.is_some() => &odd.others,
        (ColumnState::Cells(state), _) => state,
        (ColumnState::Values(state), _) if state.object.is_none() && state.list.is_none() => {
            &state.scalars
        }
        _ => &InferredState::NONE,
    };
    let (min, max) = scalars.range;
    let bounds: Option<(ArrayRef, ArrayRef)> = match column.data_type {
        DataType::Int32 if min <= max => {
            let array = |value: i64| Some(Int32Array::from(vec![i32::try_from(value).ok()?]));
            let both = array(min).zip(array(max));
            both.map(|(min, max)| (Arc::new(min) as ArrayRef, Arc::new(max) as ArrayRef))
        }
        DataType::Int64 if min <= max => {
            let array = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
            Some((array(min), array(max)))
        }
        DataType::Float64 if !scalars.nans => scalars.number_range().map(|(min, max)| {
            let array = |value: f64| Arc::new(Float64Array::from(vec![value])) as ArrayRef;
            (array(min), array(max))
        }),
        DataType::Boolean | DataType::Date32 | DataType::Timestamp(..) => {
            let spelled = scalars.spelled.filter(|it| it.spelling.data_type() == column.data_type);
            spelled.and_then(|SpelledRange { spelling, min, max }| {
                let array = |value: i64| {
                    let mut text = Vec::new();
                    spelling.put(value, &mut text);
                    one_value(&column.data_type, &text)
                };
                array(min).zip(array(max))
            })
        }
        DataType::Decimal128(precision, scale) => {
            let range = scalars.decimal_range();
            let range = range.filter(|range| i8::try_from(range.scale) == Ok(scale));
            range.and_then(|range| {
                let array = |value: i128| {
                    let array = Decimal128Array::from(vec![value]);
                    let array = array.with_precision_and_scale(precision, scale).ok()?;
                    Some(Arc::new(array) as ArrayRef)
                };
                array(range.min).zip(array(range.max))
            })
        }
        DataType::Utf8 => summary.texts.as_ref().and_then(|range| {
            // An empty text is less than all others.
            let has_empty = summary.empty_texts > 0
                || (column.gaps_are_empty && summary.nulls.is_none_or(|nulls| nulls > 0));
            if range.is_truncated() {
                return None;
            }
            let array = |text: &[u8]| {
                let text = std::str::from_utf8(text).ok()?;
                Some(Arc::new(StringArray::from(vec![text])) as ArrayRef)
            };
            array(if has_empty { b"" } else { &range.min }).zip(array(&range.max))
        }),
        _ => None,
    };
    if let Some((min, max)) = bounds {
        (found.min, found.max, found.is_exact) = (Some(min), Some(max), true);
    }
    found
}

/// Returns an array of one value.
fn one_value(data_type: &DataType, text: &[u8]) -> Option<ArrayRef> {
    let mut builder = ValueBuilder::try_new(data_type, 1)?;
    builder.push(Some(text), 1).then(|| builder.finish())
}
