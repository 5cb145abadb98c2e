//! Rows that wait until their columns can be written.
//!
//! A column file holds each column in one piece, and the type of a column of
//! text is known only after its last cell. So rows are kept here, in pieces of
//! a few megabytes, and beyond a budget the pieces go to a [`Scratch`] that the
//! caller brings: memory is bounded by the budget and the largest column, not
//! by the table.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::{fmt, mem};

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, GenericStringArray, NullArray, OffsetSizeTrait, PrimitiveArray,
    RunArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, SchemaRef};

use crate::error::{Error, Result};
use crate::source::{ByteSource, FileSource};
use crate::table::{ColumnStats, Table};

/// A place outside memory for bytes that are read back later.
pub trait Scratch: fmt::Debug + Send + Sync {
    /// Adds bytes at the end and says where they start.
    fn append(&mut self, bytes: &[u8]) -> io::Result<u64>;

    /// Reads `len` bytes from `offset` on; threads may do so at once.
    fn read(&self, offset: u64, len: usize) -> io::Result<bytes::Bytes>;
}

/// A [`Scratch`] in a file that the caller opened for reading and writing.
#[derive(Debug)]
pub struct FileScratch {
    write: File,
    read: FileSource,
    end: u64,
}

impl FileScratch {
    /// Takes an empty file; a nameless temporary one is best.
    pub fn try_new(file: File) -> io::Result<Self> {
        Ok(Self { read: FileSource::try_new(file.try_clone()?)?, write: file, end: 0 })
    }
}

impl Scratch for FileScratch {
    fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let start = self.end;
        self.write.write_all(bytes)?;
        self.end += bytes.len() as u64;
        Ok(start)
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<bytes::Bytes> {
        self.read.read(offset, len)
    }
}

/// Pieces of columns, in memory or in a scratch.
#[derive(Debug)]
pub struct SpillBuffer {
    budget: u64,
    resident: u64,
    scratch: Option<Box<dyn Scratch>>,
    columns: Vec<Column>,
    piece_rows: Vec<usize>,
}

#[derive(Debug, Default)]
struct Column {
    pieces: Vec<Piece>,
    stats: ColumnStats,
}

#[derive(Debug)]
enum Piece {
    Resident(ArrayRef),
    Spilled { at: u64, shape: Shape },
}

/// How to make an array of bytes in a scratch again.
#[derive(Debug)]
struct Shape {
    data_type: DataType,
    rows: usize,
    /// Lengths of the validity bits, the offsets and the values, in that order.
    parts: [usize; 3],
    /// Bytes after those that say where runs end, if the rows are runs.
    run_ends: usize,
}

impl SpillBuffer {
    /// Keeps everything in memory.
    pub fn in_memory() -> Self {
        Self {
            budget: u64::MAX,
            resident: 0,
            scratch: None,
            columns: Vec::new(),
            piece_rows: Vec::new(),
        }
    }

    /// Keeps about `budget` bytes in memory, and the rest in `scratch`.
    pub fn with_scratch(budget: u64, scratch: Box<dyn Scratch>) -> Self {
        Self { budget, scratch: Some(scratch), ..Self::in_memory() }
    }

    /// Adds `rows` rows, one array for each column; the first call fixes how many.
    pub fn push(&mut self, rows: usize, arrays: Vec<ArrayRef>) -> Result<()> {
        if self.piece_rows.is_empty() {
            self.columns.resize_with(arrays.len(), Column::default);
        }
        if arrays.len() != self.columns.len() || arrays.iter().any(|array| array.len() != rows) {
            return Err(Error::invalid_argument("rows of another shape than those before"));
        }
        for (column, array) in self.columns.iter_mut().zip(arrays) {
            column.stats.add(&array);
            let size = array.get_array_memory_size() as u64;
            let over = self.resident.saturating_add(size) > self.budget;
            let piece = match &mut self.scratch {
                Some(scratch) if over && rows > 0 => match flatten(&array) {
                    Some((shape, bytes)) => Piece::Spilled { at: scratch.append(&bytes)?, shape },
                    None => Piece::Resident(array),
                },
                _ => Piece::Resident(array),
            };
            if matches!(piece, Piece::Resident(_)) {
                self.resident = self.resident.saturating_add(size);
            }
            column.pieces.push(piece);
        }
        self.piece_rows.push(rows);
        Ok(())
    }

    /// Adds a column that is null in all rows so far, at no cost for each row.
    pub fn add_column(&mut self) {
        let mut column = Column::default();
        for &rows in &self.piece_rows {
            let nulls: ArrayRef = Arc::new(NullArray::new(rows));
            column.stats.add(&nulls);
            column.pieces.push(Piece::Resident(nulls));
        }
        self.columns.push(column);
    }

    /// The number of rows so far.
    pub fn rows(&self) -> u64 {
        self.piece_rows.iter().map(|&rows| rows as u64).sum()
    }

    /// The number of columns; 0 until the first rows come.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The number of pieces that every column is in.
    pub fn pieces(&self) -> usize {
        self.piece_rows.len()
    }

    /// The rows of one piece.
    pub fn piece_rows(&self, piece: usize) -> usize {
        self.piece_rows.get(piece).copied().unwrap_or(0)
    }

    /// What one column holds.
    pub fn stats(&self, column: usize) -> ColumnStats {
        self.columns.get(column).map(|column| column.stats.clone()).unwrap_or_default()
    }

    /// Whether every piece of a column has this type.
    pub fn is_all(&self, column: usize, data_type: &DataType) -> bool {
        self.columns.get(column).is_some_and(|column| {
            column.pieces.iter().all(|piece| match piece {
                Piece::Resident(array) => array.data_type() == data_type,
                Piece::Spilled { shape, .. } => {
                    shape.run_ends == 0 && &shape.data_type == data_type
                }
            })
        })
    }

    /// All pieces of one column, in row order.
    pub fn column(&self, column: usize) -> Result<Vec<ArrayRef>> {
        (0..self.pieces()).map(|piece| self.piece(column, piece)).collect()
    }

    /// One piece of one column.
    pub fn piece(&self, column: usize, piece: usize) -> Result<ArrayRef> {
        let slot = self.columns.get(column).and_then(|column| column.pieces.get(piece));
        match (slot, &self.scratch) {
            (Some(Piece::Resident(array)), _) => Ok(array.clone()),
            (Some(Piece::Spilled { at, shape }), Some(scratch)) => {
                let len = shape.parts.iter().sum::<usize>() + shape.run_ends;
                shape.array(&scratch.read(*at, len)?)
            }
            _ => Err(Error::invalid_argument(format!("nothing is staged in column {column}"))),
        }
    }
}

/// A stage whose pieces all have the type that a schema gives.
#[derive(Debug)]
pub struct SpilledTable {
    schema: SchemaRef,
    stage: SpillBuffer,
}

impl SpilledTable {
    /// Everything that was staged, under these names and types.
    pub fn new(schema: SchemaRef, stage: SpillBuffer) -> Self {
        Self { schema, stage }
    }
}

impl Table for SpilledTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.stage.rows()
    }

    fn column(&self, index: usize) -> Result<Vec<ArrayRef>> {
        self.stage.column(index)
    }

    fn stats(&self, index: usize) -> Result<ColumnStats> {
        Ok(self.stage.stats(index))
    }
}

/// The bytes of an array, for the types that are worth moving.
fn flatten(array: &ArrayRef) -> Option<(Shape, Vec<u8>)> {
    if let Some(runs) = array.as_any().downcast_ref::<RunArray<Int32Type>>() {
        let ends = runs.run_ends();
        let whole = ends.offset() == 0 && ends.len() == ends.max_value();
        let (shape, mut bytes) = flatten(runs.values()).filter(|_| whole)?;
        let ends = ends.inner().inner().as_slice();
        bytes.extend_from_slice(ends);
        return Some((Shape { run_ends: ends.len(), ..shape }, bytes));
    }
    let (offsets, values) = match array.data_type() {
        DataType::Int32 => (Vec::new(), values_of::<Int32Type>(array)),
        DataType::Int64 => (Vec::new(), values_of::<Int64Type>(array)),
        DataType::Float64 => (Vec::new(), values_of::<Float64Type>(array)),
        DataType::Boolean => (Vec::new(), bits(array.as_boolean().values())),
        DataType::Utf8 => texts_of::<i32>(array)?,
        DataType::LargeUtf8 => texts_of::<i64>(array)?,
        _ => return None,
    };
    let mut bytes = array.nulls().map(|nulls| bits(nulls.inner())).unwrap_or_default();
    let parts = [bytes.len(), offsets.len(), values.len()];
    bytes.extend_from_slice(&offsets);
    bytes.extend_from_slice(&values);
    let (data_type, rows) = (array.data_type().clone(), array.len());
    let shape = Shape { data_type, rows, parts, run_ends: 0 };
    Some((shape, bytes))
}

fn bits(bits: &BooleanBuffer) -> Vec<u8> {
    bits.sliced().as_slice().to_vec()
}

fn values_of<T: ArrowPrimitiveType>(array: &ArrayRef) -> Vec<u8> {
    array.as_primitive::<T>().values().inner().as_slice().to_vec()
}

fn texts_of<O: OffsetSizeTrait>(array: &ArrayRef) -> Option<(Vec<u8>, Vec<u8>)> {
    let array = array.as_string::<O>();
    let (&first, &last) = (array.value_offsets().first()?, array.value_offsets().last()?);
    let offsets: Vec<O> = array.value_offsets().iter().map(|&offset| offset - first).collect();
    let values = array.value_data().get(first.as_usize()..last.as_usize())?.to_vec();
    Some((Buffer::from_vec(offsets).as_slice().to_vec(), values))
}

impl Shape {
    fn array(&self, bytes: &[u8]) -> Result<ArrayRef> {
        let [nulls, offsets, values] = self.parts;
        let mut rest = bytes;
        let mut part = |len: usize| {
            let (head, tail) = rest.split_at_checked(len).unwrap_or((&[], &[]));
            rest = tail;
            aligned(head)
        };
        let (nulls, offsets, values) = (part(nulls), part(offsets), part(values));
        let ends = part(self.run_ends);
        let bits = |buffer| BooleanBuffer::new(buffer, 0, self.rows);
        let nulls = (!nulls.is_empty()).then(|| NullBuffer::new(bits(nulls)));
        let array: ArrayRef = match self.data_type {
            DataType::Int32 => self.numbers::<Int32Type>(values, nulls)?,
            DataType::Int64 => self.numbers::<Int64Type>(values, nulls)?,
            DataType::Float64 => self.numbers::<Float64Type>(values, nulls)?,
            DataType::Boolean => Arc::new(BooleanArray::new(bits(values), nulls)),
            DataType::Utf8 => self.texts::<i32>(offsets, values, nulls)?,
            DataType::LargeUtf8 => self.texts::<i64>(offsets, values, nulls)?,
            _ => return Err(Error::invalid_argument("a type that is never moved")),
        };
        if self.run_ends == 0 {
            return Ok(array);
        }
        let ends =
            PrimitiveArray::<Int32Type>::try_new(ScalarBuffer::new(ends, 0, self.rows), None)?;
        Ok(Arc::new(RunArray::try_new(&ends, &array)?))
    }

    fn numbers<T: ArrowPrimitiveType>(
        &self,
        values: Buffer,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let values = ScalarBuffer::<T::Native>::new(values, 0, self.rows);
        Ok(Arc::new(PrimitiveArray::<T>::try_new(values, nulls)?))
    }

    fn texts<O: OffsetSizeTrait>(
        &self,
        offsets: Buffer,
        values: Buffer,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let count = offsets.len() / mem::size_of::<O>();
        let offsets = OffsetBuffer::new(ScalarBuffer::<O>::new(offsets, 0, count));
        Ok(Arc::new(GenericStringArray::<O>::try_new(offsets, values, nulls)?))
    }
}

/// A copy with the alignment that Arrow's typed views need.
fn aligned(bytes: &[u8]) -> Buffer {
    let mut buffer = MutableBuffer::new(bytes.len());
    buffer.extend_from_slice(bytes);
    buffer.into()
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, Int32Array, Int64Array, LargeStringArray, StringArray};

    use super::*;

    fn arrays() -> Vec<ArrayRef> {
        vec![
            Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)])),
            Arc::new(Int64Array::from(vec![i64::MIN, 0, 1, i64::MAX])),
            Arc::new(Float64Array::from(vec![Some(0.5), None, Some(-0.0), Some(f64::NAN)])),
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true)])),
            Arc::new(StringArray::from(vec![Some("a"), Some(""), None, Some("déjà")])),
            Arc::new(LargeStringArray::from(vec!["", "x", "yz", ""])),
        ]
    }

    #[test]
    fn what_is_moved_out_of_memory_comes_back_the_same() {
        let file = FileScratch::try_new(tempfile::tempfile().unwrap()).unwrap();
        let mut stage = SpillBuffer::with_scratch(0, Box::new(file));
        let mut twin = SpillBuffer::in_memory();
        for start in 0..3 {
            let slices: Vec<ArrayRef> =
                arrays().iter().map(|a| a.slice(start, 4 - start)).collect();
            stage.push(4 - start, slices.clone()).unwrap();
            twin.push(4 - start, slices).unwrap();
        }
        assert_eq!((stage.rows(), stage.pieces(), stage.width()), (9, 3, 6));
        assert_eq!(stage.resident, 0);
        for column in 0..6 {
            let (away, here) = (stage.column(column).unwrap(), twin.column(column).unwrap());
            for (away, here) in away.iter().zip(&here) {
                assert_eq!(format!("{away:?}"), format!("{here:?}"));
            }
            assert_eq!(stage.stats(column), twin.stats(column));
        }
    }

    #[test]
    fn runs_are_moved_as_runs() {
        let file = FileScratch::try_new(tempfile::tempfile().unwrap()).unwrap();
        let mut stage = SpillBuffer::with_scratch(0, Box::new(file));
        let ends = Int32Array::from(vec![3, 4, 9]);
        let arrays: Vec<ArrayRef> = [
            Arc::new(StringArray::from(vec![None, Some("x"), None])) as ArrayRef,
            Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])),
        ]
        .iter()
        .map(|values| Arc::new(RunArray::try_new(&ends, values).unwrap()) as ArrayRef)
        .collect();
        // A part of the runs is not worth the trouble, and stays.
        let part: Vec<ArrayRef> = arrays.iter().map(|array| array.slice(3, 5)).collect();
        stage.push(9, arrays.clone()).unwrap();
        assert_eq!(stage.resident, 0);
        stage.push(5, part.clone()).unwrap();
        for (index, (whole, part)) in arrays.iter().zip(&part).enumerate() {
            assert_eq!(stage.piece(index, 0).unwrap().as_ref(), whole.as_ref());
            assert_eq!(stage.piece(index, 1).unwrap().as_ref(), part.as_ref());
            assert!(!stage.is_all(index, &DataType::Utf8));
            assert!(!stage.is_all(index, &DataType::Int64));
        }
    }

    #[test]
    fn rows_of_another_shape_are_refused() {
        let mut stage = SpillBuffer::in_memory();
        stage.push(4, arrays()).unwrap();
        assert!(stage.push(4, arrays()[1..].to_vec()).is_err());
        assert!(stage.push(3, arrays()).is_err());
    }
}
