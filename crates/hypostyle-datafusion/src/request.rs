//! What the scan of every file is asked for.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::physical_expr::PhysicalExpr;
use hypostyle::FileKind;

use crate::options::TableOptions;

/// What the scan of every file is asked for.
pub(crate) struct ScanRequest {
    pub(crate) kind: FileKind,
    pub(crate) options: Arc<TableOptions>,
    /// The columns of the table, without those of partitions.
    pub(crate) file_schema: SchemaRef,
    /// The columns to return, by position in that schema.
    pub(crate) columns: Vec<usize>,
    pub(crate) filters: Filters,
    pub(crate) limit: Option<u64>,
    pub(crate) batch_size: usize,
    pub(crate) memory: Option<u64>,
    /// The number of partitions of the scan.
    pub(crate) partitions: usize,
}

/// The filters that a scan was given.
#[derive(Clone, Default)]
pub(crate) struct Filters {
    /// Those that the scan applies to every row.
    pub(crate) exact: Vec<Arc<dyn PhysicalExpr>>,
    /// Those by which it skips what it can; the engine applies them too.
    pub(crate) wider: Vec<Arc<dyn PhysicalExpr>>,
}
