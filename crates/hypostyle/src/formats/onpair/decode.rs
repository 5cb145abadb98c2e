//! A part: bytes to an array (§5).

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{ArrayRef, GenericBinaryArray, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use bytes::Bytes;
use hypostyle_onpair::{Column, Offsets, Parts};

use super::dictionary::{self, Tokens};
use super::ints;
use super::part::{Packed, Part, Section, Sections, Zone};
use super::schema::Strings;
use crate::error::{Error, Result};
use crate::source::ByteSource;
use crate::wire::bitmap;

/// What a part is decoded with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub(super) source: &'a dyn ByteSource,
    /// The part that has the dictionary, if it is not the one that is decoded.
    pub(super) owner: Option<&'a Part>,
    pub(super) strings: Strings,
    /// Whether bounds are compared with what is there.
    pub(super) thorough: bool,
}

/// The array of a part. Rows in errors are counted from the start of the chunk.
pub(super) fn part<O: OffsetSizeTrait>(part: &Part, cx: &Context<'_>) -> Result<ArrayRef> {
    let sections = Sections::read(cx.source, part)?;
    let nulls = nulls(part, &sections)?;
    let values = values(part, &sections, cx)?;
    if part.indexed {
        check_order(&values, part)?;
    }
    if cx.thorough && part.zone != Zone::of((0..values.len()).map(|at| values.get(at))) {
        return Err(Error::malformed("bounds", "are not those of the values").at(part.entry));
    }
    let (offsets, bytes) = match part.indexed {
        true => by_index::<O>(part, &sections, &values, nulls.as_ref())?,
        false => direct::<O>(part, values, nulls.as_ref())?,
    };
    array(offsets, bytes, nulls, cx.strings).map_err(|err| err.at(part.offset))
}

fn nulls(part: &Part, sections: &Sections<'_>) -> Result<Option<NullBuffer>> {
    let rows = part.rows as usize;
    if part.nulls == 0 {
        return Ok(None);
    }
    if part.nulls == part.rows {
        return Ok(Some(NullBuffer::new_null(rows)));
    }
    let (bits, at) = sections.take(Section::Nulls)?;
    let nulls = bitmap::nulls_from_set_bits(&bits, rows);
    let count = nulls.as_ref().map_or(0, NullBuffer::null_count);
    if count != part.nulls as usize {
        let why = format!("has {count} nulls where there should be {}", part.nulls);
        return Err(Error::malformed("null bitmap", why).at(at));
    }
    // As many ones in all, so that none is past the last row.
    let ones: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
    match ones == part.nulls {
        true => Ok(nulls),
        false => Err(Error::malformed("null bitmap", "bits past the last row are not 0").at(at)),
    }
}

/// Values one behind the other.
///
/// `offsets` has one more than there are values, and never decreases; the last is the
/// number of bytes.
struct Values {
    offsets: Vec<u32>,
    bytes: Bytes,
}

impl Values {
    fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn get(&self, index: usize) -> &[u8] {
        match self.offsets.get(index..index + 2) {
            Some(&[start, end]) => self.bytes.get(start as usize..end as usize).unwrap_or_default(),
            _ => &[],
        }
    }
}

/// The sums before each number, and that of all, which is to be `total`.
fn sums(numbers: &[u32], total: u32, what: &'static str, at: u64) -> Result<Vec<u32>> {
    let mut sums = Vec::with_capacity(numbers.len() + 1);
    let mut sum = 0_u32;
    sums.push(0);
    for &number in numbers {
        // What is more than there is cannot come down to it again.
        sum = sum.saturating_add(number);
        sums.push(sum);
    }
    match sum == total {
        true => Ok(sums),
        false => Err(Error::malformed(what, format!("add up to {sum}, not to {total}")).at(at)),
    }
}

fn values(part: &Part, sections: &Sections<'_>, cx: &Context<'_>) -> Result<Values> {
    let (stored, at) = sections.take(Section::Counts)?;
    let what = part.name(Section::Counts);
    let counts = ints::unpack(&stored, part.values as usize, at, what)?;
    let (bytes, bytes_at) = sections.take(Section::Values)?;
    let Some(packed) = part.packed else {
        let offsets = sums(&counts, part.stored(Section::Values).len, what, at)?;
        return Ok(Values { offsets, bytes });
    };
    let rows = sums(&counts, packed.codes, what, at)?;
    let tokens = tokens(part, &packed, sections, cx)?;
    let column = Column::new(Parts {
        bits: packed.bits,
        dict_offsets: tokens.offsets.into(),
        dict_bytes: tokens.bytes.into(),
        codes: Cow::Borrowed(&bytes),
        code_count: packed.codes as usize,
        row_offsets: Offsets::Narrow(rows.into()),
        row_lengths: None,
        parse: packed.parse,
    });
    let column = column.map_err(|err| Error::malformed("column", err.to_string()).at(bytes_at))?;
    check_tail(&bytes, &packed, bytes_at)?;
    decoded(part, &column, sections, bytes_at)
}

/// The bits past the last code are 0.
fn check_tail(bytes: &[u8], packed: &Packed, at: u64) -> Result<()> {
    let used = u64::from(packed.codes) * u64::from(packed.bits) % 8;
    match bytes.last() {
        Some(&last) if used > 0 && u64::from(last) >> used != 0 => {
            Err(Error::malformed("codes", "bits past the last code are not 0").at(at))
        }
        _ => Ok(()),
    }
}

fn tokens(
    part: &Part,
    packed: &Packed,
    sections: &Sections<'_>,
    cx: &Context<'_>,
) -> Result<Tokens> {
    let (stored, at) = match cx.owner {
        None => sections.take(Section::Dictionary)?,
        Some(owner) => Sections::read_one(cx.source, owner, Section::Dictionary)?
            .take(Section::Dictionary)
            .map_err(|err| err.at(part.entry))?,
    };
    dictionary::load(&stored, at, 1 << packed.bits)
}

fn decoded(part: &Part, column: &Column<'_>, sections: &Sections<'_>, at: u64) -> Result<Values> {
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
    let (stored, lengths_at) = sections.take(Section::Lengths)?;
    if !stored.is_empty() {
        let what = part.name(Section::Lengths);
        let lengths = ints::unpack(&stored, part.values as usize, lengths_at, what)?;
        let pairs = offsets.windows(2).zip(lengths);
        let odd = pairs.enumerate().find(|(_, (pair, length))| match pair {
            [start, end] => end - start != *length,
            _ => true,
        });
        if let Some((value, _)) = odd {
            let why = format!("that of value {value} is not the length of its codes");
            return Err(Error::malformed(what, why).at(lengths_at));
        }
    }
    let bytes = column.decode();
    let bytes = bytes.map_err(|err| Error::malformed("codes", err.to_string()).at(at))?;
    Ok(Values { offsets, bytes: bytes.into() })
}

/// Distinct values are in order.
fn check_order(values: &Values, part: &Part) -> Result<()> {
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

/// A value for each row that is not null.
fn direct<O: OffsetSizeTrait>(
    part: &Part,
    values: Values,
    nulls: Option<&NullBuffer>,
) -> Result<(Vec<O>, Buffer)> {
    let Values { offsets, bytes } = values;
    let bytes = Buffer::from(bytes);
    let Some(nulls) = nulls else {
        return Ok((offsets.into_iter().map(|at| offset(at as usize)).collect(), bytes));
    };
    let mut ends = offsets.into_iter();
    let mut at = ends.next().unwrap_or(0);
    let mut all = Vec::with_capacity(part.rows as usize + 1);
    all.push(offset(at as usize));
    for valid in nulls {
        if valid {
            at = ends.next().unwrap_or(at);
        }
        all.push(offset(at as usize));
    }
    Ok((all, bytes))
}

/// Each row that is not null has the value with its index.
fn by_index<O: OffsetSizeTrait>(
    part: &Part,
    sections: &Sections<'_>,
    values: &Values,
    nulls: Option<&NullBuffer>,
) -> Result<(Vec<O>, Buffer)> {
    let (stored, at) = sections.take(Section::Indexes)?;
    let indexes = ints::unpack(&stored, part.present() as usize, at, "indexes")?;
    // Before memory is taken, what all rows have is counted.
    let mut used = vec![false; values.len()];
    let mut text = 0_u64;
    for &index in &indexes {
        let Some(used) = used.get_mut(index as usize) else {
            let why = format!("{index} is that of no value");
            return Err(Error::malformed("indexes", why).at(at));
        };
        *used = true;
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
    let mut all = Vec::with_capacity(part.rows as usize + 1);
    all.push(offset(0));
    let mut indexes = indexes.into_iter();
    for row in 0..part.rows as usize {
        if nulls.is_none_or(|nulls| nulls.is_valid(row))
            && let Some(index) = indexes.next()
        {
            bytes.extend_from_slice(values.get(index as usize));
        }
        all.push(offset(bytes.len()));
    }
    Ok((all, Buffer::from_vec(bytes)))
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
