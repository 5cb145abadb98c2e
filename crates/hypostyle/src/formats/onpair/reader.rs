//! An open file: some columns of a chunk, and no byte of the others.

use std::cell::OnceCell;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_empty_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::decode;
use super::held::{Held, Origin};
use super::layout::{self, HEAD, Layout, TAIL};
use super::part::{Part, Section as Which, Sections};
use super::schema::Strings;
use super::search::{Tested, TestedColumn};
use super::zones::ChunkStatistics;
use crate::formats::batch;
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format::{Reader, Section};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::predicate::{Predicate, PruningStatistics, find_column};
use hypostyle_core::row_selection::RowSelection;
use hypostyle_core::source::ByteSource;

/// An open file.
#[derive(Debug)]
pub(super) struct File {
    source: Arc<dyn ByteSource>,
    options: ReadOptions,
    layout: Layout,
    schema: SchemaRef,
}

impl File {
    /// Reads the tail and the footer; `head` is what the file starts with.
    pub(super) fn open(
        source: Arc<dyn ByteSource>,
        head: &[u8],
        options: &ReadOptions,
    ) -> Result<Self> {
        let layout = layout::parse(source.as_ref(), head, &options.limits)?;
        let fields = layout.columns.iter().enumerate().map(|(index, column)| {
            let wide = layout.parts(index).iter().any(|part| i32::try_from(part.text).is_err());
            Field::new(&column.name, column.strings.data_type(wide), true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self { source, options: options.clone(), layout, schema })
    }

    fn part(&self, column: usize, chunk: usize) -> Result<&Part> {
        self.layout.part(column, chunk).ok_or_else(|| {
            let count = self.layout.columns.len();
            Error::invalid_argument(format!("there is no column {column}, only {count}"))
        })
    }

    fn strings(&self, column: usize) -> Strings {
        self.layout.columns.get(column).map_or(Strings::Binary, |column| column.strings)
    }

    /// The sections of a part, read in one go.
    fn sections(&self, column: usize, chunk: usize) -> Result<Sections<'_>> {
        let read = Sections::read(self.source.as_ref(), self.part(column, chunk)?);
        read.map_err(|err| self.placed(err, column, chunk))
    }

    /// The rows of a part, as they are stored.
    fn held<'s>(
        &self,
        column: usize,
        chunk: usize,
        sections: &'s Sections<'_>,
    ) -> Result<Held<'s>> {
        let part = self.part(column, chunk)?;
        let owner = part.packed.map(|packed| packed.dictionary).filter(|&owner| owner != chunk);
        let from = Origin {
            source: self.source.as_ref(),
            owner: owner.and_then(|owner| self.layout.part(column, owner)),
        };
        Held::new(part, sections, &from).map_err(|err| self.placed(err, column, chunk))
    }

    /// An error in a column of a chunk, with its row counted from the start of the file.
    fn placed(&self, err: Error, column: usize, chunk: usize) -> Error {
        let first = self.layout.first_row(chunk);
        let err = match err.row() {
            Some(row) => err.at_row(first.saturating_add(row)),
            None => err,
        };
        match self.layout.columns.get(column) {
            Some(found) => err.in_column(column, &found.name),
            None => err,
        }
    }

    /// Whether the arrays of a column have wide offsets.
    fn is_wide(&self, column: usize) -> bool {
        let data_type = self.schema.fields().get(column).map(|field| field.data_type());
        matches!(data_type, Some(DataType::LargeUtf8 | DataType::LargeBinary))
    }

    /// Whether everything that is said of a part is compared with what it holds.
    fn is_thorough(&self) -> bool {
        self.options.strict || self.options.thorough
    }

    fn decode(&self, column: usize, chunk: usize) -> Result<ArrayRef> {
        let sections = self.sections(column, chunk)?;
        self.decode_all(column, chunk, &self.held(column, chunk, &sections)?)
    }

    fn decode_all(&self, column: usize, chunk: usize, held: &Held<'_>) -> Result<ArrayRef> {
        let (part, strings) = (self.part(column, chunk)?, self.strings(column));
        let array = match self.is_wide(column) {
            true => decode::all::<i64>(part, held, strings, self.is_thorough()),
            false => decode::all::<i32>(part, held, strings, self.is_thorough()),
        };
        array.map_err(|err| self.placed(err, column, chunk))
    }

    fn decode_rows(&self, column: usize, chunk: usize, rows: &RowSelection) -> Result<ArrayRef> {
        let sections = self.sections(column, chunk)?;
        self.decode_some(column, chunk, &self.held(column, chunk, &sections)?, rows)
    }

    fn decode_some(
        &self,
        column: usize,
        chunk: usize,
        held: &Held<'_>,
        rows: &RowSelection,
    ) -> Result<ArrayRef> {
        let array = match self.is_wide(column) {
            true => decode::some::<i64>(held, rows, self.strings(column)),
            false => decode::some::<i32>(held, rows, self.strings(column)),
        };
        array.map_err(|err| self.placed(err, column, chunk))
    }

    /// Checks what reading these columns would cost before any of it is spent.
    fn check_cost(&self, chunk: usize, columns: &[usize]) -> Result<u64> {
        let limits = &self.options.limits;
        let mut all = 0_u64;
        for &column in columns {
            let part = self.part(column, chunk)?;
            let (what, asked, limit) = ("size of a column", part.cost(), limits.block_bytes);
            if asked > limit {
                let err = Error::new(ErrorKind::LimitExceeded { what, asked, limit });
                let name = self.schema.fields().get(column).map(|field| field.name().as_str());
                return Err(err.at(part.entry).in_column(column, name.unwrap_or_default()));
            }
            all = all.saturating_add(asked);
        }
        let (what, asked, limit) = ("size of the columns", all, limits.read_bytes);
        match asked > limit {
            true => Err(ErrorKind::LimitExceeded { what, asked, limit }.into()),
            false => Ok(all),
        }
    }

    fn check_chunk(&self, chunk: usize) -> Result<usize> {
        match self.layout.chunks.get(chunk) {
            Some(&rows) => Ok(rows as usize),
            None => {
                let count = self.layout.chunks.len();
                let why = format!("there is no chunk {chunk}, only {count}");
                Err(Error::invalid_argument(why))
            }
        }
    }

    fn read_columns(&self, chunk: usize, columns: &[usize]) -> Result<RecordBatch> {
        let rows = self.check_chunk(chunk)?;
        let cost = self.check_cost(chunk, columns)?;
        batch::read(&self.schema, columns, rows, cost, &self.options, |column| {
            self.decode(column, chunk)
        })
    }

    fn read_some(
        &self,
        chunk: usize,
        columns: &[usize],
        rows: &RowSelection,
    ) -> Result<RecordBatch> {
        let all = self.check_chunk(chunk)?;
        rows.check(all)?;
        // A closer look is one at all rows, and all rows are quicker together.
        if self.is_thorough() || rows.len() == all {
            return rows.of(&self.read_columns(chunk, columns)?);
        }
        let cost = self.check_cost(chunk, columns)?;
        batch::read(&self.schema, columns, rows.len(), cost, &self.options, |column| {
            self.decode_rows(column, chunk, rows)
        })
    }

    fn read_kept(
        &self,
        chunk: usize,
        columns: &[usize],
        predicate: &Predicate,
    ) -> Result<Option<RecordBatch>> {
        let all = self.check_chunk(chunk)?;
        let tested = predicate.columns().into_iter().map(|name| find_column(&self.schema, name));
        let tested: Vec<usize> = tested.collect::<Result<_>>()?;
        // A closer look is one at all rows, which is what a scan does.
        if self.is_thorough() {
            return Ok(None);
        }
        let more = tested.iter().filter(|column| !columns.contains(column));
        let read: Vec<usize> = columns.iter().chain(more).copied().collect();
        let cost = self.check_cost(chunk, &read)?;

        let sections = tested.iter().map(|&column| self.sections(column, chunk));
        let sections: Vec<Sections<'_>> = sections.collect::<Result<_>>()?;
        let held = tested.iter().zip(&sections);
        let held = held.map(|(&column, sections)| self.held(column, chunk, sections));
        let held: Vec<Held<'_>> = held.collect::<Result<_>>()?;
        let asked = tested.iter().zip(&held).map(|(&column, held)| TestedColumn {
            index: column,
            name: self.layout.columns.get(column).map_or("", |column| &column.name),
            strings: self.strings(column),
            held,
            printed: OnceCell::new(),
        });
        let asked = Tested { rows: all, columns: asked.collect() };
        let rows = RowSelection::from_mask(&predicate.evaluate(all, &asked)?);

        let held_of = |column| {
            let at = tested.iter().position(|&it| it == column);
            at.and_then(|at| held.get(at))
        };
        let read = |rows: usize, decode: &(dyn Fn(usize) -> Result<ArrayRef> + Sync)| {
            batch::read(&self.schema, columns, rows, cost, &self.options, decode)
        };
        // All rows are quicker together than most of them one by one.
        if rows.len() > all / 2 {
            let whole = read(all, &|column| match held_of(column) {
                Some(held) => self.decode_all(column, chunk, held),
                None => self.decode(column, chunk),
            });
            return rows.of(&whole?).map(Some);
        }
        let some = read(rows.len(), &|column| match held_of(column) {
            Some(held) => self.decode_some(column, chunk, held, &rows),
            // A column of which nothing is wanted is not even read.
            None if rows.is_empty() => Ok(new_empty_array(self.schema.field(column).data_type())),
            None => self.decode_rows(column, chunk, &rows),
        });
        some.map(Some)
    }
}

impl Reader for File {
    fn format(&self) -> FormatId {
        FormatId::OnPair
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.layout.rows
    }

    fn chunks(&self) -> usize {
        self.layout.chunks.len()
    }

    fn chunk_rows(&self, chunk: usize) -> u64 {
        self.layout.chunks.get(chunk).copied().unwrap_or(0).into()
    }

    fn read(&self, chunk: usize, columns: &[usize]) -> Result<RecordBatch> {
        self.read_columns(chunk, columns).map_err(|err| err.in_format(FormatId::OnPair))
    }

    fn read_rows(
        &self,
        chunk: usize,
        columns: &[usize],
        rows: &RowSelection,
    ) -> Result<RecordBatch> {
        self.read_some(chunk, columns, rows).map_err(|err| err.in_format(FormatId::OnPair))
    }

    fn read_where(
        &self,
        chunk: usize,
        columns: &[usize],
        predicate: &Predicate,
    ) -> Result<Option<RecordBatch>> {
        self.read_kept(chunk, columns, predicate).map_err(|err| err.in_format(FormatId::OnPair))
    }

    fn pruning_statistics(&self, chunk: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        Some(Box::new(ChunkStatistics::new(&self.layout, chunk)))
    }

    fn sections(&self) -> Vec<Section> {
        let plain =
            |what, offset, stored| Section { what, column: None, offset, stored, raw: None };
        let mut all = vec![plain("head", 0, HEAD)];
        for column in 0..self.layout.columns.len() {
            for part in self.layout.parts(column) {
                all.extend(Which::ALL.into_iter().filter_map(|which| {
                    let stored = u64::from(part.stored(which).len);
                    let shown = (which == Which::Values).then_some(part.text.into());
                    (stored > 0).then(|| Section {
                        what: part.name(which),
                        column: Some(column),
                        offset: part.place(which),
                        stored: stored.next_multiple_of(8),
                        raw: shown,
                    })
                }));
            }
        }
        let footer = &self.layout.footer;
        all.push(plain("footer", footer.start, footer.end.saturating_sub(footer.start)));
        all.push(plain("tail", footer.end, TAIL));
        all
    }

    fn deviations(&self) -> Vec<Deviation> {
        Vec::new()
    }

    fn notes(&self) -> Vec<String> {
        let columns = self.layout.columns.iter().enumerate();
        columns.map(|(index, column)| note(&column.name, self.layout.parts(index))).collect()
    }
}

/// How a column is stored, in a line.
fn note(name: &str, parts: &[Part]) -> String {
    let total = |of: &dyn Fn(&Part) -> u64| parts.iter().map(of).sum::<u64>();
    let (text, stored) = (total(&|part| part.text.into()), total(&|part| part.len()));
    let dictionaries = || parts.iter().filter(|part| part.stored(Which::Dictionary).len > 0);
    let dictionary = total(&|part| part.stored(Which::Dictionary).len.into());
    let mut widths: Vec<u32> =
        dictionaries().flat_map(|part| part.packed).map(|it| it.bits).collect();
    widths.sort_unstable();
    widths.dedup();
    let widths: Vec<String> = widths.iter().map(u32::to_string).collect();
    let indexed = parts.iter().filter(|part| part.indexed).count();
    let name = hypostyle_core::error::clipped(name);
    // Hundredths without floats, so that every machine prints the same.
    let ratio = text.saturating_mul(100).checked_div(stored).unwrap_or(0);
    let mut line = format!(
        "`{name}`: {text} bytes of text in {stored}, ratio {}.{:02}; {} chunks",
        ratio / 100,
        ratio % 100,
        parts.len()
    );
    if !widths.is_empty() {
        line += &format!(
            ", {} dictionaries of {dictionary} bytes, codes of {} bits",
            dictionaries().count(),
            widths.join(", ")
        );
    }
    if indexed > 0 {
        line += &format!(", {indexed} with indexes of distinct values");
    }
    line
}
