//! `hyp ls`: lists the files in archives.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, TimestampSecondArray, UInt64Array};
use hypostyle::formats::at1::{Archive, Codec};

use super::Status;
use crate::args::ReadArgs;
use crate::failure::{InFile, Result};
use crate::input::Input;
use crate::output::{Out, RowPrinter};
use crate::table_args::{PrintArgs, RowFormat};

/// Arguments of `hyp ls`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
One row for each file: its name, the bytes that it takes in the archive, its codec, and the
permissions and time that a bundle stores of it.

A path through a bundle names one file: hyp cat, head, stats, unpack and other commands take it.

Examples:
  hyp ls folder.at1
  hyp ls *.at1 --json
  hyp cat folder.at1/sub/a.csv
  hyp unpack folder.at1/sub/a.csv")]
pub(crate) struct Args {
    /// The archives; - reads standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    read: ReadArgs,
}

/// Lists the files.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let mut list = Listing::default();
    for path in &args.files {
        let input = Input::open_stored(path, &args.read)?;
        let (name, file_name) = (input.name(), input.file_name().map(str::to_owned));
        let archive = input.into_archive(&args.read.options())?;
        let file_name = file_name.unwrap_or_default();
        let original = file_name.strip_suffix(".at1").unwrap_or(&file_name);
        list.add(&archive, original).in_file(name)?;
    }
    let table = list.table()?;
    let default = if out.terminal_width().is_some() { RowFormat::Table } else { RowFormat::Csv };
    let format = args.print.format().unwrap_or(default);
    let mut printer = RowPrinter::open(Some(format), &table.schema(), &args.read, out)?;
    printer.write(&table)?;
    printer.finish()?;
    Ok(Status::Fine)
}

/// The rows of the list, by column.
#[derive(Default)]
struct Listing {
    names: Vec<String>,
    stored: Vec<u64>,
    codecs: Vec<String>,
    modes: Vec<Option<String>>,
    times: Vec<Option<i64>>,
}

impl Listing {
    fn add(&mut self, archive: &Archive, name: &str) -> Result<()> {
        if archive.codec() != Codec::Bundle {
            return self.push(archive, name, None, None);
        }
        for entry in archive.bundle()? {
            self.push(&entry.archive, &entry.file.name, entry.file.mode, entry.file.modified)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        archive: &Archive,
        name: &str,
        mode: Option<u32>,
        modified: Option<i64>,
    ) -> Result<()> {
        self.names.push(name.to_owned());
        self.stored.push(archive.frames()?.iter().map(|frame| frame.stored).sum());
        self.codecs.push(archive.codec().to_string());
        self.modes.push(mode.map(|mode| format!("{mode:04o}")));
        self.times.push(modified);
        Ok(())
    }

    fn table(self) -> Result<RecordBatch> {
        let columns: [(&str, ArrayRef); 5] = [
            ("name", Arc::new(StringArray::from(self.names))),
            ("stored", Arc::new(UInt64Array::from(self.stored))),
            ("codec", Arc::new(StringArray::from(self.codecs))),
            ("mode", Arc::new(StringArray::from(self.modes))),
            ("modified", Arc::new(TimestampSecondArray::from(self.times))),
        ];
        Ok(RecordBatch::try_from_iter(columns)?)
    }
}
