//! A part whose sections were read and checked, and of which nothing is decoded yet (§5).

use std::borrow::Cow;
use std::ops::Range;

use arrow_buffer::NullBuffer;
use bytes::Bytes;
use hypostyle_onpair::{Column, Offsets, Parse, Parts};

use super::dictionary::{self, Tokens};
use super::ints;
use super::part::{Packed, Part, Section, Sections};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::row_selection::RowSelection;
use hypostyle_core::source::ByteSource;
use hypostyle_core::wire::bitmap;

/// Where the sections of a part come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    pub(super) source: &'a dyn ByteSource,
    /// The part that has the dictionary, if it is not the one that is read.
    pub(super) owner: Option<&'a Part>,
}

/// The rows of a part, as they are stored.
#[derive(Debug)]
pub(super) struct Held<'s> {
    /// Bytes of all rows, as the entry has it: no reading takes more.
    pub(super) text: u64,
    pub(super) nulls: Option<NullBuffer>,
    pub(super) values: Values<'s>,
    /// For each row that is not null the number of its value, if rows name values by index.
    ///
    /// INVARIANT: there are values with these numbers.
    pub(super) indexes: Option<Vec<u32>>,
    /// Where the values are.
    pub(super) at: u64,
}

/// Strings that are stored, one for each row that is not null, or one for many.
#[derive(Debug)]
pub(super) enum Values<'s> {
    /// As they are.
    Plain(Texts),
    /// As codes.
    Codes(Column<'s>),
}

/// Texts one behind the other.
///
/// `offsets` has one more than there are texts, and never decreases; the last is the
/// number of bytes.
#[derive(Clone, Debug)]
pub(super) struct Texts {
    pub(super) offsets: Vec<u32>,
    pub(super) bytes: Bytes,
}

impl Texts {
    pub(super) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    pub(super) fn get(&self, index: usize) -> &[u8] {
        match self.offsets.get(index..index.saturating_add(2)) {
            Some(&[start, end]) => self.bytes.get(start as usize..end as usize).unwrap_or_default(),
            _ => &[],
        }
    }
}

impl Values<'_> {
    /// The bytes of a value, counted and not decoded.
    pub(super) fn value_len(&self, number: usize) -> usize {
        match self {
            Self::Plain(texts) => texts.get(number).len(),
            Self::Codes(column) => column.row_len(number),
        }
    }
}

impl<'s> Held<'s> {
    pub(super) fn new(part: &Part, sections: &'s Sections<'_>, from: &Origin<'_>) -> Result<Self> {
        let nulls = nulls(part, sections)?;
        let values = values(part, sections, from)?;
        let indexes = match part.indexed {
            true => Some(indexes(part, sections)?),
            false => None,
        };
        Ok(Self { text: part.text.into(), nulls, values, indexes, at: part.place(Section::Values) })
    }

    /// The places of some rows among those that are not null, run by run.
    pub(super) fn present(&self, rows: &RowSelection) -> Vec<Range<usize>> {
        let Some(nulls) = &self.nulls else { return rows.runs().to_vec() };
        let count = |run: Range<usize>| nulls.inner().slice(run.start, run.len()).count_set_bits();
        let (mut row, mut place) = (0, 0);
        let runs = rows.runs().iter().map(|run| {
            let start = place + count(row..run.start);
            place = start + count(run.clone());
            row = run.end;
            start..place
        });
        runs.collect()
    }

    /// The numbers of the values of some rows, without those that are null.
    pub(super) fn numbers(&self, rows: &RowSelection) -> Vec<usize> {
        let present = self.present(rows);
        match &self.indexes {
            None => present.into_iter().flatten().collect(),
            Some(indexes) => {
                let runs = present.into_iter().filter_map(|run| indexes.get(run));
                runs.flatten().map(|&index| index as usize).collect()
            }
        }
    }
}

fn nulls(part: &Part, sections: &Sections<'_>) -> Result<Option<NullBuffer>> {
    let rows = part.rows as usize;
    if part.nulls == 0 {
        return Ok(None);
    }
    if part.nulls == part.rows {
        return Ok(Some(NullBuffer::new_null(rows)));
    }
    let (bits, at) = sections.get(Section::Nulls)?;
    let nulls = bitmap::nulls_from_set_bits(bits, rows);
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

fn values<'s>(part: &Part, sections: &'s Sections<'_>, from: &Origin<'_>) -> Result<Values<'s>> {
    let (stored, at) = sections.get(Section::Counts)?;
    let what = part.name(Section::Counts);
    let counts = ints::unpack(stored, part.values as usize, at, what)?;
    let Some(packed) = part.packed else {
        let (bytes, _) = sections.take(Section::Values)?;
        let offsets = sums(&counts, part.stored(Section::Values).len, what, at)?;
        return Ok(Values::Plain(Texts { offsets, bytes }));
    };
    let (bytes, bytes_at) = sections.get(Section::Values)?;
    let rows = sums(&counts, packed.codes, what, at)?;
    let tokens = tokens(part, &packed, sections, from)?;
    let (stored, lengths_at) = sections.get(Section::Lengths)?;
    let lengths = match stored.is_empty() {
        true => None,
        false => {
            let what = part.name(Section::Lengths);
            Some(ints::unpack(stored, part.values as usize, lengths_at, what)?)
        }
    };
    let column = Column::new(Parts {
        bits: packed.bits,
        dict_offsets: tokens.offsets.into(),
        dict_bytes: tokens.bytes.into(),
        codes: Cow::Borrowed(bytes),
        code_count: packed.codes as usize,
        row_offsets: Offsets::Narrow(rows.into()),
        row_lengths: lengths.map(Cow::Owned),
        // What the entry says of it is not checked, and a search that relied on it would miss
        // rows that a scan finds. Reading the part takes longer than what could be saved.
        parse: Parse::Unknown,
    });
    let column = column.map_err(|err| Error::malformed("column", err.to_string()).at(bytes_at))?;
    check_tail(bytes, &packed, bytes_at)?;
    Ok(Values::Codes(column))
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
    from: &Origin<'_>,
) -> Result<Tokens> {
    let (stored, at) = match from.owner {
        None => sections.take(Section::Dictionary)?,
        Some(owner) => Sections::read_one(from.source, owner, Section::Dictionary)?
            .take(Section::Dictionary)
            .map_err(|err| err.at(part.entry))?,
    };
    dictionary::load(&stored, at, 1 << packed.bits)
}

fn indexes(part: &Part, sections: &Sections<'_>) -> Result<Vec<u32>> {
    let (stored, at) = sections.get(Section::Indexes)?;
    let indexes = ints::unpack(stored, part.present() as usize, at, "indexes")?;
    match indexes.iter().find(|&&index| index >= part.values) {
        Some(index) => {
            Err(Error::malformed("indexes", format!("{index} is that of no value")).at(at))
        }
        None => Ok(indexes),
    }
}
