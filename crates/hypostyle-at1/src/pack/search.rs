//! What each level spends its time on.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;

use crate::pack::options::{Layout, PackOptions};
use crate::pack::tables::column::{Kind, Order};
use hypostyle_core::compress::xz::encode::{Block, Effort, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;

/// How hard the best form of a table is searched for.
#[derive(Clone, Debug)]
pub(super) struct SearchParams {
    /// Which column types there are.
    pub(super) layout: Layout,
    /// The level of zstd, for what is done with it; 0 if that is nothing.
    pub(super) zstd: i32,
    /// Bytes of text that candidates are judged by, at most.
    bytes: usize,
    /// The share of a text that this is, at most, unless that is too little to judge by.
    share: usize,
    /// How much larger the pieces are by which long columns are judged.
    pub(super) pieces: usize,
    /// How much more two columns in one may take by entropy to be judged by trial.
    pub(super) hope: f64,
    /// Most fields that share a column.
    pub(super) union: usize,
    /// Most columns for which sharing is tried.
    pub(super) widest: usize,
    /// Whether types are tried that seldom win.
    pub(super) all_kinds: bool,
    /// Types of a column that are tuned, and how much worse than the best they may look.
    pub(super) kinds: usize,
    pub(super) close: f64,
    /// Forms of a column that are made in full, and how much worse than the best they may look.
    pub(super) finals: usize,
    pub(super) doubt: f64,
    pub(super) effort: Effort,
    /// How hard trials look for matches.
    trials: Effort,
    /// What came of glances, which rough searches and others have in common.
    seen: Arc<Mutex<HashMap<Seen, usize>>>,
}

/// The hash of some bytes, how many they are, and how they were compressed.
type Seen = (u64, usize, Tuning);

/// Fewer bytes of text are too little to judge by.
const LEAST: usize = 256 << 10;

/// Bytes of text that candidates are judged by if that is done roughly.
const ROUGHLY: usize = 96 << 10;

/// Rows that stand together in a sample.
const RUN: usize = 6 << 10;

const ONE: &[Tuning] = &[Tuning::flat(3)];
/// For text, for bytes that are numbers, for numbers of one byte and of more.
const TEXT: &[Tuning] = &[Tuning::flat(3), Tuning::flat(4), Tuning::flat(0), Tuning::pairs(0)];
const VALUES: &[Tuning] = &[Tuning::flat(1), Tuning::flat(0), Tuning::flat(4)];
const SINGLE: &[Tuning] = &[Tuning::flat(1), Tuning::flat(0), Tuning::flat(3)];
const DOUBLE: &[Tuning] = &[Tuning::flat(3), Tuning::flat(1), Tuning::flat(4), Tuning::pairs(0)];
const COARSE: &[Tuning] = &[Tuning::pairs(0), Tuning::pairs(3), HALF];
const HALF: Tuning = Tuning { lc: 3, lp: 0, pb: 1, delta: 0, effort: Effort::Full };
const MANY: &[Tuning] = &[
    Tuning::flat(0),
    Tuning::flat(1),
    Tuning::flat(2),
    Tuning::flat(3),
    Tuning::flat(4),
    Tuning::pairs(0),
    Tuning::pairs(1),
    Tuning::pairs(2),
    Tuning::pairs(3),
    Tuning { lc: 0, lp: 0, pb: 2, delta: 0, effort: Effort::Full },
    Tuning { lc: 0, lp: 2, pb: 2, delta: 0, effort: Effort::Full },
    HALF,
    Tuning { lc: 0, lp: 0, pb: 0, delta: 1, effort: Effort::Full },
    Tuning { lc: 3, lp: 0, pb: 0, delta: 1, effort: Effort::Full },
    Tuning { lc: 1, lp: 0, pb: 1, delta: 0, effort: Effort::Full },
    Tuning { lc: 3, lp: 0, pb: 2, delta: 0, effort: Effort::Full },
];

impl SearchParams {
    /// The search that the options ask for.
    pub(super) fn new(options: &PackOptions) -> Self {
        let six = Self {
            layout: options.layout,
            zstd: 0,
            bytes: 1 << 20,
            share: 6,
            pieces: 1,
            hope: 1.15,
            union: 4,
            widest: 100,
            all_kinds: false,
            kinds: 2,
            close: 1.06,
            finals: 1,
            doubt: 1.01,
            effort: Effort::Full,
            trials: Effort::Quick,
            seen: Arc::default(),
        };
        match options.level {
            1 if options.layout == Layout::Reference => {
                Self { zstd: 9, bytes: 256 << 10, hope: 1.0, kinds: 1, ..six }
            }
            0..=3 => Self { bytes: 512 << 10, union: 2, kinds: 1, ..six },
            4 | 5 => Self { bytes: 768 << 10, kinds: 1, ..six },
            6 => six,
            7 => {
                Self { bytes: 2 << 20, share: 3, pieces: 2, kinds: 3, close: 1.1, finals: 2, ..six }
            }
            8 => Self {
                bytes: 2 << 20,
                share: 2,
                pieces: 4,
                union: 6,
                all_kinds: true,
                kinds: 3,
                close: 1.1,
                finals: 4,
                doubt: 1.04,
                ..six
            },
            _ => Self {
                bytes: 6 << 20,
                share: 1,
                pieces: 8,
                union: 8,
                widest: 150,
                all_kinds: true,
                kinds: 4,
                close: 1.15,
                finals: 8,
                doubt: 1.06,
                effort: Effort::Extreme,
                ..six
            },
        }
    }

    /// One that finds out roughly, and quickly, what content takes in some form.
    #[must_use]
    pub(super) fn rough(&self) -> Self {
        let (effort, trials) = (Effort::Rough, Effort::Rough);
        Self { bytes: ROUGHLY, kinds: 1, effort, trials, ..self.clone() }
    }

    /// Whether it finds out no more than what content takes, roughly.
    pub(super) fn is_rough(&self) -> bool {
        self.effort == Effort::Rough
    }

    /// Rows to judge by: some runs of neighbours from all over the table.
    pub(super) fn sample(&self, rows: usize, bytes: usize) -> Vec<Range<usize>> {
        let row = bytes / rows.max(1) + 1;
        let wanted = (bytes / self.share).max(LEAST).min(self.bytes);
        let wanted = (wanted / row).max(100);
        if rows <= wanted * 5 / 4 {
            return std::iter::once(0..rows).collect();
        }
        let run = RUN.min(wanted.div_ceil(2));
        let runs = wanted.div_ceil(run);
        let step = (rows - run) / runs.saturating_sub(1).max(1);
        (0..runs).map(|at| at * step..at * step + run).collect()
    }

    /// Whether everything is done with zstd.
    pub(super) fn is_quick(&self) -> bool {
        self.zstd > 0
    }

    /// Whether columns of this type may be written.
    pub(super) fn allows(&self, kind: Kind) -> bool {
        self.layout == Layout::Reference || !matches!(kind, Kind::Dict(_) | Kind::Shuf)
    }

    /// What bytes take, by a quick trial.
    pub(super) fn trial(&self, bytes: &[u8], tuning: Tuning) -> Result<f64> {
        Ok(self.tried(bytes, tuning.with_effort(self.trials))? as f64)
    }

    /// The same by a rough trial: it tells which of two tunings suits bytes better, but not
    /// which of two forms is smaller.
    pub(super) fn glance(&self, bytes: &[u8], tuning: Tuning) -> Result<f64> {
        let tuning = tuning.with_effort(Effort::Rough);
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let key = (hasher.finish(), bytes.len(), tuning);
        let seen = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen().get(&key).copied();
        let size = match known {
            Some(size) => size,
            None => {
                let size = self.tried(bytes, tuning)?;
                seen().insert(key, size);
                size
            }
        };
        Ok(size as f64)
    }

    fn tried(&self, bytes: &[u8], tuning: Tuning) -> Result<usize> {
        match self.is_quick() {
            true => Ok(zstd::compress(bytes, 1)?.len()),
            false => Ok(Block::new(bytes, tuning)?.cost()),
        }
    }

    /// The tunings that are tried for a column; the first one is the likeliest.
    pub(super) fn tunings(&self, kind: Kind, distinct: usize) -> &'static [Tuning] {
        let tunings = match kind {
            _ if self.is_quick() => ONE,
            _ if self.all_kinds => MANY,
            Kind::Text => TEXT,
            Kind::Dict(Order::Coarse) => COARSE,
            Kind::Dict(_) if distinct > 128 => DOUBLE,
            Kind::Dict(_) => SINGLE,
            _ => VALUES,
        };
        if self.is_rough() { tunings.get(..1).unwrap_or(tunings) } else { tunings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_lie_inside_and_apart() {
        for rows in [0, 1, 1000, 20_000, 60_000, 61_000, 5_000_000] {
            for bytes in [1, 2, 20, 500, 100_000] {
                for level in 1..=9 {
                    let sample = SearchParams::new(&PackOptions::default().with_level(level))
                        .sample(rows, rows * bytes);
                    assert!(sample.iter().all(|run| run.end <= rows));
                    assert!(sample.windows(2).all(|pair| pair[0].end <= pair[1].start));
                }
            }
        }
    }
}
