//! Writing: chunks that are the same for all columns, then one column after the other.

use arrow_schema::DataType;

use super::cells::{self, Steps};
use super::layout::{self, Column, HEAD, MOST_ROWS, MOST_TEXT};
use super::pack::Packer;
use super::part::Part;
use super::schema::Strings;
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::options::{WriteOptions, resolve_threads};
use hypostyle_core::parallel;
use hypostyle_core::sink::Sink;
use hypostyle_core::table::Table;

/// Writes a whole table.
pub(super) fn write(table: &dyn Table, sink: &mut dyn Sink, options: &WriteOptions) -> Result<()> {
    write_chunks(table, sink, options, MOST_ROWS)
}

/// Writes a whole table in chunks of at most so many rows.
pub(super) fn write_chunks(
    table: &dyn Table,
    sink: &mut dyn Sink,
    options: &WriteOptions,
    most: u32,
) -> Result<()> {
    if options.level > WriteOptions::MAX_LEVEL {
        let (level, most) = (options.level, WriteOptions::MAX_LEVEL);
        return Err(Error::invalid_argument(format!("level {level} is over {most}")));
    }
    let columns = columns(table)?;
    let steps = columns.iter().enumerate().map(|(index, column)| {
        let steps = steps(table, index, column.strings);
        steps.map_err(|err| err.in_column(index, &column.name))
    });
    let steps: Vec<Steps> = steps.collect::<Result<_>>()?;
    let chunks = cells::chunks(&steps, table.rows(), most);

    sink.write_all(&layout::head())?;
    let threads = resolve_threads(options.threads);
    let inner = threads.div_ceil(columns.len()).max(1);
    let make = |index: usize| match columns.get(index) {
        Some(column) => {
            let packer = Packer::new(options.level, inner);
            make(table, index, &chunks, packer).map_err(|err| err.in_column(index, &column.name))
        }
        None => Err(Error::invalid_argument("no such column")),
    };
    let mut parts = Vec::with_capacity(columns.len());
    let mut offset = HEAD;
    parallel::in_order(columns.len(), threads, make, |_, (made, bytes): (Vec<Part>, Vec<u8>)| {
        sink.write_all(&bytes)?;
        for mut part in made {
            part.offset = offset;
            offset = part.end();
            parts.push(part);
        }
        Ok(())
    })?;
    sink.write_all(&layout::foot(&columns, &chunks, &parts)?)?;
    sink.flush()?;
    Ok(())
}

/// The columns, unless there is one that cannot be held.
fn columns(table: &dyn Table) -> Result<Vec<Column>> {
    let schema = table.schema();
    let mut columns = Vec::with_capacity(schema.fields().len());
    let mut seen = std::collections::HashMap::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let strings = Strings::of(field.data_type()).ok_or_else(|| {
            let why = format!("columns of type {} do not exist here", field.data_type());
            Error::refused(Refusal::TypeNotSupported, why, way_out(field.data_type()))
                .in_column(index, field.name())
        })?;
        if let Some(first) = seen.insert(field.name(), index) {
            let first: usize = first;
            let why = format!("has the same name as column {}", first + 1);
            return Err(Error::refused(Refusal::DuplicateName, why, "rename one")
                .in_column(index, field.name()));
        }
        columns.push(Column { name: field.name().clone(), strings });
    }
    match columns.is_empty() {
        true => {
            Err(Error::refused(Refusal::Empty, "the table has no columns", "give it at least one"))
        }
        false => Ok(columns),
    }
}

fn way_out(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Utf8View | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            "cast it to text or binary first"
        }
        _ => "cast it to text first, or write a format that has numbers",
    }
}

/// How the text of a column adds up, which short columns need not be read for.
fn steps(table: &dyn Table, index: usize, strings: Strings) -> Result<Steps> {
    let stats = table.stats(index)?;
    if stats.rows != table.rows() {
        let why = format!("has {} rows where the table has {}", stats.rows, table.rows());
        return Err(Error::invalid_argument(why));
    }
    match strings == Strings::Text && stats.text_bytes <= u64::from(MOST_TEXT) {
        true => Ok(Steps::default()),
        false => Steps::of(&table.column(index)?),
    }
}

/// The parts of a column, and their bytes.
fn make(
    table: &dyn Table,
    index: usize,
    chunks: &[u32],
    mut packer: Packer,
) -> Result<(Vec<Part>, Vec<u8>)> {
    let pieces = table.column(index)?;
    let mut parts = Vec::with_capacity(chunks.len());
    let mut bytes = Vec::new();
    let mut cells = Vec::new();
    let mut left = chunks.iter().map(|&rows| rows as usize).peekable();
    cells::for_each(&pieces, |cell| {
        cells.push(cell);
        if left.peek() == Some(&cells.len()) {
            parts.push(packer.pack(&cells, &mut bytes)?);
            cells.clear();
            left.next();
        }
        Ok(())
    })?;
    if left.next_if_eq(&0).is_some() {
        parts.push(packer.pack(&[], &mut bytes)?);
    }
    match left.next().is_none() && cells.is_empty() {
        true => Ok((parts, bytes)),
        false => Err(Error::invalid_argument("the column has another number of rows")),
    }
}
