//! Converts CSV to COLF: `convert_csv flights.csv flights.colf`.

use std::env;
use std::error::Error;

use hypostyle::{FormatId, OpenOptions, WriterOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [from, to] = args.as_slice() else { return Err("FROM TO".into()) };
    // A column gets a type that COLF has.
    let table = hypostyle::open_with(from, &OpenOptions::default().with_target(FormatId::Colf))?;
    hypostyle::convert(table.scan(), to.as_str(), FormatId::Colf, &WriterOptions::default())?;
    Ok(())
}
