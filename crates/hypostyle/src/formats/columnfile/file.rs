//! Reading: some columns of a file, and no byte of the others.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::MutableBuffer;
use arrow_schema::SchemaRef;

use super::{Content, Context, Dialect, Layout, Plot, schema};
use crate::formats::batch;
use hypostyle_core::compress::zlib::{self, Care};
use hypostyle_core::deviation::Deviation;
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format::{Reader, Section};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::limits::Limits;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::source::{self, ByteSource};

/// An open file of one of the three formats.
#[derive(Debug)]
pub(in crate::formats) struct File<D> {
    source: Arc<dyn ByteSource>,
    options: ReadOptions,
    layout: Layout,
    schema: SchemaRef,
    deviations: Deviations,
    dialect: PhantomData<D>,
}

impl<D: Dialect> File<D> {
    /// A file whose layout has been checked.
    pub(in crate::formats) fn new(
        source: Arc<dyn ByteSource>,
        options: &ReadOptions,
        layout: Layout,
        deviations: Deviations,
    ) -> Self {
        let (schema, options) = (schema::<D>(&layout), options.clone());
        Self { source, options, layout, schema, deviations, dialect: PhantomData }
    }

    fn plot(&self, column: usize) -> Result<&Plot> {
        self.layout.plots.get(column).ok_or_else(|| {
            let count = self.layout.plots.len();
            Error::invalid_argument(format!("there is no column {column}, only {count}"))
        })
    }

    fn decode(&self, column: usize, rows: usize) -> Result<ArrayRef> {
        let plot = self.plot(column)?;
        self.decode_plot(plot, rows).map_err(|err| err.in_column(column, &plot.name))
    }

    fn decode_plot(&self, plot: &Plot, rows: usize) -> Result<ArrayRef> {
        let cx = Context {
            deviations: &self.deviations,
            text: self.options.text,
            codes: &D::CODES,
            limits: &self.options.limits,
        };
        if plot.stored == 0 {
            return D::decode_absent(plot, rows, &cx).map_err(|err| err.at(plot.entry));
        }
        let content = self.expand(plot, rows).map_err(|err| err.at(plot.offset))?;
        D::decode(content, plot, rows, &cx).map_err(|err| err.at(plot.offset))
    }

    fn care(&self) -> Care {
        match self.options.strict || self.options.thorough {
            true => Care::Thorough,
            false => Care::Quick,
        }
    }

    fn expand(&self, plot: &Plot, rows: usize) -> Result<Content> {
        let raw = zlib::claim(plot.stored, plot.raw, &self.options.limits)?;
        let block = source::range(self.source.as_ref(), plot.offset, plot.stored, "block")?;
        let headroom = D::headroom(plot, rows);
        let mut buffer = MutableBuffer::from_len_zeroed(headroom.saturating_add(raw));
        let room = buffer.as_slice_mut().get_mut(headroom..).unwrap_or_default();
        let used = zlib::decompress(&block, room, self.care())? as u64;
        if used < plot.stored {
            let extra = plot.stored - used;
            let message = format!("{extra} bytes after the zlib stream of a block");
            self.deviations.report(
                D::CODES.after_stream,
                plot.offset.saturating_add(used),
                message,
            )?;
        }
        Ok(Content { buffer, headroom })
    }

    /// Checks what reading these columns would cost before any of it is spent.
    ///
    /// Columns may share a block, so a small file can ask for a great deal. So
    /// can columns that are stored as no bytes at all: what they cost together
    /// is bounded by the size of the file, as nothing else in it backs them.
    fn check_cost(&self, columns: &[usize]) -> Result<u64> {
        let (mut asked, mut unbacked) = (0_u64, 0_u64);
        for &column in columns {
            let plot = self.plot(column)?;
            if plot.stored > 0 {
                // A size that cannot be is no matter of limits.
                zlib::claim(plot.stored, plot.raw, &self.options.limits)
                    .map_err(|err| err.at(plot.offset).in_column(column, &plot.name))?;
                // A block may be longer than what comes out of it.
                asked = asked.saturating_add(plot.raw.max(plot.stored));
            } else if D::NULLS {
                let width = plot.kind.width().unwrap_or(4);
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

    fn read_columns(&self, chunk: usize, columns: &[usize]) -> Result<RecordBatch> {
        if chunk != 0 {
            return Err(Error::invalid_argument(format!("there is no chunk {chunk}, only one")));
        }
        let cost = self.check_cost(columns)?;
        let rows = usize::try_from(self.layout.rows).map_err(|_| {
            let (what, asked) = ("row count", self.layout.rows);
            Error::new(ErrorKind::LimitExceeded { what, asked, limit: usize::MAX as u64 })
        })?;
        batch::read(&self.schema, columns, rows, cost, &self.options, |column| {
            self.decode(column, rows)
        })
    }
}

impl<D: Dialect> Reader for File<D> {
    fn format(&self) -> FormatId {
        D::ID
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.layout.rows
    }

    fn chunks(&self) -> usize {
        1
    }

    fn read(&self, chunk: usize, columns: &[usize]) -> Result<RecordBatch> {
        self.read_columns(chunk, columns).map_err(|err| err.in_format(D::ID))
    }

    fn sections(&self) -> Vec<Section> {
        let Layout { header_end, table_start, table_end, plots, .. } = &self.layout;
        let part = |what, offset: u64, end: u64| Section {
            what,
            column: None,
            offset,
            stored: end.saturating_sub(offset),
            raw: None,
        };
        let mut parts =
            vec![part("header", 0, *header_end), part("column table", *table_start, *table_end)];
        parts.extend(plots.iter().enumerate().map(|(column, plot)| Section {
            what: "block",
            column: Some(column),
            offset: plot.offset,
            stored: plot.stored,
            raw: Some(plot.raw),
        }));
        parts.sort_by_key(|part| part.offset);
        // Whatever no part covers is shown too, so that the map adds up.
        let (mut gaps, mut end) = (Vec::new(), 0);
        for section in &parts {
            if section.offset > end {
                gaps.push(part("unused", end, section.offset));
            }
            end = end.max(section.offset.saturating_add(section.stored));
        }
        if self.source.size() > end {
            gaps.push(part("unused", end, self.source.size()));
        }
        parts.extend(gaps);
        parts.sort_by_key(|part| part.offset);
        parts
    }

    fn deviations(&self) -> Vec<Deviation> {
        self.deviations.list()
    }
}
