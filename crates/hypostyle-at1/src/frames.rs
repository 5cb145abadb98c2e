//! The frames of an open archive, one at a time.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;

use super::bundle_budget::BundleBudget;
use super::codec::Codec;
use super::codecs::context::DecodeContext;
use super::container::{Container, Extent, Method, in_at1};
use super::streams::{CompressedStream, StreamSet};
use super::table_frame::TableFrame;
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::options::{ReadOptions, resolve_threads};
use hypostyle_core::source::{self, ByteSource};

/// Finds the frames of an archive, reads their bytes and parses their stream sets.
#[derive(Debug)]
pub(super) struct FrameReader {
    source: Arc<dyn ByteSource>,
    options: ReadOptions,
    container: Container,
    deviations: Deviations,
    budget: Option<BundleBudget>,
    /// The number of threads to work with. Finding it out costs more than a small frame.
    threads: usize,
    /// The frame that holds the table of a streaming archive; it is none of the frames of
    /// the text.
    table_frame: Option<TableFrame>,
}

impl FrameReader {
    /// Parses the container; decompresses nothing.
    ///
    /// `budget` is the share of the output limit of an archive in a bundle.
    pub(super) fn open(
        source: Arc<dyn ByteSource>,
        options: &ReadOptions,
        budget: Option<BundleBudget>,
    ) -> Result<Self> {
        let mut container = Container::parse(source.as_ref()).map_err(in_at1)?;
        let table_frame = TableFrame::find(source.as_ref(), &container).map_err(in_at1)?;
        if let Some(frame) = &table_frame {
            container.end = frame.start;
        }
        let deviations = Deviations::new(options.strict);
        let options = options.clone();
        let threads = resolve_threads(options.threads);
        Ok(Self { source, options, container, deviations, budget, threads, table_frame })
    }

    /// The codec of all structured frames.
    pub(super) fn codec(&self) -> Codec {
        self.container.codec
    }

    /// The magic, the codec, the range of the frames and the hash.
    pub(super) fn container(&self) -> &Container {
        &self.container
    }

    /// The options that the archive was opened with.
    pub(super) fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// The limits that the archive was opened with.
    pub(super) fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// The share of the output limit, if the archive is in a bundle.
    pub(super) fn budget(&self) -> Option<&BundleBudget> {
        self.budget.as_ref()
    }

    /// The bytes of the archive.
    pub(super) fn source(&self) -> &dyn ByteSource {
        self.source.as_ref()
    }

    /// The bytes of the archive, for another reader of them.
    #[cfg(test)]
    pub(super) fn shared_source(&self) -> Arc<dyn ByteSource> {
        self.source.clone()
    }

    /// The frame that holds the table of a streaming archive.
    pub(super) fn table_frame(&self) -> Option<&TableFrame> {
        self.table_frame.as_ref()
    }

    /// The deviations that were met so far.
    pub(super) fn deviations(&self) -> &Deviations {
        &self.deviations
    }

    /// Returns the extents of all frames.
    pub(super) fn extents(&self) -> Result<Vec<Extent>> {
        match self.extents_until_error() {
            (_, Some(err)) => Err(err),
            (extents, None) => Ok(extents),
        }
    }

    /// Returns the extents up to the first that cannot be read, and its error.
    pub(super) fn extents_until_error(&self) -> (Vec<Extent>, Option<Error>) {
        let mut extents = Vec::new();
        let mut next = self.container.first(self.source());
        loop {
            match next {
                Ok(None) => return (extents, None),
                Err(err) => return (extents, Some(err)),
                Ok(Some(extent)) => {
                    extents.push(extent);
                    next = self.container.after(self.source(), extent);
                }
            }
        }
    }

    /// Reads the bytes of a frame, if they are within the limit.
    pub(super) fn body(&self, extent: Extent) -> Result<Bytes> {
        let (what, asked, limit) = ("frame", extent.len, self.limits().read_bytes);
        if asked > limit {
            let kind = ErrorKind::LimitExceeded { what, asked, limit };
            return Err(Error::new(kind).at(extent.offset));
        }
        source::range(self.source(), extent.offset, extent.len, "frame")
    }

    /// Parses the body of a raw frame; its one stream stays compressed.
    pub(super) fn raw_stream(&self, extent: Extent, body: &Bytes) -> Result<CompressedStream> {
        let legacy_code = if self.container.chunk_lines.is_some() { "A3" } else { "A2" };
        CompressedStream::raw(body, extent.offset, legacy_code, &self.deviations)
    }

    /// Decompresses the body of a raw frame.
    pub(super) fn raw_text(&self, extent: Extent, body: &Bytes) -> Result<Bytes> {
        let stream = self.raw_stream(extent, body)?;
        stream.decompress(self.limits(), self.threads, &self.deviations)
    }

    /// Parses the body of a structured frame; its streams stay compressed.
    pub(super) fn stream_set(&self, extent: Extent, body: &Bytes) -> Result<StreamSet> {
        StreamSet::parse(body, extent.offset, &self.deviations)
    }

    /// Returns what a decoder needs for a frame with these streams.
    pub(super) fn context<'a>(&'a self, set: &'a StreamSet) -> DecodeContext<'a> {
        DecodeContext {
            set,
            limits: self.limits(),
            threads: self.threads,
            deviations: &self.deviations,
        }
    }

    /// Calls `each` with every frame and its bytes, one at a time.
    pub(super) fn for_each(
        &self,
        mut each: impl FnMut(Extent, &Bytes) -> Result<()>,
    ) -> Result<()> {
        self.walk(|extent| {
            each(extent, &self.body(extent)?)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Calls `each` with every structured frame.
    pub(super) fn for_each_structured(
        &self,
        mut each: impl FnMut(&DecodeContext<'_>) -> Result<()>,
    ) -> Result<()> {
        self.walk_structured(|context| each(context).map(ControlFlow::Continue))
    }

    /// Calls `read` with the first structured frame; `None` if there is no such frame.
    pub(super) fn first_structured<T>(
        &self,
        mut read: impl FnMut(&DecodeContext<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.walk_structured(|context| {
            found = Some(read(context)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    fn walk_structured(
        &self,
        mut each: impl FnMut(&DecodeContext<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.walk(|extent| {
            if extent.method == Method::Raw {
                return Ok(ControlFlow::Continue(()));
            }
            let set = self.stream_set(extent, &self.body(extent)?)?;
            each(&self.context(&set))
        })
    }

    /// Calls `each` with the extent of every frame until it returns `Break`.
    fn walk(&self, mut each: impl FnMut(Extent) -> Result<ControlFlow<()>>) -> Result<()> {
        let mut next = self.container.first(self.source()).map_err(in_at1)?;
        while let Some(extent) = next {
            if each(extent).map_err(in_at1)?.is_break() {
                break;
            }
            next = self.container.after(self.source(), extent).map_err(in_at1)?;
        }
        Ok(())
    }
}
