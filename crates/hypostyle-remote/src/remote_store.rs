//! A store whose files are read by ranges, and must not change meanwhile.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};
use url::{Position, Url};

use crate::connection::ExactUrls;
use crate::ends::Ends;
use crate::environment::{NewStore, RETRY_TIME, ServerKind};
use crate::problem::{Problem, worded};

/// Bytes at each end of a file that are fetched when it is opened. Archives and column files of
/// up to 8 MiB have all of their metadata there.
const END_BYTES: u64 = 128 << 10;

/// Bytes of a request. A longer range is read by several at the same time.
const PART_BYTES: u64 = 16 << 20;

/// Requests for the parts of one range that run at the same time.
const CONCURRENT_PARTS: usize = 4;

/// How often a range is requested again whose bytes did not arrive. Requests without a response
/// are repeated below.
const BODY_RETRIES: usize = 3;

/// The time before the first repetition; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The time of a file whose server states none.
const UNKNOWN_TIME: i64 = 0;

/// An HTTP server, or a bucket of an object store.
///
/// What it finds out about files it keeps until [`Stores::forget`](crate::Stores::forget), and a
/// file that is another one since then cannot be read.
#[derive(Debug)]
pub struct RemoteStore {
    kind: ServerKind,
    inner: Box<dyn ObjectStore>,
    exact_urls: Arc<ExactUrls>,
    retries: usize,
    found: Arc<Mutex<Found>>,
}

/// What is known of the files of a store.
#[derive(Debug, Default)]
struct Found {
    files: HashMap<Path, KnownFile>,
    /// The files below a prefix.
    lists: HashMap<Option<Path>, Vec<ObjectMeta>>,
    /// Files that are not there.
    missing: HashSet<Path>,
}

/// A file, and the bytes of it that were read when it was found.
#[derive(Clone, Debug)]
struct KnownFile {
    meta: ObjectMeta,
    ends: Arc<Ends>,
}

/// A range of a file.
struct Part {
    meta: ObjectMeta,
    range: Range<u64>,
    bytes: Bytes,
}

impl RemoteStore {
    pub(crate) fn new(kind: ServerKind, made: NewStore, retries: usize) -> Self {
        let NewStore { store, exact_urls } = made;
        Self { kind, inner: store, exact_urls, retries, found: Arc::default() }
    }

    /// Returns whether the store can list files.
    pub fn can_list(&self) -> bool {
        self.kind != ServerKind::Http
    }

    /// Notes the URL of a location: a store knows paths only. Fails with a reason.
    pub(crate) fn note_url(&self, location: &Path, url: &Url) -> Result<(), &'static str> {
        let exact = &url[Position::BeforePath..Position::AfterQuery];
        if self.kind != ServerKind::Http {
            let is_path = url.query().is_none() && url.fragment().is_none();
            return is_path.then_some(()).ok_or("has `?` or `#`: write %3F or %23");
        }
        let mut built = url.clone();
        built.set_path("");
        match built.path_segments_mut() {
            Ok(mut segments) => drop(segments.extend(location.parts())),
            Err(()) => return Err("names no file"),
        }
        match self.exact_urls.insert(built.path(), exact) {
            true => Ok(()),
            false => Err("another URL with the same path was read before"),
        }
    }

    pub(crate) fn forget(&self) {
        *self.lock() = Found::default();
        self.exact_urls.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, location: &Path) -> Option<KnownFile> {
        self.lock().files.get(location).cloned()
    }

    /// Returns whether a file exists.
    pub(crate) async fn exists(&self, location: &Path) -> Result<bool> {
        match self.inner.head(location).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(err) => Err(worded(err)),
        }
    }

    /// Opens a file: finds its size and its version, and reads both of its ends.
    pub(crate) async fn open(&self, location: &Path) -> Result<ObjectMeta> {
        if let Some(known) = self.known(location) {
            return Ok(known.meta);
        }
        let head = self.part(location, GetRange::Bounded(0..END_BYTES), None);
        let tail = async {
            match self.kind.has_suffix_ranges() {
                // A server that does not know such ranges is asked again when the size is known.
                true => self.part(location, GetRange::Suffix(END_BYTES), None).await.ok(),
                false => None,
            }
        };
        let (head, tail) = futures::join!(head, tail);
        let known = match head {
            Ok(head) => {
                let mut ends = Ends { head: head.bytes, ..Ends::default() };
                if let Some(tail) = tail {
                    check_version(&head.meta, &tail.meta)?;
                    (ends.tail_start, ends.tail) = (tail.range.start, tail.bytes);
                }
                KnownFile { meta: head.meta, ends: Arc::new(ends) }
            }
            // An empty file has no ranges.
            Err(err) if matches!(Problem::of(&err), Some(Problem::BeyondEnd(_))) => {
                let meta = self.inner.head(location).await.map_err(worded)?;
                if meta.size > 0 {
                    return Err(err);
                }
                KnownFile { meta, ends: Arc::default() }
            }
            Err(err) => {
                if matches!(err, object_store::Error::NotFound { .. }) {
                    self.lock().missing.insert(location.clone());
                }
                return Err(err);
            }
        };
        let mut known = known;
        if known.meta.last_modified.timestamp() == UNKNOWN_TIME {
            // Caches of the engine must not take it for the file that was there before.
            known.meta.last_modified = SystemTime::now().into();
        }
        let meta = known.meta.clone();
        self.lock().files.insert(location.clone(), known);
        Ok(meta)
    }

    /// Reads a range of a file.
    pub(crate) async fn read(&self, location: &Path, range: Range<u64>) -> Result<Bytes> {
        let known = self.known(location);
        let ends = known.as_ref().map(|known| known.ends.clone()).unwrap_or_default();
        let missing = ends.missing(&range);
        if missing.is_empty() {
            return Ok(ends.assemble(&range, Bytes::new()));
        }
        let version = known.as_ref().map(|known| &known.meta);
        let mut parts = Vec::new();
        let mut start = missing.start;
        while start < missing.end {
            let left = missing.end.saturating_sub(start);
            // The last part is not a small one.
            let len = if left < PART_BYTES.saturating_mul(2) { left } else { PART_BYTES };
            parts.push(start..start.saturating_add(len));
            start = start.saturating_add(len);
        }
        let parts: Vec<Part> = futures::stream::iter(parts)
            .map(|part| self.part(location, GetRange::Bounded(part), version))
            .buffered(CONCURRENT_PARTS)
            .try_collect()
            .await?;
        if let (None, Some(part)) = (&known, parts.first()) {
            let (meta, ends) = (part.meta.clone(), Arc::default());
            self.lock().files.insert(location.clone(), KnownFile { meta, ends });
        }
        let len = missing.end.saturating_sub(missing.start);
        let got: u64 = parts.iter().map(|part| part.bytes.len() as u64).sum();
        if got != len {
            return Err(Problem::ShortBody(len.saturating_sub(got)).into());
        }
        let middle = match <[Part; 1]>::try_from(parts) {
            Ok([only]) => only.bytes,
            Err(parts) => {
                let mut all = BytesMut::new();
                parts.iter().for_each(|part| all.extend_from_slice(&part.bytes));
                all.freeze()
            }
        };
        Ok(ends.assemble(&range, middle))
    }

    /// Requests a range until its bytes have arrived, of the version that is known.
    async fn part(
        &self,
        location: &Path,
        range: GetRange,
        version: Option<&ObjectMeta>,
    ) -> Result<Part> {
        let started = Instant::now();
        let (mut retries, mut pause) = (BODY_RETRIES.min(self.retries), FIRST_PAUSE);
        loop {
            let mut options = GetOptions::new().with_range(Some(range.clone()));
            options.if_match = version.and_then(strong_tag);
            let got = self.inner.get_opts(location, options).await.map_err(worded)?;
            if let Some(version) = version {
                check_version(version, &got.meta)?;
            }
            let (meta, range) = (got.meta.clone(), got.range.clone());
            let err = match got.bytes().await {
                Ok(bytes) if bytes.len() as u64 == range.end.saturating_sub(range.start) => {
                    return Ok(Part { meta, range, bytes });
                }
                Ok(bytes) => {
                    let len = range.end.saturating_sub(range.start);
                    Problem::ShortBody(len.saturating_sub(bytes.len() as u64)).into()
                }
                Err(err) => err,
            };
            if retries == 0 || started.elapsed() > RETRY_TIME {
                return Err(worded(err));
            }
            retries = retries.saturating_sub(1);
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
    }

    fn check_writable(&self) -> Result<()> {
        if self.kind == ServerKind::Http { Err(Problem::CannotWrite.into()) } else { Ok(()) }
    }

    /// Forgets a file that is written, and all lists.
    fn changed(&self, location: &Path) {
        let mut found = self.lock();
        found.files.remove(location);
        found.lists.clear();
    }
}

/// Returns the tag of a version, by which a server can refuse to send another one.
///
/// A weak tag never matches.
fn strong_tag(version: &ObjectMeta) -> Option<String> {
    version.e_tag.clone().filter(|tag| tag.starts_with('"'))
}

/// Returns a tag without its quotes, and whether it is weak or not: proxies change both.
fn bare_tag(tag: &str) -> &str {
    tag.trim_start_matches("W/").trim_matches('"')
}

/// Fails if a file is not the version that was found.
fn check_version(version: &ObjectMeta, now: &ObjectMeta) -> Result<()> {
    let is_same = match (&version.e_tag, &now.e_tag) {
        (Some(before), Some(now)) => bare_tag(before) == bare_tag(now),
        _ if now.last_modified.timestamp() == UNKNOWN_TIME => true,
        // Lists have parts of a second, and headers do not.
        _ => version.last_modified.timestamp() == now.last_modified.timestamp(),
    };
    if is_same && version.size == now.size { Ok(()) } else { Err(Problem::Changed.into()) }
}

impl fmt::Display for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteStore({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for RemoteStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let of_bytes = |meta: ObjectMeta, range: Range<u64>, bytes: Bytes| {
            let stream = futures::stream::once(async { Ok(bytes) }).boxed();
            let (payload, attributes) = (GetResultPayload::Stream(stream), Default::default());
            GetResult { payload, meta, range, attributes }
        };
        let has_conditions = options.if_match.is_some()
            || options.if_none_match.is_some()
            || options.if_modified_since.is_some()
            || options.if_unmodified_since.is_some()
            || options.version.is_some();
        if options.head && !has_conditions {
            let meta = self.open(location).await?;
            return Ok(of_bytes(meta, 0..0, Bytes::new()));
        }
        if let (Some(range), false) = (&options.range, has_conditions) {
            let meta = self.open(location).await?;
            let range = match range {
                GetRange::Bounded(range) => range.start..range.end.min(meta.size),
                GetRange::Offset(start) => *start..meta.size,
                GetRange::Suffix(len) => meta.size.saturating_sub(*len)..meta.size,
            };
            if range.start >= range.end {
                return Err(Problem::BeyondEnd(Some(meta.size)).into());
            }
            let bytes = self.read(location, range.clone()).await?;
            return Ok(of_bytes(meta, range, bytes));
        }
        let mut got = self.inner.get_opts(location, options).await.map_err(worded)?;
        if let Some(known) = self.known(location) {
            check_version(&known.meta, &got.meta)?;
        }
        if let GetResultPayload::Stream(stream) = got.payload {
            got.payload = GetResultPayload::Stream(stream.map_err(worded).boxed());
        }
        Ok(got)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let prefix = prefix.cloned();
        if !self.can_list() {
            // The engine looks for a folder where it finds no file.
            if prefix.as_ref().is_some_and(|prefix| self.lock().missing.contains(prefix)) {
                return futures::stream::empty().boxed();
            }
            return futures::stream::once(async { Err(Problem::CannotList.into()) }).boxed();
        }
        if let Some(files) = self.lock().lists.get(&prefix) {
            return futures::stream::iter(files.clone()).map(Ok).boxed();
        }
        let (found, files) = (self.found.clone(), self.inner.list(prefix.as_ref()));
        let listed = async move {
            let files: Vec<ObjectMeta> = files.map_err(worded).try_collect().await?;
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            for meta in &files {
                let (meta, ends) = (meta.clone(), Arc::default());
                let key = meta.location.clone();
                found.files.entry(key).or_insert(KnownFile { meta, ends });
            }
            found.lists.insert(prefix, files.clone());
            Ok::<_, object_store::Error>(futures::stream::iter(files).map(Ok))
        };
        futures::stream::once(listed).try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        if !self.can_list() {
            return Err(Problem::CannotList.into());
        }
        self.inner.list_with_delimiter(prefix).await.map_err(worded)
    }

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.check_writable()?;
        let put = self.inner.put_opts(location, payload, options).await.map_err(worded);
        self.changed(location);
        put
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.check_writable()?;
        self.changed(location);
        let upload = self.inner.put_multipart_opts(location, options).await.map_err(worded)?;
        Ok(Box::new(Upload(upload)))
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        if let Err(err) = self.check_writable() {
            return futures::stream::once(async { Err(err) }).boxed();
        }
        *self.lock() = Found::default();
        self.inner.delete_stream(locations).map_err(worded).boxed()
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.check_writable()?;
        self.changed(to);
        self.inner.copy_opts(from, to, options).await.map_err(worded)
    }
}

/// An upload whose errors are worded.
#[derive(Debug)]
struct Upload(Box<dyn MultipartUpload>);

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> object_store::UploadPart {
        let part = self.0.put_part(data);
        Box::pin(async move { part.await.map_err(worded) })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.0.complete().await.map_err(worded)
    }

    async fn abort(&mut self) -> Result<()> {
        self.0.abort().await.map_err(worded)
    }
}
