//! Plain lines and logs as tables.

use std::io::Read;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{DataType, Field};

use super::format::{TextFormat, TextKind};
use super::line_blocks::{LineBlock, LineBlocks};
use super::options::TextOptions;
use super::position::RowPosition;
use super::row_blocks::{PickedRows, RowBlocks, TextColumn};
use super::row_index::RowIndex;
use super::sizes::TextSizes;
use super::skipped::Skipped;
use super::summary::{ColumnState, ColumnSummary, TextSummary};
use super::{lines, log};
use crate::error::{Error, Result};
use crate::options::resolve_threads;
use crate::parallel;
use crate::projection::unknown_column;

/// Bytes of text that are cut into lines together.
const BLOCK_BYTES: usize = 1 << 20;

/// Reads lines to their end.
pub(super) fn summarise(
    input: &mut dyn Read,
    format: TextFormat,
    options: &TextOptions,
    sizes: TextSizes,
) -> Result<TextSummary> {
    let mut blocks = blocks(input, options, sizes, RowPosition::default());
    let mut index = RowIndex::new(RowPosition::default(), sizes.index);
    let (mut rows, mut ends_open, mut is_utf8) = (0_u64, false, true);
    parallel::stream(
        resolve_threads(options.threads),
        || blocks.next(LineBlock::default()),
        |block| {
            // Blocks end with a newline, so they do not cut characters.
            let is_utf8 = std::str::from_utf8(&block.text).is_ok();
            Ok((block.start, block.lines(), block.ends_open(), is_utf8))
        },
        |(start, count, is_open, is_valid)| {
            index.add(start);
            rows += count as u64;
            (ends_open, is_utf8) = (is_open, is_utf8 && is_valid);
            Ok(())
        },
    )?;
    let line = if is_utf8 { ColumnState::Text } else { ColumnState::Binary };
    let column = |name: &str, state, nulls| ColumnSummary {
        name: name.to_owned(),
        state,
        nulls,
        empty_texts: 0,
        texts: None,
        odd_token: None,
    };
    let columns = match (format.kind, log::COLUMNS) {
        (TextKind::Log, [name, time, template, variables]) => vec![
            column(name, line, Some(0)),
            column(time, ColumnState::Text, None),
            column(template, ColumnState::Text, Some(0)),
            column(variables, ColumnState::TextList, Some(0)),
        ],
        _ => vec![column(lines::NAME, line, Some(0))],
    };
    for (name, _) in &options.types {
        if !columns.iter().any(|column| column.name == *name) {
            return Err(unknown_column(name, columns.iter().map(|column| column.name.as_str())));
        }
    }
    Ok(TextSummary {
        format,
        encoding: options.encoding,
        rows,
        columns,
        rows_are_lines: true,
        ends_open,
        row_index: index.finish(),
        bytes: blocks.position().offset,
        null_words: Vec::new(),
        skipped: Skipped::default(),
    })
}

fn blocks<R: Read>(
    input: R,
    options: &TextOptions,
    sizes: TextSizes,
    position: RowPosition,
) -> LineBlocks<R> {
    let max_line = usize::try_from(options.limits.row_bytes).unwrap_or(usize::MAX);
    LineBlocks::resume(input, sizes.block.unwrap_or(BLOCK_BYTES), max_line, position)
}

/// The type of the variables of a log.
pub(super) fn text_list() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)))
}

/// The blocks of a part of lines.
pub(super) struct LineRows<R> {
    blocks: LineBlocks<R>,
    block: LineBlock,
    /// The ends of the lines, newlines not included, after the start of the first.
    ends: Vec<usize>,
    /// Whether a null row follows a last line without a newline.
    mark_open_line: bool,
}

impl<R: Read> LineRows<R> {
    /// Returns the lines from a position on.
    pub(super) fn new(
        input: R,
        options: &TextOptions,
        sizes: TextSizes,
        position: RowPosition,
    ) -> Self {
        Self {
            blocks: blocks(input, options, sizes, position),
            block: LineBlock::default(),
            ends: Vec::new(),
            mark_open_line: options.mark_open_line,
        }
    }

    /// Returns a line; `None` for the mark of an open line.
    fn line(&self, row: usize) -> Option<&[u8]> {
        let end = *self.ends.get(row)?;
        let start = match row.checked_sub(1) {
            Some(before) => self.ends.get(before)? + 1,
            None => 0,
        };
        self.block.text.get(start..end)
    }

    fn array(&self, column: &TextColumn, rows: &PickedRows<'_>) -> Result<ArrayRef> {
        let lines = (0..rows.len()).map(|position| self.line(rows.row(position)));
        let text = |line: &'_ [u8]| String::from_utf8_lossy(line).into_owned();
        let array: ArrayRef = match column.index {
            0 => return line_array(lines, &column.data_type),
            1 => Arc::new(lines.map(|line| line.and_then(log::time)).collect::<StringArray>()),
            2 => {
                let mut templates = StringBuilder::new();
                let mut template = String::new();
                for line in lines {
                    template.clear();
                    log::template_into(&text(line.unwrap_or_default()), &mut template);
                    templates.append_value(&template);
                }
                Arc::new(templates.finish())
            }
            _ => {
                let mut lists = ListBuilder::new(StringBuilder::new());
                for line in lines {
                    let line = text(line.unwrap_or_default());
                    log::variables(&line).for_each(|token| lists.values().append_value(token));
                    lists.append(true);
                }
                Arc::new(lists.finish())
            }
        };
        crate::cast::cast(&array, &column.data_type)
    }
}

impl<R: Read + Send> RowBlocks for LineRows<R> {
    fn next_block(&mut self) -> Result<usize> {
        let memory = std::mem::take(&mut self.block);
        self.ends.clear();
        let Some(block) = self.blocks.next(memory)? else { return Ok(0) };
        self.block = block;
        self.ends.extend(memchr::memchr_iter(b'\n', &self.block.text));
        let is_open = self.block.ends_open();
        if is_open {
            self.ends.push(self.block.text.len());
        }
        Ok(self.ends.len() + usize::from(is_open && self.mark_open_line))
    }

    fn column(&self, column: &TextColumn, rows: &PickedRows<'_>) -> Result<ArrayRef> {
        let array = self.array(column, rows);
        array.map_err(|err| rows.place(err, self.block.start.row, column))
    }
}

/// Returns lines as text or bytes.
fn line_array<'a>(
    lines: impl ExactSizeIterator<Item = Option<&'a [u8]>>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let mut bytes = Vec::new();
    let mut offsets = Vec::with_capacity(lines.len() + 1);
    offsets.push(0_i32);
    let mut nulls = NullBufferBuilder::new(lines.len());
    for line in lines {
        nulls.append(line.is_some());
        bytes.extend_from_slice(line.unwrap_or_default());
        let end = i32::try_from(bytes.len());
        offsets.push(end.map_err(|_| Error::malformed("lines", "take more than 2 GiB at once"))?);
    }
    let (offsets, nulls) = (OffsetBuffer::new(offsets.into()), nulls.finish());
    let array: ArrayRef = match data_type {
        DataType::Binary => Arc::new(BinaryArray::try_new(offsets, bytes.into(), nulls)?),
        _ => Arc::new(StringArray::try_new(offsets, bytes.into(), nulls)?),
    };
    crate::cast::cast(&array, data_type)
}
