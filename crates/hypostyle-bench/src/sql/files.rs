//! The files of a table, one of each kind.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Instant;

use datafusion::arrow::datatypes::SchemaRef;
use hypostyle::formats::at1::{self, PackOptions};
use hypostyle::{FormatId, OpenOptions, WriterOptions};

use crate::Result;

/// A kind of files, and who reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    At1,
    Colf,
    Csv,
    Parquet,
}

impl Kind {
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::At1 => "at1",
            Self::Colf => "colf",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }
}

/// A table, as a file of each kind.
#[derive(Debug)]
pub(super) struct TableFiles {
    pub(super) name: String,
    folder: PathBuf,
    /// The text for null in the CSV file, besides an empty cell.
    pub(super) null: Option<&'static str>,
}

impl TableFiles {
    /// Makes the files of a table in a folder. Files that exist and are newer than this program
    /// stay: packing takes long.
    pub(super) fn make(
        folder: &Path,
        name: &str,
        null: Option<&'static str>,
        write_csv: impl FnOnce(&mut dyn io::Write) -> Result<()>,
    ) -> Result<Self> {
        let table = Self { name: name.to_owned(), folder: folder.to_owned(), null };
        let csv = table.path(Kind::Csv);
        make_once(&csv, |path| {
            let mut out = BufWriter::new(File::create(path)?);
            write_csv(&mut out)?;
            Ok(out.into_inner().map(drop)?)
        })?;
        make_once(&table.path(Kind::At1), |path| {
            let file = format!("{name}.csv");
            let options = PackOptions::default().with_name(Some(&file));
            Ok(fs::write(path, at1::pack(&fs::read(&csv)?, &options)?.0)?)
        })?;
        make_once(&table.path(Kind::Parquet), |path| convert(&csv, path, FormatId::Parquet))?;
        // A column file of the text would keep the words for null, and have no numbers beside them.
        let parquet = table.path(Kind::Parquet);
        make_once(&table.path(Kind::Colf), |path| convert(&parquet, path, FormatId::Colf))?;
        Ok(table)
    }

    pub(super) fn path(&self, kind: Kind) -> PathBuf {
        let extension = kind.extension();
        let between = if kind == Kind::At1 { ".csv" } else { "" };
        self.folder.join(format!("{}{between}.{extension}", self.name))
    }

    /// Returns the schema of the table in Parquet, which has all types.
    pub(super) fn schema(&self) -> Result<SchemaRef> {
        Ok(hypostyle::open(self.path(Kind::Parquet))?.schema()?)
    }
}

fn convert(from: &Path, to: &Path, format: FormatId) -> Result<()> {
    let options = OpenOptions::default().with_target(format);
    let scan = hypostyle::open_with(from, &options)?.scan();
    hypostyle::convert(scan, to, format, &WriterOptions::default())?;
    Ok(())
}

/// Makes a file, unless one exists that is newer than this program.
fn make_once(path: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let made = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let program = made(&std::env::current_exe()?);
    if made(path).is_some_and(|file| program.is_some_and(|program| file > program)) {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    eprint!("making {name}");
    let start = Instant::now();
    // A run that is interrupted leaves no file under this name. The extension must stay.
    let partial = path.with_file_name(format!("partial-{name}"));
    make(&partial)?;
    fs::rename(&partial, path)?;
    eprintln!(": {} bytes, {:.1} s", fs::metadata(path)?.len(), start.elapsed().as_secs_f64());
    Ok(())
}
