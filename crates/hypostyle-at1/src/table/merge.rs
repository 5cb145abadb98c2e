//! Joins the rows of several sources in their order.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_select::interleave::interleave;
use arrow_select::take::take;

use hypostyle_core::concat::concat;
use hypostyle_core::error::Result;

/// Rows in a run, on average, from which on runs are copied as a whole.
const LONG_RUN_ROWS: usize = 8;

/// Joins arrays: the next row is the next one of the array that `order` names.
pub(super) fn merge(arrays: &[(u8, ArrayRef)], order: &[u8]) -> Result<ArrayRef> {
    if let [(_, only)] = arrays {
        return Ok(Arc::clone(only));
    }
    let mut slots = [0_usize; 256];
    for (slot, (source, _)) in arrays.iter().enumerate() {
        if let Some(of_source) = slots.get_mut(usize::from(*source)) {
            *of_source = slot;
        }
    }
    let slot_of = |source: u8| slots.get(usize::from(source)).copied().unwrap_or_default();
    let mut next = vec![0_usize; arrays.len()];
    let runs = order.chunk_by(|one, other| one == other);
    if runs.clone().count().saturating_mul(LONG_RUN_ROWS) <= order.len() {
        let mut pieces: Vec<ArrayRef> = Vec::new();
        for run in runs {
            let slot = run.first().map_or(0, |&source| slot_of(source));
            if let (Some((_, array)), Some(next)) = (arrays.get(slot), next.get_mut(slot)) {
                pieces.push(array.slice(*next, run.len()));
                *next += run.len();
            }
        }
        let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
        return concat(&pieces);
    }
    let places: Vec<(usize, usize)> = order
        .iter()
        .map(|&source| {
            let slot = slot_of(source);
            let row = next.get_mut(slot).map_or(0, |next| {
                *next += 1;
                *next - 1
            });
            (slot, row)
        })
        .collect();
    let arrays: Vec<&dyn Array> = arrays.iter().map(|(_, array)| array.as_ref()).collect();
    if cfg!(target_family = "wasm") {
        return taken(&arrays, &places);
    }
    Ok(interleave(&arrays, &places)?)
}

/// Does what `interleave` does, which would add a tenth to the size of a module in WebAssembly.
fn taken(arrays: &[&dyn Array], places: &[(usize, usize)]) -> Result<ArrayRef> {
    let mut starts = vec![0_u64];
    for array in arrays {
        let end = starts.last().map_or(0, |start| start.saturating_add(array.len() as u64));
        starts.push(end);
    }
    let row = |&(slot, row): &(usize, usize)| {
        starts.get(slot).map_or(0, |start| start.saturating_add(row as u64))
    };
    let rows: UInt64Array = places.iter().map(|place| Some(row(place))).collect();
    Ok(take(&concat(arrays)?, &rows, None)?)
}

#[cfg(test)]
mod tests {
    use arrow_array::Int32Array;

    use super::*;

    #[test]
    fn rows_keep_their_order() {
        let array = |values: std::ops::Range<i32>| -> ArrayRef {
            Arc::new(Int32Array::from_iter_values(values))
        };
        let arrays = [(0, array(100..103)), (2, array(0..40)), (7, array(200..202))];
        let mut order = vec![2; 40];
        for (at, source) in [(0, 0), (20, 7), (21, 0), (22, 0), (44, 7)] {
            order.insert(at, source);
        }
        let want: Vec<i32> = [100]
            .into_iter()
            .chain(0..19)
            .chain([200, 101, 102])
            .chain(19..40)
            .chain([201])
            .collect();
        assert_eq!(merge(&arrays, &order).unwrap().as_ref(), &Int32Array::from(want));
        let arrays = [(0, array(0..3)), (1, array(10..13))];
        let mixed = merge(&arrays, &[0, 1, 0, 1, 0, 1]).unwrap();
        assert_eq!(mixed.as_ref(), &Int32Array::from(vec![0, 10, 1, 11, 2, 12]));
    }
}
