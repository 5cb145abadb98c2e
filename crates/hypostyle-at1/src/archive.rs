//! The door to an archive: open it, look at it, unpack it.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::codecs::bundle::{BundleFile, Entry};
use super::codecs::{self, Codec, DecodeContext, DelimitedCells, Projection};
use super::container::{Container, Extent, Method};
use super::output::Output;
use super::streams::{Packed, PackedSet};
use hypostyle_core::deviation::Deviation;
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::limits::Limits;
use hypostyle_core::options::{ReadOptions, resolve_threads};
use hypostyle_core::source::{self, ByteSource};

/// An open AT-1 archive.
#[derive(Debug)]
pub struct Archive {
    source: Arc<dyn ByteSource>,
    options: ReadOptions,
    container: Container,
    deviations: Deviations,
    share: Option<Share>,
}

/// An entry's part of what a bundle may unpack to.
#[derive(Clone, Debug)]
struct Share {
    /// Bytes that each entry of the bundle has unpacked to.
    spent: Arc<[AtomicU64]>,
    index: usize,
}

impl Share {
    /// What is left for this entry, after the others.
    fn left(&self, limit: u64) -> u64 {
        let others = self.spent.iter().enumerate().filter(|(index, _)| *index != self.index);
        others.fold(limit, |left, (_, spent)| left.saturating_sub(spent.load(Ordering::Relaxed)))
    }

    /// Notes what this entry unpacked to; once more is not more.
    fn spend(&self, bytes: u64) {
        if let Some(spent) = self.spent.get(self.index) {
            spent.fetch_max(bytes, Ordering::Relaxed);
        }
    }
}

/// What came of unpacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// Bytes of the original.
    pub bytes: u64,
    /// Whether the archive carried a hash, which then agreed.
    pub hash_agreed: bool,
}

/// An archive inside a bundle.
#[derive(Debug)]
pub struct BundleEntry {
    /// The name of the file, and what else is known of it.
    pub file: BundleFile,
    /// The archive, which is not a bundle itself.
    pub archive: Archive,
}

/// A frame of an archive: a whole-file archive has one.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Where its content starts in the file.
    pub offset: u64,
    /// Bytes of its content.
    pub stored: u64,
    /// Whether it is stored raw, without a codec.
    pub raw: bool,
    /// Its streams, in file order; a raw frame has one without a name.
    pub streams: Vec<StreamInfo>,
}

/// A stream of a frame.
#[derive(Clone, Debug)]
pub struct StreamInfo {
    /// The name.
    pub name: String,
    /// How it is compressed: `xz`, `zstd` or `stored`.
    pub backend: &'static str,
    /// Where its bytes start in the file.
    pub offset: u64,
    /// Its bytes in the file.
    pub stored: u64,
    /// Its bytes once expanded, as it states them.
    pub raw: Option<u64>,
}

impl Archive {
    /// Checks the container; nothing is expanded.
    pub fn open(source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Self> {
        let container = Container::parse(source.as_ref()).map_err(located)?;
        let deviations = Deviations::new(options.strict);
        Ok(Self { source, options: options.clone(), container, deviations, share: None })
    }

    /// The codec.
    pub fn codec(&self) -> Codec {
        self.container.codec
    }

    /// Lines in a chunk, if the archive is a streaming one.
    pub fn chunk_lines(&self) -> Option<u64> {
        self.container.chunk_lines
    }

    /// The SHA-256 of the original, if the archive carries it.
    pub fn hash(&self) -> Option<[u8; 32]> {
        self.container.hash
    }

    /// Where the archive departs from what every decoder reads, as far as it was read.
    pub fn deviations(&self) -> Vec<Deviation> {
        self.deviations.list()
    }

    /// The frames and their streams.
    pub fn frames(&self) -> Result<Vec<Frame>> {
        let mut frames = Vec::new();
        self.for_each_frame(|extent, body| {
            let streams = match extent.method {
                Method::Raw => vec![self.raw(extent, body)?],
                Method::Structured => {
                    PackedSet::parse(body, extent.offset, &self.deviations)?.streams
                }
            };
            let info = |packed: &Packed| StreamInfo {
                name: packed.name.clone(),
                backend: packed.backend.name(),
                offset: packed.offset,
                stored: packed.bytes.len() as u64,
                raw: packed.raw_size(),
            };
            frames.push(Frame {
                offset: extent.offset,
                stored: extent.len,
                raw: extent.method == Method::Raw,
                streams: streams.iter().map(info).collect(),
            });
            Ok(())
        })?;
        Ok(frames)
    }

    /// Writes the original bytes to `out`, and compares the hash at the end.
    ///
    /// Bytes are handed on as they are made: an error may come after many of
    /// them, and then none of them may be believed.
    ///
    /// # Errors
    ///
    /// Besides damage: a bundle, which is not one file but many.
    pub fn unpack(&self, out: &mut dyn Write) -> Result<Unpacked> {
        self.unpack_rows(out, self.container.hash, false)
    }

    /// Unpacks the file, or the same with every structured row at full width, in
    /// which case there is no hash to compare with.
    pub(super) fn unpack_rows(
        &self,
        out: &mut dyn Write,
        hash: Option<[u8; 32]>,
        pad: bool,
    ) -> Result<Unpacked> {
        let mut limits = self.options.limits.clone();
        if let Some(share) = &self.share {
            limits.output_bytes = share.left(limits.output_bytes);
        }
        let mut output = Output::new(out, hash.is_some(), &limits);
        self.for_each_frame(|extent, body| self.put_frame(extent, body, pad, &mut output))?;
        let bytes = output.finish(hash.as_ref()).map_err(located)?;
        if let Some(share) = &self.share {
            share.spend(bytes);
        }
        Ok(Unpacked { bytes, hash_agreed: hash.is_some() })
    }

    /// The archives in a bundle, opened with the same options.
    ///
    /// Each has a hash of its own. They share one limit on what they unpack to.
    ///
    /// # Errors
    ///
    /// Besides damage: an archive that is no bundle, a name that could lead out
    /// of the folder it is unpacked to, and a bundle in the bundle.
    pub fn bundle(&self) -> Result<Vec<BundleEntry>> {
        if self.codec() != Codec::Bundle {
            let why = format!("the archive is not a bundle, but {}", self.codec());
            return Err(located(Error::invalid_argument(why)));
        }
        let mut entries = Vec::new();
        self.for_each_structured(|context| {
            entries = codecs::bundle::entries(context)?;
            Ok(ControlFlow::Break(()))
        })?;
        let spent: Arc<[AtomicU64]> = entries.iter().map(|_| AtomicU64::new(0)).collect();
        let open = |(index, entry): (usize, Entry)| {
            let Entry { file, stream, bytes } = entry;
            let archive = Self::open(Arc::new(bytes), &self.options);
            let mut archive = archive.map_err(|err| err.in_stream(&stream))?;
            archive.share = Some(Share { spent: spent.clone(), index });
            if archive.codec() == Codec::Bundle {
                let err = Error::malformed("entry", "is a bundle in a bundle");
                return Err(located(err.at(0).in_stream(&stream)));
            }
            Ok(BundleEntry { file, archive })
        };
        entries.into_iter().enumerate().map(open).collect()
    }

    /// Calls `each` with every structured frame, as a context for its codec, until
    /// it says that it has seen enough.
    pub(super) fn for_each_structured(
        &self,
        mut each: impl FnMut(&DecodeContext<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut next = self.container.first(self.source()).map_err(located)?;
        while let Some(extent) = next {
            if extent.method == Method::Structured {
                let body = self.body(extent).map_err(located)?;
                let set = PackedSet::parse(&body, extent.offset, &self.deviations);
                let set = set.map_err(located)?;
                if each(&self.context(&set)).map_err(located)?.is_break() {
                    break;
                }
            }
            next = self.container.after(self.source(), extent).map_err(located)?;
        }
        Ok(())
    }

    /// A frame that is stored without a codec.
    fn raw(&self, extent: Extent, body: &Bytes) -> Result<Packed> {
        let legacy_code = if self.container.chunk_lines.is_some() { "A3" } else { "A2" };
        Packed::raw(body, extent.offset, legacy_code, &self.deviations)
    }

    /// Where the bytes of the archive come from.
    pub(super) fn source(&self) -> &dyn ByteSource {
        self.source.as_ref()
    }

    /// Where the frames, or the one stream set, start and end.
    pub(super) fn body_range(&self) -> (u64, u64) {
        (self.container.start, self.container.end)
    }

    /// Where the frames are.
    pub(super) fn extents(&self) -> Result<Vec<Extent>> {
        match self.extents_so_far() {
            (_, Some(err)) => Err(err),
            (extents, None) => Ok(extents),
        }
    }

    /// Where the frames are, and what keeps the next one from being found.
    pub(super) fn extents_so_far(&self) -> (Vec<Extent>, Option<Error>) {
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

    /// The text of a frame that is stored without a codec.
    pub(super) fn raw_text(&self, extent: Extent) -> Result<Bytes> {
        self.expand_raw(extent, &self.body(extent)?)
    }

    /// The same, of its bytes.
    pub(super) fn expand_raw(&self, extent: Extent, body: &Bytes) -> Result<Bytes> {
        let threads = resolve_threads(self.options.threads);
        self.raw(extent, body)?.expand(&self.options.limits, threads, &self.deviations)
    }

    /// What the archive may ask for.
    pub(super) fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// Where departures are noted.
    pub(super) fn noted(&self) -> &Deviations {
        &self.deviations
    }

    /// Writes the text of one frame.
    pub(super) fn frame_text(&self, extent: Extent, out: &mut dyn Write) -> Result<()> {
        let mut output = Output::new(out, false, &self.options.limits);
        self.put_frame(extent, &self.body(extent)?, false, &mut output)?;
        output.finish(None).map(|_| ())
    }

    fn put_frame(
        &self,
        extent: Extent,
        body: &Bytes,
        pad: bool,
        output: &mut Output<'_>,
    ) -> Result<()> {
        match extent.method {
            Method::Raw => output.put(&self.expand_raw(extent, body)?),
            Method::Structured => {
                let set = PackedSet::parse(body, extent.offset, &self.deviations)?;
                let context = DecodeContext { pad, ..self.context(&set) };
                codecs::decode(self.container.codec, &context, output)
            }
        }
    }

    /// The bytes of a frame.
    fn body(&self, extent: Extent) -> Result<Bytes> {
        let (what, asked, limit) = ("frame", extent.len, self.options.limits.read_bytes);
        if asked > limit {
            let kind = ErrorKind::LimitExceeded { what, asked, limit };
            return Err(Error::new(kind).at(extent.offset));
        }
        source::range(self.source(), extent.offset, extent.len, "frame")
    }

    pub(super) fn context<'a>(&'a self, set: &'a PackedSet) -> DecodeContext<'a> {
        DecodeContext {
            set,
            limits: &self.options.limits,
            threads: resolve_threads(self.options.threads),
            deviations: &self.deviations,
            pad: false,
        }
    }

    /// How the first frame cuts lines into cells.
    pub(super) fn cells(&self) -> Result<DelimitedCells> {
        let mut found = DelimitedCells { delimiter: b",".to_vec(), columns: 0, header: None };
        self.for_each_structured(|context| {
            found = codecs::cells(self.container.codec, context)?;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// The columns of a table that hold these names, if they can be had by themselves.
    pub(super) fn projection(&self, names: &[String]) -> Result<Option<Projection>> {
        let mut found = None;
        if self.codec() == Codec::Columnar && self.container.chunk_lines.is_none() {
            self.for_each_structured(|context| {
                found = codecs::project::find(context, names)?;
                Ok(ControlFlow::Break(()))
            })?;
        }
        Ok(found)
    }

    /// Writes the text of a table with some of its columns only.
    pub(super) fn unpack_columns(&self, out: &mut dyn Write, only: &Projection) -> Result<()> {
        let mut output = Output::new(out, false, &self.options.limits);
        self.for_each_structured(|context| {
            codecs::project::decode(only, context, &mut output)?;
            Ok(ControlFlow::Break(()))
        })?;
        output.finish(None).map(|_| ()).map_err(located)
    }

    /// Notes row groups whose columns have no names.
    pub(super) fn check_paths(&self) -> Result<()> {
        self.for_each_structured(|context| {
            codecs::check_paths(self.codec(), context)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Whether the first structured frame holds the lines of a log.
    pub(super) fn is_log(&self) -> Result<bool> {
        let mut found = false;
        self.for_each_structured(|context| {
            found = codecs::is_log(self.codec(), context);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Whether the first structured frame, of columnar, holds variant calls.
    pub(super) fn is_calls(&self) -> Result<bool> {
        let mut found = false;
        self.for_each_structured(|context| {
            found = codecs::is_calls(context)?;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Writes the lines of a log as objects: template, time, line and variables.
    pub(super) fn log_rows(&self, out: &mut dyn Write) -> Result<()> {
        let mut output = Output::new(out, false, &self.options.limits);
        self.for_each_frame(|extent, body| match extent.method {
            Method::Raw => {
                let packed = self.raw(extent, body)?;
                let text = packed.expand(&self.options.limits, 1, &self.deviations)?;
                codecs::log_lines(&text, &mut output)
            }
            Method::Structured => {
                let set = PackedSet::parse(body, extent.offset, &self.deviations)?;
                codecs::log_rows(self.codec(), &self.context(&set), &mut output)
            }
        })?;
        output.finish(None).map(|_| ()).map_err(located)
    }

    /// Calls `each` with every frame and its bytes, one at a time.
    pub(super) fn for_each_frame(
        &self,
        mut each: impl FnMut(Extent, &Bytes) -> Result<()>,
    ) -> Result<()> {
        let mut next = self.container.first(self.source()).map_err(located)?;
        while let Some(extent) = next {
            let body = self.body(extent).map_err(located)?;
            each(extent, &body).map_err(located)?;
            next = self.container.after(self.source(), extent).map_err(located)?;
        }
        Ok(())
    }
}

pub(super) fn located(err: Error) -> Error {
    err.in_format(FormatId::At1)
}
