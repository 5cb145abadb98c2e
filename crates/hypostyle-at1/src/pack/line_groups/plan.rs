//! Chooses the number of groups, and the lists that are cut.

use std::ops::Range;

use super::contents::LineContents;
use super::cost::ListCosts;
use crate::pack::context::EncodeContext;
use hypostyle_core::error::Result;

/// A part of the stream `hyp.groups` for each list and group, in bytes, roughly.
const PART_COST: f64 = 0.25;

/// The same for each group, whatever its lists are.
const GROUP_COST: f64 = 16.0;

/// The part of what a reader needs that groups must save a reader of one row.
const MIN_SAVING: f64 = 0.2;

/// The share of a list that cuts may cost if the caller sets the lines of a group.
const MAX_FIXED_COST: f64 = 0.5;

/// A choice of groups.
#[derive(Clone, Debug)]
pub(super) struct GroupPlan {
    /// The estimated bytes of the archive.
    pub(super) archive_bytes: usize,
    /// Runs of lines in a group; the last group may have fewer.
    pub(super) runs_per_group: usize,
    /// For each list whether it is cut.
    pub(super) cut: Vec<bool>,
    /// The xz block that each list has if it is not cut, among those that shared one before:
    /// lists with the same number share a block again.
    pub(super) blocks: Vec<usize>,
}

impl GroupPlan {
    /// Finds the groups that save a reader of one row the most, and add at most a share to the
    /// archive; `None` if they save little.
    pub(super) fn find(
        contents: &LineContents,
        share: f64,
        context: &EncodeContext<'_>,
    ) -> Result<Option<Self>> {
        let mut costs = ListCosts::estimate(contents, context.threads)?;
        // Few texts gain, and what cuts lose nearby takes long to measure.
        if Self::best(contents, &costs, share).is_none() {
            return Ok(None);
        }
        costs.measure_largest(contents, context)?;
        Ok(Self::best(contents, &costs, share))
    }

    /// Finds the best groups by some costs.
    fn best(contents: &LineContents, costs: &ListCosts, share: f64) -> Option<Self> {
        let budget = if contents.is_fixed { f64::INFINITY } else { costs.archive * share };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
        let archive_bytes = costs.archive as usize;
        let mut best: Option<(f64, Self)> = None;
        let mut runs_per_group = 1;
        while contents.runs.div_ceil(runs_per_group) > 1 {
            let groups = contents.runs.div_ceil(runs_per_group);
            let fixed = groups as f64 * (GROUP_COST + PART_COST * contents.lists.len() as f64);
            let (cut, blocks) = (vec![false; contents.lists.len()], costs.blocks(contents));
            let plan = Self { archive_bytes, runs_per_group, cut, blocks };
            let (saved, plan) = plan.fill(contents, costs, budget - fixed);
            if best.as_ref().is_none_or(|(most, _)| saved > *most) {
                best = Some((saved, plan));
            }
            if contents.is_fixed {
                break;
            }
            runs_per_group *= 2;
        }
        let least = costs.lists.iter().map(|cost| cost.weight).sum::<f64>() * MIN_SAVING;
        best.filter(|(saved, _)| contents.is_fixed || *saved >= least).map(|(_, plan)| plan)
    }

    /// Cuts the lists that save the most for what they cost; returns what they save.
    fn fill(mut self, contents: &LineContents, costs: &ListCosts, mut budget: f64) -> (f64, Self) {
        let groups = self.groups(contents);
        let is_fixed = contents.is_fixed;
        let mut candidates: Vec<(f64, f64, usize)> = Vec::new();
        for cost in &costs.lists {
            let has_all = contents
                .lists
                .get(cost.index)
                .is_some_and(|list| groups.iter().all(|runs| !list.part(runs.clone()).is_empty()));
            let (adds, saves) =
                (cost.of(groups.len()), cost.weight * (1.0 - 1.0 / groups.len() as f64));
            if has_all && (!is_fixed || adds <= cost.weight * MAX_FIXED_COST) {
                candidates.push((saves, adds, cost.index));
            }
        }
        candidates.sort_by(|one, other| (other.0 / other.1).total_cmp(&(one.0 / one.1)));
        let mut saved = 0.0;
        for (saves, adds, index) in candidates {
            if adds <= budget {
                budget -= adds;
                saved += saves;
                if let Some(is_cut) = self.cut.get_mut(index) {
                    *is_cut = true;
                }
            }
        }
        (saved, self)
    }

    /// Returns the runs of each group.
    pub(super) fn groups(&self, contents: &LineContents) -> Vec<Range<usize>> {
        let (runs, step) = (contents.runs, self.runs_per_group);
        (0..runs).step_by(step).map(|run| run..runs.min(run + step)).collect()
    }
}
