//! An open file: some columns of a chunk, and no byte of the others.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::decode;
use super::held::{Held, Origin};
use super::layout::{self, HEAD, Layout, TAIL};
use super::part::{Part, Section as Which, Sections};
use super::schema::Strings;
use super::zones::ChunkFacts;
use crate::deviation::Deviation;
use crate::error::{Error, ErrorKind, Result};
use crate::formats::{FormatId, Reader, Section, batch};
use crate::options::ReadOptions;
use crate::query::Facts;
use crate::rows::Rows;
use crate::source::ByteSource;

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

    /// Reads a part, and hands its rows on as they are stored.
    fn with_held<T>(
        &self,
        column: usize,
        chunk: usize,
        then: impl FnOnce(&Part, Held<'_>, Strings) -> Result<T>,
    ) -> Result<T> {
        let part = self.part(column, chunk)?;
        let Some(found) = self.layout.columns.get(column) else {
            return Err(Error::invalid_argument("no such column"));
        };
        let owner = part.packed.map(|packed| packed.dictionary).filter(|&owner| owner != chunk);
        let from = Origin {
            source: self.source.as_ref(),
            owner: owner.and_then(|owner| self.layout.part(column, owner)),
        };
        let hold = || {
            let sections = Sections::read(self.source.as_ref(), part)?;
            then(part, Held::new(part, &sections, &from)?, found.strings)
        };
        let first = self.layout.first_row(chunk);
        hold().map_err(|err| match err.row() {
            Some(row) => err.at_row(first.saturating_add(row)).in_column(column, &found.name),
            None => err.in_column(column, &found.name),
        })
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
        let (wide, thorough) = (self.is_wide(column), self.is_thorough());
        self.with_held(column, chunk, |part, held, strings| match wide {
            true => decode::all::<i64>(part, held, strings, thorough),
            false => decode::all::<i32>(part, held, strings, thorough),
        })
    }

    fn decode_rows(&self, column: usize, chunk: usize, rows: &Rows) -> Result<ArrayRef> {
        let wide = self.is_wide(column);
        self.with_held(column, chunk, |_, held, strings| match wide {
            true => decode::some::<i64>(&held, rows, strings),
            false => decode::some::<i32>(&held, rows, strings),
        })
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

    fn read_some(&self, chunk: usize, columns: &[usize], rows: &Rows) -> Result<RecordBatch> {
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

    fn read_rows(&self, chunk: usize, columns: &[usize], rows: &Rows) -> Result<RecordBatch> {
        self.read_some(chunk, columns, rows).map_err(|err| err.in_format(FormatId::OnPair))
    }

    fn facts(&self, chunk: usize) -> Option<Box<dyn Facts + '_>> {
        Some(Box::new(ChunkFacts::new(&self.layout, chunk)))
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
    let name = crate::error::clipped(name);
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
