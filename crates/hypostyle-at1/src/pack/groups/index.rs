//! What we add to the index of row groups, so that texts skip groups too (§6.5).

use std::borrow::Cow;

use crate::bloom;
use crate::group_index::{BOUNDS, FILTER};
use crate::pack::groups::zones::Type;
use hypostyle_core::predicate::TextBounds;
use hypostyle_core::wire::put;

/// Bytes of the least and the greatest text that are kept.
const PREFIX: usize = 8;

/// Bits for each text in a filter, and how many of them it sets; the best first.
const FILTERS: [(usize, u8); 3] = [(10, 7), (6, 4), (4, 3)];

/// The share of a column's bytes that its filters may take.
const PRICE: f64 = 0.03;

/// Filters say little if a text is in more than this share of the groups, and
/// bounds say little if a text is between those of more than that share.
const EVERYWHERE: f64 = 0.7;

/// The texts of one column in one group; empty ones are none.
#[derive(Debug, Default)]
pub(in crate::pack) struct Group {
    least: Vec<u8>,
    most: Vec<u8>,
    /// The hash of each distinct text, in order.
    hashes: Vec<u64>,
}

impl Group {
    pub(in crate::pack) fn of<'a>(texts: impl Iterator<Item = Cow<'a, [u8]>>) -> Self {
        let mut group = Self::default();
        let mut first = true;
        for text in texts.filter(|text| !text.is_empty()) {
            let start = text.get(..PREFIX).unwrap_or(&text);
            if first || start < group.least.as_slice() {
                group.least = start.to_vec();
            }
            if first || start > group.most.as_slice() {
                group.most = start.to_vec();
            }
            first = false;
            group.hashes.push(bloom::hash(&text));
        }
        group.hashes.sort_unstable();
        group.hashes.dedup();
        group
    }

    fn may_hold(&self, start: &[u8]) -> bool {
        TextBounds { min: &self.least, max: &self.most }.may_hold(start)
    }
}

/// What is added for one table.
#[derive(Debug)]
pub(in crate::pack) struct Index {
    /// For each column of text its groups, and the bytes of its blocks.
    columns: Vec<(bool, Vec<Group>, usize)>,
    pushed: usize,
}

impl Index {
    pub(in crate::pack) fn new(kinds: &[Type]) -> Self {
        let columns = kinds.iter().map(|kind| (kind.id() == 0, Vec::new(), 0)).collect();
        Self { columns, pushed: 0 }
    }

    /// Adds a block; they come group by group.
    pub(in crate::pack) fn push(&mut self, group: Option<Group>, bytes: usize) {
        let at = self.pushed % self.columns.len().max(1);
        self.pushed += 1;
        if let Some((_, groups, total)) = self.columns.get_mut(at) {
            groups.extend(group);
            *total += bytes;
        }
    }

    /// The index, for each column of text: nothing at all if there is nothing to say.
    pub(in crate::pack) fn finish(self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut useful = false;
        for (is_text, groups, bytes) in self.columns {
            if is_text {
                useful |= put_column(&groups, bytes, &mut out);
            }
        }
        if useful { out } else { Vec::new() }
    }
}

/// Appends what pays for one column; says whether that is anything.
fn put_column(groups: &[Group], bytes: usize, out: &mut Vec<u8>) -> bool {
    let bounds = bounds_pay(groups);
    let filter = filter_that_pays(groups, bytes);
    let mut flags = 0;
    flags |= if bounds { BOUNDS } else { 0 };
    flags |= if filter.is_some() { FILTER } else { 0 };
    out.push(flags);
    if bounds {
        for group in groups {
            put::lp(out, &group.least);
            put::lp(out, &group.most);
        }
    }
    if let Some((bits, count)) = filter {
        out.push(count);
        for group in groups {
            let bytes = (group.hashes.len() * bits).div_ceil(8);
            put::lp(out, &bloom::make(&group.hashes, count, bytes));
        }
    }
    flags != 0
}

fn bounds_pay(groups: &[Group]) -> bool {
    let inside = |start: &[u8]| groups.iter().filter(|group| group.may_hold(start)).count();
    let all: usize = groups.iter().map(|group| inside(&group.least) + inside(&group.most)).sum();
    groups.len() > 1 && (all as f64) < EVERYWHERE * (2 * groups.len() * groups.len()) as f64
}

fn filter_that_pays(groups: &[Group], bytes: usize) -> Option<(usize, u8)> {
    let all: usize = groups.iter().map(|group| group.hashes.len()).sum();
    let mut distinct: Vec<u64> = groups.iter().flat_map(|group| &group.hashes).copied().collect();
    distinct.sort_unstable();
    distinct.dedup();
    if groups.len() < 2 || all as f64 > EVERYWHERE * (distinct.len() * groups.len()) as f64 {
        return None;
    }
    let fits = |&(bits, _): &(usize, u8)| (all * bits / 8) as f64 <= PRICE * bytes as f64;
    FILTERS.into_iter().find(fits)
}
