//! The reads that fetch some ranges, and what they cost.

use std::ops::Range;

use super::merge_near;

/// The reads that fetch some ranges of a source, and what they cost.
#[derive(Clone, Debug)]
pub struct FetchPlan {
    read_cost: u64,
    reads: Vec<Range<u64>>,
}

impl FetchPlan {
    /// Returns a plan without reads for a source with this
    /// [cost of a read](super::ByteSource::read_cost).
    pub fn new(read_cost: u64) -> Self {
        Self { read_cost, reads: Vec::new() }
    }

    /// Adds ranges; those that lie close to others are read together with them.
    pub fn add(&mut self, ranges: &[Range<u64>]) {
        self.reads.extend_from_slice(ranges);
        self.reads = merge_near(&self.reads, self.read_cost);
    }

    /// Returns the reads, sorted.
    pub fn reads(&self) -> &[Range<u64>] {
        &self.reads
    }

    /// Returns how many bytes the reads transfer, those between the ranges included.
    pub fn bytes(&self) -> u64 {
        let lengths = self.reads.iter().map(|read| read.end.saturating_sub(read.start));
        lengths.fold(0, u64::saturating_add)
    }

    /// Returns the cost of all reads, in bytes that could be transferred in the same time.
    pub fn cost(&self) -> u64 {
        self.bytes().saturating_add(self.read_cost.saturating_mul(self.reads.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_inside_a_gap_costs_nothing_more() {
        let mut plan = FetchPlan::new(100);
        plan.add(&[0..10, 90..100, 300..310]);
        assert_eq!((plan.reads(), plan.bytes(), plan.cost()), (&[0..100, 300..310][..], 110, 310));
        plan.add(&[40..50, 60..70]);
        assert_eq!((plan.reads().len(), plan.cost()), (2, 310));
        plan.add(&[200..201, 400..402]);
        assert_eq!((plan.reads(), plan.cost()), (std::slice::from_ref(&(0..402)), 502));
    }
}
