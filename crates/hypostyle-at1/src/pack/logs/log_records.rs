//! Encodes the lines of a log as records with codec jsondoc (§7.4).
//!
//! jsondoc has a skeleton with holes, and for each hole the column whose next token fills it;
//! it does not require JSON. Here every line is a record of the same number of holes, so the
//! skeleton repeats one line of holes and compresses to almost nothing. The column of each hole
//! says what the line is made of. Each literal is a column of one repeated token, which
//! compresses to almost nothing too. The archive then consists of the sequence of templates and
//! of columns of similar values.
//!
//! ```text
//! line       Invalid user bob from 10.0.0.7
//! skeleton   00 00 00 00 ... 0A
//! columns    "Invalid user " | words after it | " from " | numbers after it | ...
//! ```

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hash, Hasher};

use hashbrown::HashMap;

use crate::codec::Codec;
use crate::pack::context::EncodeContext;
use crate::pack::line_groups::LineStreams;
use crate::pack::lines::split_final_newline;
use crate::pack::logs::log_templates::{LogTemplate, LogTemplates, ValueRange};
use crate::pack::newline_list::NewlineList;
use crate::pack::sample::encoder_sample;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::Stream;
use hypostyle_core::compress::xz::encode::Tuning;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Holes of a record, at most; each limit is tried.
///
/// A low limit stores the end of a long line as one text, in the column of its template.
const RECORD_LENGTHS: [usize; 3] = [16, 32, 64];

/// Holes that must be free for the next value of a line: the literal before it, the value, and
/// the rest of the line.
const HOLES_PER_VALUE: usize = 3;

/// Encodes a log; returns `None` if its lines share no templates.
pub(in crate::pack) fn streams(
    text: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    if memchr::memchr(0, text).is_some() {
        return Ok(None);
    }
    let Some(max_length) = best_length(&encoder_sample(text), context.search)? else {
        return Ok(None);
    };
    let (lines, trailing) = split_final_newline(text);
    let found = LogTemplates::find(lines.split(|&byte| byte == b'\n'));
    if found.templates.is_empty() {
        return Ok(None);
    }
    let length = max_length.min(full_length(&found, context.search));
    LogRecords::new(lines, &found, length).streams(text, trailing, context).map(Some)
}

/// Returns the one of [`RECORD_LENGTHS`] that makes sampled lines smallest; `None` if records
/// of any length are too long for them.
fn best_length(sample: &[u8], search: &SearchParams) -> Result<Option<usize>> {
    let found = LogTemplates::find(sample.split(|&byte| byte == b'\n'));
    let full_length = full_length(&found, search);
    // Records of short lines would be longer than the lines.
    let fits = |length: usize| length.min(full_length) * found.ids.len() <= sample.len() * 2;
    // All limits from the full length on give the same records.
    let is_enough = |&length: &usize| length >= full_length;
    let enough = RECORD_LENGTHS.iter().position(is_enough).unwrap_or(RECORD_LENGTHS.len());
    let lengths: Vec<usize> = RECORD_LENGTHS
        .iter()
        .copied()
        .take(enough + 1)
        .take_while(|&length| fits(length))
        .collect();
    if let [only] = lengths[..] {
        return Ok(Some(only));
    }
    let mut best: Option<(f64, usize)> = None;
    for length in lengths {
        let cost = LogRecords::new(sample, &found, length.min(full_length)).cost(search)?;
        if best.is_none_or(|(best_cost, _)| cost < best_cost) {
            best = Some((cost, length));
        }
    }
    Ok(best.map(|(_, length)| length))
}

/// Returns the holes that a record needs to store every value of every template.
fn full_length(found: &LogTemplates, search: &SearchParams) -> usize {
    // With zstd, shorter records took up to 0.4 % more.
    if search.is_quick() {
        return usize::MAX;
    }
    let length = |template: &LogTemplate| {
        let (mut holes, mut length) = (0, 1);
        for (index, literal) in template.literals.iter().enumerate() {
            let is_last = index + 1 == template.literals.len();
            if !is_last {
                length = length.max(holes + HOLES_PER_VALUE);
            }
            holes += usize::from(!literal.is_empty()) + usize::from(!is_last);
        }
        length.max(holes)
    };
    found.templates.iter().map(length).max().unwrap_or(1)
}

/// The content of a column of records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum RecordColumnKey {
    /// Empty tokens for unused holes.
    Empty,
    /// A literal.
    Literal(Vec<u8>),
    /// Values with the same literals around them, by a hash of those.
    Value(u64),
    /// The ends of lines of a template.
    LineEnd(usize),
    /// Lines without a template.
    Line,
}

/// The columns of records, and the column of each key.
#[derive(Debug, Default)]
struct RecordColumns {
    columns: Vec<NewlineList>,
    ids: HashMap<RecordColumnKey, usize>,
}

impl RecordColumns {
    /// Returns the column of a key, which is added if it is new.
    fn id(&mut self, key: RecordColumnKey) -> usize {
        let next = self.columns.len();
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.columns.push(NewlineList::default());
        }
        id
    }

    /// Appends a token to a column.
    fn push(&mut self, column: usize, token: &[u8]) {
        if let Some(column) = self.columns.get_mut(column) {
            column.push(token);
        }
    }
}

/// Which columns the lines of a template fill.
#[derive(Debug)]
struct RecordPlan {
    /// The column of each hole of a record.
    columns: Vec<usize>,
    /// Values that have a column; the rest of the line is one text.
    values: usize,
}

impl RecordPlan {
    fn new(id: usize, template: &LogTemplate, length: usize, known: &mut RecordColumns) -> Self {
        let mut columns = Vec::with_capacity(length);
        let mut values = 0;
        for (index, literal) in template.literals.iter().enumerate() {
            let is_last = index + 1 == template.literals.len();
            if !is_last && columns.len() + HOLES_PER_VALUE > length {
                columns.push(known.id(RecordColumnKey::LineEnd(id)));
                break;
            }
            if !literal.is_empty() {
                columns.push(known.id(RecordColumnKey::Literal(literal.clone())));
            }
            if !is_last {
                let context = value_context(&template.literals, index);
                columns.push(known.id(RecordColumnKey::Value(context)));
                values += 1;
            }
        }
        columns.resize_with(length, || known.id(RecordColumnKey::Empty));
        Self { columns, values }
    }

    /// Plans a record whose first hole is the whole line.
    fn whole_line(length: usize, known: &mut RecordColumns) -> Self {
        let mut columns = vec![known.id(RecordColumnKey::Line)];
        columns.resize_with(length, || known.id(RecordColumnKey::Empty));
        Self { columns, values: 0 }
    }

    /// Appends the tokens of a line to their columns.
    fn push(&self, line: &[u8], values: &[ValueRange], known: &mut RecordColumns) {
        let mut columns = self.columns.iter().copied();
        let mut start = 0;
        let mut push = |from: usize, to: usize| {
            if let Some(column) = columns.next() {
                known.push(column, line.get(from..to).unwrap_or_default());
            }
        };
        for &(from, to) in values.iter().take(self.values) {
            if from > start {
                push(start, from);
            }
            push(from, to);
            start = to;
        }
        if start < line.len() {
            push(start, line.len());
        }
        for column in columns {
            known.push(column, b"");
        }
    }
}

/// The records of all lines.
#[derive(Debug)]
struct LogRecords<'t> {
    length: usize,
    columns: RecordColumns,
    /// The plan of each template; the last plan is for lines without one.
    plans: Vec<RecordPlan>,
    template_ids: &'t [Option<u32>],
}

impl<'t> LogRecords<'t> {
    fn new(lines: &[u8], found: &'t LogTemplates, length: usize) -> Self {
        let mut columns = RecordColumns::default();
        let templates = found.templates.iter().enumerate();
        let plans = templates.map(|(id, it)| RecordPlan::new(id, it, length, &mut columns));
        let mut plans: Vec<RecordPlan> = plans.collect();
        plans.push(RecordPlan::whole_line(length, &mut columns));
        let mut records = Self { length, columns, plans, template_ids: &found.ids };
        let mut values = Vec::new();
        for (line, &id) in lines.split(|&byte| byte == b'\n').zip(&found.ids) {
            values.clear();
            if let Some((_, template)) = found.get(id) {
                template.values(line, &mut values);
            }
            let plan = records.plan_index(id);
            if let Some(plan) = records.plans.get(plan) {
                plan.push(line, &values, &mut records.columns);
            }
        }
        records
    }

    /// Returns the index of the plan for lines of a template.
    fn plan_index(&self, template: Option<u32>) -> usize {
        template.map_or(self.plans.len() - 1, |id| id as usize)
    }

    /// Returns the columns that are not empty, those with the most tokens first: they get the
    /// shortest numbers.
    fn order(&self) -> Vec<usize> {
        let count = |index: usize| self.columns.columns.get(index).map_or(0, |it| it.len);
        let mut order: Vec<usize> = (0..self.columns.columns.len()).collect();
        order.retain(|&index| count(index) > 0);
        order.sort_by_key(|&index| Reverse(count(index)));
        order
    }

    /// Returns the content of stream `colids`: the column number of every hole.
    fn column_ids(&self, order: &[usize]) -> Vec<u8> {
        let mut numbers = vec![0_u64; self.columns.columns.len()];
        for (number, &index) in (0..).zip(order) {
            if let Some(slot) = numbers.get_mut(index) {
                *slot = number;
            }
        }
        let record = |plan: &RecordPlan| {
            let mut out = Vec::new();
            for &column in &plan.columns {
                put::uv(&mut out, numbers.get(column).copied().unwrap_or_default());
            }
            out
        };
        let records: Vec<Vec<u8>> = self.plans.iter().map(record).collect();
        let mut out = Vec::new();
        for &template in self.template_ids {
            let record = records.get(self.plan_index(template));
            out.extend_from_slice(record.map(Vec::as_slice).unwrap_or_default());
        }
        out
    }

    /// Returns the content of stream `values`: the columns back to back.
    fn values(&self, order: &[usize]) -> Vec<u8> {
        let tokens = |&index: &usize| self.columns.columns.get(index).map(|it| &it.bytes[..]);
        order.iter().filter_map(tokens).collect::<Vec<_>>().concat()
    }

    /// Estimates the compressed size.
    fn cost(&self, search: &SearchParams) -> Result<f64> {
        let order = self.order();
        let values = search.rough_estimate(&self.values(&order), Tuning::flat(3))?;
        Ok(values + search.rough_estimate(&self.column_ids(&order), Tuning::flat(0))?)
    }

    fn streams(
        &self,
        text: &[u8],
        trailing: bool,
        context: &EncodeContext<'_>,
    ) -> Result<Vec<Stream>> {
        let order = self.order();
        let mut index = Vec::new();
        put::uv(&mut index, order.len() as u64);
        for &column in &order {
            let len = self.columns.columns.get(column).map_or(0, |it| it.bytes.len());
            put::uv(&mut index, len as u64);
        }
        let mut record = vec![0; self.length];
        record.push(b'\n');
        let mut skeleton = record.repeat(self.template_ids.len());
        if !trailing {
            skeleton.pop();
        }
        let streams = vec![
            ("meta", vec![1]),
            ("raw", Vec::new()),
            ("skeleton", skeleton),
            ("colids", self.column_ids(&order)),
            ("value_index", index),
            ("values", self.values(&order)),
        ];
        LineStreams::new(Codec::JsonDoc, streams).encode(text, context)
    }
}

/// Hashes the literals around a value: values in the same context are similar.
fn value_context(literals: &[Vec<u8>], value: usize) -> u64 {
    let tail = |index: Option<usize>, len: usize| {
        let literal = index.and_then(|index| literals.get(index));
        let literal = literal.map(Vec::as_slice).unwrap_or_default();
        literal.get(literal.len().saturating_sub(len)..).unwrap_or(literal)
    };
    let after = literals.get(value + 1).map(Vec::as_slice).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    tail(value.checked_sub(1), 4).hash(&mut hasher);
    tail(Some(value), 12).hash(&mut hasher);
    after.get(..2).unwrap_or(after).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_literals_around_values_give_equal_contexts() {
        let literals = |line: &str| line.split('#').map(|text| text.as_bytes().to_vec()).collect();
        let one: Vec<Vec<u8>> = literals("[#:#] moving the partition # to #.");
        let other: Vec<Vec<u8>> = literals("[#:#] checking the partition # to #.");
        let same = |value| value_context(&one, value) == value_context(&other, value);
        assert!((0..4).all(same));
        assert_ne!(value_context(&one, 0), value_context(&one, 1));
        assert_ne!(value_context(&one, 2), value_context(&one, 3));
    }
}
