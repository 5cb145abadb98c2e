//! Implements the trait that all formats have.

use std::sync::Arc;

use super::archive::Archive;
use super::container::{self, in_at1};
use hypostyle_core::column_source::ColumnSource;
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::format::{Format, Sniff};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::{ReadOptions, WriteOptions};
use hypostyle_core::reader::Reader;
use hypostyle_core::sink::Sink;
use hypostyle_core::source::ByteSource;
use hypostyle_core::text::TextOptions;
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

    /// Opens the table of the text, whose name is not known here.
    ///
    /// An archive that states what table its text is opens without decoding a row. The text
    /// of any other archive is decoded once.
    fn open(&self, source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Arc<dyn Reader>> {
        // The types of a text come from all of it, so the limit on a single read applies.
        let limits = &options.limits;
        let limits = limits.clone().with_output_bytes(limits.output_bytes.min(limits.read_bytes));
        let archive = Archive::open(source, &options.clone().with_limits(limits))?;
        let mut text = TextOptions::default();
        text.header = (!options.header).then_some(false);
        text.threads = options.threads;
        text.limits = options.limits.clone();
        archive.table(None, &text)
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
