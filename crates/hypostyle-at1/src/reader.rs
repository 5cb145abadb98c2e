//! Implements the traits that all formats have on top of the table view.

use std::sync::{Arc, OnceLock};

use arrow_schema::SchemaRef;

use super::archive::Archive;
use super::container::{self, in_at1};
use super::description::StreamInfo;
use super::table_view::TableOptions;
use hypostyle_core::column_source::ColumnSource;
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::format::{Format, Sniff};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::{ReadOptions, WriteOptions};
use hypostyle_core::projection::column_out_of_range;
use hypostyle_core::reader::{
    Reader, RowGroupReader, RowGroupRequest, Section, WholeRowGroup, row_group_out_of_range,
};
use hypostyle_core::sink::Sink;
use hypostyle_core::source::ByteSource;
use hypostyle_core::spill::SpillBuffer;
use hypostyle_core::text::{ImportOptions, Imported};
use hypostyle_core::types::Capabilities;

/// The format AT-1.
#[derive(Clone, Copy, Debug)]
pub struct At1;

impl Format for At1 {
    fn id(&self) -> FormatId {
        FormatId::At1
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["at1"]
    }

    fn magics(&self) -> &'static [&'static [u8]] {
        &[&container::MAGIC]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        container::has_magic(head)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::EVERYTHING
    }

    fn holds_tables(&self) -> bool {
        false
    }

    fn sniff(&self, source: &dyn ByteSource) -> Result<Sniff> {
        container::sniff(source)
    }

    /// Opens the archive as a table.
    ///
    /// Text has no types before it has been parsed. So opening an archive decodes all of it,
    /// unlike opening a column file.
    fn open(&self, source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Arc<dyn Reader>> {
        // The whole table is in memory, so the limit on a single read applies to it.
        let limits = &options.limits;
        let limits = limits.clone().with_output_bytes(limits.output_bytes.min(limits.read_bytes));
        let archive = Archive::open(source, &options.clone().with_limits(limits))?;
        let mut import = ImportOptions::new(Capabilities::EVERYTHING);
        import.threads = options.threads;
        let table = TableOptions { header: options.header, ..TableOptions::default() };
        let table = archive.import(&table, &import, SpillBuffer::in_memory())?;
        Ok(Arc::new(ArchiveTable { archive, table, sections: OnceLock::new() }))
    }

    fn encode(&self, _: &dyn ColumnSource, _: &mut dyn Sink, _: &WriteOptions) -> Result<()> {
        let why = "AT-1 stores a file byte for byte, and a table is not a file";
        Err(in_at1(Error::refused(
            Refusal::TablesNotSupported,
            why,
            "write it as CSV or JSON Lines, and pack that",
        )))
    }
}

/// An archive whose table has been read.
#[derive(Debug)]
struct ArchiveTable {
    archive: Archive,
    table: Imported,
    sections: OnceLock<Vec<Section>>,
}

impl Reader for ArchiveTable {
    fn format(&self) -> FormatId {
        FormatId::At1
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
            return Err(in_at1(row_group_out_of_range(group, self.row_groups())));
        }
        let known = self.table.schema().fields().len();
        if let Some(&column) = request.columns.iter().find(|&&column| column >= known) {
            return Err(in_at1(column_out_of_range(column, known)));
        }
        let rows = self.table.batch_rows(group);
        let decode = move |columns: &[usize]| {
            let batch = self.table.batch(group).map_err(in_at1)?;
            Ok(batch.project(columns)?.columns().to_vec())
        };
        Ok(Box::new(WholeRowGroup::new(rows, decode)))
    }

    fn sections(&self) -> Vec<Section> {
        let list = || {
            let frames = self.archive.frames().unwrap_or_default();
            let streams = frames.iter().flat_map(|frame| &frame.streams);
            let section = |stream: &StreamInfo| Section {
                what: "stream",
                column: None,
                offset: stream.offset,
                stored: stream.stored,
                raw: stream.raw,
            };
            streams.map(section).collect()
        };
        self.sections.get_or_init(list).clone()
    }

    fn deviations(&self) -> Vec<Deviation> {
        self.archive.deviations()
    }

    fn notes(&self) -> Vec<String> {
        let skipped = self.table.skipped();
        if skipped.count == 0 {
            return Vec::new();
        }
        let places: Vec<String> = skipped.offsets.iter().map(u64::to_string).collect();
        let more = if skipped.count > places.len() as u64 { ", ..." } else { "" };
        let places = places.join(", ");
        vec![format!(
            "{} lines are not rows of the table and are skipped, at byte {places}{more} of the text",
            skipped.count
        )]
    }
}
