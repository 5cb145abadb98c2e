//! Writing: blocks are compressed in parallel and written in schema order, the header last.

use arrow_schema::Field;

use super::block_format::{BlockFormat, ColumnToWrite};
use super::layout::BlockLocation;
use hypostyle_core::buffer_pool::BufferPool;
use hypostyle_core::column_source::ColumnSource;
use hypostyle_core::compress::zlib;
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::options::{WriteOptions, resolve_threads};
use hypostyle_core::parallel;
use hypostyle_core::sink::Sink;
use hypostyle_core::types::ColumnType;

/// Writes a whole table in the format `F`.
pub(crate) fn encode<F: BlockFormat>(
    table: &dyn ColumnSource,
    sink: &mut dyn Sink,
    options: &WriteOptions,
) -> Result<()> {
    // Without C libraries there is no encoder, and its code would only fill the module.
    if cfg!(target_family = "wasm") {
        return Err(Error::unsupported("writing on WebAssembly").in_format(F::ID));
    }
    write_file::<F>(table, sink, options).map_err(|err| err.in_format(F::ID))
}

fn write_file<F: BlockFormat>(
    table: &dyn ColumnSource,
    sink: &mut dyn Sink,
    options: &WriteOptions,
) -> Result<()> {
    if options.level > WriteOptions::MAX_LEVEL {
        let (level, max) = (options.level, WriteOptions::MAX_LEVEL);
        return Err(Error::invalid_argument(format!("level {level} is over {max}")));
    }
    let columns = columns_to_write(table, options)?;
    if columns.is_empty() {
        return Err(Error::refused(
            Refusal::Empty,
            "the table has no columns",
            "give it at least one",
        ));
    }
    let rows = table.rows();
    F::check(&columns, rows, options)?;
    let header_len = F::header_len(&columns, rows)?;

    let reserved = usize::try_from(header_len).map_err(|_| {
        Error::refused(
            Refusal::NamesTooLong,
            "the header is too long",
            "use fewer or shorter names",
        )
    })?;
    sink.write_all(&vec![0; reserved])?;
    let mut blocks = Vec::with_capacity(columns.len());
    let mut offset = header_len;
    let buffers = BlockBuffers::default();
    let compress = |column: &ColumnToWrite| {
        compress_block::<F>(table, column, &buffers)
            .map_err(|err| err.in_column(column.index, &column.name))
    };
    parallel::for_each(&columns, resolve_threads(options.threads), compress, |_, block| {
        let CompressedBlock { buffer, stored, raw } = block;
        sink.write_all(buffer.get(..stored).unwrap_or_default())?;
        buffers.stored.give(buffer);
        let stored = stored as u64;
        blocks.push(BlockLocation { offset, stored, raw });
        offset = offset.saturating_add(stored);
        Ok(())
    })?;
    let header = F::header(&columns, &blocks, rows)?;
    sink.patch(0, &header)?;
    sink.flush()?;
    Ok(())
}

/// Collects what is known about each column before a byte is written.
fn columns_to_write(
    table: &dyn ColumnSource,
    options: &WriteOptions,
) -> Result<Vec<ColumnToWrite>> {
    let schema = table.schema();
    let columns = schema.fields().iter().enumerate();
    columns
        .map(|(index, field)| {
            column_to_write(table, index, field, options)
                .map_err(|err| err.in_column(index, field.name()))
        })
        .collect()
}

fn column_to_write(
    table: &dyn ColumnSource,
    index: usize,
    field: &Field,
    options: &WriteOptions,
) -> Result<ColumnToWrite> {
    let column_type = ColumnType::of(field.data_type()).ok_or_else(|| {
        Error::refused(
            Refusal::TypeNotSupported,
            format!("columns of type {} are not supported", field.data_type()),
            "cast it to int32, int64, float64 or text first",
        )
    })?;
    let stats = table.stats(index)?;
    if stats.rows != table.rows() {
        let why = format!("has {} rows where the table has {}", stats.rows, table.rows());
        return Err(Error::invalid_argument(why));
    }
    let (name, options) = (field.name().clone(), options.clone());
    Ok(ColumnToWrite { index, name, column_type, stats, options })
}

/// A compressed block: the first `stored` bytes of the buffer.
struct CompressedBlock {
    buffer: Vec<u8>,
    stored: usize,
    raw: u64,
}

#[derive(Default)]
struct BlockBuffers {
    raw: BufferPool<Vec<u8>>,
    stored: BufferPool<Vec<u8>>,
}

fn compress_block<F: BlockFormat>(
    table: &dyn ColumnSource,
    column: &ColumnToWrite,
    buffers: &BlockBuffers,
) -> Result<CompressedBlock> {
    if column.stats.rows == 0 && F::ABSENT_WHEN_EMPTY {
        return Ok(CompressedBlock { buffer: Vec::new(), stored: 0, raw: 0 });
    }
    let (mut raw, mut buffer) = (buffers.raw.take(), buffers.stored.take());
    raw.clear();
    F::encode(column, &table.column(column.index)?, &mut raw)?;
    let stored = zlib::compress_into(&raw, column.options.level, &mut buffer)?;
    let block = CompressedBlock { buffer, stored, raw: raw.len() as u64 };
    buffers.raw.give(raw);
    Ok(block)
}
