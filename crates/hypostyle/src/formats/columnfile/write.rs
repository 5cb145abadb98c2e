//! Writing: blocks made in parallel, in schema order, and the header last.

use super::{Dialect, Placed, Planned};
use hypostyle_core::buffer_pool::BufferPool;
use hypostyle_core::compress::zlib;
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::options::{WriteOptions, resolve_threads};
use hypostyle_core::parallel;
use hypostyle_core::sink::Sink;
use hypostyle_core::table::Table;
use hypostyle_core::types::ColumnType;

/// Writes a whole table in one dialect.
pub(in crate::formats) fn write<D: Dialect>(
    table: &dyn Table,
    sink: &mut dyn Sink,
    options: &WriteOptions,
) -> Result<()> {
    write_blocks::<D>(table, sink, options).map_err(|err| err.in_format(D::ID))
}

fn write_blocks<D: Dialect>(
    table: &dyn Table,
    sink: &mut dyn Sink,
    options: &WriteOptions,
) -> Result<()> {
    if options.level > WriteOptions::MAX_LEVEL {
        let (level, most) = (options.level, WriteOptions::MAX_LEVEL);
        return Err(Error::invalid_argument(format!("level {level} is over {most}")));
    }
    let columns = plan(table, options)?;
    if columns.is_empty() {
        return Err(Error::refused(
            Refusal::Empty,
            "the table has no columns",
            "give it at least one",
        ));
    }
    let rows = table.rows();
    D::check(&columns, rows, options)?;
    let header_len = D::header_len(&columns, rows)?;

    let reserve = usize::try_from(header_len).map_err(|_| {
        Error::refused(
            Refusal::NamesTooLong,
            "the header is too long",
            "use fewer or shorter names",
        )
    })?;
    sink.write_all(&vec![0; reserve])?;
    let mut blocks = Vec::with_capacity(columns.len());
    let mut offset = header_len;
    let spares = BlockSpares::default();
    let make = |index: usize| match columns.get(index) {
        Some(column) => block::<D>(table, index, column, &spares)
            .map_err(|err| err.in_column(index, &column.name)),
        None => Err(Error::invalid_argument("no such column")),
    };
    parallel::in_order(columns.len(), resolve_threads(options.threads), make, |_, made| {
        let Block { buffer, stored, raw } = made;
        sink.write_all(buffer.get(..stored).unwrap_or_default())?;
        spares.stored.give(buffer);
        let stored = stored as u64;
        blocks.push(Placed { offset, stored, raw });
        offset = offset.saturating_add(stored);
        Ok(())
    })?;
    let header = D::header(&columns, &blocks, rows)?;
    sink.patch(0, &header)?;
    sink.flush()?;
    Ok(())
}

/// What is known of each column before anything is written.
fn plan(table: &dyn Table, options: &WriteOptions) -> Result<Vec<Planned>> {
    let schema = table.schema();
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (index, field) in schema.fields().iter().enumerate() {
        let kind = ColumnType::of(field.data_type()).ok_or_else(|| {
            Error::refused(
                Refusal::TypeNotSupported,
                format!("columns of type {} do not exist here", field.data_type()),
                "cast it to int32, int64, float64 or text first",
            )
            .in_column(index, field.name())
        })?;
        let stats = table.stats(index).map_err(|err| err.in_column(index, field.name()))?;
        if stats.rows != table.rows() {
            let why = format!("has {} rows where the table has {}", stats.rows, table.rows());
            return Err(Error::invalid_argument(why).in_column(index, field.name()));
        }
        columns.push(Planned { name: field.name().clone(), kind, stats, options: options.clone() });
    }
    Ok(columns)
}

/// A block that was made: the front of a buffer.
struct Block {
    buffer: Vec<u8>,
    stored: usize,
    raw: u64,
}

#[derive(Default)]
struct BlockSpares {
    raw: BufferPool<Vec<u8>>,
    stored: BufferPool<Vec<u8>>,
}

fn block<D: Dialect>(
    table: &dyn Table,
    index: usize,
    column: &Planned,
    spares: &BlockSpares,
) -> Result<Block> {
    if column.stats.rows == 0 && D::ABSENT_WHEN_EMPTY {
        return Ok(Block { buffer: Vec::new(), stored: 0, raw: 0 });
    }
    let (mut raw, mut buffer) = (spares.raw.take(), spares.stored.take());
    raw.clear();
    D::encode(column, &table.column(index)?, &mut raw)?;
    let stored = zlib::compress_into(&raw, column.options.level, &mut buffer)?;
    let block = Block { buffer, stored, raw: raw.len() as u64 };
    spares.raw.give(raw);
    Ok(block)
}
