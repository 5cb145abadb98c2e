//! The table of the text of an archive (§11).
//!
//! What table a text is does not depend on the codec. The archive states it in the stream
//! `hyp.table`, or its name and its text tell. The rows come from the columns of the archive,
//! if they are the columns of the table, and from the decoded text otherwise.

mod log_table;
#[cfg(test)]
mod tests;
mod typed_pruning;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_schema::SchemaRef;

use self::log_table::LogTable;
use self::typed_pruning::TypedPruning;
use crate::archive_text::ArchiveText;
use crate::codec::FILTER;
use crate::container::in_at1;
use crate::describe;
use crate::description::StreamInfo;
use crate::frame_checksums::ArchiveChecksums;
use crate::frames::FrameReader;
use crate::line_groups::{LineGroups, ListDirectory};
use crate::log_columns::LogColumns;
use crate::streams::Backend;
use crate::table::{self, TableShape};
use crate::table_frame::TABLE;
use crate::table_metadata::TableMetadata;
use crate::text_filter::TextFilter;
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::predicate::PruningStatistics;
use hypostyle_core::reader::{
    ColumnStatistics, InFormat, Reader, RowGroupReader, RowGroupRequest, Section,
};
use hypostyle_core::text::{
    self, ColumnState, ColumnSummary, Encoding, HEAD_BYTES, Infer, InferredState, Ragged,
    TextFormat, TextKind, TextOptions, TextSource, TextSummary, TextTable, ValueState,
};
use hypostyle_core::types::Capabilities;

/// Where the rows of a table may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowSource {
    /// The columns of the archive if they are those of the table, else the text.
    Any,
    /// The decoded text.
    Text,
}

/// Opens the table of an archive, of which `metadata` is known.
pub(super) fn open(
    frames: &Arc<FrameReader>,
    metadata: Option<&TableMetadata>,
    name: Option<&str>,
    options: &TextOptions,
    rows: RowSource,
) -> Result<Arc<dyn Reader>> {
    InFormat::open(FormatId::At1, || {
        let format = match metadata {
            Some(metadata) => metadata.format,
            None => detect(frames, name)?,
        };
        let summary = metadata.and_then(|metadata| metadata.summary.clone());
        let sizes = metadata.map(|metadata| metadata.frames.clone()).unwrap_or_default();
        let bytes = summary.as_ref().map(|summary| summary.bytes);
        let checksums = metadata.and_then(|metadata| metadata.checksums.as_ref());
        // Without checksums, only the hash tells whether the archive is damaged: rows come from
        // the text, and nothing else is trusted.
        let lists = match (&summary, checksums) {
            (Some(_), Some(_)) => ListDirectory::read(frames, checksums)?,
            _ => None,
        };
        let groups = match (&summary, &lists) {
            (Some(summary), Some(lists)) => line_groups(lists, summary)?,
            _ => None,
        };
        let log = match (&summary, &lists) {
            (Some(summary), Some(lists)) => log_columns(lists, groups.as_ref(), summary)?,
            _ => None,
        };
        let text = ArchiveText::new(frames.clone(), sizes, bytes).with_groups(groups.clone());
        let text = match &summary {
            Some(_) => text.with_checksums(checksums.cloned()),
            // The text is decoded as a whole now, to summarize it.
            None => text,
        };
        let text = Arc::new(text);
        let text = TextTable::open(text, format, options, summary)?;
        let shape = served_shape(&text, options).filter(|_| rows == RowSource::Any);
        let is_served = shape.is_some();
        let columns = match (shape, checksums) {
            (Some(shape), Some(_)) => table::open(frames, &shape, checksums)?,
            _ => None,
        };
        let is_text = columns.is_none();
        // Another summary than that of the archive has other row groups, and statistics are
        // about the cells as they are stored.
        let is_plain = options.types.is_empty() && text.rows() == text.summary().rows;
        let is_grouped = |groups: &Arc<LineGroups>| {
            is_text && is_plain && groups.check_summary(text.summary()).is_ok()
        };
        let groups = groups.filter(is_grouped);
        let columns_with_words = (0..text.schema().fields().len())
            .map(|column| !text.null_words(column).is_empty())
            .collect();
        let log = log.filter(|log| is_served && log.fits(&text));
        let is_log = log.is_some() && columns.is_none();
        let table: Arc<dyn Reader> = match (columns, log) {
            (Some(columns), _) => columns,
            (None, Some(log)) => Arc::new(LogTable::new(text, log, groups.clone())),
            (None, None) => Arc::new(text),
        };
        let is_lines = matches!(format.kind, TextKind::Log | TextKind::Lines);
        let place = lists.as_ref().and_then(|lists| lists.place(FILTER));
        let filter_place = place.filter(|_| is_lines && groups.is_some());
        let names = table.schema().fields().iter().map(|field| field.name().clone()).collect();
        let frames = frames.clone();
        let sections = OnceLock::new();
        let ranges = match &groups {
            // The table of a text knows ranges of the text, not of the archive.
            _ if is_log || !is_text => RangeSource::Table,
            Some(groups) => RangeSource::Groups(groups.clone()),
            None => RangeSource::Unknown,
        };
        let filter = OnceLock::new();
        Ok(ArchiveTable {
            frames,
            table,
            ranges,
            groups,
            filter_place,
            filter,
            names,
            columns_with_words,
            sections,
        })
    })
}

/// Opens the line groups of an archive, if it has them.
fn line_groups(lists: &ListDirectory, summary: &TextSummary) -> Result<Option<Arc<LineGroups>>> {
    let Some(groups) = LineGroups::of(lists)? else { return Ok(None) };
    groups.check_summary(summary)?;
    Ok(Some(Arc::new(groups)))
}

/// Opens the columns of the log in an archive, if they can be read without its lines.
fn log_columns(
    lists: &ListDirectory,
    groups: Option<&Arc<LineGroups>>,
    summary: &TextSummary,
) -> Result<Option<Arc<LogColumns>>> {
    if summary.format.kind != TextKind::Log {
        return Ok(None);
    }
    Ok(LogColumns::open(lists, groups, summary.rows)?.map(Arc::new))
}

/// Returns the shape of a table that the columns of an archive may serve; `None` if only the
/// text tells what its rows are.
fn served_shape(text: &TextTable, options: &TextOptions) -> Option<TableShape> {
    let TextOptions { ragged, encoding, columns, infer, types, skip, capabilities, .. } = options;
    let reads_cells_alike = *ragged == Ragged::Refuse
        && *encoding == Encoding::Utf8
        && *columns == 0
        && *infer == Infer::Exact
        && types.is_empty()
        && !skip
        && *capabilities == Capabilities::EVERYTHING;
    let summary = text.summary();
    let is_mixed = |column: &ColumnSummary| match &column.state {
        ColumnState::Values(values) => has_mixed_elements(values),
        _ => false,
    };
    if !reads_cells_alike || !summary.rows_are_lines || summary.columns.iter().any(is_mixed) {
        return None;
    }
    let schema = text.schema();
    let count = schema.fields().len();
    let statistics = (0..count).map(|column| text.column_statistics(column)).collect();
    let shape = TableShape::new(text.text_format(), schema, text.rows());
    let null_words = (0..count).map(|column| text.null_words(column));
    Some(shape.with_null_words(null_words).with_statistics(statistics))
}

/// Returns whether some array has elements of several types, which become text.
///
/// The readers of row groups refuse numbers in such arrays.
fn has_mixed_elements(values: &ValueState) -> bool {
    let is_mixed = |elements: &ValueState| {
        let scalars = &elements.scalars;
        let kinds = [
            scalars.texts || elements.null_token.is_some(),
            scalars.bools,
            scalars.ints,
            scalars.floats,
            elements.object.is_some(),
            elements.list.is_some(),
        ];
        kinds.iter().filter(|&&kind| kind).count() > 1 || elements.is_raw
    };
    let list = values.list.as_deref();
    let members = values.object.iter().flat_map(|object| object.fields());
    list.is_some_and(|elements| is_mixed(elements) || has_mixed_elements(elements))
        || members.into_iter().any(|(_, member)| has_mixed_elements(member))
}

/// Finds out what table the text of an archive is, from its name and its first bytes.
fn detect(frames: &FrameReader, name: Option<&str>) -> Result<TextFormat> {
    let head = ArchiveText::head(frames, HEAD_BYTES)?;
    text::detect(name, &head).ok_or_else(|| match text::not_text(&head) {
        Some(why) => Error::unsupported(format!("a table of this content: it {why}")),
        None => Error::unsupported("a table of this content"),
    })
}

/// Compares what an archive states about its table with its text; returns how they differ.
pub(super) fn check(frames: &Arc<FrameReader>, metadata: &TableMetadata) -> Result<Option<Error>> {
    if let Some(checksums) = &metadata.checksums
        && let Err(err) = check_frames(frames, checksums)
    {
        return Ok(Some(in_at1(err)));
    }
    let Some(stated) = &metadata.summary else { return Ok(None) };
    let mut text = ArchiveText::new(frames.clone(), metadata.frames.clone(), None).open(0)?;
    let mut options = TextOptions::default();
    options.threads = frames.options().threads;
    let mut found = match TextSummary::of(text.as_mut(), metadata.format, &options) {
        Ok(found) => found,
        Err(err) => return Ok(Some(in_at1(err))),
    };
    // An older archive states less.
    let older;
    let stated = match metadata.has_spellings {
        true => stated,
        false => {
            forget_spellings(&mut found, stated);
            older = without_spellings(stated);
            &older
        }
    };
    match check_lists(frames, stated) {
        // The row index is that of the groups, which are compared with the text.
        Ok(true) => found.row_index.clone_from(&stated.row_index),
        Ok(false) => {}
        Err(err) => return Ok(Some(in_at1(err))),
    }
    let why = if found.rows != stated.rows {
        format!("it states {} rows, but the text has {}", stated.rows, found.rows)
    } else if let Some((wrong, _)) =
        stated.columns.iter().zip(&found.columns).find(|(stated, found)| stated != found)
    {
        let name = hypostyle_core::error::clipped(&wrong.name);
        format!("what it states about the column `{name}` does not fit the text")
    } else if found != *stated {
        "it does not fit the text".to_owned()
    } else {
        return Ok(None);
    };
    let err = Error::malformed("table", why).in_stream(TABLE);
    Ok(Some(in_at1(err)))
}

/// Compares line groups and the columns of a log with the text; returns whether there are groups.
fn check_lists(frames: &Arc<FrameReader>, stated: &TextSummary) -> Result<bool> {
    let Some(lists) = ListDirectory::read(frames, None)? else { return Ok(false) };
    let groups = line_groups(&lists, stated)?;
    let text = || ArchiveText::new(frames.clone(), Vec::new(), None).open(0);
    if let Some(groups) = &groups {
        groups.check(text()?.as_mut(), stated)?;
    }
    if let Some(log) = log_columns(&lists, groups.as_ref(), stated)? {
        log.check(text()?.as_mut())?;
    }
    Ok(groups.is_some())
}

/// Fails unless all frames of an archive have the checksums that it states.
fn check_frames(frames: &FrameReader, checksums: &ArchiveChecksums) -> Result<()> {
    let mut index = 0;
    frames.for_each(|extent, body| {
        let checksums = checksums.frame(index, extent)?;
        index += 1;
        checksums.check(frames.codec(), extent, body)
    })?;
    checksums.expect_frames(index)
}

/// Returns the summary of an older archive without what marks its facts as unknown.
fn without_spellings(stated: &TextSummary) -> TextSummary {
    let mut stated = stated.clone();
    for column in &mut stated.columns {
        each_state(column, &mut |state| state.has_other_numbers = false);
    }
    stated
}

/// Removes from a summary what those of older archives do not have.
fn forget_spellings(found: &mut TextSummary, stated: &TextSummary) {
    for (index, column) in found.columns.iter_mut().enumerate() {
        let is_spelled = |state: &InferredState| state.spelled.is_some();
        let is_text = match (&column.state, &column.odd_token) {
            (ColumnState::Cells(state), None) => is_spelled(state),
            (ColumnState::Cells(_), Some(odd)) => is_spelled(&odd.others),
            _ => false,
        };
        // Their writer took the column for text, of which it looked for bounds.
        if is_text && let Some(stated) = stated.columns.get(index) {
            column.odd_token.clone_from(&stated.odd_token);
            column.texts.clone_from(&stated.texts);
            column.state.clone_from(&stated.state);
        }
        if let ColumnState::Values(values) = &mut column.state {
            values.forget_null_tokens();
        }
        each_state(column, &mut |state| {
            (state.has_other_numbers, state.decimals, state.spelled) = (false, None, None);
        });
    }
}

/// Calls a function with every state of a column.
fn each_state(column: &mut ColumnSummary, change: &mut dyn FnMut(&mut InferredState)) {
    match &mut column.state {
        ColumnState::Cells(state) => change(state),
        ColumnState::Values(values) => values.each_state(change),
        _ => {}
    }
    if let Some(odd) = &mut column.odd_token {
        change(&mut odd.others);
    }
}

/// What knows which bytes of an archive a row group is decoded from.
#[derive(Debug)]
enum RangeSource {
    Table,
    Groups(Arc<LineGroups>),
    Unknown,
}

/// The table of an archive, with the byte map of the archive.
#[derive(Debug)]
struct ArchiveTable {
    frames: Arc<FrameReader>,
    table: Arc<dyn Reader>,
    ranges: RangeSource,
    /// The line groups, if they are the row groups of the table.
    groups: Option<Arc<LineGroups>>,
    /// The backend, offset and length of the filter of lines, if its parts may be the line groups.
    filter_place: Option<(Backend, u64, u64)>,
    /// The filter, if it was read.
    filter: OnceLock<TextFilter>,
    /// The names of the columns.
    names: Vec<String>,
    /// Whether each column has words that mean null.
    columns_with_words: Vec<bool>,
    sections: OnceLock<Vec<Section>>,
}

impl ArchiveTable {
    /// Returns the place of the filter of lines, if conditions on some columns can use it and it was
    /// not read.
    fn filter_to_load(&self, columns: &[usize]) -> Option<(Backend, u64, u64)> {
        let is_line =
            |&column: &usize| self.names.get(column).is_some_and(|it| it == text::lines::NAME);
        let is_needed = self.filter.get().is_none() && columns.iter().any(is_line);
        self.filter_place.filter(|_| is_needed)
    }
}

impl Reader for ArchiveTable {
    fn format(&self) -> FormatId {
        FormatId::At1
    }

    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn rows(&self) -> u64 {
        self.table.rows()
    }

    fn row_groups(&self) -> usize {
        self.table.row_groups()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        self.table.row_group_rows(group)
    }

    fn column_statistics(&self, column: usize) -> ColumnStatistics {
        self.table.column_statistics(column)
    }

    fn shares_parts(&self) -> bool {
        self.table.shares_parts()
    }

    fn dictionary_values(&self, column: usize) -> Option<u64> {
        self.table.dictionary_values(column)
    }

    fn statistics_ranges(&self, columns: &[usize]) -> Vec<Range<u64>> {
        let mut ranges = self.table.statistics_ranges(columns);
        if let Some((_, offset, len)) = self.filter_to_load(columns) {
            ranges.push(offset..offset.saturating_add(len));
        }
        ranges
    }

    fn load_statistics(&self, columns: &[usize]) -> Result<()> {
        self.table.load_statistics(columns)?;
        let Some(place) = self.filter_to_load(columns) else { return Ok(()) };
        let filter = TextFilter::load(&self.frames, place)?;
        let groups = self.groups.as_ref().map_or(0, |groups| groups.len());
        if let Some(filter) = filter.filter(|filter| filter.parts() == groups) {
            let _ = self.filter.set(filter);
        }
        Ok(())
    }

    fn pruning_statistics(&self, group: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        let statistics: Box<dyn PruningStatistics + '_> = match &self.groups {
            Some(groups) => {
                Box::new(groups.pruning(group, &self.names).with_types(self.table.schema()))
            }
            None => self.table.pruning_statistics(group)?,
        };
        Some(Box::new(TypedPruning {
            statistics,
            filter: self.filter.get().map(|filter| (filter, group)),
            table: self.table.as_ref(),
            schema: self.table.schema(),
            columns_with_words: &self.columns_with_words,
        }))
    }

    fn ranges(&self, group: usize, columns: &[usize]) -> Vec<Range<u64>> {
        match &self.ranges {
            RangeSource::Table => self.table.ranges(group, columns),
            RangeSource::Groups(groups) => groups.ranges(group, columns.len() == self.names.len()),
            RangeSource::Unknown => Vec::new(),
        }
    }

    fn column_bytes(&self, group: usize, columns: &[usize]) -> Option<u64> {
        self.table.column_bytes(group, columns)
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        self.table.clone().open_row_group(group, request)
    }

    fn sections(&self) -> Vec<Section> {
        let list = || {
            let frames = describe::frames(&self.frames).unwrap_or_default();
            let streams = frames.iter().flat_map(|frame| &frame.streams);
            let section = |stream: &StreamInfo| Section {
                what: "stream",
                column: None,
                offset: stream.offset,
                stored: stream.stored,
                raw: stream.raw,
            };
            streams.map(section).collect()
        };
        self.sections.get_or_init(list).clone()
    }

    fn deviations(&self) -> Vec<Deviation> {
        self.frames.deviations().list()
    }

    fn notes(&self) -> Vec<String> {
        self.table.notes()
    }
}
