//! Reads two columns of a table in any format: `read_two_columns flights.csv.at1 carrier dep_delay`.

use std::env;
use std::error::Error;
use std::io::Write;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [path, first, second] = args.as_slice() else { return Err("FILE COLUMN COLUMN".into()) };
    let mut batches = hypostyle::open(path)?.scan().columns([first, second]).batches()?;
    while let Some(batch) = batches.next_batch()? {
        writeln!(std::io::stdout(), "{batch:?}")?;
    }
    Ok(())
}
