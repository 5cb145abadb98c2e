//! What the importers share about their input.

/// The maximum number of columns: each costs memory, even if it has few values.
#[cfg(any(feature = "csv", feature = "json"))]
pub(super) const MAX_COLUMNS: usize = 1 << 20;

/// The maximum number of bytes of a row, which must fit in memory as a whole.
///
/// Without a maximum, an open quote would extend a row to the end of the file.
pub(super) const MAX_ROW_BYTES: usize = 2 << 30;

/// The byte order mark of UTF-8, which is not part of the first cell.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Receives the number of bytes read so far.
pub type Progress<'a> = &'a mut dyn FnMut(u64);
