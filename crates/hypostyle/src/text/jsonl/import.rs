//! A JSON Lines file, read once, into typed columns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, new_null_array};
use arrow_schema::DataType;
use memchr::{memchr, memrchr};

use super::object::{Object, Text};
use crate::error::{Error, Result};
use crate::formats::Abilities;
use crate::options::resolve_threads;
use crate::parallel;
use crate::stage::Stage;
use crate::text::csv::Progress;
use crate::text::infer::{self, ImportOptions, Imported, Infer, Judged, Traits};

/// Text that is parsed in one go.
const BLOCK: usize = 4 << 20;

/// Reads a whole JSON Lines file.
///
/// Of `options`, the types and the number of threads count; JSON says itself
/// what is a number and what is null.
///
/// # Errors
///
/// A line that is not a JSON object, by line and byte; a key that an object has
/// twice.
pub fn import(
    input: &mut dyn Read,
    options: &ImportOptions,
    stage: Stage,
    progress: Progress<'_>,
) -> Result<Imported> {
    let mut lines =
        Lines { input, progress, pending: Vec::new(), read: 0, before: 0, rows: 0, at_end: false };
    let mut names: Vec<String> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut traits: Vec<Traits> = Vec::new();
    let mut stage = stage;
    parallel::stream(
        resolve_threads(options.threads),
        || lines.next(),
        |block| parse(&block),
        |Parsed { rows, columns }| {
            let mut arrays: Vec<Option<Judged>> = names.iter().map(|_| None).collect();
            for (name, judged) in columns {
                match known.get(&name) {
                    Some(&index) => {
                        if let Some(slot) = arrays.get_mut(index) {
                            *slot = Some(judged);
                        }
                    }
                    None => {
                        let before = stage.rows() > 0;
                        if stage.pieces() > 0 {
                            stage.add_column();
                        }
                        known.insert(name.clone(), names.len());
                        names.push(name);
                        traits.push(Traits::none(before));
                        arrays.push(Some(judged));
                    }
                }
            }
            let arrays = arrays.into_iter().zip(&mut traits).map(|(judged, total)| match judged {
                Some(Judged { array, traits }) => {
                    total.merge(&traits);
                    array
                }
                None => {
                    total.merge(&Traits::none(true));
                    new_null_array(&DataType::Utf8, rows)
                }
            });
            stage.push(rows, arrays.collect())
        },
    )?;
    if names.is_empty() {
        return Err(Error::malformed("table", "is empty: there is no object with a key"));
    }
    // JSON says what is a number and tells null from empty text. So columns get
    // the types that they have, and the writer refuses by row what it lacks.
    let options = ImportOptions {
        infer: Infer::Numeric,
        abilities: Abilities::EVERYTHING,
        ..options.clone()
    };
    let asked = |name: &String| {
        options.types.iter().find(|(typed, _)| typed == name).map(|(_, asked)| *asked)
    };
    if let Some((name, _)) = options.types.iter().find(|(name, _)| !names.contains(name)) {
        return Err(Error::invalid_argument(format!("there is no column `{name}`")));
    }
    let columns: Vec<_> = traits.into_iter().zip(names.iter().map(asked)).collect();
    Ok(Imported::new(names, &columns, stage, &options))
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
    pending: Vec<u8>,
    read: u64,
    before: u64,
    rows: u64,
    at_end: bool,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<Block>> {
        let mut size = BLOCK;
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
                if at == 0 && text.starts_with(b"\xEF\xBB\xBF") {
                    text.drain(..3);
                    at = 3;
                }
                let first_line = self.rows;
                self.rows += memchr::memchr_iter(b'\n', &text).count() as u64;
                return Ok(Some(Block { text, at, first_line }));
            }
            if self.at_end {
                return Ok(None);
            }
            size = size.saturating_mul(2);
        }
    }
}

/// The columns of some rows, in the order of their first appearance.
struct Parsed {
    rows: usize,
    columns: Vec<(String, Judged)>,
}

fn parse(block: &Block) -> Result<Parsed> {
    let mut names: Vec<Cow<'_, str>> = Vec::new();
    let mut index: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut columns: Vec<Vec<Value<'_>>> = Vec::new();
    let (mut rest, mut rows) = (block.text.as_slice(), 0);
    let (mut line, mut at) = (block.first_line, block.at);
    while !rest.is_empty() {
        let len = memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        let (text, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        let trimmed = text.trim_ascii();
        if !trimmed.is_empty() {
            let object: Object<'_> = serde_json::from_slice(trimmed)
                .map_err(|err| bad_line(&err).at(at).in_row(line))?;
            for (key, raw) in object.0 {
                let column = match index.get(&key) {
                    Some(&column) => column,
                    None => {
                        index.insert(key.clone(), columns.len());
                        names.push(key.clone());
                        columns.push(Vec::new());
                        columns.len() - 1
                    }
                };
                let Some(cells) = columns.get_mut(column) else { continue };
                if cells.len() > rows {
                    let why = format!("has the key `{key}` twice");
                    return Err(Error::malformed("object", why).at(at).in_row(line));
                }
                cells.resize(rows, Value::Null);
                cells.push(Value::new(raw.get()).map_err(|err| err.at(at).in_row(line))?);
            }
            rows += 1;
        }
        (rest, line, at) = (tail, line + 1, at + len as u64);
    }
    let mut judged = Vec::with_capacity(columns.len());
    for (name, mut cells) in names.into_iter().zip(columns) {
        cells.resize(rows, Value::Null);
        judged.push((name.into_owned(), keep(&cells)?));
    }
    Ok(Parsed { rows, columns: judged })
}

fn bad_line(err: &serde_json::Error) -> Error {
    Error::malformed("line", format!("is not a JSON object: {err}"))
}

/// A value of an object, as far as columns tell them apart.
#[derive(Clone, Debug)]
enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64, &'a str),
    /// Text, or anything else as its own spelling.
    Text(Cow<'a, str>),
}

impl<'a> Value<'a> {
    fn new(raw: &'a str) -> Result<Self> {
        Ok(match raw.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'"') => {
                let Text(text) = serde_json::from_str(raw).map_err(|err| bad_line(&err))?;
                Self::Text(text)
            }
            Some(b'-' | b'0'..=b'9') => match raw.parse() {
                // A float tells -0 from 0, and an integer does not.
                Ok(int) if raw != "-0" => Self::Int(int),
                _ if raw.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) || raw == "-0" => {
                    match raw.parse::<f64>() {
                        Ok(float) if float.is_finite() => Self::Float(float, raw),
                        _ => Self::Text(Cow::Borrowed(raw)),
                    }
                }
                // An integer beyond 64 bits keeps its digits.
                _ => Self::Text(Cow::Borrowed(raw)),
            },
            _ => Self::Text(Cow::Borrowed(raw)),
        })
    }

    fn spelled(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Null => None,
            Self::Bool(value) => Some(Cow::Borrowed(if *value { "true" } else { "false" })),
            Self::Int(value) => Some(Cow::Owned(value.to_string())),
            Self::Float(_, raw) => Some(Cow::Borrowed(raw)),
            Self::Text(text) => Some(Cow::Borrowed(text)),
        }
    }
}

/// Keeps the values in the narrowest type that holds them all.
fn keep(values: &[Value<'_>]) -> Result<Judged> {
    let gaps = values.iter().any(|value| matches!(value, Value::Null));
    let all = |is: fn(&Value<'_>) -> bool| values.iter().all(|v| matches!(v, Value::Null) || is(v));
    if values.iter().all(|value| matches!(value, Value::Null)) {
        let array = new_null_array(&DataType::Utf8, values.len());
        return Ok(Judged { array, traits: Traits::none(gaps) });
    }
    if all(|value| matches!(value, Value::Int(_))) {
        let ints = || {
            values.iter().map(|value| match value {
                Value::Int(int) => Some(*int),
                _ => None,
            })
        };
        let range = (ints().flatten().min(), ints().flatten().max());
        let range = (range.0.unwrap_or_default(), range.1.unwrap_or_default());
        let narrow = i32::try_from(range.0).is_ok() && i32::try_from(range.1).is_ok();
        let array: ArrayRef = match narrow {
            true => Arc::new(
                ints()
                    .map(|int| int.and_then(|int| i32::try_from(int).ok()))
                    .collect::<Int32Array>(),
            ),
            false => Arc::new(ints().collect::<Int64Array>()),
        };
        return Ok(Judged { array, traits: Traits::with_ints(range, gaps) });
    }
    if all(|value| matches!(value, Value::Bool(_))) {
        let bools = values.iter().map(|value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        });
        let array = Arc::new(bools.collect::<BooleanArray>());
        return Ok(Judged { array, traits: Traits::with_bools(gaps) });
    }
    let floats: Option<Vec<Option<f64>>> = values
        .iter()
        .map(|value| match value {
            Value::Null => Some(None),
            Value::Float(float, _) => Some(Some(*float)),
            Value::Int(int) => crate::text::number::Liberal::Int(*int).to_float().map(Some),
            _ => None,
        })
        .collect();
    if let Some(floats) = floats {
        let array = Arc::new(Float64Array::from(floats));
        return Ok(Judged { array, traits: Traits::with_floats(gaps) });
    }
    let spelled: Vec<Option<Cow<'_, str>>> = values.iter().map(Value::spelled).collect();
    let mut judged = infer::texts(spelled.iter().map(|text| text.as_ref().map(|t| t.as_bytes())))?;
    // Unlike in CSV, an empty text is a text.
    judged.traits = Traits::with_texts(gaps);
    Ok(judged)
}
