//! Unpacks a new archive and compares it with the original before the caller gets it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;

use crate::archive::Archive;
use crate::pack::options::PackOptions;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::options::ReadOptions;

/// Returns the error for a failed self-check, which is a defect of this library.
pub(super) fn failed(why: impl Into<Cow<'static, str>>) -> Error {
    Error::internal(why)
}

/// Unpacks an archive and compares it with the original; returns the archive if they agree.
pub(super) fn compare(archive: Vec<u8>, original: &[u8], options: &PackOptions) -> Result<Vec<u8>> {
    let bytes = Bytes::from(archive);
    let mut comparer = Comparer { rest: original };
    open(&bytes, options)
        .and_then(|archive| archive.unpack(&mut comparer))
        .map_err(|err| failed(format!("the archive would not unpack: {err}")))?;
    if !comparer.rest.is_empty() {
        return Err(failed("the archive would not unpack to the original"));
    }
    Ok(bytes.into())
}

/// Opens an archive that was just made, without limits.
pub(super) fn open(archive: &Bytes, options: &PackOptions) -> Result<Archive> {
    let limits = Limits::default()
        .with_output_bytes(u64::MAX)
        .with_read_bytes(u64::MAX)
        .with_block_bytes(u64::MAX);
    let read = ReadOptions::default().with_limits(limits).with_threads(options.threads);
    Archive::open(Arc::new(archive.clone()), &read)
}

/// A writer that fails unless the bytes written to it are those of the original.
struct Comparer<'a> {
    /// The part of the original that was not written yet.
    rest: &'a [u8],
}

impl Write for Comparer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.rest.strip_prefix(bytes) {
            Some(rest) => self.rest = rest,
            None => return Err(io::Error::other("the bytes differ from the original")),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hypostyle_core::error::ErrorKind;

    use super::*;
    use crate::pack::pack;

    #[test]
    fn a_failed_self_check_is_an_internal_error() {
        let options = PackOptions::default();
        let (archive, _) = pack(b"one,two\n1,2\n", &options).unwrap();
        let cut = archive[..archive.len() - 1].to_vec();
        for (archive, original) in [
            (archive.clone(), &b"one,two\n1,3\n"[..]),
            (archive, b"one,two\n1,2\n3,4\n"),
            (cut, b"one,two\n1,2\n"),
        ] {
            let err = compare(archive, original, &options).unwrap_err();
            assert!(matches!(err.kind(), ErrorKind::Internal(_)), "{err}");
        }
    }
}
