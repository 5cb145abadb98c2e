//! Candidates that restore the rows of the table in a file.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;
use hypostyle::cast::cast;
use hypostyle::coerce::{CoerceOptions, CoercedTable};
use hypostyle::formats::{Format, FormatId};
use hypostyle::{ColumnSource, FileKind, OpenOptions, Table, WriteOptions, Writer, WriterOptions};

use super::BenchInput;
use super::round::{Round, RoundError, RoundResult, timed};
use crate::failure::{CHECK, Failure, Result};

/// Writes a column file as `hyp convert` does, and decodes it.
pub(super) fn columns(input: &BenchInput<'_>, format: &'static dyn Format) -> RoundResult {
    let start = Instant::now();
    let kind = input.open().kind(input.read.from).map_err(RoundError::refused)?;
    let table = open(input, format.id()).and_then(|table| collected(&table));
    let is_typed = !kind.is_text() && kind.id() != FormatId::At1;
    columns_of(&table.map_err(RoundError::refused)?, is_typed, format, input, start)
}

fn columns_of(
    table: &dyn ColumnSource,
    typed: bool,
    format: &'static dyn Format,
    input: &BenchInput<'_>,
    start: Instant,
) -> RoundResult {
    let refused = |err: hypostyle::Error| RoundError::refused(err.into());
    let coerce = CoerceOptions {
        // A text table already has the types that the user set.
        types: if typed { input.read.csv.column_types() } else { Vec::new() },
        null_word: None,
    };
    let coerced = CoercedTable::try_new(table, format.capabilities(), &coerce).map_err(refused)?;
    let mut file = Vec::new();
    let options = WriteOptions::default().with_threads(input.read.threads());
    format.encode(&coerced, &mut file, &options).map_err(refused)?;
    let make = start.elapsed();
    let size = file.len() as u64;
    let (back, took) = timed(|| {
        let reader = format.open(Arc::new(Bytes::from(file)), &input.read.options())?;
        let schema = reader.schema();
        let wanted: Vec<usize> = (0..schema.fields().len()).collect();
        let chunks = (0..reader.row_groups()).map(|chunk| reader.read(chunk, &wanted));
        Ok(DecodedTable { schema, batches: chunks.collect::<hypostyle::Result<_>>()? })
    })?;
    compare(&coerced, &back)?;
    Ok(Round { size, codec: None, make, back: took })
}

/// Writes a Parquet file as `hyp convert` does, and decodes it.
pub(super) fn parquet(input: &BenchInput<'_>) -> RoundResult {
    let made = timed(|| {
        let table = collected(&open(input, FormatId::Parquet)?)?;
        let (mut file, options) = (Vec::new(), WriterOptions::default());
        let schema = table.schema.clone();
        let mut writer = Writer::create(&mut file, FormatId::Parquet, schema, &options)?;
        table.batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.finish()?;
        Ok((table, file))
    });
    let ((table, file), make) = made.map_err(RoundError::refused)?;
    let size = file.len() as u64;
    let source = Arc::new(Bytes::from(file));
    let (back, took) =
        timed(|| collected(&hypostyle::open_source(source.clone(), &OpenOptions::default())?))?;
    compare(&table, &back)?;
    Ok(Round { size, codec: None, make, back: took })
}

fn open(input: &BenchInput<'_>, target: FormatId) -> Result<Table> {
    input.open().into_table(input.read, Some(FileKind::of(target)?))
}

/// Collects all rows.
fn collected(table: &Table) -> Result<DecodedTable> {
    let mut scan = table.scan().batch_size(BATCH_ROWS).batches()?;
    let schema = scan.schema();
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch()? {
        batches.push(batch);
    }
    Ok(DecodedTable { schema, batches })
}

/// Rows of a batch.
const BATCH_ROWS: usize = 64 << 10;

/// A table in memory.
struct DecodedTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl ColumnSource for DecodedTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    fn column(&self, index: usize) -> hypostyle::Result<Vec<ArrayRef>> {
        let parts = self.batches.iter().map(|batch| ColumnSource::column(batch, index));
        Ok(parts.collect::<hypostyle::Result<Vec<_>>>()?.concat())
    }
}

/// Fails unless every restored value equals the original.
fn compare(table: &dyn ColumnSource, back: &dyn ColumnSource) -> Result<()> {
    let differs = |what: String| {
        let why = format!("the restored table differs from the original in {what}");
        Err(Failure::new(CHECK, why))
    };
    let (given, got) = (table.schema(), back.schema());
    if given.fields().len() != got.fields().len() || table.rows() != back.rows() {
        return differs("its shape".to_owned());
    }
    for (index, (given, got)) in given.fields().iter().zip(got.fields()).enumerate() {
        // Equal values may be split and typed differently, so compare them as text.
        let (here, there) = (texts(table, index)?, texts(back, index)?);
        if given.name() != got.name() || !cells(&here).eq(cells(&there)) {
            return differs(format!("column `{}`", given.name()));
        }
    }
    Ok(())
}

fn texts(table: &dyn ColumnSource, column: usize) -> hypostyle::Result<Vec<ArrayRef>> {
    table.column(column)?.iter().map(|piece| cast(piece, &DataType::Utf8)).collect()
}

fn cells(pieces: &[ArrayRef]) -> impl Iterator<Item = Option<&str>> {
    pieces.iter().flat_map(|piece| piece.as_string::<i32>().iter())
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, StringArray};

    use super::*;

    fn one(name: &str, pieces: Vec<ArrayRef>) -> DecodedTable {
        let batches: Vec<RecordBatch> = pieces
            .into_iter()
            .map(|piece| RecordBatch::try_from_iter_with_nullable([(name, piece, true)]).unwrap())
            .collect();
        DecodedTable { schema: batches[0].schema(), batches }
    }

    fn numbers(values: &[Option<i32>]) -> ArrayRef {
        Arc::new(Int32Array::from(values.to_vec()))
    }

    #[test]
    fn values_are_compared_and_pieces_are_not() {
        let table = one("n", vec![numbers(&[Some(1), None]), numbers(&[Some(3)])]);
        let same = one("n", vec![numbers(&[Some(1), None, Some(3)])]);
        compare(&table, &same).unwrap();
        let text: ArrayRef = Arc::new(StringArray::from(vec![Some("1"), None, Some("3")]));
        compare(&table, &one("n", vec![text])).unwrap();
        let fails = |other: DecodedTable, word: &str| {
            let failure = compare(&table, &other).unwrap_err();
            assert!(failure.code() == CHECK && failure.message().contains(word), "{failure:?}");
        };
        fails(one("n", vec![numbers(&[Some(1), None])]), "shape");
        fails(one("n", vec![numbers(&[Some(1), Some(0), Some(3)])]), "column `n`");
        fails(one("n", vec![numbers(&[Some(1), None, Some(4)])]), "column `n`");
        fails(one("m", vec![numbers(&[Some(1), None, Some(3)])]), "column `n`");
    }
}
