//! An open file, whose columns are decoded whole.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use arrow_buffer::MutableBuffer;
use arrow_schema::SchemaRef;

use super::block_format::BlockFormat;
use super::decode_context::DecodeContext;
use super::layout::{BlockLocation, ColumnEntry, ColumnFileLayout};
use hypostyle_core::compress::zlib::{self, Care};
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::parallel;
use hypostyle_core::reader::RowGroupRequest;
use hypostyle_core::source::{self, ByteSource};

/// Reads of fewer bytes take longer on several threads than on one.
pub(super) const MIN_PARALLEL_BYTES: u64 = 256 << 10;

/// Bytes that a thread decompresses at a time, at least: a file may have thousands of tiny columns.
const MIN_JOB_BYTES: u64 = 64 << 10;

/// An open file of one of the three formats.
#[derive(Debug)]
pub(super) struct ColumnFile<F: BlockFormat> {
    pub(super) source: Arc<dyn ByteSource>,
    options: ReadOptions,
    pub(super) layout: ColumnFileLayout<F::Entry>,
    pub(super) schema: SchemaRef,
    pub(super) deviations: Deviations,
    format: PhantomData<F>,
}

impl<F: BlockFormat> ColumnFile<F> {
    pub(super) fn open(source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Self> {
        let deviations = Deviations::new(options.strict);
        let layout = F::parse_layout(source.as_ref(), options, &deviations)?;
        let (schema, options) = (layout.schema(F::CAPABILITIES.nulls), options.clone());
        Ok(Self { source, options, layout, schema, deviations, format: PhantomData })
    }

    pub(super) fn entry(&self, column: usize) -> Result<&F::Entry> {
        self.layout.columns.get(column).ok_or_else(|| {
            let count = self.layout.columns.len();
            let why = format!("column {column} is out of range: the file has {count} columns");
            Error::invalid_argument(why)
        })
    }

    /// Names the column in the error of `work`.
    pub(super) fn in_column<T>(
        &self,
        column: usize,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        work().map_err(|err| match self.layout.columns.get(column) {
            Some(entry) => err.in_column(column, &entry.as_ref().name),
            None => err,
        })
    }

    pub(super) fn context(&self) -> DecodeContext<'_> {
        DecodeContext {
            deviations: &self.deviations,
            text: self.options.text,
            codes: &F::CODES,
            limits: &self.options.limits,
        }
    }

    /// Decodes whole columns on several threads.
    pub(super) fn decode_whole(
        &self,
        columns: &[usize],
        rows: usize,
        threads: usize,
    ) -> Result<Vec<ArrayRef>> {
        let jobs = self.jobs(columns);
        let decode = |&job: &&[usize]| {
            job.iter().map(|&column| self.decode(column, rows)).collect::<Result<Vec<_>>>()
        };
        Ok(parallel::map(&jobs, threads, decode)?.into_iter().flatten().collect())
    }

    fn decode(&self, column: usize, rows: usize) -> Result<ArrayRef> {
        let entry = self.entry(column)?;
        self.in_column(column, || {
            if entry.as_ref().block.stored == 0 {
                return F::check_absent(entry, rows as u64, &self.context())
                    .and_then(|()| self.null_array(column, rows))
                    .map_err(|err| err.at(entry.as_ref().entry_offset));
            }
            self.decode_entry(entry, rows)
        })
    }

    /// Decodes a block as a whole.
    pub(super) fn decode_entry(&self, entry: &F::Entry, rows: usize) -> Result<ArrayRef> {
        let block = &entry.as_ref().block;
        self.decompress(block, F::headroom(entry, rows))
            .and_then(|content| F::decode(content, entry, rows, &self.context()))
            .map_err(|err| err.at(block.offset))
    }

    /// Returns an array of nulls of the type of a column.
    pub(super) fn null_array(&self, column: usize, rows: usize) -> Result<ArrayRef> {
        let ColumnEntry { column_type, block, .. } = self.entry(column)?.as_ref();
        Ok(new_null_array(&column_type.data_type_for(block.raw), rows))
    }

    /// Returns the decompressed size of a column.
    pub(super) fn raw_bytes(&self, column: usize) -> u64 {
        let entry = self.layout.columns.get(column).map(AsRef::as_ref);
        entry.map_or(0, |entry: &ColumnEntry| match entry.block.stored {
            0 => entry.column_type.width().unwrap_or(4).saturating_mul(self.layout.rows),
            _ => entry.block.raw,
        })
    }

    /// Returns whether the columns of a request are decoded in windows.
    ///
    /// Whole blocks decompress faster, but they must fit in memory, and a scan that stops
    /// early needs little of them.
    pub(super) fn is_streamed(&self, request: &RowGroupRequest<'_>) -> bool {
        let rows = self.layout.rows;
        // Rows that the scan does not need, but that whole blocks would decode.
        let unread = request.end.map_or(0, |end| rows.saturating_sub(end));
        unread > rows / 8 || self.memory_of(request.columns) > request.memory
    }

    /// Returns the memory that whole columns take, with their blocks unless those are in
    /// memory anyway.
    pub(super) fn memory_of(&self, columns: &[usize]) -> u64 {
        let is_resident = self.source.is_resident();
        let entries = columns.iter().filter_map(|&column| Some((column, self.entry(column).ok()?)));
        let bytes = entries.map(|(column, entry)| {
            let ColumnEntry { column_type, block, .. } = entry.as_ref();
            // Arrow has an offset for each text.
            let offsets = if column_type.width().is_some() { 0 } else { self.layout.rows };
            let stored = if is_resident { 0 } else { block.stored };
            self.raw_bytes(column).saturating_add(offsets.saturating_mul(4)).saturating_add(stored)
        });
        bytes.fold(0, u64::saturating_add)
    }

    fn care(&self) -> Care {
        if self.options.strict || self.options.thorough { Care::Thorough } else { Care::Quick }
    }

    /// Reads a block and decompresses it to after `headroom` bytes of zeros.
    fn decompress(&self, block: &BlockLocation, headroom: usize) -> Result<MutableBuffer> {
        let raw = zlib::claim(block.stored, block.raw, &self.options.limits)?;
        let stored = source::range(self.source.as_ref(), block.offset, block.stored, "block")?;
        let mut buffer = MutableBuffer::from_len_zeroed(headroom.saturating_add(raw));
        let content = buffer.as_slice_mut().get_mut(headroom..).unwrap_or_default();
        let used = zlib::decompress(&stored, content, self.care())? as u64;
        self.report_after_stream(block, block.stored.saturating_sub(used))?;
        Ok(buffer)
    }

    /// Reports bytes of a block after its zlib stream.
    pub(super) fn report_after_stream(&self, block: &BlockLocation, extra: u64) -> Result<()> {
        if extra == 0 {
            return Ok(());
        }
        let message = format!("{extra} bytes after the zlib stream of a block");
        let offset = block.end().saturating_sub(extra);
        self.deviations.report(F::CODES.after_stream, offset, message)
    }

    /// Cuts columns into jobs for threads, each long enough to be worth handing over.
    fn jobs<'c>(&self, columns: &'c [usize]) -> Vec<&'c [usize]> {
        let (mut jobs, mut rest) = (Vec::new(), columns);
        while !rest.is_empty() {
            let (mut count, mut bytes) = (0, 0_u64);
            while bytes < MIN_JOB_BYTES
                && let Some(&column) = rest.get(count)
            {
                bytes = bytes.saturating_add(self.raw_bytes(column));
                count += 1;
            }
            let (job, after) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            jobs.push(job);
            rest = after;
        }
        jobs
    }

    /// Returns the memory that a read of these columns takes, or fails if it is over a limit.
    ///
    /// Columns may share a block, so a small file can ask for a lot of memory. So can columns
    /// that are stored as zero bytes: no bytes back them, so the size of the file bounds
    /// their total.
    pub(super) fn check_cost(&self, columns: &[usize]) -> Result<u64> {
        let (mut asked, mut unbacked) = (0_u64, 0_u64);
        for &column in columns {
            let entry = self.entry(column)?.as_ref();
            let BlockLocation { offset, stored, raw } = entry.block;
            if stored > 0 {
                // An impossible size is a fault of the file, not a matter of limits.
                zlib::claim(stored, raw, &self.options.limits)
                    .map_err(|err| err.at(offset).in_column(column, &entry.name))?;
                // A block may be larger than its content.
                asked = asked.saturating_add(raw.max(stored));
            } else if F::CAPABILITIES.nulls {
                let width = entry.column_type.width().unwrap_or(4);
                unbacked = unbacked.saturating_add(width.saturating_mul(self.layout.rows));
            }
        }
        let limit = self.source.size().saturating_mul(Limits::DEFLATE_RATIO);
        if unbacked > limit {
            let what = "size of the columns that are stored as no bytes";
            return Err(ErrorKind::LimitExceeded { what, asked: unbacked, limit }.into());
        }
        let (what, limit) = ("size of the columns", self.options.limits.read_bytes);
        let asked = asked.saturating_add(unbacked);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(asked)
    }
}
