//! Writes the larger files that the tests of the viewer open.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch};
use hypostyle::formats::at1::{Choice, PackOptions, pack};
use hypostyle::{FormatId, WriteOptions, Writer, WriterOptions};

/// Rows of the large file, which has 20 bytes for each.
const LARGE_ROWS: i32 = 15_000_000;

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
    let mut seed = 7_u64;
    let mut text = String::from("id,city,price,note\n");
    for id in 0..30_000 {
        let city = ["Lima", "Oslo", "Pune", "Quito", "Riga"].get(id % 5).unwrap_or(&"");
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let note = if id % 7 == 0 { String::new() } else { format!("{:012x}", seed >> 16) };
        writeln!(text, "{id},{city},{}.{:02},{note}", id % 300, id % 100)?;
    }
    let options = PackOptions::default()
        .with_level(1)
        .with_name(Some("groups.csv"))
        .with_codec(Choice::Query)
        .with_rows_per_group(NonZeroUsize::new(2000));
    Ok(pack(text.as_bytes(), &options)?.0)
}

/// Writes a file whose blocks are stored, so that its bytes are those of its rows.
///
/// It has no texts: a COLF file has the lengths of all texts before the first one.
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
        let others: Float64Array = rows.map(|_| Some(f64::from(random()) / 1024.0)).collect();
        Ok(RecordBatch::try_from_iter([
            ("id", Arc::new(ids) as ArrayRef),
            ("reading", Arc::new(floats)),
            ("other", Arc::new(others)),
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
