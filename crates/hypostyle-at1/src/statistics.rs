//! The statistics of a block of numbers, which the spec calls its zone map (§6.4).

use super::streams::StreamCursor;
use hypostyle_core::error::Result;

/// The type of a column of integers.
pub(super) const INTEGER: u8 = 1;
/// The type of a column of decimals.
pub(super) const DECIMAL: u8 = 2;

/// The zone map of a block: the minimum and maximum of its numbers (§6.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GroupStatistics {
    /// The bounds of integers.
    Integers {
        /// The smallest number.
        min: i128,
        /// The largest number.
        max: i128,
    },
    /// The bounds of decimals, rounded outward.
    Decimals {
        /// A float that no number is below.
        min: f64,
        /// A float that no number is above.
        max: f64,
    },
}

impl GroupStatistics {
    /// Reads the statistics of a block of a column of this type; text has none.
    ///
    /// Returns `None` for integers of more than 128 bits. They are not damage, because
    /// no cell depends on them.
    pub(super) fn read(stream: &mut StreamCursor<'_>, column_type: u8) -> Result<Option<Self>> {
        match column_type {
            INTEGER => {
                // A number that `sv` refuses is still in the stream.
                let mut bound = |what| match stream.sv(what) {
                    Ok(bound) => Ok(Some(bound)),
                    Err(_) => stream.skip_number(what).map(|()| None),
                };
                let bounds = (bound("minimum")?, bound("maximum")?);
                Ok(bounds.0.zip(bounds.1).map(|(min, max)| Self::Integers { min, max }))
            }
            DECIMAL => {
                let mut bound = || -> Result<f64> {
                    let bytes = stream.take(8, "bound")?;
                    Ok(f64::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default()))
                };
                Ok(Some(Self::Decimals { min: bound()?, max: bound()? }))
            }
            _ => Ok(None),
        }
    }

    /// Appends the statistics in the form that [`GroupStatistics::read`] reads.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Integers { min, max } => {
                put_sv(min, out);
                put_sv(max, out);
            }
            Self::Decimals { min, max } => {
                out.extend_from_slice(&min.to_le_bytes());
                out.extend_from_slice(&max.to_le_bytes());
            }
        }
    }
}

/// Appends a signed number of up to 128 bits in zigzag form, seven bits a byte.
pub(super) fn put_sv(value: i128, out: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 127)).cast_unsigned();
    loop {
        let [low, ..] = rest.to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            out.push(low & 0x7F);
            return;
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use hypostyle_core::wire::put;

    use super::*;

    #[test]
    fn statistics_are_read_as_they_were_written() {
        let integers = [(0, 0), (-1, 1), (-64, 63), (-65, 64), (i128::from(i64::MIN), 1 << 70)];
        let integers = integers.map(|(min, max)| GroupStatistics::Integers { min, max });
        let decimals = [GroupStatistics::Decimals { min: -0.5, max: 1e300 }];
        for statistics in integers.into_iter().chain(decimals) {
            let mut bytes = Vec::new();
            statistics.write(&mut bytes);
            let column_type = match statistics {
                GroupStatistics::Integers { .. } => INTEGER,
                GroupStatistics::Decimals { .. } => DECIMAL,
            };
            let mut stream = StreamCursor::new("index", &bytes);
            assert_eq!(GroupStatistics::read(&mut stream, column_type).unwrap(), Some(statistics));
            assert!(stream.is_empty());
        }
    }

    #[test]
    fn numbers_of_64_bits_have_the_same_bytes_at_both_widths() {
        for value in [0, 1, -1, 63, 64, -64, -65, 1 << 40, i64::MIN, i64::MAX] {
            let (mut wide, mut narrow) = (Vec::new(), Vec::new());
            put_sv(value.into(), &mut wide);
            put::sv(&mut narrow, value);
            assert_eq!(wide, narrow);
        }
    }
}
