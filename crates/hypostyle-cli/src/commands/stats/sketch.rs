//! What is kept of the values of a column: counts of frequent ones, an estimate of the distinct
//! ones, and a random sample of numbers.

#![expect(clippy::cast_possible_truncation, reason = "casts of floats saturate, which is fine")]

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Distinct values that are counted exactly.
const MAX_COUNTED: usize = 20_000;

/// Registers of the estimate of distinct values; its standard error is 0.8 %.
const REGISTER_BITS: u32 = 14;

/// Numbers in the random sample.
const SAMPLED: usize = 1 << 16;

/// Counts values exactly while they are few, and estimates how many are distinct beyond that.
#[derive(Debug)]
pub(super) struct DistinctValues {
    counts: HashMap<Box<str>, u64>,
    /// The registers of a HyperLogLog.
    registers: Option<Vec<u8>>,
    hasher: BuildHasherDefault<DefaultHasher>,
}

impl DistinctValues {
    pub(super) fn new() -> Self {
        Self { counts: HashMap::new(), registers: None, hasher: BuildHasherDefault::default() }
    }

    pub(super) fn add(&mut self, value: &str) {
        if let Some(count) = self.counts.get_mut(value) {
            *count += 1;
            return;
        }
        if self.counts.len() < MAX_COUNTED {
            self.counts.insert(value.into(), 1);
            return;
        }
        let (counts, hasher) = (&self.counts, &self.hasher);
        let registers = self.registers.get_or_insert_with(|| {
            let mut registers = vec![0; 1 << REGISTER_BITS];
            counts.keys().for_each(|value| note(&mut registers, hasher.hash_one(&**value)));
            registers
        });
        note(registers, hasher.hash_one(value));
    }

    /// Returns the number of distinct values, and whether it is exact.
    pub(super) fn distinct(&self) -> (u64, bool) {
        match &self.registers {
            None => (self.counts.len() as u64, true),
            Some(registers) => (estimate(registers), false),
        }
    }

    /// Returns the most frequent values with their counts, the most frequent first.
    ///
    /// Of many distinct values, only the first ones were counted.
    pub(super) fn top(&self, count: usize) -> Vec<(&str, u64)> {
        let mut top: Vec<(&str, u64)> =
            self.counts.iter().map(|(value, &count)| (&**value, count)).collect();
        top.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        top.truncate(count);
        top
    }
}

/// Notes the hash of a value in the registers of a HyperLogLog.
fn note(registers: &mut [u8], hash: u64) {
    let index = usize::try_from(hash >> (64 - REGISTER_BITS)).unwrap_or_default();
    let rest = (hash << REGISTER_BITS) | 1 << (REGISTER_BITS - 1);
    let rank = u8::try_from(rest.leading_zeros() + 1).unwrap_or(u8::MAX);
    if let Some(register) = registers.get_mut(index) {
        *register = rank.max(*register);
    }
}

/// Estimates how many distinct values the registers saw.
fn estimate(registers: &[u8]) -> u64 {
    let count = registers.len() as f64;
    let alpha = 0.7213 / (1.0 + 1.079 / count);
    let sum: f64 = registers.iter().map(|&rank| (-f64::from(rank)).exp2()).sum();
    let raw = alpha * count * count / sum;
    let empty = registers.iter().filter(|&&rank| rank == 0).count() as f64;
    // Linear counting is better for few values.
    let better = if raw < 2.5 * count && empty > 0.0 { count * (count / empty).ln() } else { raw };
    better.round() as u64
}

/// Mean, standard deviation, and a random sample of the numbers of a column.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    count: u64,
    mean: f64,
    /// The sum of the squares of the distances from the mean.
    squares: f64,
    sample: Vec<f64>,
    random: u64,
}

impl Numbers {
    /// Adds a number; those that are infinite or no number count as values only.
    pub(super) fn add(&mut self, number: f64) {
        if !number.is_finite() {
            return;
        }
        self.count += 1;
        let distance = number - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (number - self.mean);
        if self.sample.len() < SAMPLED {
            self.sample.push(number);
            return;
        }
        // Each number so far is in the sample with the same chance.
        self.random =
            self.random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        let place = (u128::from(self.random) * u128::from(self.count)) >> 64;
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if let Some(place) = self.sample.get_mut(place) {
            *place = number;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the standard deviation of the numbers as a sample of more.
    pub(super) fn deviation(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt())
    }

    /// Returns the sample in order, and whether it is all numbers.
    pub(super) fn sorted(mut self) -> (Vec<f64>, bool) {
        self.sample.sort_unstable_by(f64::total_cmp);
        (self.sample, self.count <= SAMPLED as u64)
    }
}

/// Returns the number below which this share of sorted numbers lies, between two of them if need be.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let below = sorted.get(place.floor() as usize).copied().unwrap_or_default();
    let above = sorted.get(place.ceil() as usize).copied().unwrap_or(below);
    below + (above - below) * place.fract()
}

/// Draws how many of the sorted numbers lie in each of 16 parts of their range.
pub(super) fn histogram(sorted: &[f64]) -> Option<String> {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const BINS: usize = 16;
    let (&min, &max) = (sorted.first()?, sorted.last()?);
    let width = max / BINS as f64 - min / BINS as f64;
    if width <= 0.0 || !width.is_finite() {
        return None;
    }
    let mut counts = [0_usize; BINS];
    for number in sorted {
        let bin = (((number - min) / width) as usize).min(BINS - 1);
        counts.iter_mut().skip(bin).take(1).for_each(|count| *count += 1);
    }
    let most = counts.iter().copied().max().unwrap_or_default();
    let bar = |&count: &usize| match count {
        0 => ' ',
        count => BARS.get((count * BARS.len() - 1) / most.max(1)).copied().unwrap_or('█'),
    };
    Some(counts.iter().map(bar).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_values_are_exact_or_near() {
        let mut few = DistinctValues::new();
        (0..50_000).for_each(|i: u32| few.add(&(i % 7).to_string()));
        assert_eq!(few.distinct(), (7, true));
        assert_eq!(few.top(1), [("0", 7143)]);
        for count in [30_000_u32, 400_000] {
            let mut many = DistinctValues::new();
            (0..2 * count).for_each(|i| many.add(&format!("value {}", i % count)));
            let (found, is_exact) = many.distinct();
            assert!(!is_exact);
            let error = (found as f64 / f64::from(count) - 1.0).abs();
            assert!(error < 0.03, "{found} of {count}");
        }
    }

    #[test]
    fn quantiles_and_moments_of_many_numbers() {
        let mut numbers = Numbers::default();
        (0..200_000).for_each(|i| numbers.add(f64::from(i % 1000)));
        numbers.add(f64::NAN);
        assert!((numbers.mean() - 499.5).abs() < 1e-6);
        assert!((numbers.deviation().unwrap() - 288.675).abs() < 0.01);
        let (sample, is_exact) = numbers.sorted();
        assert!(!is_exact && (quantile(&sample, 0.5) - 499.5).abs() < 10.0);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&[7.0], 0.25), 7.0);
        assert_eq!(histogram(&[1.0, 1.0]), None);
        let drawn = histogram(&[0.0, 0.0, 0.0, 0.0, 16.0]).unwrap();
        assert!(drawn.starts_with('█') && drawn.ends_with('▂'), "{drawn}");
    }
}
