//! A JSON Lines file, read once, into typed columns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray};
use memchr::{memchr, memrchr};

use super::cells::{Cells, Value};
use super::object::Object;
use crate::error::{Error, ErrorKind, Result, clipped};
use crate::options::resolve_threads;
use crate::parallel;
use crate::spill::SpillBuffer;
use crate::text::infer::{ImportOptions, Imported, Infer, InferredState, Skipped, TypedChunk};
use crate::text::input::{BOM, MAX_COLUMNS, MAX_ROW_BYTES, Progress};
use crate::types::Capabilities;

/// Text that is parsed in one go.
const BLOCK: usize = 4 << 20;

/// Reads a whole JSON Lines file.
///
/// Of `options`, the types and the number of threads count; JSON says itself
/// what is a number and what is null.
///
/// # Errors
///
/// A line that is not a JSON object, or an object that has a key twice, by line
/// (as the row, blank lines included) and byte.
pub fn import(
    input: &mut dyn Read,
    options: &ImportOptions,
    stage: SpillBuffer,
    progress: Progress<'_>,
) -> Result<Imported> {
    import_sized(input, options, stage, progress, Sizes::default())
}

/// How much is read at a time, and how much at most.
///
/// Fixed but for tests, which cannot wait for gigabytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) block: usize,
    pub(super) columns: usize,
    pub(super) line: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { block: BLOCK, columns: MAX_COLUMNS, line: MAX_ROW_BYTES }
    }
}

pub(super) fn import_sized(
    input: &mut dyn Read,
    options: &ImportOptions,
    stage: SpillBuffer,
    progress: Progress<'_>,
    sizes: Sizes,
) -> Result<Imported> {
    let mut lines = Lines::new(input, progress, sizes);
    let mut left_out = Skipped::default();
    let mut columns = Columns { stage, limit: sizes.columns, ..Columns::new() };
    parallel::stream(
        resolve_threads(options.threads),
        || lines.next(),
        |block| parse(&block, sizes.columns, options.skip),
        |parsed| {
            left_out.extend(&parsed.skipped);
            columns.push(parsed)
        },
    )?;
    let Columns { names, state, stage, .. } = columns;
    if names.is_empty() {
        return Err(Error::malformed("table", "is empty: there is no object with a key"));
    }
    // JSON says what is a number and tells null from empty text. So columns get
    // the types that they have, and the writer refuses by row what it lacks.
    let options = ImportOptions {
        infer: Infer::Numeric,
        capabilities: Capabilities::EVERYTHING,
        ..options.clone()
    };
    let asked = |name: &String| {
        options.types.iter().find(|(typed, _)| typed == name).map(|(_, asked)| *asked)
    };
    if let Some((name, _)) = options.types.iter().find(|(name, _)| !names.contains(name)) {
        return Err(Error::invalid_argument(format!("there is no column `{name}`")));
    }
    let columns: Vec<_> = state.into_iter().zip(names.iter().map(asked)).collect();
    Ok(Imported::new(names, &columns, stage, &options).with_skipped(left_out))
}

/// The columns so far, in the order in which their keys first appeared.
struct Columns {
    names: Vec<String>,
    known: HashMap<String, usize>,
    state: Vec<InferredState>,
    stage: SpillBuffer,
    limit: usize,
}

impl Columns {
    fn new() -> Self {
        Self {
            names: Vec::new(),
            known: HashMap::new(),
            state: Vec::new(),
            stage: SpillBuffer::in_memory(),
            limit: 0,
        }
    }

    fn push(&mut self, Parsed { rows, columns, .. }: Parsed) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        let mut pieces: Vec<Option<TypedChunk>> = self.names.iter().map(|_| None).collect();
        for (name, judged) in columns {
            match self.known.get(&name).and_then(|&index| pieces.get_mut(index)) {
                Some(slot) => *slot = Some(judged),
                None => {
                    self.add(name)?;
                    pieces.push(Some(judged));
                }
            }
        }
        let absent: ArrayRef = Arc::new(NullArray::new(rows));
        let arrays = pieces.into_iter().zip(&mut self.state).map(|(piece, total)| match piece {
            Some(TypedChunk { array, state }) => {
                total.merge(&state);
                array
            }
            None => {
                total.merge(&InferredState::none(true));
                absent.clone()
            }
        });
        self.stage.push(rows, arrays.collect())
    }

    fn add(&mut self, name: String) -> Result<()> {
        check_columns(self.names.len() + 1, self.limit)?;
        if self.stage.pieces() > 0 {
            self.stage.add_column();
        }
        self.state.push(InferredState::none(self.stage.rows() > 0));
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

/// Whole lines.
struct Block {
    text: Vec<u8>,
    at: u64,
    first_line: u64,
}

struct Lines<'a> {
    input: &'a mut dyn Read,
    progress: Progress<'a>,
    sizes: Sizes,
    pending: Vec<u8>,
    read: u64,
    before: u64,
    lines: u64,
    at_end: bool,
}

impl<'a> Lines<'a> {
    fn new(input: &'a mut dyn Read, progress: Progress<'a>, sizes: Sizes) -> Self {
        let pending = Vec::new();
        Self { input, progress, sizes, pending, read: 0, before: 0, lines: 0, at_end: false }
    }

    fn next(&mut self) -> Result<Option<Block>> {
        // The mark at the start must be seen whole.
        let mut size = self.sizes.block.max(BOM.len());
        loop {
            let want = size.saturating_sub(self.pending.len());
            if !self.at_end && want > 0 {
                self.pending.reserve_exact(want);
                let got = (&mut *self.input).take(want as u64).read_to_end(&mut self.pending)?;
                self.at_end = got < want;
                self.read += got as u64;
                (self.progress)(self.read);
            }
            let end = match memrchr(b'\n', &self.pending) {
                _ if self.at_end => self.pending.len(),
                Some(newline) => newline + 1,
                None => 0,
            };
            if end > 0 {
                let mut text = std::mem::take(&mut self.pending);
                self.pending = text.split_off(end);
                let mut at = self.before;
                self.before += end as u64;
                if at == 0 && text.starts_with(BOM) {
                    text.drain(..BOM.len());
                    at = BOM.len() as u64;
                }
                let first_line = self.lines;
                self.lines += memchr::memchr_iter(b'\n', &text).count() as u64;
                return Ok(Some(Block { text, at, first_line }));
            }
            if self.at_end {
                return Ok(None);
            }
            let (have, limit) = (self.pending.len(), self.sizes.line);
            if have >= limit {
                let (asked, limit) = (have as u64, limit as u64);
                let kind = ErrorKind::LimitExceeded { what: "line length", asked, limit };
                return Err(Error::from(kind).at(self.before).in_row(self.lines));
            }
            size = have.saturating_mul(2).max(size).min(limit);
        }
    }
}

/// The columns of some rows, in the order of their first appearance.
struct Parsed {
    rows: usize,
    columns: Vec<(String, TypedChunk)>,
    skipped: Skipped,
}

fn parse(block: &Block, limit: usize, skip: bool) -> Result<Parsed> {
    let mut skipped = Skipped::default();
    let mut names: Vec<Cow<'_, str>> = Vec::new();
    let mut index: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut columns: Vec<Cells<'_>> = Vec::new();
    let (mut rest, mut rows) = (block.text.as_slice(), 0_u32);
    let (mut line, mut at) = (block.first_line, block.at);
    while !rest.is_empty() {
        let len = memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        let (text, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        let trimmed = text.trim_ascii();
        // Where a part of the line is in the file.
        let place = |part: *const u8| at + (part.addr() - text.as_ptr().addr()) as u64;
        let object = match serde_json::from_slice::<Object<'_>>(trimmed) {
            _ if trimmed.is_empty() => None,
            Ok(object) if !skip || object.has_unique_keys() => Some(object),
            Err(err) if !skip => {
                return Err(bad_line(&err, place(trimmed.as_ptr())).in_row(line));
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
                        columns.push(Cells::default());
                        columns.len() - 1
                    }
                };
                let Some(cells) = columns.get_mut(column) else { continue };
                if !cells.see(rows) {
                    let why = format!("has the key `{}` twice", clipped(&key));
                    return Err(Error::malformed("object", why).at(at).in_row(line));
                }
                let value = Value::new(raw.get())
                    .map_err(|err| bad_line(&err, place(raw.get().as_ptr())).in_row(line))?;
                if let Some(value) = value {
                    cells.push(rows, value);
                }
            }
            rows += 1;
        }
        (rest, line, at) = (tail, line + 1, at + len as u64);
    }
    let rows = rows as usize;
    let mut judged = Vec::with_capacity(columns.len());
    for (name, cells) in names.into_iter().zip(columns) {
        judged.push((name.into_owned(), cells.keep(rows)?));
    }
    Ok(Parsed { rows, columns: judged, skipped })
}

/// An error of the parser, which counts columns from 1 at `start`.
fn bad_line(err: &serde_json::Error, start: u64) -> Error {
    let why = err.to_string();
    // The place is in the file, not in the line.
    let why = why.split_once(" at line ").map_or(why.as_str(), |(why, _)| why);
    let at = start.saturating_add(err.column().saturating_sub(1) as u64);
    Error::malformed("line", format!("is not a JSON object: {why}")).at(at)
}
