//! A table of row groups, and the rows of a group that a query selects.

use std::ops::Range;

use hashbrown::HashMap;
use memchr::memchr_iter;

use super::source::CountedSource;
use crate::cell_syntax::Syntax;
use crate::codecs::context::DecodeContext;
use crate::codecs::groups::{self, BlockIndex, GroupsMeta};
use crate::group_index::{Checksums, TextIndex};
use crate::statistics::GroupStatistics;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::predicate::{
    CellPresence, ColumnAccess, Decimal, NumberBounds, Predicate, PruningStatistics, TextBounds,
};
use hypostyle_core::text::csv;
use hypostyle_core::text::csv::unquote;

/// A table whose rows are in groups, with everything known of it except its cells.
#[derive(Debug)]
pub(crate) struct GroupedTable {
    pub(crate) meta: GroupsMeta,
    pub(crate) index: BlockIndex,
    /// The offset of its blocks in the file.
    pub(crate) blocks: u64,
    pub(crate) rows: usize,
    pub(crate) groups: usize,
    pub(crate) syntax: Syntax,
    /// The text before, between and after the cells of a row, for JSON.
    pub(crate) segments: Vec<Vec<u8>>,
    /// The names of the columns.
    pub(crate) names: Vec<String>,
    /// The names of the objects and arrays around cells, for JSON.
    pub(crate) nested: Vec<String>,
    pub(crate) texts: TextIndex,
    pub(crate) sums: Checksums,
}

/// Which rows to select, and how to write them.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowRequest<'q> {
    pub(crate) filter: Option<&'q Predicate>,
    /// The projection, by name; `None` for whole rows.
    pub(crate) columns: Option<&'q [String]>,
    /// Whether to write the original lines instead of rows for the importer.
    pub(crate) exact: bool,
    /// Words that the filter takes for null.
    pub(crate) nulls: &'q [String],
}

/// The selected rows of a group, as text.
#[derive(Debug, Default)]
pub(super) struct GroupRows {
    /// The indexes of the rows in the group.
    pub(crate) rows: Vec<usize>,
    /// The end of each row in `text`.
    pub(crate) ends: Vec<usize>,
    pub(crate) text: Vec<u8>,
    /// Whether a block was read for it.
    pub(crate) read: bool,
    /// The index of its entry in `QueryStats::damaged`, if the group is damaged.
    pub(crate) damage: Option<usize>,
}

/// The decompressed cells of a block.
#[derive(Debug)]
pub(super) struct CellBlock {
    text: Vec<u8>,
    /// The end of each cell in `text`.
    ends: Vec<usize>,
}

impl CellBlock {
    fn get(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = start.map_or(0, |end| end + 1);
        let end = self.ends.get(row).copied().unwrap_or_default();
        self.text.get(start..end).unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let cell = self.text.get(start..end).unwrap_or_default();
            start = end + 1;
            cell
        })
    }
}

impl GroupedTable {
    /// Returns the index of the column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// Returns the name of a column, or nothing if it has none.
    pub(crate) fn name(&self, column: usize) -> &str {
        self.names.get(column).map_or("", String::as_str)
    }

    /// Returns the rows of a group.
    pub(crate) fn rows_of(&self, group: usize) -> Range<usize> {
        let start = group.saturating_mul(self.meta.group_rows);
        start..self.rows.min(start.saturating_add(self.meta.group_rows))
    }

    /// Selects rows of a group: those in `only`, if given, that match the filter.
    ///
    /// Reads no block if the statistics and indexes exclude the whole group.
    pub(super) fn select(
        &self,
        group: usize,
        only: Option<&[usize]>,
        request: RowRequest<'_>,
        source: &CountedSource<'_>,
        context: &DecodeContext<'_>,
    ) -> Result<GroupRows> {
        let range = self.rows_of(group);
        let mut rows: Vec<usize> = match only {
            Some(only) => only.iter().map(|row| row - range.start).collect(),
            None => (0..range.len()).collect(),
        };
        if rows.is_empty() {
            return Ok(GroupRows::default());
        }
        let (count, nulls, cells) = (range.len(), request.nulls, HashMap::new());
        let mut loaded = LoadedColumns { table: self, rows: count, nulls, cells };
        if let Some(filter) = request.filter {
            if !filter.may_match(&GroupPruning { table: self, group }) {
                return Ok(GroupRows::default());
            }
            let names = filter.columns();
            let columns = names.iter().filter_map(|name| self.column(name));
            loaded.load(group, columns.collect(), source, context)?;
            let matches = filter.evaluate(range.len(), &loaded)?;
            rows.retain(|&row| matches.get(row).copied().unwrap_or_default());
        }
        let mut selected = GroupRows { read: true, ..GroupRows::default() };
        if rows.is_empty() {
            return Ok(selected);
        }
        let columns: Vec<(&str, Option<usize>)> = match request.columns {
            Some(names) => names.iter().map(|name| (name.as_str(), self.column(name))).collect(),
            None => {
                (0..self.meta.columns).map(|column| (self.name(column), Some(column))).collect()
            }
        };
        let needed = columns.iter().filter_map(|&(_, column)| column).collect();
        loaded.load(group, needed, source, context)?;
        self.check_size(&rows, &loaded, context)?;
        for &row in &rows {
            match (self.syntax, request.columns) {
                (Syntax::Plain | Syntax::Csv, _) if request.exact => {
                    let cells = (0..self.meta.columns).map(|column| loaded.cell(column, row));
                    let cells: Vec<&[u8]> = cells.map(Option::unwrap_or_default).collect();
                    selected.text.extend_from_slice(&cells.join(&self.meta.delimiter[..]));
                    selected.text.push(b'\n');
                }
                (Syntax::Json, None) => self.put_line(&loaded, row, &mut selected.text),
                (Syntax::Json, Some(_)) => {
                    let cells = columns.iter().map(|&(name, column)| {
                        (name, column.and_then(|column| loaded.cell(column, row)))
                    });
                    put_object(cells, &mut selected.text);
                }
                _ => {
                    let cells = columns.iter().map(|&(_, column)| {
                        let cell = column.and_then(|column| loaded.cell(column, row));
                        let last = column.is_some_and(|column| column + 1 == self.meta.columns);
                        (cell.unwrap_or_default(), last)
                    });
                    put_row(cells, self.syntax, &mut selected.text);
                }
            }
            selected.ends.push(selected.text.len());
        }
        selected.rows = rows;
        Ok(selected)
    }

    /// Fails if the text of the rows would exceed the output limit.
    ///
    /// The file has the text between cells once, but the output has it once per row.
    fn check_size(
        &self,
        rows: &[usize],
        loaded: &LoadedColumns<'_>,
        context: &DecodeContext<'_>,
    ) -> Result<()> {
        let between: usize = self.segments.iter().map(Vec::len).sum();
        let delimiters = self.meta.delimiter.len().saturating_mul(self.meta.columns);
        let names: usize = self.names.iter().map(String::len).sum();
        let row = between.saturating_add(delimiters).saturating_add(names) as u64;
        let asked = row.saturating_mul(rows.len() as u64).saturating_add(loaded.bytes());
        let (what, limit) =
            ("size of the rows", context.limits.output_bytes.min(context.limits.read_bytes));
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(())
    }

    /// Reads the cells of one row.
    pub(super) fn read_row(
        &self,
        row: usize,
        source: &CountedSource<'_>,
        context: &DecodeContext<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        let columns: Vec<usize> = (0..self.meta.columns).collect();
        let group = row / self.meta.group_rows;
        let cells = self.read_blocks(group, &columns, source, context)?;
        Ok(cells.iter().map(|cells| cells.get(row % self.meta.group_rows).to_vec()).collect())
    }

    /// Appends the original JSON line of a row.
    fn put_line(&self, loaded: &LoadedColumns<'_>, row: usize, out: &mut Vec<u8>) {
        for (column, segment) in self.segments.iter().enumerate() {
            out.extend_from_slice(segment);
            out.extend_from_slice(loaded.cell(column, row).unwrap_or_default());
        }
        out.push(b'\n');
    }

    /// Returns the offset and length of a block in the file.
    fn place(&self, block: usize) -> (u64, u64) {
        let Range { start, end } = self.index.block(block);
        (self.blocks.saturating_add(start as u64), end.saturating_sub(start) as u64)
    }

    /// Returns where the bytes are that the block of a column is checked and decoded from.
    pub(crate) fn block(&self, group: usize, column: usize) -> StoredBlock {
        let block = group.saturating_mul(self.meta.columns).saturating_add(column);
        // A checksum may cover neighbouring blocks, which must then be read as well.
        let (covered, sum) = match self.sums.of_block(block, self.index.ends.len()) {
            Some((blocks, sum)) => (blocks, Some(sum)),
            None => (block..block.saturating_add(1), None),
        };
        let (start, _) = self.place(covered.start);
        let (last, len) = self.place(covered.end.saturating_sub(1));
        let bytes = start..last.saturating_add(len).max(start);
        let (offset, len) = self.place(block);
        StoredBlock { group, column, bytes, covered: covered.len(), sum, offset, len }
    }

    /// Checks the bytes of a block against their checksum, and decompresses it.
    pub(crate) fn decompress(
        &self,
        block: &StoredBlock,
        bytes: &[u8],
        context: &DecodeContext<'_>,
    ) -> Result<Vec<u8>> {
        let group = block.group;
        if block.sum.is_some_and(|sum| hypostyle_core::wire::crc32(bytes) != sum) {
            let why = match block.covered {
                1 => format!("the checksum of group {group} does not match"),
                more => format!("the checksum of {more} blocks of group {group} does not match"),
            };
            return Err(self.placed(block, Error::malformed("block", why)));
        }
        let from = block.offset.saturating_sub(block.bytes.start);
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let to = from.saturating_add(usize::try_from(block.len).unwrap_or(usize::MAX));
        let bytes = bytes.get(from..to).unwrap_or_default();
        let text = groups::decompress(bytes, (block.offset, true), context);
        text.map_err(|err| self.placed(block, err))
    }

    /// Returns the error for a block with fewer cells than its group has rows.
    pub(crate) fn too_few_cells(&self, block: &StoredBlock, cells: usize) -> Error {
        let (group, rows) = (block.group, self.rows_of(block.group).len());
        let why = format!("group {group} has {cells} cells for {rows} rows");
        self.placed(block, Error::malformed("block", why))
    }

    fn placed(&self, block: &StoredBlock, err: Error) -> Error {
        let err = err.at(block.offset).in_stream("blocks");
        err.in_column(block.column, self.name(block.column))
    }

    /// Reads and decompresses the blocks of some columns of a group; checks their checksums.
    pub(super) fn read_blocks(
        &self,
        group: usize,
        columns: &[usize],
        source: &CountedSource<'_>,
        context: &DecodeContext<'_>,
    ) -> Result<Vec<CellBlock>> {
        let blocks: Vec<StoredBlock> =
            columns.iter().map(|&column| self.block(group, column)).collect();
        let range = |block: &StoredBlock| (block.bytes.start, block.bytes.end - block.bytes.start);
        let ranges: Vec<(u64, u64)> = blocks.iter().map(range).collect();
        let read = source.ranges(&ranges, "block")?;
        let rows = self.rows_of(group).len();
        let mut all = Vec::with_capacity(columns.len());
        for (block, bytes) in blocks.iter().zip(&read) {
            let text = self.decompress(block, bytes, context)?;
            let mut ends: Vec<usize> = memchr_iter(b'\n', &text).take(rows).collect();
            if ends.len() < rows {
                ends.push(text.len());
            }
            if ends.len() < rows {
                return Err(self.too_few_cells(block, ends.len()));
            }
            all.push(CellBlock { text, ends });
        }
        Ok(all)
    }
}

/// The place of a block in the file, and of the bytes that share its checksum.
#[derive(Clone, Debug)]
pub(crate) struct StoredBlock {
    group: usize,
    column: usize,
    /// The bytes that the checksum covers; those of the block if there is no checksum.
    pub(crate) bytes: Range<u64>,
    /// The number of blocks in these bytes.
    covered: usize,
    sum: Option<u32>,
    offset: u64,
    len: u64,
}

/// The columns of a group that were read so far.
struct LoadedColumns<'s> {
    table: &'s GroupedTable,
    rows: usize,
    nulls: &'s [String],
    cells: HashMap<usize, CellBlock>,
}

impl LoadedColumns<'_> {
    /// Reads these columns, except those that were read before.
    fn load(
        &mut self,
        group: usize,
        mut columns: Vec<usize>,
        source: &CountedSource<'_>,
        context: &DecodeContext<'_>,
    ) -> Result<()> {
        columns.retain(|column| !self.cells.contains_key(column));
        columns.sort_unstable();
        columns.dedup();
        let cells = self.table.read_blocks(group, &columns, source, context)?;
        self.cells.extend(columns.into_iter().zip(cells));
        let asked = self.bytes();
        let (what, limit) = ("size of the blocks", context.limits.read_bytes);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(())
    }

    /// The size of all cells.
    fn bytes(&self) -> u64 {
        self.cells.values().map(|block| block.text.len() as u64).sum()
    }

    fn cell(&self, column: usize, row: usize) -> Option<&[u8]> {
        self.cells.get(&column).map(|cells| cells.get(row))
    }
}

impl ColumnAccess for LoadedColumns<'_> {
    fn for_each(&self, column: &str, each: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        let index = self.table.column(column);
        let last = index.is_some_and(|index| index + 1 == self.table.meta.columns);
        match index.and_then(|index| self.cells.get(&index)) {
            // The template has no such member: all rows are null.
            None => (0..self.rows).for_each(|_| each(None)),
            Some(cells) => {
                let value = |cell| self.table.syntax.value_unless(cell, last, self.nulls);
                cells.iter().for_each(|cell| each(value(cell).as_deref()));
            }
        }
        Ok(())
    }
}

/// The statistics and indexes of a group, for pruning.
pub(crate) struct GroupPruning<'s> {
    pub(crate) table: &'s GroupedTable,
    pub(crate) group: usize,
}

impl GroupPruning<'_> {
    /// The bounds of the numbers of a column.
    pub(crate) fn numbers_of(&self, column: usize) -> NumberBounds {
        let at = self.group.saturating_mul(self.table.meta.columns).saturating_add(column);
        let bounds = match self.table.index.statistics.get(at) {
            Some(Some(GroupStatistics::Integers { min, max })) if min <= max => {
                Some((Decimal::from_i128(*min), Decimal::from_i128(*max)))
            }
            Some(Some(GroupStatistics::Decimals { min, max })) if min <= max => {
                // Other writers round to the nearest float, which may exclude a cell (§6.4).
                let min = Decimal::from_f64(min.next_down().next_down());
                min.zip(Decimal::from_f64(max.next_up().next_up()))
            }
            _ => None,
        };
        bounds.map_or(NumberBounds::Unknown, |(min, max)| NumberBounds::Between(min, max))
    }

    /// The bounds of the texts of a column, if they are indexed.
    pub(crate) fn texts_of(&self, column: usize) -> Option<TextBounds<'_>> {
        let (min, max) = self.table.texts.bounds(column, self.group)?;
        Some(TextBounds { min, max })
    }

    /// Returns whether a column may contain a text.
    pub(crate) fn may_hold_in(&self, column: usize, text: &[u8]) -> bool {
        self.table.texts.may_hold(column, self.group, text)
    }
}

impl PruningStatistics for GroupPruning<'_> {
    fn numbers(&self, column: &str) -> NumberBounds {
        // A template without such a member has no numbers in it.
        self.table.column(column).map_or(NumberBounds::NoNumbers, |column| self.numbers_of(column))
    }

    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        self.texts_of(self.table.column(column)?)
    }

    fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        self.table.column(column).is_some_and(|column| self.may_hold_in(column, text))
    }

    fn cells(&self, column: &str) -> CellPresence {
        match self.table.column(column) {
            Some(_) => CellPresence::default(),
            None => CellPresence { blank: true, filled: false },
        }
    }
}

/// Appends an object with these members.
pub(super) fn put_object<'c>(
    members: impl Iterator<Item = (&'c str, Option<&'c [u8]>)>,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    for (nth, (name, cell)) in members.enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        out.extend_from_slice(serde_json::to_string(name).unwrap_or_default().as_bytes());
        out.push(b':');
        out.extend_from_slice(cell.unwrap_or(b"null"));
    }
    out.extend_from_slice(b"}\n");
}

/// Appends a CSV row; the flag of a cell says whether it was the last of its line.
pub(super) fn put_row<'c>(
    cells: impl Iterator<Item = (&'c [u8], bool)>,
    syntax: Syntax,
    out: &mut Vec<u8>,
) {
    for (nth, (cell, last)) in cells.enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        let cell = match cell.strip_suffix(b"\r") {
            Some(rest) if last && syntax == Syntax::Csv => rest,
            _ => cell,
        };
        // Well-formed quotes stay: they distinguish an empty text from null.
        if syntax == Syntax::Csv && cell.starts_with(b"\"") && unquote(cell).is_some() {
            out.extend_from_slice(cell);
        } else {
            csv::cell_into(cell, b',', out);
        }
    }
    out.push(b'\n');
}
