//! Imports a CSV file as typed columns in one pass.

use std::io::Read;

use super::blocks::{BlockReader, BlockSizes};
use super::options::{CsvOptions, check_delimiter};
use super::split::RowBlock;
use super::syntax::Syntax;
use crate::buffer_pool::BufferPool;
use crate::error::Result;
use crate::options::resolve_threads;
use crate::parallel;
use crate::spill::SpillBuffer;
use crate::text::infer::{ImportOptions, Imported, TypeInference, TypedChunk};
use crate::text::input::{Progress, ProgressRead};
use crate::text::state::InferredState;

/// Reads a whole CSV file.
///
/// # Errors
///
/// Fails for text that is not in the given encoding (with byte offset), for a row with
/// more or fewer cells than the first and for a quote that is never closed (both with row
/// and byte offset), and for a cell that is not of the requested type (with column and
/// row). Rows count from 0 without the header; offsets count bytes of the input.
pub fn import(
    input: &mut dyn Read,
    csv: &CsvOptions,
    options: &ImportOptions,
    spill: SpillBuffer,
    progress: Progress<'_>,
) -> Result<Imported> {
    import_sized(input, csv, options, spill, progress, BlockSizes::default())
}

pub(super) fn import_sized(
    input: &mut dyn Read,
    csv: &CsvOptions,
    options: &ImportOptions,
    spill: SpillBuffer,
    progress: Progress<'_>,
    sizes: BlockSizes,
) -> Result<Imported> {
    check_delimiter(csv.delimiter)?;
    let pool = BufferPool::default();
    let input = ProgressRead { input, progress, read: 0 };
    let mut blocks = BlockReader::new(input, Syntax::from(csv), sizes);
    blocks.skip = options.skip;
    let names = blocks.names()?;
    let inferences = TypeInference::for_columns(&names, options)?;
    let null_words: Vec<&[u8]> = if options.capabilities.nulls {
        options.null_words.iter().map(String::as_bytes).collect()
    } else {
        // For a target without nulls, a null word is ordinary text.
        Vec::new()
    };

    let mut state = vec![InferredState::NONE; names.len()];
    let mut spill = spill;
    let work = |rows: RowBlock| {
        let columns = inferences.iter().enumerate().map(|(column, inference)| {
            type_column(&rows, column, inference, &null_words)
                .map_err(|err| err.in_column(column, names.get(column).map_or("", |name| name)))
        });
        let typed = (rows.count(), columns.collect::<Result<Vec<_>>>()?);
        // Do not keep the memory of a row that is much longer than a block.
        if rows.text.capacity() <= sizes.block.saturating_mul(2) {
            pool.give(rows);
        }
        Ok(typed)
    };
    parallel::stream(
        resolve_threads(options.threads),
        || blocks.next(pool.take()),
        work,
        |(rows, columns)| {
            let mut arrays = Vec::with_capacity(columns.len());
            for (total, TypedChunk { array, state }) in state.iter_mut().zip(columns) {
                total.merge(&state);
                arrays.push(array);
            }
            spill.push(rows, arrays)
        },
    )?;
    if spill.chunks() == 0 {
        // Without rows, every column is an empty text column.
        let empty = TypedChunk::empty()?;
        spill.push(0, vec![empty.array; names.len()])?;
    }
    let columns: Vec<_> =
        state.into_iter().zip(inferences.iter().map(TypeInference::requested)).collect();
    Ok(Imported::new(names, &columns, spill, options).with_skipped(blocks.skipped))
}

fn type_column(
    rows: &RowBlock,
    column: usize,
    inference: &TypeInference,
    null_words: &[&[u8]],
) -> Result<TypedChunk> {
    let cells = rows.cells.iter().skip(column).step_by(rows.width.max(1)).map(|cell| {
        let bytes = cell.bytes(rows);
        let gap = !cell.quoted() && (bytes.is_empty() || null_words.contains(&bytes));
        (!gap).then_some(bytes)
    });
    inference.type_chunk(cells).map_err(|err| match err.row() {
        Some(row) => err.at_row(rows.start.row.saturating_add(row)),
        None => err,
    })
}
