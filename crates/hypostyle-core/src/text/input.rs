//! What the readers of texts share about their input.

use std::io::{self, Read};

/// The maximum number of columns of an import.
#[cfg(any(feature = "csv", feature = "json"))]
pub(super) const MAX_COLUMNS: usize = 1 << 20;

/// The maximum number of bytes of a row of an import.
pub(super) const MAX_ROW_BYTES: usize = 2 << 30;

/// The byte order mark of UTF-8, which is not part of the first cell.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Receives the number of bytes read so far.
pub type Progress<'a> = &'a mut dyn FnMut(u64);

/// An input that reports its progress.
#[cfg(any(feature = "csv", feature = "json"))]
pub(super) struct ProgressRead<'a> {
    pub(super) input: &'a mut dyn Read,
    pub(super) progress: Progress<'a>,
    pub(super) read: u64,
}

#[cfg(any(feature = "csv", feature = "json"))]
impl Read for ProgressRead<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read(buf)?;
        self.read += len as u64;
        (self.progress)(self.read);
        Ok(len)
    }
}

/// Appends up to `want` bytes to `buffer`, fewer only at the end of the input; returns how
/// many.
///
/// On an error the bytes that were read before it are kept, so that a caller that can
/// repeat the read loses nothing.
pub(super) fn read_more(
    input: &mut impl Read,
    buffer: &mut Vec<u8>,
    want: usize,
) -> io::Result<usize> {
    let start = buffer.len();
    let mut end = start;
    buffer.resize(start.saturating_add(want), 0);
    let outcome = loop {
        match buffer.get_mut(end..) {
            None | Some([]) => break Ok(end - start),
            Some(room) => match input.read(room) {
                Ok(0) => break Ok(end - start),
                Ok(len) => end += len,
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                Err(err) => break Err(err),
            },
        }
    };
    buffer.truncate(end);
    outcome
}
