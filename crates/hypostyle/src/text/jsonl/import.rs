//! A JSON Lines file, read once, into typed columns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, NullArray, RunArray,
};
use memchr::{memchr, memrchr};

use super::object::{Object, Text};
use crate::error::{Error, ErrorKind, Result, clipped};
use crate::formats::Abilities;
use crate::options::resolve_threads;
use crate::parallel;
use crate::stage::Stage;
use crate::text::csv::{BOM, Progress};
use crate::text::infer::{self, ImportOptions, Imported, Infer, Judged, Traits};
use crate::text::number::{self, Liberal};
use crate::text::{COLUMNS, ROW};

/// Text that is parsed in one go.
const BLOCK: usize = 4 << 20;

/// A column with fewer values than one in so many rows is kept as runs, so that
/// memory grows with the text, not with rows times keys.
const SPARSE: usize = 4;

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
    stage: Stage,
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
        Self { block: BLOCK, columns: COLUMNS, line: ROW }
    }
}

pub(super) fn import_sized(
    input: &mut dyn Read,
    options: &ImportOptions,
    stage: Stage,
    progress: Progress<'_>,
    sizes: Sizes,
) -> Result<Imported> {
    let mut lines = Lines::new(input, progress, sizes);
    let mut columns = Columns { stage, limit: sizes.columns, ..Columns::new() };
    parallel::stream(
        resolve_threads(options.threads),
        || lines.next(),
        |block| parse(&block, sizes.columns),
        |parsed| columns.push(parsed),
    )?;
    let Columns { names, traits, stage, .. } = columns;
    if names.is_empty() {
        return Err(Error::malformed("table", "is empty: there is no object with a key"));
    }
    // JSON tells null from empty text, so a gap is never taken for one here:
    // the writer refuses it by row where the target has no nulls.
    let abilities = Abilities { nulls: true, ..options.abilities };
    let options = ImportOptions { infer: Infer::Numeric, abilities, ..options.clone() };
    let asked = |name: &String| {
        options.types.iter().find(|(typed, _)| typed == name).map(|(_, asked)| *asked)
    };
    if let Some((name, _)) = options.types.iter().find(|(name, _)| !names.contains(name)) {
        return Err(Error::invalid_argument(format!("there is no column `{name}`")));
    }
    let columns: Vec<_> = traits.into_iter().zip(names.iter().map(asked)).collect();
    Ok(Imported::new(names, &columns, stage, &options))
}

/// The columns so far, in the order in which their keys first appeared.
struct Columns {
    names: Vec<String>,
    known: HashMap<String, usize>,
    traits: Vec<Traits>,
    stage: Stage,
    limit: usize,
}

impl Columns {
    fn new() -> Self {
        Self {
            names: Vec::new(),
            known: HashMap::new(),
            traits: Vec::new(),
            stage: Stage::in_memory(),
            limit: 0,
        }
    }

    fn push(&mut self, Parsed { rows, columns }: Parsed) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        let mut pieces: Vec<Option<Judged>> = self.names.iter().map(|_| None).collect();
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
        let arrays = pieces.into_iter().zip(&mut self.traits).map(|(piece, total)| match piece {
            Some(Judged { array, traits }) => {
                total.merge(&traits);
                array
            }
            None => {
                total.merge(&Traits::none(true));
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
        self.traits.push(Traits::none(self.stage.rows() > 0));
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
    columns: Vec<(String, Judged)>,
}

fn parse(block: &Block, limit: usize) -> Result<Parsed> {
    let mut names: Vec<Cow<'_, str>> = Vec::new();
    let mut index: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut columns: Vec<Cells<'_>> = Vec::new();
    let (mut rest, mut rows) = (block.text.as_slice(), 0_u32);
    let (mut line, mut at) = (block.first_line, block.at);
    while !rest.is_empty() {
        let len = memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        let (text, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        let trimmed = text.trim_ascii();
        if !trimmed.is_empty() {
            // Where a part of the line is in the file.
            let place = |part: *const u8| at + (part.addr() - text.as_ptr().addr()) as u64;
            let object: Object<'_> = serde_json::from_slice(trimmed)
                .map_err(|err| bad_line(&err, place(trimmed.as_ptr())).in_row(line))?;
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
                if cells.seen > rows {
                    let why = format!("has the key `{}` twice", clipped(&key));
                    return Err(Error::malformed("object", why).at(at).in_row(line));
                }
                cells.seen = rows + 1;
                let value = Value::new(raw.get())
                    .map_err(|err| bad_line(&err, place(raw.get().as_ptr())).in_row(line))?;
                if let Some(value) = value {
                    cells.rows.push(rows);
                    cells.values.push(value);
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
    Ok(Parsed { rows, columns: judged })
}

/// An error of the parser, which counts columns from 1 at `start`.
fn bad_line(err: &serde_json::Error, start: u64) -> Error {
    let why = err.to_string();
    // The place is in the file, not in the line.
    let why = why.split_once(" at line ").map_or(why.as_str(), |(why, _)| why);
    let at = start.saturating_add(err.column().saturating_sub(1) as u64);
    Error::malformed("line", format!("is not a JSON object: {why}")).at(at)
}

/// The values of one key, and the rows that have one.
#[derive(Debug, Default)]
struct Cells<'a> {
    rows: Vec<u32>,
    values: Vec<Value<'a>>,
    /// The row after the last that has the key, with or without a value.
    seen: u32,
}

/// A value of an object other than null, as far as columns tell them apart.
#[derive(Clone, Debug)]
enum Value<'a> {
    Bool(bool),
    /// An integer of 64 bits, and its spelling.
    Int(i64, &'a str),
    /// Any other number that a float holds, and its spelling.
    Float(f64, &'a str),
    /// Text, or anything else as its own spelling.
    Text(Cow<'a, str>),
}

impl<'a> Value<'a> {
    /// The value that is spelled like this; `None` for null.
    fn new(raw: &'a str) -> Result<Option<Self>, serde_json::Error> {
        Ok(Some(match raw.as_bytes().first() {
            Some(b'n') => return Ok(None),
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'"') => {
                let Text(text) = serde_json::from_str(raw)?;
                Self::Text(text)
            }
            // A float tells -0 from 0, and an integer does not.
            Some(b'-') if raw == "-0" => Self::Float(-0.0, "-0.0"),
            Some(b'-' | b'0'..=b'9') => match raw.parse() {
                Ok(int) => Self::Int(int, raw),
                _ if raw.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => {
                    match raw.parse::<f64>() {
                        Ok(float) if float.is_finite() => Self::Float(float, raw),
                        _ => Self::Text(Cow::Borrowed(raw)),
                    }
                }
                // An integer beyond 64 bits keeps its digits.
                _ => Self::Text(Cow::Borrowed(raw)),
            },
            _ => Self::Text(Cow::Borrowed(raw)),
        }))
    }

    fn spelled(&self) -> &str {
        match self {
            Self::Bool(true) => "true",
            Self::Bool(false) => "false",
            Self::Int(_, raw) | Self::Float(_, raw) => raw,
            Self::Text(text) => text,
        }
    }

    fn to_float(&self) -> Option<f64> {
        match self {
            Self::Float(float, _) => Some(*float),
            Self::Int(int, _) => Liberal::Int(*int).to_float(),
            _ => None,
        }
    }
}

/// A value or none, for each of some rows.
trait Slots<'a: 'b, 'b>: ExactSizeIterator<Item = Option<&'b Value<'a>>> + Clone {}

impl<'a: 'b, 'b, I> Slots<'a, 'b> for I where
    I: ExactSizeIterator<Item = Option<&'b Value<'a>>> + Clone
{
}

impl<'a> Cells<'a> {
    /// Keeps the values of `total` rows in the narrowest type that holds them all.
    fn keep(&self, total: usize) -> Result<Judged> {
        let count = self.values.len();
        if count == total {
            return keep(self.values.iter().map(Some), false);
        }
        if count == 0 {
            let array = Arc::new(NullArray::new(total));
            return Ok(Judged { array, traits: Traits::none(true) });
        }
        if count >= total / SPARSE || i32::try_from(total).is_err() {
            return keep(self.spread(total).into_iter(), true);
        }
        let (slots, ends) = self.runs(total);
        let Judged { array, traits } = keep(slots.into_iter(), true)?;
        let array = Arc::new(RunArray::<Int32Type>::try_new(&Int32Array::from(ends), &array)?);
        Ok(Judged { array, traits })
    }

    /// A slot for every row.
    fn spread(&self, total: usize) -> Vec<Option<&Value<'a>>> {
        let mut slots = vec![None; total];
        for (&row, value) in self.rows.iter().zip(&self.values) {
            if let Some(slot) = slots.get_mut(row as usize) {
                *slot = Some(value);
            }
        }
        slots
    }

    /// A slot for every row with a value and for every gap, and the rows at which
    /// they end.
    fn runs(&self, total: usize) -> (Vec<Option<&Value<'a>>>, Vec<i32>) {
        let (mut slots, mut ends) = (Vec::new(), Vec::new());
        let mut done = 0;
        for (&row, value) in self.rows.iter().zip(&self.values) {
            let row = i32::try_from(row).unwrap_or(i32::MAX);
            if row > done {
                slots.push(None);
                ends.push(row);
            }
            done = row.saturating_add(1);
            slots.push(Some(value));
            ends.push(done);
        }
        let total = i32::try_from(total).unwrap_or(i32::MAX);
        if total > done {
            slots.push(None);
            ends.push(total);
        }
        (slots, ends)
    }
}

/// Keeps the slots in the narrowest type that holds them all; not all are empty.
fn keep<'a: 'b, 'b>(slots: impl Slots<'a, 'b>, gaps: bool) -> Result<Judged> {
    let all = |is: fn(&Value<'_>) -> bool| slots.clone().flatten().all(is);
    if all(|value| matches!(value, Value::Int(..))) {
        return Ok(keep_ints(slots, gaps));
    }
    if all(|value| matches!(value, Value::Bool(_))) {
        let bools = slots.map(|slot| slot.map(|value| matches!(value, Value::Bool(true))));
        let array = Arc::new(bools.collect::<BooleanArray>());
        return Ok(Judged { array, traits: Traits::with_bools(gaps) });
    }
    // Should the column turn out to be text, every number keeps its spelling: it
    // is kept as a float only if the float prints like that.
    if all(|value| matches!(value, Value::Float(float, raw) if number::prints_as(*float, raw))) {
        let floats = slots.map(|slot| slot.and_then(Value::to_float));
        let array = Arc::new(floats.collect::<Float64Array>());
        return Ok(Judged { array, traits: Traits::with_floats(gaps) });
    }
    let is_float = all(|value| value.to_float().is_some());
    let texts = slots.map(|slot| slot.map(|value| value.spelled().as_bytes()));
    let Judged { array, .. } = infer::texts(texts)?;
    // Unlike in CSV, an empty text is a text.
    let traits = if is_float { Traits::with_floats(gaps) } else { Traits::with_texts(gaps) };
    Ok(Judged { array, traits })
}

fn keep_ints<'a: 'b, 'b>(slots: impl Slots<'a, 'b>, gaps: bool) -> Judged {
    let ints = slots.map(|slot| match slot {
        Some(Value::Int(int, _)) => Some(*int),
        _ => None,
    });
    let (least, most) = ints
        .clone()
        .flatten()
        .fold((i64::MAX, i64::MIN), |(least, most), int| (least.min(int), most.max(int)));
    let narrow = |int: i64| i32::try_from(int).ok();
    let array: ArrayRef = match (narrow(least), narrow(most)) {
        (Some(_), Some(_)) => {
            Arc::new(ints.map(|int| int.and_then(narrow)).collect::<Int32Array>())
        }
        _ => Arc::new(ints.collect::<Int64Array>()),
    };
    Judged { array, traits: Traits::with_ints((least, most), gaps) }
}
