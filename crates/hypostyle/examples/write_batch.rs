//! Writes a batch as a COLF file: `write_batch people.colf`.

use std::env;
use std::error::Error;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use hypostyle::{FormatId, Writer, WriterOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("FILE")?;
    let ids = Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef;
    let names = Arc::new(StringArray::from(vec!["Ada", "Grace"])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("id", ids), ("name", names)])?;
    let options = WriterOptions::default();
    let mut writer = Writer::create(path.as_str(), FormatId::Colf, batch.schema(), &options)?;
    writer.write(&batch)?;
    writer.finish()?;
    Ok(())
}
