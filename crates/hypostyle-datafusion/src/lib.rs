//! Column files and archives as tables of [Apache DataFusion](datafusion).
//!
//! [`register()`] adds COLM, COLF, CLMN, AT-1 and OnPair to a [`SessionContext`], for
//! `CREATE EXTERNAL TABLE … STORED AS COLF LOCATION …`, for `COPY … TO`, and for tables by URL:
//!
//! ```
//! # use datafusion::prelude::SessionContext;
//! # #[tokio::main] async fn main() -> datafusion::error::Result<()> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().display();
//! let ctx = SessionContext::new();
//! hypostyle_datafusion::register(&ctx)?;
//!
//! ctx.sql(&format!("COPY (VALUES (1, 'Ada'), (2, NULL)) TO '{path}/people.colf'"))
//!     .await?
//!     .collect()
//!     .await?;
//! ctx.sql(&format!("CREATE EXTERNAL TABLE people STORED AS COLF LOCATION '{path}/people.colf'"))
//!     .await?;
//! let found = ctx.sql("SELECT column2 FROM people WHERE column1 = 1").await?.collect().await?;
//! assert_eq!(found[0].num_rows(), 1);
//! # Ok(()) }
//! ```
//!
//! The folder `examples` has a program that does nothing else.
//!
//! [`register_kinds`] adds any kind of file that the library reads, such as CSV, which then has
//! the same types as an archive of the same text.
//!
//! [`FileTables`] makes files tables by their names: `SELECT * FROM 'logs/*.jsonl.at1'`.
//!
//! # What a scan reads
//!
//! - Of each file, its metadata and the blocks of the columns that the query needs. Ranges are
//!   fetched concurrently, and those that lie close together with one request.
//! - Comparisons, `AND`, `OR`, `NOT`, `IN`, `IS NULL`, `BETWEEN` and `LIKE` are evaluated by the
//!   scan, and skip row groups by their statistics before anything of them is fetched. The engine
//!   evaluates other filters, and repeats those of floats.
//! - `count(*)` and exact minima and maxima come from metadata. A limit stops early.
//! - Filters that joins and `ORDER BY … LIMIT` make while they run skip later row groups.
//! - `EXPLAIN ANALYZE` shows row groups and bytes that were read, and row groups that were skipped.
//!
//! # Several machines
//!
//! An engine that runs on several machines rebuilds a [`HypostyleSource`] from its parts, and cuts
//! files by the row groups that [`HypostyleSource::row_groups`] finds ([`RowGroups`]). The crate
//! `hypostyle-ballista` does so.
//!
//! # Files
//!
//! A table of several files has their columns by name; one that a file lacks is null there. A
//! damaged file fails the query with an error that names it ([`FileError`]).

mod compressed;
mod fetch;
mod file_error;
mod file_tables;
mod format;
mod metrics;
mod open_file;
mod opener;
mod options;
mod output_columns;
mod part_scan;
mod predicate;
mod register;
mod request;
mod row_groups;
mod schema;
mod shared_files;
mod sink;
mod source;
mod statistics;
mod store_source;
mod table_url;

pub use file_error::FileError;
pub use file_tables::FileTables;
pub use format::{HypostyleFormat, HypostyleFormatFactory};
pub use options::{KNOWN_OPTIONS, TableOptions};
pub use register::{register, register_kinds};
pub use row_groups::{PlannedGroup, RowGroups};
pub use sink::HypostyleSink;
pub use source::HypostyleSource;

#[cfg(doc)]
use datafusion::prelude::SessionContext;
