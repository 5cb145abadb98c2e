//! The statistics of a block of numbers, which the spec calls its zone map (§6.4).

use super::streams::Stream;
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
    pub(super) fn read(stream: &mut Stream<'_>, column_type: u8) -> Result<Option<Self>> {
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
}
