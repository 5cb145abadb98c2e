//! A CSV file, read once, into typed columns.

use std::io::Read;

use super::split::{Cell, Outcome, Rows, Splitter};
use super::{CsvOptions, Encoding, Ragged};
use crate::error::{Error, Result};
use crate::options::resolve_threads;
use crate::parallel;
use crate::stage::Stage;
use crate::text::infer::{ImportOptions, Imported, Judge, Judged, Traits};

/// Text that is split and typed in one go.
///
/// Small enough that text and cells stay in a core's own cache while column
/// after column is picked out of them.
const BLOCK: usize = 512 << 10;

/// Tables of many columns get larger blocks, so that a block has many rows.
const BLOCK_A_COLUMN: usize = 1 << 10;

/// Told of the bytes read so far.
pub type Progress<'a> = &'a mut dyn FnMut(u64);

/// Reads a whole CSV file.
///
/// # Errors
///
/// Text that is not in the given encoding, by byte offset; a row of another
/// length than the first, by row; a cell that is not of a type that was asked
/// for, by column and row.
pub fn import(
    input: &mut dyn Read,
    csv: &CsvOptions,
    options: &ImportOptions,
    stage: Stage,
    progress: Progress<'_>,
) -> Result<Imported> {
    let mut blocks = Blocks::new(input, csv, progress);
    let names = blocks.names()?;
    let judges = Judge::panel(&names, options)?;
    let null_words: Vec<&[u8]> = match options.abilities.nulls {
        true => options.null_words.iter().map(String::as_bytes).collect(),
        // Where null does not exist, the word for it is a word like any other.
        false => Vec::new(),
    };

    let mut traits = vec![Traits::NONE; names.len()];
    let mut stage = stage;
    let work = |rows: Rows| {
        let columns = judges.iter().enumerate().map(|(column, judge)| {
            type_column(&rows, column, judge, &null_words)
                .map_err(|err| err.in_column(column, names.get(column).map_or("", |name| name)))
        });
        Ok((rows.count(), columns.collect::<Result<Vec<_>>>()?))
    };
    parallel::stream(
        resolve_threads(options.threads),
        || blocks.next(),
        work,
        |(rows, columns)| {
            let mut arrays = Vec::with_capacity(columns.len());
            for (total, Judged { array, traits }) in traits.iter_mut().zip(columns) {
                total.merge(&traits);
                arrays.push(array);
            }
            stage.push(rows, arrays)
        },
    )?;
    if stage.pieces() == 0 {
        // No rows: every column is there all the same, as text.
        let empty = Judged::empty()?;
        stage.push(0, vec![empty.array; names.len()])?;
    }
    let columns: Vec<_> = traits.into_iter().zip(judges.iter().map(Judge::asked)).collect();
    Ok(Imported::new(names, &columns, stage, options))
}

fn type_column(rows: &Rows, column: usize, judge: &Judge, null_words: &[&[u8]]) -> Result<Judged> {
    let cells = rows.cells.iter().skip(column).step_by(rows.width.max(1)).map(|cell| {
        let bytes = cell.bytes(rows);
        let gap = !cell.quoted() && (bytes.is_empty() || null_words.contains(&bytes));
        (!gap).then_some(bytes)
    });
    judge.keep(cells).map_err(|err| match err.row() {
        Some(row) => err.at_row(rows.first_row.saturating_add(row)),
        None => err,
    })
}

/// Cuts the input into blocks of whole rows.
struct Blocks<'a> {
    input: &'a mut dyn Read,
    csv: &'a CsvOptions,
    splitter: Splitter,
    progress: Progress<'a>,
    /// Text that was read and not yet split.
    pending: Vec<u8>,
    /// Bytes of input before `pending`, after decoding.
    before: u64,
    read: u64,
    at_end: bool,
    width: usize,
    rows: u64,
    /// How many cells the last block had: the next will have about as many.
    cells_a_block: usize,
}

impl<'a> Blocks<'a> {
    fn new(input: &'a mut dyn Read, csv: &'a CsvOptions, progress: Progress<'a>) -> Self {
        Self {
            input,
            csv,
            splitter: Splitter::new(csv.delimiter),
            progress,
            pending: Vec::new(),
            before: 0,
            read: 0,
            at_end: false,
            width: 0,
            rows: 0,
            cells_a_block: 0,
        }
    }

    /// Reads the first row, which gives the names or at least how many there are.
    fn names(&mut self) -> Result<Vec<String>> {
        self.fill(64 << 10)?;
        if self.pending.starts_with(b"\xEF\xBB\xBF") {
            self.pending.drain(..3);
            self.before = 3;
        }
        let mut want = self.pending.len();
        loop {
            let mut rows = Rows { text: std::mem::take(&mut self.pending), ..Rows::default() };
            let found = self.first_row(&mut rows);
            let names = match &found {
                Ok(Some((skip, _))) => {
                    let cells = rows.cells.get(*skip..).unwrap_or_default();
                    let name =
                        |cell: &Cell| String::from_utf8_lossy(cell.bytes(&rows)).into_owned();
                    cells.iter().map(name).collect()
                }
                _ => Vec::new(),
            };
            self.pending = rows.text;
            if let Some((_, next)) = found? {
                self.width = names.len();
                if self.csv.header {
                    self.pending.drain(..next);
                    self.before += next as u64;
                    return Ok(names);
                }
                return Ok((1..=names.len()).map(|number| format!("column_{number}")).collect());
            }
            if self.at_end {
                return Err(Error::malformed("table", "is empty: there is not even a header"));
            }
            want = want.saturating_mul(2);
            self.fill(want)?;
        }
    }

    /// The first row that is not blank: its first cell in the list, and its end.
    fn first_row(&self, rows: &mut Rows) -> Result<Option<(usize, usize)>> {
        let mut start = 0;
        loop {
            let skip = rows.cells.len();
            match self.splitter.row(rows, start, self.at_end)? {
                Outcome::Row(row) => {
                    start = row.next;
                    let blank = is_blank(rows.cells.get(skip..).unwrap_or_default(), rows);
                    if !blank {
                        return Ok(Some((skip, row.next)));
                    }
                }
                Outcome::Partial | Outcome::End => return Ok(None),
            }
        }
    }

    /// The next block of rows.
    fn next(&mut self) -> Result<Option<Rows>> {
        let mut size = BLOCK.max(self.width.saturating_mul(BLOCK_A_COLUMN));
        loop {
            self.fill(size)?;
            if self.pending.is_empty() {
                return Ok(None);
            }
            let text = std::mem::take(&mut self.pending);
            let mut rows =
                Rows { text, width: self.width, first_row: self.rows, ..Rows::default() };
            rows.cells.reserve(self.cells_a_block);
            let end = self.split(&mut rows)?;
            self.pending = rows.text.split_off(end);
            if rows.count() > 0 {
                self.before += end as u64;
                self.rows += rows.count() as u64;
                self.cells_a_block = rows.cells.len();
                return Ok(Some(rows));
            }
            if self.at_end {
                return Ok(None);
            }
            // Not one whole row yet: put it back, and take twice as much.
            rows.text.append(&mut self.pending);
            self.pending = rows.text;
            size = self.pending.len().saturating_mul(2).max(size);
        }
    }

    /// Splits all whole rows and says where they end.
    fn split(&self, rows: &mut Rows) -> Result<usize> {
        let mut start = 0;
        loop {
            start = self.splitter.plain_rows(rows, start);
            let first = rows.cells.len();
            let row_number = || self.rows.saturating_add((first / self.width.max(1)) as u64);
            let outcome = self
                .splitter
                .row(rows, start, self.at_end)
                .map_err(|err| err.at(self.before + start as u64).in_row(row_number()))?;
            let Outcome::Row(row) = outcome else { return Ok(start) };
            if row.cells != self.width {
                let blank = is_blank(rows.cells.get(first..).unwrap_or_default(), rows);
                match self.csv.ragged {
                    _ if blank => rows.cells.truncate(first),
                    Ragged::Pad if row.cells < self.width => {
                        rows.cells.resize(first + self.width, Cell::MISSING);
                    }
                    _ => {
                        let err = ragged(row.cells, self.width, self.csv.ragged);
                        return Err(err.at(self.before + start as u64).in_row(row_number()));
                    }
                }
            }
            start = row.next;
        }
    }

    /// Reads until `pending` has `size` bytes or the input ends.
    fn fill(&mut self, size: usize) -> Result<()> {
        if self.at_end || self.pending.len() >= size {
            return Ok(());
        }
        let had = self.pending.len();
        let mut raw = match self.csv.encoding {
            Encoding::Utf8 => std::mem::take(&mut self.pending),
            Encoding::Latin1 => Vec::new(),
        };
        let want = size - had;
        raw.reserve_exact(want);
        let got = (&mut *self.input).take(want as u64).read_to_end(&mut raw)?;
        self.read += got as u64;
        self.at_end = got < want;
        (self.progress)(self.read);
        match self.csv.encoding {
            Encoding::Utf8 => {
                self.pending = raw;
                // What was there before has been checked, up to an open character.
                let from = had.saturating_sub(3);
                self.check_utf8(from)
            }
            Encoding::Latin1 => {
                let text: String = raw.iter().map(|&byte| char::from(byte)).collect();
                self.pending.extend_from_slice(text.as_bytes());
                Ok(())
            }
        }
    }

    /// Refuses text that is not UTF-8, from a little before `from` on.
    fn check_utf8(&self, from: usize) -> Result<()> {
        // Step back to the start of a character.
        let is_start = |at: &usize| self.pending.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
        let start = (from.saturating_sub(3)..=from).rev().find(is_start).unwrap_or(from);
        let text = self.pending.get(start..).unwrap_or_default();
        match std::str::from_utf8(text) {
            Ok(_) => Ok(()),
            // The rest of a character that was cut off by the block is to come.
            Err(err) if err.error_len().is_none() && !self.at_end => Ok(()),
            Err(err) => {
                let at = self.before + (start + err.valid_up_to()) as u64;
                let why = "is not UTF-8: say which encoding it is in";
                Err(Error::malformed("text", why).at(at))
            }
        }
    }
}

/// Whether a row is an empty line.
fn is_blank(cells: &[Cell], rows: &Rows) -> bool {
    matches!(cells, [only] if !only.quoted() && only.bytes(rows).is_empty())
}

fn ragged(have: usize, want: usize, policy: Ragged) -> Error {
    let why = match policy {
        Ragged::Pad => format!("has {have} cells, {want} at most: only short rows can be padded"),
        Ragged::Refuse => format!("has {have} cells where the first row has {want}"),
    };
    Error::malformed("row", why)
}
