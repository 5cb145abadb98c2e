//! Uploads files.

use std::fs::File;
use std::io::{self, Read};

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload, WriteMultipart};

use crate::problem::io_error;
use crate::remote_store::RemoteStore;

/// The fewest bytes of a part. A smaller file is uploaded with one request.
const MIN_PART_BYTES: u64 = 8 << 20;

/// The most parts that stores take.
const MAX_PARTS: u64 = 10_000;

/// Parts that are uploaded at the same time.
const CONCURRENT_PARTS: usize = 4;

impl RemoteStore {
    /// Fails if a file cannot be written, or if it exists and must not be overwritten.
    ///
    /// # Errors
    ///
    /// Fails with [`io::ErrorKind::AlreadyExists`] if the file exists.
    pub async fn check_new(&self, location: &Path, overwrite: bool) -> io::Result<()> {
        if !self.can_list() {
            return Err(io_error(crate::problem::Problem::CannotWrite.into()));
        }
        if !overwrite && self.exists(location).await.map_err(io_error)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(())
    }
}

/// Uploads a file from its start. It appears in the store when it is complete, or not at all.
///
/// Reading the file blocks the thread.
///
/// # Errors
///
/// Fails if the file cannot be read, or the store does not take it.
pub async fn upload(store: &RemoteStore, location: &Path, mut file: File) -> io::Result<()> {
    let size = file.metadata()?.len();
    let part_bytes = MIN_PART_BYTES.max(size.div_ceil(MAX_PARTS));
    let mut next_part = || -> io::Result<Bytes> {
        let mut part = Vec::new();
        (&mut file).take(part_bytes).read_to_end(&mut part)?;
        Ok(part.into())
    };
    let first = next_part()?;
    if (first.len() as u64) < part_bytes {
        store.put(location, PutPayload::from_bytes(first)).await.map_err(io_error)?;
        return Ok(());
    }
    let parts = store.put_multipart(location).await.map_err(io_error)?;
    let part_len = usize::try_from(part_bytes).map_err(io::Error::other)?;
    let mut upload = WriteMultipart::new_with_chunk_size(parts, part_len);
    let mut part = first;
    let sent = async {
        while !part.is_empty() {
            upload.wait_for_capacity(CONCURRENT_PARTS).await.map_err(io_error)?;
            upload.put(std::mem::take(&mut part));
            part = next_part()?;
        }
        Ok::<(), io::Error>(())
    };
    match sent.await {
        Ok(()) => upload.finish().await.map(drop).map_err(io_error),
        Err(err) => {
            // The first error says more than one of giving up.
            let _ = upload.abort().await;
            Err(err)
        }
    }
}
