//! What a search did, for `--stats` and `--json`.

use std::io::{self, Write};
use std::time::Duration;

use hypostyle::line_search::LineSearcher;
use serde_json::json;

use super::json::print;
use super::of_output;
use crate::failure::Result;
use crate::output::Out;

/// What a search did.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) files: u64,
    pub(super) files_with_lines: u64,
    lines: u64,
    bytes: u64,
    skipped_bytes: u64,
}

impl Totals {
    /// Adds a text.
    pub(super) fn add(&mut self, searcher: &LineSearcher<'_>, bytes: u64, skipped_bytes: u64) {
        let lines = searcher.selected();
        self.lines = self.lines.saturating_add(lines);
        self.files_with_lines = self.files_with_lines.saturating_add(u64::from(lines > 0));
        self.bytes = self.bytes.saturating_add(bytes);
        self.skipped_bytes = self.skipped_bytes.saturating_add(skipped_bytes);
    }

    pub(super) fn print(&self, time: Duration, out: &mut dyn Write) -> io::Result<()> {
        let Self { files, files_with_lines, lines, bytes, skipped_bytes } = self;
        writeln!(out, "{lines} lines selected in {files_with_lines} of {files} files")?;
        writeln!(out, "{bytes} bytes of text searched")?;
        writeln!(out, "{skipped_bytes} bytes of text left out by search filters")?;
        writeln!(out, "{:.6} seconds", time.as_secs_f64())
    }

    pub(super) fn print_json(&self, time: Duration, out: &mut dyn Out) -> Result<()> {
        let data = json!({
            "elapsed_total": {
                "secs": time.as_secs(),
                "nanos": time.subsec_nanos(),
                "human": format!("{:.6}s", time.as_secs_f64()),
            },
            "stats": {
                "searches": self.files,
                "searches_with_match": self.files_with_lines,
                "bytes_searched": self.bytes,
                "bytes_skipped": self.skipped_bytes,
                "matched_lines": self.lines,
            },
        });
        print("summary", &data, out).map_err(of_output)
    }
}
