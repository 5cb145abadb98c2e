//! Reads the columns of a log from the lists that they need.

#![deny(clippy::arithmetic_side_effects)]

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, StringArray};
use bytes::Bytes;

use super::LOG;
use super::cells::{LogColumn, Templates, needed_lists, time_sum, times};
use super::lines::{
    LOG_LISTS, PlannedLines, SSH_FIELDS, SSH_LISTS, SSH_NUMBERS, column_lengths, log_slots,
    ssh_slots,
};
use super::lists::{ListContent, Lists};
use super::metadata::{ColumnSums, LogMetadata, SlotClass, VARIABLES_LINES};
use super::variables::{VariableCells, VariableReader};
use crate::codec::Codec;
use crate::frames::FrameReader;
use crate::line_groups::{GROUPS, LineGroups, ListDirectory, StoredStream, StreamRole};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::reader::Reader;
use hypostyle_core::row_selection::RowSelection;

/// The times of more lines may not fit in an array; such logs are read from their lines.
const MAX_GROUP_LINES: u64 = 10 << 20;

/// The columns `template`, `time` and `variables` of a log.
#[derive(Debug)]
pub(crate) struct LogColumns {
    archive: Arc<FrameReader>,
    metadata: LogMetadata,
    lists: ListSource,
}

/// Where lists come from.
#[derive(Debug)]
enum ListSource {
    Groups(Arc<LineGroups>),
    Whole(WholeLists),
}

/// The lists of an archive without groups.
#[derive(Debug)]
struct WholeLists {
    lines: u64,
    streams: Vec<StoredStream>,
    templates: Bytes,
    /// The places of the columns in `values`.
    columns: Vec<Range<usize>>,
}

impl WholeLists {
    fn new(directory: &ListDirectory, lines: u64) -> Result<Self> {
        let lists = directory.layout.iter().filter(|stream| stream.role != StreamRole::Shared);
        let streams =
            lists.map(|list| StoredStream::new(list.name, directory.place(list.name), None));
        let (mut columns, mut start) = (Vec::new(), 0_usize);
        if directory.archive.codec() == Codec::JsonDoc {
            for len in column_lengths(directory.read.bytes("value_index"))? {
                let end = start.saturating_add(len);
                columns.push(start..end);
                start = end;
            }
        }
        let templates = directory.read.shared("templates");
        Ok(Self { lines, streams: streams.collect(), templates, columns })
    }

    fn stream(&self, name: &str) -> Result<&StoredStream> {
        let found = self.streams.iter().find(|stream| stream.name() == name);
        found.ok_or_else(|| Error::internal("a stream that the codec does not have"))
    }
}

impl LogColumns {
    /// Opens the columns of the log in an archive, which has so many lines; `None` if it does not
    /// say what they depend on.
    pub(crate) fn open(
        directory: &ListDirectory,
        groups: Option<&Arc<LineGroups>>,
        lines: u64,
    ) -> Result<Option<Self>> {
        if !directory.has(LOG) || groups.is_some() != directory.has(GROUPS) {
            return Ok(None);
        }
        let archive = directory.archive.clone();
        let templates = directory.read.bytes("templates");
        let slots = match archive.codec() {
            Codec::Log => log_slots(templates),
            Codec::Ssh => ssh_slots(templates),
            Codec::JsonDoc if directory.read.bytes("meta").first() != Some(&0) => {
                column_lengths(directory.read.bytes("value_index"))?.len()
            }
            _ => return Ok(None),
        };
        let count = groups.map_or(1, |groups| groups.len());
        let group_lines = |group: usize| match groups {
            Some(groups) => groups.group(group).map_or(u64::MAX, |group| group.lines),
            None => lines,
        };
        if (0..count).any(|group| group_lines(group) > MAX_GROUP_LINES) {
            return Ok(None);
        }
        let content = directory.read.bytes(LOG);
        let parsed = LogMetadata::parse(content, slots, (0..count).map(group_lines))?;
        let Some(metadata) = parsed else { return Ok(None) };
        let lists = match groups {
            Some(groups) => ListSource::Groups(groups.clone()),
            None => ListSource::Whole(WholeLists::new(directory, lines)?),
        };
        Ok(Some(Self { archive, metadata, lists }))
    }

    /// Returns whether a column can be computed.
    pub(crate) fn serves(&self, column: LogColumn) -> bool {
        match column {
            LogColumn::Template => true,
            LogColumn::Time => self.metadata.has_time,
            LogColumn::Variables => self.metadata.has_variables,
        }
    }

    /// The number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.metadata.sums.len()
    }

    /// Returns the checksums of a group.
    pub(super) fn sums(&self, group: usize) -> Result<&ColumnSums> {
        let sums = self.metadata.sums.get(group);
        sums.ok_or_else(|| Error::invalid_argument("a line group that does not exist"))
    }

    /// Returns whether a table with these row groups has the lines of these groups.
    pub(crate) fn fits(&self, table: &dyn Reader) -> bool {
        let has_rows =
            |group| self.lines_of(group).is_ok_and(|it| it == table.row_group_rows(group));
        self.groups() == table.row_groups() && (0..self.groups()).all(has_rows)
    }

    /// Returns the number of lines of a group.
    pub(super) fn lines_of(&self, group: usize) -> Result<u64> {
        match &self.lists {
            ListSource::Groups(groups) => Ok(groups.group(group)?.lines),
            ListSource::Whole(whole) => Ok(whole.lines),
        }
    }

    /// Returns a stream of bytes, without surplus bytes.
    fn stream(&self, name: &str, group: usize) -> Result<Bytes> {
        match &self.lists {
            ListSource::Groups(groups) => Ok(groups.part(name, group)?.unwrap_or_default()),
            ListSource::Whole(whole) => whole.stream(name)?.content(&self.archive),
        }
    }

    fn templates(&self) -> &[u8] {
        match &self.lists {
            ListSource::Groups(groups) => groups.shared("templates"),
            ListSource::Whole(whole) => &whole.templates,
        }
    }

    /// Finds the parts of the lines of a group.
    pub(super) fn planned(&self, group: usize) -> Result<PlannedLines> {
        let lines = self.lines_of(group)?;
        let flags = || -> Result<Bytes> {
            let flags = self.stream("flags", group)?;
            let len = usize::try_from(lines).unwrap_or(usize::MAX);
            Ok(flags.slice(..len.min(flags.len())))
        };
        let planned = match self.archive.codec() {
            Codec::Log => {
                let ids = self.stream("tids", group)?;
                Some(PlannedLines::of_log(&flags()?, &ids, self.templates())?)
            }
            Codec::Ssh => {
                let ids = self.stream("template_ids", group)?;
                Some(PlannedLines::of_ssh(&flags()?, &ids, self.templates())?)
            }
            _ => {
                let (skeleton, ids) =
                    (self.stream("skeleton", group)?, self.stream("colids", group)?);
                PlannedLines::of_records(&skeleton, &ids, self.metadata.slots.len())?
            }
        };
        match planned {
            Some(planned) if planned.of_lines.len() as u64 == lines => Ok(planned),
            _ => Err(malformed("do not fit the lines of the archive")),
        }
    }

    /// Reads the lists of a group that some columns need.
    fn lists(&self, group: usize, planned: &PlannedLines, columns: &[LogColumn]) -> Result<Lists> {
        let codec = self.archive.codec();
        let count = match codec {
            Codec::Log => LOG_LISTS.len(),
            Codec::Ssh => SSH_LISTS.len(),
            _ => self.metadata.slots.len(),
        };
        let mut needed = vec![false; count];
        for &column in columns {
            let more = needed_lists(planned, column, &self.metadata.slots, count)?;
            needed.iter_mut().zip(more).for_each(|(needed, more)| *needed |= more);
        }
        let wanted = || needed.iter().enumerate().filter(|&(_, &needed)| needed);
        let mut lists: Lists = vec![None; count];
        if let (Codec::JsonDoc, ListSource::Whole(whole)) = (codec, &self.lists) {
            let ends = wanted().filter_map(|(list, _)| whole.columns.get(list));
            let end = ends.map(|place| place.end).max().unwrap_or_default();
            let values = whole.stream("values")?;
            let values = values.start(&self.archive, end, self.stored_start(columns))?;
            for (list, _) in wanted() {
                let place = whole.columns.get(list).cloned().unwrap_or_default();
                // The end of the last place is that of what was read.
                let content = Bytes::clone(&values).slice(place.start.min(end)..place.end.min(end));
                if let Some(list) = lists.get_mut(list) {
                    *list = Some(ListContent::Elements(Some(content)));
                }
            }
            return Ok(lists);
        }
        for (number, _) in wanted() {
            let content = match (codec, &self.lists) {
                (Codec::JsonDoc, ListSource::Groups(groups)) => {
                    ListContent::Elements(groups.column_part(number, group)?)
                }
                (Codec::Ssh, _) if number == SSH_NUMBERS => {
                    ListContent::Numbers(self.stream("pids", group)?)
                }
                _ => {
                    let names = if codec == Codec::Log { &LOG_LISTS[..] } else { &SSH_LISTS };
                    let name = names.get(number).copied().unwrap_or_default();
                    ListContent::Elements(match &self.lists {
                        ListSource::Groups(groups) => groups.part(name, group)?,
                        ListSource::Whole(_) => Some(self.stream(name, group)?),
                    })
                }
            };
            if let Some(list) = lists.get_mut(number) {
                *list = Some(content);
            }
        }
        Ok(lists)
    }

    /// Returns the bytes of the stream `values` that columns are decompressed from, or more.
    fn stored_start(&self, columns: &[LogColumn]) -> u64 {
        let [template, time] = self.metadata.starts;
        let has = |column: LogColumn| columns.contains(&column);
        match has(LogColumn::Variables) {
            true => u64::MAX,
            false if has(LogColumn::Time) => time,
            false => template,
        }
    }

    /// Computes a column of a group from its lists; fails if the archive states another one.
    fn compute(
        &self,
        group: usize,
        planned: &PlannedLines,
        lists: &Lists,
        column: LogColumn,
    ) -> Result<ArrayRef> {
        let (slots, limits) = (&self.metadata.slots, self.archive.limits());
        let sums = self.sums(group)?;
        let wrong = || malformed(format!("of group {group} do not match their checksum"));
        match column {
            LogColumn::Template => {
                let templates = Templates::compute(planned, slots, lists, limits)?;
                if templates.sum(0..templates.keys.len()) != sums.template {
                    return Err(wrong());
                }
                dictionary(templates)
            }
            LogColumn::Variables => Err(Error::internal("variables are computed by blocks")),
            LogColumn::Time => {
                let times = times(planned, slots, lists, limits)?;
                if time_sum(&times, 0..planned.of_lines.len()) != sums.time {
                    return Err(wrong());
                }
                Ok(Arc::new(times))
            }
        }
    }

    /// Returns whether columns need a list of codec log or ssh.
    fn needs_list(&self, name: &str, columns: &[LogColumn]) -> bool {
        let slots = &self.metadata.slots;
        let own = |nth_last: usize| {
            slots.len().checked_sub(nth_last).map(|slot| slot..slot.saturating_add(1))
        };
        let range = match (self.archive.codec(), name) {
            (Codec::Log, "vars") => Some(0..slots.len().saturating_sub(1)),
            (Codec::Ssh, "vars") => Some(SSH_FIELDS..slots.len().saturating_sub(2)),
            (Codec::Ssh, "rawmsgs") => own(2),
            (_, "verbatim") => own(1),
            _ => SSH_LISTS.iter().position(|&it| it == name).map(|it| it..it.saturating_add(1)),
        };
        let classes = range.and_then(|range| slots.get(range)).unwrap_or_default();
        classes.iter().any(|&class| columns.iter().any(|column| column.reads(class)))
    }

    /// Returns byte ranges of the archive that columns of a group are computed from.
    pub(crate) fn ranges(&self, group: usize, columns: &[LogColumn]) -> Vec<Range<u64>> {
        let is_needed = |class: &SlotClass| columns.iter().any(|column| column.reads(*class));
        let needs_stream = |name: &str| match name {
            "skeleton" | "colids" | "flags" | "tids" | "template_ids" => true,
            _ => self.needs_list(name, columns),
        };
        match &self.lists {
            ListSource::Groups(groups) => groups.ranges_of(group, needs_stream, |column| {
                self.metadata.slots.get(column).is_some_and(is_needed)
            }),
            ListSource::Whole(whole) => {
                let place = |stream: &StoredStream| {
                    let mut place = stream.whole_place();
                    if stream.name() == "values" {
                        let stored = self.stored_start(columns);
                        place.end = place.end.min(place.start.saturating_add(stored));
                    } else if !needs_stream(stream.name()) {
                        return None;
                    }
                    (!place.is_empty()).then_some(place)
                };
                whole.streams.iter().filter_map(place).collect()
            }
        }
    }
}

/// The columns of a group that were computed so far.
#[derive(Debug)]
pub(crate) struct LogGroup {
    columns: Arc<LogColumns>,
    group: usize,
    planned: Option<PlannedLines>,
    template: Option<ArrayRef>,
    time: Option<ArrayRef>,
    variables: Option<VariableReader>,
    /// The variables of the block of lines that was read last.
    block: Option<(usize, ArrayRef)>,
}

impl LogGroup {
    /// Returns a group of which nothing was read.
    pub(crate) fn new(columns: &Arc<LogColumns>, group: usize) -> Self {
        Self {
            columns: columns.clone(),
            group,
            planned: None,
            template: None,
            time: None,
            variables: None,
            block: None,
        }
    }

    /// Returns whether the lists of a column were read.
    pub(crate) fn has(&self, column: LogColumn) -> bool {
        match column {
            LogColumn::Template => self.template.is_some(),
            LogColumn::Time => self.time.is_some(),
            LogColumn::Variables => self.variables.is_some(),
        }
    }

    /// Reads the lists of columns, unless they were read before, and computes templates and times.
    pub(crate) fn load(&mut self, columns: &[LogColumn]) -> Result<()> {
        let missing: Vec<LogColumn> =
            columns.iter().copied().filter(|&column| !self.has(column)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let source = self.columns.clone();
        let planned = match self.planned.take() {
            Some(planned) => planned,
            None => source.planned(self.group)?,
        };
        let planned = self.planned.insert(planned);
        let mut lists = source.lists(self.group, planned, &missing)?;
        let (mut template, mut time) = (None, None);
        for &column in &missing {
            let place = match column {
                LogColumn::Template => &mut template,
                LogColumn::Time => &mut time,
                LogColumn::Variables => continue,
            };
            *place = Some(source.compute(self.group, planned, &lists, column)?);
        }
        if missing.contains(&LogColumn::Variables) {
            let slots = &source.metadata.slots;
            let needed = needed_lists(planned, LogColumn::Variables, slots, lists.len())?;
            for (list, needed) in lists.iter_mut().zip(needed) {
                list.take_if(|_| !needed);
            }
            let limits = source.archive.limits();
            self.variables = Some(VariableReader::new(planned.plans.len(), lists, limits));
        }
        self.template = template.or_else(|| self.template.take());
        self.time = time.or_else(|| self.time.take());
        Ok(())
    }

    /// Returns templates as a dictionary, or times as text.
    pub(crate) fn column(&mut self, column: LogColumn) -> Result<ArrayRef> {
        self.load(&[column])?;
        let found = match column {
            LogColumn::Template => self.template.clone(),
            LogColumn::Time => self.time.clone(),
            LogColumn::Variables => None,
        };
        found.ok_or_else(|| Error::internal("a column was not computed"))
    }

    /// Returns the variables of some lines of a range, of all for `None`.
    pub(crate) fn variables(
        &mut self,
        lines: &Range<usize>,
        selected: Option<&RowSelection>,
    ) -> Result<ArrayRef> {
        self.load(&[LogColumn::Variables])?;
        let mut pieces = Vec::new();
        let mut start = lines.start;
        while start < lines.end {
            let block = start / VARIABLES_LINES;
            let first = block.saturating_mul(VARIABLES_LINES);
            let end = lines.end.min(first.saturating_add(VARIABLES_LINES));
            let offset = start.saturating_sub(lines.start);
            let len = end.saturating_sub(start);
            let inside = selected.map(|rows| rows.slice(offset..offset.saturating_add(len)));
            if inside.as_ref().is_none_or(|inside| !inside.is_empty()) {
                let array = self.block(block)?.slice(start.saturating_sub(first), len);
                pieces.push(match inside {
                    Some(inside) => inside.of_array(&array)?,
                    None => array,
                });
            }
            start = end;
        }
        match <[ArrayRef; 1]>::try_from(pieces) {
            Ok([only]) => Ok(only),
            Err(pieces) if pieces.is_empty() => VariableCells::default().into_array(),
            Err(pieces) => {
                let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
                Ok(arrow_select::concat::concat(&pieces)?)
            }
        }
    }

    /// Returns the variables of a block of lines; fails if the archive states others.
    fn block(&mut self, block: usize) -> Result<ArrayRef> {
        if let Some((known, array)) = &self.block
            && *known == block
        {
            return Ok(array.clone());
        }
        let (Some(reader), Some(planned)) = (&mut self.variables, &self.planned) else {
            return Err(Error::internal("lists were not read"));
        };
        let start = block.saturating_mul(VARIABLES_LINES);
        let end = start.saturating_add(VARIABLES_LINES).min(planned.of_lines.len());
        let cells = reader.read(planned, &self.columns.metadata.slots, start..end)?;
        let stated = self.columns.sums(self.group)?.variables.get(block);
        if stated != Some(&cells.sum(0..cells.lines())) {
            let why = format!("of group {} do not match their checksum", self.group);
            return Err(malformed(why));
        }
        let array = cells.into_array()?;
        self.block = Some((block, array.clone()));
        Ok(array)
    }
}

/// Returns templates as an array.
fn dictionary(templates: Templates) -> Result<ArrayRef> {
    let too_large = || malformed("have too many texts");
    let bytes = templates.entries.iter().fold(0_usize, |sum, it| sum.saturating_add(it.len()));
    let keys: Option<Vec<i32>> =
        templates.keys.iter().map(|&key| i32::try_from(key).ok()).collect();
    i32::try_from(bytes).map_err(|_| too_large())?;
    let keys = Int32Array::from(keys.ok_or_else(too_large)?);
    let entries: StringArray = templates.entries.iter().map(Some).collect();
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(entries))?))
}

fn malformed(why: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::malformed("columns of a log", why).in_stream(LOG)
}
