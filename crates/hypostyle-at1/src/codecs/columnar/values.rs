//! Columns as values instead of text, for readers of tables.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::column::{self, DecodedColumn, DerivedBudget};
use super::group_directory::{GROUPS, GroupDirectory};
use super::number::{NumberValues, Scale};
use super::sections::unfit;
use super::table::{chunk_ranges, meta, widths};
use super::{FIELDS, kind};
use crate::codecs::context::DecodeContext;
use crate::row_buffer::{PaddedDict, RowBuffer};
use crate::streams::{StreamCursor, Streams};
use hypostyle_core::error::{Error, Result};

/// The streams that say where columns are.
pub(crate) const COLUMN_STREAMS: [&str; 6] =
    ["meta", "coltypes", "col_index", "quotemodes", "quotebits", FIELDS];

/// The stream that says which lines are rows.
pub(crate) const ROW_MODES: &str = "row_modes";

/// The stream with the number of cells of each row.
pub(crate) const FIELD_COUNTS: &str = "fieldcounts";

/// The stream with the other lines.
pub(crate) const VERBATIM: &str = "verbatim";

/// The stream with the first line of the text, if that names the fields.
pub(crate) const HEADER: &str = "header";

/// What a frame states about its columns.
#[derive(Debug)]
pub(crate) struct ColumnLayout {
    pub(crate) trailing: bool,
    pub(crate) has_header: bool,
    pub(crate) delimiter: Vec<u8>,
    /// The columns.
    pub(crate) columns: Vec<StoredColumn>,
    /// Whether some structured row does not have a cell of each column.
    pub(crate) is_ragged: bool,
    /// The number of structured rows.
    pub(crate) structured: usize,
    /// For each row 0 if it is verbatim; empty if no row is.
    pub(crate) modes: Bytes,
}

/// What a frame states about one column.
#[derive(Debug)]
pub(crate) struct StoredColumn {
    pub(crate) kind: u8,
    /// The place of the chunk in `values`.
    pub(crate) place: Range<u64>,
    /// The number of fields in each cell.
    pub(crate) width: usize,
    /// 0: no cell is quoted; 1: every cell is; else some are.
    pub(crate) quotes: u8,
}

impl ColumnLayout {
    /// Reads the layout of a frame.
    ///
    /// `lines` has [`ROW_MODES`] and [`FIELD_COUNTS`]. With a directory of row groups, which
    /// states that all structured rows have all cells, it needs the former only if there are
    /// verbatim lines, and never the latter.
    pub(crate) fn read(
        streams: &Streams,
        lines: &Streams,
        directory: Option<&GroupDirectory>,
        context: &DecodeContext<'_>,
    ) -> Result<Self> {
        let meta = meta(streams, context)?;
        let rows = usize::try_from(meta.rows).unwrap_or(usize::MAX);
        let modes = match directory {
            Some(directory) if directory.verbatim.is_none() => Bytes::new(),
            _ => row_modes(lines, rows)?,
        };
        let verbatim = modes.iter().filter(|&&mode| mode == 0).count();
        let structured = rows - verbatim;
        let is_ragged = match directory {
            None => has_missing_cells(lines, structured, meta.columns)?,
            Some(directory) if directory.groups.cells == structured => false,
            Some(directory) => {
                let cells = directory.groups.cells;
                let why = format!("they have {cells} cells, but the frame has {structured}");
                return Err(unfit(why).in_stream(GROUPS));
            }
        };
        let modes = if verbatim == 0 { Bytes::new() } else { modes };
        let kinds = streams.bytes("coltypes").iter();
        let quotes = streams.bytes("quotemodes").iter();
        let places = chunk_ranges(streams, meta.columns)?;
        let columns = places.into_iter().zip(widths(streams, meta.columns));
        let columns = columns
            .zip(kinds.zip(quotes))
            .map(|((place, width), (&kind, &quotes))| StoredColumn { kind, place, width, quotes });
        Ok(Self {
            trailing: meta.trailing,
            has_header: meta.has_header,
            delimiter: meta.delimiter.to_vec(),
            columns: columns.collect(),
            is_ragged,
            structured,
            modes,
        })
    }

    /// Returns the column that a DERIVED chunk is derived from; `None` for other types.
    pub(crate) fn source(&self, column: usize, chunk: &Bytes) -> Result<Option<usize>> {
        match self.columns.get(column) {
            Some(stored) if stored.kind == kind::DERIVED => {
                let source = StreamCursor::new("values", chunk).size("source column")?;
                // A source that comes later is refused when the chunk is decoded.
                Ok(Some(source).filter(|&source| source < column))
            }
            _ => Ok(None),
        }
    }

    /// Decodes a chunk; `source` is the column that it may be derived from.
    pub(crate) fn decode(
        &self,
        column: usize,
        chunk: &Bytes,
        source: Option<&DecodedColumn>,
        context: &DecodeContext<'_>,
    ) -> Result<DecodedColumn> {
        let kind = self.columns.get(column).map_or(u8::MAX, |stored| stored.kind);
        if kind == kind::DERIVED {
            let mut budget = DerivedBudget::new(context.limits.read_bytes);
            column::derive(chunk, |_| source, &mut budget)
        } else {
            column::decode(kind, chunk, |code, what: &str| {
                let message = format!("column {} {what}", column.saturating_add(1));
                context.deviations.report(code, context.offset_of("values"), message)
            })
        }
    }
}

/// Returns the modes of so many rows.
fn row_modes(lines: &Streams, rows: usize) -> Result<Bytes> {
    let modes = lines.shared(ROW_MODES);
    if modes.len() < rows {
        let why = format!("has {} bytes for {rows} rows", modes.len());
        return Err(Error::malformed("row modes", why).in_stream(ROW_MODES));
    }
    Ok(modes.slice(..rows))
}

/// Returns whether some row does not have a cell of each column.
fn has_missing_cells(lines: &Streams, rows: usize, columns: usize) -> Result<bool> {
    let mut stream = lines.read(FIELD_COUNTS);
    let mut is_ragged = false;
    for _ in 0..rows {
        let at = stream.clone();
        let count = stream.size("field count")?;
        if count > columns {
            let why = format!("{count} is more than the {columns} columns");
            return Err(at.malformed("field count", why));
        }
        is_ragged |= count != columns;
    }
    Ok(is_ragged)
}

/// Returns the indexes of a DICT chunk.
pub(crate) fn dictionary_indexes(chunk: &[u8]) -> Result<Vec<u32>> {
    match column::decode(kind::DICT, &Bytes::copy_from_slice(chunk), |_, _| Ok(()))? {
        DecodedColumn::Dict { ids, .. } => Ok(ids),
        _ => Ok(Vec::new()),
    }
}

/// Converts numbers; `None` if one of them cannot be converted.
///
/// The loop has no exit, so that the compiler converts several numbers at once.
fn converted<N: Copy, T: Default>(
    numbers: &[N],
    convert: impl Fn(N) -> Option<T>,
) -> Option<Vec<T>> {
    let mut are_all = true;
    let convert = |&number: &N| {
        let converted = convert(number);
        are_all &= converted.is_some();
        converted.unwrap_or_default()
    };
    let converted = numbers.iter().map(convert).collect();
    are_all.then_some(converted)
}

/// Numbers, and which cells are not numbers.
#[derive(Debug)]
pub(crate) struct CellNumbers<'c, T> {
    pub(crate) values: Vec<T>,
    /// The cells that are not numbers, and their text; the values of these cells are 0.
    pub(crate) others: Vec<(usize, &'c [u8])>,
}

/// Powers of ten that a float represents exactly.
const POWERS: [f64; 19] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];

/// Integers of which each has a float of its own.
const EXACT_IN_FLOAT: u64 = 1 << 53;

impl DecodedColumn {
    /// The number of cells.
    pub(crate) fn cells(&self) -> usize {
        self.len()
    }

    /// The bytes of memory that the cells take, without the entries of a dictionary.
    pub(crate) fn memory(&self) -> usize {
        let numbers = |values: &NumberValues| match values {
            NumberValues::Tiny(values) => size_of_val(&values[..]),
            NumberValues::Small(values) => size_of_val(&values[..]),
            NumberValues::Narrow(values) => size_of_val(&values[..]),
            NumberValues::Wide(values) => size_of_val(&values[..]),
        };
        match self {
            Self::Text(text) => text.bytes.len(),
            Self::Numbers { values, .. } => numbers(values),
            Self::Mixed { values, bits, exceptions, .. } => {
                numbers(values) + bits.bytes().len() + exceptions.memory()
            }
            Self::Dict { ids, .. } => size_of_val(&ids[..]),
        }
    }

    /// Returns some cells of a column of integers; `None` for any other column, and if one
    /// of them does not fit the type.
    pub(crate) fn integers<T: TryFrom<i64> + Default + Copy>(
        &self,
        cells: Range<usize>,
    ) -> Option<CellNumbers<'_, T>> {
        self.numbers(cells, |scale| scale == Scale::Whole, |value, _| T::try_from(value).ok())
    }

    /// Returns some cells of a column of decimals as the nearest floats; `None` for any other
    /// column, and if one of them has too many digits.
    pub(crate) fn floats(&self, cells: Range<usize>) -> Option<CellNumbers<'_, f64>> {
        let is_decimal = |scale| matches!(scale, Scale::Digits(1..));
        self.numbers(cells, is_decimal, |value, scale| {
            let Scale::Digits(digits) = scale else { return None };
            // Both numbers are exact, so the quotient is rounded once, as a parser does it.
            #[expect(clippy::cast_precision_loss, reason = "the guard has excluded any loss")]
            let exact = (value.unsigned_abs() < EXACT_IN_FLOAT).then_some(value as f64)?;
            Some(exact / POWERS.get(digits)?)
        })
    }

    /// Returns the digits of some cells of a column of decimals with so many of them after the
    /// point; `None` for any other column.
    pub(crate) fn decimals(
        &self,
        cells: Range<usize>,
        scale: usize,
    ) -> Option<CellNumbers<'_, i128>> {
        let is_wanted = |found| match found {
            Scale::Whole => scale == 0,
            Scale::Digits(digits) => digits == scale,
        };
        self.numbers(cells, is_wanted, |value, _| Some(value.into()))
    }

    fn numbers<T: Default + Copy>(
        &self,
        cells: Range<usize>,
        is_wanted: impl FnOnce(Scale) -> bool,
        convert: impl Fn(i64, Scale) -> Option<T>,
    ) -> Option<CellNumbers<'_, T>> {
        let (values, scale) = match self {
            Self::Numbers { values, scale } | Self::Mixed { values, scale, .. } => (values, *scale),
            _ => return None,
        };
        if !is_wanted(scale) {
            return None;
        }
        let of_values = match self {
            Self::Mixed { bits, .. } => bits.ones_before(cells.start)..bits.ones_before(cells.end),
            _ => cells.clone(),
        };
        let all = match values {
            NumberValues::Tiny(all) => {
                converted(all.get(of_values)?, |it| convert(it.into(), scale))
            }
            NumberValues::Small(all) => {
                converted(all.get(of_values)?, |it| convert(it.into(), scale))
            }
            NumberValues::Narrow(all) => converted(all.get(of_values)?, |it| convert(it, scale)),
            NumberValues::Wide(_) => None,
        }?;
        let Self::Mixed { bits, exceptions, .. } = self else {
            return Some(CellNumbers { values: all, others: Vec::new() });
        };
        let mut exception = cells.start - bits.ones_before(cells.start);
        let (mut values, mut others) = (Vec::with_capacity(cells.len()), Vec::new());
        let (mut rest, mut cell) = (all.as_slice(), cells.start);
        while cell < cells.end {
            // Numbers up to the next exception, of at most 64 cells.
            let left = (cells.end - cell).min(64);
            let numbers = (bits.next_64(cell).trailing_ones() as usize).min(left);
            let (some, after) = rest.split_at_checked(numbers)?;
            values.extend_from_slice(some);
            (rest, cell) = (after, cell + numbers);
            if numbers < left {
                others.push((values.len(), exceptions.get(exception)?.bytes()));
                values.push(T::default());
                (exception, cell) = (exception + 1, cell + 1);
            }
        }
        Some(CellNumbers { values, others })
    }

    /// Returns the indexes and entries of a column with a dictionary.
    pub(crate) fn dictionary(&self) -> Option<(&[u32], &Arc<PaddedDict>)> {
        match self {
            Self::Dict { ids, entries } => Some((ids, entries)),
            _ => None,
        }
    }

    /// Returns some cells as text, with a newline between two cells.
    pub(crate) fn text(&self, cells: Range<usize>) -> Vec<u8> {
        if let Self::Text(text) = self {
            return text.between(cells).to_vec();
        }
        let (mut out, mut buffer) = (Vec::new(), RowBuffer::default());
        let start = cells.start;
        let mut all = self.from(start);
        for cell in cells {
            buffer.clear();
            if cell > start {
                out.push(b'\n');
            }
            all.put(&mut buffer);
            out.extend_from_slice(buffer.text());
        }
        out
    }
}
