//! Contenders that give back the rows of the table in a file.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;
use hypostyle::cast::cast;
use hypostyle::coerce::{CoerceOptions, CoercedTable};
use hypostyle::formats::{Capabilities, Format};
use hypostyle::{Table, WriteOptions};

use super::Subject;
use super::measure::{Halt, Outcome, Round, timed};
use crate::commands::convert::{MEMORY, with_table};
use crate::failure::{CHECK, Failure, Result};
use crate::tables::{Flow, ParquetWriter, Source, parquet};

/// Makes a column file as `hyp convert` does, and decodes all of it.
pub(super) fn columns(subject: &Subject<'_>, format: &'static dyn Format) -> Outcome {
    let start = Instant::now();
    let source = open(subject, format.capabilities()).map_err(Halt::refused)?;
    let round = with_table(source, MEMORY, |table, typed| {
        Ok(columns_of(table, typed, format, subject, start))
    });
    round.map_err(Halt::refused)?
}

fn columns_of(
    table: &dyn Table,
    typed: bool,
    format: &'static dyn Format,
    subject: &Subject<'_>,
    start: Instant,
) -> Outcome {
    let refused = |err: hypostyle::Error| Halt::refused(err.into());
    let fit = CoerceOptions {
        // Text was given its types when it was read.
        types: if typed { subject.read.csv.types.clone() } else { Vec::new() },
        null_word: None,
    };
    let fitted = CoercedTable::try_new(table, format.capabilities(), &fit).map_err(refused)?;
    let mut file = Vec::new();
    let options = WriteOptions::default().with_threads(subject.read.threads);
    format.encode(&fitted, &mut file, &options).map_err(refused)?;
    let make = start.elapsed();
    let size = file.len() as u64;
    let (back, took) = timed(|| {
        let reader = format.open(Arc::new(Bytes::from(file)), &subject.read.options())?;
        let schema = reader.schema();
        let wanted: Vec<usize> = (0..schema.fields().len()).collect();
        let chunks = (0..reader.chunks()).map(|chunk| reader.read(chunk, &wanted));
        Ok(Decoded { schema, batches: chunks.collect::<hypostyle::Result<_>>()? })
    })?;
    compare(&fitted, &back)?;
    Ok(Round { size, codec: None, make, back: took })
}

/// Makes a Parquet file as `hyp convert` does, and decodes all of it.
pub(super) fn parquet(subject: &Subject<'_>) -> Outcome {
    let made = timed(|| {
        let source = open(subject, Capabilities::EVERYTHING)?;
        let table = collected(source)?;
        let mut file = Vec::new();
        let mut writer = ParquetWriter::try_new(&mut file, table.schema.clone())?;
        table.batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.finish()?;
        Ok((table, file))
    });
    let ((table, file), make) = made.map_err(Halt::refused)?;
    let size = file.len() as u64;
    let (back, took) = timed(|| collected(Source::Batches(parquet::read(Bytes::from(file))?)))?;
    compare(&table, &back)?;
    Ok(Round { size, codec: None, make, back: took })
}

fn open(subject: &Subject<'_>, capabilities: Capabilities) -> Result<Source> {
    Source::open(subject.input(), None, subject.read, capabilities, MEMORY)
}

/// All rows, in memory.
fn collected(source: Source) -> Result<Decoded> {
    let schema = source.schema();
    let wanted: Vec<usize> = (0..schema.fields().len()).collect();
    let mut batches = Vec::new();
    source.for_each(&wanted, |batch| {
        batches.push(batch);
        Ok(Flow::More)
    })?;
    Ok(Decoded { schema, batches })
}

/// A table that is all in memory.
struct Decoded {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table for Decoded {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    fn column(&self, index: usize) -> hypostyle::Result<Vec<ArrayRef>> {
        let parts = self.batches.iter().map(|batch| Table::column(batch, index));
        Ok(parts.collect::<hypostyle::Result<Vec<_>>>()?.concat())
    }
}

/// Fails unless every value has come back.
fn compare(table: &dyn Table, back: &dyn Table) -> Result<()> {
    let differs = |what: String| {
        let why = format!("what comes back differs from the table in {what}");
        Err(Failure::new(CHECK, why))
    };
    let (given, got) = (table.schema(), back.schema());
    if given.fields().len() != got.fields().len() || table.rows() != back.rows() {
        return differs("its shape".to_owned());
    }
    for (index, (given, got)) in given.fields().iter().zip(got.fields()).enumerate() {
        // Pieces and types may differ where values do not; text holds all of them.
        let (here, there) = (texts(table, index)?, texts(back, index)?);
        if given.name() != got.name() || !cells(&here).eq(cells(&there)) {
            return differs(format!("column `{}`", given.name()));
        }
    }
    Ok(())
}

fn texts(table: &dyn Table, column: usize) -> hypostyle::Result<Vec<ArrayRef>> {
    table.column(column)?.iter().map(|piece| cast(piece, &DataType::Utf8)).collect()
}

fn cells(pieces: &[ArrayRef]) -> impl Iterator<Item = Option<&str>> {
    pieces.iter().flat_map(|piece| piece.as_string::<i32>().iter())
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, StringArray};

    use super::*;

    fn one(name: &str, pieces: Vec<ArrayRef>) -> Decoded {
        let batches: Vec<RecordBatch> = pieces
            .into_iter()
            .map(|piece| RecordBatch::try_from_iter_with_nullable([(name, piece, true)]).unwrap())
            .collect();
        Decoded { schema: batches[0].schema(), batches }
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
        let fails = |other: Decoded, word: &str| {
            let failure = compare(&table, &other).unwrap_err();
            assert!(failure.code() == CHECK && failure.message().contains(word), "{failure:?}");
        };
        fails(one("n", vec![numbers(&[Some(1), None])]), "shape");
        fails(one("n", vec![numbers(&[Some(1), Some(0), Some(3)])]), "column `n`");
        fails(one("n", vec![numbers(&[Some(1), None, Some(4)])]), "column `n`");
        fails(one("m", vec![numbers(&[Some(1), None, Some(3)])]), "column `n`");
    }
}
