//! An object store that counts what is read from it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use datafusion::prelude::SessionContext;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use url::Url;

/// A store in memory that notes every range that is read.
#[derive(Debug, Default)]
pub(crate) struct CountingStore {
    inner: InMemory,
    ranges: Mutex<Vec<(Path, Range<u64>)>>,
}

impl CountingStore {
    /// Returns a store that a session knows as `count://`.
    pub(crate) fn register(ctx: &SessionContext) -> Arc<Self> {
        let store = Arc::new(Self::default());
        ctx.register_object_store(&Url::parse("count://files").unwrap(), store.clone());
        store
    }

    pub(crate) async fn add(&self, name: &str, content: Vec<u8>) {
        self.inner.put(&Path::from(name), content.into()).await.unwrap();
    }

    pub(crate) async fn content(&self, name: &str) -> Vec<u8> {
        self.inner.get(&Path::from(name)).await.unwrap().bytes().await.unwrap().to_vec()
    }

    /// Returns the bytes and the number of requests since the last call.
    pub(crate) fn take(&self) -> (u64, usize) {
        let ranges = std::mem::take(&mut *self.ranges.lock().unwrap());
        (ranges.iter().map(|(_, range)| range.end - range.start).sum(), ranges.len())
    }
}

impl fmt::Display for CountingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CountingStore")
    }
}

#[async_trait]
impl ObjectStore for CountingStore {
    async fn put_opts(
        &self,
        at: &Path,
        content: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        self.inner.put_opts(at, content, opts).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(at, opts).await
    }

    async fn get_opts(&self, at: &Path, opts: GetOptions) -> Result<GetResult> {
        let is_head = opts.head;
        let range = opts.range.clone();
        let found = self.inner.get_opts(at, opts).await?;
        if !is_head {
            let size = found.meta.size;
            let range = match range {
                Some(GetRange::Bounded(range)) => range,
                Some(GetRange::Offset(start)) => start..size,
                Some(GetRange::Suffix(length)) => size - length..size,
                None => 0..size,
            };
            self.ranges.lock().unwrap().push((at.clone(), range));
        }
        Ok(found)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
