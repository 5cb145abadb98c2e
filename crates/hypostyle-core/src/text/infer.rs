//! Infers the type of a text column from all of its cells.
//!
//! Cells arrive in chunks of many rows. Each chunk is stored in the narrowest type that
//! prints every one of its cells unchanged. After the last chunk, the column gets the
//! type that all chunks share, and chunks of another type are cast to it. Typed chunks
//! print as the cells that they were read from, so a column that turns out to be text in
//! its last row loses nothing, and the input is read only once.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::state::{Infer, InferredState};
use crate::cast::{cast, text_without_nulls};
use crate::column_source::{ColumnSource, ColumnStats};
use crate::error::{Error, Result};
use crate::number::{self, Liberal};
use crate::projection::{column_out_of_range, unknown_column};
use crate::spill::SpillBuffer;
use crate::types::{Capabilities, ColumnType};

/// Options for importing text as typed columns.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportOptions {
    /// When a column becomes numeric.
    pub infer: Infer,
    /// Columns with a requested type, by name.
    pub types: Vec<(String, ColumnType)>,
    /// Cells that mean null besides empty ones, if the target has nulls.
    pub null_words: Vec<String>,
    /// Which values the target can store.
    pub capabilities: Capabilities,
    /// Threads that parse cells; `None` uses one per core.
    pub threads: Option<NonZeroUsize>,
    /// Skip and count malformed rows instead of failing.
    pub skip: bool,
}

/// The malformed rows that an import skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// The number of skipped rows.
    pub count: u64,
    /// The byte offsets of the first skipped rows in the input.
    pub offsets: Vec<u64>,
}

impl Skipped {
    /// The maximum number of offsets that are recorded.
    const MAX_OFFSETS: usize = 10;

    pub(super) fn add(&mut self, offset: u64) {
        self.count += 1;
        if self.offsets.len() < Self::MAX_OFFSETS {
            self.offsets.push(offset);
        }
    }

    pub(super) fn extend(&mut self, next: &Self) {
        self.count += next.count;
        let room = Self::MAX_OFFSETS.saturating_sub(self.offsets.len());
        self.offsets.extend(next.offsets.iter().take(room));
    }
}

impl ImportOptions {
    /// Returns options with exact inference, for a target with these capabilities.
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            infer: Infer::Exact,
            types: Vec::new(),
            null_words: Vec::new(),
            capabilities,
            threads: None,
            skip: false,
        }
    }
}

/// Infers the type of one column; shared by the threads that parse its chunks.
#[derive(Debug)]
pub(super) struct TypeInference {
    infer: Infer,
    requested: Option<ColumnType>,
    /// The column is known to be text, so later chunks need not be parsed as numbers.
    is_text: AtomicBool,
}

/// A chunk of a column, and the inference state of its cells.
#[derive(Debug)]
pub(super) struct TypedChunk {
    pub(super) array: ArrayRef,
    pub(super) state: InferredState,
}

impl TypedChunk {
    /// Returns a chunk without rows.
    pub(super) fn empty() -> Result<Self> {
        texts(std::iter::empty())
    }
}

impl TypeInference {
    /// Returns an inference for each named column.
    ///
    /// # Errors
    ///
    /// Fails if a type was requested for a column that does not exist.
    pub(super) fn for_columns(names: &[String], options: &ImportOptions) -> Result<Vec<Self>> {
        for (name, _) in &options.types {
            if !names.contains(name) {
                return Err(unknown_column(name, names.iter().map(String::as_str)));
            }
        }
        let requested = |name: &String| options.types.iter().find(|(typed, _)| typed == name);
        Ok(names
            .iter()
            .map(|name| {
                let requested = requested(name).map(|(_, requested)| *requested);
                // A target without numbers stores every column as text.
                let all_text = options.infer == Infer::Text || !options.capabilities.numbers;
                let is_text = requested.map_or(all_text, |requested| requested == ColumnType::Text);
                Self { infer: options.infer, requested, is_text: AtomicBool::new(is_text) }
            })
            .collect())
    }

    /// Returns the requested type, if any.
    pub(super) fn requested(&self) -> Option<ColumnType> {
        self.requested
    }

    /// Returns the cells of some rows as an array of the narrowest type that prints them
    /// unchanged, or of the requested type.
    ///
    /// A row without a value is `None`. Every cell must be UTF-8.
    ///
    /// # Errors
    ///
    /// Fails for a cell that is not of the requested type.
    pub(super) fn type_chunk<'a>(
        &self,
        cells: impl ExactSizeIterator<Item = Option<&'a [u8]>> + Clone,
    ) -> Result<TypedChunk> {
        match self.requested {
            Some(requested) if requested != ColumnType::Text => {
                let text = texts(cells)?;
                let array = cast(&text.array, &requested.data_type())?;
                return Ok(TypedChunk { array, state: text.state });
            }
            _ => {}
        }
        if self.is_text.load(Ordering::Relaxed) {
            return texts(cells);
        }
        let first = cells.clone().flatten().find(|cell| !cell.is_empty());
        let exact = match first {
            None => None,
            Some(cell) if number::exact_int(cell).is_some() => ints(cells.clone()),
            Some(cell) if number::exact_float(cell).is_some() => floats(cells.clone()),
            Some(_) => None,
        };
        match exact {
            Some(ExactChunk { chunk, empty_texts: false }) => return Ok(chunk),
            // A numeric array does not distinguish null from empty text, which matters if
            // the column turns out to be text.
            Some(ExactChunk { chunk: TypedChunk { state, .. }, empty_texts: true }) => {
                return Ok(TypedChunk { array: texts(cells)?.array, state });
            }
            None => {}
        }
        let mut chunk = texts(cells.clone())?;
        if self.infer == Infer::Numeric {
            infer_liberally(cells, &mut chunk.state);
        }
        // A column with text in one row is text in all rows.
        let numeric = chunk.state.liberal_floats || chunk.state.liberal_ints;
        if chunk.state.texts && !numeric {
            self.is_text.store(true, Ordering::Relaxed);
        }
        Ok(chunk)
    }
}

/// A chunk of numbers that all print as the cells that they were read from.
struct ExactChunk {
    chunk: TypedChunk,
    /// Some cell is an empty text, which is null in the array.
    empty_texts: bool,
}

/// Returns the cells as integers, if each prints as its cell.
fn ints<'a>(cells: impl ExactSizeIterator<Item = Option<&'a [u8]>>) -> Option<ExactChunk> {
    let mut values = Vec::with_capacity(cells.len());
    let mut nulls = NullBufferBuilder::new(cells.len());
    let (mut min, mut max) = (i64::MAX, i64::MIN);
    let mut empty_texts = false;
    for cell in cells {
        match cell.filter(|cell| !cell.is_empty()) {
            None => {
                empty_texts |= cell.is_some();
                nulls.append_null();
                values.push(0);
            }
            Some(cell) => {
                let value = number::exact_int(cell)?;
                (min, max) = (min.min(value), max.max(value));
                nulls.append_non_null();
                values.push(value);
            }
        }
    }
    let nulls = nulls.finish();
    let state = InferredState::with_ints((min, max), nulls.is_some());
    let array: ArrayRef = if i32::try_from(min).is_ok() && i32::try_from(max).is_ok() {
        #[expect(clippy::cast_possible_truncation, reason = "the range was just checked")]
        let narrow: Vec<i32> = values.iter().map(|&value: &i64| value as i32).collect();
        Arc::new(Int32Array::new(narrow.into(), nulls))
    } else {
        Arc::new(Int64Array::new(values.into(), nulls))
    };
    Some(ExactChunk { chunk: TypedChunk { array, state }, empty_texts })
}

/// Returns the cells as floats, if each prints as its cell.
fn floats<'a>(cells: impl ExactSizeIterator<Item = Option<&'a [u8]>>) -> Option<ExactChunk> {
    let mut values = Vec::with_capacity(cells.len());
    let mut nulls = NullBufferBuilder::new(cells.len());
    let mut empty_texts = false;
    for cell in cells {
        match cell.filter(|cell| !cell.is_empty()) {
            None => {
                empty_texts |= cell.is_some();
                nulls.append_null();
                values.push(0.0);
            }
            Some(cell) => {
                values.push(number::exact_float(cell)?);
                nulls.append_non_null();
            }
        }
    }
    let nulls = nulls.finish();
    let state = InferredState::with_floats(nulls.is_some());
    let array = Arc::new(Float64Array::new(values.into(), nulls));
    Some(ExactChunk { chunk: TypedChunk { array, state }, empty_texts })
}

/// Returns the cells as text.
pub(super) fn texts<'a>(
    cells: impl ExactSizeIterator<Item = Option<&'a [u8]>>,
) -> Result<TypedChunk> {
    let mut offsets = Vec::with_capacity(cells.len() + 1);
    offsets.push(0_i32);
    let mut bytes = Vec::new();
    let mut nulls = NullBufferBuilder::new(cells.len());
    let mut empty = false;
    for cell in cells {
        match cell {
            None => nulls.append_null(),
            Some(cell) => {
                bytes.extend_from_slice(cell);
                nulls.append_non_null();
                empty |= cell.is_empty();
            }
        }
        let end = i32::try_from(bytes.len());
        offsets.push(end.map_err(|_| Error::malformed("cells", "take more than 2 GiB at once"))?);
    }
    bytes.shrink_to_fit();
    let nulls = nulls.finish();
    // An empty cell has no number, so a numeric column has a gap there.
    let gaps = empty || nulls.is_some();
    let state = match bytes.len() {
        0 => InferredState::none(gaps),
        _ => InferredState::with_texts(gaps),
    };
    let array = StringArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), nulls)?;
    Ok(TypedChunk { array: Arc::new(array), state })
}

/// Sets `state` by reading cells, which are stored as text, liberally as numbers.
fn infer_liberally<'a>(cells: impl Iterator<Item = Option<&'a [u8]>>, state: &mut InferredState) {
    let mut liberal = InferredState { gaps: state.gaps, texts: state.texts, ..InferredState::NONE };
    for cell in cells.flatten().filter(|cell| !cell.is_empty()) {
        match number::liberal(cell) {
            None => {
                (liberal.liberal_ints, liberal.liberal_floats) = (false, false);
                break;
            }
            Some(Liberal::Float(_)) => liberal.liberal_ints = false,
            Some(int @ Liberal::Int(value)) => {
                liberal.range = (liberal.range.0.min(value), liberal.range.1.max(value));
                liberal.liberal_floats &= int.to_float().is_some();
            }
        }
    }
    *state = liberal;
}

/// A table that was imported from text, with every column in its final type.
#[derive(Debug)]
pub struct Imported {
    schema: SchemaRef,
    spill: SpillBuffer,
    /// Rows without a value are empty texts because the target has no nulls.
    gaps_are_empty: bool,
    skipped: Skipped,
}

impl Imported {
    /// Resolves the type of every column.
    pub(super) fn new(
        names: Vec<String>,
        columns: &[(InferredState, Option<ColumnType>)],
        spill: SpillBuffer,
        options: &ImportOptions,
    ) -> Self {
        let capabilities = options.capabilities;
        let fields = names.into_iter().zip(columns).map(|(name, (state, requested))| {
            let data_type = match requested {
                Some(requested) => requested.data_type(),
                None => state.resolve(options.infer, capabilities),
            };
            // A gap in a column with a requested type stays null: the writer of a format
            // without nulls refuses it and names the row.
            let nullable = capabilities.nulls || (data_type != DataType::Utf8 && state.gaps);
            Field::new(name, data_type, nullable)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Self { schema, spill, gaps_are_empty: !capabilities.nulls, skipped: Skipped::default() }
    }

    /// Wraps columns whose types are those of `schema`, or can be cast to them.
    pub(super) fn from_spill(schema: SchemaRef, spill: SpillBuffer) -> Self {
        Self { schema, spill, gaps_are_empty: false, skipped: Skipped::default() }
    }

    pub(super) fn with_skipped(mut self, skipped: Skipped) -> Self {
        self.skipped = skipped;
        self
    }

    /// Returns the rows that were skipped.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Returns the number of batches.
    pub fn batches(&self) -> usize {
        self.spill.chunks()
    }

    /// Returns the number of rows of one batch.
    pub fn batch_rows(&self, index: usize) -> usize {
        self.spill.chunk_rows(index)
    }

    /// Returns one batch: all columns of the rows of one chunk.
    pub fn batch(&self, index: usize) -> Result<RecordBatch> {
        let columns = (0..self.schema.fields().len())
            .map(|column| self.chunk(column, index))
            .collect::<Result<Vec<_>>>()?;
        let options =
            arrow_array::RecordBatchOptions::new().with_row_count(Some(self.batch_rows(index)));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }

    fn data_type(&self, column: usize) -> Result<&DataType> {
        let fields = self.schema.fields();
        let missing = || column_out_of_range(column, fields.len());
        Ok(fields.get(column).ok_or_else(missing)?.data_type())
    }

    /// Returns one chunk of one column, in the type of the column.
    fn chunk(&self, column: usize, index: usize) -> Result<ArrayRef> {
        let chunk = self.spill.chunk(column, index)?;
        let cast = match self.data_type(column)? {
            DataType::Utf8 if self.gaps_are_empty => text_without_nulls(&chunk, ""),
            other => cast(&chunk, other),
        };
        cast.map_err(|err| {
            let before: usize = (0..index).map(|chunk| self.spill.chunk_rows(chunk)).sum();
            let name = self.schema.fields().get(column).map_or("", |field| field.name());
            let err = match err.row() {
                Some(row) => err.at_row(row.saturating_add(before as u64)),
                None => err,
            };
            err.in_column(column, name)
        })
    }
}

impl ColumnSource for Imported {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.spill.rows()
    }

    fn column(&self, index: usize) -> Result<Vec<ArrayRef>> {
        (0..self.spill.chunks()).map(|chunk| self.chunk(index, chunk)).collect()
    }

    fn stats(&self, index: usize) -> Result<ColumnStats> {
        let data_type = self.data_type(index)?;
        let stats = self.spill.stats(index);
        let is_final = self.spill.has_type(index, data_type)
            && (stats.nulls == 0 || !self.gaps_are_empty || data_type != &DataType::Utf8);
        if is_final { Ok(stats) } else { Ok(ColumnStats::of(&self.column(index)?)) }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;

    fn typed(cells: &[Option<&str>]) -> TypedChunk {
        let options = ImportOptions::new(Capabilities::EVERYTHING);
        let inferences = TypeInference::for_columns(&["a".to_owned()], &options).unwrap();
        inferences[0].type_chunk(cells.iter().map(|cell| cell.map(str::as_bytes))).unwrap()
    }

    /// If the column turns out to be text, an empty text is not null.
    #[test]
    fn chunks_with_empty_texts_stay_text_but_resolve_to_numbers() {
        for (number, data_type) in [("1", DataType::Int32), ("1.5", DataType::Float64)] {
            let gap = typed(&[Some(number), None]);
            assert_eq!((gap.array.data_type(), gap.array.null_count()), (&data_type, 1));
            let text = typed(&[Some(number), None, Some("")]);
            assert_eq!((text.array.data_type(), text.array.null_count()), (&DataType::Utf8, 1));
            let resolved = text.state.resolve(Infer::Exact, Capabilities::EVERYTHING);
            assert_eq!(resolved, data_type);
            assert_eq!(cast(&text.array, &resolved).unwrap().null_count(), 2);
        }
    }
}
