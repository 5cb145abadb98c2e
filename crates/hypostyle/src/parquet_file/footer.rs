//! Reads the footer of a Parquet file, and checks what the `parquet` crate relies on.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};

use super::thrift;
use crate::guard::catch_panics;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

/// The bytes that a file starts and ends with.
pub(super) const MAGIC: &[u8] = b"PAR1";

/// The end of a file whose footer is encrypted.
const ENCRYPTED_MAGIC: &[u8] = b"PARE";

/// The length of the footer, and the magic.
const TAIL_BYTES: u64 = 8;

/// Bytes that are read from the end: enough for most footers, so that one read is enough.
const FIRST_READ_BYTES: u64 = 64 << 10;

/// Reads the footer with one or two reads.
pub(super) fn read(source: &dyn ByteSource, limits: &Limits) -> Result<ArrowReaderMetadata> {
    let bytes = footer_bytes(source, limits)?;
    // A deeply nested schema would overflow the stack of the `parquet` crate, for example.
    thrift::check_footer(&bytes)?;
    catch_panics("footer", || {
        let failed = |err: parquet::errors::ParquetError| match err {
            parquet::errors::ParquetError::NYI(what) => Error::unsupported(what),
            other => Error::malformed("footer", other.to_string()),
        };
        let metadata = ParquetMetaDataReader::decode_metadata(&bytes).map_err(failed)?;
        check(&metadata, source.size())?;
        ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new()).map_err(failed)
    })
}

fn footer_bytes(source: &dyn ByteSource, limits: &Limits) -> Result<Bytes> {
    let size = source.size();
    source::check(source, 0, MAGIC.len() as u64 + TAIL_BYTES, "footer")?;
    let first = size.min(FIRST_READ_BYTES);
    let end = source::range(source, size - first, first, "footer")?;
    let tail_at = usize::try_from(first - TAIL_BYTES).unwrap_or_default();
    let tail = end.get(tail_at..).unwrap_or_default();
    let mut cursor = Cursor::new(tail, size - TAIL_BYTES);
    let len = u64::from(cursor.u32_le("footer length")?);
    match cursor.rest() {
        MAGIC => {}
        ENCRYPTED_MAGIC => return Err(Error::unsupported("an encrypted footer")),
        _ => return Err(Error::malformed("magic", "is missing at the end").at(size - 4)),
    }
    if len > limits.header_bytes {
        let (asked, limit) = (len, limits.header_bytes);
        return Err(ErrorKind::LimitExceeded { what: "footer", asked, limit }.into());
    }
    let start = (size - TAIL_BYTES).checked_sub(len).filter(|&start| start >= MAGIC.len() as u64);
    let start = start.ok_or_else(|| {
        Error::malformed("footer length", format!("`{len}` is more than the file"))
            .at(size - TAIL_BYTES)
    })?;
    if len + TAIL_BYTES <= first {
        let from = usize::try_from(first - TAIL_BYTES - len).unwrap_or_default();
        return Ok(end.slice(from..tail_at));
    }
    source::range(source, start, len, "footer")
}

/// Checks the numbers that the `parquet` crate asserts or trusts.
fn check(metadata: &ParquetMetaData, size: u64) -> Result<()> {
    let mut rows = 0_i64;
    for group in metadata.row_groups() {
        let sum = rows.checked_add(group.num_rows()).filter(|_| group.num_rows() >= 0);
        rows = sum.ok_or_else(|| Error::malformed("row count", "is negative or too large"))?;
        for (index, column) in group.columns().iter().enumerate() {
            chunk_range(column)
                .filter(|range| range.end <= size)
                .ok_or_else(|| Error::malformed("column chunk", "lies outside the file"))
                .map_err(|err| err.in_column(index, &column.column_path().string()))?;
        }
    }
    Ok(())
}

/// Returns the bytes of a column chunk; `None` if its offset or length is impossible.
pub(super) fn chunk_range(column: &ColumnChunkMetaData) -> Option<Range<u64>> {
    let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    let start = u64::try_from(start).ok()?;
    let len = u64::try_from(column.compressed_size()).ok()?;
    Some(start..start.checked_add(len)?)
}

/// Returns how many bytes a column chunk takes at most when it is decoded, as far as the
/// footer says so.
pub(super) fn decoded_bytes(column: &ColumnChunkMetaData) -> u64 {
    let at_least_0 = |number: i64| u64::try_from(number).unwrap_or(0);
    let values = at_least_0(column.num_values());
    let width = match column.column_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT => 4,
        Type::INT64 | Type::DOUBLE => 8,
        // Decimals of any length take 16 or 32 bytes.
        Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY => {
            at_least_0(column.column_descr().type_length().into()).max(32)
        }
        Type::BYTE_ARRAY => 8,
    };
    let texts = match (column.column_type(), column.unencoded_byte_array_data_bytes()) {
        (Type::BYTE_ARRAY, Some(bytes)) => at_least_0(bytes),
        // A dictionary has each text once.
        (Type::BYTE_ARRAY, None) => u64::MAX,
        _ => 0,
    };
    // Null values of nested columns have definition levels.
    values.saturating_mul(width + 4).saturating_add(texts)
}
