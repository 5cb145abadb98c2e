//! A frame of codec columnar, without its columns.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::object_columns::value_names;
use crate::codecs::columnar::column::DecodedColumn;
use crate::codecs::columnar::group_directory::{ColumnPieces, GROUPS, GroupDirectory};
use crate::codecs::columnar::sections::{RowGroups, unfit};
use crate::codecs::columnar::table::widths;
use crate::codecs::columnar::values::{
    COLUMN_STREAMS, ColumnLayout, FIELD_COUNTS, HEADER, ROW_MODES, StoredColumn, VERBATIM,
};
use crate::container::Extent;
use crate::fields::{self, Dialect};
use crate::frames::FrameReader;
use crate::group_statistics::TableStatistics;
use crate::row_groups::source::StreamDirectory;
use crate::streams::{Backend, CompressedStream, StreamCursor, StreamSet};
use hypostyle_core::compress::xz::RemoteBlocks;
use hypostyle_core::error::{ColumnRef, Error, ErrorKind, Result};
use hypostyle_core::source;

/// Row groups for each byte of an archive beyond which their number is wrong.
///
/// Neither the directory nor its statistics have a byte for each row group, so that their
/// number alone must not be allocated for.
const MAX_GROUPS_PER_BYTE: u64 = 64;

/// Everything of a frame but `values`.
#[derive(Debug)]
pub(super) struct ColumnarFrame {
    pub(super) layout: ColumnLayout,
    pub(super) verbatim: Bytes,
    quote_bits: Bytes,
    /// The row groups; `None` if the frame is one row group.
    pub(super) directory: Option<GroupDirectory>,
    pub(super) statistics: TableStatistics,
    values: Values,
    /// For each column, the number of its first field and the names of its fields.
    names: Vec<ColumnRef>,
}

/// What says which lines of a frame are rows.
pub(super) struct FrameLines {
    pub(super) layout: ColumnLayout,
    /// The header, if the frame has one.
    pub(super) header: Bytes,
    /// The number of threads to decode with.
    pub(super) threads: usize,
}

impl FrameLines {
    /// Returns the names of the fields of a frame, as far as templates or a header have them.
    pub(super) fn names(&self, frame: &ColumnarFrame) -> Vec<String> {
        let directory = frame.directory.as_ref();
        if let Some(templates) = directory.and_then(|directory| directory.templates.as_ref()) {
            return value_names(templates, &self.layout.delimiter);
        }
        if !self.layout.has_header || self.layout.delimiter.is_empty() {
            return Vec::new();
        }
        let dialect = Dialect { delimiter: self.layout.delimiter.clone(), quotes: true };
        dialect.fields(&self.header).into_iter().map(fields::name).collect()
    }
}

/// The stream `values`, which is decompressed in blocks if it has several xz blocks.
#[derive(Debug)]
struct Values {
    backend: Backend,
    offset: u64,
    len: u64,
    blocks: Option<RemoteBlocks>,
    /// The offset at which the content of each block starts, and the end of the last one.
    starts: Vec<u64>,
}

/// Blocks of `values` that were decompressed, by their index.
pub(super) type DecompressedBlocks = BTreeMap<usize, Bytes>;

impl ColumnarFrame {
    /// Reads a frame; `None` if its streams cannot be found without reading all of them.
    pub(super) fn read(archive: &FrameReader, extent: Extent) -> Result<Option<Self>> {
        let source = archive.source();
        let directory = StreamDirectory::read(source, extent, false, |name| name == "values")?;
        let Some(found) = directory else { return Ok(None) };
        let context = archive.context(&found.set);
        let wanted = |name: &str| name == GROUPS || COLUMN_STREAMS.contains(&name);
        let streams = context.decompress(wanted)?;
        let groups = streams.shared(GROUPS);
        let directory = match groups.is_empty() {
            true => None,
            false => {
                let kinds = streams.bytes("coltypes");
                GroupDirectory::read(&groups, kinds, &widths(&streams, kinds.len()))?
            }
        };
        if let Some(directory) = &directory {
            let (groups, bytes) = (directory.groups.count() as u64, source.size());
            if groups / MAX_GROUPS_PER_BYTE > bytes {
                let why = format!("an archive of {bytes} bytes cannot have {groups} of them");
                return Err(unfit(why).in_stream(GROUPS));
            }
        }
        let lines = match &directory {
            None => [ROW_MODES, FIELD_COUNTS, VERBATIM].as_slice(),
            Some(directory) if directory.verbatim.is_none() => &[],
            Some(_) => &[ROW_MODES, VERBATIM],
        };
        let lines = context.decompress(|name| lines.contains(&name))?;
        let mut layout = ColumnLayout::read(&streams, &lines, directory.as_ref(), &context)?;
        // The fields of JSON objects are their values.
        for (column, stored) in layout.columns.iter_mut().enumerate() {
            if let Some(template) = directory.as_ref().and_then(|it| it.template(column)) {
                stored.width = template.values();
            }
        }
        let (backend, offset, len) = found.unread("values").unwrap_or((Backend::Stored, 0, 0));
        let blocks = match backend {
            Backend::Xz => RemoteBlocks::find(len, |range| {
                let start = offset.saturating_add(range.start);
                source::range(source, start, range.end - range.start, "values")
            })?,
            _ => None,
        };
        let mut starts = vec![0];
        for index in 0..blocks.as_ref().map_or(0, RemoteBlocks::len) {
            let raw = blocks.as_ref().map_or(0, |blocks| blocks.raw(index));
            starts.push(starts.last().copied().unwrap_or(0_u64).saturating_add(raw));
        }
        let mut frame = Self {
            layout,
            verbatim: lines.shared(VERBATIM),
            quote_bits: streams.shared("quotebits"),
            statistics: TableStatistics::default(),
            directory,
            values: Values { backend, offset, len, blocks, starts },
            names: Vec::new(),
        };
        frame.name_columns([""; 0]);
        frame.read_statistics()?;
        frame.check_pieces()?;
        Ok(Some(frame))
    }

    /// Reads what says which lines of a frame are rows, and trusts no directory; `None` if the
    /// streams cannot be found without reading all of them.
    pub(super) fn read_lines(archive: &FrameReader, extent: Extent) -> Result<Option<FrameLines>> {
        let source = archive.source();
        let directory = StreamDirectory::read(source, extent, false, |name| name == "values")?;
        let Some(found) = directory else { return Ok(None) };
        let context = archive.context(&found.set);
        let lines = [ROW_MODES, FIELD_COUNTS, HEADER];
        let wanted = |name: &str| lines.contains(&name) || COLUMN_STREAMS.contains(&name);
        let streams = context.decompress(wanted)?;
        let layout = ColumnLayout::read(&streams, &streams, None, &context)?;
        Ok(Some(FrameLines { layout, header: streams.shared(HEADER), threads: context.threads }))
    }

    /// Names the fields, for errors.
    pub(super) fn name_columns<N: Into<String>>(&mut self, names: impl IntoIterator<Item = N>) {
        let (mut names, mut index) = (names.into_iter(), 0_usize);
        let name = |column: &StoredColumn| {
            let width = column.width;
            let names: Vec<String> = names.by_ref().take(width).map(Into::into).collect();
            let column = ColumnRef { index, name: names.join(", ") };
            index = index.saturating_add(width);
            column
        };
        self.names = self.layout.columns.iter().map(name).collect();
    }

    /// Adds a column to an error.
    pub(super) fn in_column(&self, err: Error, column: usize) -> Error {
        let err = err.in_stream("values");
        match self.names.get(column) {
            Some(ColumnRef { index, name }) => err.in_column(*index, name),
            None => err.in_column(column, ""),
        }
    }

    /// Returns the first column whose chunk is in an xz block.
    pub(super) fn column_of(&self, block: usize) -> usize {
        let mut columns = 0..self.layout.columns.len();
        columns.find(|&column| self.blocks(column).contains(&block)).unwrap_or_default()
    }

    fn read_statistics(&mut self) -> Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let fields = self.layout.columns.iter().map(|column| column.width).sum();
        let mut stream = StreamCursor::new(GROUPS, &directory.statistics);
        let (bytes, count) = (&directory.statistics, directory.groups.count());
        self.statistics = TableStatistics::read(&mut stream, bytes, count, fields)?;
        match stream.is_empty() {
            true => Ok(()),
            false => Err(stream.malformed("statistics", "end before the stream does")),
        }
    }

    /// Fails unless the chunk of each cut column consists of the blocks of its pieces.
    fn check_pieces(&self) -> Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        for (column, pieces) in directory.columns.iter().enumerate() {
            let Some(cut) = pieces.cut() else { continue };
            let place = self.layout.columns.get(column).map(|stored| stored.place.clone());
            let blocks = self.blocks(column);
            let start = |block: usize| self.values.starts.get(block).copied();
            let is_whole = self.values.blocks.is_some()
                && place.is_some_and(|place| {
                    start(blocks.start) == Some(place.start) && start(blocks.end) == Some(place.end)
                });
            if !is_whole || blocks.len() != cut.blocks(directory.groups) {
                let why = format!("the chunk of column {} is not in pieces", column + 1);
                return Err(unfit(why).in_stream(GROUPS));
            }
        }
        Ok(())
    }

    /// Returns the row groups; a frame without a directory is one.
    pub(super) fn groups(&self) -> RowGroups {
        match &self.directory {
            Some(directory) => directory.groups,
            None => {
                let cells = self.layout.structured;
                RowGroups { cells, rows: cells.max(1) }
            }
        }
    }

    /// Returns the xz blocks that the chunk of a column is in.
    pub(super) fn blocks(&self, column: usize) -> Range<usize> {
        let Some(stored) = self.layout.columns.get(column) else { return 0..0 };
        if self.values.blocks.is_none() {
            return 0..1;
        }
        let Range { start, end } = stored.place;
        let starts = &self.values.starts;
        if start >= end {
            // An empty chunk needs no block.
            return 0..0;
        }
        let first = starts.partition_point(|&block| block <= start).saturating_sub(1);
        let last = starts.partition_point(|&block| block < end);
        first..last.min(starts.len().saturating_sub(1)).max(first)
    }

    /// Returns the xz blocks that have the dictionary or the map of a column.
    pub(super) fn dictionary_blocks(&self, column: usize) -> Range<usize> {
        let blocks = self.blocks(column);
        match self.pieces(column) {
            ColumnPieces::Cut(cut) => blocks.start..blocks.start + cut.head_blocks(),
            ColumnPieces::Derived { .. } => blocks,
            ColumnPieces::Whole => 0..0,
        }
    }

    /// Returns how many bytes the dictionary of a column has, if it is stored apart from the cells.
    pub(super) fn dictionary_bytes(&self, column: usize) -> Option<u64> {
        let blocks = self.dictionary_blocks(column);
        let start = |block: usize| self.values.starts.get(block).copied();
        Some(start(blocks.end)?.saturating_sub(start(blocks.start)?)).filter(|&bytes| bytes > 0)
    }

    /// Returns how the chunk of a column is cut.
    pub(super) fn pieces(&self, column: usize) -> &ColumnPieces {
        let directory = self.directory.as_ref();
        directory.and_then(|it| it.columns.get(column)).unwrap_or(&ColumnPieces::Whole)
    }

    /// Returns the byte range of a block.
    pub(super) fn range(&self, block: usize) -> Range<u64> {
        self.values.range(block)
    }

    /// Reads and decompresses blocks that are not decompressed yet.
    pub(super) fn decompress(
        &self,
        blocks: &[usize],
        archive: &FrameReader,
        threads: usize,
        decompressed: &mut DecompressedBlocks,
    ) -> Result<()> {
        let mut missing: Vec<usize> =
            blocks.iter().copied().filter(|block| !decompressed.contains_key(block)).collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        let no_streams = StreamSet { streams: Vec::new() };
        let context = archive.context(&no_streams);
        let ranges: Vec<Range<u64>> = missing.iter().map(|&block| self.range(block)).collect();
        for range in &ranges {
            let len = range.end.saturating_sub(range.start);
            source::check(archive.source(), range.start, len, "values")?;
        }
        let read = archive.source().read_ranges(&ranges);
        let read = read.map_err(|cause| Error::from(cause).at(self.values.offset))?;
        let work = |(block, bytes): &(usize, Bytes)| match &self.values.blocks {
            Some(blocks) => {
                let content = blocks.decompress(*block, bytes, context.limits);
                let content = content.map_err(|err| {
                    self.in_column(err.at(self.range(*block).start), self.column_of(*block))
                });
                content.map(Bytes::from)
            }
            None => {
                let (backend, offset) = (self.values.backend, self.values.offset);
                let name = "values".to_owned();
                let stream = CompressedStream { name, backend, offset, bytes: bytes.clone() };
                stream.decompress(context.limits, context.threads, context.deviations)
            }
        };
        let jobs: Vec<(usize, Bytes)> = missing.into_iter().zip(read).collect();
        let done = hypostyle_core::parallel::map(&jobs, threads, work);
        let done: Vec<Bytes> = done.map_err(|err| err.in_stream("values"))?;
        decompressed.extend(jobs.into_iter().map(|(block, _)| block).zip(done));
        let asked = decompressed.values().map(|bytes| bytes.len() as u64).sum();
        let (what, limit) = ("size of the columns", context.limits.read_bytes);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(())
    }

    /// Returns the chunk of a column whose blocks are decompressed.
    pub(super) fn chunk(&self, column: usize, decompressed: &DecompressedBlocks) -> Result<Bytes> {
        let truncated = || {
            let err = Error::malformed("chunk length", "runs past the end of `values`");
            self.in_column(err, column)
        };
        let place = self.layout.columns.get(column).map(|stored| stored.place.clone());
        let place = place.unwrap_or_default();
        let offset = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let mut pieces: Vec<Bytes> = Vec::new();
        for block in self.blocks(column) {
            let bytes = decompressed.get(&block).cloned().unwrap_or_default();
            let start = self.values.starts.get(block).copied().unwrap_or_default();
            let from = offset(place.start.saturating_sub(start));
            let to = offset(place.end.saturating_sub(start)).min(bytes.len());
            if from > to {
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

    /// Decodes the chunk of a column; `source` is the column that it may be derived from.
    pub(super) fn decode_whole(
        &self,
        column: usize,
        chunk: &Bytes,
        source: Option<&DecodedColumn>,
        archive: &FrameReader,
    ) -> Result<DecodedColumn> {
        let no_streams = StreamSet { streams: Vec::new() };
        self.layout.decode(column, chunk, source, &archive.context(&no_streams))
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
    fn range(&self, block: usize) -> Range<u64> {
        match &self.blocks {
            Some(blocks) => {
                let Range { start, end } = blocks.range(block);
                self.offset.saturating_add(start)..self.offset.saturating_add(end)
            }
            None => self.offset..self.offset.saturating_add(self.len),
        }
    }
}
