//! An archive with row groups, without its blocks.

use std::sync::Arc;

use super::line_groups::{LineGroup, RowLines};
use super::shape::TableShape;
use super::shared_blocks::SharedBlocks;
use super::template::TemplateColumns;
use crate::frames::FrameReader;
use crate::row_groups::frame_tables::FrameTables;
use crate::row_groups::grouped_table::GroupedTable;
use crate::streams::StreamSet;
use hypostyle_core::text::TextKind;

/// Everything of an archive with row groups but the blocks.
#[derive(Debug)]
pub(super) struct GroupedArchive {
    pub(super) archive: Arc<FrameReader>,
    pub(super) frames: Vec<FrameTables>,
    /// Where the columns are in the templates of each frame, for JSON.
    pub(super) templates: Vec<Vec<TemplateColumns>>,
    pub(super) groups: Vec<LineGroup>,
    pub(super) row_lines: RowLines,
    pub(super) shape: TableShape,
    pub(super) no_streams: StreamSet,
    pub(super) shared: SharedBlocks,
}

impl GroupedArchive {
    /// Returns the byte between cells; `None` for JSON.
    pub(super) fn delimiter(&self) -> Option<u8> {
        match self.shape.format.kind {
            TextKind::Delimited { delimiter } => Some(delimiter),
            _ => None,
        }
    }

    /// Returns the names of the columns.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.shape.schema.fields().iter().map(|field| field.name().as_str())
    }

    /// Returns a table of a frame.
    pub(super) fn table(&self, frame: usize, table: usize) -> Option<&GroupedTable> {
        self.frames.get(frame)?.tables.get(table)
    }

    /// Returns where the columns are in a template.
    pub(super) fn template(&self, frame: usize, table: usize) -> Option<&TemplateColumns> {
        self.templates.get(frame)?.get(table)
    }

    /// Returns the columns of a table of an archive that a column of this table is made of.
    pub(super) fn stored_columns(&self, frame: usize, table: usize, column: usize) -> Vec<usize> {
        match self.template(frame, table) {
            Some(template) => template.scalars(column),
            None => vec![column],
        }
    }
}
