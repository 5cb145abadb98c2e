//! How much work each compression level spends, and the size estimates that the search uses.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;

use crate::pack::options::{Choice, Layout, PackOptions};
use crate::pack::sample::spaced_runs;
use hypostyle_core::compress::xz::encode::{Block, Effort, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;

/// The bounds of the search for the smallest encoding.
///
/// A ratio bounds how much larger than the best candidate another one may be estimated
/// and still be kept.
#[derive(Clone, Debug)]
pub(super) struct SearchParams {
    /// The layout, which limits the column types.
    pub(super) layout: Layout,
    /// The level of zstd, which replaces xz; 0 if xz is used.
    pub(super) zstd_level: i32,
    /// Maximum bytes of text in a sample of rows.
    max_sample_bytes: usize,
    /// A sample of rows has at most this fraction of the text, 1 divided by this number,
    /// but never less than [`MIN_SAMPLE_BYTES`].
    sample_divisor: usize,
    /// Maximum number of neighbouring rows in one run of a sample.
    max_run_rows: usize,
    /// Factor on the size of the pieces by which long columns are estimated.
    pub(super) piece_scale: usize,
    /// Maximum ratio of the entropy of two columns in one to that of both apart, for the
    /// union to be estimated by compression.
    pub(super) max_union_entropy_ratio: f64,
    /// How many bytes of the table it is worth that a query of one field reads a byte less:
    /// it reads the column of all fields that share it.
    pub(super) read_weight: f64,
    /// Maximum number of fields that share a column.
    pub(super) max_fields_per_column: usize,
    /// Maximum number of columns of a table in which unions are tried.
    pub(super) max_columns_for_unions: usize,
    /// Whether to try column types and tunings that seldom win.
    pub(super) try_all_types: bool,
    /// Maximum number of types of a column for which tunings are tried.
    pub(super) max_tuned_types: usize,
    /// Maximum ratio for a type of a column to be tuned.
    pub(super) max_tuned_ratio: f64,
    /// Maximum number of encodings of a column that are made in full.
    pub(super) max_full_encodings: usize,
    /// Maximum ratio for an encoding of a column to be made in full.
    pub(super) max_full_ratio: f64,
    /// How hard the final compression searches for matches.
    pub(super) effort: Effort,
    /// How hard an estimate searches for matches.
    estimate_effort: Effort,
    /// Rough estimates that were made before. Clones share them.
    rough_estimates: Arc<Mutex<HashMap<EstimateKey, usize>>>,
}

/// The hash and the length of some bytes, and the tuning that compressed them.
type EstimateKey = (u64, usize, Tuning);

/// What it is worth in an archive for queries that a query of one field reads a byte less, in
/// bytes of the archive.
const QUERY_READ_WEIGHT: f64 = 0.4;

/// A smaller sample of rows does not predict the size of the whole.
const MIN_SAMPLE_BYTES: usize = 256 << 10;

/// Maximum bytes of text in the sample of a rough search.
const ROUGH_SAMPLE_BYTES: usize = 96 << 10;

/// Maximum number of neighbouring rows in one run of a sample: about as many as a column has
/// in each piece, if it is cut at row groups.
const MAX_RUN_ROWS: usize = 6 << 10;

/// The same for an archive that is made to be queried.
const MAX_QUERY_RUN_ROWS: usize = 5 << 9;

impl SearchParams {
    /// Returns the parameters for the level and the layout of the options.
    pub(super) fn new(options: &PackOptions) -> Self {
        let six = Self {
            layout: options.layout,
            zstd_level: 0,
            max_sample_bytes: 1 << 20,
            sample_divisor: 6,
            max_run_rows: match options.codec {
                Choice::Query => MAX_QUERY_RUN_ROWS,
                _ => MAX_RUN_ROWS,
            },
            piece_scale: 1,
            max_union_entropy_ratio: 1.15,
            read_weight: match options.codec {
                Choice::Query => QUERY_READ_WEIGHT,
                _ => 0.0,
            },
            max_fields_per_column: 4,
            max_columns_for_unions: 100,
            try_all_types: false,
            max_tuned_types: 2,
            max_tuned_ratio: 1.06,
            max_full_encodings: 1,
            max_full_ratio: 1.01,
            effort: Effort::Full,
            estimate_effort: Effort::Quick,
            rough_estimates: Arc::default(),
        };
        match options.level {
            1 if options.layout == Layout::Reference => Self {
                zstd_level: 9,
                max_sample_bytes: 256 << 10,
                max_union_entropy_ratio: 1.0,
                max_tuned_types: 1,
                ..six
            },
            0..=3 => Self {
                max_sample_bytes: 512 << 10,
                max_fields_per_column: 2,
                max_tuned_types: 1,
                ..six
            },
            4 | 5 => Self { max_sample_bytes: 768 << 10, max_tuned_types: 1, ..six },
            6 => six,
            7 => Self {
                max_sample_bytes: 2 << 20,
                sample_divisor: 3,
                piece_scale: 2,
                max_tuned_types: 3,
                max_tuned_ratio: 1.1,
                max_full_encodings: 2,
                ..six
            },
            8 => Self {
                max_sample_bytes: 2 << 20,
                sample_divisor: 2,
                piece_scale: 4,
                max_fields_per_column: 6,
                try_all_types: true,
                max_tuned_types: 3,
                max_tuned_ratio: 1.1,
                max_full_encodings: 4,
                max_full_ratio: 1.04,
                ..six
            },
            _ => Self {
                max_sample_bytes: 6 << 20,
                sample_divisor: 1,
                piece_scale: 8,
                max_fields_per_column: 8,
                max_columns_for_unions: 150,
                try_all_types: true,
                max_tuned_types: 4,
                max_tuned_ratio: 1.15,
                max_full_encodings: 8,
                max_full_ratio: 1.06,
                effort: Effort::Extreme,
                ..six
            },
        }
    }

    /// Returns parameters for a quick search that only predicts roughly how many bytes an
    /// encoder needs.
    #[must_use]
    pub(super) fn rough(&self) -> Self {
        Self {
            max_sample_bytes: ROUGH_SAMPLE_BYTES,
            max_tuned_types: 1,
            effort: Effort::Rough,
            estimate_effort: Effort::Rough,
            ..self.clone()
        }
    }

    /// Returns whether this is a [`rough`](Self::rough) search.
    pub(super) fn is_rough(&self) -> bool {
        self.effort == Effort::Rough
    }

    /// Returns whether zstd compresses everything and xz is not used.
    pub(super) fn is_quick(&self) -> bool {
        self.zstd_level > 0
    }

    /// Returns the rows by which a table is judged: runs of neighbours, evenly spaced.
    ///
    /// The table has `rows` rows, of `bytes` bytes in all.
    pub(super) fn sample_rows(&self, rows: usize, bytes: usize) -> Vec<Range<usize>> {
        let row_bytes = bytes / rows.max(1) + 1;
        let sample_bytes =
            (bytes / self.sample_divisor).max(MIN_SAMPLE_BYTES).min(self.max_sample_bytes);
        let sample_rows = (sample_bytes / row_bytes).max(100);
        if rows <= sample_rows * 5 / 4 {
            return std::iter::once(0..rows).collect();
        }
        let run = self.max_run_rows.min(sample_rows.div_ceil(2));
        spaced_runs(rows, run, sample_rows.div_ceil(run)).collect()
    }

    /// Estimates the compressed size of some bytes.
    pub(super) fn estimate(&self, bytes: &[u8], tuning: Tuning) -> Result<f64> {
        Ok(self.compressed_size(bytes, tuning.with_effort(self.estimate_effort))? as f64)
    }

    /// Estimates the compressed size of some bytes roughly and quickly.
    ///
    /// The result tells which of two tunings suits the same bytes better, but not which
    /// of two encodings is smaller.
    pub(super) fn rough_estimate(&self, bytes: &[u8], tuning: Tuning) -> Result<f64> {
        let tuning = tuning.with_effort(Effort::Rough);
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let key = (hasher.finish(), bytes.len(), tuning);
        let estimates = || self.rough_estimates.lock().unwrap_or_else(PoisonError::into_inner);
        let known = estimates().get(&key).copied();
        let size = match known {
            Some(size) => size,
            None => {
                let size = self.compressed_size(bytes, tuning)?;
                estimates().insert(key, size);
                size
            }
        };
        Ok(size as f64)
    }

    fn compressed_size(&self, bytes: &[u8], tuning: Tuning) -> Result<usize> {
        if self.is_quick() {
            Ok(zstd::compress(bytes, 1)?.len())
        } else {
            Ok(Block::new(bytes, tuning)?.cost())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_runs_lie_inside_the_table_and_do_not_overlap() {
        for rows in [0, 1, 1000, 20_000, 60_000, 61_000, 5_000_000] {
            for bytes in [1, 2, 20, 500, 100_000] {
                for level in 1..=9 {
                    let sample = SearchParams::new(&PackOptions::default().with_level(level))
                        .sample_rows(rows, rows * bytes);
                    assert!(sample.iter().all(|run| run.end <= rows));
                    assert!(sample.windows(2).all(|pair| pair[0].end <= pair[1].start));
                }
            }
        }
    }
}
