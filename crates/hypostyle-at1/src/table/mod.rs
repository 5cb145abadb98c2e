//! Reads archives whose columns are those of the table straight into Arrow arrays.
//!
//! An archive stores a text, and the text is a table: [`TableShape`] says which. If the
//! codec of the archive stores the columns of that table, these readers decode them without
//! the text between. Otherwise they return nothing, and the caller decodes the text.
//!
//! For codecs with row groups (§6), `grouped` holds everything but the blocks.
//!
//! 1. `line_groups` cuts the lines of each frame where row groups start. `pruning` combines
//!    the statistics of the row groups of such a cut with its verbatim lines.
//! 2. `line_group_reader` reads the blocks of the columns that are asked for.
//! 3. `cell_list` finds cells in a block; `typed_cells` turns them into arrays, with the
//!    rules of `cell_value`. For JSON, `template` says which cells a column consists of, and
//!    `json_values` types them.
//! 4. `verbatim_cells` gives verbatim lines the same form, and `merge` puts all rows in order.

mod cell_list;
mod cell_value;
mod grouped;
mod json_tree;
mod json_values;
mod line_group_reader;
mod line_groups;
mod merge;
mod pruning;
mod shape;
mod shared_blocks;
mod template;
mod typed_cells;
mod verbatim_cells;

use std::sync::Arc;

use grouped::GroupedReader;
pub use shape::TableShape;

use crate::frames::FrameReader;
use hypostyle_core::error::Result;
use hypostyle_core::format_id::FormatId;
use hypostyle_core::reader::{InFormat, Reader};

/// Opens an archive whose columns are those of a table.
///
/// Returns `None` if they are not.
pub(super) fn open(
    archive: &Arc<FrameReader>,
    shape: &TableShape,
) -> Result<Option<Arc<dyn Reader>>> {
    match GroupedReader::try_new(archive, shape)? {
        Some(reader) => Ok(Some(InFormat::open(FormatId::At1, || Ok(reader))?)),
        None => Ok(None),
    }
}
