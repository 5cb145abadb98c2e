//! Whether blocks are whole, and whether their indexes tell the truth.

use super::frame::Frame;
use super::set::{Known, Set};
use super::source::{Counted, Directory};
use crate::archive::Archive;
use crate::codecs::Job;
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
    let source = Counted::new(archive.source());
    for extent in archive.extents()? {
        if extent.method == Method::Raw {
            continue;
        }
        let Some(directory) = Directory::read(&source, extent, false)? else { continue };
        let job = archive.job(&directory.set);
        let streams = job.expand(|_| true)?;
        let Some(frame) = Frame::new(archive.codec(), &directory, &streams, &job)? else {
            continue;
        };
        for set in &frame.sets {
            let count = set.groups.saturating_mul(set.meta.columns);
            let work = |block: usize| {
                let (group, column) = (block / set.meta.columns, block % set.meta.columns);
                Ok(check_block(set, group, column, &source, &job).err())
            };
            parallel::in_order(count, job.threads, work, |_, err| {
                found.extend(err);
                Ok(())
            })?;
        }
    }
    Ok(found)
}

/// Whether the cells of a block are what the indexes say.
fn check_block(
    set: &Set<'_>,
    group: usize,
    column: usize,
    source: &Counted<'_>,
    job: &Job<'_>,
) -> Result<()> {
    let cells = set.cells(group, &[column], source, job)?;
    let (known, last) = (Known { set, group }, column + 1 == set.meta.columns);
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
