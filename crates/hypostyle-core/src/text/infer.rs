//! The type of a column of text, judged by all of its cells.
//!
//! Cells come in pieces of many rows. Each piece is kept in the narrowest type
//! that gives back every one of its cells unchanged; when the last piece has
//! come, the column gets the type that all pieces share, and pieces of another
//! type are turned into it. Since typed pieces print to the very cells that they
//! were read from, a column that turns out to be text in its last row loses
//! nothing, and the text need be read only once.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::cast::{cast, text_without_nulls};
use crate::error::{Error, Result};
use crate::number::{self, Liberal};
use crate::spill::SpillBuffer;
use crate::table::{ColumnStats, Table};
use crate::types::{Capabilities, ColumnType};

/// How text is turned into typed columns.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportOptions {
    /// When a column becomes a number.
    pub infer: Infer,
    /// Columns whose type is given, by name.
    pub types: Vec<(String, ColumnType)>,
    /// Cells that mean null, besides the empty one, where the target has nulls.
    pub null_words: Vec<String>,
    /// What the target can hold.
    pub capabilities: Capabilities,
    /// Threads that parse cells; `None` takes one per core.
    pub threads: Option<NonZeroUsize>,
    /// Leave out what is no row, and count it, instead of failing.
    pub skip: bool,
}

/// What was left out because it is no row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// Where the first few of them start in the text.
    pub offsets: Vec<u64>,
}

impl Skipped {
    /// Offsets that are kept.
    const NAMED: usize = 10;

    pub(super) fn add(&mut self, offset: u64) {
        self.count += 1;
        if self.offsets.len() < Self::NAMED {
            self.offsets.push(offset);
        }
    }

    pub(super) fn extend(&mut self, next: &Self) {
        self.count += next.count;
        let room = Self::NAMED.saturating_sub(self.offsets.len());
        self.offsets.extend(next.offsets.iter().take(room));
    }
}

impl ImportOptions {
    /// Exact inference for a target of these capabilities.
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

/// When a column of text becomes a column of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Infer {
    /// If every cell would be printed back exactly as it is.
    #[default]
    Exact,
    /// If every cell can be read as a number.
    Numeric,
    /// Never.
    Text,
}

/// What is known of a column while its cells come in.
#[derive(Debug)]
pub(super) struct TypeInference {
    infer: Infer,
    asked: Option<ColumnType>,
    /// Some piece is text for good, so the others need not be tried.
    settled: AtomicBool,
}

/// A piece of a column, and what else its cells could be.
#[derive(Debug)]
pub(super) struct TypedChunk {
    pub(super) array: ArrayRef,
    pub(super) state: InferredState,
}

impl TypedChunk {
    /// A piece of no rows.
    pub(super) fn empty() -> Result<Self> {
        texts(std::iter::empty())
    }
}

/// What all cells of a piece, or of a column, have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct InferredState {
    /// Some piece is integers, all of them.
    ints: bool,
    /// Some piece is floats, all of them.
    floats: bool,
    /// Some piece is text, with at least one cell that is not empty.
    texts: bool,
    /// Some piece is truth values, all of them.
    bools: bool,
    /// Every cell reads as an integer, if liberally; and their range.
    liberal_ints: bool,
    range: (i64, i64),
    /// Every cell reads as a number that a float holds, if liberally.
    liberal_floats: bool,
    /// Some row has no cell.
    gaps: bool,
}

impl InferredState {
    /// Of no cells at all.
    pub(super) const NONE: Self = Self {
        ints: false,
        floats: false,
        texts: false,
        bools: false,
        liberal_ints: true,
        range: (i64::MAX, i64::MIN),
        liberal_floats: true,
        gaps: false,
    };

    /// Of rows that have no cell, if `gaps`, and of no rows otherwise.
    pub(super) fn none(gaps: bool) -> Self {
        Self { gaps, ..Self::NONE }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.ints |= other.ints;
        self.floats |= other.floats;
        self.texts |= other.texts;
        self.bools |= other.bools;
        self.liberal_ints &= other.liberal_ints;
        self.range = (self.range.0.min(other.range.0), self.range.1.max(other.range.1));
        self.liberal_floats &= other.liberal_floats;
        self.gaps |= other.gaps;
    }

    pub(super) fn with_ints(range: (i64, i64), gaps: bool) -> Self {
        let most = 1 << 53;
        let liberal_floats = range.0 >= -most && range.1 <= most;
        Self { ints: true, range, liberal_floats, gaps, ..Self::NONE }
    }

    pub(super) fn with_floats(gaps: bool) -> Self {
        Self { floats: true, liberal_ints: false, gaps, ..Self::NONE }
    }

    pub(super) fn with_bools(gaps: bool) -> Self {
        Self { bools: true, liberal_ints: false, liberal_floats: false, gaps, ..Self::NONE }
    }

    pub(super) fn with_texts(gaps: bool) -> Self {
        Self { texts: true, liberal_ints: false, liberal_floats: false, gaps, ..Self::NONE }
    }

    /// The type of a column with these state.
    pub(super) fn resolve(&self, infer: Infer, capabilities: Capabilities) -> DataType {
        if (self.gaps && !capabilities.nulls) || !capabilities.numbers {
            return DataType::Utf8;
        }
        let narrow = i32::try_from(self.range.0).is_ok() && i32::try_from(self.range.1).is_ok();
        let no_cells = !(self.ints || self.floats || self.texts || self.bools);
        let (ints, floats) = match infer {
            Infer::Text => (false, false),
            Infer::Exact => (
                self.ints && !self.floats && !self.texts && !self.bools,
                self.floats && !self.ints && !self.texts && !self.bools,
            ),
            Infer::Numeric => (self.liberal_ints, self.liberal_floats),
        };
        match (ints, floats) {
            _ if no_cells => DataType::Utf8,
            (true, _) if narrow => DataType::Int32,
            (true, _) if capabilities.int64 => DataType::Int64,
            (_, true) => DataType::Float64,
            _ if self.bools && !(self.ints || self.floats || self.texts) => DataType::Boolean,
            _ => DataType::Utf8,
        }
    }
}

impl TypeInference {
    /// A judge for each named column.
    pub(super) fn panel(names: &[String], options: &ImportOptions) -> Result<Vec<Self>> {
        for (name, _) in &options.types {
            if !names.contains(name) {
                return Err(Error::invalid_argument(format!("there is no column `{name}`")));
            }
        }
        let asked = |name: &String| options.types.iter().find(|(typed, _)| typed == name);
        Ok(names
            .iter()
            .map(|name| {
                let asked = asked(name).map(|(_, asked)| *asked);
                // Text for good, where a target has nothing else.
                let all_text = options.infer == Infer::Text || !options.capabilities.numbers;
                let settled = asked.map_or(all_text, |asked| asked == ColumnType::Text);
                Self { infer: options.infer, asked, settled: AtomicBool::new(settled) }
            })
            .collect())
    }

    /// The type that was asked for.
    pub(super) fn asked(&self) -> Option<ColumnType> {
        self.asked
    }

    /// Keeps the cells of some rows, `None` for a row without one.
    ///
    /// Every cell is UTF-8.
    pub(super) fn keep<'a>(
        &self,
        cells: impl ExactSizeIterator<Item = Option<&'a [u8]>> + Clone,
    ) -> Result<TypedChunk> {
        match self.asked {
            Some(asked) if asked != ColumnType::Text => {
                let text = texts(cells)?;
                let array = cast(&text.array, &asked.data_type())?;
                return Ok(TypedChunk { array, state: text.state });
            }
            _ => {}
        }
        if self.settled.load(Ordering::Relaxed) {
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
            Some(Exact { judged, empty_texts: false }) => return Ok(judged),
            // Numbers would forget which gaps were empty texts, and should the
            // column turn out to be text, that counts.
            Some(Exact { judged: TypedChunk { state, .. }, empty_texts: true }) => {
                return Ok(TypedChunk { array: texts(cells)?.array, state });
            }
            None => {}
        }
        let mut judged = texts(cells.clone())?;
        if self.infer == Infer::Numeric {
            like_numbers(cells, &mut judged.state);
        }
        // A column that has text in one place is text everywhere.
        let numeric = judged.state.liberal_floats || judged.state.liberal_ints;
        if judged.state.texts && !numeric {
            self.settled.store(true, Ordering::Relaxed);
        }
        Ok(judged)
    }
}

/// Cells that are numbers, each of which would be printed back the same.
struct Exact {
    judged: TypedChunk,
    /// Some cell is an empty text: null here, since both print as nothing.
    empty_texts: bool,
}

/// Keeps the cells as integers, if each would be printed back the same.
fn ints<'a>(cells: impl ExactSizeIterator<Item = Option<&'a [u8]>>) -> Option<Exact> {
    let mut values = Vec::with_capacity(cells.len());
    let mut nulls = NullBufferBuilder::new(cells.len());
    let (mut least, mut most) = (i64::MAX, i64::MIN);
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
                (least, most) = (least.min(value), most.max(value));
                nulls.append_non_null();
                values.push(value);
            }
        }
    }
    let nulls = nulls.finish();
    let state = InferredState::with_ints((least, most), nulls.is_some());
    let array: ArrayRef = if i32::try_from(least).is_ok() && i32::try_from(most).is_ok() {
        #[expect(clippy::cast_possible_truncation, reason = "the range was just looked at")]
        let narrow: Vec<i32> = values.iter().map(|&value: &i64| value as i32).collect();
        Arc::new(Int32Array::new(narrow.into(), nulls))
    } else {
        Arc::new(Int64Array::new(values.into(), nulls))
    };
    Some(Exact { judged: TypedChunk { array, state }, empty_texts })
}

/// Keeps the cells as floats, if each would be printed back the same.
fn floats<'a>(cells: impl ExactSizeIterator<Item = Option<&'a [u8]>>) -> Option<Exact> {
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
    Some(Exact { judged: TypedChunk { array, state }, empty_texts })
}

/// Keeps the cells as they are.
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
    // An empty cell holds no number, so it is a gap to a column of numbers.
    let gaps = empty || nulls.is_some();
    let state = match bytes.len() {
        0 => InferredState::none(gaps),
        _ => InferredState::with_texts(gaps),
    };
    let array = StringArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), nulls)?;
    Ok(TypedChunk { array: Arc::new(array), state })
}

/// Notes whether cells that are kept as text read as numbers all the same.
fn like_numbers<'a>(cells: impl Iterator<Item = Option<&'a [u8]>>, state: &mut InferredState) {
    let mut like = InferredState { gaps: state.gaps, texts: state.texts, ..InferredState::NONE };
    for cell in cells.flatten().filter(|cell| !cell.is_empty()) {
        match number::liberal(cell) {
            None => {
                (like.liberal_ints, like.liberal_floats) = (false, false);
                break;
            }
            Some(Liberal::Float(_)) => like.liberal_ints = false,
            Some(int @ Liberal::Int(value)) => {
                like.range = (like.range.0.min(value), like.range.1.max(value));
                like.liberal_floats &= int.to_float().is_some();
            }
        }
    }
    *state = like;
}

/// A table that was read from text, every column in its final type.
#[derive(Debug)]
pub struct Imported {
    schema: SchemaRef,
    stage: SpillBuffer,
    /// Rows without a cell are empty texts, since the target has no nulls.
    gaps_are_empty: bool,
    skipped: Skipped,
}

impl Imported {
    /// Settles the type of every column.
    pub(super) fn new(
        names: Vec<String>,
        columns: &[(InferredState, Option<ColumnType>)],
        stage: SpillBuffer,
        options: &ImportOptions,
    ) -> Self {
        let capabilities = options.capabilities;
        let fields = names.into_iter().zip(columns).map(|(name, (state, asked))| {
            let data_type = match asked {
                Some(asked) => asked.data_type(),
                None => state.resolve(options.infer, capabilities),
            };
            // A gap in a type that was asked for stays a gap: the writer of a
            // format without nulls says so, with its row.
            let nullable = capabilities.nulls || (data_type != DataType::Utf8 && state.gaps);
            Field::new(name, data_type, nullable)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Self { schema, stage, gaps_are_empty: !capabilities.nulls, skipped: Skipped::default() }
    }

    /// Columns whose types are those of a schema, or can be cast to them.
    pub(super) fn staged(schema: SchemaRef, stage: SpillBuffer) -> Self {
        Self { schema, stage, gaps_are_empty: false, skipped: Skipped::default() }
    }

    pub(super) fn with_skipped(mut self, skipped: Skipped) -> Self {
        self.skipped = skipped;
        self
    }

    /// What was left out, if that was allowed.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The number of batches.
    pub fn batches(&self) -> usize {
        self.stage.pieces()
    }

    /// The rows of one batch.
    pub fn batch_rows(&self, index: usize) -> usize {
        self.stage.piece_rows(index)
    }

    /// One batch: all columns of the rows that were read together.
    pub fn batch(&self, index: usize) -> Result<RecordBatch> {
        let columns = (0..self.schema.fields().len())
            .map(|column| self.piece(column, index))
            .collect::<Result<Vec<_>>>()?;
        let options =
            arrow_array::RecordBatchOptions::new().with_row_count(Some(self.batch_rows(index)));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }

    fn data_type(&self, column: usize) -> Result<&DataType> {
        let field = self.schema.fields().get(column);
        let no_such = || Error::invalid_argument(format!("there is no column {column}"));
        Ok(field.ok_or_else(no_such)?.data_type())
    }

    /// One piece of one column, in the type of the column.
    fn piece(&self, column: usize, index: usize) -> Result<ArrayRef> {
        let piece = self.stage.piece(column, index)?;
        let cast = match self.data_type(column)? {
            DataType::Utf8 if self.gaps_are_empty => text_without_nulls(&piece, ""),
            other => cast(&piece, other),
        };
        cast.map_err(|err| {
            let before: usize = (0..index).map(|piece| self.stage.piece_rows(piece)).sum();
            let name = self.schema.fields().get(column).map_or("", |field| field.name());
            let err = match err.row() {
                Some(row) => err.at_row(row.saturating_add(before as u64)),
                None => err,
            };
            err.in_column(column, name)
        })
    }
}

impl Table for Imported {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.stage.rows()
    }

    fn column(&self, index: usize) -> Result<Vec<ArrayRef>> {
        (0..self.stage.pieces()).map(|piece| self.piece(index, piece)).collect()
    }

    fn stats(&self, index: usize) -> Result<ColumnStats> {
        let data_type = self.data_type(index)?;
        let stats = self.stage.stats(index);
        let as_staged = self.stage.is_all(index, data_type)
            && (stats.nulls == 0 || !self.gaps_are_empty || data_type != &DataType::Utf8);
        if as_staged { Ok(stats) } else { Ok(ColumnStats::of(&self.column(index)?)) }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;

    fn keep(cells: &[Option<&str>]) -> TypedChunk {
        let options = ImportOptions::new(Capabilities::EVERYTHING);
        let panel = TypeInference::panel(&["a".to_owned()], &options).unwrap();
        panel[0].keep(cells.iter().map(|cell| cell.map(str::as_bytes))).unwrap()
    }

    /// Should the column be text after all, an empty text is not a gap.
    #[test]
    fn numbers_do_not_forget_which_gaps_were_empty_texts() {
        for (number, data_type) in [("1", DataType::Int32), ("1.5", DataType::Float64)] {
            let gap = keep(&[Some(number), None]);
            assert_eq!((gap.array.data_type(), gap.array.null_count()), (&data_type, 1));
            let text = keep(&[Some(number), None, Some("")]);
            assert_eq!((text.array.data_type(), text.array.null_count()), (&DataType::Utf8, 1));
            let settled = text.state.resolve(Infer::Exact, Capabilities::EVERYTHING);
            assert_eq!(settled, data_type);
            assert_eq!(cast(&text.array, &settled).unwrap().null_count(), 2);
        }
    }
}
