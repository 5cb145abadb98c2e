//! What can be asked of a file.
//!
//! | `op` | Arguments | Answer |
//! |---|---|---|
//! | `describe` | | what the file is |
//! | `map` | | the byte map |
//! | `table` | | rows, columns with statistics, row groups, deviations |
//! | `rows` | `from`, `count`, `whole` | the cells of rows; with `whole`, long ones too |
//! | `filter` | `predicate` | the cells of matching rows, in parts |
//! | `profile` | `column`, `rows` | a histogram of the first rows of a column |
//! | `export` | `format`, `predicate` | CSV or JSON Lines, as bytes in parts |
//! | `unpack` | `member` | the original of an archive, as bytes |
//! | `members` | | the files of a bundle |
//! | `templates` | | the templates of a log with counts |
//! | `verify` | | what is wrong with the file, after decoding all of it |

use std::sync::Arc;

use hypostyle::formats::at1::{BundleEntry, Codec};
use hypostyle::{Error, ErrorKind, OpenOptions, Result};
use serde_json::{Value, json};

use crate::cells::MAX_CELL_CHARS;
use crate::columns::deviation;
use crate::export::ExportJob;
use crate::file::OpenFile;
use crate::job::{BoxedJob, Job, Once, Progress, or_missing};
use crate::profile::ProfileJob;
use crate::rows::RowsJob;
use crate::search::SearchJob;
use crate::{columns, layout, templates};

/// Makes the job of a request.
///
/// # Errors
///
/// Fails for a request that is not valid, and with missing ranges: a caller supplies them and
/// tries again.
pub(crate) fn job(file: &Arc<OpenFile>, request: &Value) -> Result<BoxedJob> {
    let text = |key: &str| request.get(key).and_then(Value::as_str);
    let number = |key: &str| request.get(key).and_then(Value::as_u64);
    let file = file.clone();
    Ok(match text("op").unwrap_or_default() {
        "describe" => Box::new(Once(move || layout::describe(&file))),
        "map" => Box::new(Once(move || layout::map(&file))),
        "table" => Box::new(Once(move || columns::table(&file))),
        "members" => Box::new(Once(move || members(&file))),
        "templates" => templates::job(&file)?,
        "verify" => Box::new(Once(move || verify(&file))),
        "rows" => {
            let (table, _) = file.table()?;
            let is_whole = request.get("whole").and_then(Value::as_bool) == Some(true);
            let max_chars = if is_whole { usize::MAX } else { MAX_CELL_CHARS };
            let (from, count) = (number("from").unwrap_or(0), number("count").unwrap_or(100));
            Box::new(RowsJob::new(table, from, count, max_chars))
        }
        "filter" => {
            let (table, reader) = file.table()?;
            Box::new(SearchJob::new(table, reader, text("predicate").unwrap_or_default())?)
        }
        "profile" => {
            let (table, reader) = file.table()?;
            let column = number("column").and_then(|column| usize::try_from(column).ok());
            let column = column.unwrap_or(usize::MAX);
            let schema = reader.schema();
            let missing = || Error::invalid_argument(format!("there is no column {column}"));
            let field = schema.fields().get(column).ok_or_else(missing)?;
            let rows = number("rows").unwrap_or(u64::MAX);
            Box::new(ProfileJob::new(table, field, column, rows, reader.rows()))
        }
        "export" => {
            let (table, _) = file.table()?;
            let format = text("format").unwrap_or_default();
            Box::new(ExportJob::new(table, format, text("predicate"))?)
        }
        "unpack" => Box::new(UnpackJob { file, member: number("member"), bytes: Vec::new() }),
        other => return Err(Error::invalid_argument(format!("no request is called `{other}`"))),
    })
}

/// Restores the original of an archive, or a file of a bundle.
struct UnpackJob {
    file: Arc<OpenFile>,
    member: Option<u64>,
    bytes: Vec<u8>,
}

impl UnpackJob {
    fn unpack(&mut self) -> Result<Progress> {
        self.file.fetch_all()?;
        self.bytes.clear();
        let archive = self.file.archive()?;
        let unpacked = match self.member {
            None => archive.unpack(&mut self.bytes)?,
            Some(member) => {
                let entries = archive.bundle()?;
                let missing = || Error::invalid_argument(format!("there is no file {member}"));
                let entry = usize::try_from(member).ok().and_then(|member| entries.get(member));
                entry.ok_or_else(missing)?.archive.unpack(&mut self.bytes)?
            }
        };
        let is_hashed = unpacked.hash_agreed;
        Ok(Progress::Done(json!({ "bytes": unpacked.bytes, "hash_agreed": is_hashed })))
    }
}

impl Job for UnpackJob {
    fn step(&mut self) -> Result<Progress> {
        or_missing(self.unpack())
    }

    fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

fn members(file: &OpenFile) -> Result<Value> {
    let archive = file.archive()?;
    if archive.codec() != Codec::Bundle {
        return Ok(Value::Null);
    }
    file.fetch_all()?;
    let member = |entry: &BundleEntry| {
        json!({
            "name": entry.file.name,
            "mode": entry.file.mode.map(|mode| format!("{mode:04o}")),
            "codec": entry.archive.codec().name(),
        })
    };
    Ok(archive.bundle()?.iter().map(member).collect())
}

fn verify(file: &OpenFile) -> Result<Value> {
    file.fetch_all()?;
    let options = OpenOptions::default().with_name(file.name.as_str());
    let found = hypostyle::verify(file.source.clone(), &options, |_, _| {})?;
    let missing = found.errors.iter().find_map(|error| match error {
        hypostyle::VerifyError::Failed(err) => match err.kind() {
            ErrorKind::Io(_) => Some(err.to_string()),
            _ => None,
        },
        _ => None,
    });
    if let Some(why) = missing {
        return Err(ErrorKind::Internal(why.into()).into());
    }
    Ok(json!({
        "is_fine": found.is_fine(),
        "rows": found.rows,
        "bytes": found.bytes,
        "is_hashed": found.is_hashed,
        "errors": found.errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "deviations": found.deviations.iter().map(deviation).collect::<Vec<_>>(),
    }))
}
