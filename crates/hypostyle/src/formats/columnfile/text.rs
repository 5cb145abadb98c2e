//! Text columns on their way to Arrow: UTF-8, or what the caller asked for.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::GenericStringBuilder;
use arrow_array::{ArrayRef, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use super::{Content, Context, Plot};
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, ErrorKind, Result, clipped};
use hypostyle_core::options::TextPolicy;
use hypostyle_core::wire::prefixed::{Prefix, unprefix};

/// An array of strings that stand behind their lengths.
///
/// Left-over bytes are reported as `leftover`.
pub(in crate::formats) fn from_prefixed<P: Prefix>(
    content: Content,
    plot: &Plot,
    rows: usize,
    leftover: &'static str,
    cx: &Context<'_>,
) -> Result<ArrayRef> {
    if i32::try_from(plot.raw).is_ok() {
        prefixed::<P, i32>(content.buffer, plot, rows, leftover, cx)
    } else {
        prefixed::<P, i64>(content.buffer, plot, rows, leftover, cx)
    }
}

fn prefixed<P: Prefix, O: OffsetSizeTrait>(
    mut buffer: MutableBuffer,
    plot: &Plot,
    rows: usize,
    leftover: &'static str,
    cx: &Context<'_>,
) -> Result<ArrayRef> {
    let found = unprefix::<P, O>(buffer.as_slice_mut(), rows)?;
    report_leftover(buffer.len(), found.consumed, plot, leftover, cx)?;
    let used = found.offsets.last().map_or(0, |end| end.as_usize());
    buffer.truncate(used);
    array::<O>(found.offsets, buffer.into(), None, plot, cx)
}

/// Reports bytes of a block that no row needs.
pub(in crate::formats) fn report_leftover(
    have: usize,
    used: usize,
    plot: &Plot,
    code: &'static str,
    cx: &Context<'_>,
) -> Result<()> {
    match have.checked_sub(used) {
        None | Some(0) => Ok(()),
        Some(extra) => {
            let message = format!("{extra} bytes are left over after the last value of a block");
            cx.deviations.report(code, plot.offset, message)
        }
    }
}

/// An array of strings, given where each ends in `values`.
///
/// `offsets` rise from 0 to at most `values.len()`.
pub(in crate::formats) fn array<O: OffsetSizeTrait>(
    offsets: Vec<O>,
    values: Buffer,
    nulls: Option<NullBuffer>,
    plot: &Plot,
    cx: &Context<'_>,
) -> Result<ArrayRef> {
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let good = GenericStringArray::<O>::try_new(offsets.clone(), values.clone(), nulls.clone());
    if let Ok(array) = good {
        return Ok(Arc::new(array));
    }
    // Something is not UTF-8: find the row, or repair it if that was asked for.
    let mut builder = GenericStringBuilder::<O>::with_capacity(offsets.len(), values.len());
    let rows = offsets.windows(2).enumerate();
    for (row, pair) in rows {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            builder.append_null();
            continue;
        }
        let &[start, end] = pair else { continue };
        let bytes = values.get(start.as_usize()..end.as_usize()).unwrap_or_default();
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(repaired(bytes, row, plot, cx)?),
        };
        // A repair may make three bytes of one, and offsets count only so far.
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

fn repaired(bytes: &[u8], row: usize, plot: &Plot, cx: &Context<'_>) -> Result<String> {
    let not_utf8 = || Error::malformed("text", "is not UTF-8").in_row(row as u64);
    let text = match cx.text {
        TextPolicy::Strict => return Err(not_utf8()),
        TextPolicy::Lossy => String::from_utf8_lossy(bytes).into_owned(),
        TextPolicy::Java => from_modified_utf8(bytes).ok_or_else(not_utf8)?,
    };
    let row = row.saturating_add(1);
    let name = clipped(&plot.name);
    let message = format!("text that is not UTF-8 was repaired in `{name}`, row {row}");
    cx.deviations.report(cx.codes.text, plot.offset, message)?;
    Ok(text)
}

/// The name of a column, found at `at` in the file.
pub(in crate::formats) fn name(
    bytes: &[u8],
    at: u64,
    policy: TextPolicy,
    code: &'static str,
    deviations: &Deviations,
) -> Result<String> {
    let bad = match std::str::from_utf8(bytes) {
        Ok(name) => return Ok(name.to_owned()),
        Err(bad) => at.saturating_add(bad.valid_up_to() as u64),
    };
    let not_utf8 = || Error::malformed("column name", "is not UTF-8").at(bad);
    let name = match policy {
        TextPolicy::Strict => return Err(not_utf8()),
        TextPolicy::Lossy => String::from_utf8_lossy(bytes).into_owned(),
        TextPolicy::Java => from_modified_utf8(bytes).ok_or_else(not_utf8)?,
    };
    deviations.report(code, at, "a column name that is not UTF-8 was repaired")?;
    Ok(name)
}

/// Java's modified UTF-8: NUL as `C0 80`, and surrogates encoded one by one.
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
        // Only NUL may be spelled longer than it needs to be.
        let least = [0, 0x80, 0x800, 0x1_0000].get(used).copied()?;
        if point < least && !(point == 0 && used == 1) {
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
