//! qcolumnar: delimited text in row groups (§6.1).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | lines uv, trailing u8, delimiter lp, columns uv, rows per group uv, structured rows uv, groups uv, a type byte per column |
//! | `row_modes` | a byte per line: 0 verbatim, else structured |
//! | `verbatim` | list of the other lines |
//! | `index` | per group and column: block length uv, and a zone map by type |
//! | `blocks` | the blocks, in the order of the index |

use super::groups::{self, Shape};
use super::{Cells, Job};
use crate::output::Output;
use hypostyle_core::error::Result;

/// Writes the lines of one frame.
pub(super) fn decode(job: &Job<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = job.streams(&groups::STREAMS)?;
    let meta = groups::Meta::read(&streams, "", true, job)?;
    let table = groups::Groups::new(&streams, "", &meta, job)?;
    groups::write(&table, &Shape::delimited(meta.delimiter, meta.columns), job, out)
}

/// How lines are cut into cells.
pub(super) fn cells(job: &Job<'_>) -> Result<Cells> {
    let streams = job.streams(&["meta"])?;
    let meta = groups::Meta::read(&streams, "", true, job)?;
    Ok(Cells { delimiter: meta.delimiter.to_vec(), columns: meta.columns, header: None })
}
