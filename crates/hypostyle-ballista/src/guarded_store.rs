//! A store of which only some folders may be used, and whose traffic is counted.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    UploadPart,
};

use crate::traffic::Traffic;

/// A store of which only what is below some folders may be used.
#[derive(Debug)]
pub(crate) struct GuardedStore {
    inner: Arc<dyn ObjectStore>,
    folders: Folders,
    traffic: Arc<Traffic>,
}

/// The folders that may be used.
#[derive(Clone, Debug)]
pub(crate) enum Folders {
    /// Of a bucket, or of a server.
    Remote(Vec<Path>),
    /// Of this machine, with all links resolved.
    Local(Vec<PathBuf>),
}

impl GuardedStore {
    pub(crate) fn new(
        inner: Arc<dyn ObjectStore>,
        folders: Folders,
        traffic: Arc<Traffic>,
    ) -> Self {
        Self { inner, folders, traffic }
    }

    /// Fails for a location that may not be used.
    async fn check(&self, location: &Path) -> Result<()> {
        let is_allowed = match &self.folders {
            Folders::Remote(folders) => {
                folders.iter().any(|folder| location.prefix_matches(folder))
            }
            Folders::Local(folders) => {
                let (location, folders) = (location.clone(), folders.clone());
                let checked = move || {
                    let path = resolved(&location)?;
                    Ok::<_, io::Error>(folders.iter().any(|folder| path.starts_with(folder)))
                };
                let checked = tokio::task::spawn_blocking(checked).await;
                // What cannot be resolved cannot be read either.
                checked.is_ok_and(|checked| checked.unwrap_or(false))
            }
        };
        if is_allowed {
            return Ok(());
        }
        Err(Error::PermissionDenied {
            path: location.to_string(),
            source: "not below a prefix that --allow names".into(),
        })
    }
}

/// Returns where a path leads when all links are followed. Of a path that does not exist, the
/// folders that exist are resolved.
fn resolved(location: &Path) -> io::Result<PathBuf> {
    let path = LocalFileSystem::new().path_to_filesystem(location).map_err(io::Error::other)?;
    let mut existing = path.as_path();
    let mut rest = Vec::new();
    loop {
        // A dangling link exists, and would be followed by a write.
        match existing.symlink_metadata() {
            Ok(_) => break,
            Err(err) if err.kind() == io::ErrorKind::NotFound => {}
            Err(err) => return Err(err),
        }
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        rest.push(name.to_owned());
        existing = parent;
    }
    let mut path = existing.canonicalize()?;
    path.extend(rest.into_iter().rev());
    Ok(path)
}

impl fmt::Display for GuardedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for GuardedStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.check(location).await?;
        let is_head = options.head;
        let mut got = self.inner.get_opts(location, options).await?;
        if !is_head {
            log::debug!("read {location} {}-{}", got.range.start, got.range.end);
            match got.payload {
                GetResultPayload::Stream(stream) => {
                    let traffic = self.traffic.clone();
                    traffic.count_read(0);
                    let counted = stream.inspect_ok(move |bytes: &Bytes| {
                        traffic.count_bytes(bytes.len() as u64);
                    });
                    got.payload = GetResultPayload::Stream(counted.boxed());
                }
                GetResultPayload::File(..) => {
                    self.traffic.count_read(got.range.end.saturating_sub(got.range.start));
                }
            }
        }
        Ok(got)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.check(location).await?;
        let got = self.inner.get_ranges(location, ranges).await?;
        for (range, bytes) in ranges.iter().zip(&got) {
            log::debug!("read {location} {}-{}", range.start, range.end);
            self.traffic.count_read(bytes.len() as u64);
        }
        Ok(got)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        // Tasks are given the files that they read.
        let path = prefix.map(Path::to_string).unwrap_or_default();
        futures::stream::once(async move { Err(not_for_tasks("list", path)) }).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        Err(not_for_tasks("list", prefix.map(Path::to_string).unwrap_or_default()))
    }

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.check(location).await?;
        let bytes = payload.content_length() as u64;
        let put = self.inner.put_opts(location, payload, options).await?;
        log::debug!("wrote {location} {bytes}");
        self.traffic.count_written(bytes);
        Ok(put)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.check(location).await?;
        let inner = self.inner.put_multipart_opts(location, options).await?;
        Ok(Box::new(CountedUpload { inner, traffic: self.traffic.clone() }))
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        futures::stream::once(async { Err(not_for_tasks("delete", String::new())) }).boxed()
    }

    async fn copy_opts(&self, _: &Path, to: &Path, _: CopyOptions) -> Result<()> {
        Err(not_for_tasks("copy", to.to_string()))
    }
}

fn not_for_tasks(what: &str, path: String) -> Error {
    Error::PermissionDenied { path, source: format!("tasks of a cluster cannot {what}").into() }
}

/// An upload whose bytes are counted.
#[derive(Debug)]
struct CountedUpload {
    inner: Box<dyn MultipartUpload>,
    traffic: Arc<Traffic>,
}

#[async_trait]
impl MultipartUpload for CountedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.traffic.count_written(data.content_length() as u64);
        self.inner.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.inner.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt;

    use super::*;

    fn location(path: &std::path::Path) -> Path {
        Path::from_absolute_path(path).unwrap()
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn links_do_not_lead_out_of_the_folders() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("in"), root.join("out"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(inside.join("a b.csv"), "x").unwrap();
        std::fs::write(outside.join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(outside.join("secret"), inside.join("link")).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.join("new"), inside.join("dangling")).unwrap();
        let traffic = Arc::new(Traffic::default());
        let folders = Folders::Local(vec![inside.clone()]);
        let store = GuardedStore::new(Arc::new(LocalFileSystem::new()), folders, traffic.clone());
        store.get(&location(&inside.join("a b.csv"))).await.unwrap();
        assert_eq!(traffic.read(), 1);
        for path in ["in/link", "in/folder/secret", "in/dangling", "out/secret", "in-2/x"] {
            let err = store.get(&location(&root.join(path))).await.unwrap_err();
            assert!(matches!(err, Error::PermissionDenied { .. }), "{path}: {err}");
        }
        store.put(&location(&inside.join("new/file")), "abc".into()).await.unwrap();
        assert_eq!(traffic.written(), 3);
        for path in ["in/folder/new", "in/dangling", "out/new"] {
            let err = store.put(&location(&root.join(path)), "abc".into()).await.unwrap_err();
            assert!(matches!(err, Error::PermissionDenied { .. }), "{path}: {err}");
        }
        assert!(!outside.join("new").exists());
    }
}
