//! Finds out on which slots the columns of a log depend.

use std::ops::Range;

use arrow_array::{Array, StringArray};
use bytes::Bytes;

use super::cells::{Templates, time_sum, times};
use super::lines::{
    LOG_LISTS, Part, PlannedLines, SSH_LISTS, SSH_NUMBERS, column_lengths, log_slots, ssh_slots,
};
use super::lists::{ListContent, Lists, cursors};
use super::metadata::{ColumnSums, LogMetadata, SlotClass, VARIABLES_LINES};
use super::variables::{VariableCells, all_variables};
use crate::codec::Codec;
use hypostyle_core::error::Result;
use hypostyle_core::limits::Limits;
use hypostyle_core::text::{BOM, log, stamp};

/// Texts of more bytes are not examined: all of their columns are in memory at once.
const MAX_TEXT_BYTES: usize = 1 << 30;

/// How often the slots of times are extended before times are given up.
const MAX_ROUNDS: usize = 3;

/// What is true of the lines of a log, and the columns that follow from it.
#[derive(Debug)]
pub(crate) struct LogClaims {
    pub(crate) classes: Vec<SlotClass>,
    templates: Templates,
    times: Option<StringArray>,
    variables: Option<VariableCells>,
}

/// What is known of a slot so far.
#[derive(Clone, Debug, Default)]
struct SlotState {
    first: Option<Vec<u8>>,
    is_constant: bool,
    is_opaque: bool,
    has_time: bool,
    has_variable: bool,
}

impl SlotState {
    fn add(&mut self, element: &[u8], owns_list: bool) {
        match &self.first {
            Some(first) if first == element => return,
            Some(_) => self.is_constant = false,
            None => {
                self.first = Some(element.to_vec());
                self.is_constant = owns_list;
            }
        }
        self.is_opaque &= log::is_variable(element);
    }

    fn class(&self) -> SlotClass {
        let add = |class: SlotClass, is_set, bit| if is_set { class.with(bit) } else { class };
        let is_silent = self.first.is_some() && !self.has_variable;
        let class = add(SlotClass::default(), is_silent, SlotClass::SILENT);
        if self.is_constant {
            return class.with(SlotClass::CONSTANT);
        }
        let class = add(class, self.is_opaque, SlotClass::OPAQUE);
        add(class, self.has_time, SlotClass::TIME)
    }
}

impl LogClaims {
    /// Examines the lines that streams of a codec give, which are those of `text`; `None` if
    /// they are not of a form whose columns can be computed.
    pub(crate) fn find(
        codec: Codec,
        stream: impl Fn(&str) -> Bytes,
        text: &[u8],
    ) -> Result<Option<Self>> {
        if text.len() > MAX_TEXT_BYTES || text.starts_with(BOM) || text.is_empty() {
            return Ok(None);
        }
        let Some((lines, slots)) = planned(codec, &stream)? else { return Ok(None) };
        let Some(lists) = all_lists(codec, &stream)? else { return Ok(None) };
        let Some((mut states, truth)) = examine(&lines, slots, &lists, text)? else {
            return Ok(None);
        };
        let limits = Limits::default();
        let classes = |states: &[SlotState]| states.iter().map(SlotState::class).collect();
        let mut times_found = None;
        for _ in 0..MAX_ROUNDS {
            let classes: Vec<SlotClass> = classes(&states);
            let found = times(&lines, &classes, &lists, &limits)?;
            let wrong = (0..truth.len()).filter(|&line| {
                let time = found.is_valid(line).then(|| found.value(line));
                time != truth.get(line).and_then(Option::as_deref)
            });
            let mut is_wrong = vec![false; lines.plans.len()];
            for line in wrong {
                let plan = lines.of_lines.get(line).copied().unwrap_or_default();
                if let Some(is_wrong) = is_wrong.get_mut(plan as usize) {
                    *is_wrong = true;
                }
            }
            if !is_wrong.contains(&true) {
                times_found = Some(found);
                break;
            }
            let wrong = lines.plans.iter().zip(is_wrong).filter(|&(_, is_wrong)| is_wrong);
            for slot in wrong.flat_map(|(plan, _)| plan.slots()) {
                if let Some(state) = states.get_mut(slot.number) {
                    state.has_time = true;
                }
            }
        }
        let classes: Vec<SlotClass> = classes(&states);
        let templates = Templates::compute(&lines, &classes, &lists, &limits)?;
        let variables = all_variables(&lines, &classes, &lists, &limits)?;
        let variables = Some(variables).filter(|found| found.are_of(lines_of(text)));
        Ok(Some(Self { classes, templates, times: times_found, variables }))
    }

    /// Returns the content of `hyp.log` for groups of so many lines.
    pub(crate) fn metadata(
        &self,
        classes: Vec<SlotClass>,
        group_lines: &[usize],
        starts: [u64; 2],
    ) -> LogMetadata {
        let mut start = 0;
        let sums = group_lines.iter().map(|&lines| {
            let range = start..start + lines;
            start = range.end;
            self.sums(range)
        });
        LogMetadata {
            has_time: self.times.is_some(),
            has_variables: self.variables.is_some(),
            slots: classes,
            starts,
            sums: sums.collect(),
        }
    }

    fn sums(&self, lines: Range<usize>) -> ColumnSums {
        let blocks = |cells: &VariableCells| {
            let starts = lines.clone().step_by(VARIABLES_LINES);
            starts.map(|start| cells.sum(start..lines.end.min(start + VARIABLES_LINES))).collect()
        };
        ColumnSums {
            template: self.templates.sum(lines.clone()),
            time: self.times.as_ref().map_or(0, |times| time_sum(times, lines.clone())),
            variables: self.variables.as_ref().map(blocks).unwrap_or_default(),
        }
    }
}

/// Returns the parts of lines and the number of slots; `None` for other codecs and forms.
fn planned(codec: Codec, stream: impl Fn(&str) -> Bytes) -> Result<Option<(PlannedLines, usize)>> {
    Ok(match codec {
        Codec::JsonDoc => {
            let columns = column_lengths(&stream("value_index"))?.len();
            let lines = PlannedLines::of_records(&stream("skeleton"), &stream("colids"), columns)?;
            lines.map(|lines| (lines, columns))
        }
        Codec::Log => {
            let templates = stream("templates");
            let lines = PlannedLines::of_log(&stream("flags"), &stream("tids"), &templates)?;
            Some((lines, log_slots(&templates)))
        }
        Codec::Ssh => {
            let (templates, ids) = (stream("templates"), stream("template_ids"));
            let lines = PlannedLines::of_ssh(&stream("flags"), &ids, &templates)?;
            Some((lines, ssh_slots(&templates)))
        }
        _ => None,
    })
}

/// Returns all lists of a codec; `None` if they do not fit their streams.
fn all_lists(codec: Codec, stream: impl Fn(&str) -> Bytes) -> Result<Option<Lists>> {
    let elements = |name: &&str| Some(ListContent::Elements(Some(stream(name))));
    Ok(match codec {
        Codec::JsonDoc => {
            let values = stream("values");
            let (mut lists, mut start) = (Vec::new(), 0_usize);
            for len in column_lengths(&stream("value_index"))? {
                let end = start.saturating_add(len);
                if end > values.len() {
                    return Ok(None);
                }
                lists.push(Some(ListContent::Elements(Some(values.slice(start..end)))));
                start = end;
            }
            Some(lists)
        }
        Codec::Log => Some(LOG_LISTS.iter().map(elements).collect()),
        Codec::Ssh => {
            let mut lists: Lists = SSH_LISTS.iter().map(elements).collect();
            if let Some(numbers) = lists.get_mut(SSH_NUMBERS) {
                *numbers = Some(ListContent::Numbers(stream("pids")));
            }
            Some(lists)
        }
        _ => None,
    })
}

/// The time of each line.
type Times = Vec<Option<String>>;

/// Looks at the elements of all lines; returns what is known of each slot, and the time of each
/// line. `None` if the lines are not those of the text.
fn examine(
    lines: &PlannedLines,
    slots: usize,
    lists: &Lists,
    text: &[u8],
) -> Result<Option<(Vec<SlotState>, Times)>> {
    let state = SlotState { is_opaque: true, ..SlotState::default() };
    let mut states = vec![state; slots];
    let mut cursors = cursors(lists);
    let mut times = Vec::with_capacity(lines.of_lines.len());
    let mut texts = lines_of(text);
    let mut variables: Vec<Range<usize>> = Vec::new();
    for &plan in &lines.of_lines {
        let (Some(line), Some(plan)) = (texts.next(), lines.plans.get(plan as usize)) else {
            return Ok(None);
        };
        let (time, stamp) = stamp::find_with_place(line).unzip();
        let stamp = stamp.unwrap_or_default();
        times.push(time);
        variables.clear();
        variables.extend(log::variable_ranges(line));
        let mut after = variables.iter().peekable();
        let (mut at, mut advanced) = (0, None);
        for part in &plan.parts {
            let slot = match part {
                Part::Text(text) => {
                    at += text.len();
                    continue;
                }
                Part::Skip(list) => {
                    if let Some(Some(cursor)) = cursors.get_mut(*list) {
                        cursor.advance()?;
                    }
                    continue;
                }
                Part::Slot(slot) => slot,
            };
            let (Some(Some(cursor)), Some(state)) =
                (cursors.get_mut(slot.list), states.get_mut(slot.number))
            else {
                return Ok(None);
            };
            if slot.piece.is_none() || advanced != Some(slot.list) {
                cursor.advance()?;
                advanced = Some(slot.list);
            }
            let element = cursor.piece(slot.piece);
            state.add(element, slot.owns_list);
            let end = at + element.len();
            state.has_time |= at < stamp.end && end > stamp.start;
            while after.next_if(|variable| variable.end <= at).is_some() {}
            state.has_variable |= after.peek().is_some_and(|variable| end > variable.start);
            at = end;
        }
        if at != line.len() {
            return Ok(None);
        }
    }
    Ok(texts.next().is_none().then_some((states, times)))
}

/// Returns the lines of a text; one that ends with a newline has no empty line after it.
fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.strip_suffix(b"\n").unwrap_or(text).split(|&byte| byte == b'\n')
}
