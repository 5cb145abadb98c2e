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
    // The room is not filled with zeros: most texts are shorter than it.
    buffer.reserve(want);
    let before = buffer.len();
    input.take(want as u64).read_to_end(buffer)?;
    Ok(buffer.len().saturating_sub(before))
}
