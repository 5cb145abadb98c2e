//! Formats short cells a column at a time.
//!
//! Most columns hold numbers or a few short words. Such columns are formatted column by
//! column into inline cells for a batch of rows, which is fast because it repeats the same
//! work. Rows then copy the inline cells.

use super::column::{CellBitmap, DecodedColumn};
use super::number::{NumberValues, Scale};
use super::table::Quotes;
use crate::row_buffer::{InlineCell, PaddedDict};
use hypostyle_core::text::csv;

/// A column whose cells are all short enough for inline cells, after a lead byte.
#[derive(Debug)]
pub(super) struct InlineColumn<'a> {
    lead: u8,
    values: InlineValues<'a>,
}

#[derive(Debug)]
enum InlineValues<'a> {
    Tiny(&'a [i16], Scale),
    Small(&'a [i32], Scale),
    Mixed {
        values: &'a NumberValues,
        scale: Scale,
        bits: &'a CellBitmap,
        exceptions: Vec<InlineCell>,
    },
    Dict {
        ids: &'a [u32],
        entries: Vec<InlineCell>,
    },
}

impl<'a> InlineColumn<'a> {
    /// The largest number of rows in a batch.
    pub(super) const MAX_ROWS: usize = 64;

    /// Returns an inline column; `None` if a cell is too long. `lead` is put before each cell.
    pub(super) fn new(column: &'a DecodedColumn, quotes: &Quotes<'_>, lead: u8) -> Option<Self> {
        let plain = matches!(quotes, Quotes::None);
        let values = match column {
            DecodedColumn::Numbers { values, scale } if plain && InlineCell::fits(*scale) => {
                match values {
                    NumberValues::Tiny(values) => InlineValues::Tiny(values, *scale),
                    NumberValues::Small(values) => InlineValues::Small(values, *scale),
                    _ => return None,
                }
            }
            DecodedColumn::Mixed {
                values: values @ (NumberValues::Tiny(_) | NumberValues::Small(_)),
                scale,
                bits,
                exceptions,
            } if plain && InlineCell::fits(*scale) => InlineValues::Mixed {
                values,
                scale: *scale,
                bits,
                exceptions: inline_cells(exceptions, lead, false)?,
            },
            DecodedColumn::Dict { ids, entries } if plain || matches!(quotes, Quotes::All) => {
                InlineValues::Dict { ids, entries: inline_cells(entries, lead, !plain)? }
            }
            _ => return None,
        };
        Some(Self { lead, values })
    }

    /// Writes the cells from `start` on to `slots`, one for each row.
    ///
    /// Returns `false` if there are fewer cells than rows. `rows` must be at most
    /// [`InlineColumn::MAX_ROWS`].
    pub(super) fn lay<'s>(
        &self,
        start: usize,
        rows: usize,
        slots: impl Iterator<Item = &'s mut InlineCell>,
    ) -> bool {
        let end = start.saturating_add(rows);
        let lead = self.lead;
        match &self.values {
            InlineValues::Tiny(values, scale) => {
                let Some(values) = values.get(start..end) else { return false };
                lay(values.iter().copied().map(i32::from), *scale, lead, slots);
            }
            InlineValues::Small(values, scale) => {
                let Some(values) = values.get(start..end) else { return false };
                lay(values.iter().copied(), *scale, lead, slots);
            }
            InlineValues::Dict { ids, entries } => {
                let Some(ids) = ids.get(start..end) else { return false };
                for (slot, &id) in slots.zip(ids) {
                    *slot = entries.get(id as usize).copied().unwrap_or_default();
                }
            }
            InlineValues::Mixed { values, scale, bits, exceptions } => {
                if end > bits.len() {
                    return false;
                }
                let numbers = bits.ones_before(start);
                let exceptions = exceptions.get(start - numbers..).unwrap_or_default();
                let bits = bits.next_64(start);
                let cells = (0..rows).map(|row| bits >> row & 1 == 1).zip(slots);
                match values {
                    NumberValues::Tiny(values) => {
                        let values = values.get(numbers..).unwrap_or_default();
                        mix(values.iter().copied().map(i32::from), exceptions, *scale, lead, cells);
                    }
                    NumberValues::Small(values) => {
                        let values = values.get(numbers..).unwrap_or_default();
                        mix(values.iter().copied(), exceptions, *scale, lead, cells);
                    }
                    _ => return false,
                }
            }
        }
        true
    }
}

fn lay<'s>(
    values: impl Iterator<Item = i32>,
    scale: Scale,
    lead: u8,
    slots: impl Iterator<Item = &'s mut InlineCell>,
) {
    match scale {
        Scale::Whole => slots.zip(values).for_each(|(slot, value)| {
            *slot = InlineCell::integer(lead, value);
        }),
        Scale::Digits(digits) => slots.zip(values).for_each(|(slot, value)| {
            *slot = InlineCell::decimal(lead, value, digits);
        }),
    }
}

fn mix<'s>(
    mut values: impl Iterator<Item = i32>,
    exceptions: &[InlineCell],
    scale: Scale,
    lead: u8,
    cells: impl Iterator<Item = (bool, &'s mut InlineCell)>,
) {
    let mut exceptions = exceptions.iter().copied();
    for (is_number, slot) in cells {
        let cell = if is_number {
            values.next().map(|value| InlineCell::number(lead, value, scale))
        } else {
            exceptions.next()
        };
        *slot = cell.unwrap_or_default();
    }
}

/// Returns the entries as inline cells; `None` if one is too long.
fn inline_cells(entries: &PaddedDict, lead: u8, quoted: bool) -> Option<Vec<InlineCell>> {
    let mut text = Vec::new();
    let slot = |index| {
        let cell = entries.get(index)?.bytes();
        text.clear();
        text.push(lead);
        if quoted {
            csv::quote_into(cell, &mut text);
        } else {
            text.extend_from_slice(cell);
        }
        InlineCell::new(&text)
    };
    (0..entries.len()).map(slot).collect()
}
