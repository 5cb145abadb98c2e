//! A frame of codec columnar, without its columns.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use crate::codecs::columnar::column::DecodedColumn;
use crate::codecs::columnar::values::{ColumnLayout, LAYOUT_STREAMS};
use crate::codecs::context::DecodeContext;
use crate::container::Extent;
use crate::frames::FrameReader;
use crate::row_groups::source::StreamDirectory;
use crate::streams::{Backend, CompressedStream, StreamSet};
use hypostyle_core::compress::xz::RemoteBlocks;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::source;

/// Everything of a frame but `values`.
#[derive(Debug)]
pub(super) struct ColumnarFrame {
    pub(super) layout: ColumnLayout,
    pub(super) verbatim: Bytes,
    quote_bits: Bytes,
    values: Values,
}

/// The stream `values`, which is decompressed in parts if it has several xz blocks.
#[derive(Debug)]
struct Values {
    backend: Backend,
    offset: u64,
    len: u64,
    blocks: Option<RemoteBlocks>,
}

/// Parts of `values` that were decompressed, by the index of their xz block.
pub(super) type DecompressedValues = BTreeMap<usize, Bytes>;

impl ColumnarFrame {
    /// Reads a frame; `None` if its streams cannot be found without reading all of them.
    pub(super) fn read(archive: &FrameReader, extent: Extent) -> Result<Option<Self>> {
        let source = archive.source();
        let directory = StreamDirectory::read(source, extent, false, |name| name == "values")?;
        let Some(directory) = directory else { return Ok(None) };
        let context = archive.context(&directory.set);
        let streams = context.decompress(|name| LAYOUT_STREAMS.contains(&name))?;
        let layout = ColumnLayout::read(&streams, &context)?;
        let (backend, offset, len) = directory.unread("values").unwrap_or((Backend::Stored, 0, 0));
        let blocks = match backend {
            Backend::Xz => RemoteBlocks::find(len, |range| {
                let start = offset.saturating_add(range.start);
                source::range(source, start, range.end - range.start, "values")
            })?,
            _ => None,
        };
        Ok(Some(Self {
            layout,
            verbatim: streams.shared("verbatim"),
            quote_bits: streams.shared("quotebits"),
            values: Values { backend, offset, len, blocks },
        }))
    }

    /// Returns the byte ranges of the xz blocks that some columns are in.
    pub(super) fn ranges(&self, columns: &[usize]) -> Vec<Range<u64>> {
        let parts = columns.iter().flat_map(|&column| self.parts(column));
        let mut parts: Vec<usize> = parts.map(|(part, _)| part).collect();
        parts.sort_unstable();
        parts.dedup();
        parts.into_iter().map(|part| self.values.range(part)).collect()
    }

    /// Returns the xz blocks that a column is in, and where their content is in `values`.
    fn parts(&self, column: usize) -> Vec<(usize, Range<u64>)> {
        let Some(stored) = self.layout.columns.get(column) else { return Vec::new() };
        let place = &stored.place;
        let Some(blocks) = &self.values.blocks else { return vec![(0, 0..u64::MAX)] };
        let (mut parts, mut start) = (Vec::new(), 0_u64);
        for index in 0..blocks.len() {
            let end = start.saturating_add(blocks.raw(index));
            if start < place.end && place.start < end {
                parts.push((index, start..end));
            }
            start = end;
        }
        parts
    }

    /// Decodes columns, and those that they are derived from.
    pub(super) fn decode(
        &self,
        columns: &[usize],
        archive: &FrameReader,
        decompressed: &mut DecompressedValues,
    ) -> Result<BTreeMap<usize, DecodedColumn>> {
        let no_streams = StreamSet { streams: Vec::new() };
        let context = archive.context(&no_streams);
        self.decompress(columns, archive, decompressed, &context)?;
        let mut chunks: BTreeMap<usize, Bytes> = BTreeMap::new();
        let mut sources: BTreeMap<usize, usize> = BTreeMap::new();
        let mut wanted = columns.to_vec();
        while let Some(column) = wanted.pop() {
            if chunks.contains_key(&column) {
                continue;
            }
            self.decompress(&[column], archive, decompressed, &context)?;
            let chunk = self.chunk(column, decompressed)?;
            if let Some(source) = self.layout.source(column, &chunk)? {
                sources.insert(column, source);
                wanted.push(source);
            }
            chunks.insert(column, chunk);
        }
        // A source comes before the columns that are derived from it.
        let mut decoded: BTreeMap<usize, DecodedColumn> = BTreeMap::new();
        for (&column, chunk) in &chunks {
            let source = sources.get(&column).and_then(|source| decoded.get(source));
            let column_decoded = self.layout.decode(column, chunk, source, &context)?;
            decoded.insert(column, column_decoded);
        }
        decoded.retain(|column, _| columns.contains(column));
        Ok(decoded)
    }

    /// Reads and decompresses the xz blocks of columns that are not decompressed yet.
    fn decompress(
        &self,
        columns: &[usize],
        archive: &FrameReader,
        decompressed: &mut DecompressedValues,
        context: &DecodeContext<'_>,
    ) -> Result<()> {
        let parts = columns.iter().flat_map(|&column| self.parts(column));
        let mut missing: Vec<usize> =
            parts.map(|(part, _)| part).filter(|part| !decompressed.contains_key(part)).collect();
        missing.sort_unstable();
        missing.dedup();
        let ranges: Vec<Range<u64>> = missing.iter().map(|&part| self.values.range(part)).collect();
        for range in &ranges {
            let len = range.end.saturating_sub(range.start);
            source::check(archive.source(), range.start, len, "values")?;
        }
        let read = archive.source().read_ranges(&ranges);
        let read = read.map_err(|cause| Error::from(cause).at(self.values.offset))?;
        let work = |(part, bytes): &(usize, Bytes)| match &self.values.blocks {
            Some(blocks) => Ok(blocks.decompress(*part, bytes, context.limits)?.into()),
            None => {
                let (backend, offset) = (self.values.backend, self.values.offset);
                let name = "values".to_owned();
                let stream = CompressedStream { name, backend, offset, bytes: bytes.clone() };
                stream.decompress(context.limits, context.threads, context.deviations)
            }
        };
        let jobs: Vec<(usize, Bytes)> = missing.into_iter().zip(read).collect();
        let done = hypostyle_core::parallel::map(&jobs, context.threads, work);
        let done: Vec<Bytes> = done.map_err(|err| err.in_stream("values"))?;
        decompressed.extend(jobs.into_iter().map(|(part, _)| part).zip(done));
        let asked = decompressed.values().map(|bytes| bytes.len() as u64).sum();
        let (what, limit) = ("size of the columns", context.limits.read_bytes);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(())
    }

    /// Returns the chunk of a column from the parts that it is in.
    fn chunk(&self, column: usize, decompressed: &DecompressedValues) -> Result<Bytes> {
        let truncated = || {
            let err = Error::malformed("chunk length", "runs past the end of `values`");
            err.in_stream("values").in_column(column, "")
        };
        let place = self.layout.columns.get(column).map(|stored| stored.place.clone());
        let place = place.unwrap_or_default();
        let offset = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let mut pieces: Vec<Bytes> = Vec::new();
        for (part, range) in self.parts(column) {
            let bytes = decompressed.get(&part).cloned().unwrap_or_default();
            let from = offset(place.start.saturating_sub(range.start));
            let to = offset(place.end.min(range.end).saturating_sub(range.start));
            if from > to || to > bytes.len() {
                return Err(truncated());
            }
            pieces.push(bytes.slice(from..to));
        }
        let len: usize = pieces.iter().map(Bytes::len).sum();
        if len as u64 != place.end.saturating_sub(place.start) {
            return Err(truncated());
        }
        match <[Bytes; 1]>::try_from(pieces) {
            Ok([only]) => Ok(only),
            Err(pieces) => Ok(pieces.concat().into()),
        }
    }

    /// Returns the bits of the quoted cells of a column in which only some are quoted.
    ///
    /// All columns have `cells` cells.
    pub(super) fn quote_bits(&self, column: usize, cells: usize) -> Option<&[u8]> {
        let is_mixed = |column: &usize| {
            self.layout.columns.get(*column).is_some_and(|stored| stored.quotes > 1)
        };
        let len = cells.div_ceil(8);
        let start = (0..column).filter(is_mixed).count().checked_mul(len)?;
        self.quote_bits.get(start..start.checked_add(len)?)
    }
}

impl Values {
    /// Returns the byte range of an xz block, or of the whole stream if it has none.
    fn range(&self, part: usize) -> Range<u64> {
        match &self.blocks {
            Some(blocks) => {
                let Range { start, end } = blocks.range(part);
                self.offset.saturating_add(start)..self.offset.saturating_add(end)
            }
            None => self.offset..self.offset.saturating_add(self.len),
        }
    }
}
