//! Compresses strings, and decompresses one of them: `compress_strings`.

use std::error::Error;
use std::io::Write;

use hypostyle::onpair::{Column, Config, compress};

fn main() -> Result<(), Box<dyn Error>> {
    let names = ["berlin-mitte", "berlin-wedding", "", "berlin-spandau"];
    let column = Column::new(compress(&names[..], &Config::default())?)?;
    let second = String::from_utf8(column.get(1)?)?;
    writeln!(std::io::stdout(), "{second}")?;
    Ok(())
}
