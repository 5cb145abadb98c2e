//! Column files, both ways.
//!
//! A *format* is a pair of doors: [`formats::Format::open`] checks the layout
//! of a file and gives a [`Reader`](formats::Reader); [`formats::Format::encode`]
//! writes a [`Table`]. Both speak Arrow. [`formats::ALL`] lists every format,
//! and [`formats::detect`] finds the one that a file is in by its content.
//!
//! The crate opens no files, starts no runtime and knows no query engine: bytes
//! come from a [`ByteSource`] and go to a [`Sink`], which the caller brings.
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
//! let colm = formats::by_name("colm").ok_or("no such format")?;
//! let mut file = Vec::new();
//! let mut writer = formats::Writer::create(colm, batch.schema(), WriteOptions::default())?;
//! writer.write(&batch)?;
//! writer.finish(&mut file)?;
//!
//! let reader = formats::open(Arc::new(Bytes::from(file)), &ReadOptions::default())?;
//! let names = reader.read(0, &[1])?; // the header and one block are read, no more
//! assert_eq!(names.column(0).as_ref(), batch.column(1).as_ref());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Hostile input
//!
//! Any bytes may be opened. A reader fails with an [`Error`] that names the
//! format, the column and the byte, or it succeeds; it does not panic, and it
//! spends memory in proportion to the bytes that are there and to [`Limits`],
//! never to a number that a file merely states.

pub mod formats;

pub use hypostyle_core::{cast, coerce, predicate, projection, spill, text};

pub use hypostyle_core::deviation::Deviation;
pub use hypostyle_core::deviations::Deviations;
pub use hypostyle_core::error::{ColumnRef, Error, ErrorKind, Refusal, Result};
pub use hypostyle_core::limits::Limits;
pub use hypostyle_core::options::{Compat, DuplicateNames, ReadOptions, TextPolicy, WriteOptions};
pub use hypostyle_core::row_selection::RowSelection;
pub use hypostyle_core::sink::{SeekSink, Sink};
pub use hypostyle_core::source::{ByteSource, FileSource};
pub use hypostyle_core::table::{ColumnStats, Table};
