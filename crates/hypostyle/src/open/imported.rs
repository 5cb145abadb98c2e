//! Text and archives that are read completely when their schema is first needed.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::options::OpenOptions;
use crate::file_kind::id_of_text;
use hypostyle_core::column_source::ColumnSource;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::projection::column_out_of_range;
use hypostyle_core::reader::{
    Reader, RowGroupReader, RowGroupRequest, WholeRowGroup, row_group_out_of_range,
};
use hypostyle_core::source::ByteSource;
use hypostyle_core::spill::{FileScratch, SpillBuffer};
#[cfg(feature = "csv")]
use hypostyle_core::text::csv;
#[cfg(feature = "json")]
use hypostyle_core::text::jsonl;
use hypostyle_core::text::{
    ImportOptions, Imported, SourceText, TextFormat, TextKind, TextSource, lines,
};

/// Bytes of rows that are kept in memory.
const MEMORY_BYTES: u64 = 256 << 20;

/// Reads a text.
pub(super) fn open(
    source: Arc<dyn ByteSource>,
    format: TextFormat,
    options: &OpenOptions,
) -> Result<Arc<dyn Reader>> {
    let mut text = SourceText(source).open(0)?;
    let spill = spill_buffer()?;
    let mut ignore = |_| {};
    let id = id_of_text(format.kind);
    let table = match format.kind {
        #[cfg(feature = "csv")]
        TextKind::Delimited { delimiter } => {
            let mut syntax = csv::CsvOptions::new(delimiter);
            syntax.header = format.header;
            syntax.ragged = options.text.ragged;
            syntax.encoding = options.text.encoding;
            csv::import(&mut text, &syntax, &import_options(options), spill, &mut ignore)
        }
        #[cfg(feature = "json")]
        TextKind::JsonLines => {
            jsonl::import(&mut text, &import_options(options), spill, &mut ignore)
        }
        _ => lines::import(&mut text, options.text.mark_open_line, spill, &mut ignore),
    };
    Ok(Arc::new(ImportedTable { id, table: table? }))
}

/// Reads the table of an archive.
#[cfg(feature = "at1")]
pub(super) fn open_archive(
    source: Arc<dyn ByteSource>,
    options: &OpenOptions,
) -> Result<Arc<dyn Reader>> {
    use crate::formats::at1::{Archive, TableOptions};
    let archive = Archive::open(source, &options.read)?;
    let table = TableOptions {
        header: options.text.header.unwrap_or(true),
        encoding: options.text.encoding,
        ..TableOptions::default()
    };
    let table = archive.import(&table, &import_options(options), spill_buffer()?)?;
    Ok(Arc::new(ImportedTable { id: FormatId::At1, table }))
}

fn import_options(options: &OpenOptions) -> ImportOptions {
    let mut import = ImportOptions::new(options.text.capabilities);
    import.infer = options.text.infer;
    import.types.clone_from(&options.text.types);
    import.null_words.clone_from(&options.text.null_words);
    import.threads = options.read.threads;
    import
}

fn spill_buffer() -> Result<SpillBuffer> {
    let scratch = FileScratch::try_new(tempfile::tempfile()?)?;
    Ok(SpillBuffer::with_scratch(MEMORY_BYTES, Box::new(scratch)))
}

/// A text that has been read.
#[derive(Debug)]
struct ImportedTable {
    id: FormatId,
    table: Imported,
}

impl Reader for ImportedTable {
    fn format(&self) -> FormatId {
        self.id
    }

    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn rows(&self) -> u64 {
        self.table.rows()
    }

    fn row_groups(&self) -> usize {
        self.table.batches()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        self.table.batch_rows(group) as u64
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        if group >= self.row_groups() {
            return Err(row_group_out_of_range(group, self.row_groups()));
        }
        let known = self.schema().fields().len();
        if let Some(&column) = request.columns.iter().find(|&&column| column >= known) {
            return Err(column_out_of_range(column, known));
        }
        let rows = self.table.batch_rows(group);
        let decode = move |columns: &[usize]| {
            let batch = self.table.batch(group)?;
            Ok(batch.project(columns).map_err(Error::from)?.columns().to_vec())
        };
        Ok(Box::new(WholeRowGroup::new(rows, decode)))
    }
}
