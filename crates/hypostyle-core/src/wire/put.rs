//! Writes varints and byte strings in the encoding of AT-1 (at1 §1.2).

/// Appends an unsigned varint: seven bits per byte, lowest first.
#[inline]
pub fn uv(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(0x80 | low(value));
        value >>= 7;
    }
    out.push(low(value));
}

/// Appends a signed varint: zigzag-encoded, then like [`uv`].
#[inline]
pub fn sv(out: &mut Vec<u8>, value: i64) {
    uv(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

/// Appends a length and the bytes.
pub fn lp(out: &mut Vec<u8>, bytes: &[u8]) {
    uv(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Returns the lowest seven bits.
#[inline]
fn low(value: u64) -> u8 {
    value.to_le_bytes()[0] & 0x7F
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Cursor;

    #[test]
    fn written_values_are_read_back() {
        let near = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit]).chain([u64::MAX]);
        for value in near {
            let mut out = Vec::new();
            uv(&mut out, value);
            sv(&mut out, value.cast_signed());
            lp(&mut out, b"xyz");
            let mut cursor = Cursor::new(&out, 0);
            assert_eq!(cursor.uv("value").unwrap(), value);
            assert_eq!(cursor.sv("value").unwrap(), i128::from(value.cast_signed()));
            assert_eq!(cursor.lp("value").unwrap(), b"xyz");
            assert!(cursor.is_empty());
        }
    }
}
