//! Counts the rows that match a predicate: `filter flights.parquet "month = 7 and dep_delay > 120"`.

use std::env;
use std::error::Error;
use std::io::Write;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [path, predicate] = args.as_slice() else { return Err("FILE PREDICATE".into()) };
    let mut batches = hypostyle::open(path)?.scan().filter(predicate.parse()?).batches()?;
    let rows: usize =
        batches.by_ref().map(|batch| Ok(batch?.num_rows())).sum::<hypostyle::Result<_>>()?;
    writeln!(std::io::stdout(), "{rows} rows; {:?}", batches.stats())?;
    Ok(())
}
