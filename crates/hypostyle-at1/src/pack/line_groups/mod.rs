//! Divides the lines of a text into groups that can be read by themselves (§7.10).
//!
//! [`contents`] finds the part of each list that belongs to some lines. [`plan`] chooses the number
//! of groups and the lists that are cut into blocks, by what that saves a reader and what it
//! [costs](cost). [`build`] compresses the streams. [`log_slots`] says how the columns of a log
//! are read without its lines.

mod build;
mod contents;
mod cost;
mod log_slots;
mod plan;

use crate::codec::Codec;
use crate::line_groups::layout;
use crate::log_columns::LogClaims;
use crate::pack::context::EncodeContext;
use crate::pack::stream_set::{Body, Stream};
use crate::pack::table_summary::max_table_bytes;
use contents::LineContents;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use plan::GroupPlan;

/// Shorter texts have no groups, unless the caller sets their rows: their archives are read as
/// quickly as a whole.
const MIN_TEXT_BYTES: usize = 1 << 20;

/// The streams of a codec, before they are compressed.
#[derive(Debug)]
pub(super) struct LineStreams {
    pub(super) codec: Codec,
    pub(super) streams: Vec<(&'static str, Vec<u8>)>,
    /// The bytes of `values` that share an xz block.
    pub(super) value_blocks: Vec<u64>,
}

impl LineStreams {
    /// Returns streams of which `values` is one block.
    pub(super) fn new(codec: Codec, streams: Vec<(&'static str, Vec<u8>)>) -> Self {
        let values = streams.iter().find(|(name, _)| *name == "values");
        let value_blocks = values.map(|(_, content)| content.len() as u64).into_iter().collect();
        Self { codec, streams, value_blocks }
    }

    /// Compresses the streams of a text, in groups if they pay.
    pub(super) fn encode(
        mut self,
        text: &[u8],
        context: &EncodeContext<'_>,
    ) -> Result<Vec<Stream>> {
        let claims = log_slots::claims(&mut self, text, context)?;
        if let Some(streams) = self.grouped(text, claims.as_ref(), context)? {
            return Ok(streams);
        }
        let mut streams = parallel::map(&self.streams, context.threads, |(name, content)| {
            let body = Body::fitted(content, context.search)?;
            Ok(Stream { name: (*name).into(), body })
        })?;
        if let (Some(claims), Some(request)) = (&claims, context.lines) {
            log_slots::add_to_whole(&mut streams, &self, claims, request)?;
        }
        Ok(streams)
    }

    /// Returns the content of a stream.
    fn content(&self, name: &str) -> &[u8] {
        let found = self.streams.iter().find(|(known, _)| *known == name);
        found.map(|(_, content)| &content[..]).unwrap_or_default()
    }

    /// Compresses the streams of a text in groups; `None` if the context does not ask for
    /// groups, or if they do not pay.
    pub(super) fn grouped(
        &self,
        text: &[u8],
        claims: Option<&LogClaims>,
        context: &EncodeContext<'_>,
    ) -> Result<Option<Vec<Stream>>> {
        let (Some(request), Some(layout)) = (context.lines, layout(self.codec)) else {
            return Ok(None);
        };
        // zstd has no blocks that can be found.
        if context.search.is_quick() {
            return Ok(None);
        }
        if request.rows.is_none() && text.len() < MIN_TEXT_BYTES {
            return Ok(None);
        }
        let lines = request.summary.rows;
        let Some(contents) = LineContents::new(self, layout, lines, request.rows)? else {
            return Ok(None);
        };
        let Some(plan) = GroupPlan::find(&contents, request.share, context)? else {
            return Ok(None);
        };
        if !contents.is_fixed && request.table_bytes > max_table_bytes(plan.archive_bytes) {
            return Ok(None);
        }
        build::streams(&contents, &plan, text, (request, claims), context)
    }
}
