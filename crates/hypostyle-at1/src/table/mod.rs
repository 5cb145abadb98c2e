//! Reads archives whose columns are those of the table straight into Arrow arrays.
//!
//! An archive stores a text, and the text is a table: [`TableShape`] says which. If the
//! codec of the archive stores the columns of that table, these readers decode them without
//! the text between. Otherwise they return nothing, and the caller decodes the text.
//!
//! For codecs with row groups (§6), `grouped` opens a table, of which `grouped_archive` holds
//! everything but the blocks.
//!
//! 1. `line_groups` cuts the lines of each frame where row groups start. `pruning` combines
//!    the statistics of the row groups of such a cut with its verbatim lines.
//! 2. `line_group_reader` reads the blocks of the columns that are asked for.
//! 3. `cell_list` and `newlines` find cells in a block; `typed_cells` turns them into arrays, with the
//!    rules of `cell_value`. For JSON, `template` says which cells a column consists of, and
//!    `json_values` types them.
//! 4. `verbatim_cells` gives verbatim lines the same form, and `merge` puts all rows in order.
//!
//! For codec columnar (§5), `columnar` decodes the pieces of column chunks and turns them into
//! arrays: numbers and dictionaries as they are, text as above.

mod cell_list;
pub(crate) mod cell_value;
mod columnar;
pub(crate) mod field_values;
mod grouped;
mod grouped_archive;
mod json_tree;
mod json_values;
mod line_group_reader;
mod line_groups;
mod merge;
mod newlines;
mod pruning;
mod shape;
mod shared_blocks;
mod template;
#[cfg(test)]
mod tests;
mod typed_cells;
mod verbatim_cells;

use std::sync::Arc;

use columnar::ColumnarReader;
pub(super) use columnar::{check_groups, salvage_frame};
use grouped::GroupedReader;
pub(super) use shape::TableShape;

use crate::codec::Codec;
use crate::frame_checksums::ArchiveChecksums;
use crate::frames::FrameReader;
use hypostyle_core::error::Result;
use hypostyle_core::format_id::FormatId;
use hypostyle_core::reader::{InFormat, Reader};

/// Opens an archive whose columns are those of a table. What is read of it is compared with its
/// checksums, if they are known.
///
/// Returns `None` if the columns are not those of the table, or if parts of them have no checksums.
pub(super) fn open(
    archive: &Arc<FrameReader>,
    shape: &TableShape,
    checksums: Option<&ArchiveChecksums>,
) -> Result<Option<Arc<dyn Reader>>> {
    if archive.codec() == Codec::Columnar {
        let reader = ColumnarReader::try_new(archive, shape, checksums)?;
        return reader.map(|reader| InFormat::open(FormatId::At1, || Ok(reader))).transpose();
    }
    let reader = GroupedReader::try_new(archive, shape, checksums)?;
    reader.map(|reader| InFormat::open(FormatId::At1, || Ok(reader))).transpose()
}
