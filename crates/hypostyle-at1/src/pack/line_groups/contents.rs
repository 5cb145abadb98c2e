//! The content of streams, and which part of it belongs to which lines.

use std::ops::Range;

use bytes::Bytes;

use crate::codec::Codec;
use crate::codecs::json::{TapeCounter, renumbered_rules, renumbered_tape, rule_sources};
use crate::line_groups::{GroupedStream, StreamRole, part_starts};
use crate::pack::line_groups::LineStreams;
use crate::streams::StreamCursor;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Runs of lines that groups are made of, at most, unless the caller sets the lines of a group.
const MAX_RUNS: usize = 256;

/// Runs times lists, at most.
const MAX_PARTS: usize = 8 << 20;

/// Lines of a run, at least, unless the caller sets the lines of a group.
const MIN_RUN_LINES: usize = 64;

/// The content of the streams of a text.
#[derive(Clone, Debug)]
pub(super) struct LineContents {
    pub(super) codec: Codec,
    pub(super) layout: &'static [GroupedStream],
    /// All streams, in their order.
    pub(super) streams: Vec<(&'static str, Bytes)>,
    /// The lists that lines follow: the streams with parts, then the columns.
    pub(super) lists: Vec<List>,
    /// The index of the first column in `lists`.
    pub(super) first_column: usize,
    pub(super) lines: usize,
    /// Lines of a run; the last one may have fewer.
    pub(super) run_lines: usize,
    pub(super) runs: usize,
    /// The bytes of `values` that each of its xz blocks has.
    pub(super) value_blocks: Vec<u64>,
    /// Whether the lines of a group are set by the caller.
    pub(super) is_fixed: bool,
}

/// A list of which each line has some elements.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) content: Bytes,
    /// The elements or bytes of each run.
    pub(super) parts: Vec<u64>,
    /// Where the part of each run starts, and the end of the last one.
    pub(super) starts: Vec<usize>,
}

impl List {
    /// Returns the bytes of some runs, with the newline after them.
    pub(super) fn part(&self, runs: Range<usize>) -> &[u8] {
        let at = |run: usize| self.starts.get(run).copied().unwrap_or(self.content.len());
        let end = at(runs.end).min(self.content.len());
        self.content.get(at(runs.start).min(end)..end).unwrap_or_default()
    }

    /// Returns the elements or bytes of some runs.
    pub(super) fn count(&self, runs: Range<usize>) -> u64 {
        self.parts.get(runs).map_or(0, |parts| parts.iter().sum())
    }

    /// Returns the last element before a run; `None` if there is none.
    pub(super) fn element_before(&self, run: usize) -> Option<&[u8]> {
        if self.count(0..run) == 0 {
            return None;
        }
        let end = self.starts.get(run)?.checked_sub(1)?;
        let before = self.content.get(..end)?;
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        before.get(start..)
    }
}

impl LineContents {
    /// Finds the lists of so many lines; `None` if the streams are not of the form that groups
    /// need, or if there would be one group.
    pub(super) fn new(
        streams: &LineStreams,
        layout: &'static [GroupedStream],
        lines: u64,
        rows_per_group: Option<usize>,
    ) -> Result<Option<Self>> {
        let Ok(lines) = usize::try_from(lines) else { return Ok(None) };
        let stream =
            |(name, content): &(&'static str, Vec<u8>)| (*name, Bytes::copy_from_slice(content));
        let mut found = Self {
            codec: streams.codec,
            layout,
            streams: streams.streams.iter().map(stream).collect(),
            lists: Vec::new(),
            first_column: 0,
            lines,
            run_lines: 0,
            runs: 0,
            value_blocks: streams.value_blocks.clone(),
            is_fixed: rows_per_group.is_some(),
        };
        let lists = layout.len() + found.column_lengths()?.len();
        let min_lines = lines.div_ceil((MAX_PARTS / lists).max(1));
        let run_lines = match rows_per_group {
            Some(rows) => rows,
            None => lines.div_ceil(MAX_RUNS).max(MIN_RUN_LINES),
        };
        found.run_lines = run_lines.max(min_lines);
        found.runs = lines.div_ceil(found.run_lines);
        if found.runs < 2 || !found.find_lists()? {
            return Ok(None);
        }
        Ok(Some(found))
    }

    /// Returns the content of a stream.
    pub(super) fn stream(&self, name: &str) -> Bytes {
        let found = self.streams.iter().find(|(known, _)| *known == name);
        found.map(|(_, content)| content.clone()).unwrap_or_default()
    }

    /// Returns the byte between two columns of `values`.
    pub(super) fn gap(&self) -> &'static [u8] {
        let is_one = self.layout.iter().any(|stream| stream.role == StreamRole::Values { gap: 1 });
        if is_one { b"\n" } else { b"" }
    }

    /// Returns the columns of `values`.
    pub(super) fn columns(&self) -> &[List] {
        self.lists.get(self.first_column..).unwrap_or_default()
    }

    fn column_lengths(&self) -> Result<Vec<usize>> {
        if self.layout.iter().all(|stream| stream.name != "values") {
            return Ok(Vec::new());
        }
        let index = self.stream("value_index");
        let mut index = StreamCursor::new("value_index", &index);
        let count = index.count(1, "column count")?;
        (0..count).map(|_| index.size("column length")).collect()
    }

    /// Finds the lists and their parts; returns `false` if lines and lists do not fit.
    fn find_lists(&mut self) -> Result<bool> {
        let named = self.layout.iter().filter(|stream| stream.has_parts());
        let mut contents: Vec<(Bytes, bool)> = named
            .map(|stream| (self.stream(stream.name), stream.role == StreamRole::Bytes))
            .collect();
        self.first_column = contents.len();
        let values = self.stream("values");
        let mut start = 0;
        for len in self.column_lengths()? {
            contents.push((values.slice(start..start + len), false));
            start += len + self.gap().len();
        }
        let counts = self.counts(contents.len() - self.first_column)?;
        self.lists.clear();
        for (index, (content, is_bytes)) in contents.into_iter().enumerate() {
            let at = |run: usize| counts.get(run).and_then(|counts| counts.get(index));
            let parts: Vec<u64> = (0..self.runs)
                .map(|run| at(run + 1).unwrap_or(&0) - at(run).unwrap_or(&0))
                .collect();
            let Some(starts) = part_starts(&content, &parts, is_bytes) else { return Ok(false) };
            self.lists.push(List { content, parts, starts });
        }
        Ok(true)
    }

    /// Returns the elements or bytes of each list before each run, and after the last one.
    fn counts(&self, columns: usize) -> Result<Vec<Vec<u64>>> {
        let mut all = Vec::with_capacity(self.runs + 1);
        let mut snapshot = |line: usize, counts: &dyn Fn() -> Vec<u64>| {
            if line.is_multiple_of(self.run_lines) || line == self.lines {
                all.push(counts());
            }
        };
        let flags = self.stream("flags");
        let flag = |line: usize| flags.get(line).copied().unwrap_or_default();
        match self.codec {
            Codec::Json => {
                let tape = self.stream("tape");
                let mut counter = TapeCounter::new(&tape, columns);
                let mut verbatim = 0;
                for line in 0..=self.lines {
                    snapshot(line, &|| {
                        let mut counts = vec![verbatim, counter.bytes()];
                        counts.extend_from_slice(&counter.tokens);
                        counts
                    });
                    match flag(line) {
                        _ if line == self.lines => {}
                        0 => verbatim += 1,
                        _ => counter.next_line()?,
                    }
                }
            }
            Codec::JsonDoc => {
                let (skeleton, ids) = (self.stream("skeleton"), self.stream("colids"));
                // All records have as many holes.
                let holes = memchr::memchr(b'\n', &skeleton).unwrap_or(skeleton.len());
                let mut ids = StreamCursor::new("colids", &ids);
                let mut tokens = vec![0_u64; columns];
                for line in 0..=self.lines {
                    let bytes = ((holes + 1) * line).min(skeleton.len()) as u64;
                    snapshot(line, &|| {
                        let mut counts = vec![bytes, ids.offset()];
                        counts.extend_from_slice(&tokens);
                        counts
                    });
                    for _ in 0..if line == self.lines { 0 } else { holes } {
                        if let Some(count) = tokens.get_mut(ids.size("column")?) {
                            *count += 1;
                        }
                    }
                }
            }
            Codec::Log => {
                let templates = self.stream("templates");
                let holes: Vec<u64> = templates
                    .split(|&byte| byte == b'\n')
                    .map(|template| memchr::memchr_iter(0, template).count() as u64)
                    .collect();
                let ids = self.stream("tids");
                let mut ids = StreamCursor::new("tids", &ids);
                let (mut vars, mut verbatim) = (0, 0);
                for line in 0..=self.lines {
                    snapshot(line, &|| vec![ids.offset(), vars, verbatim]);
                    match flag(line) {
                        _ if line == self.lines => {}
                        0 => verbatim += 1,
                        _ => vars += holes.get(ids.size("template")?).copied().unwrap_or_default(),
                    }
                }
            }
            _ => {
                let (pids, ids) = (self.stream("pids"), self.stream("template_ids"));
                let mut pids = StreamCursor::new("pids", &pids);
                let mut ids = StreamCursor::new("template_ids", &ids);
                let (mut parsed, mut vars, mut messages, mut verbatim) = (0, 0, 0, 0);
                for line in 0..=self.lines {
                    snapshot(line, &|| {
                        let mut counts = vec![parsed; 4];
                        counts.extend([pids.offset(), ids.offset(), vars, messages, verbatim]);
                        counts
                    });
                    match flag(line) {
                        _ if line == self.lines => {}
                        0 => verbatim += 1,
                        flag => {
                            parsed += 1;
                            pids.uv("process")?;
                            if flag == 2 {
                                ids.uv("template")?;
                                vars += 1;
                            } else {
                                messages += 1;
                            }
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    /// Returns the same lines with the columns of `values` in another order.
    ///
    /// `order` has the old numbers of the columns in their new order.
    pub(super) fn with_column_order(&self, order: &[usize]) -> Result<Self> {
        if order.iter().enumerate().all(|(new, &old)| new == old) {
            return Ok(self.clone());
        }
        let mut numbers = vec![0_u64; order.len()];
        let (mut index, mut values) = (Vec::new(), Vec::new());
        put::uv(&mut index, order.len() as u64);
        for (new, &old) in order.iter().enumerate() {
            if let Some(number) = numbers.get_mut(old) {
                *number = new as u64;
            }
            let list = self.lists.get(self.first_column + old);
            let content = list.map(|list| list.content.as_ref()).unwrap_or_default();
            if new > 0 {
                values.extend_from_slice(self.gap());
            }
            put::uv(&mut index, content.len() as u64);
            values.extend_from_slice(content);
        }
        let mut changed = self.clone();
        for (name, content) in &mut changed.streams {
            *content = match *name {
                "value_index" => std::mem::take(&mut index).into(),
                "values" => std::mem::take(&mut values).into(),
                "tape" => renumbered_tape(content, &numbers)?.into(),
                "rules" => renumbered_rules(content, &numbers)?.into(),
                "colids" => renumbered_ids(content, &numbers)?.into(),
                _ => continue,
            };
        }
        changed.find_lists()?;
        Ok(changed)
    }

    /// Returns the columns that rules refer to.
    pub(super) fn sources(&self) -> Result<Vec<usize>> {
        match self.codec {
            Codec::Json => {
                rule_sources(&self.stream("rules"), self.lists.len() - self.first_column)
            }
            _ => Ok(Vec::new()),
        }
    }
}

/// Returns `colids` with other numbers of columns.
pub(super) fn renumbered_ids(ids: &[u8], numbers: &[u64]) -> Result<Vec<u8>> {
    let mut ids = StreamCursor::new("colids", ids);
    let mut out = Vec::new();
    while !ids.is_empty() {
        put::uv(&mut out, numbers.get(ids.size("column")?).copied().unwrap_or_default());
    }
    Ok(out)
}
