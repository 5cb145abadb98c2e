//! Gives every task row groups of its own, and none to what filters exclude.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt};
use hypostyle_datafusion::{HypostyleSource, RowGroups};

use crate::physical_codec::scan_of;

/// Divides the files of all scans of a plan by row groups.
///
/// A scan keeps at most as many partitions as the planner gave it, on which the rest of the plan
/// may depend. With `at_least`, a scan may get that many.
pub(crate) async fn assign(
    plan: Arc<dyn ExecutionPlan>,
    state: &dyn Session,
    at_least: Option<usize>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut scans = Vec::new();
    plan.apply(|node| {
        if let Some((config, source)) = scan_of(node.as_ref()) {
            scans.push((config.clone(), source.clone()));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let mut divided = VecDeque::with_capacity(scans.len());
    for (config, source) in scans {
        divided.push_back(divide(config, &source, state, at_least).await?);
    }
    let plan = plan.transform(|node| {
        if scan_of(node.as_ref()).is_none() {
            return Ok(Transformed::no(node));
        }
        Ok(match divided.pop_front().flatten() {
            Some(config) => Transformed::yes(DataSourceExec::from_data_source(config)),
            None => Transformed::no(node),
        })
    })?;
    Ok(plan.data)
}

/// A part of a file that one task reads.
#[derive(Clone, Debug)]
struct Unit {
    /// The number of the file.
    file: usize,
    /// The row group; the whole file if there is none.
    group: Option<usize>,
    /// About how much work it is.
    bytes: u64,
}

/// Divides the files of a scan; `None` if they must stay as they are.
async fn divide(
    mut config: FileScanConfig,
    source: &HypostyleSource,
    state: &dyn Session,
    at_least: Option<usize>,
) -> Result<Option<FileScanConfig>> {
    if !config.output_ordering.is_empty() || config.output_partitioning.is_some() {
        return Ok(None);
    }
    let mut files: Vec<PartitionedFile> = Vec::new();
    for part in config.file_groups.iter().flat_map(FileGroup::iter) {
        let is_known =
            |file: &PartitionedFile| file.object_meta.location == part.object_meta.location;
        // The pieces that the planner has cut a file into follow each other.
        if !files.iter().rev().any(is_known) {
            let mut file = part.clone();
            (file.range, file.statistics) = (None, None);
            files.push(file);
        }
    }
    let units = if source.kind().is_text() {
        // A text is read from its start to find its types, by every task that has a part of it.
        let whole = |(file, of): (usize, &PartitionedFile)| Unit {
            file,
            group: None,
            bytes: of.object_meta.size.max(1),
        };
        files.iter().enumerate().map(whole).collect()
    } else {
        units_of(&files, source, &config, state).await?
    };
    let partitions = config.file_groups.len().max(at_least.unwrap_or(1));
    config.file_groups = groups(&files, &units, partitions);
    Ok(Some(config))
}

/// Returns the row groups of all files that filters do not exclude.
async fn units_of(
    files: &[PartitionedFile],
    source: &HypostyleSource,
    config: &FileScanConfig,
    state: &dyn Session,
) -> Result<Vec<Unit>> {
    let runtime = state.runtime_env();
    let store = runtime.object_store(&config.object_store_url)?;
    let source =
        &source.clone().with_metadata_cache(runtime.cache_manager.get_file_metadata_cache());
    let concurrency = state.config_options().execution.meta_fetch_concurrency.get();
    let planned: Vec<Vec<Unit>> = futures::stream::iter(files.iter().enumerate())
        .map(|(file, of)| {
            let store = store.clone();
            async move {
                let groups = source.row_groups(&store, &of.object_meta, config).await?;
                let unit = |group: hypostyle_datafusion::PlannedGroup| Unit {
                    file,
                    group: Some(group.index),
                    bytes: group.bytes.max(1),
                };
                Ok::<_, datafusion::error::DataFusionError>(
                    groups.into_iter().map(unit).collect::<Vec<Unit>>(),
                )
            }
        })
        .boxed()
        .buffered(concurrency)
        .try_collect()
        .await?;
    Ok(planned.into_iter().flatten().collect())
}

/// Divides units among partitions: each has consecutive ones, about the same number of bytes.
fn groups(files: &[PartitionedFile], units: &[Unit], partitions: usize) -> Vec<FileGroup> {
    let total: u128 = units.iter().map(|unit| u128::from(unit.bytes)).sum();
    let of_file = |file: usize| {
        let units = units.iter().filter(|unit| unit.file == file);
        units.map(|unit| u128::from(unit.bytes)).sum::<u128>()
    };
    let (mut groups, mut current): (Vec<FileGroup>, Vec<PartitionedFile>) = Default::default();
    // The first unit of the part that is being made, and where it starts in its file.
    let mut open: Option<(&Unit, usize, u128)> = None;
    let (mut before, mut before_in_file, mut file_total) = (0_u128, 0_u128, 1_u128);
    let mut last: Option<(usize, usize)> = None;
    let part = |(first, end, start): (&Unit, usize, u128), until: u128, whole: u128| {
        let mut file = files.get(first.file)?.clone();
        if let Some(group) = first.group {
            let size = u128::from(file.object_meta.size);
            let at = |bytes: u128| i64::try_from(size * bytes / whole.max(1)).unwrap_or(i64::MAX);
            file.range = Some(FileRange { start: at(start), end: at(until) });
            file = file.with_extension(RowGroups(group..end));
        }
        Some(file)
    };
    for unit in units {
        let middle = before + u128::from(unit.bytes) / 2;
        let partition = middle * partitions as u128 / total.max(1);
        let partition = usize::try_from(partition).unwrap_or(usize::MAX);
        let here = (partition, unit.file);
        if last != Some(here) {
            current.extend(open.take().and_then(|open| part(open, before_in_file, file_total)));
            if last.is_some_and(|(before, _)| before != partition) && !current.is_empty() {
                groups.push(FileGroup::new(std::mem::take(&mut current)));
            }
            if last.is_none_or(|(_, file)| file != unit.file) {
                (before_in_file, file_total) = (0, of_file(unit.file));
            }
            open = Some((unit, 0, before_in_file));
            last = Some(here);
        }
        if let Some((_, end, _)) = &mut open {
            *end = unit.group.map_or(0, |group| group.saturating_add(1));
        }
        before += u128::from(unit.bytes);
        before_in_file += u128::from(unit.bytes);
    }
    current.extend(open.take().and_then(|open| part(open, before_in_file, file_total)));
    // A plan has at least one partition.
    if !current.is_empty() || groups.is_empty() {
        groups.push(FileGroup::new(current));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(units: &[(usize, Option<usize>, u64)], partitions: usize) -> Vec<Vec<String>> {
        let files = [("a", 1000), ("b", 500), ("c", 10)];
        let files = files.map(|(name, size)| PartitionedFile::new(name.to_owned(), size));
        let units = units.iter().map(|&(file, group, bytes)| Unit { file, group, bytes });
        let groups = groups(&files, &units.collect::<Vec<_>>(), partitions);
        let described = |file: &PartitionedFile| {
            let groups = file.extensions.get::<RowGroups>().map(|groups| groups.0.clone());
            let range = file.range.as_ref().map(|range| range.start..range.end);
            format!("{} {groups:?} {range:?}", file.object_meta.location)
                .replace("Some(", "")
                .replace(')', "")
        };
        groups.iter().map(|group| group.iter().map(described).collect()).collect()
    }

    #[test]
    fn partitions_have_consecutive_row_groups() {
        let units = [(0, Some(0), 10), (0, Some(1), 10), (0, Some(5), 10), (1, Some(0), 10)];
        assert_eq!(
            divided(&units, 2),
            [vec!["a 0..2 0..666"], vec!["a 5..6 666..1000", "b 0..1 0..500"]]
        );
        assert_eq!(divided(&units, 1), [vec!["a 0..6 0..1000", "b 0..1 0..500"]]);
        assert_eq!(divided(&units, 9).len(), 4);
        // A file that is larger than the others has a partition of its own.
        let units = [(0, None, 1000), (1, None, 10), (2, None, 10)];
        assert_eq!(divided(&units, 2), [vec!["a None None", "b None None", "c None None"]]);
        assert_eq!(divided(&[], 4), [Vec::<String>::new()]);
    }

    #[test]
    fn every_row_group_is_in_one_partition() {
        let units: Vec<_> = (0..100).map(|group| (0, Some(group), 1 + group as u64 % 7)).collect();
        for partitions in [1, 2, 3, 16, 200] {
            let groups = divided(&units, partitions);
            assert!(groups.len() <= partitions);
            let mut next = 0;
            for part in groups.iter().flatten() {
                let range = part.split(' ').nth(1).unwrap();
                let (start, end) = range.split_once("..").unwrap();
                assert_eq!(start.parse::<usize>().unwrap(), next);
                next = end.parse().unwrap();
            }
            assert_eq!(next, 100);
        }
    }
}
