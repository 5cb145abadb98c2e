//! Archives with row groups, whose columns are those of the table.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::grouped_archive::GroupedArchive;
use super::line_group_reader::LineGroupReader;
use super::line_groups::{LineGroup, RowLines, TablePart, line_groups};
use super::pruning::{LineGroupPruning, MAX_VERBATIM_LINES};
use super::shape::TableShape;
use super::shared_blocks::SharedBlocks;
use super::template::TemplateColumns;
use crate::frame_checksums::ArchiveChecksums;
use crate::frames::FrameReader;
use crate::row_groups::frame_tables::FrameTables;
use crate::row_groups::grouped_table::{GroupPruning, GroupedTable};
use crate::row_groups::metadata::ArchiveMetadata;
use crate::streams::StreamSet;
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::Result;
use hypostyle_core::format_id::FormatId;
use hypostyle_core::predicate::PruningStatistics;
use hypostyle_core::projection::column_out_of_range;
use hypostyle_core::reader::{
    ColumnStatistics, Reader, RowGroupReader, RowGroupRequest, row_group_out_of_range,
};
use hypostyle_core::text::{BOM, TextKind};

/// The table of an archive whose codec has row groups.
///
/// A row group of the reader is a range of lines that uses one row group of each table of
/// its frame. Where a frame has several tables, a row group of a rare template belongs to
/// several line ranges; [`SharedBlocks`] keeps its blocks between them.
#[derive(Debug)]
pub(crate) struct GroupedReader(Arc<GroupedArchive>);

impl GroupedReader {
    /// Reads everything but the blocks.
    ///
    /// Returns `None` if the columns of the archive are not those of the table.
    pub(crate) fn try_new(
        archive: &Arc<FrameReader>,
        shape: &TableShape,
        checksums: Option<&ArchiveChecksums>,
    ) -> Result<Option<Self>> {
        let columns = shape.schema.fields().len();
        let Some(metadata) = ArchiveMetadata::all(archive, checksums)? else { return Ok(None) };
        let is_json = match shape.format.kind {
            TextKind::Delimited { .. } if metadata.groups.delimited => false,
            TextKind::JsonLines if !metadata.groups.delimited => true,
            _ => return Ok(None),
        };
        let Some(mut frames) = metadata.frames()? else { return Ok(None) };
        drop(metadata);
        let mut tables = frames.iter().flat_map(|frame| &frame.tables);
        if checksums.is_some() && !tables.all(GroupedTable::has_checksums) {
            return Ok(None);
        }
        if !fits(&frames, shape) {
            return Ok(None);
        }
        let mut row_lines = RowLines::new(shape.format, columns);
        let mut groups = line_groups(&frames, row_lines)?;
        if total(&groups) != shape.rows && row_lines.header && frames.len() > 1 {
            row_lines.skips_repeated_headers = true;
            groups = line_groups(&frames, row_lines)?;
        }
        // The text has rows of several lines, or lines that are not rows.
        if total(&groups) != shape.rows {
            return Ok(None);
        }
        let names: Vec<&str> =
            shape.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let mut templates = Vec::new();
        for frame in &mut frames {
            if is_json {
                let of_frame = frame.tables.iter().map(|table| TemplateColumns::of(table, &names));
                let Some(of_frame) = of_frame.collect::<Option<Vec<_>>>() else { return Ok(None) };
                templates.push(of_frame);
            } else {
                for table in &mut frame.tables {
                    table.names = names.iter().map(|&name| name.to_owned()).collect();
                }
            }
        }
        Ok(Some(Self(Arc::new(GroupedArchive {
            archive: archive.clone(),
            frames,
            templates,
            groups,
            row_lines,
            shape: shape.clone(),
            no_streams: StreamSet { streams: Vec::new() },
            shared: SharedBlocks::default(),
        }))))
    }
}

/// Returns whether rows can be told from the tables: no line continues in the next frame, and
/// cells are cut at the delimiter of the text.
fn fits(frames: &[FrameTables], shape: &TableShape) -> bool {
    let mut before = frames.iter().take(frames.len().saturating_sub(1));
    if before.any(|frame| frame.open && !frame.map.is_empty()) {
        return false;
    }
    let TextKind::Delimited { delimiter } = shape.format.kind else { return true };
    let columns = shape.schema.fields().len();
    let mut tables = frames.iter().flat_map(|frame| &frame.tables);
    let is_alike =
        |table: &GroupedTable| table.meta.columns == columns && table.meta.delimiter == [delimiter];
    // Without a header, the first cell may start with a byte order mark, which is not its own.
    let first = frames.iter().find(|frame| !frame.map.is_empty());
    let starts_plain =
        first.is_none_or(|frame| frame.map.first() == Some(&0) && !frame.verbatim.starts_with(BOM));
    tables.all(is_alike) && (shape.format.header || starts_plain)
}

fn total(groups: &[LineGroup]) -> u64 {
    groups.iter().map(|group| group.rows as u64).sum()
}

impl Reader for GroupedReader {
    fn format(&self) -> FormatId {
        FormatId::At1
    }

    fn schema(&self) -> SchemaRef {
        self.0.shape.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.0.shape.rows
    }

    fn row_groups(&self) -> usize {
        self.0.groups.len()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        self.0.groups.get(group).map_or(0, |group| group.rows as u64)
    }

    fn column_statistics(&self, column: usize) -> ColumnStatistics {
        self.0.shape.statistics.get(column).cloned().unwrap_or_default()
    }

    fn pruning_statistics(&self, group: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        let group = self.0.groups.get(group)?;
        if group.verbatim_rows > MAX_VERBATIM_LINES {
            return None;
        }
        let frame = self.0.frames.get(group.frame)?;
        let part = |part: &TablePart| {
            Some(GroupPruning { table: frame.tables.get(part.table)?, group: part.group })
        };
        Some(Box::new(LineGroupPruning {
            parts: group.parts.iter().filter_map(part).collect(),
            text: &frame.verbatim,
            lines: group.verbatim_lines(frame, self.0.row_lines),
            delimiter: self.0.delimiter(),
            starts_text: group.frame == 0,
            names: self.0.names().collect(),
            shape: &self.0.shape,
            values: OnceCell::new(),
        }))
    }

    fn ranges(&self, group: usize, columns: &[usize]) -> Vec<Range<u64>> {
        let Some(group) = self.0.groups.get(group) else { return Vec::new() };
        let mut ranges = Vec::new();
        for part in &group.parts {
            let Some(table) = self.0.table(group.frame, part.table) else { continue };
            for &column in columns {
                let stored = self.0.stored_columns(group.frame, part.table, column);
                let blocks = stored.into_iter().map(|column| table.block(part.group, column));
                ranges.extend(blocks.map(|block| block.bytes));
            }
        }
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup();
        ranges
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        if group >= self.0.groups.len() {
            return Err(row_group_out_of_range(group, self.0.groups.len()));
        }
        let known = self.0.shape.schema.fields().len();
        if let Some(&column) = request.columns.iter().find(|&&column| column >= known) {
            return Err(column_out_of_range(column, known));
        }
        Ok(Box::new(LineGroupReader::new(self.0.clone(), group, request.threads)))
    }

    fn deviations(&self) -> Vec<Deviation> {
        self.0.archive.deviations().list()
    }
}
