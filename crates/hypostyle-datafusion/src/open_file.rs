//! Opens files of an object store as tables.

use std::any::Any;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::{DataFusionError, HashMap, Result};
use datafusion::execution::cache::cache_manager::{
    CachedFileMetadataEntry, FileMetadata, FileMetadataCache,
};
use hypostyle::formats::Reader;
use hypostyle::{
    ByteSource, Compression, FileKind, FileSource, MissingRanges, OpenOptions, RangeCache, Table,
};
use object_store::{ObjectMeta, ObjectStore};

use crate::copied::copy_to_file;
use crate::fetch::{Fetched, Moment, RangeFetcher};
use crate::file_error::FileError;
use crate::options::TableOptions;
use crate::store_source::StoreSource;

/// The cost of a request to a local store, in bytes that could be read in the same time.
const LOCAL_READ_COST: u64 = 64 << 10;

/// Round trips in which a file is opened. One that needs more is opened by a thread that blocks:
/// each round trip repeats the work of those before.
const MAX_ROUND_TRIPS: usize = 8;

/// What an open file counts in a cache of metadata, besides the bytes that it holds: parsed
/// metadata, and for a decompressed file its descriptor, of which there are few.
const MIN_CACHED_BYTES: usize = 16 << 10;
const DECOMPRESSED_BYTES: usize = 1 << 20;

/// An open file: what its metadata say, and the way to its bytes.
pub(crate) struct OpenFile {
    pub(crate) meta: ObjectMeta,
    pub(crate) reader: Arc<dyn Reader>,
    /// The schema of the file; columns of the same name are renamed, since SQL needs names.
    pub(crate) schema: SchemaRef,
    pub(crate) cache: Arc<RangeCache>,
    access: Access,
    store: Arc<dyn ObjectStore>,
    options: TableOptions,
    /// What was fetched to open the file, until a scan reports it.
    opened: [AtomicUsize; 2],
    /// Plans that scan the file.
    pub(crate) users: AtomicUsize,
}

/// How a scan gets the bytes of a file.
enum Access {
    /// The scan says which ranges it misses, and they are fetched without blocking a thread.
    Fetch(RangeFetcher),
    /// The scan reads and blocks; the number is of bytes that were read and not yet reported.
    Block(Arc<AtomicUsize>),
    /// The file was decompressed or copied to a temporary file.
    Local,
}

impl OpenFile {
    /// Opens a file, or returns the one that a cache has.
    pub(crate) async fn open_cached(
        store: &Arc<dyn ObjectStore>,
        meta: &ObjectMeta,
        kind: FileKind,
        options: &TableOptions,
        cache: Option<&Arc<FileMetadataCache>>,
    ) -> Result<Arc<Self>> {
        let key = &meta.location;
        if let Some(entry) = cache.and_then(|cache| cache.get(key))
            && entry.is_valid_for(meta)
            && entry.meta.e_tag == meta.e_tag
            && let Some(cached) = entry.file_metadata.as_any().downcast_ref::<CachedFile>()
            && Arc::ptr_eq(&cached.0.store, store)
            && cached.0.options == *options
        {
            return Ok(cached.0.clone());
        }
        let file = Arc::new(Self::open(store, meta, kind, options).await?);
        if let Some(cache) = cache {
            let entry = Arc::new(CachedFile(file.clone()));
            cache.put(key, CachedFileMetadataEntry::new(meta.clone(), entry));
        }
        Ok(file)
    }

    async fn open(
        store: &Arc<dyn ObjectStore>,
        meta: &ObjectMeta,
        kind: FileKind,
        options: &TableOptions,
    ) -> Result<Self> {
        let name = meta.location.filename().unwrap_or_default();
        let compression = Compression::of_name(name);
        let mut open = options.open.clone();
        let plain_name = compression.map_or(name, |(_, rest)| rest);
        open.name = Some(plain_name.to_owned());
        let extension = plain_name.rsplit_once('.').map(|(_, extension)| extension);
        // The content of a text with the extension of its kind shows its delimiter.
        let is_named = extension.and_then(FileKind::by_extension) == Some(kind);
        open.format = (!kind.is_text() || !is_named).then(|| kind.id());
        let file = Opening { store, meta, options, open };
        if let Some((compression, _)) = compression {
            return file.decompressed(compression).await;
        }
        if !kind.is_text()
            && let Some(opened) = file.fetched().await?
        {
            return Ok(opened);
        }
        if kind.is_text() && !file.is_local() {
            return file.downloaded().await;
        }
        file.blocking().await
    }

    /// Returns the table, with a state of its own for the columns that partitions share.
    pub(crate) fn table(&self) -> Table {
        Table::new(self.reader.clone(), self.cache.clone())
    }

    /// Drops what scans have fetched and left.
    pub(crate) fn release(&self) {
        let columns: Vec<usize> = (0..self.schema.fields().len()).collect();
        for group in 0..self.reader.row_groups() {
            self.cache.release(&self.reader.ranges(group, &columns));
        }
    }

    /// Returns whether scans of the file block on reads.
    pub(crate) fn is_blocking(&self) -> bool {
        !matches!(self.access, Access::Fetch(_))
    }

    /// Returns the time, for a scan to tell later since when it misses ranges.
    pub(crate) fn now(&self) -> Option<Moment> {
        match &self.access {
            Access::Fetch(fetcher) => Some(fetcher.now()),
            Access::Block(_) | Access::Local => None,
        }
    }

    /// Fetches ranges that a scan misses since a moment.
    pub(crate) async fn fetch(
        &self,
        ranges: &[Range<u64>],
        since: Option<Moment>,
    ) -> Result<Fetched> {
        match &self.access {
            Access::Fetch(fetcher) => {
                let since = since.unwrap_or(fetcher.now());
                Ok(fetcher.fetch(ranges, since).await.map_err(|err| self.error(err))?)
            }
            Access::Block(_) | Access::Local => {
                Err(self.error("a source that blocks cannot miss bytes"))
            }
        }
    }

    /// Returns what was read since the last call, for reads that blocked or opened the file.
    pub(crate) fn take_unreported(&self) -> Fetched {
        let [bytes, requests] =
            self.opened.each_ref().map(|count| count.swap(0, Ordering::Relaxed));
        let blocked = match &self.access {
            Access::Block(unreported) => unreported.swap(0, Ordering::Relaxed),
            Access::Fetch(_) | Access::Local => 0,
        };
        Fetched { bytes: bytes.saturating_add(blocked), requests }
    }

    /// Adds the name of the file to an error.
    pub(crate) fn error(
        &self,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> DataFusionError {
        FileError::new(&self.meta.location, cause).into()
    }
}

/// A file that is being opened.
struct Opening<'a> {
    store: &'a Arc<dyn ObjectStore>,
    meta: &'a ObjectMeta,
    options: &'a TableOptions,
    open: OpenOptions,
}

impl Opening<'_> {
    /// Opens the file in a few round trips; `None` if it takes more.
    async fn fetched(&self) -> Result<Option<OpenFile>> {
        let default = if self.is_local() { Some(LOCAL_READ_COST) } else { None };
        let mut cache = RangeCache::of_size(self.meta.size);
        if let Some(cost) = self.options.read_cost.or(default) {
            cache = cache.with_read_cost(cost);
        }
        let cache = Arc::new(cache);
        let location = self.meta.location.clone();
        let fetcher = RangeFetcher::new(self.store.clone(), location, cache.clone());
        let mut total = Fetched::default();
        for _ in 0..MAX_ROUND_TRIPS {
            let (cache, open) = (cache.clone(), self.open.clone());
            let opened = blocking(move || read_metadata(&cache, &open)).await?;
            match opened {
                Ok(reader) => {
                    let file = self.opened(reader, fetcher.cache().clone(), Access::Fetch(fetcher));
                    file.opened[0].store(total.bytes, Ordering::Relaxed);
                    file.opened[1].store(total.requests, Ordering::Relaxed);
                    return Ok(Some(file));
                }
                Err(err) => match MissingRanges::of(&err) {
                    Some(missing) => {
                        let fetched = fetcher.fetch(&missing.0, fetcher.now()).await;
                        let fetched = fetched.map_err(|err| self.error(err))?;
                        total.bytes = total.bytes.saturating_add(fetched.bytes);
                        total.requests = total.requests.saturating_add(fetched.requests);
                    }
                    None => return Err(self.error(err)),
                },
            }
        }
        Ok(None)
    }

    /// Opens the file with reads that block a thread of their own.
    async fn blocking(&self) -> Result<OpenFile> {
        let source = StoreSource::new(self.store.clone(), self.meta, self.is_local());
        let access = Access::Block(source.unreported());
        let cache = Arc::new(RangeCache::over(Arc::new(source)));
        let reader = self.metadata(&cache).await?;
        Ok(self.opened(reader, cache, access))
    }

    /// Decompresses the file to a temporary one, and opens that.
    async fn decompressed(&self, compression: Compression) -> Result<OpenFile> {
        let source = StoreSource::new(self.store.clone(), self.meta, self.is_local());
        let limit = self.open.read.limits.output_bytes;
        let input = source.sequential();
        let file =
            blocking(move || FileSource::try_new(compression.to_file(input, limit)?)).await?;
        self.temporary(file.map_err(|err| self.error(err))?).await
    }

    /// Copies the file to a temporary one, and opens that. The types of a text are found by
    /// reading all of it, and its rows are read after that.
    async fn downloaded(&self) -> Result<OpenFile> {
        let source = StoreSource::new(self.store.clone(), self.meta, false);
        let input = source.sequential();
        let file = blocking(move || copy_to_file(input)).await?;
        self.temporary(file.map_err(|err| self.error(err))?).await
    }

    async fn temporary(&self, file: FileSource) -> Result<OpenFile> {
        let file: Arc<dyn ByteSource> = Arc::new(file);
        let cache = Arc::new(RangeCache::over(file));
        let reader = self.metadata(&cache).await?;
        let opened = self.opened(reader, cache, Access::Local);
        let bytes = usize::try_from(self.meta.size).unwrap_or(usize::MAX);
        opened.opened[0].store(bytes, Ordering::Relaxed);
        Ok(opened)
    }

    async fn metadata(&self, cache: &Arc<RangeCache>) -> Result<Arc<dyn Reader>> {
        let (cache, open) = (cache.clone(), self.open.clone());
        let reader = blocking(move || read_metadata(&cache, &open)).await?;
        reader.map_err(|err| self.error(err))
    }

    fn opened(&self, reader: Arc<dyn Reader>, cache: Arc<RangeCache>, access: Access) -> OpenFile {
        let schema = reader.dictionary_schema(self.options.dictionaries());
        OpenFile {
            meta: self.meta.clone(),
            schema: with_distinct_names(&schema),
            reader,
            cache,
            access,
            store: self.store.clone(),
            options: self.options.clone(),
            opened: Default::default(),
            users: AtomicUsize::new(0),
        }
    }

    fn is_local(&self) -> bool {
        self.store.to_string().starts_with("LocalFileSystem")
    }

    fn error(&self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DataFusionError {
        FileError::new(&self.meta.location, cause).into()
    }
}

/// Opens a file and reads its metadata; of text, reads all of it.
fn read_metadata(
    cache: &Arc<RangeCache>,
    options: &OpenOptions,
) -> hypostyle::Result<Arc<dyn Reader>> {
    hypostyle::open_cache(cache.clone(), options)?.reader()
}

/// Runs work on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let task = datafusion::common::runtime::SpawnedTask::spawn_blocking(work);
    task.join_unwind().await.map_err(|err| DataFusionError::ExecutionJoin(Box::new(err)))
}

/// Renames columns that have the name of one before: `a`, `a` become `a`, `a_2`.
fn with_distinct_names(schema: &SchemaRef) -> SchemaRef {
    let taken: HashSet<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    if taken.len() == schema.fields().len() {
        return schema.clone();
    }
    let mut used: HashSet<String> = HashSet::new();
    let fields = schema.fields().iter().map(|field| {
        let mut name = field.name().clone();
        let mut number = 2_u64;
        while used.contains(&name) || (name != *field.name() && taken.contains(name.as_str())) {
            name = format!("{}_{number}", field.name());
            number = number.saturating_add(1);
        }
        used.insert(name.clone());
        Field::clone(field).with_name(name)
    });
    let fields: Vec<Field> = fields.collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenFile").field("location", &self.meta.location).finish_non_exhaustive()
    }
}

/// An open file in the engine's cache of metadata.
struct CachedFile(Arc<OpenFile>);

impl FileMetadata for CachedFile {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn memory_size(&self) -> usize {
        let held = usize::try_from(self.0.cache.held_bytes()).unwrap_or(usize::MAX);
        let own = match self.0.access {
            Access::Local => DECOMPRESSED_BYTES,
            Access::Fetch(_) | Access::Block(_) => MIN_CACHED_BYTES,
        };
        held.saturating_add(own)
    }

    fn extra_info(&self) -> HashMap<String, String> {
        let groups = self.0.reader.row_groups().to_string();
        HashMap::from([("row_groups".to_owned(), groups)])
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::DataType;

    use super::*;

    #[test]
    fn columns_of_one_name_get_names_of_their_own() {
        let fields = ["a", "b", "a", "a_2", "a"].map(|name| Field::new(name, DataType::Utf8, true));
        let schema = with_distinct_names(&Arc::new(Schema::new(fields.to_vec())));
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["a", "b", "a_3", "a_2", "a_4"]);
    }
}
