//! Buffers rows until their columns can be written, and spills them to disk.
//!
//! A column file stores each column in one block, but rows arrive in batches. So
//! [`SpillBuffer`] collects rows in chunks of a few megabytes and moves chunks beyond its memory budget to a [`Scratch`] that the caller
//! provides: memory is bounded by the budget and the largest column, not by the table.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::{fmt, mem};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, GenericBinaryArray, GenericStringArray, OffsetSizeTrait,
    PrimitiveArray, RunArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, SchemaRef};

use crate::column_source::{ColumnSource, ColumnStats};
use crate::error::{Error, Result};
use crate::source::{ByteSource, FileSource};

/// Storage outside memory for bytes that are read back later.
pub trait Scratch: fmt::Debug + Send + Sync {
    /// Appends bytes and returns their offset.
    fn append(&mut self, bytes: &[u8]) -> io::Result<u64>;

    /// Reads `len` bytes at `offset`; several threads may read at once.
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
    /// Wraps an empty file, preferably an anonymous temporary file.
    pub fn try_new(file: File) -> io::Result<Self> {
        Ok(Self { read: FileSource::try_new(file.try_clone()?)?, write: file, end: 0 })
    }
}

impl Scratch for FileScratch {
    fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let start = self.end;
        self.write.write_all(bytes).map_err(|err| {
            io::Error::new(err.kind(), format!("cannot write a temporary file: {err}"))
        })?;
        self.end += bytes.len() as u64;
        Ok(start)
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<bytes::Bytes> {
        self.read.read(offset, len)
    }
}

/// Chunks of columns, in memory or in a [`Scratch`].
#[derive(Debug)]
pub struct SpillBuffer {
    budget: u64,
    resident: u64,
    scratch: Option<Box<dyn Scratch>>,
    columns: Vec<ColumnChunks>,
    chunk_rows: Vec<usize>,
}

#[derive(Debug, Default)]
struct ColumnChunks {
    chunks: Vec<Chunk>,
    stats: ColumnStats,
}

#[derive(Debug)]
enum Chunk {
    Resident(ArrayRef),
    Spilled { at: u64, layout: ArrayLayout },
}

/// How to rebuild an array from its bytes in a scratch.
#[derive(Debug)]
struct ArrayLayout {
    data_type: DataType,
    rows: usize,
    /// Lengths in bytes of the validity bits, the offsets and the values, in that order.
    parts: [usize; 3],
    /// Length in bytes of the run ends that follow, for a run-end encoded array; else 0.
    run_ends: usize,
}

impl SpillBuffer {
    /// Returns a buffer that keeps everything in memory.
    pub fn in_memory() -> Self {
        Self {
            budget: u64::MAX,
            resident: 0,
            scratch: None,
            columns: Vec::new(),
            chunk_rows: Vec::new(),
        }
    }

    /// Returns a buffer that keeps about `budget` bytes in memory and the rest in `scratch`.
    pub fn with_scratch(budget: u64, scratch: Box<dyn Scratch>) -> Self {
        Self { budget, scratch: Some(scratch), ..Self::in_memory() }
    }

    /// Appends a chunk of `rows` rows: one array of that length for each column.
    ///
    /// # Errors
    ///
    /// Fails if an array has another length, if the number of columns differs from the
    /// first chunk, and if the scratch cannot be written.
    pub fn push(&mut self, rows: usize, arrays: Vec<ArrayRef>) -> Result<()> {
        if self.chunk_rows.is_empty() {
            self.columns.resize_with(arrays.len(), ColumnChunks::default);
        }
        if arrays.len() != self.columns.len() || arrays.iter().any(|array| array.len() != rows) {
            return Err(Error::invalid_argument(
                "a chunk must have one array of equal length for each column",
            ));
        }
        for (column, array) in self.columns.iter_mut().zip(arrays) {
            column.stats.add(&array);
            let size = array.get_array_memory_size() as u64;
            let over = self.resident.saturating_add(size) > self.budget;
            let chunk = match &mut self.scratch {
                Some(scratch) if over && rows > 0 => match flatten(&array) {
                    Some((layout, bytes)) => Chunk::Spilled { at: scratch.append(&bytes)?, layout },
                    None => Chunk::Resident(array),
                },
                _ => Chunk::Resident(array),
            };
            if matches!(chunk, Chunk::Resident(_)) {
                self.resident = self.resident.saturating_add(size);
            }
            column.chunks.push(chunk);
        }
        self.chunk_rows.push(rows);
        Ok(())
    }

    /// Returns the number of rows so far.
    pub fn rows(&self) -> u64 {
        self.chunk_rows.iter().map(|&rows| rows as u64).sum()
    }

    /// Returns the number of chunks of every column.
    pub fn chunks(&self) -> usize {
        self.chunk_rows.len()
    }

    /// Returns the number of rows of one chunk.
    pub fn chunk_rows(&self, chunk: usize) -> usize {
        self.chunk_rows.get(chunk).copied().unwrap_or(0)
    }

    /// Returns the statistics of one column.
    pub fn stats(&self, column: usize) -> ColumnStats {
        self.columns.get(column).map(|column| column.stats.clone()).unwrap_or_default()
    }

    /// Returns all chunks of one column, in row order.
    pub fn column(&self, column: usize) -> Result<Vec<ArrayRef>> {
        (0..self.chunks()).map(|chunk| self.chunk(column, chunk)).collect()
    }

    /// Returns one chunk of one column.
    pub fn chunk(&self, column: usize, chunk: usize) -> Result<ArrayRef> {
        let slot = self.columns.get(column).and_then(|column| column.chunks.get(chunk));
        match (slot, &self.scratch) {
            (Some(Chunk::Resident(array)), _) => Ok(array.clone()),
            (Some(Chunk::Spilled { at, layout }), Some(scratch)) => {
                let len = layout.parts.iter().sum::<usize>() + layout.run_ends;
                layout.array(&scratch.read(*at, len)?)
            }
            _ => {
                let why = format!("chunk {chunk} of column {column} is out of range");
                Err(Error::invalid_argument(why))
            }
        }
    }
}

/// A [`SpillBuffer`] as a [`ColumnSource`]; all chunks have the types of the schema.
#[derive(Debug)]
pub struct SpilledTable {
    schema: SchemaRef,
    buffer: SpillBuffer,
}

impl SpilledTable {
    /// Wraps a buffer whose chunks have the types of `schema`.
    pub fn new(schema: SchemaRef, buffer: SpillBuffer) -> Self {
        Self { schema, buffer }
    }
}

impl ColumnSource for SpilledTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.buffer.rows()
    }

    fn column(&self, index: usize) -> Result<Vec<ArrayRef>> {
        self.buffer.column(index)
    }

    fn stats(&self, index: usize) -> Result<ColumnStats> {
        Ok(self.buffer.stats(index))
    }
}

/// Returns the bytes of an array, or `None` for types that always stay in memory.
fn flatten(array: &ArrayRef) -> Option<(ArrayLayout, Vec<u8>)> {
    if let Some(runs) = array.as_any().downcast_ref::<RunArray<Int32Type>>() {
        let ends = runs.run_ends();
        let whole = ends.offset() == 0 && ends.len() == ends.max_value();
        let (layout, mut bytes) = flatten(runs.values()).filter(|_| whole)?;
        let ends = ends.inner().inner().as_slice();
        bytes.extend_from_slice(ends);
        return Some((ArrayLayout { run_ends: ends.len(), ..layout }, bytes));
    }
    let (offsets, values) = match array.data_type() {
        DataType::Int32 => (Vec::new(), values_of::<Int32Type>(array)),
        DataType::Int64 => (Vec::new(), values_of::<Int64Type>(array)),
        DataType::UInt32 => (Vec::new(), values_of::<UInt32Type>(array)),
        DataType::UInt64 => (Vec::new(), values_of::<UInt64Type>(array)),
        DataType::Float64 => (Vec::new(), values_of::<Float64Type>(array)),
        DataType::Boolean => (Vec::new(), bits(array.as_boolean().values())),
        DataType::Utf8 => texts_of::<i32>(array)?,
        DataType::LargeUtf8 => texts_of::<i64>(array)?,
        DataType::Binary => bytes_of::<i32>(array)?,
        DataType::LargeBinary => bytes_of::<i64>(array)?,
        _ => return None,
    };
    let mut bytes = array.nulls().map(|nulls| bits(nulls.inner())).unwrap_or_default();
    let parts = [bytes.len(), offsets.len(), values.len()];
    bytes.extend_from_slice(&offsets);
    bytes.extend_from_slice(&values);
    let (data_type, rows) = (array.data_type().clone(), array.len());
    let layout = ArrayLayout { data_type, rows, parts, run_ends: 0 };
    Some((layout, bytes))
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

fn bytes_of<O: OffsetSizeTrait>(array: &ArrayRef) -> Option<(Vec<u8>, Vec<u8>)> {
    let array = array.as_binary::<O>();
    let (&first, &last) = (array.value_offsets().first()?, array.value_offsets().last()?);
    let offsets: Vec<O> = array.value_offsets().iter().map(|&offset| offset - first).collect();
    let values = array.value_data().get(first.as_usize()..last.as_usize())?.to_vec();
    Some((Buffer::from_vec(offsets).as_slice().to_vec(), values))
}

impl ArrayLayout {
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
            DataType::UInt32 => self.numbers::<UInt32Type>(values, nulls)?,
            DataType::UInt64 => self.numbers::<UInt64Type>(values, nulls)?,
            DataType::Float64 => self.numbers::<Float64Type>(values, nulls)?,
            DataType::Boolean => Arc::new(BooleanArray::new(bits(values), nulls)),
            DataType::Utf8 => self.texts::<i32>(offsets, values, nulls)?,
            DataType::LargeUtf8 => self.texts::<i64>(offsets, values, nulls)?,
            DataType::Binary => self.bytes::<i32>(offsets, values, nulls)?,
            DataType::LargeBinary => self.bytes::<i64>(offsets, values, nulls)?,
            _ => return Err(Error::invalid_argument("an array of this type is never spilled")),
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

    fn bytes<O: OffsetSizeTrait>(
        &self,
        offsets: Buffer,
        values: Buffer,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let count = offsets.len() / mem::size_of::<O>();
        let offsets = OffsetBuffer::new(ScalarBuffer::<O>::new(offsets, 0, count));
        Ok(Arc::new(GenericBinaryArray::<O>::try_new(offsets, values, nulls)?))
    }
}

/// Copies bytes to a buffer with the alignment that Arrow arrays need.
fn aligned(bytes: &[u8]) -> Buffer {
    let mut buffer = MutableBuffer::new(bytes.len());
    buffer.extend_from_slice(bytes);
    buffer.into()
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        BinaryArray, Float64Array, Int32Array, Int64Array, LargeBinaryArray, LargeStringArray,
        StringArray, UInt32Array, UInt64Array,
    };

    use super::*;

    fn arrays() -> Vec<ArrayRef> {
        vec![
            Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)])),
            Arc::new(Int64Array::from(vec![i64::MIN, 0, 1, i64::MAX])),
            Arc::new(Float64Array::from(vec![Some(0.5), None, Some(-0.0), Some(f64::NAN)])),
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true)])),
            Arc::new(StringArray::from(vec![Some("a"), Some(""), None, Some("déjà")])),
            Arc::new(LargeStringArray::from(vec!["", "x", "yz", ""])),
            Arc::new(UInt32Array::from(vec![Some(u32::MAX), None, Some(1), Some(2)])),
            Arc::new(UInt64Array::from(vec![u64::MAX, 0, 1, 2])),
            Arc::new(BinaryArray::from_opt_vec(vec![
                Some(&b"\xFF"[..]),
                None,
                Some(b""),
                Some(b"a"),
            ])),
            Arc::new(LargeBinaryArray::from_vec(vec![b"", b"\xFE", b"yz", b""])),
        ]
    }

    #[test]
    fn spilled_chunks_are_read_back_unchanged() {
        let file = FileScratch::try_new(tempfile::tempfile().unwrap()).unwrap();
        let mut buffer = SpillBuffer::with_scratch(0, Box::new(file));
        let mut twin = SpillBuffer::in_memory();
        for start in 0..3 {
            let slices: Vec<ArrayRef> =
                arrays().iter().map(|a| a.slice(start, 4 - start)).collect();
            buffer.push(4 - start, slices.clone()).unwrap();
            twin.push(4 - start, slices).unwrap();
        }
        assert_eq!((buffer.rows(), buffer.chunks(), buffer.columns.len()), (9, 3, 10));
        assert_eq!(buffer.resident, 0);
        for column in 0..10 {
            let (spilled, resident) =
                (buffer.column(column).unwrap(), twin.column(column).unwrap());
            for (spilled, resident) in spilled.iter().zip(&resident) {
                assert_eq!(format!("{spilled:?}"), format!("{resident:?}"));
            }
            assert_eq!(buffer.stats(column), twin.stats(column));
        }
    }

    #[test]
    fn runs_are_spilled_as_runs() {
        let file = FileScratch::try_new(tempfile::tempfile().unwrap()).unwrap();
        let mut buffer = SpillBuffer::with_scratch(0, Box::new(file));
        let ends = Int32Array::from(vec![3, 4, 9]);
        let arrays: Vec<ArrayRef> = [
            Arc::new(StringArray::from(vec![None, Some("x"), None])) as ArrayRef,
            Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])),
        ]
        .iter()
        .map(|values| Arc::new(RunArray::try_new(&ends, values).unwrap()) as ArrayRef)
        .collect();
        // A slice of a run array is not spilled.
        let part: Vec<ArrayRef> = arrays.iter().map(|array| array.slice(3, 5)).collect();
        buffer.push(9, arrays.clone()).unwrap();
        assert_eq!(buffer.resident, 0);
        buffer.push(5, part.clone()).unwrap();
        for (index, (whole, part)) in arrays.iter().zip(&part).enumerate() {
            assert_eq!(buffer.chunk(index, 0).unwrap().as_ref(), whole.as_ref());
            assert_eq!(buffer.chunk(index, 1).unwrap().as_ref(), part.as_ref());
        }
    }

    #[test]
    fn chunks_of_another_width_or_length_are_refused() {
        let mut buffer = SpillBuffer::in_memory();
        buffer.push(4, arrays()).unwrap();
        assert!(buffer.push(4, arrays()[1..].to_vec()).is_err());
        assert!(buffer.push(3, arrays()).is_err());
    }
}
