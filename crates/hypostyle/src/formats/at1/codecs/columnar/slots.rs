//! Short cells, a column at a time.
//!
//! Most columns are of numbers and of few short words. For some rows at once,
//! such columns are printed column by column into slots of one size, which is
//! quick because the same is done again and again, and rows then copy slots.

use super::Quotes;
use super::column::{Bits, Column, bit};
use super::number::{Scale, Values};
use crate::formats::at1::page::{Entries, Slot};

/// A column whose cells all fit a slot, behind the byte that stands before them.
#[derive(Debug)]
pub(super) struct Short<'a> {
    lead: u8,
    kind: Kind<'a>,
}

#[derive(Debug)]
enum Kind<'a> {
    Numbers(&'a [i32], Scale),
    Mixed { values: &'a [i32], scale: Scale, bits: &'a Bits, exceptions: Vec<Slot> },
    Dict { ids: &'a [u32], entries: Vec<Slot> },
}

impl<'a> Short<'a> {
    /// Looks whether all cells are short; `lead` stands before each.
    pub(super) fn new(column: &'a Column, quotes: &Quotes<'_>, lead: u8) -> Option<Self> {
        let plain = matches!(quotes, Quotes::None);
        let kind = match column {
            Column::Numbers { values: Values::Small(values), scale }
                if plain && Slot::fits(*scale) =>
            {
                Kind::Numbers(values, *scale)
            }
            Column::Mixed { values: Values::Small(values), scale, bits, exceptions }
                if plain && Slot::fits(*scale) =>
            {
                Kind::Mixed {
                    values,
                    scale: *scale,
                    bits,
                    exceptions: slots(exceptions, lead, false)?,
                }
            }
            Column::Dict { ids, entries } if plain || matches!(quotes, Quotes::All) => {
                Kind::Dict { ids, entries: slots(entries, lead, !plain)? }
            }
            _ => return None,
        };
        Some(Self { lead, kind })
    }

    /// Fills the first slot of each row with cells from `start` on.
    ///
    /// `false` if there are fewer cells than rows.
    pub(super) fn lay<'s>(
        &self,
        start: usize,
        rows: usize,
        slots: impl Iterator<Item = &'s mut Slot>,
    ) -> bool {
        let end = start.saturating_add(rows);
        let lead = self.lead;
        match &self.kind {
            Kind::Numbers(values, scale) => {
                let Some(values) = values.get(start..end) else { return false };
                match *scale {
                    Scale::Whole => {
                        for (slot, &value) in slots.zip(values) {
                            *slot = Slot::integer(lead, value);
                        }
                    }
                    Scale::Digits(digits) => {
                        for (slot, &value) in slots.zip(values) {
                            *slot = Slot::decimal(lead, value, digits);
                        }
                    }
                }
            }
            Kind::Dict { ids, entries } => {
                let Some(ids) = ids.get(start..end) else { return false };
                for (slot, &id) in slots.zip(ids) {
                    *slot = entries.get(id as usize).copied().unwrap_or_default();
                }
            }
            Kind::Mixed { values, scale, bits, exceptions } => {
                if end > bits.len() {
                    return false;
                }
                let numbers = bits.ones_before(start);
                let mut values = values.get(numbers..).unwrap_or_default().iter();
                let mut exceptions = exceptions.get(start - numbers..).unwrap_or_default().iter();
                for (slot, cell) in slots.zip(start..end) {
                    *slot = match bit(bits.bytes(), cell) {
                        true => values.next().map(|&value| Slot::number(lead, value, *scale)),
                        false => exceptions.next().copied(),
                    }
                    .unwrap_or_default();
                }
            }
        }
        true
    }
}

/// The entries as slots; `None` if one is too long.
fn slots(entries: &Entries, lead: u8, quoted: bool) -> Option<Vec<Slot>> {
    let slot = |index| {
        let cell = entries.get(index)?.to_vec();
        let mut text = vec![lead];
        if quoted {
            text.push(b'"');
            for &byte in &cell {
                text.push(byte);
                if byte == b'"' {
                    text.push(b'"');
                }
            }
            text.push(b'"');
        } else {
            text.extend_from_slice(&cell);
        }
        Slot::new(&text)
    };
    (0..entries.len()).map(slot).collect()
}
