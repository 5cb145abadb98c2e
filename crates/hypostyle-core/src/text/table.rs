//! A text as a table that is read a part at a time.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{Schema, SchemaRef};

use super::format::{TextFormat, TextKind};
#[cfg(feature = "json")]
use super::jsonl::array_text::ArrayText;
use super::line_rows::LineRows;
use super::options::TextOptions;
use super::position::RowPosition;
use super::resolve::ResolvedColumn;
use super::row_blocks::{PickedRows, RowBlocks, TextColumn};
use super::sizes::TextSizes;
use super::source::TextSource;
use super::state::Infer;
use super::statistics::statistics;
use super::summarise::summarise;
use super::summary::TextSummary;
use crate::error::{Error, Result, clipped};
use crate::format_id::FormatId;
use crate::projection::{column_out_of_range, unknown_column};
use crate::reader::{
    ColumnStatistics, Reader, RowGroupReader, RowGroupRequest, row_group_out_of_range,
};
use crate::row_selection::RowSelection;

/// A text as a table.
///
/// If the text can be read from the middle, each part of the row index is a row group, so
/// that threads read different parts, and a scan of some rows reads only theirs.
#[derive(Debug)]
pub struct TextTable {
    source: Arc<dyn TextSource>,
    format: TextFormat,
    options: TextOptions,
    summary: TextSummary,
    schema: SchemaRef,
    columns: Vec<TextColumn>,
    /// Columns whose numbers lose how they were spelled.
    respelled: Vec<String>,
    groups: Vec<Part>,
    sizes: TextSizes,
    #[cfg(feature = "json")]
    keys: Arc<super::jsonl::row_blocks::KeyColumns>,
}

/// Columns that a note names at most.
const MAX_NAMED: usize = 5;

/// The part of a text that is a row group.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: RowPosition,
    /// The offset of the end; `None` for the end of the text.
    end: Option<u64>,
    rows: u64,
}

impl TextTable {
    /// Opens a text as a table.
    ///
    /// Without a summary, or with one of other options, the whole text is read once.
    ///
    /// # Errors
    ///
    /// Fails if the text cannot be read, for malformed rows, and if a type was requested
    /// for a column that does not exist.
    pub fn open(
        source: Arc<dyn TextSource>,
        format: TextFormat,
        options: &TextOptions,
        summary: Option<TextSummary>,
    ) -> Result<Self> {
        Self::open_sized(source, format, options, summary, TextSizes::default())
    }

    pub(super) fn open_sized(
        source: Arc<dyn TextSource>,
        format: TextFormat,
        options: &TextOptions,
        summary: Option<TextSummary>,
        sizes: TextSizes,
    ) -> Result<Self> {
        #[cfg(feature = "json")]
        let (source, format) = match format.kind {
            TextKind::JsonArray => {
                let lines: Arc<dyn TextSource> = Arc::new(ArrayText::open(source)?);
                (lines, TextFormat::new(TextKind::JsonLines))
            }
            _ => (source, format),
        };
        let format = format.with_options(options);
        let summary = match summary.and_then(|summary| summary.for_options(format, options)) {
            Some(summary) => summary,
            None => summarise(source.open(0)?.as_mut(), format, options, sizes)?,
        };
        Self::new(source, format, options, summary, sizes)
    }

    fn new(
        source: Arc<dyn TextSource>,
        format: TextFormat,
        options: &TextOptions,
        summary: TextSummary,
        sizes: TextSizes,
    ) -> Result<Self> {
        let (mut fields, mut columns, mut respelled) = (Vec::new(), Vec::new(), Vec::new());
        let exact = TextOptions { infer: Infer::Exact, ..options.clone() };
        for (name, _) in &options.types {
            if !summary.columns.iter().any(|column| column.name == *name) {
                let names = summary.columns.iter().map(|column| column.name.as_str());
                return Err(unknown_column(name, names));
            }
        }
        for (index, column) in summary.columns.iter().enumerate() {
            let requested = options.types.iter().find(|(name, _)| *name == column.name);
            let requested = requested.map(|(_, requested)| *requested);
            let resolved = ResolvedColumn::of(column, requested, options);
            if options.infer == Infer::Values
                && ResolvedColumn::of(column, requested, &exact).data_type != resolved.data_type
            {
                respelled.push(column.name.clone());
            }
            fields.push(resolved.field(&column.name));
            let gaps_are_empty = !options.capabilities.nulls;
            let (name, data_type) = (column.name.clone(), resolved.data_type);
            let null_token = resolved.null_token;
            columns.push(TextColumn { index, name, data_type, gaps_are_empty, null_token });
        }
        let mark =
            options.mark_open_line && summary.ends_open && matches!(format.kind, TextKind::Lines);
        let rows = summary.rows.saturating_add(u64::from(mark));
        let groups = parts(&summary, rows, source.is_seekable());
        Ok(Self {
            #[cfg(feature = "json")]
            keys: Arc::new(super::jsonl::row_blocks::KeyColumns::new(match format.kind {
                TextKind::JsonLines => columns.iter().map(|column| column.name.clone()).collect(),
                _ => Vec::new(),
            })),
            source,
            format,
            options: options.clone(),
            schema: Arc::new(Schema::new(fields)),
            columns,
            respelled,
            groups,
            summary,
            sizes,
        })
    }

    /// Returns what is known of the text.
    pub fn summary(&self) -> &TextSummary {
        &self.summary
    }

    /// Returns the words that mean null in a column, besides the empty cell.
    pub fn null_words(&self, column: usize) -> Vec<String> {
        match self.columns.get(column).and_then(|column| column.null_token.clone()) {
            Some(token) => vec![token],
            None => self.summary.null_words.clone(),
        }
    }

    /// Returns the format in which the text is read.
    pub fn text_format(&self) -> TextFormat {
        self.format
    }

    fn column(&self, index: usize) -> Result<&TextColumn> {
        let count = self.columns.len();
        self.columns.get(index).ok_or_else(|| column_out_of_range(index, count))
    }

    fn part(&self, group: usize) -> Result<Part> {
        let count = self.groups.len();
        self.groups.get(group).copied().ok_or_else(|| row_group_out_of_range(group, count))
    }

    /// Starts to parse a part of the text.
    fn blocks(&self, part: Part, columns: &[usize]) -> Result<Box<dyn RowBlocks>> {
        let named = columns.iter().filter_map(|&column| self.columns.get(column));
        let names: Vec<&str> = named.map(|column| column.name.as_str()).collect();
        let input = self.source.open_part(part.start.offset, part.end, &names)?;
        let (options, sizes, start) = (&self.options, self.sizes, part.start);
        match self.format.kind {
            #[cfg(feature = "csv")]
            TextKind::Delimited { .. } | TextKind::VariantCalls => {
                let syntax = super::csv::syntax::Syntax::of(self.format, options);
                let width = self.columns.len();
                Ok(Box::new(super::csv::row_blocks::CellBlocks::new(
                    input, syntax, options, sizes, width, start,
                )))
            }
            #[cfg(feature = "json")]
            TextKind::JsonLines => Ok(Box::new(super::jsonl::row_blocks::ValueBlocks::new(
                input, options, sizes, &self.keys, columns, start,
            ))),
            TextKind::JsonArray => Err(super::summarise::not_lines()),
            TextKind::Lines | TextKind::Log => {
                Ok(Box::new(LineRows::new(input, options, sizes, start)))
            }
            #[cfg(not(all(feature = "csv", feature = "json")))]
            kind => Err(super::summarise::not_compiled(kind)),
        }
    }
}

/// Cuts a text into row groups.
fn parts(summary: &TextSummary, rows: u64, is_seekable: bool) -> Vec<Part> {
    let positions = if is_seekable { summary.row_index.as_slice() } else { &[] };
    let first = summary.row_index.first().copied().unwrap_or_default();
    let mut parts: Vec<Part> = Vec::new();
    for (at, &start) in positions.iter().enumerate() {
        let next = positions.get(at + 1);
        let end = next.map_or(rows, |next| next.row.min(rows));
        let offset = next.map(|next| next.offset);
        parts.push(Part { start, end: offset, rows: end.saturating_sub(start.row) });
    }
    if parts.is_empty() {
        parts.push(Part { start: first, end: None, rows });
    }
    parts
}

impl Reader for TextTable {
    fn format(&self) -> FormatId {
        match self.format.kind {
            TextKind::Delimited { delimiter: b'\t' } => FormatId::Tsv,
            TextKind::Delimited { .. } => FormatId::Csv,
            TextKind::JsonLines | TextKind::JsonArray => FormatId::Jsonl,
            TextKind::Lines => FormatId::Txt,
            TextKind::Log => FormatId::Log,
            TextKind::VariantCalls => FormatId::Vcf,
        }
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.groups.iter().map(|part| part.rows).sum()
    }

    fn row_groups(&self) -> usize {
        self.groups.len()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        self.groups.get(group).map_or(0, |part| part.rows)
    }

    fn column_statistics(&self, column: usize) -> ColumnStatistics {
        let (Some(typed), Some(summary)) =
            (self.columns.get(column), self.summary.columns.get(column))
        else {
            return ColumnStatistics::default();
        };
        statistics(typed, summary, self.rows().saturating_sub(self.summary.rows))
    }

    fn ranges(&self, group: usize, _: &[usize]) -> Vec<Range<u64>> {
        let Some(part) = self.groups.get(group).filter(|_| self.source.is_seekable()) else {
            return Vec::new();
        };
        let end = part.end.or_else(|| self.source.size());
        end.map(|end| part.start.offset..end).into_iter().collect()
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        let part = self.part(group)?;
        request.columns.iter().try_for_each(|&column| self.column(column).map(|_| ()))?;
        Ok(Box::new(TextRowGroup {
            columns: request.columns.to_vec(),
            blocks: None,
            table: self,
            part,
            rows_left: part.rows,
            block_rows: 0,
            window: 0..0,
            skipped: 0,
        }))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match self.summary.skipped.count {
            0 => {}
            1 => notes.push("1 malformed row was skipped".to_owned()),
            count => notes.push(format!("{count} malformed rows were skipped")),
        }
        let named =
            self.respelled.iter().take(MAX_NAMED).map(|name| format!("`{}`", clipped(name)));
        let named = named.collect::<Vec<_>>().join(", ");
        match self.respelled.len() {
            0 => {}
            1 => notes.push(format!("the numbers of column {named} become floats: spelled as they are, they would be text")),
            count => {
                let more = if count > MAX_NAMED { ", ..." } else { "" };
                notes.push(format!("the numbers of {count} columns become floats: spelled as they are, they would be text: {named}{more}"));
            }
        }
        notes
    }
}

/// Reads a part of a text.
struct TextRowGroup {
    table: Arc<TextTable>,
    part: Part,
    columns: Vec<usize>,
    blocks: Option<Box<dyn RowBlocks>>,
    /// The rows after the window that the row group still has.
    rows_left: u64,
    /// The number of rows of the block that is parsed.
    block_rows: usize,
    /// The rows of the window in the block.
    window: Range<usize>,
    /// The rows that an unfinished call of `skip` has skipped.
    skipped: u64,
}

impl TextRowGroup {
    /// Parses the next block if all rows of this one have been in a window; returns the
    /// number of rows after the window.
    fn ready(&mut self) -> Result<usize> {
        if self.window.end < self.block_rows {
            return Ok(self.block_rows - self.window.end);
        }
        let mut blocks = match self.blocks.take() {
            Some(blocks) => blocks,
            None => self.table.blocks(self.part, &self.columns)?,
        };
        let outcome = blocks.next_block();
        self.blocks = Some(blocks);
        let rows = outcome?;
        (self.block_rows, self.window) = (rows, 0..0);
        // The summary may be one of another text.
        if rows as u64 > self.rows_left || (rows == 0 && self.rows_left > 0) {
            let more = if rows == 0 { "fewer" } else { "more" };
            let why = format!("has {more} rows than its summary says");
            return Err(Error::malformed("text", why).at(self.part.start.offset));
        }
        Ok(rows)
    }
}

impl RowGroupReader for TextRowGroup {
    fn skip(&mut self, rows: u64) -> Result<u64> {
        let mut done = std::mem::take(&mut self.skipped);
        while done < rows && self.rows_left > 0 {
            let ready = self.ready().inspect_err(|_| self.skipped = done)?;
            let step = usize::try_from(rows - done).unwrap_or(usize::MAX).min(ready);
            let end = self.window.end.saturating_add(step);
            self.window = end..end;
            self.rows_left = self.rows_left.saturating_sub(step as u64);
            done += step as u64;
        }
        Ok(done)
    }

    fn next_window(&mut self, max_rows: usize) -> Result<usize> {
        if self.rows_left == 0 {
            self.window = self.window.end..self.window.end;
            return Ok(0);
        }
        let rows = self.ready()?.min(max_rows);
        self.window = self.window.end..self.window.end.saturating_add(rows);
        self.rows_left = self.rows_left.saturating_sub(rows as u64);
        Ok(rows)
    }

    fn read(&mut self, columns: &[usize], rows: Option<&RowSelection>) -> Result<Vec<ArrayRef>> {
        let single: Vec<usize>;
        let picked = match rows {
            None => PickedRows::Range(self.window.clone()),
            Some(rows) => {
                rows.check(self.window.len())?;
                match rows.runs() {
                    [run] => PickedRows::Range(
                        self.window.start + run.start..self.window.start + run.end,
                    ),
                    _ => {
                        single = rows.iter().map(|row| self.window.start + row).collect();
                        PickedRows::Single(&single)
                    }
                }
            }
        };
        let blocks = match &self.blocks {
            Some(blocks) => blocks,
            // Without a window, the arrays are empty.
            None => self.blocks.insert(self.table.blocks(self.part, &self.columns)?),
        };
        columns.iter().map(|&column| blocks.column(self.table.column(column)?, &picked)).collect()
    }
}
