//! What a part holds, as an array (§5): of all rows, or of some.

use std::sync::Arc;

use arrow_array::{ArrayRef, GenericBinaryArray, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use hypostyle_onpair::Column;

use super::held::{Held, Texts, Values};
use super::part::{Part, Section, Zone};
use super::schema::Strings;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::row_selection::RowSelection;

/// All rows. RowSelection in errors are counted from the start of the chunk.
///
/// Everything that §5 says of a part is checked; the bounds of §4.4 too if it is to be
/// `thorough`.
pub(super) fn all<O: OffsetSizeTrait>(
    part: &Part,
    held: &Held<'_>,
    strings: Strings,
    thorough: bool,
) -> Result<ArrayRef> {
    let Held { nulls, values, indexes, at, .. } = held;
    let texts = match values {
        Values::Plain(texts) => texts.clone(),
        Values::Codes(column) => decoded(part, column, *at)?,
    };
    if part.indexed {
        check_order(&texts, part)?;
    }
    if thorough && part.zone != Zone::of((0..texts.len()).map(|at| texts.get(at))) {
        return Err(Error::malformed("bounds", "are not those of the values").at(part.entry));
    }
    let (offsets, bytes) = match indexes {
        Some(indexes) => by_index::<O>(part, &texts, indexes, nulls.as_ref())?,
        None => direct::<O>(part, texts, nulls.as_ref()),
    };
    array(offsets, bytes, nulls.clone(), strings).map_err(|err| err.at(part.offset))
}

/// Some rows, which the part has. Nothing is found out about the others.
pub(super) fn some<O: OffsetSizeTrait>(
    held: &Held<'_>,
    rows: &RowSelection,
    strings: Strings,
) -> Result<ArrayRef> {
    let numbers = held.numbers(rows);
    // Before memory is taken: no rows have more text than all of them.
    let len = numbers
        .iter()
        .fold(0, |len: u64, &number| len.saturating_add(held.values.value_len(number) as u64));
    if len > held.text {
        let why = format!("some stand for {len} bytes of text, and all have {}", held.text);
        return Err(Error::malformed("rows", why).at(held.at));
    }
    let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(numbers.len()));
    match &held.values {
        Values::Plain(texts) => numbers.iter().for_each(|&number| {
            bytes.extend_from_slice(texts.get(number));
            ends.push(bytes.len());
        }),
        Values::Codes(column) => {
            let taken = column.take(&numbers, &mut bytes, &mut ends);
            taken.map_err(|err| Error::malformed("codes", err.to_string()).at(held.at))?;
        }
    }
    let nulls = held.nulls.as_ref().map(|nulls| nulls_of(nulls, rows));
    let offsets = spread::<O>(rows.len(), ends.into_iter(), 0, nulls.as_ref());
    let array = array(offsets, Buffer::from_vec(bytes), nulls, strings);
    array.map_err(|err| match err.row().and_then(|row| usize::try_from(row).ok()) {
        Some(row) => err.at_row(rows.iter().nth(row).unwrap_or(row) as u64).at(held.at),
        None => err.at(held.at),
    })
}

fn nulls_of(nulls: &NullBuffer, rows: &RowSelection) -> NullBuffer {
    let mut some = BooleanBufferBuilder::new(rows.len());
    for run in rows.runs() {
        some.append_buffer(&nulls.inner().slice(run.start, run.len()));
    }
    NullBuffer::new(some.finish())
}

/// All values of a part that has codes.
fn decoded(part: &Part, column: &Column<'_>, at: u64) -> Result<Texts> {
    let offsets = column.decoded_offsets();
    // Before memory is taken: distinct values have no more text than all rows.
    let len = offsets.last().copied().unwrap_or(0);
    let text = u64::from(part.text);
    if len > text || (!part.indexed && len != text) {
        let why = format!("they stand for {len} bytes of text, and there are {text}");
        return Err(Error::malformed("codes", why).at(at));
    }
    let offsets: Vec<u32> =
        offsets.into_iter().map(|offset| u32::try_from(offset).unwrap_or(u32::MAX)).collect();
    if let Some(lengths) = &column.parts().row_lengths {
        let pairs = offsets.windows(2).zip(lengths.iter());
        let odd = pairs.enumerate().find(|(_, (pair, length))| match pair {
            [start, end] => end - start != **length,
            _ => true,
        });
        if let Some((value, _)) = odd {
            let why = format!("that of value {value} is not the length of its codes");
            let what = part.name(Section::Lengths);
            return Err(Error::malformed(what, why).at(part.place(Section::Lengths)));
        }
    }
    let bytes = column.decode();
    let bytes = bytes.map_err(|err| Error::malformed("codes", err.to_string()).at(at))?;
    Ok(Texts { offsets, bytes: bytes.into() })
}

/// Distinct values are in order.
fn check_order(values: &Texts, part: &Part) -> Result<()> {
    let odd = (1..values.len()).find(|&at| values.get(at - 1) >= values.get(at));
    match odd {
        Some(at) => {
            let why = format!("value {at} is not greater than the one before");
            let what = part.name(Section::Values);
            Err(Error::malformed(what, why).at(part.place(Section::Values)))
        }
        None => Ok(()),
    }
}

/// The offset of a row; what is read has at most 4 GiB.
fn offset<O: OffsetSizeTrait>(at: usize) -> O {
    O::from_usize(at).unwrap_or_default()
}

/// Where rows start and the last one ends, given where those end that are not null.
fn spread<O: OffsetSizeTrait>(
    rows: usize,
    mut ends: impl Iterator<Item = usize>,
    start: usize,
    nulls: Option<&NullBuffer>,
) -> Vec<O> {
    let mut all = Vec::with_capacity(rows.saturating_add(1));
    all.push(offset(start));
    match nulls {
        None => all.extend(ends.map(offset::<O>)),
        Some(nulls) => {
            let mut at = start;
            for valid in nulls {
                if valid {
                    at = ends.next().unwrap_or(at);
                }
                all.push(offset(at));
            }
        }
    }
    all
}

/// A value for each row that is not null.
fn direct<O: OffsetSizeTrait>(
    part: &Part,
    texts: Texts,
    nulls: Option<&NullBuffer>,
) -> (Vec<O>, Buffer) {
    let Texts { offsets, bytes } = texts;
    let mut ends = offsets.into_iter().map(|at| at as usize);
    let start = ends.next().unwrap_or(0);
    (spread(part.rows as usize, ends, start, nulls), Buffer::from(bytes))
}

/// Each row that is not null has the value with its index.
fn by_index<O: OffsetSizeTrait>(
    part: &Part,
    values: &Texts,
    indexes: &[u32],
    nulls: Option<&NullBuffer>,
) -> Result<(Vec<O>, Buffer)> {
    let at = part.place(Section::Indexes);
    // Before memory is taken, what all rows have is counted.
    let mut used = vec![false; values.len()];
    let mut text = 0_u64;
    for &index in indexes {
        used.get_mut(index as usize).into_iter().for_each(|used| *used = true);
        text += values.get(index as usize).len() as u64;
    }
    if text != u64::from(part.text) {
        let why = format!("they stand for {text} bytes of text, and there are {}", part.text);
        return Err(Error::malformed("indexes", why).at(at));
    }
    if let Some(unused) = used.iter().position(|&used| !used) {
        let why = format!("no row has value {unused}");
        return Err(Error::malformed("indexes", why).at(at));
    }
    let mut bytes = Vec::with_capacity(part.text as usize);
    let ends = indexes.iter().map(|&index| {
        bytes.extend_from_slice(values.get(index as usize));
        bytes.len()
    });
    let offsets = spread(part.rows as usize, ends, 0, nulls);
    Ok((offsets, Buffer::from_vec(bytes)))
}

/// An array of strings, given where each ends.
pub(super) fn array<O: OffsetSizeTrait>(
    offsets: Vec<O>,
    bytes: Buffer,
    nulls: Option<NullBuffer>,
    strings: Strings,
) -> Result<ArrayRef> {
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    if strings == Strings::Binary {
        return Ok(Arc::new(GenericBinaryArray::<O>::try_new(offsets, bytes, nulls)?));
    }
    let (places, texts) = (offsets.clone(), bytes.clone());
    match GenericStringArray::<O>::try_new(offsets, bytes, nulls) {
        Ok(array) => Ok(Arc::new(array)),
        Err(_) => {
            let odd = places.windows(2).position(|pair| match pair {
                &[start, end] => {
                    let text = texts.get(start.as_usize()..end.as_usize());
                    std::str::from_utf8(text.unwrap_or_default()).is_err()
                }
                _ => true,
            });
            let err = Error::malformed("text", "is not UTF-8");
            Err(odd.map_or_else(
                || Error::malformed("text", "is not UTF-8"),
                |row| err.in_row(row as u64),
            ))
        }
    }
}
