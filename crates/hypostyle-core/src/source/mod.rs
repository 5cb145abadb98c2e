//! Sources of bytes.

mod coalesce;
mod fetch_plan;
mod range_cache;

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;

use bytes::Bytes;
use coalesce::merge_near;

use crate::error::{Error, ErrorKind, Result};

pub use fetch_plan::FetchPlan;
pub use range_cache::{ClaimedRanges, MissingRanges, RangeCache};

/// Reads ranges of bytes from memory, a file, a memory map or an object store.
///
/// A source must not change while it is read. [`Bytes`] is a source over memory. For a
/// memory map, use `Bytes::from_owner(map)`, which keeps the map alive as long as any
/// slice of it, so that reading a range copies nothing.
pub trait ByteSource: fmt::Debug + Send + Sync {
    /// Returns the total number of bytes.
    fn size(&self) -> u64;

    /// Reads exactly `len` bytes at `offset`.
    ///
    /// Callers in this crate check first that the range lies within
    /// [`ByteSource::size`], so implementations need not.
    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes>;

    /// Reads several ranges, in the order given.
    ///
    /// The default reads ranges that lie close together with one read, and as many of them
    /// at the same time as [`ByteSource::concurrent_reads`] says. A source that can send
    /// many requests without a thread for each overrides it.
    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        coalesce::read(self, ranges)
    }

    /// Returns whether reading costs nothing because all bytes are in memory.
    ///
    /// Nothing is fetched ahead from such a source, and slices of it are not copied.
    fn is_resident(&self) -> bool {
        false
    }

    /// Returns the number of reads that should run at the same time.
    ///
    /// Reads from remote storage have a high latency but do not slow each other down. A
    /// remote source returns more than 1 here; queries then read that many ranges at once
    /// on threads of their own, independent of the number of decoding threads.
    fn concurrent_reads(&self) -> usize {
        1
    }

    /// Returns what a read costs besides the transfer of its bytes, as the number of bytes
    /// that could be transferred in the same time.
    ///
    /// Ranges with a gap of at most so many bytes between them are read together. The default
    /// is 0 for a [resident](ByteSource::is_resident) source, 16 KiB for a local one, and
    /// 1 MiB for a remote one, which is 20 ms at 50 MB/s. A remote source whose latency and
    /// bandwidth are known returns their product, and less where bytes matter more than
    /// requests: reads that run at the same time share one latency.
    fn read_cost(&self) -> u64 {
        match self.concurrent_reads() {
            _ if self.is_resident() => 0,
            0 | 1 => LOCAL_READ_COST,
            _ => REMOTE_READ_COST,
        }
    }
}

/// The default of [`ByteSource::read_cost`] for a local source.
const LOCAL_READ_COST: u64 = 16 << 10;

/// The default of [`ByteSource::read_cost`] for a remote source.
const REMOTE_READ_COST: u64 = 1 << 20;

/// Reads `len` bytes at `offset`, or fails with [`ErrorKind::Truncated`].
///
/// The range is checked before the read, so that a length from a file is never allocated
/// unless the source is that long.
pub fn range(source: &dyn ByteSource, offset: u64, len: u64, what: &'static str) -> Result<Bytes> {
    check(source, offset, len, what)?;
    let len_here = usize::try_from(len).map_err(|_| truncated(source, offset, len, what))?;
    let bytes = source.read(offset, len_here).map_err(|cause| Error::from(cause).at(offset))?;
    if bytes.len() == len_here { Ok(bytes) } else { Err(truncated(source, offset, len, what)) }
}

/// Fails with [`ErrorKind::Truncated`] unless the source has `len` bytes at `offset`.
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

    fn is_resident(&self) -> bool {
        true
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

/// A [`ByteSource`] over an open file.
///
/// Reads are positioned, so threads can share it.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    size: u64,
}

impl FileSource {
    /// Wraps a file that the caller opened; its size is determined once, here.
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
        read_exact_at(&self.file, &mut buf, offset).map_err(|err| match err.kind() {
            // A reader asks only for bytes below the size that the file had when it was opened.
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(err.kind(), "the file has become shorter since it was opened")
            }
            _ => err,
        })?;
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

/// There are no files on other targets.
#[cfg(not(any(unix, windows)))]
fn read_exact_at(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_that_becomes_shorter_is_said_to_be() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let source = FileSource::try_new(file.try_clone().unwrap()).unwrap();
        assert_eq!(source.read(2, 3).unwrap(), "234");
        file.set_len(4).unwrap();
        let err = source.read(2, 3).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::UnexpectedEof);
        assert!(err.to_string().contains("has become shorter"), "{err}");
    }
}
