//! Summarises delimited text.

use std::io::Read;

use super::blocks::{BlockReader, BlockSizes};
use super::cell_summary::CellSummary;
use super::delimiter::check_delimiter;
use super::split::RowBlock;
use super::syntax::Syntax;
use crate::buffer_pool::BufferPool;
use crate::error::Result;
use crate::options::resolve_threads;
use crate::parallel;
use crate::projection::unknown_column;
use crate::text::format::TextFormat;
use crate::text::options::TextOptions;
use crate::text::row_index::RowIndex;
use crate::text::sizes::TextSizes;
use crate::text::summary::TextSummary;

/// Reads a delimited text to its end.
pub(crate) fn summarise(
    input: &mut dyn Read,
    format: TextFormat,
    syntax: Syntax,
    options: &TextOptions,
    sizes: TextSizes,
) -> Result<TextSummary> {
    check_delimiter(syntax.delimiter)?;
    let block_sizes = BlockSizes::new(&options.limits, sizes);
    let mut blocks = BlockReader::new(input, syntax, block_sizes);
    blocks.skip = options.skip;
    let names = blocks.names()?;
    if let Some((name, _)) = options.types.iter().find(|(name, _)| !names.contains(name)) {
        return Err(unknown_column(name, names.iter().map(String::as_str)));
    }
    let words = options.effective_null_words();
    let null_words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
    let first = blocks.position();
    let mut index = RowIndex::new(first, sizes.index);
    let mut columns: Vec<CellSummary> = names.iter().map(|_| CellSummary::default()).collect();
    let mut rows_are_lines = true;
    let mut ends_open = false;
    let pool = BufferPool::default();
    let work = |rows: RowBlock| {
        let columns = (0..rows.width).map(|column| CellSummary::of(&rows, column, &null_words));
        let columns: Vec<CellSummary> = columns.collect();
        let ends_open = rows.text.last() != Some(&b'\n');
        let lines = rows.newlines + usize::from(ends_open);
        let is_lines = !rows.has_lone_cr && lines == rows.count();
        let start = rows.start;
        // Do not keep the memory of a row that is much longer than a block.
        if rows.text.capacity() <= block_sizes.block.saturating_mul(2) {
            pool.give(rows);
        }
        Ok((start, is_lines, ends_open, columns))
    };
    parallel::stream(
        resolve_threads(options.threads),
        || blocks.next(pool.take()),
        work,
        |(start, is_lines, is_open, found)| {
            index.add(start);
            rows_are_lines &= is_lines;
            ends_open = is_open;
            for (total, next) in columns.iter_mut().zip(found) {
                total.merge(next);
            }
            Ok(())
        },
    )?;
    let end = blocks.position();
    let columns = names.into_iter().zip(columns).map(|(name, column)| column.finish(name));
    Ok(TextSummary {
        format,
        encoding: options.encoding,
        rows: end.row,
        columns: columns.collect(),
        rows_are_lines: rows_are_lines && !blocks.dropped_blocks,
        ends_open,
        row_index: index.finish(),
        bytes: end.offset,
        null_words: words,
        skipped: blocks.skipped,
    })
}
