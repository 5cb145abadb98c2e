//! Archives are unpacked again before anybody gets them.

use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;

use crate::archive::Archive;
use crate::pack::options::PackOptions;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::options::ReadOptions;

/// Unpacks an archive and compares it with the original; gives it back if all is well.
pub(super) fn compare(archive: Vec<u8>, original: &[u8], options: &PackOptions) -> Result<Vec<u8>> {
    let bytes = Bytes::from(archive);
    let mut left = Compared { original };
    let unpacked = open(&bytes, options).and_then(|archive| archive.unpack(&mut left));
    if let Err(err) = unpacked {
        return Err(Error::invalid_argument(format!("the archive would not unpack: {err}")));
    }
    if !left.original.is_empty() {
        return Err(Error::invalid_argument("the archive would not unpack to the original"));
    }
    Ok(bytes.into())
}

/// Opens an archive that was just made.
pub(super) fn open(archive: &Bytes, options: &PackOptions) -> Result<Archive> {
    let limits = Limits::default()
        .with_output_bytes(u64::MAX)
        .with_read_bytes(u64::MAX)
        .with_block_bytes(u64::MAX);
    let read = ReadOptions::default().with_limits(limits).with_threads(options.threads);
    Archive::open(Arc::new(archive.clone()), &read)
}

/// Takes bytes that must be those of the original.
struct Compared<'a> {
    original: &'a [u8],
}

impl Write for Compared<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.original.strip_prefix(bytes) {
            Some(rest) => self.original = rest,
            None => return Err(io::Error::other("other bytes than the original has")),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
