//! Builds Arrow arrays from the cells of a block.

use std::borrow::Cow;
use std::iter::repeat_n;
use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;

use super::cell_list::{CellPlace, CellRuns, WindowRows};
use super::cell_value::{CellSyntax, OddCell};
use hypostyle_core::cast::{ValueBuilder, cast};
use hypostyle_core::error::{Error, ErrorKind, Result, clipped};
use hypostyle_core::number::{self, Liberal};

/// Cells as an array, and the place after the last of them.
pub(super) type TypedCells = (ArrayRef, CellPlace);

/// Why cells are not an array of a type.
#[derive(Debug)]
pub(super) enum CellError {
    /// The cell with this index, counted from the first one asked for, is not of the type.
    Odd(usize),
    /// Anything else.
    Other(Error),
}

impl From<Error> for CellError {
    fn from(err: Error) -> Self {
        Self::Other(err)
    }
}

/// Returns cells as an array of a type.
pub(super) fn array(
    data_type: &DataType,
    cells: &CellRuns<'_>,
    syntax: CellSyntax<'_>,
) -> Result<TypedCells, CellError> {
    match data_type {
        DataType::Int32 => {
            let (values, nulls, end) = ints::<i32>(cells, syntax)?;
            Ok((Arc::new(Int32Array::new(values.into(), nulls)), end))
        }
        DataType::Int64 => {
            let (values, nulls, end) = ints::<i64>(cells, syntax)?;
            Ok((Arc::new(Int64Array::new(values.into(), nulls)), end))
        }
        DataType::Float64 => floats(cells, syntax),
        DataType::Boolean if matches!(syntax, CellSyntax::Json) => booleans(cells, syntax),
        DataType::Utf8 => texts(cells, syntax),
        _ => match ValueBuilder::try_new(data_type, cells.len()) {
            Some(builder) => values(builder, cells, syntax),
            None => {
                let (texts, end) = texts(cells, syntax)?;
                Ok((cast(&texts, data_type)?, end))
            }
        },
    }
}

/// Reads cells as dates, timestamps and decimals, and in delimited text as booleans.
fn values(
    mut builder: ValueBuilder,
    cells: &CellRuns<'_>,
    syntax: CellSyntax<'_>,
) -> Result<TypedCells, CellError> {
    let mut push = |text: &[u8], len: usize, times: usize| {
        let odd = CellError::Odd(builder.len());
        match syntax.text(text.get(..len).unwrap_or_default()) {
            Ok(cell) if builder.push(cell.as_deref(), times) => Ok(()),
            _ => Err(odd),
        }
    };
    let end = if cells.list.is_repetitive {
        cells.for_each_run(&mut push)?
    } else {
        cells.for_each_start(|text, len| push(text, len, 1))?
    };
    Ok((builder.finish(), end))
}

/// A word with 1 in every byte.
const ALL: u64 = 0x0101_0101_0101_0101;

/// Returns the integer that the first `len` bytes of `text` are.
///
/// Returns `None` unless these are one to eight bytes of a sign and digits, and `text` has
/// eight bytes. Most integers in text are that short.
#[inline]
fn short_int(text: &[u8], len: usize) -> Option<i32> {
    let word = u64::from_le_bytes(*text.first_chunk::<8>()?);
    let is_negative = word & 0xFF == u64::from(b'-');
    let count = len.wrapping_sub(usize::from(is_negative));
    if count.wrapping_sub(1) > 7 {
        return None;
    }
    let word = if is_negative { word >> 8 } else { word };
    // Shift the last digit to the highest byte; zeros precede the first digit.
    let spare = 64 - 8 * count;
    let digits = (word << spare) ^ ((ALL * u64::from(b'0')) << spare);
    let over_nine = digits.wrapping_add(ALL * 0x76) | digits;
    if over_nine & (ALL << 7) != 0 {
        return None;
    }
    // Combine neighbours: digits to pairs, pairs to fours, fours to eight.
    let pairs = (digits * 10 + (digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    let value = i32::try_from((fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF).ok()?;
    Some(if is_negative { -value } else { value })
}

type Ints<T> = (Vec<T>, Option<NullBuffer>, CellPlace);

/// Reads cells as integers.
fn ints<T: From<i32> + TryFrom<i64> + Default + Clone>(
    cells: &CellRuns<'_>,
    syntax: CellSyntax<'_>,
) -> Result<Ints<T>, CellError> {
    let values = Vec::with_capacity(cells.len());
    let mut ints = IntBuilder::<T> { syntax, values, nulls: NullRows::default() };
    // Two calls with closures of their own, so that each is compiled into its loop.
    let end = if cells.list.is_repetitive {
        cells.for_each_run(|text, len, times| ints.push(text, len, times))?
    } else {
        cells.for_each_start(|text, len| ints.push(text, len, 1))?
    };
    let nulls = ints.nulls.finish(ints.values.len());
    Ok((ints.values, nulls, end))
}

/// Collects integers.
struct IntBuilder<'a, T> {
    syntax: CellSyntax<'a>,
    values: Vec<T>,
    nulls: NullRows,
}

impl<T: From<i32> + TryFrom<i64> + Default + Clone> IntBuilder<'_, T> {
    /// Adds the first `len` bytes of `text` several times.
    #[inline(always)]
    fn push(&mut self, text: &[u8], len: usize, times: usize) -> Result<(), CellError> {
        match short_int(text, len) {
            Some(value) if times == 1 => self.values.push(T::from(value)),
            Some(value) => self.values.extend(repeat_n(T::from(value), times)),
            None => self.push_slowly(text.get(..len).unwrap_or_default(), times)?,
        }
        Ok(())
    }

    #[inline(never)]
    fn push_slowly(&mut self, cell: &[u8], times: usize) -> Result<(), CellError> {
        let row = self.values.len();
        let token = self.syntax.token(cell).map_err(|OddCell| CellError::Odd(row))?;
        let value = match token.map(|token| int(&token)) {
            None => {
                (row..row + times).for_each(|row| self.nulls.push(row));
                T::default()
            }
            Some(value) => {
                let value = value.and_then(|value| T::try_from(value).ok());
                value.ok_or(CellError::Odd(row))?
            }
        };
        self.values.extend(repeat_n(value, times));
        Ok(())
    }
}

fn int(token: &[u8]) -> Option<i64> {
    match number::exact_int(token) {
        Some(value) => Some(value),
        None => match number::liberal(token)? {
            Liberal::Int(value) => Some(value),
            Liberal::Float(_) => None,
        },
    }
}

/// Floats of at most so many bytes are read faster by their digits than by the library.
const SHORT_FLOAT_BYTES: usize = 8;

fn float(token: &[u8]) -> Option<f64> {
    if token.len() > SHORT_FLOAT_BYTES && token.contains(&b'.') {
        let value: f64 = std::str::from_utf8(token).ok()?.parse().ok()?;
        return value.is_finite().then_some(value);
    }
    match number::exact_float(token) {
        Some(value) => Some(value),
        // A float distinguishes -0 from 0, and an integer does not.
        None if token == b"-0" => Some(-0.0),
        None => number::liberal(token)?.to_float(),
    }
}

fn floats(cells: &CellRuns<'_>, syntax: CellSyntax<'_>) -> Result<TypedCells, CellError> {
    let count = cells.len();
    let mut values: Vec<f64> = Vec::with_capacity(count);
    let mut nulls = NullRows::default();
    let end = cells.for_each(|cell| {
        let odd = CellError::Odd(values.len());
        match syntax.token(cell) {
            Ok(None) => {
                nulls.push(values.len());
                values.push(0.0);
            }
            Ok(Some(token)) => {
                let Some(value) = float(&token) else { return Err(odd) };
                values.push(value);
            }
            Err(OddCell) => return Err(odd),
        }
        Ok(())
    })?;
    let nulls = nulls.finish(values.len());
    Ok((Arc::new(Float64Array::new(values.into(), nulls)), end))
}

fn booleans(cells: &CellRuns<'_>, syntax: CellSyntax<'_>) -> Result<TypedCells, CellError> {
    let count = cells.len();
    let mut values = BooleanBufferBuilder::new(count);
    let mut nulls = NullRows::default();
    let end = cells.for_each(|cell| {
        let odd = CellError::Odd(values.len());
        let token = syntax.token(cell).map_err(|OddCell| CellError::Odd(values.len()))?;
        let value = match token.as_deref() {
            None => None,
            Some(b"true") => Some(true),
            Some(b"false") => Some(false),
            Some(_) => return Err(odd),
        };
        if value.is_none() {
            nulls.push(values.len());
        }
        values.append(value.unwrap_or_default());
        Ok(())
    })?;
    let nulls = nulls.finish(values.len());
    Ok((Arc::new(BooleanArray::new(values.finish(), nulls)), end))
}

fn texts(cells: &CellRuns<'_>, syntax: CellSyntax<'_>) -> Result<TypedCells, CellError> {
    let mut builder = TextBuilder::new(cells.len());
    builder.reserve(cells);
    let end = match syntax {
        CellSyntax::Csv { is_last, null_words }
            if !(cells.list.has_quotes() || is_last && cells.list.has_returns()) =>
        {
            let null_words = NullWords::new(null_words);
            if cells.list.is_repetitive {
                cells.for_each_run(|text, len, times| builder.add(text, len, times, &null_words))?
            } else {
                cells.for_each_start(|text, len| builder.add(text, len, 1, &null_words))?
            }
        }
        CellSyntax::Json if !cells.list.has_escapes() => cells.for_each(|cell| match cell {
            [b'"', inner @ .., b'"'] => {
                builder.push(Some(inner));
                Ok(())
            }
            b"null" => {
                builder.push(None);
                Ok(())
            }
            _ => Err(CellError::Odd(builder.len())),
        })?,
        _ => cells.for_each(|cell| match syntax.text(cell) {
            Ok(text) => {
                builder.push(text.as_deref());
                Ok(())
            }
            Err(OddCell) => Err(CellError::Odd(builder.len())),
        })?,
    };
    Ok((builder.finish()?, end))
}

/// Bytes of a short text that are copied at once.
const COPIED_BYTES: usize = 16;

/// The rows that are null; most columns have few or none.
#[derive(Debug, Default)]
struct NullRows(Vec<usize>);

impl NullRows {
    #[inline]
    fn push(&mut self, row: usize) {
        self.0.push(row);
    }

    /// Returns the nulls of an array of `rows` rows.
    fn finish(&self, rows: usize) -> Option<NullBuffer> {
        if self.0.is_empty() {
            return None;
        }
        let mut valid = BooleanBufferBuilder::new(rows);
        valid.append_n(rows, true);
        self.0.iter().for_each(|&row| valid.set_bit(row, false));
        Some(NullBuffer::new(valid.finish()))
    }
}

/// The words that mean null.
struct NullWords<'a> {
    words: &'a [Vec<u8>],
    /// Whether a word starts with a byte; most cells start with another one.
    starts: [bool; 256],
}

impl<'a> NullWords<'a> {
    fn new(words: &'a [Vec<u8>]) -> Self {
        let mut starts = [false; 256];
        for first in words.iter().filter_map(|word| word.first()) {
            if let Some(start) = starts.get_mut(usize::from(*first)) {
                *start = true;
            }
        }
        Self { words, starts }
    }

    /// Returns whether the first `len` bytes of a text, at least one, are a word.
    #[inline(always)]
    fn contains(&self, text: &[u8], len: usize) -> bool {
        let first = text.first().map_or(0, |&first| usize::from(first));
        self.starts.get(first) == Some(&true) && self.is_word(text.get(..len).unwrap_or_default())
    }

    #[inline(never)]
    fn is_word(&self, cell: &[u8]) -> bool {
        self.words.iter().any(|word| word == cell)
    }
}

/// Collects texts.
#[derive(Debug)]
pub(super) struct TextBuilder {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    nulls: NullRows,
}

impl TextBuilder {
    pub(super) fn new(rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows.saturating_add(1));
        offsets.push(0);
        Self { offsets, bytes: Vec::new(), nulls: NullRows::default() }
    }

    /// Reserves memory for cells, if they are all cells from a place on.
    fn reserve(&mut self, cells: &CellRuns<'_>) {
        if let WindowRows::Runs([run]) = cells.rows {
            let rest = cells.list.text_from(cells.from).len();
            let left = cells.list.cells.saturating_sub(cells.from.cell).max(1);
            // Windows of one block have cells of about the same length.
            let share = rest / left * run.len() + run.len();
            self.bytes.reserve(share.min(rest) + COPIED_BYTES);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    #[inline]
    pub(super) fn push(&mut self, text: Option<&[u8]>) {
        match text {
            Some(text) => self.bytes.extend_from_slice(text),
            None => self.nulls.push(self.len()),
        }
        self.end_text();
    }

    /// Adds the first `len` bytes of `text` several times; an empty text and a null word are
    /// null.
    #[inline(always)]
    fn add(
        &mut self,
        text: &[u8],
        len: usize,
        times: usize,
        null_words: &NullWords<'_>,
    ) -> Result<(), CellError> {
        let is_null = len == 0 || null_words.contains(text, len);
        for _ in 0..times {
            match text.first_chunk::<COPIED_BYTES>() {
                _ if is_null => self.nulls.push(self.len()),
                // A copy of a fixed size takes a fraction of the time of any other.
                Some(chunk) if len <= COPIED_BYTES => {
                    let end = self.bytes.len() + len;
                    self.bytes.extend_from_slice(chunk);
                    self.bytes.truncate(end);
                }
                _ => self.bytes.extend_from_slice(text.get(..len).unwrap_or_default()),
            }
            self.end_text();
        }
        Ok(())
    }

    #[inline]
    fn end_text(&mut self) {
        // More bytes than an offset can state are refused at the end.
        self.offsets.push(i32::try_from(self.bytes.len()).unwrap_or(i32::MAX));
    }

    pub(super) fn finish(self) -> Result<ArrayRef, CellError> {
        let (what, asked, limit) = ("size of the texts", self.bytes.len() as u64, i32::MAX as u64);
        if asked > limit {
            return Err(Error::from(ErrorKind::LimitExceeded { what, asked, limit }).into());
        }
        if let Err(err) = std::str::from_utf8(&self.bytes) {
            let at = i32::try_from(err.valid_up_to()).unwrap_or(i32::MAX);
            let row = self.offsets.partition_point(|&offset| offset <= at).saturating_sub(1);
            return Err(Error::from(ErrorKind::NotUtf8).in_row(row as u64).into());
        }
        let nulls = self.nulls.finish(self.offsets.len().saturating_sub(1));
        let offsets = OffsetBuffer::new(self.offsets.into());
        let array = StringArray::try_new(offsets, self.bytes.into(), nulls);
        Ok(Arc::new(array.map_err(Error::from)?))
    }
}

/// Returns the error for a cell that is not of the type of its column.
pub(super) fn not_of_type(cell: &[u8], data_type: &DataType) -> Error {
    let text: Cow<'_, str> = String::from_utf8_lossy(cell);
    let why = format!("`{}` is not of the type {data_type} of its column", clipped(&text));
    Error::malformed("cell", why)
}

#[cfg(test)]
mod tests {
    use std::iter::once;
    use std::ops::Range;

    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int32Type, Int64Type};

    use super::super::cell_list::CellList;
    use super::*;

    fn typed(
        data_type: &DataType,
        cells: &[&str],
        runs: impl IntoIterator<Item = Range<usize>>,
        syntax: CellSyntax<'_>,
    ) -> Result<ArrayRef, CellError> {
        let runs: Vec<Range<usize>> = runs.into_iter().collect();
        let list = CellList::try_new(cells.join("\n").into_bytes(), cells.len()).unwrap();
        let runs = CellRuns::new(&list, &runs);
        array(data_type, &runs, syntax).map(|(array, _)| array)
    }

    const CSV: CellSyntax<'static> = CellSyntax::Csv { is_last: true, null_words: &[] };

    #[test]
    fn integers_of_every_length_are_read() {
        let mut cells = vec![String::new(), "\"7\"".to_owned(), "12\r".to_owned(), "\r".to_owned()];
        for digits in 1..19 {
            for number in [10_i64.pow(digits) - 1, 10_i64.pow(digits), 5 * 10_i64.pow(digits - 1)] {
                cells.push(number.to_string());
                cells.push((-number).to_string());
            }
        }
        cells.push("0".to_owned());
        let want: Vec<Option<i64>> = cells
            .iter()
            .map(|cell| cell.trim_end_matches('\r').trim_matches('"').parse().ok())
            .collect();
        let all: Vec<&str> = cells.iter().map(String::as_str).collect();
        let longs = typed(&DataType::Int64, &all, once(0..all.len()), CSV).unwrap();
        let longs = longs.as_primitive::<Int64Type>();
        assert_eq!(longs.iter().collect::<Vec<_>>(), want);
        let some = [1..3, 9..11, all.len() - 1..all.len()];
        let few = typed(&DataType::Int64, &all, some.clone(), CSV).unwrap();
        let few: Vec<_> = few.as_primitive::<Int64Type>().iter().collect();
        assert_eq!(few, some.into_iter().flatten().map(|at| want[at]).collect::<Vec<_>>());
        let ints = typed(&DataType::Int32, &all[..16], once(0..16), CSV).unwrap();
        let ints: Vec<_> =
            ints.as_primitive::<Int32Type>().iter().map(|int| int.map(i64::from)).collect();
        assert_eq!(ints, want[..16]);
    }

    #[test]
    fn cells_of_another_type_are_named() {
        for (data_type, cells) in [
            (DataType::Int32, ["1", "x", "2"]),
            (DataType::Int32, ["1", "3000000000", "2"]),
            (DataType::Int64, ["1", "1.5", "22222222222"]),
            (DataType::Float64, ["1.5", "x", "2"]),
            (DataType::Boolean, ["true", "yes", ""]),
            (DataType::Utf8, ["a", "\"b", ""]),
        ] {
            let err = typed(&data_type, &cells, once(0..3), CSV).unwrap_err();
            assert!(matches!(err, CellError::Odd(1)), "{data_type} {err:?}");
            assert!(typed(&data_type, &cells, [0..1, 2..3], CSV).is_ok());
        }
    }

    #[test]
    fn texts_keep_nulls_and_empty_texts_apart() {
        let cells = ["a", "", "\"\"", "é", "\"x\"\"y\"", "NA"];
        let words = [b"NA".to_vec()];
        let syntax = CellSyntax::Csv { is_last: false, null_words: &words };
        let texts = typed(&DataType::Utf8, &cells, once(0..6), syntax).unwrap();
        let texts: Vec<Option<&str>> = texts.as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some("a"), None, Some(""), Some("é"), Some("x\"y"), None]);
        let json = [r#""a""#, "null", r#""""#, r#""\u00e9""#];
        let texts = typed(&DataType::Utf8, &json, once(0..4), CellSyntax::Json).unwrap();
        let texts: Vec<Option<&str>> = texts.as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some("a"), None, Some(""), Some("é")]);
        let flags = typed(&DataType::Boolean, &["true", "null"], once(0..2), CellSyntax::Json);
        let flags = flags.unwrap();
        assert!(flags.as_boolean().value(0) && flags.is_null(1));
        let list = CellList::try_new(b"a\n\xFF".to_vec(), 2).unwrap();
        let both = 0..2;
        let runs = CellRuns::new(&list, std::slice::from_ref(&both));
        let err = match array(&DataType::Utf8, &runs, CSV).unwrap_err() {
            CellError::Other(err) => err,
            odd => panic!("{odd:?}"),
        };
        assert_eq!(err.row(), Some(1));
    }
}
