//! Null bitmaps, least significant bit first.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

/// Returns the number of bytes of a bitmap of `rows` bits.
pub fn len(rows: usize) -> usize {
    rows.div_ceil(8)
}

/// Reads a bitmap in which a set bit means null; returns `None` if no bit is set.
///
/// Bits past `rows` are padding and are ignored. `bytes` should have [`len`]`(rows)`
/// bytes; rows of missing bytes are not null.
pub fn nulls_from_set_bits(bytes: &[u8], rows: usize) -> Option<NullBuffer> {
    nulls_from_set_bits_at(bytes, 0, rows)
}

/// Reads `rows` bits like [`nulls_from_set_bits`], after the first `skip` bits.
pub fn nulls_from_set_bits_at(bytes: &[u8], skip: usize, rows: usize) -> Option<NullBuffer> {
    let bits = skip.saturating_add(rows);
    let mut valid: Vec<u8> = bytes.iter().take(len(bits)).map(|byte| !byte).collect();
    valid.resize(len(bits), 0xFF);
    let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(valid), skip, rows));
    (nulls.null_count() > 0).then_some(nulls)
}

/// Appends a bitmap of the rows of all parts, with a set bit for null, padded with 0.
pub fn put_null_bits<'a>(
    parts: impl Iterator<Item = (usize, Option<&'a NullBuffer>)>,
    out: &mut Vec<u8>,
) {
    let (mut byte, mut bit) = (0_u8, 0_u32);
    for (rows, nulls) in parts {
        for row in 0..rows {
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                byte |= 1 << bit;
            }
            bit += 1;
            if bit == 8 {
                out.push(byte);
                (byte, bit) = (0, 0);
            }
        }
    }
    if bit > 0 {
        out.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_rows_take_two_bytes_and_padding_is_ignored() {
        let nulls = nulls_from_set_bits(&[0, 0xFF], 9).unwrap();
        assert_eq!(nulls.null_count(), 1);
        assert!(nulls.is_null(8));
        assert!(nulls_from_set_bits(&[0, 0xFE], 9).is_none());
        assert!(nulls_from_set_bits_at(&[0x07, 0xF0], 3, 9).is_none());
        assert!(nulls_from_set_bits_at(&[0x07, 0xF0], 3, 10).unwrap().is_null(9));
    }

    #[test]
    fn bits_continue_across_parts() {
        let a = NullBuffer::from(vec![true, false, true]);
        let b = NullBuffer::from(vec![true, true, true, true, false, false, true]);
        let mut out = Vec::new();
        put_null_bits([(3, Some(&a)), (2, None), (7, Some(&b))].into_iter(), &mut out);
        let back = nulls_from_set_bits(&out, 12).unwrap();
        let rows: Vec<usize> = (0..12).filter(|&i| back.is_null(i)).collect();
        assert_eq!(rows, [1, 9, 10]);
    }
}
