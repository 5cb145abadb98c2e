//! Splits the lines of a VCF file.

use std::cmp::Reverse;

use hashbrown::HashMap;

use crate::pack::tables::decimal::canonical;

/// Columns before the samples.
pub(in crate::pack) const FIXED_COLUMNS: usize = 9;

/// The index of the position among them.
pub(super) const POS: usize = 1;

/// One line in so many may be verbatim for positions to be stored as differences.
const MIN_LINES_PER_VERBATIM: usize = 20;

/// A line with samples, split at its tabs.
pub(in crate::pack) struct VcfRecord<'a> {
    pub(in crate::pack) columns: [&'a [u8]; FIXED_COLUMNS],
    /// The cells of all samples, with the tabs between them.
    pub(in crate::pack) samples: &'a [u8],
}

impl<'a> VcfRecord<'a> {
    /// Splits a line; returns `None` for header lines and lines without samples.
    pub(in crate::pack) fn parse(line: &'a [u8]) -> Option<Self> {
        if line.starts_with(b"#") {
            return None;
        }
        let mut columns = [&[][..]; FIXED_COLUMNS];
        let mut rest = line;
        for column in &mut columns {
            let end = memchr::memchr(b'\t', rest)?;
            *column = rest.get(..end)?;
            rest = rest.get(end + 1..)?;
        }
        Some(Self { columns, samples: rest })
    }

    /// Returns how many samples the line has.
    pub(in crate::pack) fn sample_count(&self) -> usize {
        memchr::memchr_iter(b'\t', self.samples).count() + 1
    }

    /// Returns the cells of the samples.
    pub(in crate::pack) fn cells(&self) -> impl Iterator<Item = &'a [u8]> {
        cells(self.samples)
    }

    /// Returns column INFO.
    pub(in crate::pack) fn info(&self) -> &'a [u8] {
        let [.., info, _] = self.columns;
        info
    }

    /// Returns the position, if it prints as the same digits again.
    pub(super) fn position(&self) -> Option<i64> {
        self.columns.get(POS).and_then(|pos| canonical(pos))
    }

    /// Returns whether the line has a position and bases, unlike most other tables.
    pub(super) fn is_plausible(&self) -> bool {
        let [_, pos, _, bases, _, _, _, _, format] = self.columns;
        canonical(pos).is_some()
            && !bases.is_empty()
            && bases.iter().all(|base| b"ACGTNacgtn".contains(base))
            && format.iter().all(|&byte| byte.is_ascii_alphanumeric() || b":_.".contains(&byte))
    }
}

/// Returns the cells of the samples of a line.
pub(super) fn cells(samples: &[u8]) -> impl Iterator<Item = &[u8]> {
    samples.split(|&byte| byte == b'\t')
}

/// What all split lines have in common.
pub(in crate::pack) struct VcfLayout {
    /// How many samples each line has.
    pub(in crate::pack) samples: usize,
    /// Whether positions are stored as differences.
    pub(super) has_deltas: bool,
}

impl VcfLayout {
    /// Returns the layout of most lines with samples; `None` if there are no such lines.
    pub(in crate::pack) fn find(lines: &[u8]) -> Option<Self> {
        // For each number of samples the lines, and those whose position is a number.
        let mut seen: HashMap<usize, (usize, usize)> = HashMap::new();
        for record in lines.split(|&byte| byte == b'\n').filter_map(VcfRecord::parse) {
            let (all, numbered) = seen.entry(record.sample_count()).or_default();
            *all += 1;
            *numbered += usize::from(record.position().is_some());
        }
        let (samples, (all, numbered)) =
            seen.into_iter().max_by_key(|&(samples, (all, _))| (all, Reverse(samples)))?;
        let has_deltas = numbered > 0 && (all - numbered) * MIN_LINES_PER_VERBATIM <= all;
        Some(Self { samples, has_deltas })
    }
}
