//! Where bytes come from.

use std::fmt;
use std::fs::File;
use std::io;

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};

/// Ranges of bytes, wherever they live: memory, a file, a map, an object store.
///
/// A source is immutable while it is read. Memory is [`Bytes`] itself; a memory
/// map is `Bytes::from_owner(map)`, which keeps the map alive as long as any
/// slice of it, so that reading a range copies nothing.
pub trait ByteSource: fmt::Debug + Send + Sync {
    /// The number of bytes in all.
    fn size(&self) -> u64;

    /// Reads exactly `len` bytes from `offset` on.
    ///
    /// Implementers may rely on the range lying inside [`ByteSource::size`]:
    /// callers in this crate check it first.
    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes>;

    /// How many reads are worth making at the same time.
    ///
    /// Reads of what is far away take long but do not slow each other down: such a source
    /// says so here, and queries then wait for many ranges at once, on threads that have
    /// nothing else to do, whatever the number that decode.
    fn concurrent_reads(&self) -> usize {
        1
    }
}

/// Reads `len` bytes at `offset`, or fails with [`ErrorKind::Truncated`].
///
/// The check comes before the read, so that a length off the wire is never
/// allocated unless the source is that long.
pub fn range(source: &dyn ByteSource, offset: u64, len: u64, what: &'static str) -> Result<Bytes> {
    check(source, offset, len, what)?;
    let len_here = usize::try_from(len).map_err(|_| truncated(source, offset, len, what))?;
    let bytes = source.read(offset, len_here).map_err(|cause| Error::from(cause).at(offset))?;
    if bytes.len() == len_here { Ok(bytes) } else { Err(truncated(source, offset, len, what)) }
}

/// Fails with [`ErrorKind::Truncated`] unless there are `len` bytes at `offset`.
pub fn check(source: &dyn ByteSource, offset: u64, len: u64, what: &'static str) -> Result<()> {
    let left = source.size().saturating_sub(offset);
    if len <= left { Ok(()) } else { Err(truncated(source, offset, len, what)) }
}

fn truncated(source: &dyn ByteSource, offset: u64, needed: u64, what: &'static str) -> Error {
    let left = source.size().saturating_sub(offset);
    Error::new(ErrorKind::Truncated { what, needed, left }).at(offset)
}

impl ByteSource for Bytes {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let start = usize::try_from(offset).ok();
        let end = start.and_then(|start| start.checked_add(len));
        match (start, end) {
            (Some(start), Some(end)) if end <= self.len() => Ok(self.slice(start..end)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// A [`ByteSource`] over an open file, read by position.
///
/// Threads may share it: no seek position is involved.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    size: u64,
}

impl FileSource {
    /// Takes a file that the caller opened; its size is fixed here.
    pub fn try_new(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self { file, size })
    }
}

impl ByteSource for FileSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let mut buf = vec![0; len];
        read_exact_at(&self.file, &mut buf, offset)?;
        Ok(buf.into())
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buf, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !buf.is_empty() {
        let n = file.seek_read(buf, offset)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buf = buf.get_mut(n..).unwrap_or_default();
        offset += n as u64;
    }
    Ok(())
}
