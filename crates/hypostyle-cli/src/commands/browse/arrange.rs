//! Which rows a filter and an order select.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::SortOptions;
use arrow_select::concat::concat;
use hypostyle::cast::spelled_text;
use hypostyle::predicate::Predicate;

use super::source::{Rows, Source};
use super::thousands;
use super::ticket::Ticket;
use crate::failure::{Failure, Result};

/// Rows that are listed.
const MAX_LISTED: usize = 1 << 24;

/// Bytes of a column by which rows are sorted.
const MAX_SORT_BYTES: usize = 1 << 29;

/// Rows that are sorted before they are merged.
const RUN_ROWS: usize = 1 << 16;

/// A column by which rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sort {
    pub(super) column: usize,
    pub(super) descending: bool,
}

/// The rows that match a filter, in the order of the file.
#[derive(Clone, Debug)]
pub(super) struct Matches {
    pub(super) rows: Arc<Vec<u64>>,
    /// There are more than can be listed.
    pub(super) has_more: bool,
    /// Row groups that statistics exclude.
    pub(super) groups_pruned: usize,
}

/// The rows to show.
#[derive(Debug)]
pub(super) struct Arranged {
    pub(super) matches: Option<Matches>,
    pub(super) sort: Option<Sort>,
    pub(super) rows: Rows,
}

/// Filters and sorts; `None` if that was cancelled. Matches that are known are not found again.
///
/// # Errors
///
/// Fails if the file is damaged, and if the rows are too many to sort.
pub(super) fn run(
    source: &Source,
    filter: Option<(Predicate, Option<Matches>)>,
    sort: Option<Sort>,
    ticket: &Ticket,
) -> Result<Option<Arranged>> {
    let matches = match filter {
        None => None,
        Some((_, Some(known))) => Some(known),
        Some((predicate, None)) => match find_matches(source, &predicate, ticket)? {
            Some(found) => Some(found),
            None => return Ok(None),
        },
    };
    let base = match &matches {
        Some(matches) => Rows::Listed(matches.rows.clone()),
        None => Rows::All(source.rows()),
    };
    let rows = match sort {
        None => Some(base),
        Some(sort) => sorted_rows(source, &base, sort, ticket)?,
    };
    Ok(rows.map(|rows| Arranged { matches, sort, rows }))
}

/// Evaluates a predicate on the row groups that statistics do not exclude.
fn find_matches(
    source: &Source,
    predicate: &Predicate,
    ticket: &Ticket,
) -> Result<Option<Matches>> {
    let (reader, schema) = (source.reader(), source.schema());
    let bound = predicate.bind(schema)?;
    let columns = bound.columns().to_vec();
    // Batches have only these columns.
    let on_batches = predicate.bind(&schema.project(&columns)?)?;
    ticket.expect(source.rows());
    reader.load_statistics(&columns)?;
    let pruner = bound.pruner();
    let mut matches = Matches { rows: Arc::default(), has_more: false, groups_pruned: 0 };
    let mut found = Vec::new();
    let mut group = 0;
    while group < source.row_groups() && !matches.has_more {
        let is_pruned = |group| {
            let known = reader.pruning_statistics(group);
            known.is_some_and(|known| !pruner.may_match(known.as_ref()))
        };
        let first = source.group_rows(group);
        if is_pruned(group) {
            matches.groups_pruned += 1;
            ticket.advance(first.end.saturating_sub(first.start));
            group += 1;
            continue;
        }
        let mut rows = first;
        group += 1;
        while group < source.row_groups() && !is_pruned(group) {
            rows.end = source.group_rows(group).end;
            group += 1;
        }
        let done =
            source.read(&Rows::All(source.rows()), rows, &columns, ticket, |at, batch| {
                let selected = on_batches.matches(batch.num_rows(), &mut &*batch)?;
                let hits = selected.values().set_indices().map(|row| at.saturating_add(row as u64));
                found.extend(hits.take(MAX_LISTED.saturating_sub(found.len())));
                matches.has_more = found.len() >= MAX_LISTED;
                Ok(!matches.has_more)
            })?;
        if !done {
            return Ok(None);
        }
    }
    matches.rows = Arc::new(found);
    Ok(Some(matches))
}

/// Sorts rows by a column, with nulls last; rows with equal cells keep their order.
fn sorted_rows(source: &Source, base: &Rows, sort: Sort, ticket: &Ticket) -> Result<Option<Rows>> {
    let too_large = |what: String| {
        Failure::usage(format!("{what} are too many to sort by; a filter makes them fewer"))
    };
    if base.len() > MAX_LISTED as u64 {
        return Err(too_large(format!("{} rows", thousands(base.len()))));
    }
    // Merging takes about as long again as reading.
    ticket.expect(base.len().saturating_mul(2));
    let (mut chunks, mut bytes): (Vec<ArrayRef>, usize) = (Vec::new(), 0);
    let done = source.read(base, 0..base.len(), &[sort.column], ticket, |_, batch| {
        chunks.extend(batch.columns().first().cloned());
        bytes = bytes.saturating_add(batch.get_array_memory_size());
        if bytes > MAX_SORT_BYTES {
            return Err(too_large(format!("more than {MAX_SORT_BYTES} bytes of cells")));
        }
        Ok(true)
    })?;
    if !done {
        return Ok(None);
    }
    let parts: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
    if parts.is_empty() {
        return Ok(Some(base.clone()));
    }
    let cells = concat(&parts)?;
    drop(chunks);
    let order = match comparator(source, &cells, sort)? {
        Some(compare) => merge_sorted(cells.len(), &compare, ticket),
        None => return Ok(None),
    };
    let rows = order.map(|order| {
        order.into_iter().filter_map(|position| base.at(position as u64)).collect::<Vec<_>>()
    });
    Ok(rows.map(|rows| Rows::Listed(Arc::new(rows))))
}

fn comparator(source: &Source, cells: &ArrayRef, sort: Sort) -> Result<Option<DynComparator>> {
    let options = SortOptions { descending: sort.descending, nulls_first: false };
    if let Ok(compare) = make_comparator(cells, cells, options) {
        return Ok(Some(compare));
    }
    // Values of types without an order are sorted by their texts.
    let Some(field) = source.field(sort.column) else { return Ok(None) };
    let texts = spelled_text(cells, field)?;
    Ok(Some(make_comparator(&texts, &texts, options)?))
}

/// Sorts positions, in steps between which the ticket is asked.
fn merge_sorted(len: usize, compare: &DynComparator, ticket: &Ticket) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..len).collect();
    for run in order.chunks_mut(RUN_ROWS) {
        if ticket.is_cancelled() {
            return None;
        }
        run.sort_by(|&one, &other| compare(one, other));
        ticket.advance(run.len() as u64 / 2);
    }
    let mut width = RUN_ROWS;
    while width < len {
        let mut merged = Vec::with_capacity(len);
        for pair in order.chunks(width.saturating_mul(2)) {
            if ticket.is_cancelled() {
                return None;
            }
            let (left, right) = pair.split_at(width.min(pair.len()));
            let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
            while let (Some(&&one), Some(&&other)) = (left.peek(), right.peek()) {
                let is_left = compare(one, other) != Ordering::Greater;
                merged.extend(if is_left { left.next() } else { right.next() });
            }
            merged.extend(left);
            merged.extend(right);
        }
        order = merged;
        width = width.saturating_mul(2);
    }
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_is_stable_sorting() {
        let keys: Vec<usize> = (0..3 * RUN_ROWS + 17).map(|row| row * 7919 % 1000).collect();
        let by_key = keys.clone();
        let compare: DynComparator =
            Box::new(move |one: usize, other: usize| by_key[one].cmp(&by_key[other]));
        let mut expected: Vec<usize> = (0..keys.len()).collect();
        expected.sort_by_key(|&row| keys[row]);
        assert!(merge_sorted(keys.len(), &compare, &Ticket::default()) == Some(expected));
        let cancelled = Ticket::default();
        cancelled.cancel();
        assert!(merge_sorted(keys.len(), &compare, &cancelled).is_none());
    }
}
