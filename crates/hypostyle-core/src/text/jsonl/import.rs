//! Imports a JSON Lines file as typed columns in one pass.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray};
use memchr::memchr;

use super::key_values::{JsonCell, KeyValues};
use super::object::Object;
use crate::error::{Error, ErrorKind, Result, clipped};
use crate::options::resolve_threads;
use crate::parallel;
use crate::projection::unknown_column;
use crate::spill::SpillBuffer;
use crate::text::infer::{ImportOptions, Imported, Skipped, TypedChunk};
use crate::text::input::{MAX_COLUMNS, MAX_ROW_BYTES, Progress, ProgressRead};
use crate::text::line_blocks::{LineBlock, LineBlocks};
use crate::text::state::{Infer, InferredState};
use crate::types::Capabilities;

/// Bytes of text that are parsed together.
const BLOCK_BYTES: usize = 4 << 20;

/// Reads a whole JSON Lines file.
///
/// Of `options`, only the requested types, the threads and `skip` apply: JSON itself
/// distinguishes numbers, null and text.
///
/// # Errors
///
/// Fails for a line that is not a JSON object and for an object that has a key twice. The
/// error has the line (as the row; blank lines count) and the byte offset.
pub fn import(
    input: &mut dyn Read,
    options: &ImportOptions,
    spill: SpillBuffer,
    progress: Progress<'_>,
) -> Result<Imported> {
    import_sized(input, options, spill, progress, LineSizes::default())
}

/// Sizes of reads and limits of lines.
///
/// Only tests change them, to avoid inputs of gigabytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineSizes {
    pub(super) block: usize,
    pub(super) columns: usize,
    pub(super) line: usize,
}

impl Default for LineSizes {
    fn default() -> Self {
        Self { block: BLOCK_BYTES, columns: MAX_COLUMNS, line: MAX_ROW_BYTES }
    }
}

pub(super) fn import_sized(
    input: &mut dyn Read,
    options: &ImportOptions,
    spill: SpillBuffer,
    progress: Progress<'_>,
    sizes: LineSizes,
) -> Result<Imported> {
    let input = ProgressRead { input, progress, read: 0 };
    let mut lines = LineBlocks::new(input, sizes.block, sizes.line, true);
    let mut skipped = Skipped::default();
    let mut columns = KeyColumns { spill, limit: sizes.columns, ..KeyColumns::new() };
    parallel::stream(
        resolve_threads(options.threads),
        || lines.next(LineBlock::default()),
        |block| parse(&block, sizes.columns, options.skip),
        |parsed| {
            skipped.extend(&parsed.skipped);
            columns.push(parsed)
        },
    )?;
    let KeyColumns { names, state, spill, .. } = columns;
    if names.is_empty() {
        return Err(Error::malformed("table", "is empty: it has no object with a key"));
    }
    // JSON distinguishes numbers from text and null from empty text. So columns get the
    // types of their values, and the writer of a format refuses rows that it cannot store.
    let options = ImportOptions {
        infer: Infer::Numeric,
        capabilities: Capabilities::EVERYTHING,
        ..options.clone()
    };
    let requested = |name: &String| {
        options.types.iter().find(|(typed, _)| typed == name).map(|(_, requested)| *requested)
    };
    if let Some((name, _)) = options.types.iter().find(|(name, _)| !names.contains(name)) {
        return Err(unknown_column(name, names.iter().map(String::as_str)));
    }
    let columns: Vec<_> = state.into_iter().zip(names.iter().map(requested)).collect();
    Ok(Imported::new(names, &columns, spill, &options).with_skipped(skipped))
}

/// The columns so far, in the order in which their keys first appeared.
struct KeyColumns {
    names: Vec<String>,
    known: HashMap<String, usize>,
    state: Vec<InferredState>,
    spill: SpillBuffer,
    limit: usize,
}

impl KeyColumns {
    fn new() -> Self {
        Self {
            names: Vec::new(),
            known: HashMap::new(),
            state: Vec::new(),
            spill: SpillBuffer::in_memory(),
            limit: 0,
        }
    }

    fn push(&mut self, ParsedBlock { rows, columns, .. }: ParsedBlock) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        let mut chunks: Vec<Option<TypedChunk>> = self.names.iter().map(|_| None).collect();
        for (name, typed) in columns {
            match self.known.get(&name).and_then(|&index| chunks.get_mut(index)) {
                Some(slot) => *slot = Some(typed),
                None => {
                    self.add(name)?;
                    chunks.push(Some(typed));
                }
            }
        }
        let absent: ArrayRef = Arc::new(NullArray::new(rows));
        let arrays = chunks.into_iter().zip(&mut self.state).map(|(chunk, total)| match chunk {
            Some(TypedChunk { array, state }) => {
                total.merge(&state);
                array
            }
            None => {
                total.merge(&InferredState::none(true));
                absent.clone()
            }
        });
        self.spill.push(rows, arrays.collect())
    }

    fn add(&mut self, name: String) -> Result<()> {
        check_columns(self.names.len() + 1, self.limit)?;
        if self.spill.chunks() > 0 {
            self.spill.add_column();
        }
        self.state.push(InferredState::none(self.spill.rows() > 0));
        self.known.insert(name.clone(), self.names.len());
        self.names.push(name);
        Ok(())
    }
}

fn check_columns(count: usize, limit: usize) -> Result<()> {
    if count <= limit {
        return Ok(());
    }
    let (asked, limit) = (count as u64, limit as u64);
    Err(ErrorKind::LimitExceeded { what: "number of keys", asked, limit }.into())
}

/// The columns of the rows of one block, in the order of their first appearance.
struct ParsedBlock {
    rows: usize,
    columns: Vec<(String, TypedChunk)>,
    skipped: Skipped,
}

fn parse(block: &LineBlock, limit: usize, skip: bool) -> Result<ParsedBlock> {
    let mut skipped = Skipped::default();
    let mut names: Vec<Cow<'_, str>> = Vec::new();
    let mut index: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut columns: Vec<KeyValues<'_>> = Vec::new();
    let (mut rest, mut rows) = (block.text.as_slice(), 0_u32);
    let (mut line, mut at) = (block.start.line, block.start.offset);
    while !rest.is_empty() {
        let len = memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        let (text, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        let trimmed = text.trim_ascii();
        // Returns the offset in the file of a part of the line.
        let offset_of = |part: *const u8| at + (part.addr() - text.as_ptr().addr()) as u64;
        let object = match serde_json::from_slice::<Object<'_>>(trimmed) {
            _ if trimmed.is_empty() => None,
            Ok(object) if !skip || object.has_unique_keys() => Some(object),
            Err(err) if !skip => {
                return Err(malformed_line(&err, offset_of(trimmed.as_ptr())).in_row(line));
            }
            _ => {
                skipped.add(at);
                None
            }
        };
        if let Some(object) = object {
            for (key, raw) in object.0 {
                let column = match index.get(&key) {
                    Some(&column) => column,
                    None => {
                        check_columns(columns.len() + 1, limit)?;
                        index.insert(key.clone(), columns.len());
                        names.push(key.clone());
                        columns.push(KeyValues::default());
                        columns.len() - 1
                    }
                };
                let Some(cells) = columns.get_mut(column) else { continue };
                if !cells.mark(rows) {
                    let why = format!("has the key `{}` twice", clipped(&key));
                    return Err(Error::malformed("object", why).at(at).in_row(line));
                }
                let value = JsonCell::new(raw.get()).map_err(|err| {
                    malformed_line(&err, offset_of(raw.get().as_ptr())).in_row(line)
                })?;
                if let Some(value) = value {
                    cells.push(rows, value);
                }
            }
            rows += 1;
        }
        (rest, line, at) = (tail, line + 1, at + len as u64);
    }
    let rows = rows as usize;
    let mut typed = Vec::with_capacity(columns.len());
    for (name, cells) in names.into_iter().zip(columns) {
        typed.push((name.into_owned(), cells.to_chunk(rows)?));
    }
    Ok(ParsedBlock { rows, columns: typed, skipped })
}

/// Converts an error of the parser, which counts columns from 1 at `start`.
fn malformed_line(err: &serde_json::Error, start: u64) -> Error {
    let why = err.to_string();
    // Drop the position in the line: the offset in the file replaces it.
    let why = why.split_once(" at line ").map_or(why.as_str(), |(why, _)| why);
    let at = start.saturating_add(err.column().saturating_sub(1) as u64);
    Error::malformed("line", format!("is not a JSON object: {why}")).at(at)
}
