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
        return Err(Error::internal(format!("the new archive does not unpack: {err}")));
    }
    if !left.original.is_empty() {
        return Err(Error::internal("the new archive does not unpack to the original"));
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
