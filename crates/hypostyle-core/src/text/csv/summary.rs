//! Summarises delimited text.

use std::io::Read;

use super::blocks::{BlockReader, BlockSizes};
use super::delimiter::check_delimiter;
use super::split::{CellSpan, RowBlock};
use super::syntax::Syntax;
use crate::buffer_pool::BufferPool;
use crate::error::Result;
use crate::options::resolve_threads;
use crate::parallel;
use crate::projection::unknown_column;
use crate::text::format::TextFormat;
use crate::text::options::TextOptions;
use crate::text::row_index::RowIndex;
use crate::text::sizes::TextSizes;
use crate::text::state::InferredState;
use crate::text::summary::{
    ColumnState, ColumnSummary, OddToken, TextRange, TextRangeFinder, TextSummary,
};

/// Reads a delimited text to its end.
pub(crate) fn summarise(
    input: &mut dyn Read,
    format: TextFormat,
    syntax: Syntax,
    options: &TextOptions,
    sizes: TextSizes,
) -> Result<TextSummary> {
    check_delimiter(syntax.delimiter)?;
    let block_sizes = BlockSizes::new(&options.limits, sizes);
    let mut blocks = BlockReader::new(input, syntax, block_sizes);
    blocks.skip = options.skip;
    let names = blocks.names()?;
    if let Some((name, _)) = options.types.iter().find(|(name, _)| !names.contains(name)) {
        return Err(unknown_column(name, names.iter().map(String::as_str)));
    }
    let words = options.effective_null_words();
    let null_words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
    let first = blocks.position();
    let mut index = RowIndex::new(first, sizes.index);
    let mut columns: Vec<CellSummary> = names.iter().map(|_| CellSummary::default()).collect();
    let mut rows_are_lines = true;
    let mut ends_open = false;
    let pool = BufferPool::default();
    let work = |rows: RowBlock| {
        let columns = (0..rows.width).map(|column| CellSummary::of(&rows, column, &null_words));
        let columns: Vec<CellSummary> = columns.collect();
        let ends_open = rows.text.last() != Some(&b'\n');
        let lines = rows.newlines + usize::from(ends_open);
        let is_lines = !rows.has_lone_cr && lines == rows.count();
        let start = rows.start;
        // Do not keep the memory of a row that is much longer than a block.
        if rows.text.capacity() <= block_sizes.block.saturating_mul(2) {
            pool.give(rows);
        }
        Ok((start, is_lines, ends_open, columns))
    };
    parallel::stream(
        resolve_threads(options.threads),
        || blocks.next(pool.take()),
        work,
        |(start, is_lines, is_open, found)| {
            index.add(start);
            rows_are_lines &= is_lines;
            ends_open = is_open;
            for (total, next) in columns.iter_mut().zip(found) {
                total.merge(next);
            }
            Ok(())
        },
    )?;
    let end = blocks.position();
    let columns = names.into_iter().zip(columns).map(|(name, column)| column.finish(name));
    Ok(TextSummary {
        format,
        encoding: options.encoding,
        rows: end.row,
        columns: columns.collect(),
        rows_are_lines: rows_are_lines && !blocks.dropped_blocks,
        ends_open,
        row_index: index.finish(),
        bytes: end.offset,
        null_words: words,
        skipped: blocks.skipped,
    })
}

/// What the cells of a column have in common, so far.
#[derive(Debug, PartialEq)]
struct CellSummary {
    /// The state of the cells that are numbers; all others are in `odd`.
    numbers: InferredState,
    odd: Odd,
    nulls: u64,
    empty_texts: u64,
    texts: Option<TextRange>,
}

/// What a cell holds.
enum Kind {
    Null,
    Empty,
    Filled,
}

impl Kind {
    #[inline]
    fn of(cell: CellSpan, bytes: &[u8], null_words: &[&[u8]]) -> Self {
        if bytes.is_empty() {
            return if cell.quoted() { Self::Empty } else { Self::Null };
        }
        if !null_words.is_empty() && !cell.quoted() && null_words.contains(&bytes) {
            return Self::Null;
        }
        Self::Filled
    }
}

/// The cells that are not numbers.
#[derive(Debug, PartialEq)]
enum Odd {
    None,
    One {
        text: Vec<u8>,
        count: u64,
        is_quoted: bool,
    },
    /// Different ones: the column is text.
    Several,
}

impl Default for CellSummary {
    fn default() -> Self {
        Self { numbers: InferredState::NONE, odd: Odd::None, nulls: 0, empty_texts: 0, texts: None }
    }
}

impl CellSummary {
    fn of(rows: &RowBlock, column: usize, null_words: &[&[u8]]) -> Self {
        let mut found = Self::default();
        let mut odd: Option<(&[u8], u64, bool)> = None;
        let cells = rows.cells.get(column..).unwrap_or_default();
        for cell in cells.iter().step_by(rows.width.max(1)) {
            // Most cells are short integers. A null word may be one.
            if null_words.is_empty()
                && let Some(value) = rows.short_int(*cell)
            {
                found.numbers.add_int(value);
                continue;
            }
            let bytes = cell.bytes(rows);
            match Kind::of(*cell, bytes, null_words) {
                Kind::Null => found.nulls += 1,
                Kind::Empty => found.empty_texts += 1,
                Kind::Filled => match &mut odd {
                    Some((text, count, is_quoted)) if *text == bytes => {
                        *count += 1;
                        *is_quoted |= cell.quoted();
                    }
                    _ if found.numbers.add_number_cell(bytes) => {}
                    None => odd = Some((bytes, 1, cell.quoted())),
                    Some(_) => return Self::of_texts(rows, column, null_words),
                },
            }
        }
        if let Some((text, count, is_quoted)) = odd {
            found.odd = Odd::One { text: text.to_vec(), count, is_quoted };
        }
        found
    }

    /// Summarises a column of which several different cells are not numbers.
    fn of_texts(rows: &RowBlock, column: usize, null_words: &[&[u8]]) -> Self {
        let mut found = Self { odd: Odd::Several, ..Self::default() };
        let mut range = TextRangeFinder::default();
        let cells = rows.cells.get(column..).unwrap_or_default();
        for cell in cells.iter().step_by(rows.width.max(1)) {
            let bytes = cell.bytes(rows);
            match Kind::of(*cell, bytes, null_words) {
                Kind::Null => found.nulls += 1,
                Kind::Empty => found.empty_texts += 1,
                Kind::Filled => range.add(bytes),
            }
        }
        found.texts = range.finish();
        found
    }

    /// Forgets the numbers of a text column: which of them were seen depends on the blocks.
    fn normalise(&mut self) {
        if self.odd == Odd::Several {
            self.numbers = InferredState::NONE;
        }
    }

    /// Returns whether no cell has been added that is neither null nor empty.
    fn is_new(&self) -> bool {
        let InferredState { ints, floats, texts, .. } = self.numbers;
        !(ints || floats || texts) && self.odd == Odd::None
    }

    fn merge(&mut self, next: Self) {
        let is_next_new = next.is_new();
        // The bounds are unknown if some block had numbers and looked for no bounds.
        self.texts = match (self.texts.take(), next.texts) {
            (Some(one), Some(other)) => Some(one.merged(other)),
            (None, Some(first)) if self.is_new() => Some(first),
            (Some(known), None) if is_next_new => Some(known),
            _ => None,
        };
        self.numbers.merge(&next.numbers);
        self.nulls += next.nulls;
        self.empty_texts += next.empty_texts;
        match (&mut self.odd, next.odd) {
            (_, Odd::None) | (Odd::Several, _) => {}
            (odd @ Odd::None, next) => *odd = next,
            (
                Odd::One { text, count, is_quoted },
                Odd::One { text: same, count: more, is_quoted: is_next_quoted },
            ) if *text == same => {
                *count += more;
                *is_quoted |= is_next_quoted;
            }
            (odd, _) => *odd = Odd::Several,
        }
        self.normalise();
    }

    fn finish(self, name: String) -> ColumnSummary {
        let gaps = self.nulls > 0 || self.empty_texts > 0;
        let numbers = InferredState { gaps, ..self.numbers };
        let mut state = numbers;
        if self.odd != Odd::None {
            state.add_text();
        }
        let odd_token = match self.odd {
            Odd::One { text, count, is_quoted } => {
                let text = String::from_utf8_lossy(&text).into_owned();
                Some(OddToken { text, count, is_quoted, numbers })
            }
            _ => None,
        };
        ColumnSummary {
            name,
            state: ColumnState::Cells(state),
            nulls: Some(self.nulls),
            empty_texts: self.empty_texts,
            texts: self.texts,
            odd_token,
        }
    }
}
