//! The text index that we add to row groups, so that predicates on text skip groups (§6.5).

use std::borrow::Cow;

use crate::bloom::{self, FilterSize};
use crate::group_index::{BOUNDS, FILTER};
use hypostyle_core::predicate::TextBounds;
use hypostyle_core::wire::put;

/// Bytes of the minimum and the maximum text that are stored.
const BOUND_PREFIX_BYTES: usize = 8;

/// Maximum size of the filters of a column, as a fraction of its blocks.
const MAX_FILTER_OVERHEAD: f64 = 0.03;

/// Bounds are left out if the average text lies within those of more than this fraction of
/// the groups.
const MAX_MATCHING_GROUPS: f64 = 0.7;

/// The statistics of the texts of one column chunk, without empty texts.
#[derive(Debug, Default)]
pub(in crate::pack) struct TextStatistics {
    /// Prefixes of the minimum and the maximum text.
    min: Vec<u8>,
    max: Vec<u8>,
    /// The hash of each distinct text, sorted.
    hashes: Vec<u64>,
}

impl TextStatistics {
    /// Collects the statistics of some texts.
    pub(in crate::pack) fn of<'a>(texts: impl Iterator<Item = Cow<'a, [u8]>>) -> Self {
        let mut statistics = Self::default();
        let mut first = true;
        for text in texts.filter(|text| !text.is_empty()) {
            let prefix = text.get(..BOUND_PREFIX_BYTES).unwrap_or(&text);
            if first || prefix < statistics.min.as_slice() {
                statistics.min = prefix.to_vec();
            }
            if first || prefix > statistics.max.as_slice() {
                statistics.max = prefix.to_vec();
            }
            first = false;
            statistics.hashes.push(bloom::hash(&text));
        }
        statistics.hashes.sort_unstable();
        statistics.hashes.dedup();
        statistics
    }

    fn may_hold(&self, prefix: &[u8]) -> bool {
        TextBounds { min: &self.min, max: &self.max }.may_hold(prefix)
    }
}

/// Builds the text index of one table.
#[derive(Debug)]
pub(in crate::pack) struct TextIndexBuilder {
    columns: Vec<IndexedColumn>,
    pushed: usize,
}

/// A column of the table.
#[derive(Debug)]
struct IndexedColumn {
    is_text: bool,
    /// The statistics of its chunks.
    chunks: Vec<TextStatistics>,
    /// Bytes of its blocks.
    block_bytes: usize,
}

impl TextIndexBuilder {
    /// Starts an index; `columns` says of each column whether it has text.
    pub(in crate::pack) fn new(columns: impl Iterator<Item = bool>) -> Self {
        let column = |is_text| IndexedColumn { is_text, chunks: Vec::new(), block_bytes: 0 };
        Self { columns: columns.map(column).collect(), pushed: 0 }
    }

    /// Adds the next chunk: all columns of the first group, then those of the second.
    pub(in crate::pack) fn push(&mut self, texts: Option<TextStatistics>, block_bytes: usize) {
        let at = self.pushed % self.columns.len().max(1);
        self.pushed += 1;
        if let Some(column) = self.columns.get_mut(at) {
            column.chunks.extend(texts);
            column.block_bytes += block_bytes;
        }
    }

    /// Returns the index of all text columns; it is empty if it would skip no group.
    pub(in crate::pack) fn finish(self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut useful = false;
        for column in self.columns.iter().filter(|column| column.is_text) {
            useful |= column.put(&mut out);
        }
        if useful { out } else { Vec::new() }
    }
}

impl IndexedColumn {
    /// Appends the bounds and the filters if they are useful; returns whether any is.
    fn put(&self, out: &mut Vec<u8>) -> bool {
        let bounds = self.bounds_are_useful();
        let filter = self.useful_filter();
        let mut flags = 0;
        flags |= if bounds { BOUNDS } else { 0 };
        flags |= if filter.is_some() { FILTER } else { 0 };
        out.push(flags);
        if bounds {
            for chunk in &self.chunks {
                put::lp(out, &chunk.min);
                put::lp(out, &chunk.max);
            }
        }
        if let Some(size) = filter {
            out.push(size.count);
            for chunk in &self.chunks {
                let bytes = size.bytes(chunk.hashes.len());
                put::lp(out, &bloom::make(&chunk.hashes, size.count, bytes));
            }
        }
        flags != 0
    }

    fn bounds_are_useful(&self) -> bool {
        let chunks = &self.chunks;
        let matching = |prefix: &[u8]| chunks.iter().filter(|chunk| chunk.may_hold(prefix)).count();
        let all: usize =
            chunks.iter().map(|chunk| matching(&chunk.min) + matching(&chunk.max)).sum();
        let possible = 2 * chunks.len() * chunks.len();
        chunks.len() > 1 && (all as f64) < MAX_MATCHING_GROUPS * possible as f64
    }

    /// Returns the size of the filters; `None` if they would be too large, or skip few groups.
    fn useful_filter(&self) -> Option<FilterSize> {
        let hashes: Vec<&[u64]> = self.chunks.iter().map(|chunk| &chunk.hashes[..]).collect();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a fraction of a size is a size"
        )]
        let max_bytes = (MAX_FILTER_OVERHEAD * self.block_bytes as f64) as usize;
        FilterSize::choose(&hashes, max_bytes)
    }
}
