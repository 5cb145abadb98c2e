//! The parts that lines are made of.

#![deny(clippy::arithmetic_side_effects)]

use hashbrown::HashMap;
use memchr::memmem;

use crate::codecs::ssh::HOLE;
use crate::streams::StreamCursor;
use hypostyle_core::error::{Error, Result};

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(Vec<u8>),
    Slot(Slot),
    /// Nothing, but the line has an element of a list.
    Skip(usize),
}

/// A part of a line that is an element of a list, or a piece of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The number of the slot, which has a class.
    pub(crate) number: usize,
    pub(crate) list: usize,
    /// The piece of the element between bytes 0, if an element has the pieces of a line.
    pub(crate) piece: Option<usize>,
    /// Whether no other slot has elements of the list.
    pub(crate) owns_list: bool,
}

/// The parts of lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinePlan {
    pub(crate) parts: Vec<Part>,
}

impl LinePlan {
    /// Returns the slots of the plan.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.parts.iter().filter_map(|part| match part {
            Part::Slot(slot) => Some(slot),
            _ => None,
        })
    }
}

/// The plans of some lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedLines {
    pub(crate) plans: Vec<LinePlan>,
    /// The plan of each line.
    pub(crate) of_lines: Vec<u32>,
}

/// The lists of codec log, in the order of their numbers.
pub(crate) const LOG_LISTS: [&str; 2] = ["vars", "verbatim"];

/// The lists of codec ssh, in the order of their numbers; `pids` has numbers.
pub(crate) const SSH_LISTS: [&str; 8] =
    ["months", "days", "times", "hosts", "pids", "vars", "rawmsgs", "verbatim"];

/// The number of the list of codec ssh that has numbers.
pub(crate) const SSH_NUMBERS: usize = 4;

/// The fields of each line of codec ssh.
pub(crate) const SSH_FIELDS: usize = 5;

impl PlannedLines {
    fn push(&mut self, plan: usize) {
        self.of_lines.push(u32::try_from(plan).unwrap_or(u32::MAX));
    }

    /// Returns the plans that lines have.
    pub(crate) fn used_plans(&self) -> impl Iterator<Item = &LinePlan> {
        let mut is_used = vec![false; self.plans.len()];
        for &plan in &self.of_lines {
            if let Some(is_used) = is_used.get_mut(plan as usize) {
                *is_used = true;
            }
        }
        self.plans.iter().zip(is_used).filter_map(|(plan, is_used)| is_used.then_some(plan))
    }

    /// Finds the parts of lines of records (§7.4); `None` if the document has another form.
    ///
    /// The slots and the lists are the columns.
    pub(crate) fn of_records(skeleton: &[u8], ids: &[u8], columns: usize) -> Result<Option<Self>> {
        let Some(holes) = record_holes(skeleton) else { return Ok(None) };
        let lines = skeleton.len().div_ceil(holes.saturating_add(1));
        let mut found = Self::default();
        let mut known: HashMap<&[u8], usize> = HashMap::new();
        let mut rest = ids;
        for _ in 0..lines {
            let ends = rest.iter().enumerate().filter(|&(_, &byte)| byte < 0x80);
            let last = ends.map(|(at, _)| at).nth(holes.saturating_sub(1));
            let record = last.and_then(|last| rest.split_at_checked(last.saturating_add(1)));
            let Some((record, after)) = record else {
                let err = Error::malformed("column", "is missing: the list has ended");
                return Err(err.in_stream("colids"));
            };
            rest = after;
            let next = found.plans.len();
            let plan = *known.entry(record).or_insert(next);
            if plan == next {
                found.plans.push(record_plan(record, columns)?);
            }
            found.push(plan);
        }
        Ok(Some(found))
    }

    /// Finds the parts of lines of codec log (§7.1).
    ///
    /// The slots are the holes of all templates, and the verbatim lines.
    pub(crate) fn of_log(flags: &[u8], ids: &[u8], templates: &[u8]) -> Result<Self> {
        let (vars, verbatim) = (0, 1);
        let mut found = Self { plans: vec![LinePlan::default()], of_lines: Vec::new() };
        let mut number = 0_usize;
        for template in templates.split(|&byte| byte == b'\n') {
            let mut plan = LinePlan::default();
            for (at, text) in template.split(|&byte| byte == 0).enumerate() {
                if at > 0 {
                    let slot = Slot { number, list: vars, piece: None, owns_list: false };
                    plan.parts.push(Part::Slot(slot));
                    number = number.saturating_add(1);
                }
                plan.parts.push(Part::Text(text.to_vec()));
            }
            found.plans.push(plan);
        }
        let slot = Slot { number, list: verbatim, piece: None, owns_list: true };
        found.set_plan(0, vec![Part::Slot(slot)]);
        let mut ids = StreamCursor::new("tids", ids);
        for &flag in flags {
            let plan = match flag {
                0 => 0,
                _ => found.template(&mut ids, 1)?,
            };
            found.push(plan);
        }
        Ok(found)
    }

    /// Finds the parts of lines of codec ssh (§7.2).
    ///
    /// The slots are the five fields, the holes of all templates, the messages without a
    /// template, and the verbatim lines.
    pub(crate) fn of_ssh(flags: &[u8], ids: &[u8], templates: &[u8]) -> Result<Self> {
        let (vars, messages, verbatim) = (5, 6, 7);
        let own = |number: usize, list: usize| {
            Part::Slot(Slot { number, list, piece: None, owns_list: true })
        };
        let text = |text: &[u8]| Part::Text(text.to_vec());
        let mut fields = Vec::new();
        for (field, after) in [&b" "[..], b" ", b" ", b" sshd[", b"]: "].into_iter().enumerate() {
            fields.extend([own(field, field), text(after)]);
        }
        let mut found = Self { plans: vec![LinePlan::default(); 2], of_lines: Vec::new() };
        let mut number = SSH_FIELDS;
        for template in templates.split(|&byte| byte == b'\n') {
            let mut parts = fields.clone();
            let (mut from, mut piece) = (0, 0_usize);
            for hole in memmem::find_iter(template, HOLE) {
                parts.push(text(template.get(from..hole).unwrap_or_default()));
                let slot = Slot { number, list: vars, piece: Some(piece), owns_list: false };
                parts.push(Part::Slot(slot));
                from = hole.saturating_add(HOLE.len());
                (number, piece) = (number.saturating_add(1), piece.saturating_add(1));
            }
            parts.push(text(template.get(from..).unwrap_or_default()));
            if piece == 0 {
                parts.push(Part::Skip(vars));
            }
            found.plans.push(LinePlan { parts });
        }
        let (message, line) = (own(number, messages), own(number.saturating_add(1), verbatim));
        fields.push(message);
        found.set_plan(0, vec![line]);
        found.set_plan(1, fields);
        let mut ids = StreamCursor::new("template_ids", ids);
        for &flag in flags {
            let plan = match flag {
                0 => 0,
                1 => 1,
                2 => found.template(&mut ids, 2)?,
                _ => return Err(Error::malformed("flag", "is not 0, 1 or 2").in_stream("flags")),
            };
            found.push(plan);
        }
        Ok(found)
    }

    fn set_plan(&mut self, index: usize, parts: Vec<Part>) {
        if let Some(plan) = self.plans.get_mut(index) {
            plan.parts = parts;
        }
    }

    /// Reads the number of a template; returns its plan, which comes after others.
    fn template(&self, ids: &mut StreamCursor<'_>, others: usize) -> Result<usize> {
        let plan = ids.size("template")?.saturating_add(others);
        if plan >= self.plans.len() {
            return Err(ids.malformed("template", "is out of range"));
        }
        Ok(plan)
    }
}

/// Returns the lengths of the columns of `values`.
pub(crate) fn column_lengths(index: &[u8]) -> Result<Vec<usize>> {
    let mut index = StreamCursor::new("value_index", index);
    let count = index.count(1, "column count")?;
    (0..count).map(|_| index.size("column length")).collect()
}

/// Returns the slots of codec log.
pub(crate) fn log_slots(templates: &[u8]) -> usize {
    memchr::memchr_iter(0, templates).count().saturating_add(1)
}

/// Returns the slots of codec ssh.
pub(crate) fn ssh_slots(templates: &[u8]) -> usize {
    let holes = templates
        .split(|&byte| byte == b'\n')
        .fold(0_usize, |sum, it| sum.saturating_add(memmem::find_iter(it, HOLE).count()));
    holes.saturating_add(SSH_FIELDS).saturating_add(2)
}

/// Returns the holes of each record; `None` if lines have other text, or not as many holes.
fn record_holes(skeleton: &[u8]) -> Option<usize> {
    let holes = memchr::memchr(b'\n', skeleton).unwrap_or(skeleton.len());
    let first = skeleton.get(..holes)?;
    let is_record = |line: &[u8]| line.strip_suffix(b"\n").unwrap_or(line) == first;
    let is_plain = holes > 0
        && first.iter().all(|&byte| byte == 0)
        && skeleton.chunks(holes.saturating_add(1)).all(is_record);
    is_plain.then_some(holes)
}

fn record_plan(record: &[u8], columns: usize) -> Result<LinePlan> {
    let mut ids = StreamCursor::new("colids", record);
    let mut plan = LinePlan::default();
    while !ids.is_empty() {
        let column = ids.size("column")?;
        if column >= columns {
            return Err(ids.malformed("column", "is out of range"));
        }
        let slot = Slot { number: column, list: column, piece: None, owns_list: true };
        plan.parts.push(Part::Slot(slot));
    }
    Ok(plan)
}
