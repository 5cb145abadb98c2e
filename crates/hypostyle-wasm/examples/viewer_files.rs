//! Writes the larger files that the tests of the viewer open.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use hypostyle::formats::at1::{Choice, PackOptions, pack};
use hypostyle::{FormatId, WriteOptions, Writer, WriterOptions};

/// Rows of the large file, which has 300 MB with 24 bytes or so for each.
const LARGE_ROWS: i32 = 12_500_000;

/// Rows of a batch.
const BATCH_ROWS: i32 = 250_000;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("give a folder")?);
    fs::create_dir_all(&folder)?;
    let groups = folder.join("groups.at1");
    if !groups.exists() {
        fs::write(groups, packed_groups()?)?;
    }
    let large = folder.join("large.colf");
    if !large.exists() {
        write_large(&large)?;
    }
    Ok(())
}

/// Packs a table with row groups whose statistics differ.
fn packed_groups() -> Result<Vec<u8>, Box<dyn Error>> {
    let mut text = String::from("id,city,price,note\n");
    for id in 0..30_000 {
        let city = ["Lima", "Oslo", "Pune", "Quito", "Riga"].get(id % 5).unwrap_or(&"");
        let note = if id % 7 == 0 { String::new() } else { format!("order {}", id * 31 % 1009) };
        writeln!(text, "{id},{city},{}.{:02},{note}", id % 300, id % 100)?;
    }
    let options = PackOptions::default()
        .with_level(1)
        .with_name(Some("groups.csv"))
        .with_codec(Choice::Query)
        .with_rows_per_group(NonZeroUsize::new(2000));
    Ok(pack(text.as_bytes(), &options)?.0)
}

/// Writes a file that barely compresses, so that its bytes are those of its rows.
fn write_large(path: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let mut seed = 0x9E37_79B9_u32;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        seed
    };
    let mut batch_of = |start: i32| -> Result<RecordBatch, Box<dyn Error>> {
        let rows = start..start + BATCH_ROWS;
        let ids: Int32Array = rows.clone().map(Some).collect();
        let floats: Float64Array = rows.clone().map(|_| Some(f64::from(random()) / 64.0)).collect();
        let texts: StringArray = rows.map(|_| Some(format!("{:08x}", random()))).collect();
        Ok(RecordBatch::try_from_iter([
            ("id", Arc::new(ids) as ArrayRef),
            ("reading", Arc::new(floats)),
            ("key", Arc::new(texts)),
        ])?)
    };
    let mut options = WriterOptions::default();
    options.encode = WriteOptions::default().with_level(0);
    let first = batch_of(0)?;
    let mut writer = Writer::create(path, FormatId::Colf, first.schema(), &options)?;
    writer.write(&first)?;
    for start in (BATCH_ROWS..LARGE_ROWS).step_by(usize::try_from(BATCH_ROWS)?) {
        writer.write(&batch_of(start)?)?;
    }
    writer.finish()?;
    Ok(())
}
