//! Columns that are decoded in windows, as a scan moves on.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use hashbrown::HashMap;

use super::block_format::BlockFormat;
use super::block_stream::BlockStreams;
use super::column_file::{ColumnFile, MIN_PARALLEL_BYTES};
use super::column_stream::ColumnStream;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::reader::{RowGroupReader, RowGroupRequest};
use hypostyle_core::row_selection::RowSelection;

/// A block that decompresses to fewer bytes is decoded whole: the state of a decompressor
/// takes as much memory.
const MIN_STREAMED_BYTES: u64 = 64 << 10;

/// The bounds of the longest read of a block.
const MAX_PIECE_BYTES: Range<u64> = (64 << 10)..(1 << 20);

/// The memory for a window, at least: smaller windows take longer, and save little.
const MIN_WINDOW_BYTES: u64 = 256 << 10;

/// The decompressed bytes that threads decode together, at least, before one waits for the
/// other; batches are slices of them.
const MIN_STRIDE_BYTES: u64 = 8 << 20;

/// A [`RowGroupReader`] that decompresses each column up to the current window.
///
/// It reads blocks piece by piece. A column that is not read is not decompressed either,
/// and one that is read again later is decompressed from where it stopped. Damage behind
/// the last row that was read goes unnoticed.
pub(super) struct StreamedRowGroup<F: BlockFormat> {
    file: Arc<ColumnFile<F>>,
    blocks: BlockStreams,
    threads: usize,
    /// The decompressed bytes of a row of all requested columns, on average.
    row_bytes: u64,
    /// The memory for a window.
    window_bytes: u64,
    /// Blocks of fewer decompressed bytes are decoded whole.
    min_streamed: u64,
    /// The rows to decode together, in which the window lies.
    stride: Range<u64>,
    window: Range<u64>,
    /// The row after which the caller stops.
    end: u64,
    columns: HashMap<usize, StreamedColumn>,
}

/// A column that has been read before.
struct StreamedColumn {
    decoder: ColumnDecoder,
    /// The decoded rows.
    stride: Range<u64>,
    array: Option<ArrayRef>,
}

impl StreamedColumn {
    /// Returns whether a stride is decoded, and verified if it is the last one.
    fn is_decoded(&self, stride: &Range<u64>) -> bool {
        let is_verified = match &self.decoder {
            ColumnDecoder::Stream { is_last_stride, is_finished, .. } => {
                *is_finished || !is_last_stride
            }
            ColumnDecoder::Whole(_) | ColumnDecoder::Absent => true,
        };
        self.array.is_some() && self.stride == *stride && is_verified
    }
}

enum ColumnDecoder {
    /// The column is so small that it was decoded whole.
    Whole(ArrayRef),
    /// All rows are null, and take no bytes.
    Absent,
    Stream {
        stream: Box<dyn ColumnStream>,
        /// Whether the decoded rows end with the block.
        is_last_stride: bool,
        /// Whether the end of the block was verified.
        is_finished: bool,
    },
}

impl<F: BlockFormat> StreamedRowGroup<F> {
    pub(super) fn new(file: Arc<ColumnFile<F>>, request: &RowGroupRequest<'_>) -> Self {
        let columns = request.columns.len().max(1) as u64;
        let raw = request.columns.iter().map(|&column| file.raw_bytes(column));
        let raw = raw.fold(0_u64, u64::saturating_add);
        // A quarter of the memory each for compressed pieces and for decompressed windows;
        // the rest is for decompressors and for arrays that wait for the caller.
        let max_piece =
            (request.memory / 4 / columns).clamp(MAX_PIECE_BYTES.start, MAX_PIECE_BYTES.end);
        Self {
            blocks: BlockStreams { source: file.source.clone(), max_piece },
            threads: request.threads,
            row_bytes: raw.div_ceil(file.layout.rows.max(1)).max(1),
            window_bytes: (request.memory / 4).max(MIN_WINDOW_BYTES),
            min_streamed: MIN_STREAMED_BYTES.min(request.memory),
            stride: 0..0,
            window: 0..0,
            end: request.end.unwrap_or(u64::MAX).min(file.layout.rows),
            columns: HashMap::new(),
            file,
        }
    }

    /// Starts to decode a column.
    fn open(&self, column: usize) -> Result<ColumnDecoder> {
        let entry = self.file.entry(column)?;
        let block = &entry.as_ref().block;
        let rows = self.file.layout.rows;
        self.file.in_column(column, || {
            if block.stored == 0 {
                let checked = F::check_absent(entry, rows, &self.file.context());
                checked.map_err(|err| err.at(entry.as_ref().entry_offset))?;
                return Ok(ColumnDecoder::Absent);
            }
            if block.raw < self.min_streamed {
                let rows = usize::try_from(rows).unwrap_or(usize::MAX);
                return Ok(ColumnDecoder::Whole(self.file.decode_entry(entry, rows)?));
            }
            let stream = F::stream(&self.blocks, entry, rows, &self.file.context())
                .map_err(|err| err.at(block.offset))?;
            Ok(ColumnDecoder::Stream { stream, is_last_stride: false, is_finished: false })
        })
    }

    /// Decodes the stride of a column, unless that is done.
    fn decode(&self, column: usize, state: &mut StreamedColumn) -> Result<()> {
        let Range { start, end } = self.stride;
        let rows = usize::try_from(end - start).unwrap_or(usize::MAX);
        let entry = self.file.entry(column)?;
        match &mut state.decoder {
            ColumnDecoder::Whole(array) => {
                let start = usize::try_from(start).unwrap_or(usize::MAX).min(array.len());
                state.array = Some(array.slice(start, rows.min(array.len() - start)));
                state.stride = self.stride.clone();
            }
            ColumnDecoder::Absent => {
                state.array = Some(self.file.null_array(column, rows)?);
                state.stride = self.stride.clone();
            }
            ColumnDecoder::Stream { stream, is_last_stride, is_finished } => {
                let (cx, block) = (self.file.context(), &entry.as_ref().block);
                self.file.in_column(column, || {
                    if state.array.is_none() || state.stride != self.stride {
                        state.array = None;
                        let array = stream.seek(start).and_then(|()| stream.read(rows, &cx));
                        state.array = Some(array.map_err(|err| err.at(block.offset))?);
                        state.stride = self.stride.clone();
                    }
                    *is_last_stride = end == self.file.layout.rows;
                    if *is_last_stride && !*is_finished {
                        let extra = stream.finish(&cx).map_err(|err| err.at(block.offset))?;
                        self.file.report_after_stream(block, extra)?;
                        *is_finished = true;
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Decodes the stride of columns that are not decoded, on several threads if it pays.
    fn decode_all(&mut self, columns: &[usize]) -> Result<()> {
        // A window of a stride that is decoded costs nothing.
        let is_decoded = |column: &usize| {
            self.columns.get(column).is_some_and(|state| state.is_decoded(&self.stride))
        };
        let mut wanted: Vec<usize> =
            columns.iter().copied().filter(|column| !is_decoded(column)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut states = Vec::with_capacity(wanted.len());
        for column in wanted {
            let state = match self.columns.remove(&column) {
                Some(state) => state,
                None => {
                    let decoder = match self.open(column) {
                        Ok(decoder) => decoder,
                        Err(err) => {
                            self.columns.extend(states);
                            return Err(err);
                        }
                    };
                    StreamedColumn { decoder, stride: 0..0, array: None }
                }
            };
            states.push((column, state));
        }
        let bytes = self.row_bytes.saturating_mul(self.stride.end - self.stride.start);
        let threads = if bytes < MIN_PARALLEL_BYTES { 1 } else { self.threads };
        let (mut jobs, mut outcome) = (states.into_iter(), Ok(()));
        let mut done = Vec::new();
        // A state must survive an error of its own column and of others.
        parallel::stream(
            threads.min(jobs.len()),
            || Ok(jobs.next()),
            |(column, mut state)| {
                let result = self.decode(column, &mut state);
                Ok((column, state, result))
            },
            |(column, state, result)| {
                done.push((column, state));
                if outcome.is_ok() {
                    outcome = result;
                }
                Ok(())
            },
        )?;
        self.columns.extend(done);
        outcome
    }
}

impl<F: BlockFormat> RowGroupReader for StreamedRowGroup<F> {
    fn skip(&mut self, rows: u64) -> Result<u64> {
        let skipped = rows.min(self.file.layout.rows.saturating_sub(self.window.end));
        let start = self.window.end.saturating_add(skipped);
        self.window = start..start;
        Ok(skipped)
    }

    fn next_window(&mut self, max_rows: usize) -> Result<usize> {
        let fits = |bytes: u64| (bytes / self.row_bytes).max(1);
        let most = fits(self.window_bytes).min(max_rows.max(1) as u64);
        let start = self.window.end;
        if !self.stride.contains(&start) || self.stride.start == start {
            let together = if self.threads > 1 { fits(MIN_STRIDE_BYTES) } else { 0 };
            let rows = together.min(fits(self.window_bytes)).max(most);
            // Windows beyond the end are asked for only by a caller that changes its mind.
            let end = if start < self.end { self.end } else { self.file.layout.rows };
            self.stride = start..end.min(start.saturating_add(rows));
        }
        self.window = start..self.stride.end.min(start.saturating_add(most));
        Ok(usize::try_from(self.window.end - start).unwrap_or(usize::MAX))
    }

    fn read(&mut self, columns: &[usize], rows: Option<&RowSelection>) -> Result<Vec<ArrayRef>> {
        self.decode_all(columns)?;
        let slice = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let (start, len) = (
            slice(self.window.start.saturating_sub(self.stride.start)),
            slice(self.window.end.saturating_sub(self.window.start)),
        );
        let arrays = columns.iter().filter_map(|column| self.columns.get(column)?.array.as_ref());
        arrays
            .map(|array| {
                let start = start.min(array.len());
                let window = array.slice(start, len.min(array.len() - start));
                match rows {
                    Some(rows) => rows.of_array(&window),
                    None => Ok(window),
                }
            })
            .collect()
    }
}
