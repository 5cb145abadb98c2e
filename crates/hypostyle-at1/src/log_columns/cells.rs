//! Computes templates and times from the parts of lines.

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, StringArray};
use hashbrown::HashMap;

use super::lines::{LinePlan, Part, PlannedLines, Slot};
use super::lists::{ListCursor, Lists, cursors};
use super::metadata::SlotClass;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::text::log;
use hypostyle_core::wire::Crc32;

/// A column of a log that is computed without its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogColumn {
    Template,
    Time,
    Variables,
}

impl LogColumn {
    pub(crate) const ALL: [Self; 3] = [Self::Template, Self::Time, Self::Variables];

    /// Returns whether the column depends on the elements of a slot of this class.
    fn needs(self, class: SlotClass) -> bool {
        match self {
            Self::Template => !class.has(SlotClass::OPAQUE),
            Self::Time => class.has(SlotClass::TIME),
            Self::Variables => !class.has(SlotClass::SILENT),
        }
    }

    /// Returns whether the column is computed from elements of a slot of this class.
    pub(crate) fn reads(self, class: SlotClass) -> bool {
        // The first element is the text of a constant slot, which variables need only if it is
        // part of one.
        self.needs(class) || self != Self::Variables && class.has(SlotClass::CONSTANT)
    }
}

/// How the lines for a column are made shorter.
#[derive(Clone, Copy, Debug)]
struct ShortLines {
    column: LogColumn,
    /// What stands for an element on which the column does not depend.
    placeholder: &'static [u8],
    /// The bytes of a line that matter.
    line_bytes: usize,
}

/// The token that the element is in is a variable.
const TEMPLATE_LINES: ShortLines =
    ShortLines { column: LogColumn::Template, placeholder: b"0", line_bytes: usize::MAX };

/// No time stamp has this part, and a stamp may start after it. The stamp is near the start.
const TIME_LINES: ShortLines =
    ShortLines { column: LogColumn::Time, placeholder: b"~", line_bytes: 192 };

/// The bytes of a template, at most, for each byte of the line: `<*>` stands for a digit.
const TEMPLATE_GROWTH: u64 = 3;

/// Bytes that a decoder may still produce, so that short lists cannot make it work for long.
#[derive(Debug)]
pub(super) struct Budget {
    left: u64,
    limit: u64,
}

impl Budget {
    pub(super) fn new(limits: &Limits) -> Self {
        let limit = limits.output_bytes.saturating_mul(TEMPLATE_GROWTH);
        Self { left: limit, limit }
    }

    pub(super) fn spend(&mut self, bytes: usize) -> Result<()> {
        let bytes = bytes as u64;
        let Some(left) = self.left.checked_sub(bytes) else {
            let (what, limit) = ("size of a column", self.limit);
            let asked = limit.saturating_add(bytes);
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        };
        self.left = left;
        Ok(())
    }
}

/// What to do for a line.
#[derive(Debug)]
enum Op {
    Text(Vec<u8>),
    /// Moves to the next element of a list.
    Advance(usize),
    /// Appends the element of a list, or a piece of it.
    Put(usize, Option<usize>),
}

/// What to do for the lines of a plan.
#[derive(Debug, Default)]
struct Program {
    ops: Vec<Op>,
}

impl Program {
    /// Returns how the lines of a plan give a column; all lists that [`needed_lists`] names are
    /// there.
    fn new(
        plan: &LinePlan,
        short: ShortLines,
        classes: &[SlotClass],
        lists: &Lists,
        budget: &mut Budget,
    ) -> Result<Self> {
        let mut program = Self::default();
        let mut advanced: Vec<usize> = Vec::new();
        for part in &plan.parts {
            let slot = match part {
                Part::Text(text) => {
                    budget.spend(text.len())?;
                    program.text(text);
                    continue;
                }
                Part::Skip(list) => {
                    if is_loaded(lists, *list) {
                        program.ops.push(Op::Advance(*list));
                    }
                    continue;
                }
                Part::Slot(slot) => slot,
            };
            let class = class_of(classes, slot)?;
            if class.has(SlotClass::CONSTANT) {
                let list = lists.get(slot.list).and_then(Option::as_ref);
                let text = list.ok_or_else(|| Error::internal("a list was not read"))?.first()?;
                budget.spend(text.len())?;
                program.text(&text);
                continue;
            }
            let is_first_piece = !advanced.contains(&slot.list);
            if is_loaded(lists, slot.list) && (slot.piece.is_none() || is_first_piece) {
                advanced.push(slot.list);
                program.ops.push(Op::Advance(slot.list));
            }
            if short.column.needs(class) {
                program.ops.push(Op::Put(slot.list, slot.piece));
            } else {
                program.text(short.placeholder);
            }
        }
        Ok(program)
    }

    fn text(&mut self, text: &[u8]) {
        match self.ops.last_mut() {
            _ if text.is_empty() => {}
            Some(Op::Text(before)) => before.extend_from_slice(text),
            _ => self.ops.push(Op::Text(text.to_vec())),
        }
    }

    /// Returns whether all lines are alike.
    fn is_constant(&self) -> bool {
        self.ops.iter().all(|op| matches!(op, Op::Text(_)))
    }

    /// Makes a line.
    fn run(
        &self,
        cursors: &mut [Option<ListCursor>],
        max_bytes: usize,
        line: &mut Vec<u8>,
    ) -> Result<()> {
        line.clear();
        for op in &self.ops {
            match op {
                Op::Text(text) => line.extend_from_slice(text),
                Op::Advance(list) => {
                    if let Some(Some(cursor)) = cursors.get_mut(*list) {
                        cursor.advance()?;
                    }
                }
                Op::Put(list, piece) if line.len() < max_bytes => {
                    if let Some(Some(cursor)) = cursors.get(*list) {
                        line.extend_from_slice(cursor.piece(*piece));
                    }
                }
                Op::Put(..) => {}
            }
        }
        line.truncate(max_bytes);
        Ok(())
    }
}

pub(super) fn is_loaded(lists: &Lists, list: usize) -> bool {
    lists.get(list).is_some_and(Option::is_some)
}

pub(super) fn class_of(classes: &[SlotClass], slot: &Slot) -> Result<SlotClass> {
    let class = classes.get(slot.number).copied();
    let class = class.ok_or_else(|| Error::internal("a slot without a class"))?;
    if class.has(SlotClass::CONSTANT) && !slot.owns_list {
        return Err(Error::malformed("class of slots", "does not fit the archive"));
    }
    Ok(class)
}

/// Returns for each list whether a column of some lines needs it.
pub(super) fn needed_lists(
    lines: &PlannedLines,
    column: LogColumn,
    classes: &[SlotClass],
    lists: usize,
) -> Result<Vec<bool>> {
    let mut needed = vec![false; lists];
    for plan in lines.used_plans() {
        for slot in plan.slots() {
            let class = class_of(classes, slot)?;
            if column.reads(class)
                && let Some(needed) = needed.get_mut(slot.list)
            {
                *needed = true;
            }
        }
    }
    Ok(needed)
}

/// The templates of lines: a dictionary, and its entry for each line.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    pub(crate) entries: Vec<String>,
    pub(crate) keys: Vec<u32>,
}

impl Templates {
    /// Computes the templates of lines.
    pub(super) fn compute(
        lines: &PlannedLines,
        classes: &[SlotClass],
        lists: &Lists,
        limits: &Limits,
    ) -> Result<Self> {
        let mut found = Self::default();
        let mut known: HashMap<String, u32> = HashMap::new();
        for_each_line(lines, TEMPLATE_LINES, classes, lists, limits, |line| {
            let mut template = String::new();
            log::template_into(&String::from_utf8_lossy(line), &mut template);
            let next = u32::try_from(found.entries.len()).unwrap_or(u32::MAX);
            let key = *known.entry_ref(template.as_str()).or_insert(next);
            let len = template.len();
            if key == next {
                found.entries.push(template);
            }
            Ok((key, len))
        })
        .map(|keys| Self { keys, ..found })
    }

    /// Returns the checksum of the templates of some lines: each of them, and a newline.
    pub(crate) fn sum(&self, lines: std::ops::Range<usize>) -> u32 {
        let mut sum = Crc32::default();
        for &key in self.keys.get(lines).unwrap_or_default() {
            let entry = self.entries.get(key as usize).map(String::as_str).unwrap_or_default();
            sum.update(entry.as_bytes());
            sum.update(b"\n");
        }
        sum.finish()
    }
}

/// Computes the times of lines.
pub(super) fn times(
    lines: &PlannedLines,
    classes: &[SlotClass],
    lists: &Lists,
    limits: &Limits,
) -> Result<StringArray> {
    let mut times: Vec<Option<String>> = Vec::new();
    let mut last = Vec::new();
    let keys = for_each_line(lines, TIME_LINES, classes, lists, limits, |line| {
        // The next lines often have the same time.
        if !times.is_empty() && last == line {
            let len = times.last().and_then(Option::as_ref).map_or(0, String::len);
            return Ok((u32::try_from(times.len() - 1).unwrap_or(u32::MAX), len));
        }
        last.clear();
        last.extend_from_slice(line);
        let time = log::time(line);
        let len = time.as_ref().map_or(0, String::len);
        if times.last() != Some(&time) {
            times.push(time);
        }
        Ok((u32::try_from(times.len().saturating_sub(1)).unwrap_or(u32::MAX), len))
    })?;
    let mut builder = StringBuilder::with_capacity(keys.len(), keys.len() * 24);
    for key in keys {
        builder.append_option(times.get(key as usize).and_then(Option::as_deref));
    }
    Ok(builder.finish())
}

/// Returns the checksum of the times of some lines: each of them, and a newline.
pub(crate) fn time_sum(times: &StringArray, lines: std::ops::Range<usize>) -> u32 {
    let mut sum = Crc32::default();
    for row in lines {
        if row < times.len() && times.is_valid(row) {
            sum.update(times.value(row).as_bytes());
        }
        sum.update(b"\n");
    }
    sum.finish()
}

/// Calls `each` with the text that stands for each line; returns the first of its
/// results for each line. The second one is the size of the cell.
fn for_each_line(
    lines: &PlannedLines,
    short: ShortLines,
    classes: &[SlotClass],
    lists: &Lists,
    limits: &Limits,
    mut each: impl FnMut(&[u8]) -> Result<(u32, usize)>,
) -> Result<Vec<u32>> {
    let mut budget = Budget::new(limits);
    let mut programs: Vec<Option<Program>> = lines.plans.iter().map(|_| None).collect();
    // The results for plans whose lines are all alike.
    let mut alike: Vec<Option<(u32, usize)>> = vec![None; lines.plans.len()];
    let mut cursors = cursors(lists);
    let mut keys = Vec::with_capacity(lines.of_lines.len());
    let mut line = Vec::new();
    for &index in &lines.of_lines {
        let index = index as usize;
        let (Some(plan), Some(program), Some(alike)) =
            (lines.plans.get(index), programs.get_mut(index), alike.get_mut(index))
        else {
            return Err(Error::internal("a line without a plan"));
        };
        if let Some((key, len)) = *alike {
            budget.spend(len + 1)?;
            keys.push(key);
            continue;
        }
        let program = match program {
            Some(program) => program,
            None => program.insert(Program::new(plan, short, classes, lists, &mut budget)?),
        };
        program.run(&mut cursors, short.line_bytes, &mut line)?;
        let (key, len) = each(&line)?;
        budget.spend(line.len() + len + 1)?;
        if program.is_constant() {
            *alike = Some((key, len));
        }
        keys.push(key);
    }
    Ok(keys)
}
