//! Lines of a log as records, in the form of jsondoc (§7.4).
//!
//! jsondoc has a skeleton with holes, and for each hole the column whose next token
//! fills it. Nothing in it asks for JSON. Here the skeleton is the same for every
//! line, nothing but holes, so that it takes no room; the columns that fill them tell
//! what the line says. Each text between values is a column of its own, the same
//! token over and over, which takes no room either. What is left is the order of the
//! templates, once, and values that stand among their like.
//!
//! ```text
//! line       Invalid user bob from 10.0.0.7
//! skeleton   00 00 00 00 ... 0A
//! columns    "Invalid user " | words after it | " from " | numbers after it | ...
//! ```

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hash, Hasher};

use hashbrown::HashMap;

use crate::codecs::jsondoc::LINES;
use crate::pack::context::EncodeContext;
use crate::pack::lines::ended;
use crate::pack::logs::log_templates::{Hole, Mined, Template};
use crate::pack::options::Layout;
use crate::pack::sample::sample;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream};
use hypostyle_core::compress::xz::encode::Tuning;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Most holes in the record of a line, each of which is tried.
///
/// With few of them the end of a long line is one text, in the column of its template.
const LENGTHS: [usize; 3] = [16, 32, 64];

/// Holes for the next value of a line: the text before it, the value, and what is left
/// after it.
const NEXT: usize = 3;

/// The streams of a log; `None` if its lines have no templates.
pub(in crate::pack) fn streams(
    text: &[u8],
    job: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    if memchr::memchr(0, text).is_some() {
        return Ok(None);
    }
    let Some(most) = best_length(&sample(text), job.search)? else { return Ok(None) };
    let (lines, trailing) = ended(text);
    let mined = Mined::new(lines.split(|&byte| byte == b'\n'));
    if mined.templates.is_empty() {
        return Ok(None);
    }
    let length = most.min(room(&mined, job.search));
    Records::new(lines, &mined, length).streams(trailing, job).map(Some)
}

/// The one of [`LENGTHS`] that suits some lines best; `None` if there is none.
fn best_length(few: &[u8], search: &SearchParams) -> Result<Option<usize>> {
    let mined = Mined::new(few.split(|&byte| byte == b'\n'));
    let room = room(&mined, search);
    // Records of short lines would be longer than the lines.
    let fits = |length: usize| length.min(room) * mined.ids.len() <= few.len() * 2;
    // A length that all records keep within is the last that makes a difference.
    let enough = LENGTHS.iter().position(|&length| length >= room).unwrap_or(LENGTHS.len());
    let lengths = LENGTHS.iter().copied().take(enough + 1).take_while(|&length| fits(length));
    let lengths: Vec<usize> = lengths.collect();
    if let [only] = lengths[..] {
        return Ok(Some(only));
    }
    let mut best: Option<(f64, usize)> = None;
    for length in lengths {
        let cost = Records::new(few, &mined, length.min(room)).cost(search)?;
        if best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, length));
        }
    }
    Ok(best.map(|(_, length)| length))
}

/// Holes that a record needs for no line to be cut short.
fn room(mined: &Mined, search: &SearchParams) -> usize {
    // With zstd, shorter records took up to 0.4 % more.
    if search.is_quick() {
        return usize::MAX;
    }
    let room = |template: &Template| {
        let (mut holes, mut room) = (0, 1);
        for (index, part) in template.parts.iter().enumerate() {
            let is_last = index + 1 == template.parts.len();
            if !is_last {
                room = room.max(holes + NEXT);
            }
            holes += usize::from(!part.is_empty()) + usize::from(!is_last);
        }
        room.max(holes)
    };
    mined.templates.iter().map(room).max().unwrap_or(1)
}

/// What a column is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// Holes that are not needed.
    Empty,
    /// Text between values.
    Text(Vec<u8>),
    /// Values, by the text around them.
    Value(u64),
    /// The ends of lines of a template.
    End(usize),
    /// Lines without a template.
    Line,
}

/// Tokens of one kind.
#[derive(Debug, Default)]
struct Column {
    tokens: Vec<u8>,
    count: usize,
}

/// Columns by what they are for.
#[derive(Debug, Default)]
struct Columns {
    columns: Vec<Column>,
    known: HashMap<Key, usize>,
}

impl Columns {
    fn of(&mut self, key: Key) -> usize {
        let next = self.columns.len();
        let id = *self.known.entry(key).or_insert(next);
        if id == next {
            self.columns.push(Column::default());
        }
        id
    }

    fn put(&mut self, column: usize, token: &[u8]) {
        if let Some(column) = self.columns.get_mut(column) {
            if column.count > 0 {
                column.tokens.push(b'\n');
            }
            column.count += 1;
            column.tokens.extend_from_slice(token);
        }
    }
}

/// How lines of one template become records.
#[derive(Debug)]
struct Plan {
    /// The column of each hole of a record.
    columns: Vec<usize>,
    /// Values that have a column; what follows them is one text.
    values: usize,
}

impl Plan {
    fn new(id: usize, template: &Template, length: usize, known: &mut Columns) -> Self {
        let mut columns = Vec::with_capacity(length);
        let mut values = 0;
        for (index, part) in template.parts.iter().enumerate() {
            let is_last = index + 1 == template.parts.len();
            if !is_last && columns.len() + NEXT > length {
                columns.push(known.of(Key::End(id)));
                break;
            }
            if !part.is_empty() {
                columns.push(known.of(Key::Text(part.clone())));
            }
            if !is_last {
                columns.push(known.of(Key::Value(context(&template.parts, index))));
                values += 1;
            }
        }
        columns.resize_with(length, || known.of(Key::Empty));
        Self { columns, values }
    }

    /// A record of one hole for all of a line.
    fn whole(length: usize, known: &mut Columns) -> Self {
        let mut columns = vec![known.of(Key::Line)];
        columns.resize_with(length, || known.of(Key::Empty));
        Self { columns, values: 0 }
    }

    /// Puts the tokens of a line.
    fn put(&self, line: &[u8], holes: &[Hole], known: &mut Columns) {
        let mut columns = self.columns.iter().copied();
        let mut start = 0;
        let mut put = |from: usize, to: usize| {
            if let Some(column) = columns.next() {
                known.put(column, line.get(from..to).unwrap_or_default());
            }
        };
        for &(from, to) in holes.iter().take(self.values) {
            if from > start {
                put(start, from);
            }
            put(from, to);
            start = to;
        }
        if start < line.len() {
            put(start, line.len());
        }
        for column in columns {
            known.put(column, b"");
        }
    }
}

/// Records of all lines.
#[derive(Debug)]
struct Records<'m> {
    length: usize,
    columns: Columns,
    /// How the lines of each template are put, and at the end those without.
    plans: Vec<Plan>,
    templates: &'m [Option<u32>],
}

impl<'m> Records<'m> {
    fn new(lines: &[u8], mined: &'m Mined, length: usize) -> Self {
        let mut columns = Columns::default();
        let templates = mined.templates.iter().enumerate();
        let plans = templates.map(|(id, it)| Plan::new(id, it, length, &mut columns));
        let mut plans: Vec<Plan> = plans.collect();
        plans.push(Plan::whole(length, &mut columns));
        let mut records = Self { length, columns, plans, templates: &mined.ids };
        let mut holes = Vec::new();
        for (line, &id) in lines.split(|&byte| byte == b'\n').zip(&mined.ids) {
            holes.clear();
            if let Some(template) = id.and_then(|id| mined.templates.get(id as usize)) {
                template.holes(line, &mut holes);
            }
            let place = records.place(id);
            if let Some(plan) = records.plans.get(place) {
                plan.put(line, &holes, &mut records.columns);
            }
        }
        records
    }

    /// Which plan a line with this template has.
    fn place(&self, template: Option<u32>) -> usize {
        template.map_or(self.plans.len() - 1, |id| id as usize)
    }

    /// The columns that hold something; the most frequent have the shortest numbers.
    fn order(&self) -> Vec<usize> {
        let count = |index: usize| self.columns.columns.get(index).map_or(0, |it| it.count);
        let mut order: Vec<usize> = (0..self.columns.columns.len()).collect();
        order.retain(|&index| count(index) > 0);
        order.sort_by_key(|&index| Reverse(count(index)));
        order
    }

    /// The column of every hole.
    fn ids(&self, order: &[usize]) -> Vec<u8> {
        let mut numbers = vec![0_u64; self.columns.columns.len()];
        for (number, &index) in (0..).zip(order) {
            if let Some(place) = numbers.get_mut(index) {
                *place = number;
            }
        }
        let record = |plan: &Plan| {
            let mut out = Vec::new();
            for &column in &plan.columns {
                put::uv(&mut out, numbers.get(column).copied().unwrap_or_default());
            }
            out
        };
        let records: Vec<Vec<u8>> = self.plans.iter().map(record).collect();
        let mut out = Vec::new();
        for &template in self.templates {
            let record = records.get(self.place(template));
            out.extend_from_slice(record.map(Vec::as_slice).unwrap_or_default());
        }
        out
    }

    fn values(&self, order: &[usize]) -> Vec<u8> {
        let tokens = |&index: &usize| self.columns.columns.get(index).map(|it| &it.tokens[..]);
        order.iter().filter_map(tokens).collect::<Vec<_>>().concat()
    }

    /// What a reader must know to tell the lines apart again.
    fn lines(&self, order: &[usize]) -> Vec<u8> {
        let whole = self.columns.known.get(&Key::Line);
        let whole = order.iter().position(|column| Some(column) == whole);
        let mut out = Vec::new();
        put::uv(&mut out, self.length as u64);
        put::uv(&mut out, whole.unwrap_or(order.len()) as u64);
        out
    }

    /// What it takes, roughly.
    fn cost(&self, search: &SearchParams) -> Result<f64> {
        let order = self.order();
        let values = search.glance(&self.values(&order), Tuning::flat(3))?;
        Ok(values + search.glance(&self.ids(&order), Tuning::flat(0))?)
    }

    fn streams(&self, trailing: bool, job: &EncodeContext<'_>) -> Result<Vec<Stream>> {
        let order = self.order();
        let mut index = Vec::new();
        put::uv(&mut index, order.len() as u64);
        for &column in &order {
            let len = self.columns.columns.get(column).map_or(0, |it| it.tokens.len());
            put::uv(&mut index, len as u64);
        }
        let mut record = vec![0; self.length];
        record.push(b'\n');
        let mut skeleton = record.repeat(self.templates.len());
        if !trailing {
            skeleton.pop();
        }
        let streams = [
            ("meta", vec![1]),
            ("raw", Vec::new()),
            ("skeleton", skeleton),
            ("colids", self.ids(&order)),
            ("value_index", index),
            ("values", self.values(&order)),
            (LINES, self.lines(&order)),
        ];
        let mut streams = Body::all(streams, job)?;
        // The published text knows nothing of what others may add.
        if job.search.layout == Layout::Published {
            streams.pop();
        }
        Ok(streams)
    }
}

/// What stands around a hole: values with the same text about them are alike.
fn context(parts: &[Vec<u8>], hole: usize) -> u64 {
    let tail = |index: Option<usize>, len: usize| {
        let part = index.and_then(|index| parts.get(index)).map(Vec::as_slice).unwrap_or_default();
        part.get(part.len().saturating_sub(len)..).unwrap_or(part)
    };
    let after = parts.get(hole + 1).map(Vec::as_slice).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    tail(hole.checked_sub(1), 4).hash(&mut hasher);
    tail(Some(hole), 12).hash(&mut hasher);
    after.get(..2).unwrap_or(after).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_about_them_makes_values_alike() {
        let parts = |line: &str| line.split('#').map(|part| part.as_bytes().to_vec()).collect();
        let one: Vec<Vec<u8>> = parts("[#:#] moving the partition # to #.");
        let other: Vec<Vec<u8>> = parts("[#:#] checking the partition # to #.");
        let same = |hole| context(&one, hole) == context(&other, hole);
        assert!((0..4).all(same));
        assert_ne!(context(&one, 0), context(&one, 1));
        assert_ne!(context(&one, 2), context(&one, 3));
    }
}
