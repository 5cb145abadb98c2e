//! Scans of a table.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use hypostyle::predicate::Predicate;
use hypostyle::{Batches, ScanStats};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyString};

use crate::errors;
use crate::expr::Expr;
use crate::memory_table::MemoryTable;
use crate::schema::Schema;
use crate::stream;

/// The rows that an iteration returns at once by default.
const ITERATED_ROWS: usize = 64 << 10;

/// A column by name or by position.
#[derive(Clone, Debug, FromPyObject)]
pub(crate) enum ColumnArg {
    Index(usize),
    Name(String),
}

/// The arguments of a scan.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScanArgs {
    pub(crate) columns: Option<Vec<ColumnArg>>,
    pub(crate) filter: Option<Predicate>,
    pub(crate) limit: Option<u64>,
    pub(crate) rows: Option<(u64, u64)>,
    pub(crate) take: Option<Vec<u64>>,
    pub(crate) batch_size: Option<usize>,
    pub(crate) threads: Option<usize>,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) skip_damaged: bool,
    pub(crate) dictionaries: bool,
}

impl ScanArgs {
    /// Returns the positions of the columns; all of them if none are named.
    fn indexes(&self, schema: &SchemaRef) -> PyResult<Option<Vec<usize>>> {
        let Some(columns) = &self.columns else { return Ok(None) };
        let mut indexes = Vec::with_capacity(columns.len());
        for column in columns {
            indexes.push(match column {
                ColumnArg::Index(index) => *index,
                // A name is taken as it is: it may contain the characters of a path.
                ColumnArg::Name(name) => schema.index_of(name).map_err(|_| {
                    let names: Vec<&str> =
                        schema.fields().iter().map(|field| field.name().as_str()).collect();
                    let names = names.join("`, `");
                    errors::invalid(format!("there is no column `{name}`; there are `{names}`"))
                })?,
            });
        }
        Ok(Some(indexes))
    }

    /// Returns the schema of the batches; fails if the columns or the filter do not fit the table.
    ///
    /// This reads nothing but the metadata, and must be called without the interpreter lock.
    pub(crate) fn schema(&self, table: &hypostyle::Table) -> PyResult<SchemaRef> {
        let of_table = table.schema().map_err(errors::to_py)?;
        if let Some(filter) = &self.filter {
            filter.bind(&of_table).map_err(errors::to_py)?;
        }
        let stored = match self.dictionaries {
            true => table.dictionary_schema().map_err(errors::to_py)?,
            false => of_table.clone(),
        };
        match self.indexes(&of_table)? {
            None => Ok(stored),
            Some(indexes) => {
                let projected = stored.project(&indexes);
                Ok(Arc::new(projected.map_err(|err| errors::invalid(err.to_string()))?))
            }
        }
    }

    /// Starts the scan. Must be called without the interpreter lock.
    pub(crate) fn start(&self, table: &hypostyle::Table) -> PyResult<Batches> {
        let mut scan = table.scan();
        if let Some(indexes) = self.indexes(&table.schema().map_err(errors::to_py)?)? {
            scan = scan.columns(indexes);
        }
        if let Some(filter) = &self.filter {
            scan = scan.filter(filter.clone());
        }
        if let Some(rows) = self.limit {
            scan = scan.limit(rows);
        }
        if let Some((start, end)) = self.rows {
            scan = scan.rows(start..end.max(start));
        }
        if let Some(rows) = &self.take {
            scan = scan.take(rows);
        }
        if let Some(rows) = self.batch_size {
            scan = scan.batch_size(rows.max(1));
        }
        scan = scan.threads_or_all(self.threads.and_then(NonZeroUsize::new));
        if let Some(bytes) = self.memory_limit {
            scan = scan.memory_limit(bytes);
        }
        scan = scan.skip_damaged(self.skip_damaged).dictionaries(self.dictionaries);
        scan.batches().map_err(errors::to_py)
    }
}

/// Takes a filter: a text in the predicate language, an expression of this package, or one of
/// polars or pyarrow that can be translated.
pub(crate) fn filter_of(
    filter: Option<&Bound<'_, PyAny>>,
    schema: impl FnOnce() -> PyResult<SchemaRef>,
) -> PyResult<Option<Predicate>> {
    let Some(filter) = filter.filter(|filter| !filter.is_none()) else { return Ok(None) };
    if let Ok(text) = filter.cast::<PyString>() {
        return Predicate::parse(text.to_str()?).map(Some).map_err(errors::to_py);
    }
    if let Ok(expr) = filter.cast::<Expr>() {
        return Ok(Some(expr.get().0.clone().into()));
    }
    let translate = filter.py().import("hypostyle._translate")?.getattr("expression")?;
    let translated = translate.call1((filter, Schema(schema()?)))?;
    match translated.cast::<Expr>() {
        Ok(expr) => Ok(Some(expr.get().0.clone().into())),
        Err(_) => {
            let kind = filter.get_type().name()?;
            Err(PyTypeError::new_err(format!("`{kind}` cannot be translated into a filter")))
        }
    }
}

/// Some columns and rows of a table, read when they are asked for.
///
/// A scan can be read as often as wanted, each time from the start, by several threads at once:
/// by iteration over batches, or by other packages through the Arrow PyCapsule protocol.
#[pyclass(frozen, module = "hypostyle")]
pub(crate) struct Scan {
    table: hypostyle::Table,
    args: ScanArgs,
    schema: OnceLock<SchemaRef>,
    stats: Arc<Mutex<ScanStats>>,
}

impl Scan {
    pub(crate) fn new(table: hypostyle::Table, args: ScanArgs) -> Self {
        Self { table, args, schema: OnceLock::new(), stats: Arc::default() }
    }

    /// Starts the scan. The caller holds the interpreter lock, which opening does not need.
    fn batches(&self, py: Python<'_>) -> PyResult<Batches> {
        py.detach(|| self.args.start(&self.table))
    }

    /// Returns the schema; fails if the columns or the filter do not fit the table.
    pub(crate) fn arrow_schema(&self, py: Python<'_>) -> PyResult<SchemaRef> {
        if let Some(schema) = self.schema.get() {
            return Ok(schema.clone());
        }
        let schema = py.detach(|| self.args.schema(&self.table))?;
        Ok(self.schema.get_or_init(|| schema).clone())
    }

    /// Returns the batches for the Arrow C interface.
    pub(crate) fn stream<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = self.batches(py)?;
        let schema = batches.schema();
        let batches = Counted { batches, stats: self.stats.clone() };
        stream::export(py, &schema, batches, requested_schema)
    }
}

/// Batches that note what was read.
pub(crate) struct Counted {
    batches: Batches,
    stats: Arc<Mutex<ScanStats>>,
}

impl Counted {
    fn next_batch(&mut self) -> hypostyle::Result<Option<RecordBatch>> {
        let next = self.batches.next_batch();
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner) = self.batches.stats();
        next
    }

    /// Calls `each` with every batch, and looks for Ctrl-C between them.
    fn read_all(&mut self, mut each: impl FnMut(RecordBatch)) -> PyResult<()> {
        while let Some(batch) = self.next_batch().map_err(errors::to_py)? {
            each(batch);
            Python::attach(|py| py.check_signals())?;
        }
        Ok(())
    }
}

impl Iterator for Counted {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().map_err(into_arrow).transpose()
    }
}

/// Keeps an I/O error one, so that other packages raise `OSError`.
fn into_arrow(error: hypostyle::Error) -> ArrowError {
    match error.kind() {
        hypostyle::ErrorKind::Io(cause) => {
            let message = error.to_string();
            ArrowError::IoError(message.clone(), std::io::Error::new(cause.kind(), message))
        }
        hypostyle::ErrorKind::LimitExceeded { .. } => ArrowError::MemoryError(error.to_string()),
        hypostyle::ErrorKind::Unsupported(_) => ArrowError::NotYetImplemented(error.to_string()),
        _ => ArrowError::InvalidArgumentError(error.to_string()),
    }
}

#[pymethods]
impl Scan {
    /// The names and types of the columns.
    #[getter]
    fn schema(&self, py: Python<'_>) -> PyResult<Schema> {
        self.arrow_schema(py).map(Schema)
    }

    /// What the last read of this scan has read and skipped so far: row groups, rows and bytes.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner).clone();
        stats_dict(py, &stats)
    }

    /// Reads all rows into memory.
    pub(crate) fn read(&self, py: Python<'_>) -> PyResult<MemoryTable> {
        let batches = self.batches(py)?;
        let mut batches = Counted { batches, stats: self.stats.clone() };
        let schema = batches.batches.schema();
        let mut all = Vec::new();
        py.detach(|| batches.read_all(|batch| all.push(batch)))?;
        Ok(MemoryTable::new(schema, all))
    }

    /// Counts the rows. It decodes only the columns that the filter needs.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| {
            let mut args = self.args.clone();
            args.columns = Some(Vec::new());
            let batches = args.start(&self.table)?;
            let mut batches = Counted { batches, stats: self.stats.clone() };
            let mut rows = 0_u64;
            batches.read_all(|batch| rows = rows.saturating_add(batch.num_rows() as u64))?;
            Ok(rows)
        })
    }

    /// Iterates over the batches; each is a `MemoryTable`.
    fn __iter__(&self, py: Python<'_>) -> PyResult<BatchIterator> {
        let batches = self.batches(py)?;
        let schema = batches.schema();
        let batches = Counted { batches, stats: self.stats.clone() };
        let most = self.args.batch_size.unwrap_or(ITERATED_ROWS).max(1);
        let open = OpenIterator { batches, most, pending: None };
        Ok(BatchIterator { schema, open: Mutex::new(Some(open)) })
    }

    fn __repr__(&self) -> String {
        let mut parts = Vec::new();
        if let Some(columns) = &self.args.columns {
            let shown = columns.iter().map(|column| match column {
                ColumnArg::Name(name) => name.clone(),
                ColumnArg::Index(index) => index.to_string(),
            });
            parts.push(format!("columns: {}", shown.collect::<Vec<_>>().join(", ")));
        }
        if let Some(filter) = &self.args.filter {
            parts.push(format!("filter: {filter}"));
        }
        if let Some(limit) = self.args.limit {
            parts.push(format!("limit: {limit}"));
        }
        format!("Scan({})", parts.join("; "))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        self.schema(py)?.capsule(py)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.stream(py, requested_schema)
    }
}

/// Iterates over the batches of a scan.
#[pyclass(frozen, module = "hypostyle")]
pub(crate) struct BatchIterator {
    schema: SchemaRef,
    open: Mutex<Option<OpenIterator>>,
}

struct OpenIterator {
    batches: Counted,
    /// The most rows that are returned at once.
    most: usize,
    /// A batch that did not fit.
    pending: Option<RecordBatch>,
}

impl OpenIterator {
    /// Returns the next batches, which are small where a filter keeps few rows of a row group.
    fn next(&mut self) -> hypostyle::Result<Vec<RecordBatch>> {
        let (mut next, mut rows) = (Vec::new(), 0_usize);
        while rows < self.most {
            let batch = match self.pending.take() {
                Some(batch) => Some(batch),
                None => self.batches.next_batch()?,
            };
            let Some(batch) = batch else { break };
            if rows > 0 && rows.saturating_add(batch.num_rows()) > self.most {
                self.pending = Some(batch);
                break;
            }
            rows = rows.saturating_add(batch.num_rows());
            next.push(batch);
        }
        Ok(next)
    }
}

#[pymethods]
impl BatchIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<MemoryTable>> {
        let next = py.detach(|| {
            let mut held = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(open) = held.as_mut() else { return Ok(Vec::new()) };
            let next = match catch_unwind(AssertUnwindSafe(|| open.next())) {
                Ok(next) => next.map_err(errors::to_py),
                Err(_) => Err(PyRuntimeError::new_err("the library panicked; please report it")),
            };
            if next.as_ref().map_or(true, Vec::is_empty) {
                *held = None;
            }
            next
        })?;
        Ok((!next.is_empty()).then(|| MemoryTable::new(self.schema.clone(), next)))
    }
}

fn stats_dict<'py>(py: Python<'py>, stats: &ScanStats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("row_groups", stats.row_groups)?;
    dict.set_item("row_groups_read", stats.row_groups_read)?;
    dict.set_item("row_groups_pruned", stats.row_groups_pruned)?;
    dict.set_item("rows_read", stats.rows_read)?;
    dict.set_item("rows_returned", stats.rows_returned)?;
    dict.set_item("bytes", stats.bytes)?;
    dict.set_item("bytes_read", stats.bytes_read)?;
    dict.set_item("reads", stats.reads)?;
    let damaged: Vec<(u64, u64, &str)> = stats
        .damaged
        .iter()
        .map(|damage| (damage.rows.start, damage.rows.end, damage.error.as_str()))
        .collect();
    dict.set_item("damaged", damaged)?;
    Ok(dict)
}
