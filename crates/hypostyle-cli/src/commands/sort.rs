//! `hyp sort`: sorts the rows of a table, in memory or through a temporary file.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_ord::sort::{SortColumn, lexsort_to_indices};
use arrow_schema::{SchemaRef, SortOptions};
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave_record_batch;
use arrow_select::take::take_record_batch;
use hypostyle::projection::{field_names, unknown_column};
use hypostyle::spill::{FileScratch, SpillBuffer};

use super::Status;
use crate::args::size;
use crate::failure::{Failure, Result};
use crate::output::{Out, Progress, RowPrinter};
use crate::table_args::{InputArgs, PrintArgs, ShapeArgs};
use crate::tables::{DEFAULT_BATCH_ROWS, Tables};

/// Arguments of `hyp sort`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Rows with equal values keep their order. Nulls come last, numbers are ordered as numbers, and text
by its bytes. Tables larger than --memory are sorted in parts, through a temporary file. -n limits
the sorted rows.

Examples:
  hyp sort flights.csv --by carrier,dep_delay:desc
  hyp sort flights.csv.at1 --by distance --reverse -n 5 --columns carrier,distance
  hyp sort big.jsonl --by time --format jsonl > sorted.jsonl")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Columns to sort by, the most important first; NAME:desc sorts from the greatest value
    #[arg(long, short, required = true, value_name = "NAMES", value_delimiter = ',')]
    by: Vec<String>,

    /// Reverse the order of all columns of --by
    #[arg(long, short)]
    reverse: bool,

    /// Memory for rows; further rows wait in a temporary file
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256M")]
    memory: u64,

    #[command(flatten)]
    shape: ShapeArgs,

    #[command(flatten)]
    print: PrintArgs,
}

/// Prints the rows in order.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let tables = Tables::open(&args.input)?;
    let mut shape = args.shape.clone();
    let limit = shape.limit.take().unwrap_or(u64::MAX);
    let shown = shape.columns.clone();
    // Columns to sort by are read even if they are not printed.
    let whole = tables.schema(&ShapeArgs { columns: Default::default(), ..shape.clone() })?;
    let mut keys = Vec::new();
    for name in &args.by {
        let is_column = |name: &str| whole.fields().iter().any(|field| field.name() == name);
        let (name, descending) = match name.strip_suffix(":desc") {
            Some(rest) if !is_column(name) => (rest, true),
            _ => (name.strip_suffix(":asc").filter(|_| !is_column(name)).unwrap_or(name), false),
        };
        if !is_column(name) {
            return Err(unknown_column(name, field_names(&whole)).into());
        }
        keys.push((name.to_owned(), descending != args.reverse));
    }
    let printed = match shown.names() {
        None => whole.fields().len(),
        Some(names) => {
            let count = names.len();
            let extra = keys.iter().map(|(name, _)| name.clone());
            let extra = extra.filter(|key| !names.contains(&key.as_str()));
            shape.columns.column.extend(extra.collect::<Vec<_>>());
            count
        }
    };
    let mut rows = tables.scan(&shape, DEFAULT_BATCH_ROWS)?;
    let schema = rows.schema();
    let mut sorter = Sorter::new(&schema, &keys, args.memory)?;
    let progress = Progress::steps("reading rows", tables.num_rows()?);
    let mut read = 0;
    while let Some(batch) = rows.next_batch()? {
        read += batch.num_rows() as u64;
        sorter.push(batch)?;
        progress.set(read);
    }
    drop(progress);
    let printed: Vec<usize> = (0..printed).collect();
    let projected = schema.project(&printed)?;
    let mut printer = RowPrinter::open(args.print.format(), &projected, &args.input.read, out)?;
    let mut left = limit;
    sorter.finish(|batch| {
        let rows = usize::try_from(left).unwrap_or(usize::MAX).min(batch.num_rows());
        left -= rows as u64;
        printer.write(&batch.slice(0, rows).project(&printed)?)?;
        Ok(left > 0)
    })?;
    printer.finish()?;
    Ok(Status::of_scan(rows.finish()?))
}

/// Sorts rows that may not fit in memory: sorted runs, then a merge of them.
struct Sorter {
    schema: SchemaRef,
    /// The columns to sort by.
    keys: Vec<(usize, SortOptions)>,
    memory: usize,
    waiting: Vec<RecordBatch>,
    waiting_bytes: usize,
    /// The rows of all runs, in chunks.
    spilled: Option<SpillBuffer>,
    /// The chunks of each run.
    runs: Vec<Range<usize>>,
}

impl Sorter {
    fn new(schema: &SchemaRef, keys: &[(String, bool)], memory: u64) -> Result<Self> {
        let index = |(name, descending): &(String, bool)| {
            let options = SortOptions { descending: *descending, nulls_first: false };
            Ok((schema.index_of(name)?, options))
        };
        Ok(Self {
            schema: schema.clone(),
            keys: keys.iter().map(index).collect::<Result<_>>()?,
            // A run and its sorted copy are in memory together.
            memory: usize::try_from(memory / 2).unwrap_or(usize::MAX),
            waiting: Vec::new(),
            waiting_bytes: 0,
            spilled: None,
            runs: Vec::new(),
        })
    }

    fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.waiting_bytes += batch.get_array_memory_size();
        self.waiting.push(batch);
        if self.waiting_bytes >= self.memory { self.spill() } else { Ok(()) }
    }

    /// Sorts the waiting rows.
    fn sorted(&mut self) -> Result<RecordBatch> {
        let all = concat_batches(&self.schema, &std::mem::take(&mut self.waiting))?;
        self.waiting_bytes = 0;
        let rows = u32::try_from(all.num_rows())
            .map_err(|_| Failure::usage("more than 4 billion rows fit in the memory: use less"))?;
        let mut columns: Vec<SortColumn> = self
            .keys
            .iter()
            .map(|&(index, options)| SortColumn {
                values: all.column(index).clone(),
                options: Some(options),
            })
            .collect();
        // The number of the row keeps the order of equal rows.
        let numbers: ArrayRef = Arc::new(UInt32Array::from_iter_values(0..rows));
        columns.push(SortColumn { values: numbers, options: None });
        Ok(take_record_batch(&all, &lexsort_to_indices(&columns, None)?)?)
    }

    /// Sorts the waiting rows and moves them to the temporary file.
    fn spill(&mut self) -> Result<()> {
        let run = self.sorted()?;
        if self.spilled.is_none() {
            let scratch = Box::new(FileScratch::try_new(tempfile::tempfile()?)?);
            self.spilled = Some(SpillBuffer::with_scratch(0, scratch));
        }
        let Some(spilled) = &mut self.spilled else { return Ok(()) };
        let first = spilled.chunks();
        for start in (0..run.num_rows()).step_by(DEFAULT_BATCH_ROWS) {
            let rows = DEFAULT_BATCH_ROWS.min(run.num_rows() - start);
            let chunk = run.slice(start, rows);
            spilled.push(rows, chunk.columns().to_vec())?;
        }
        self.runs.push(first..spilled.chunks());
        Ok(())
    }

    /// Calls `print` with the rows in order, until it returns false.
    fn finish(mut self, mut print: impl FnMut(&RecordBatch) -> Result<bool>) -> Result<()> {
        if self.runs.is_empty() {
            let all = self.sorted()?;
            for start in (0..all.num_rows()).step_by(DEFAULT_BATCH_ROWS) {
                let rows = DEFAULT_BATCH_ROWS.min(all.num_rows() - start);
                if !print(&all.slice(start, rows))? {
                    break;
                }
            }
            return Ok(());
        }
        if !self.waiting.is_empty() {
            self.spill()?;
        }
        let Some(spilled) = self.spilled.take() else { return Ok(()) };
        let runs = std::mem::take(&mut self.runs);
        Merge::new(&self.schema, &self.keys, &spilled, runs)?.run(&mut print)
    }
}

/// Merges sorted runs.
struct Merge<'a> {
    schema: &'a SchemaRef,
    keys: &'a [(usize, SortOptions)],
    spilled: &'a SpillBuffer,
    runs: Vec<Run>,
}

struct Run {
    chunks: Range<usize>,
    chunk: RecordBatch,
    row: usize,
    /// Comparators of the keys of this chunk with those of each later run.
    with_later: Vec<Vec<DynComparator>>,
}

impl<'a> Merge<'a> {
    fn new(
        schema: &'a SchemaRef,
        keys: &'a [(usize, SortOptions)],
        spilled: &'a SpillBuffer,
        ranges: Vec<Range<usize>>,
    ) -> Result<Self> {
        let mut merge = Self { schema, keys, spilled, runs: Vec::new() };
        for mut chunks in ranges {
            let Some(first) = chunks.next() else { continue };
            let chunk = merge.chunk(first)?;
            merge.runs.push(Run { chunks, chunk, row: 0, with_later: Vec::new() });
        }
        for run in 0..merge.runs.len() {
            merge.compare_anew(run)?;
        }
        Ok(merge)
    }

    fn chunk(&self, chunk: usize) -> Result<RecordBatch> {
        let columns = (0..self.schema.fields().len())
            .map(|column| self.spilled.chunk(column, chunk))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    fn comparators(&self, one: usize, other: usize) -> Result<Vec<DynComparator>> {
        let (Some(one), Some(other)) = (self.runs.get(one), self.runs.get(other)) else {
            return Ok(Vec::new());
        };
        let compare = |&(index, options): &(usize, SortOptions)| {
            Ok(make_comparator(one.chunk.column(index), other.chunk.column(index), options)?)
        };
        self.keys.iter().map(compare).collect()
    }

    /// Makes the comparators of a run whose chunk is new, and of earlier runs with it.
    fn compare_anew(&mut self, run: usize) -> Result<()> {
        for earlier in 0..run {
            let comparators = self.comparators(earlier, run)?;
            let Some(earlier) = self.runs.get_mut(earlier) else { continue };
            match earlier.with_later.get_mut(run) {
                Some(slot) => *slot = comparators,
                None => {
                    earlier.with_later.resize_with(run, Vec::new);
                    earlier.with_later.push(comparators);
                }
            }
        }
        let mut with_later = Vec::new();
        for later in 0..self.runs.len() {
            with_later.push(if later > run { self.comparators(run, later)? } else { Vec::new() });
        }
        if let Some(run) = self.runs.get_mut(run) {
            run.with_later = with_later;
        }
        Ok(())
    }

    /// Returns whether the row of an earlier run comes before that of a later one, or is equal.
    fn is_first(&self, earlier: usize, later: usize) -> bool {
        let (Some(one), Some(other)) = (self.runs.get(earlier), self.runs.get(later)) else {
            return true;
        };
        let compare = one.with_later.get(later).map(Vec::as_slice).unwrap_or_default();
        let orders = compare.iter().map(|compare| compare(one.row, other.row));
        orders.into_iter().find(|order| order.is_ne()).is_none_or(Ordering::is_lt)
    }

    fn run(mut self, print: &mut dyn FnMut(&RecordBatch) -> Result<bool>) -> Result<()> {
        // The chunks that the waiting rows are in, and the place of each run's chunk among them.
        let mut chunks: Vec<RecordBatch> = self.runs.iter().map(|run| run.chunk.clone()).collect();
        let mut places: Vec<usize> = (0..chunks.len()).collect();
        let mut waiting: Vec<(usize, usize)> = Vec::new();
        let mut ended = vec![false; self.runs.len()];
        loop {
            let open = (0..self.runs.len()).filter(|&run| !ended.get(run).copied().unwrap_or(true));
            let least =
                open.reduce(|least, run| if self.is_first(least, run) { least } else { run });
            let is_full = waiting.len() >= DEFAULT_BATCH_ROWS;
            if (is_full || least.is_none()) && !waiting.is_empty() {
                let from: Vec<&RecordBatch> = chunks.iter().collect();
                let batch = interleave_record_batch(&from, &waiting)?;
                waiting.clear();
                // Only the chunks of the runs are needed on.
                chunks = self.runs.iter().map(|run| run.chunk.clone()).collect();
                places = (0..chunks.len()).collect();
                if !print(&batch)? {
                    return Ok(());
                }
            }
            let Some(least) = least else { return Ok(()) };
            let place = places.get(least).copied().unwrap_or_default();
            let Some(run) = self.runs.get_mut(least) else { return Ok(()) };
            waiting.push((place, run.row));
            run.row += 1;
            if run.row < run.chunk.num_rows() {
                continue;
            }
            match run.chunks.next() {
                None => ended.iter_mut().skip(least).take(1).for_each(|ended| *ended = true),
                Some(next) => {
                    let chunk = self.chunk(next)?;
                    places.iter_mut().skip(least).take(1).for_each(|place| *place = chunks.len());
                    chunks.push(chunk.clone());
                    if let Some(run) = self.runs.get_mut(least) {
                        (run.chunk, run.row) = (chunk, 0);
                    }
                    self.compare_anew(least)?;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_array::{Int32Array, StringArray};

    use super::*;

    /// Any memory gives the same order, in which equal rows keep theirs.
    #[test]
    fn runs_are_merged_into_one_order() {
        let rows = 30_000;
        let key = |row: i32| (row % 13 != 5).then_some(row.wrapping_mul(7919) % 101);
        let batches = (0..rows).step_by(1000).map(|start| {
            let keys: ArrayRef = Arc::new((start..start + 1000).map(key).collect::<Int32Array>());
            let texts = (start..start + 1000).map(|row| Some(format!("row {row}")));
            let texts: ArrayRef = Arc::new(texts.collect::<StringArray>());
            RecordBatch::try_from_iter_with_nullable([("k", keys, true), ("t", texts, true)])
                .unwrap()
        });
        let batches: Vec<RecordBatch> = batches.collect();
        let mut want: Vec<(Option<i32>, i32)> = (0..rows).map(|row| (key(row), row)).collect();
        want.sort_by_key(|&(key, row)| (key.is_none(), key.map(|key| -key), row));
        for memory in [u64::MAX, 400_000, 1] {
            let keys = [("k".to_owned(), true)];
            let mut sorter = Sorter::new(&batches[0].schema(), &keys, memory).unwrap();
            batches.iter().for_each(|batch| sorter.push(batch.clone()).unwrap());
            assert_eq!(sorter.runs.len() > 1, memory < u64::MAX);
            let mut found = Vec::new();
            let collect = |batch: &RecordBatch| {
                let keys = batch.column(0).as_primitive::<Int32Type>().iter();
                let texts = batch.column(1).as_string::<i32>().iter();
                found.extend(keys.zip(texts).map(|(key, text)| {
                    (key, text.unwrap().strip_prefix("row ").unwrap().parse::<i32>().unwrap())
                }));
                Ok(true)
            };
            sorter.finish(collect).unwrap();
            assert_eq!(found, want, "{memory}");
        }
    }
}
