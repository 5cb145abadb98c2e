//! The templates of a log, with the number of lines of each.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::Schema;
use hashbrown::HashMap;
use hypostyle::formats::at1::{Archive, Codec, LogTemplate};
use hypostyle::text::log;
use hypostyle::{MissingRanges, Result, Step, Table};
use serde_json::{Value, json};

use crate::cells::{MAX_CELL_CHARS, cut};
use crate::file::OpenFile;
use crate::job::{BoxedJob, Job, LazyScan, Once, Progress};

/// Templates that are counted; lines of others are counted together.
const MAX_TEMPLATES: usize = 10_000;

/// What stands for a value in a template, also in the column of templates.
const HOLE: &str = "<*>";

/// Makes the job that counts templates. Its answer is `null` if the file is no log.
///
/// # Errors
///
/// Fails with missing ranges.
pub(crate) fn job(file: &Arc<OpenFile>) -> Result<BoxedJob> {
    // An archive whose content is not a table can have a codec with templates.
    let codec = match file.table() {
        Ok((table, reader)) if is_log(&reader.schema()) => {
            return Ok(Box::new(TemplatesJob::new(table)));
        }
        Err(err) if MissingRanges::of(&err).is_some() => return Err(err),
        _ => file.archive.as_ref().map(Archive::codec),
    };
    let file = file.clone();
    Ok(match codec {
        Some(Codec::Log) => Box::new(Once(move || of_codec(&file))),
        _ => Box::new(Once(|| Ok(Value::Null))),
    })
}

/// Returns whether these are the columns of a log.
fn is_log(schema: &Schema) -> bool {
    schema.fields().iter().map(|field| field.name().as_str()).eq(log::COLUMNS)
}

/// Returns the templates that the packer found.
fn of_codec(file: &OpenFile) -> Result<Value> {
    file.fetch_all()?;
    let found = file.archive()?.templates()?.unwrap_or_default();
    let template = |LogTemplate { text, lines }| {
        let parts = text.split(|&byte| byte == 0);
        let parts: Vec<_> = parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        (parts.join(HOLE), lines)
    };
    Ok(answer(found.into_iter().map(template).collect(), 0))
}

fn answer(mut found: Vec<(String, u64)>, others: u64) -> Value {
    found.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    let template = |(text, lines): (String, u64)| json!({ "template": cut(&text, MAX_CELL_CHARS), "lines": lines });
    let templates: Vec<Value> = found.into_iter().map(template).collect();
    json!({ "templates": templates, "others": others })
}

/// Reads the column of templates.
struct TemplatesJob {
    scan: LazyScan,
    counts: HashMap<String, u64>,
    others: u64,
}

impl TemplatesJob {
    fn new(table: &Table) -> Self {
        let scan = LazyScan::new(table.scan().columns(["template"]));
        Self { scan, counts: HashMap::new(), others: 0 }
    }

    fn add(&mut self, batch: &RecordBatch) {
        let Some(texts) = batch.columns().first().and_then(|it| it.as_string_opt::<i32>()) else {
            return;
        };
        for text in texts.iter().flatten() {
            let has_room = self.counts.len() < MAX_TEMPLATES;
            if let Some(count) = self.counts.get_mut(text) {
                *count += 1;
            } else if has_room {
                self.counts.insert(text.to_owned(), 1);
            } else {
                self.others += 1;
            }
        }
    }
}

impl Job for TemplatesJob {
    fn step(&mut self) -> Result<Progress> {
        loop {
            match self.scan.step()? {
                Step::Missing(ranges) => return Ok(Progress::Missing(ranges)),
                Step::Batch(batch) => self.add(&batch),
                Step::Done => {
                    let found = std::mem::take(&mut self.counts).into_iter().collect();
                    return Ok(Progress::Done(answer(found, self.others)));
                }
            }
        }
    }
}
