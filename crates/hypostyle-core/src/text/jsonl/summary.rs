//! Summarises JSON Lines.

use std::io::Read;

use super::infer::add_value;
use super::lines::for_each_object;
use crate::error::{Error, ErrorKind, Result};
use crate::options::resolve_threads;
use crate::parallel;
use crate::projection::unknown_column;
use crate::text::format::TextFormat;
use crate::text::line_blocks::{LineBlock, LineBlocks};
use crate::text::options::TextOptions;
use crate::text::position::RowPosition;
use crate::text::row_index::RowIndex;
use crate::text::sizes::TextSizes;
use crate::text::skipped::Skipped;
use crate::text::summary::{ColumnState, ColumnSummary, ObjectState, TextSummary};

/// Bytes of text that are parsed together.
pub(super) const BLOCK_BYTES: usize = 1 << 20;

/// Reads JSON Lines to their end.
pub(crate) fn summarise(
    input: &mut dyn Read,
    format: TextFormat,
    options: &TextOptions,
    sizes: TextSizes,
) -> Result<TextSummary> {
    let max_line = usize::try_from(options.limits.row_bytes).unwrap_or(usize::MAX);
    let max_keys = usize::try_from(options.limits.columns).unwrap_or(usize::MAX);
    let mut lines = LineBlocks::new(input, sizes.block.unwrap_or(BLOCK_BYTES), max_line, true);
    let mut root = ObjectState::default();
    let (mut rows, mut keys) = (0_u64, 0_usize);
    let (mut rows_are_lines, mut ends_open) = (true, false);
    let mut skipped = Skipped::default();
    let mut index: Option<RowIndex> = None;
    parallel::stream(
        resolve_threads(options.threads),
        || lines.next(LineBlock::default()),
        |block| Found::of(&block, max_keys, options.skip),
        |found| {
            let start = RowPosition { row: rows, ..found.start };
            match &mut index {
                Some(index) => index.add(start),
                None => index = Some(RowIndex::new(start, sizes.index)),
            }
            rows += found.rows as u64;
            keys += root.merge(found.root);
            check_keys(keys, max_keys)?;
            skipped.extend(&found.skipped);
            rows_are_lines &= found.rows == found.lines;
            ends_open = found.ends_open;
            Ok(())
        },
    )?;
    if root.fields().is_empty() {
        return Err(Error::malformed("table", "is empty: it has no object with a key"));
    }
    let names = || root.fields().iter().map(|(name, _)| name.as_str());
    for (name, _) in &options.types {
        if !names().any(|known| known == name) {
            return Err(unknown_column(name, names()));
        }
    }
    let end = lines.position();
    let row_index = index.map_or_else(|| vec![RowPosition::default()], RowIndex::finish);
    let column = |(name, mut state): (String, crate::text::summary::ValueState)| {
        let nulls = rows.saturating_sub(state.count);
        state.scalars.gaps = nulls > 0;
        ColumnSummary {
            name,
            nulls: Some(nulls),
            empty_texts: 0,
            texts: None,
            odd_token: None,
            state: ColumnState::Values(state),
        }
    };
    Ok(TextSummary {
        format,
        encoding: options.encoding,
        rows,
        columns: root.into_fields().into_iter().map(column).collect(),
        rows_are_lines,
        ends_open,
        row_index,
        bytes: end.offset,
        null_words: Vec::new(),
        skipped,
    })
}

/// What the lines of a block have.
struct Found {
    start: RowPosition,
    rows: usize,
    lines: usize,
    ends_open: bool,
    root: ObjectState,
    skipped: Skipped,
}

impl Found {
    fn of(block: &LineBlock, max_keys: usize, skip: bool) -> Result<Self> {
        let mut root = ObjectState::default();
        let mut skipped = Skipped::default();
        let mut keys = 0;
        let rows = for_each_object(block, skip, &mut skipped, |line, members| {
            root.begin();
            let mut guess = 0;
            for (key, raw) in members {
                let (at, is_new) = root.position_or_insert(key, guess);
                keys += usize::from(is_new);
                let state = root.mark(at).ok_or_else(|| line.repeated_key(key))?;
                keys += add_value(state, raw.get(), 0).map_err(|_| line.bad_value(raw.get()))?;
                check_keys(keys, max_keys)?;
                guess = at + 1;
            }
            Ok(())
        })?;
        let (start, lines, ends_open) = (block.start, block.lines(), block.ends_open());
        Ok(Self { start, rows, lines, ends_open, root, skipped })
    }
}

fn check_keys(count: usize, limit: usize) -> Result<()> {
    if count <= limit {
        return Ok(());
    }
    let (asked, limit) = (count as u64, limit as u64);
    Err(ErrorKind::LimitExceeded { what: "number of keys", asked, limit }.into())
}
