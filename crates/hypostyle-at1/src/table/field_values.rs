//! The values of the fields of a dictionary (§5.7).

use hashbrown::HashMap;

use super::verbatim_cells::split;
use crate::row_buffer::{DictEntry, PaddedDict};

/// Returns the fields of a cell that has `width` of them.
pub(crate) fn parts(cell: &[u8], delimiter: u8, width: usize) -> Vec<&[u8]> {
    match width {
        1 => vec![cell],
        _ => split(cell, delimiter).unwrap_or_default(),
    }
}

/// Numbers the distinct values of a field in the order of the entries.
pub(crate) fn value_numbers(
    entries: &PaddedDict,
    field: usize,
    width: usize,
    delimiter: u8,
) -> HashMap<Vec<u8>, usize> {
    let mut numbers = HashMap::new();
    for index in 0..entries.len() {
        let entry = entries.get(index).map(DictEntry::bytes).unwrap_or_default();
        let part = parts(entry, delimiter, width).get(field).copied().unwrap_or_default().to_vec();
        let next = numbers.len();
        numbers.entry(part).or_insert(next);
    }
    numbers
}
