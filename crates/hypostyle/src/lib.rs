//! Reads and writes column files: COLM, COLF, CLMN, AT-1 and OnPair, with Arrow in memory.
//!
//! [`open()`] opens a file of any kind, these and CSV, JSON Lines, Parquet and others, as a
//! [`Table`]. A [`Scan`] returns some of its columns and rows as Arrow batches. A [`Writer`]
//! writes batches in any format, and [`convert()`] writes a scan.
//!
//! # Six tasks
//!
//! Read two columns:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("flights.csv");
//! # std::fs::write(&path, "carrier,month,dep_delay\nUA,7,125\nAA,7,3\nUA,1,200\n")?;
//! # #[cfg(feature = "csv")] {
//! let table = hypostyle::open(path)?;
//! let mut batches = table.scan().columns(["carrier", "dep_delay"]).batches()?;
//! while let Some(batch) = batches.next_batch()? {
//!     assert_eq!((batch.num_columns(), batch.num_rows()), (2, 3));
//! }
//! # }
//! # Ok(()) }
//! ```
//!
//! Filter:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("flights.csv");
//! # std::fs::write(&path, "carrier,month,dep_delay\nUA,7,125\nAA,7,3\nUA,1,200\n")?;
//! # #[cfg(feature = "csv")] {
//! let scan = hypostyle::open(path)?.scan().filter("month = 7 and dep_delay > 120".parse()?);
//! let mut batches = scan.limit(100).batches()?; // also .rows(10_000..20_000), .take(&[7, 1])
//! let rows = batches.next_batch()?.map_or(0, |batch| batch.num_rows());
//! assert_eq!((rows, batches.stats().rows_read), (1, 3));
//! # }
//! # Ok(()) }
//! ```
//!
//! Write a batch to COLF:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use std::sync::Arc;
//! # use arrow_array::{ArrayRef, Int32Array, RecordBatch};
//! # use hypostyle::{FormatId, Writer, WriterOptions};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("table.colf");
//! # #[cfg(feature = "colf")] {
//! let column = Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef;
//! let batch = RecordBatch::try_from_iter([("id", column)])?;
//! let mut writer =
//!     Writer::create(&path, FormatId::Colf, batch.schema(), &WriterOptions::default())?;
//! writer.write(&batch)?;
//! writer.finish()?;
//! # assert_eq!(hypostyle::open(path)?.num_rows()?, 2);
//! # }
//! # Ok(()) }
//! ```
//!
//! Convert CSV to COLF:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use hypostyle::{FormatId, OpenOptions, WriterOptions};
//! # let folder = tempfile::tempdir()?;
//! # let (csv, colf) = (folder.path().join("a.csv"), folder.path().join("a.colf"));
//! # std::fs::write(&csv, "id,name\n1,Ada\n,Grace\n")?;
//! # #[cfg(all(feature = "csv", feature = "colf"))] {
//! let options = OpenOptions::default().with_target(FormatId::Colf);
//! let table = hypostyle::open_with(csv, &options)?;
//! hypostyle::convert(table.scan(), &colf, FormatId::Colf, &WriterOptions::default())?;
//! # assert_eq!(hypostyle::open(colf)?.column_statistics(0)?.null_count.unwrap_or(1), 1);
//! # }
//! # Ok(()) }
//! ```
//!
//! Pack and unpack:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # #[cfg(feature = "at1")] {
//! # use std::sync::Arc;
//! # use hypostyle::{ReadOptions, formats::at1::{Archive, PackOptions, pack}};
//! # let original = b"id,name\n1,Ada\n2,Grace\n";
//! let (packed, _) = pack(original, &PackOptions::default())?;
//! let source = Arc::new(bytes::Bytes::from(packed));
//! let archive = Archive::open(source, &ReadOptions::default())?;
//! let mut restored = Vec::new();
//! archive.unpack(&mut restored)?;
//! assert_eq!(restored, original);
//! # }
//! # Ok(()) }
//! ```
//!
//! Compress strings and get one:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # #[cfg(feature = "onpair")] {
//! use hypostyle::onpair::{Column, Config, compress};
//!
//! let names = ["berlin-mitte", "berlin-wedding", "", "berlin-spandau"];
//! let column = Column::new(compress(&names[..], &Config::default())?)?;
//! assert_eq!(column.get(1)?, b"berlin-wedding");
//! # }
//! # Ok(()) }
//! ```
//!
//! The folder `examples` has the same tasks as programs.
//!
//! # Where bytes come from
//!
//! [`open()`] reads a file when and where a scan needs it. [`open_source`] takes any
//! [`ByteSource`]: memory, a memory map, an object store. [`open_cache`] does no I/O at all: it
//! and a [`ScanDecoder`] say which ranges are missing, and the caller fetches them. Nothing in
//! this crate starts a runtime.
//!
//! # Formats
//!
//! [`FileKind::all`] lists all kinds of files, and [`formats::ALL`] the formats with a module:
//!
//! | Format | Module | Content |
//! |---|---|---|
//! | COLM | `formats::colm` | int32, float64 and text, without nulls; one zlib block per column |
//! | COLF | `formats::colf` | the same with nulls, and a JSON schema |
//! | CLMN | `formats::clmn` | int32, int64, float64 and short text, without nulls |
//! | AT-1 | `formats::at1` | archives of text files: tables, logs, JSON and more, with queries |
//! | OnPair | `formats::onpair` | text and bytes with nulls; each string decodes by itself |
//!
//! [`text`] reads and writes CSV and JSON Lines. [`coerce`] casts a table to the types that a
//! format stores, [`predicate`] parses and evaluates conditions on rows, [`projection`] selects
//! columns, and [`spill`] buffers rows outside memory.
//!
//! # Features
//!
//! All features but the last three are on by default. Each adds a format and changes no other.
//!
//! | Feature | Adds | Needs a C compiler for |
//! |---|---|---|
//! | `colm`, `colf`, `clmn` | the column file | libdeflate |
//! | `at1` | AT-1 archives, `csv` and `json` | liblzma, zstd |
//! | `onpair` | OnPair files | |
//! | `csv` | CSV and TSV in [`text`] | |
//! | `json` | JSON Lines in [`text`] | |
//! | `parquet` | Parquet files | zstd |
//! | `arrow` | Arrow IPC files and streams | zstd |
//! | `compressed` | `Compression`: files in `.gz`, `.zst`, `.xz` and `.bz2` | liblzma, zstd |
//!
//! # Hostile input
//!
//! Any bytes may be opened. A reader either succeeds or fails with an [`Error`] that names the
//! format, the column and the byte. It does not panic. Its memory is bounded by the size of the
//! file and by [`Limits`], never by a number that the file merely states. Parquet and Arrow are
//! decoded by crates that panic on some bytes; their panics are caught, and returned as errors,
//! unless the program is built with `panic = "abort"`.

#[cfg(feature = "arrow")]
mod arrow_file;
#[cfg(all(feature = "compressed", not(target_family = "wasm")))]
mod compressed;
mod convert;
mod file_kind;
pub mod formats;
#[cfg(any(feature = "parquet", feature = "arrow"))]
mod guard;
#[cfg(not(target_family = "wasm"))]
mod new_file;
mod open;
#[cfg(feature = "parquet")]
mod parquet_file;
mod verify;
mod writer;

#[cfg(all(feature = "compressed", not(target_family = "wasm")))]
pub use compressed::Compression;
pub use convert::convert;
pub use file_kind::FileKind;
pub use formats::FormatId;
#[cfg(not(target_family = "wasm"))]
pub use new_file::NewFile;
pub use open::{OpenOptions, detect_format, open, open_cache, open_source, open_with};
pub use verify::{Verification, VerifyError, verify};
pub use writer::{Destination, Writer, WriterOptions};

#[cfg(not(target_family = "wasm"))]
pub use hypostyle_core::line_search;
pub use hypostyle_core::types::RequestedType;
pub use hypostyle_core::{cast, coerce, predicate, projection, spelling, spill, text};

#[cfg(feature = "onpair")]
pub use hypostyle_onpair as onpair;

pub use hypostyle_core::column_source::{ColumnSource, ColumnStats};
pub use hypostyle_core::deviation::Deviation;
pub use hypostyle_core::deviations::Deviations;
pub use hypostyle_core::error::{ColumnRef, Error, ErrorKind, Refusal, Result};
pub use hypostyle_core::limits::Limits;
pub use hypostyle_core::options::{Compat, DuplicateNames, ReadOptions, TextPolicy, WriteOptions};
pub use hypostyle_core::reader::Dictionaries;
pub use hypostyle_core::row_selection::RowSelection;
pub use hypostyle_core::scan::{
    Batches, DamagedRowGroup, Partition, Scan, ScanDecoder, ScanStats, Step, Table,
};
pub use hypostyle_core::sink::{SeekSink, Sink};
pub use hypostyle_core::source::{ByteSource, FileSource, MissingRanges, RangeCache};
