//! A column chunk whose sections were read and checked, and not decoded yet (§5).

use std::borrow::Cow;
use std::ops::Range;

use arrow_buffer::NullBuffer;
use bytes::Bytes;
use hypostyle_onpair::{Column, Offsets, Parse, Parts};

use super::column_chunk::{ChunkSection, Coding, ColumnChunk};
use super::dictionary::{self, TokenTable};
use super::ints;
use super::sections::SectionBytes;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::row_selection::RowSelection;
use hypostyle_core::source::ByteSource;
use hypostyle_core::wire::bitmap;

/// Where the dictionary of a column chunk is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct DictionarySource<'a> {
    pub(super) source: &'a dyn ByteSource,
    /// The earlier chunk that stores the dictionary, if it is not the one that is read.
    pub(super) owner: Option<&'a ColumnChunk>,
}

/// The rows of a column chunk, still encoded.
#[derive(Debug)]
pub(super) struct EncodedChunk<'s> {
    /// Bytes of all rows, as the entry declares them: an upper bound for every decoder.
    pub(super) text_len: u64,
    pub(super) nulls: Option<NullBuffer>,
    pub(super) values: EncodedValues<'s>,
    /// The index of the value of each row that is not null, if the values are distinct.
    ///
    /// INVARIANT: every index is below the number of values.
    pub(super) indexes: Option<Vec<u32>>,
    /// The offset of the values.
    pub(super) values_offset: u64,
}

/// The stored values: one for each row that is not null, or the distinct values.
#[derive(Debug)]
pub(super) enum EncodedValues<'s> {
    /// Stored as they are.
    Plain(PlainValues),
    /// Stored as codes.
    Codes(Column<'s>),
}

/// Values one after the other.
///
/// `offsets` has one element more than there are values and never decreases; the last is the
/// number of bytes.
#[derive(Clone, Debug)]
pub(super) struct PlainValues {
    pub(super) offsets: Vec<u32>,
    pub(super) bytes: Bytes,
}

impl PlainValues {
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

impl EncodedValues<'_> {
    /// Returns the length of a value in bytes, without decoding it.
    pub(super) fn value_len(&self, index: usize) -> usize {
        match self {
            Self::Plain(values) => values.get(index).len(),
            Self::Codes(column) => column.row_len(index),
        }
    }
}

impl EncodedChunk<'_> {
    /// Checks the sections of a column chunk.
    ///
    /// The result owns its codes: copying them takes a small part of the time of decoding
    /// them, and the chunk can then be kept for all windows of a scan.
    pub(super) fn try_new(
        chunk: &ColumnChunk,
        sections: &SectionBytes<'_>,
        dictionary: &DictionarySource<'_>,
    ) -> Result<EncodedChunk<'static>> {
        let nulls = nulls(chunk, sections)?;
        let values = values(chunk, sections, dictionary)?;
        let indexes = if chunk.indexed { Some(indexes(chunk, sections)?) } else { None };
        let values_offset = chunk.section_offset(ChunkSection::Values);
        let text_len = chunk.text_len.into();
        Ok(EncodedChunk { text_len, nulls, values, indexes, values_offset })
    }

    /// Returns the positions of the selected rows among the rows that are not null.
    fn non_null_positions(&self, rows: &RowSelection) -> Vec<Range<usize>> {
        let Some(nulls) = &self.nulls else { return rows.runs().to_vec() };
        let count = |run: Range<usize>| nulls.inner().slice(run.start, run.len()).count_set_bits();
        let (mut row, mut position) = (0, 0);
        let runs = rows.runs().iter().map(|run| {
            let start = position + count(row..run.start);
            position = start + count(run.clone());
            row = run.end;
            start..position
        });
        runs.collect()
    }

    /// Returns the index of the value of each selected row that is not null.
    pub(super) fn value_indexes(&self, rows: &RowSelection) -> Vec<usize> {
        let positions = self.non_null_positions(rows);
        match &self.indexes {
            None => positions.into_iter().flatten().collect(),
            Some(indexes) => {
                let runs = positions.into_iter().filter_map(|run| indexes.get(run));
                runs.flatten().map(|&index| index as usize).collect()
            }
        }
    }
}

fn nulls(chunk: &ColumnChunk, sections: &SectionBytes<'_>) -> Result<Option<NullBuffer>> {
    let rows = chunk.rows as usize;
    if chunk.nulls == 0 {
        return Ok(None);
    }
    if chunk.nulls == chunk.rows {
        return Ok(Some(NullBuffer::new_null(rows)));
    }
    let (bits, at) = sections.get(ChunkSection::Nulls)?;
    let nulls = bitmap::nulls_from_set_bits(bits, rows);
    let count = nulls.as_ref().map_or(0, NullBuffer::null_count);
    if count != chunk.nulls as usize {
        let why = format!("has {count} nulls where the entry declares {}", chunk.nulls);
        return Err(Error::malformed("null bitmap", why).at(at));
    }
    // If the count over all bits is the same, no bit past the last row is set.
    let ones: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
    if ones != chunk.nulls {
        return Err(Error::malformed("null bitmap", "bits past the last row are not 0").at(at));
    }
    Ok(nulls)
}

/// Returns the running sums of `numbers` from 0 on; the last must be `total`.
fn offsets_of(numbers: &[u32], total: u32, what: &'static str, at: u64) -> Result<Vec<u32>> {
    let mut offsets = Vec::with_capacity(numbers.len() + 1);
    let mut sum = 0_u32;
    offsets.push(0);
    for &number in numbers {
        // Sums only grow: one that exceeds `total` never returns to it.
        sum = sum.saturating_add(number);
        offsets.push(sum);
    }
    if sum != total {
        return Err(Error::malformed(what, format!("add up to {sum}, not to {total}")).at(at));
    }
    Ok(offsets)
}

fn values(
    chunk: &ColumnChunk,
    sections: &SectionBytes<'_>,
    dictionary: &DictionarySource<'_>,
) -> Result<EncodedValues<'static>> {
    let (stored, at) = sections.get(ChunkSection::Counts)?;
    let what = chunk.section_name(ChunkSection::Counts);
    let counts = ints::unpack(stored, chunk.values as usize, at, what)?;
    let Some(coding) = chunk.coding else {
        let (bytes, _) = sections.get_owned(ChunkSection::Values)?;
        let offsets = offsets_of(&counts, chunk.section(ChunkSection::Values).len, what, at)?;
        return Ok(EncodedValues::Plain(PlainValues { offsets, bytes }));
    };
    let (codes, codes_at) = sections.get(ChunkSection::Values)?;
    let rows = offsets_of(&counts, coding.code_count, what, at)?;
    let tokens = tokens(chunk, &coding, sections, dictionary)?;
    let (stored, lengths_at) = sections.get(ChunkSection::Lengths)?;
    let lengths = if stored.is_empty() {
        None
    } else {
        let what = chunk.section_name(ChunkSection::Lengths);
        Some(ints::unpack(stored, chunk.values as usize, lengths_at, what)?)
    };
    let column = Column::new(Parts {
        bits: coding.bits,
        dict_offsets: tokens.offsets.into(),
        dict_bytes: tokens.bytes.into(),
        codes: Cow::Owned(codes.to_vec()),
        code_count: coding.code_count as usize,
        row_offsets: Offsets::Narrow(rows.into()),
        row_lengths: lengths.map(Cow::Owned),
        // The parse in the entry is not verified, and a search that relied on a wrong one would
        // miss rows that a scan finds. Verifying it takes longer than the search could save.
        parse: Parse::Unknown,
    });
    let column = column.map_err(|err| Error::malformed("column", err.to_string()).at(codes_at))?;
    check_spare_bits(codes, &coding, codes_at)?;
    Ok(EncodedValues::Codes(column))
}

/// Checks that the bits past the last code are 0.
fn check_spare_bits(codes: &[u8], coding: &Coding, at: u64) -> Result<()> {
    let used = u64::from(coding.code_count) * u64::from(coding.bits) % 8;
    match codes.last() {
        Some(&last) if used > 0 && u64::from(last) >> used != 0 => {
            Err(Error::malformed("codes", "bits past the last code are not 0").at(at))
        }
        _ => Ok(()),
    }
}

fn tokens(
    chunk: &ColumnChunk,
    coding: &Coding,
    sections: &SectionBytes<'_>,
    dictionary: &DictionarySource<'_>,
) -> Result<TokenTable> {
    let (stored, at) = match dictionary.owner {
        None => sections.get_owned(ChunkSection::Dictionary)?,
        Some(owner) => SectionBytes::read_one(dictionary.source, owner, ChunkSection::Dictionary)?
            .get_owned(ChunkSection::Dictionary)
            .map_err(|err| err.at(chunk.entry_offset))?,
    };
    dictionary::load(&stored, at, 1 << coding.bits)
}

fn indexes(chunk: &ColumnChunk, sections: &SectionBytes<'_>) -> Result<Vec<u32>> {
    let (stored, at) = sections.get(ChunkSection::Indexes)?;
    let indexes = ints::unpack(stored, chunk.non_null_rows() as usize, at, "indexes")?;
    match indexes.iter().find(|&&index| index >= chunk.values) {
        Some(index) => {
            let why = format!("{index} is out of range: the chunk has {} values", chunk.values);
            Err(Error::malformed("indexes", why).at(at))
        }
        None => Ok(indexes),
    }
}
