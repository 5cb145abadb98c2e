//! Arrays of fixed-width numbers, in either byte order.
//!
//! The loops are simple enough for the compiler to vectorize them, so they run at memory
//! speed without `unsafe`.

use arrow_buffer::{ArrowNativeType, MutableBuffer, ScalarBuffer};

/// A number of 4 or 8 bytes, as stored in blocks.
pub trait Number: ArrowNativeType {
    /// Bytes of a stored value.
    const WIDTH: usize;

    /// Reinterprets the bytes of a value, loaded in native order, in the given order.
    #[must_use]
    fn ordered(self, order: Order) -> Self;

    /// Appends the values in the given byte order.
    fn put(values: &[Self], order: Order, out: &mut Vec<u8>);

    /// Copies values from bytes that need not be aligned.
    fn copied(bytes: &[u8], order: Order) -> ScalarBuffer<Self>;
}

/// The byte order of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

macro_rules! number {
    ($type:ty, $bits:ty, $width:literal, $to:expr, $from:expr) => {
        impl Number for $type {
            const WIDTH: usize = $width;

            fn ordered(self, order: Order) -> Self {
                let bits: $bits = $to(self);
                $from(match order {
                    Order::Little => <$bits>::from_le(bits),
                    Order::Big => <$bits>::from_be(bits),
                })
            }

            fn put(values: &[Self], order: Order, out: &mut Vec<u8>) {
                let start = out.len();
                out.resize(start + values.len() * $width, 0);
                let (cells, _) = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<$width>();
                for (cell, value) in cells.iter_mut().zip(values) {
                    let bits: $bits = $to(*value);
                    *cell = match order {
                        Order::Little => bits.to_le_bytes(),
                        Order::Big => bits.to_be_bytes(),
                    };
                }
            }

            fn copied(bytes: &[u8], order: Order) -> ScalarBuffer<Self> {
                let (cells, _) = bytes.as_chunks::<$width>();
                let read = match order {
                    Order::Little => <$bits>::from_le_bytes,
                    Order::Big => <$bits>::from_be_bytes,
                };
                cells.iter().map(|cell| $from(read(*cell))).collect::<Vec<Self>>().into()
            }
        }
    };
}

number!(i32, u32, 4, i32::cast_unsigned, u32::cast_signed);
number!(i64, u64, 8, i64::cast_unsigned, u64::cast_signed);
// Convert through bits to preserve NaN payloads and the sign of zero.
number!(f64, u64, 8, f64::to_bits, f64::from_bits);

/// Turns a buffer of stored numbers into values, in place.
///
/// Arrow's allocator aligns the buffer, so no copy is needed. Bytes are swapped only if
/// the byte orders of file and machine differ. An incomplete number at the end is dropped.
pub fn in_place<T: Number>(mut buffer: MutableBuffer, order: Order) -> ScalarBuffer<T> {
    let count = buffer.len() / T::WIDTH;
    buffer.truncate(count * T::WIDTH);
    let native = if cfg!(target_endian = "big") { Order::Big } else { Order::Little };
    if order != native {
        for value in buffer.typed_data_mut::<T>() {
            *value = value.ordered(order);
        }
    }
    ScalarBuffer::new(buffer.into(), 0, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Number + PartialEq + std::fmt::Debug>(values: &[T]) {
        for order in [Order::Little, Order::Big] {
            let mut bytes = Vec::new();
            T::put(values, order, &mut bytes);
            assert_eq!(bytes.len(), values.len() * T::WIDTH);
            assert_eq!(&T::copied(&bytes, order)[..], values);
            let mut buffer = MutableBuffer::new(0);
            buffer.extend_from_slice(&bytes);
            assert_eq!(&in_place::<T>(buffer, order)[..], values);
            let mut odd = vec![0];
            odd.extend_from_slice(&bytes);
            assert_eq!(&T::copied(&odd[1..], order)[..], values, "unaligned");
        }
    }

    #[test]
    fn numbers_survive_both_orders_aligned_or_not() {
        check(&[0, 1, -1, i32::MIN, i32::MAX]);
        check(&[0, 1, -1, i64::MIN, i64::MAX]);
        check(&[0.0, -1.5, f64::INFINITY, f64::MIN_POSITIVE]);
    }

    #[test]
    fn nan_payloads_survive() {
        let odd = f64::from_bits(0xFFF8_0000_DEAD_BEEF);
        for order in [Order::Little, Order::Big] {
            let mut bytes = Vec::new();
            f64::put(&[odd, -0.0], order, &mut bytes);
            let back = f64::copied(&bytes, order);
            assert_eq!(back[0].to_bits(), odd.to_bits());
            assert_eq!(back[1].to_bits(), (-0.0_f64).to_bits());
        }
    }

    #[test]
    fn an_incomplete_number_at_the_end_is_dropped() {
        assert_eq!(i32::copied(&[1, 0, 0, 0, 9], Order::Little).len(), 1);
    }
}
