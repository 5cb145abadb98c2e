//! Writes a file: chunks with the same rows for all columns, stored column by column.

use arrow_schema::DataType;

use super::chunk_encoder::ChunkEncoder;
use super::chunking::{self, TextSizeIndex};
use super::column_chunk::{ColumnChunk, MAX_ROWS, MAX_TEXT_BYTES};
use super::layout::{self, HEAD_BYTES};
use super::schema::{ColumnSchema, StringType};
use hypostyle_core::column_source::ColumnSource;
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::options::{WriteOptions, resolve_threads};
use hypostyle_core::parallel;
use hypostyle_core::sink::Sink;

/// Writes a whole table.
pub(super) fn write(
    table: &dyn ColumnSource,
    sink: &mut dyn Sink,
    options: &WriteOptions,
) -> Result<()> {
    // As for column files: a page reads, and the code would only fill the module.
    if cfg!(target_family = "wasm") {
        return Err(Error::unsupported("writing on WebAssembly"));
    }
    write_chunks(table, sink, options, MAX_ROWS)
}

/// Writes a whole table in chunks of at most `max_rows` rows.
pub(super) fn write_chunks(
    table: &dyn ColumnSource,
    sink: &mut dyn Sink,
    options: &WriteOptions,
    max_rows: u32,
) -> Result<()> {
    if options.level > WriteOptions::MAX_LEVEL {
        let (level, max) = (options.level, WriteOptions::MAX_LEVEL);
        return Err(Error::invalid_argument(format!("level {level} is over {max}")));
    }
    let columns = columns(table)?;
    let sizes = columns.iter().enumerate().map(|(index, column)| {
        let size = text_size_index(table, index, column.string_type);
        size.map_err(|err| err.in_column(index, &column.name))
    });
    let sizes: Vec<TextSizeIndex> = sizes.collect::<Result<_>>()?;
    let chunk_rows = chunking::chunk_rows(&sizes, table.rows(), max_rows);

    sink.write_all(&layout::head())?;
    let threads = resolve_threads(options.threads);
    let threads_per_column = threads.div_ceil(columns.len()).max(1);
    let encode = |&(index, column): &(usize, &ColumnSchema)| {
        let encoder = ChunkEncoder::new(options.level, threads_per_column);
        encode_column(table, index, &chunk_rows, encoder)
            .map_err(|err| err.in_column(index, &column.name))
    };
    let mut column_chunks = Vec::with_capacity(columns.len());
    let mut offset = HEAD_BYTES;
    let numbered: Vec<(usize, &ColumnSchema)> = columns.iter().enumerate().collect();
    parallel::for_each(&numbered, threads, encode, |_, (chunks, bytes)| {
        sink.write_all(&bytes)?;
        for mut chunk in chunks {
            chunk.offset = offset;
            offset = chunk.end();
            column_chunks.push(chunk);
        }
        Ok(())
    })?;
    sink.write_all(&layout::footer_and_tail(&columns, &chunk_rows, &column_chunks)?)?;
    sink.flush()?;
    Ok(())
}

/// Returns the schema of each column, or refuses the table.
fn columns(table: &dyn ColumnSource) -> Result<Vec<ColumnSchema>> {
    let schema = table.schema();
    let mut columns = Vec::with_capacity(schema.fields().len());
    let mut seen = std::collections::HashMap::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let string_type = StringType::of(field.data_type()).ok_or_else(|| {
            let why = format!("columns of type {} are not supported", field.data_type());
            Error::refused(Refusal::TypeNotSupported, why, way_out(field.data_type()))
                .in_column(index, field.name())
        })?;
        if let Some(first) = seen.insert(field.name(), index) {
            let first: usize = first;
            let why = format!("has the same name as column {}", first + 1);
            return Err(Error::refused(Refusal::DuplicateName, why, "rename one")
                .in_column(index, field.name()));
        }
        columns.push(ColumnSchema { name: field.name().clone(), string_type });
    }
    if columns.is_empty() {
        return Err(Error::refused(
            Refusal::Empty,
            "the table has no columns",
            "give it at least one",
        ));
    }
    Ok(columns)
}

fn way_out(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Utf8View | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            "cast it to text or binary first"
        }
        _ => "cast it to text first, or write a format that has numbers",
    }
}

/// Returns the sizes of a column's text, without reading a column that fits in one chunk.
fn text_size_index(
    table: &dyn ColumnSource,
    index: usize,
    string_type: StringType,
) -> Result<TextSizeIndex> {
    let stats = table.stats(index)?;
    if stats.rows != table.rows() {
        let why = format!("has {} rows where the table has {}", stats.rows, table.rows());
        return Err(Error::invalid_argument(why));
    }
    if string_type == StringType::Text && stats.text_bytes <= u64::from(MAX_TEXT_BYTES) {
        return Ok(TextSizeIndex::default());
    }
    TextSizeIndex::of(&table.column(index)?)
}

/// Returns the chunks of a column, and their bytes.
fn encode_column(
    table: &dyn ColumnSource,
    index: usize,
    chunk_rows: &[u32],
    mut encoder: ChunkEncoder,
) -> Result<(Vec<ColumnChunk>, Vec<u8>)> {
    let arrays = table.column(index)?;
    let mut chunks = Vec::with_capacity(chunk_rows.len());
    let mut bytes = Vec::new();
    let mut rows = Vec::new();
    let mut remaining = chunk_rows.iter().map(|&rows| rows as usize).peekable();
    chunking::for_each_row(&arrays, |value| {
        rows.push(value);
        if remaining.peek() == Some(&rows.len()) {
            chunks.push(encoder.encode(&rows, &mut bytes)?);
            rows.clear();
            remaining.next();
        }
        Ok(())
    })?;
    if remaining.next_if_eq(&0).is_some() {
        chunks.push(encoder.encode(&[], &mut bytes)?);
    }
    if remaining.next().is_some() || !rows.is_empty() {
        return Err(Error::invalid_argument("the column has another number of rows"));
    }
    Ok((chunks, bytes))
}
