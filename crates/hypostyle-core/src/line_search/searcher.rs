//! Goes through the blocks of a text.

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};

use memchr::{memchr, memchr_iter, memrchr};

use super::matcher::LineMatcher;
use crate::error::Result;
use crate::text::LineBlock;

/// A line that was found, or one near it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundLine<'t> {
    /// The number of the line in the text, from 1.
    pub number: u64,
    /// The offset of the line in the text.
    pub offset: u64,
    /// The bytes of the line, without its newline.
    pub text: &'t [u8],
    /// Whether the text has a newline after the line.
    pub has_newline: bool,
    /// Whether the line is selected; otherwise it is near one that is.
    pub is_selected: bool,
}

/// Takes the lines that are found.
pub trait LineSink {
    /// Takes a line.
    ///
    /// # Errors
    ///
    /// An error ends the search.
    fn line(&mut self, line: &FoundLine<'_>) -> Result<()>;

    /// Is told that the next line does not follow the last one, if lines around those that are
    /// found were asked for.
    ///
    /// # Errors
    ///
    /// An error ends the search.
    fn gap(&mut self) -> Result<()>;
}

/// Finds the lines of one text, block by block.
#[derive(Debug)]
pub struct LineSearcher<'m> {
    matcher: &'m LineMatcher,
    before: usize,
    after: usize,
    max_lines: u64,
    /// Lines that were selected.
    selected: u64,
    /// Lines that are still to be shown after a selected one.
    pending: usize,
    /// The number of the last line that was shown.
    last_shown: Option<u64>,
    /// Lines at the end of the blocks so far that were not shown.
    tail: VecDeque<TailLine>,
}

#[derive(Debug)]
struct TailLine {
    number: u64,
    offset: u64,
    text: Vec<u8>,
}

/// A place in a block, and the number of the line that starts there, from 1.
#[derive(Clone, Copy)]
struct Counted {
    place: usize,
    number: u64,
}

impl<'m> LineSearcher<'m> {
    /// Returns a searcher of a new text.
    pub fn new(matcher: &'m LineMatcher) -> Self {
        Self {
            matcher,
            before: 0,
            after: 0,
            max_lines: u64::MAX,
            selected: 0,
            pending: 0,
            last_shown: None,
            tail: VecDeque::new(),
        }
    }

    /// Asks for lines before and after each selected line.
    #[must_use]
    pub fn with_context(mut self, before: usize, after: usize) -> Self {
        (self.before, self.after) = (before, after);
        self
    }

    /// Ends the search after so many selected lines.
    #[must_use]
    pub fn with_max_lines(mut self, lines: Option<u64>) -> Self {
        self.max_lines = lines.unwrap_or(u64::MAX);
        self
    }

    /// The number of lines that were selected.
    pub fn selected(&self) -> u64 {
        self.selected
    }

    /// Counts the selected lines of the next block.
    pub fn count(&mut self, block: &LineBlock) -> ControlFlow<()> {
        if self.is_done() {
            return ControlFlow::Break(());
        }
        let left = usize::try_from(self.max_lines.saturating_sub(self.selected));
        let left = left.unwrap_or(usize::MAX);
        let found = self.matcher.lines(&block.text).take(left).count();
        self.selected = self.selected.saturating_add(found as u64);
        if self.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Searches the next block. `Break` says that no further block can change anything.
    ///
    /// # Errors
    ///
    /// Those of the sink.
    pub fn search(
        &mut self,
        block: &LineBlock,
        sink: &mut dyn LineSink,
    ) -> Result<ControlFlow<()>> {
        let text = block.text.as_slice();
        let mut counted = Counted { place: 0, number: block.start.line.saturating_add(1) };
        // The first line that was not shown.
        let mut rest = 0;
        if !self.is_done() {
            for line in self.matcher.lines(text) {
                rest = self.show_after(block, rest..line.start, &mut counted, sink)?;
                self.show_before(block, rest..line.start, &mut counted, sink)?;
                self.show(block, line.clone(), true, &mut counted, sink)?;
                self.selected = self.selected.saturating_add(1);
                self.pending = self.after;
                rest = line.end.saturating_add(1).min(text.len());
                if self.is_done() {
                    break;
                }
            }
        }
        rest = self.show_after(block, rest..text.len(), &mut counted, sink)?;
        if self.is_done() {
            let is_over = self.pending == 0;
            return Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
        }
        self.keep_tail(block, rest, &mut counted);
        Ok(ControlFlow::Continue(()))
    }

    fn is_done(&self) -> bool {
        self.selected >= self.max_lines
    }

    /// Shows lines that follow a selected one; returns where the rest starts.
    fn show_after(
        &mut self,
        block: &LineBlock,
        lines: Range<usize>,
        counted: &mut Counted,
        sink: &mut dyn LineSink,
    ) -> Result<usize> {
        let mut start = lines.start;
        while self.pending > 0 && start < lines.end {
            let rest = block.text.get(start..lines.end).unwrap_or_default();
            let len = memchr(b'\n', rest).unwrap_or(rest.len());
            let end = start.saturating_add(len);
            self.show(block, start..end, false, counted, sink)?;
            self.pending = self.pending.saturating_sub(1);
            start = end.saturating_add(1).min(lines.end);
        }
        Ok(start)
    }

    /// Shows the lines before a selected one that were not shown.
    fn show_before(
        &mut self,
        block: &LineBlock,
        lines: Range<usize>,
        counted: &mut Counted,
        sink: &mut dyn LineSink,
    ) -> Result<()> {
        if self.before == 0 {
            return Ok(());
        }
        let text = block.text.get(lines.clone()).unwrap_or_default();
        let (start, found) = last_lines(text, self.before);
        let from_tail = self.before.saturating_sub(found).min(self.tail.len());
        for line in std::mem::take(&mut self.tail).into_iter().rev().take(from_tail).rev() {
            let TailLine { number, offset, text } = &line;
            let (number, offset) = (*number, *offset);
            let line = FoundLine { number, offset, text, has_newline: true, is_selected: false };
            self.put(&line, sink)?;
        }
        let mut start = lines.start.saturating_add(start);
        while start < lines.end {
            let rest = block.text.get(start..lines.end).unwrap_or_default();
            let end = start.saturating_add(memchr(b'\n', rest).unwrap_or(rest.len()));
            self.show(block, start..end, false, counted, sink)?;
            start = end.saturating_add(1);
        }
        Ok(())
    }

    /// Shows a line of the block.
    fn show(
        &mut self,
        block: &LineBlock,
        line: Range<usize>,
        is_selected: bool,
        counted: &mut Counted,
        sink: &mut dyn LineSink,
    ) -> Result<()> {
        counted.move_to(&block.text, line.start);
        let found = FoundLine {
            number: counted.number,
            offset: block.start.offset.saturating_add(line.start as u64),
            text: block.text.get(line.clone()).unwrap_or_default(),
            has_newline: line.end < block.text.len(),
            is_selected,
        };
        self.put(&found, sink)
    }

    fn put(&mut self, line: &FoundLine<'_>, sink: &mut dyn LineSink) -> Result<()> {
        let has_context = self.before > 0 || self.after > 0;
        let is_next = self.last_shown.is_some_and(|last| last.saturating_add(1) == line.number);
        if has_context && self.last_shown.is_some() && !is_next {
            sink.gap()?;
        }
        self.last_shown = Some(line.number);
        self.tail.clear();
        sink.line(line)
    }

    /// Keeps the last lines of a block, which may come before a line of the next one.
    fn keep_tail(&mut self, block: &LineBlock, rest: usize, counted: &mut Counted) {
        if self.before == 0 {
            return;
        }
        let (start, _) = last_lines(block.text.get(rest..).unwrap_or_default(), self.before);
        let mut start = rest.saturating_add(start);
        while let Some(text) = block.text.get(start..).filter(|text| !text.is_empty()) {
            let len = memchr(b'\n', text).unwrap_or(text.len());
            counted.move_to(&block.text, start);
            if self.tail.len() == self.before {
                self.tail.pop_front();
            }
            self.tail.push_back(TailLine {
                number: counted.number,
                offset: block.start.offset.saturating_add(start as u64),
                text: text.get(..len).unwrap_or_default().to_vec(),
            });
            start = start.saturating_add(len).saturating_add(1);
        }
    }
}

impl Counted {
    /// Moves on to a later line of the text.
    fn move_to(&mut self, text: &[u8], place: usize) {
        let passed = text.get(self.place..place).unwrap_or_default();
        let newlines = memchr_iter(b'\n', passed).count() as u64;
        *self = Self { place, number: self.number.saturating_add(newlines) };
    }
}

/// Returns where the last `count` lines of a text of whole lines start, and how many these are.
fn last_lines(text: &[u8], count: usize) -> (usize, usize) {
    let (mut start, mut found) = (text.len(), 0);
    while found < count && start > 0 {
        let before = text.get(..start.saturating_sub(1)).unwrap_or_default();
        start = memrchr(b'\n', before).map_or(0, |newline| newline.saturating_add(1));
        found = found.saturating_add(1);
    }
    (start, found)
}
