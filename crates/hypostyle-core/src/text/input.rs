//! What the readers of texts share about their input.

use std::io::{self, Read};

/// The byte order mark of UTF-8, which is not part of the first cell.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

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
