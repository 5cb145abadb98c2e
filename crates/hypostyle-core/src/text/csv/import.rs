//! A CSV file, read once, into typed columns.

use std::io::Read;

use super::blocks::{Blocks, Sizes};
use super::options::{CsvOptions, check_delimiter};
use super::split::Rows;
use crate::buffer_pool::BufferPool;
use crate::error::Result;
use crate::options::resolve_threads;
use crate::parallel;
use crate::spill::SpillBuffer;
use crate::text::infer::{ImportOptions, Imported, InferredState, TypeInference, TypedChunk};
use crate::text::input::Progress;

/// Reads a whole CSV file.
///
/// # Errors
///
/// Text that is not in the given encoding, by byte offset; a row of another
/// length than the first, by row and byte; a quote that is never closed, by row
/// and byte; a cell that is not of a type that was asked for, by column and row.
/// Rows are data, counted from 0; bytes are those of the input.
pub fn import(
    input: &mut dyn Read,
    csv: &CsvOptions,
    options: &ImportOptions,
    stage: SpillBuffer,
    progress: Progress<'_>,
) -> Result<Imported> {
    import_sized(input, csv, options, stage, progress, Sizes::default())
}

pub(super) fn import_sized(
    input: &mut dyn Read,
    csv: &CsvOptions,
    options: &ImportOptions,
    stage: SpillBuffer,
    progress: Progress<'_>,
    sizes: Sizes,
) -> Result<Imported> {
    check_delimiter(csv.delimiter)?;
    let spares = BufferPool::default();
    let mut blocks = Blocks::new(input, csv, progress, sizes, &spares);
    blocks.skip = options.skip;
    let names = blocks.names()?;
    let judges = TypeInference::panel(&names, options)?;
    let null_words: Vec<&[u8]> = match options.capabilities.nulls {
        true => options.null_words.iter().map(String::as_bytes).collect(),
        // Where null does not exist, the word for it is a word like any other.
        false => Vec::new(),
    };

    let mut state = vec![InferredState::NONE; names.len()];
    let mut stage = stage;
    let work = |rows: Rows| {
        let columns = judges.iter().enumerate().map(|(column, judge)| {
            type_column(&rows, column, judge, &null_words)
                .map_err(|err| err.in_column(column, names.get(column).map_or("", |name| name)))
        });
        let typed = (rows.count(), columns.collect::<Result<Vec<_>>>()?);
        // A row of gigabytes should not be remembered.
        if rows.text.capacity() <= sizes.block.saturating_mul(2) {
            spares.give(rows);
        }
        Ok(typed)
    };
    parallel::stream(
        resolve_threads(options.threads),
        || blocks.next(),
        work,
        |(rows, columns)| {
            let mut arrays = Vec::with_capacity(columns.len());
            for (total, TypedChunk { array, state }) in state.iter_mut().zip(columns) {
                total.merge(&state);
                arrays.push(array);
            }
            stage.push(rows, arrays)
        },
    )?;
    if stage.pieces() == 0 {
        // No rows: every column is there all the same, as text.
        let empty = TypedChunk::empty()?;
        stage.push(0, vec![empty.array; names.len()])?;
    }
    let columns: Vec<_> = state.into_iter().zip(judges.iter().map(TypeInference::asked)).collect();
    Ok(Imported::new(names, &columns, stage, options).with_skipped(blocks.skipped))
}

fn type_column(
    rows: &Rows,
    column: usize,
    judge: &TypeInference,
    null_words: &[&[u8]],
) -> Result<TypedChunk> {
    let cells = rows.cells.iter().skip(column).step_by(rows.width.max(1)).map(|cell| {
        let bytes = cell.bytes(rows);
        let gap = !cell.quoted() && (bytes.is_empty() || null_words.contains(&bytes));
        (!gap).then_some(bytes)
    });
    judge.keep(cells).map_err(|err| match err.row() {
        Some(row) => err.at_row(rows.first_row.saturating_add(row)),
        None => err,
    })
}
