//! Text of a block as a string array: UTF-8, or repaired as the caller's policy says.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::GenericStringBuilder;
use arrow_array::{ArrayRef, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use super::block_format::DecodeContext;
use super::layout::ColumnEntry;
use hypostyle_core::error::{Error, ErrorKind, Result, clipped};
use hypostyle_core::options::TextPolicy;

/// Returns an array of strings: string `i` is `values[offsets[i]..offsets[i + 1]]`.
///
/// `offsets` never decrease, and the last is at most `values.len()`. `first_row` is the row of
/// the column that the array starts with.
pub(crate) fn array<O: OffsetSizeTrait>(
    offsets: Vec<O>,
    values: Buffer,
    nulls: Option<NullBuffer>,
    first_row: u64,
    entry: &ColumnEntry,
    cx: &DecodeContext<'_>,
) -> Result<ArrayRef> {
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let array = GenericStringArray::<O>::try_new(offsets.clone(), values.clone(), nulls.clone());
    if let Ok(array) = array {
        return Ok(Arc::new(array));
    }
    // Some string is not UTF-8: find its row, or repair it if the policy says so.
    let mut builder = GenericStringBuilder::<O>::with_capacity(offsets.len(), values.len());
    for (row, pair) in offsets.windows(2).enumerate() {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            builder.append_null();
            continue;
        }
        let &[start, end] = pair else { continue };
        let bytes = values.get(start.as_usize()..end.as_usize()).unwrap_or_default();
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => {
                Cow::Owned(repair_row(bytes, first_row.saturating_add(row as u64), entry, cx)?)
            }
        };
        // A repair can turn one byte into three, beyond what the offsets can address.
        let limit = cx.limits.block_bytes.min(O::MAX_OFFSET as u64);
        let asked = (builder.values_slice().len() as u64).saturating_add(text.len() as u64);
        if asked > limit {
            let what = "size of repaired text";
            return Err(Error::new(ErrorKind::LimitExceeded { what, asked, limit }));
        }
        builder.append_value(text);
    }
    Ok(Arc::new(builder.finish()))
}

fn repair_row(
    bytes: &[u8],
    row: u64,
    entry: &ColumnEntry,
    cx: &DecodeContext<'_>,
) -> Result<String> {
    let text = repair(bytes, cx.text)
        .ok_or_else(|| Error::malformed("text", "is not UTF-8").in_row(row))?;
    let row = row.saturating_add(1);
    let name = clipped(&entry.name);
    let message = format!("text that is not UTF-8 was repaired in `{name}`, row {row}");
    cx.deviations.report(cx.codes.text, entry.block.offset, message)?;
    Ok(text)
}

/// Turns bytes that are not UTF-8 into text, if the policy allows it.
pub(crate) fn repair(bytes: &[u8], policy: TextPolicy) -> Option<String> {
    match policy {
        TextPolicy::Strict => None,
        TextPolicy::Lossy => Some(String::from_utf8_lossy(bytes).into_owned()),
        TextPolicy::Java => from_modified_utf8(bytes),
    }
}

/// Decodes Java's modified UTF-8: NUL as `C0 80`, and each surrogate by itself.
fn from_modified_utf8(bytes: &[u8]) -> Option<String> {
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, tail)) = rest.split_first() {
        let follow = |byte: &u8| (byte & 0xC0 == 0x80).then_some(u32::from(byte & 0x3F));
        let (point, used) = match first {
            0x00..=0x7F => (u32::from(first), 0),
            0xC0..=0xDF => (u32::from(first & 0x1F) << 6 | follow(tail.first()?)?, 1),
            0xE0..=0xEF => {
                let [b, c] = tail.first_chunk()?;
                (u32::from(first & 0x0F) << 12 | follow(b)? << 6 | follow(c)?, 2)
            }
            0xF0..=0xF7 => {
                let [b, c, d] = tail.first_chunk()?;
                let high = u32::from(first & 0x07) << 18 | follow(b)? << 12;
                (high | follow(c)? << 6 | follow(d)?, 3)
            }
            _ => return None,
        };
        // Only NUL may have an overlong form.
        let min_point = [0, 0x80, 0x800, 0x1_0000].get(used).copied()?;
        if point < min_point && !(point == 0 && used == 1) {
            return None;
        }
        match u16::try_from(point) {
            Ok(unit) => units.push(unit),
            Err(_) => units.extend_from_slice(char::from_u32(point)?.encode_utf16(&mut [0; 2])),
        }
        rest = tail.get(used..)?;
    }
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modified_utf8_gives_nul_and_astral_characters() {
        assert_eq!(from_modified_utf8(b"a\xC0\x80b").as_deref(), Some("a\0b"));
        assert_eq!(from_modified_utf8(b"\xED\xA0\xBD\xED\xB8\x80").as_deref(), Some("😀"));
        assert_eq!(from_modified_utf8("é😀".as_bytes()).as_deref(), Some("é😀"));
        assert_eq!(from_modified_utf8(b"\xED\xA0\xBD"), None);
        assert_eq!(from_modified_utf8(b"\xC3"), None);
        assert_eq!(from_modified_utf8(b"\xFF"), None);
    }

    #[test]
    fn modified_utf8_has_no_other_overlong_forms() {
        for overlong in [
            &b"\xC1\x81"[..],
            b"\xC0\x81",
            b"\xE0\x80\x80",
            b"\xE0\x81\x81",
            b"\xF0\x80\x80\x80",
            b"\xF0\x8F\xBF\xBF",
            b"\xF4\x90\x80\x80",
        ] {
            assert_eq!(from_modified_utf8(overlong), None, "{overlong:X?}");
        }
    }
}
