//! `hyp sample`: prints random rows of a table.

use std::collections::HashSet;

use arrow_array::UInt32Array;

use super::head::SHOWN_ROWS;
use super::{Status, cat, count};
use crate::failure::Result;
use crate::output::{Out, RowPrinter};
use crate::table_args::{InputArgs, PrintArgs, RowRange, ShapeArgs};
use crate::tables::{DEFAULT_BATCH_ROWS, Tables};

/// Arguments of `hyp sample`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Prints 10 rows unless -n gives another number, in the order of the table; each row has the same
chance. The same seed gives the same rows.

Examples:
  hyp sample flights.csv.at1
  hyp sample flights.colf -n 1000 --seed 7 --format jsonl
  hyp sample server.log --where \"line like '%timeout%'\"")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    shape: ShapeArgs,

    /// Number from which the choice follows
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    print: PrintArgs,
}

/// Prints the rows.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let tables = Tables::open(&args.input)?;
    let mut shape = args.shape.clone();
    let wanted = shape.limit.take().unwrap_or(SHOWN_ROWS);
    let (rows, _) = count::count(&tables, &shape)?;
    let chosen = chosen(rows, wanted, args.seed);
    if shape.filter.is_none() {
        let range = shape.rows.take().unwrap_or(RowRange::ALL);
        let start = range.resolve(tables.num_rows()?).start;
        let numbers: Vec<u64> = chosen.iter().map(|row| row + start).collect();
        return cat::print(tables.get(&shape, &numbers)?, args.print, &args.input, out);
    }
    let mut matches = tables.scan(&shape, DEFAULT_BATCH_ROWS)?;
    let format = args.print.format();
    let mut printer = RowPrinter::open(format, &matches.schema(), &args.input.read, out)?;
    let (mut chosen, mut before) = (chosen.into_iter().peekable(), 0);
    while let Some(batch) = matches.next_batch()? {
        let end = before + batch.num_rows() as u64;
        let here = std::iter::from_fn(|| chosen.next_if(|&row| row < end));
        let here: Vec<u32> = here.filter_map(|row| u32::try_from(row - before).ok()).collect();
        let here = UInt32Array::from(here);
        printer.write(&arrow_select::take::take_record_batch(&batch, &here)?)?;
        before = end;
    }
    printer.finish()?;
    Ok(Status::of_scan(matches.finish()?))
}

/// Chooses `wanted` of `rows` rows, in order, each set with the same chance.
fn chosen(rows: u64, wanted: u64, seed: u64) -> Vec<u64> {
    let mut random = SplitMix(seed);
    let mut chosen = HashSet::new();
    // Floyd's algorithm: one number for each chosen row, whatever the table's size.
    for last in rows.saturating_sub(wanted)..rows {
        let row = random.below(last + 1);
        if !chosen.insert(row) {
            chosen.insert(last);
        }
    }
    let mut chosen: Vec<u64> = chosen.into_iter().collect();
    chosen.sort_unstable();
    chosen
}

/// The generator SplitMix64.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`; the bias is below 2^-32 for bounds below 2^32.
    fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.next()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_chosen_about_as_often() {
        let mut counts = [0_u32; 20];
        for seed in 0..2000 {
            let chosen = chosen(20, 5, seed);
            assert_eq!(chosen.len(), 5);
            assert!(chosen.is_sorted());
            for row in chosen {
                *counts.get_mut(usize::try_from(row).unwrap()).unwrap() += 1;
            }
        }
        assert!(counts.iter().all(|count| (380..620).contains(count)), "{counts:?}");
        assert_eq!(chosen(3, 10, 1), [0, 1, 2]);
        assert_eq!(chosen(0, 10, 1), [0_u64; 0]);
    }
}
