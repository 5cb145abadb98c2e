//! Computes variables from the elements of slots.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};

use super::cells::{Budget, LogColumn, class_of, is_loaded};
use super::lines::{LinePlan, Part, PlannedLines};
use super::lists::{ListCursor, Lists, cursors};
use super::metadata::SlotClass;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::text::log;
use hypostyle_core::wire::Crc32;

/// The variables of some lines.
#[derive(Debug, Default)]
pub(super) struct VariableCells {
    /// All variables, one after the other.
    text: Vec<u8>,
    /// The end of each variable in `text`.
    ends: Vec<u32>,
    /// For each line the number of variables up to its end.
    counts: Vec<u32>,
}

impl VariableCells {
    fn end_variable(&mut self) -> Result<()> {
        match u32::try_from(self.text.len()) {
            Ok(end) => self.ends.push(end),
            Err(_) => return Err(too_large(self.text.len())),
        }
        Ok(())
    }

    fn end_line(&mut self) {
        self.counts.push(u32::try_from(self.ends.len()).unwrap_or(u32::MAX));
    }

    /// Returns the place of the variables of some lines in `ends`.
    fn of_lines(&self, lines: &Range<usize>) -> Range<usize> {
        let before = |line: usize| match line.checked_sub(1) {
            Some(last) => self.counts.get(last).copied().unwrap_or_default() as usize,
            None => 0,
        };
        before(lines.start)..before(lines.end)
    }

    /// Returns the place of some variables in `text`.
    fn of_variables(&self, variables: &Range<usize>) -> Range<usize> {
        let before = |variable: usize| match variable.checked_sub(1) {
            Some(last) => self.ends.get(last).copied().unwrap_or_default() as usize,
            None => 0,
        };
        before(variables.start)..before(variables.end)
    }

    fn is_utf8(&self) -> bool {
        let Ok(text) = std::str::from_utf8(&self.text) else { return false };
        text.is_ascii() || self.ends.iter().all(|&end| text.is_char_boundary(end as usize))
    }

    /// Puts replacement characters in place of what is not UTF-8.
    pub(super) fn make_utf8(self) -> Result<Self> {
        if self.is_utf8() {
            return Ok(self);
        }
        let mut found = Self { counts: self.counts, ..Self::default() };
        let mut start = 0;
        for end in self.ends {
            let variable = self.text.get(start..end as usize).unwrap_or_default();
            found.text.extend_from_slice(String::from_utf8_lossy(variable).as_bytes());
            found.end_variable()?;
            start = end as usize;
        }
        Ok(found)
    }

    /// Returns the checksum of the variables of some lines: of their text, the end of each
    /// variable in it, and the number of variables up to the end of each line.
    pub(super) fn sum(&self, lines: Range<usize>) -> u32 {
        let variables = self.of_lines(&lines);
        let text = self.of_variables(&variables);
        let mut sum = Crc32::default();
        sum.update(self.text.get(text.clone()).unwrap_or_default());
        let ends = self.ends.get(variables.clone()).unwrap_or_default();
        let counts = self.counts.get(lines).unwrap_or_default();
        for (numbers, start) in [(ends, text.start), (counts, variables.start)] {
            let start = u32::try_from(start).unwrap_or(u32::MAX);
            let bytes = |&number: &u32| number.wrapping_sub(start).to_le_bytes();
            sum.update(&numbers.iter().flat_map(bytes).collect::<Vec<u8>>());
        }
        sum.finish()
    }

    /// Returns whether these are the variables of lines of a text.
    pub(super) fn are_of<'a>(&self, mut lines: impl Iterator<Item = &'a [u8]>) -> bool {
        let (mut start, mut variable) = (0, 0);
        for &count in &self.counts {
            let Some(line) = lines.next() else { return false };
            for range in log::variable_ranges(line) {
                let Some(&end) = self.ends.get(variable) else { return false };
                let found = self.text.get(start..end as usize).unwrap_or_default();
                let bytes = line.get(range).unwrap_or_default();
                if found != bytes && found != String::from_utf8_lossy(bytes).as_bytes() {
                    return false;
                }
                (start, variable) = (end as usize, variable + 1);
            }
            if variable != count as usize {
                return false;
            }
        }
        lines.next().is_none()
    }

    /// Adds the variables of a line.
    pub(super) fn push_line(&mut self, line: &[u8]) -> Result<()> {
        self.push_tokens(line)?;
        self.end_line();
        Ok(())
    }

    /// The number of lines.
    pub(super) fn lines(&self) -> usize {
        self.counts.len()
    }

    fn push_tokens(&mut self, bytes: &[u8]) -> Result<()> {
        for range in log::variable_ranges(bytes) {
            self.text.extend_from_slice(bytes.get(range).unwrap_or_default());
            self.end_variable()?;
        }
        Ok(())
    }

    /// Returns an array with a list for each line.
    pub(super) fn into_array(self) -> Result<ArrayRef> {
        let offsets = |numbers: Vec<u32>| -> Result<OffsetBuffer<i32>> {
            let mut offsets = vec![0_i32];
            for number in numbers {
                let offset = i32::try_from(number);
                offsets.push(offset.map_err(|_| too_large(number as usize))?);
            }
            Ok(OffsetBuffer::new(offsets.into()))
        };
        let texts = StringArray::try_new(offsets(self.ends)?, self.text.into(), None)?;
        let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
        let lists = ListArray::try_new(field, offsets(self.counts)?, Arc::new(texts), None)?;
        Ok(Arc::new(lists))
    }
}

fn too_large(bytes: usize) -> Error {
    let limit = u64::try_from(i32::MAX).unwrap_or_default();
    let (what, asked) = ("size of the variables of some lines", bytes as u64);
    ErrorKind::LimitExceeded { what, asked, limit }.into()
}

/// What to do for the variables of a line.
#[derive(Debug)]
enum Op {
    /// Moves to the next element of a list.
    Advance(usize),
    /// These bytes are a variable.
    Text(Vec<u8>),
    /// The element of a list, or a piece of it, is a variable.
    Element(usize, Option<usize>),
    /// Adds to the joined bytes.
    JoinText(Vec<u8>),
    JoinElement(usize, Option<usize>),
    /// The joined bytes are a variable.
    Joined,
    /// The joined bytes have variables.
    JoinedTokens,
}

/// What to do for the variables of the lines of a plan.
#[derive(Debug, Default)]
struct Program {
    ops: Vec<Op>,
    /// The operations of the tokens that have not ended.
    open: Vec<Op>,
    /// Whether each element in them is known to have a digit and no separator.
    has_separators: bool,
    has_digit: bool,
}

impl Program {
    fn new(
        plan: &LinePlan,
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
                        program.open.push(Op::Advance(*list));
                    }
                    continue;
                }
                Part::Slot(slot) => slot,
            };
            let class = class_of(classes, slot)?;
            if class.has(SlotClass::CONSTANT) && !class.has(SlotClass::SILENT) {
                let list = lists.get(slot.list).and_then(Option::as_ref);
                let text = list.ok_or_else(|| Error::internal("a list was not read"))?.first()?;
                budget.spend(text.len())?;
                program.text(&text);
                continue;
            }
            let is_first_piece = !advanced.contains(&slot.list);
            if is_loaded(lists, slot.list) && (slot.piece.is_none() || is_first_piece) {
                advanced.push(slot.list);
                program.open.push(Op::Advance(slot.list));
            }
            if class.has(SlotClass::SILENT) {
                program.end_tokens();
                continue;
            }
            match class.has(SlotClass::OPAQUE) {
                true => program.has_digit = true,
                false => program.has_separators = true,
            }
            program.open.push(Op::JoinElement(slot.list, slot.piece));
        }
        program.end_tokens();
        Ok(program)
    }

    /// Adds constant text.
    fn text(&mut self, text: &[u8]) {
        for piece in text.chunk_by(|&one, &next| log::is_separator(one) == log::is_separator(next))
        {
            if piece.first().is_some_and(|&first| log::is_separator(first)) {
                self.end_tokens();
                continue;
            }
            self.has_digit |= log::is_variable(piece);
            match self.open.last_mut() {
                Some(Op::JoinText(before)) => before.extend_from_slice(piece),
                _ => self.open.push(Op::JoinText(piece.to_vec())),
            }
        }
    }

    /// Ends the open tokens: the next byte is a separator, or the line ends.
    fn end_tokens(&mut self) {
        let open = std::mem::take(&mut self.open);
        let (has_separators, has_digit) = (self.has_separators, self.has_digit);
        (self.has_separators, self.has_digit) = (false, false);
        let parts = open.iter().filter(|op| !matches!(op, Op::Advance(_))).count();
        let is_variable = has_digit && !has_separators;
        if !has_digit && !has_separators {
            // A word.
            self.ops.extend(open.into_iter().filter(|op| matches!(op, Op::Advance(_))));
        } else if is_variable && parts == 1 {
            self.ops.extend(open.into_iter().map(|op| match op {
                Op::JoinText(text) => Op::Text(text),
                Op::JoinElement(list, piece) => Op::Element(list, piece),
                other => other,
            }));
        } else {
            self.ops.extend(open);
            self.ops.push(if is_variable { Op::Joined } else { Op::JoinedTokens });
        }
    }

    /// Moves past the elements of a line.
    fn skip(&self, cursors: &mut [Option<ListCursor>]) -> Result<()> {
        for op in &self.ops {
            if let Op::Advance(list) = op
                && let Some(Some(cursor)) = cursors.get_mut(*list)
            {
                cursor.advance()?;
            }
        }
        Ok(())
    }

    /// Adds the variables of a line.
    fn run(
        &self,
        cursors: &mut [Option<ListCursor>],
        joined: &mut Vec<u8>,
        out: &mut VariableCells,
    ) -> Result<()> {
        fn element(cursors: &[Option<ListCursor>], list: usize, piece: Option<usize>) -> &[u8] {
            let cursor = cursors.get(list).and_then(Option::as_ref);
            cursor.map_or(&[], |cursor| cursor.piece(piece))
        }
        for op in &self.ops {
            match op {
                Op::Advance(list) => {
                    if let Some(Some(cursor)) = cursors.get_mut(*list) {
                        cursor.advance()?;
                    }
                }
                Op::Text(text) => {
                    out.text.extend_from_slice(text);
                    out.end_variable()?;
                }
                Op::Element(list, piece) => {
                    out.text.extend_from_slice(element(cursors, *list, *piece));
                    out.end_variable()?;
                }
                Op::JoinText(text) => joined.extend_from_slice(text),
                Op::JoinElement(list, piece) => {
                    joined.extend_from_slice(element(cursors, *list, *piece));
                }
                Op::Joined => {
                    out.text.extend_from_slice(joined);
                    out.end_variable()?;
                    joined.clear();
                }
                Op::JoinedTokens => {
                    out.push_tokens(joined)?;
                    joined.clear();
                }
            }
        }
        out.end_line();
        Ok(())
    }
}

/// Computes variables of lines, from the first to the last.
#[derive(Debug)]
pub(super) struct VariableReader {
    lists: Lists,
    cursors: Vec<Option<ListCursor>>,
    programs: Vec<Option<Program>>,
    budget: Budget,
    /// The line that the cursors are before.
    line: usize,
}

impl VariableReader {
    /// Returns a reader of lists, of which those that [`LogColumn::Variables`] needs are there.
    pub(super) fn new(plans: usize, lists: Lists, limits: &Limits) -> Self {
        Self {
            cursors: cursors(&lists),
            lists,
            programs: (0..plans).map(|_| None).collect(),
            budget: Budget::new(limits),
            line: 0,
        }
    }

    /// Computes the variables of some lines.
    pub(super) fn read(
        &mut self,
        planned: &PlannedLines,
        classes: &[SlotClass],
        lines: Range<usize>,
    ) -> Result<VariableCells> {
        if lines.start < self.line {
            self.cursors = cursors(&self.lists);
            self.line = 0;
        }
        let mut found = VariableCells::default();
        let mut joined = Vec::new();
        let of_lines = planned.of_lines.get(self.line..lines.end).unwrap_or_default();
        for &index in of_lines {
            let index = index as usize;
            let (Some(plan), Some(program)) =
                (planned.plans.get(index), self.programs.get_mut(index))
            else {
                return Err(Error::internal("a line without a plan"));
            };
            let program = match program {
                Some(program) => program,
                None => program.insert(Program::new(plan, classes, &self.lists, &mut self.budget)?),
            };
            if self.line < lines.start {
                program.skip(&mut self.cursors)?;
            } else {
                let before = found.text.len();
                program.run(&mut self.cursors, &mut joined, &mut found)?;
                self.budget.spend(found.text.len() - before + 1)?;
            }
            self.line += 1;
        }
        found.make_utf8()
    }
}

/// Computes the variables of all lines.
pub(super) fn all_variables(
    lines: &PlannedLines,
    classes: &[SlotClass],
    lists: &Lists,
    limits: &Limits,
) -> Result<VariableCells> {
    let needed = super::cells::needed_lists(lines, LogColumn::Variables, classes, lists.len())?;
    let needs = lists.iter().zip(needed).map(|(list, needed)| list.clone().filter(|_| needed));
    let mut reader = VariableReader::new(lines.plans.len(), needs.collect(), limits);
    reader.read(lines, classes, 0..lines.of_lines.len())
}
