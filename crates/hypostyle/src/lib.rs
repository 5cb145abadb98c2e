//! Reads and writes column files: COLM, COLF, CLMN, AT-1 and OnPair, with Arrow in memory.
//!
//! A *format* implements [`formats::Format`]. [`Format::open`](formats::Format::open) checks the
//! layout of a file and returns a [`Reader`](formats::Reader), which decodes the columns that a
//! caller asks for to Arrow batches. [`Format::encode`](formats::Format::encode) writes a
//! [`ColumnSource`]. [`formats::ALL`] lists the formats, and [`formats::detect`] finds the format of a
//! file by its content.
//!
//! The crate opens no files and starts no runtime: the caller provides a [`ByteSource`] to read
//! from and a [`Sink`] to write to.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
//! use bytes::Bytes;
//! use hypostyle::{ReadOptions, WriteOptions, formats};
//!
//! let batch = RecordBatch::try_from_iter([
//!     ("id", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef),
//!     ("name", Arc::new(StringArray::from(vec!["Ada", "Grace"])) as ArrayRef),
//! ])?;
//! # #[cfg(feature = "colm")] {
//! let colm = formats::by_name("colm").ok_or("no such format")?;
//! let mut file = Vec::new();
//! let mut writer = formats::Writer::create(colm, batch.schema(), WriteOptions::default())?;
//! writer.write(&batch)?;
//! writer.finish(&mut file)?;
//!
//! let reader = formats::open(Arc::new(Bytes::from(file)), &ReadOptions::default())?;
//! let names = reader.read(0, &[1])?; // reads the header and one block
//! assert_eq!(names.column(0).as_ref(), batch.column(1).as_ref());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Formats
//!
//! | Format | Module | Content |
//! |---|---|---|
//! | COLM | `formats::colm` | int32, float64 and text, without nulls; one zlib block per column |
//! | COLF | `formats::colf` | the same with nulls, and a JSON schema |
//! | CLMN | `formats::clmn` | int32, int64, float64 and short text, without nulls |
//! | AT-1 | `formats::at1` | archives of text files: tables, logs, JSON and more, with queries |
//! | OnPair | `formats::onpair` | text and bytes with nulls; each string decodes by itself |
//!
//! [`text`] imports and exports CSV and JSON Lines. [`coerce`] casts a table to the types that a
//! format stores, [`predicate`] parses and evaluates conditions on rows, [`projection`] selects
//! columns, and [`spill`] buffers rows outside memory.
//!
//! # Features
//!
//! All features are on by default. Each adds a format and changes no other.
//!
//! | Feature | Adds | Needs a C compiler for |
//! |---|---|---|
//! | `colm`, `colf`, `clmn` | the column file | libdeflate |
//! | `at1` | AT-1 archives, `csv` and `json` | liblzma, zstd |
//! | `onpair` | OnPair files | |
//! | `csv` | CSV and TSV in [`text`] | |
//! | `json` | JSON Lines in [`text`] | |
//!
//! # Hostile input
//!
//! Any bytes may be opened. A reader either succeeds or fails with an [`Error`] that names the
//! format, the column and the byte. It does not panic. Its memory is bounded by the size of the
//! file and by [`Limits`], never by a number that the file merely states.

#[cfg(feature = "arrow")]
mod arrow_file;
mod convert;
mod file_kind;
pub mod formats;
#[cfg(any(feature = "parquet", feature = "arrow"))]
mod guard;
mod new_file;
mod open;
#[cfg(feature = "parquet")]
mod parquet_file;
mod writer;

pub use convert::convert;
pub use file_kind::FileKind;
pub use formats::FormatId;
pub use new_file::NewFile;
pub use open::{OpenOptions, detect_format, open, open_cache, open_source, open_with};
pub use writer::{Destination, Writer, WriterOptions};

pub use hypostyle_core::{cast, coerce, predicate, projection, spill, text};

pub use hypostyle_core::column_source::{ColumnSource, ColumnStats};
pub use hypostyle_core::deviation::Deviation;
pub use hypostyle_core::deviations::Deviations;
pub use hypostyle_core::error::{ColumnRef, Error, ErrorKind, Refusal, Result};
pub use hypostyle_core::limits::Limits;
pub use hypostyle_core::options::{Compat, DuplicateNames, ReadOptions, TextPolicy, WriteOptions};
pub use hypostyle_core::row_selection::RowSelection;
pub use hypostyle_core::scan::{Batches, Partition, Scan, ScanDecoder, ScanStats, Step, Table};
pub use hypostyle_core::sink::{SeekSink, Sink};
pub use hypostyle_core::source::{ByteSource, FileSource, MissingRanges, RangeCache};
