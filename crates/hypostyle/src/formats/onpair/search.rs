//! Evaluates predicates on a chunk, on its codes where the codec can search them.

use arrow_array::BooleanArray;
use hypostyle_onpair::{Column, Pattern};

use super::encoded_chunk::{EncodedChunk, EncodedValues};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::predicate::{ColumnFilter, FilterSearch, SearchForm};

/// The size of the text that is decoded at a time, small enough for the cache.
const DECODE_BLOCK_BYTES: usize = 32 << 10;

/// Evaluates a filter for every row.
pub(super) fn evaluate_rows(
    encoded: &EncodedChunk<'_>,
    rows: usize,
    filter: &mut ColumnFilter<'_>,
) -> Result<BooleanArray> {
    let values = match &encoded.values {
        EncodedValues::Plain(values) => {
            (0..values.len()).map(|index| filter.test(Some(values.get(index)))).collect()
        }
        EncodedValues::Codes(column) => evaluate_codes(encoded, column, filter)?,
    };
    // Several rows may share a value, which was tested once.
    let mut non_null: Box<dyn Iterator<Item = Option<bool>>> = match &encoded.indexes {
        None => Box::new(values.into_iter()),
        Some(indexes) => Box::new(
            indexes.iter().map(move |&index| values.get(index as usize).copied().flatten()),
        ),
    };
    let Some(nulls) = &encoded.nulls else { return Ok(non_null.take(rows).collect()) };
    let for_null = filter.test(None);
    let result = |valid| if valid { non_null.next().flatten() } else { for_null };
    Ok(nulls.iter().map(result).collect())
}

/// Evaluates a filter for every value, by a search on the codes if the filter has one.
fn evaluate_codes(
    encoded: &EncodedChunk<'_>,
    column: &Column<'_>,
    filter: &mut ColumnFilter<'_>,
) -> Result<Vec<Option<bool>>> {
    let Some(FilterSearch { form, exact, also }) = filter.search() else {
        return evaluate_decoded(encoded, column, filter);
    };
    let mut found: Vec<(usize, bool)> =
        find(column, &form).into_iter().map(|index| (index, exact)).collect();
    for text in also {
        let others = find(column, &SearchForm::Contains(text));
        found.extend(others.into_iter().map(|index| (index, false)));
    }
    let mut results = vec![Some(false); column.len()];
    let mut text = Vec::new();
    for (index, passes) in found {
        let result = if passes {
            Some(true)
        } else {
            check_len(encoded, column.row_len(index) as u64)?;
            text.clear();
            column.row_into(index, &mut text).map_err(|err| {
                Error::malformed("codes", err.to_string()).at(encoded.values_offset)
            })?;
            filter.test(Some(&text))
        };
        results.get_mut(index).into_iter().for_each(|slot| *slot = result);
    }
    Ok(results)
}

fn find(column: &Column<'_>, form: &SearchForm<'_>) -> Vec<usize> {
    column.find(&match *form {
        SearchForm::Is(text) => Pattern::Equals(text),
        SearchForm::AnyOf(texts) => Pattern::AnyOf(texts),
        SearchForm::StartsWith(text) => Pattern::StartsWith(text),
        SearchForm::EndsWith(text) => Pattern::EndsWith(text),
        SearchForm::Contains(text) => Pattern::Contains(text),
        SearchForm::ContainsIgnoringCase(text) => Pattern::ContainsIgnoringCase(text),
        SearchForm::Within(low, high) => return column.find_between(low, high),
    })
}

/// Decodes every value, block by block, and tests it.
fn evaluate_decoded(
    encoded: &EncodedChunk<'_>,
    column: &Column<'_>,
    filter: &mut ColumnFilter<'_>,
) -> Result<Vec<Option<bool>>> {
    check_len(encoded, column.decoded_len() as u64)?;
    let mut results = Vec::with_capacity(column.len());
    column.for_each_block(DECODE_BLOCK_BYTES, |_, bytes, ends| -> Result<()> {
        let mut start = 0;
        for &end in ends {
            results.push(filter.test(Some(bytes.get(start..end).unwrap_or_default())));
            start = end;
        }
        Ok(())
    })?;
    Ok(results)
}

/// Refuses values with more text than all rows have, before memory is allocated for them.
fn check_len(encoded: &EncodedChunk<'_>, len: u64) -> Result<()> {
    if len > encoded.text_len {
        let declared = encoded.text_len;
        let why = format!("decode to {len} bytes of text where the entry declares {declared}");
        return Err(Error::malformed("codes", why).at(encoded.values_offset));
    }
    Ok(())
}
