//! Whether blocks are whole, and whether their indexes tell the truth.

use super::frame_tables::FrameTables;
use super::grouped_table::{GroupPruning, GroupedTable};
use super::source::{CountedSource, StreamDirectory};
use crate::archive::Archive;
use crate::codecs::DecodeContext;
use crate::container::Method;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::parallel;
use hypostyle_core::predicate::{Decimal, NumberBounds};

/// Looks at every block of an archive of row groups; others have nothing to look at.
pub(super) fn check(archive: &Archive) -> Result<Vec<Error>> {
    let mut found = Vec::new();
    if !archive.codec().has_groups() {
        return Ok(found);
    }
    let source = CountedSource::new(archive.source());
    for extent in archive.extents()? {
        if extent.method == Method::Raw {
            continue;
        }
        let Some(directory) = StreamDirectory::read(&source, extent, false)? else { continue };
        let context = archive.context(&directory.set);
        let streams = context.expand(|_| true)?;
        let Some(frame) = FrameTables::new(archive.codec(), &directory, &streams, &context)? else {
            continue;
        };
        for set in &frame.sets {
            let blocks: Vec<(usize, usize)> = (0..set.groups)
                .flat_map(|group| (0..set.meta.columns).map(move |column| (group, column)))
                .collect();
            let errors = parallel::map(&blocks, context.threads, |&(group, column)| {
                Ok(check_block(set, group, column, &source, &context).err())
            })?;
            found.extend(errors.into_iter().flatten());
        }
    }
    Ok(found)
}

/// Whether the cells of a block are what the indexes say.
fn check_block(
    set: &GroupedTable<'_>,
    group: usize,
    column: usize,
    source: &CountedSource<'_>,
    context: &DecodeContext<'_>,
) -> Result<()> {
    let cells = set.cells(group, &[column], source, context)?;
    let (known, last) = (GroupPruning { set, group }, column + 1 == set.meta.columns);
    let (numbers, texts) = (known.numbers_of(column), known.texts_of(column));
    for (row, cell) in cells.iter().flat_map(|cells| cells.iter()).enumerate() {
        let Some(value) = set.syntax.value(cell, last).filter(|value| !value.is_empty()) else {
            continue;
        };
        let outside = match (numbers, Decimal::parse(&value)) {
            (NumberBounds::Between(least, most), Some(number)) => number < least || number > most,
            _ => false,
        };
        let unheard = !known.may_hold_in(column, &value)
            || texts.is_some_and(|texts| !texts.may_hold(&value));
        if outside || unheard {
            let which = if outside { "zone map" } else { "index of texts" };
            let shown = String::from_utf8_lossy(value.get(..40).unwrap_or(&value)).into_owned();
            let why = format!("group {group} holds `{shown}`, which it leaves out");
            let row = set.rows_of(group).start.saturating_add(row) as u64;
            let err = Error::malformed(which, why).in_row(row);
            return Err(err.in_column(column, set.name(column)));
        }
    }
    Ok(())
}
