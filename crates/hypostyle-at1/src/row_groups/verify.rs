//! Checks the blocks of row groups against their checksums, statistics and indexes.

use super::frame_tables::FrameTables;
use super::grouped_table::{GroupPruning, GroupedTable};
use super::source::StreamDirectory;
use crate::codecs;
use crate::codecs::context::DecodeContext;
use crate::container::Method;
use crate::frames::FrameReader;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::parallel;
use hypostyle_core::predicate::{Decimal, NumberBounds};
use hypostyle_core::source::ByteSource;

/// Bytes of a cell that an error quotes.
const SHOWN_BYTES: usize = 40;

/// Checks every block of an archive; archives without row groups have none to check.
pub(crate) fn check_groups(reader: &FrameReader) -> Result<Vec<Error>> {
    let mut found = Vec::new();
    let Some(groups) = codecs::entry(reader.codec()).groups else { return Ok(found) };
    let source = reader.source();
    for extent in reader.extents()? {
        if extent.method == Method::Raw {
            continue;
        }
        let Some(directory) = StreamDirectory::read(reader, extent, false)? else {
            continue;
        };
        let context = reader.context(&directory.set);
        let streams = context.decompress(|_| true)?;
        let Some(frame) = FrameTables::parse(groups, &directory, &streams, &context)? else {
            continue;
        };
        for table in &frame.tables {
            let blocks: Vec<(usize, usize)> = (0..table.groups)
                .flat_map(|group| (0..table.meta.columns).map(move |column| (group, column)))
                .collect();
            let errors = parallel::map(&blocks, context.threads, |&(group, column)| {
                Ok(check_block(table, group, column, source, &context).err())
            })?;
            found.extend(errors.into_iter().flatten());
        }
    }
    Ok(found)
}

/// Fails if a block is damaged, or if its statistics or index exclude one of its cells.
fn check_block(
    table: &GroupedTable,
    group: usize,
    column: usize,
    source: &dyn ByteSource,
    context: &DecodeContext<'_>,
) -> Result<()> {
    let cells = table.read_blocks(group, &[column], source, context)?;
    let (pruning, last) = (GroupPruning { table, group }, column + 1 == table.meta.columns);
    let (numbers, texts) = (pruning.numbers_of(column), pruning.texts_of(column));
    for (row, cell) in cells.iter().flat_map(|cells| cells.iter()).enumerate() {
        let Some(value) = table.syntax.value(cell, last).filter(|value| !value.is_empty()) else {
            continue;
        };
        let out_of_bounds = match (numbers, Decimal::parse(&value)) {
            (NumberBounds::Between(min, max), Some(number)) => number < min || number > max,
            _ => false,
        };
        let not_indexed = !pruning.may_hold_in(column, &value)
            || texts.is_some_and(|texts| !texts.may_hold(&value));
        if out_of_bounds || not_indexed {
            let what = if out_of_bounds { "zone map" } else { "index of texts" };
            let shown = value.get(..SHOWN_BYTES).unwrap_or(&value);
            let shown = String::from_utf8_lossy(shown).into_owned();
            let why = format!("group {group} contains `{shown}`, which the index excludes");
            let row = table.rows_of(group).start.saturating_add(row) as u64;
            let err = Error::malformed(what, why).in_row(row);
            return Err(err.in_column(column, table.name(column)));
        }
    }
    Ok(())
}
