//! Open tables.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::open_table::OpenTable;
use super::partition::Partition;
use super::request::Scan;
use crate::error::Result;
use crate::reader::{ColumnStatistics, Dictionaries, Reader};
use crate::source::RangeCache;

/// An open table, of any format.
///
/// A table is cheap to clone, and can be scanned by several threads at the same time.
#[derive(Clone, Debug)]
pub struct Table {
    open: Arc<OpenTable>,
}

impl Table {
    /// Returns the table of a reader, which reads from `source`.
    pub fn new(reader: Arc<dyn Reader>, source: Arc<RangeCache>) -> Self {
        let open = Box::new({
            let reader = reader.clone();
            move || Ok(reader.clone())
        });
        Self { open: Arc::new(OpenTable::new(source, open, Some(reader))) }
    }

    /// Returns a table whose reader is made when its schema is first needed, because that
    /// takes a pass over the content.
    pub fn deferred(
        source: Arc<RangeCache>,
        open: impl Fn() -> Result<Arc<dyn Reader>> + Send + Sync + 'static,
    ) -> Self {
        Self { open: Arc::new(OpenTable::new(source, Box::new(open), None)) }
    }

    /// Returns the names and types of the columns.
    ///
    /// # Errors
    ///
    /// Fails if the types must be inferred from text, and the text cannot be read.
    pub fn schema(&self) -> Result<SchemaRef> {
        Ok(self.reader()?.schema())
    }

    /// Returns the schema of a scan with [dictionaries](Scan::dictionaries).
    ///
    /// # Errors
    ///
    /// As [`Table::schema`].
    pub fn dictionary_schema(&self) -> Result<SchemaRef> {
        Ok(self.reader()?.dictionary_schema(Dictionaries::Small))
    }

    /// Returns the number of rows.
    ///
    /// # Errors
    ///
    /// As [`Table::schema`].
    pub fn num_rows(&self) -> Result<u64> {
        Ok(self.reader()?.rows())
    }

    /// Returns what is known of a column without decoding it.
    ///
    /// # Errors
    ///
    /// As [`Table::schema`].
    pub fn column_statistics(&self, column: usize) -> Result<ColumnStatistics> {
        Ok(self.reader()?.column_statistics(column))
    }

    /// Returns the reader, for its byte map, its deviations and its row groups.
    ///
    /// # Errors
    ///
    /// As [`Table::schema`].
    pub fn reader(&self) -> Result<Arc<dyn Reader>> {
        self.open.reader()
    }

    /// Returns a scan of all columns and rows.
    pub fn scan(&self) -> Scan {
        Scan::new(self.open.clone())
    }

    /// Cuts the table into at most `count` parts of roughly equal size.
    ///
    /// No part decodes what another one does. If the table has fewer row groups than parts,
    /// its columns are decoded once in this process and shared by the scans of all parts, as
    /// long as they take at most half of a scan's memory limit. Columns that take more are
    /// decoded by each scan on its own, up to the rows of its part.
    ///
    /// # Errors
    ///
    /// As [`Table::schema`].
    pub fn partitions(&self, count: usize) -> Result<Vec<Partition>> {
        let reader = self.reader()?;
        let groups = reader.row_groups();
        if groups >= count {
            let rows: Vec<u64> = (0..groups).map(|group| reader.row_group_rows(group)).collect();
            return Ok(Partition::of_row_groups(&rows, count));
        }
        self.open.share_columns()?;
        Ok(Partition::of_rows(reader.rows(), count))
    }
}
