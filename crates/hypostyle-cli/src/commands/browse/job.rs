//! Work that is done on other threads, so that keys always have an answer.
//!
//! [`Task::run`] does it; `screen` runs tasks on threads, and gives answers to the browser.

use std::ops::Range;

use arrow_array::StringArray;
use hypostyle::predicate::Predicate;
use hypostyle_view::Profile;

use super::arrange::{self, Arranged, Matches, Sort};
use super::cells;
use super::find::{self, Found, Needle};
use super::source::{Rows, Source};
use super::ticket::Ticket;
use crate::failure::Result;

/// Something to do.
#[derive(Debug)]
pub(super) enum Task {
    /// Decode columns of a window of positions.
    Cells { rows: Rows, window: Range<u64>, columns: Vec<usize> },
    /// Filter and sort the rows.
    Arrange { filter: Option<(Predicate, Option<Matches>)>, sort: Option<Sort> },
    /// Find the next row with a text.
    Find { needle: Needle, columns: Vec<usize>, rows: Rows, base: Rows, from: u64, forward: bool },
    /// Compute statistics of a column.
    Profile { rows: Rows, column: usize },
    /// Read all cells of a row.
    Row { row: u64, why: Purpose },
}

/// What a whole row is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To show it.
    Show,
    /// To copy a cell.
    CopyCell(usize),
    /// To copy all cells.
    CopyRow,
}

/// The result of a task.
#[derive(Debug)]
pub(super) enum Answer {
    Cells { window: Range<u64>, columns: Vec<(usize, StringArray)> },
    Arranged(Arranged),
    Found(Option<Found>),
    Profiled { column: usize, profile: Box<Profile> },
    Row { row: u64, cells: Vec<Option<String>>, why: Purpose },
}

impl Task {
    /// Does the work; `None` if it was cancelled.
    ///
    /// # Errors
    ///
    /// Fails if the file is damaged, and if the work is too large.
    pub(super) fn run(self, source: &Source, ticket: &Ticket) -> Result<Option<Answer>> {
        match self {
            Self::Cells { rows, window, columns } => {
                let cells = cells::read(source, &rows, window.clone(), &columns, ticket)?;
                Ok(cells.map(|columns| Answer::Cells { window, columns }))
            }
            Self::Arrange { filter, sort } => {
                Ok(arrange::run(source, filter, sort, ticket)?.map(Answer::Arranged))
            }
            Self::Find { needle, columns, rows, base, from, forward } => {
                let search = find::Search { source, needle: &needle, columns: &columns, ticket };
                Ok(search.run(&rows, &base, from, forward)?.map(Answer::Found))
            }
            Self::Profile { rows, column } => {
                let Some(field) = source.field(column) else { return Ok(None) };
                let mut profile = Profile::new(field);
                ticket.expect(rows.len());
                let done = source.read(&rows, 0..rows.len(), &[column], ticket, |_, batch| {
                    batch.columns().first().map_or(Ok(()), |array| profile.add(array))?;
                    Ok(true)
                })?;
                Ok(done.then(|| Answer::Profiled { column, profile: Box::new(profile) }))
            }
            Self::Row { row, why } => {
                Ok(Some(Answer::Row { row, cells: cells::whole_row(source, row)?, why }))
            }
        }
    }
}
