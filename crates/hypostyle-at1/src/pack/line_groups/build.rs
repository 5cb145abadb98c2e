//! Makes the streams of a frame with line groups.

use std::ops::Range;

use bytes::Bytes;

use super::contents::{LineContents, List};
use super::cost::column_blocks;
use super::log_slots;
use super::plan::GroupPlan;
use crate::codec::Codec;
use crate::group_statistics::{StatisticsKind, TableStatisticsBuilder};
use crate::line_groups::{
    ColumnParts, GROUPS, GroupText, GroupsMetadata, StatisticsCells, StreamParts, StreamRole,
};
use crate::log_columns::{LOG, LogClaims};
use crate::pack::context::EncodeContext;
use crate::pack::fitted_block::fitted_block;
use crate::pack::line_group_request::LineGroupRequest;
use crate::pack::options::Layout;
use crate::pack::sample::middle_run;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream, TUNINGS};
use hypostyle_core::compress::xz::encode::{self as xz, Block, Tuning};
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::wire::crc32;

/// Bytes of a list by which tunings are compared.
const SAMPLE_BYTES: usize = 96 << 10;

/// The part of the archive that all filters may take: one in so many.
const FILTER_DIVISOR: usize = 100;

/// Compresses the streams of a plan; `None` if the text has other lines.
pub(super) fn streams(
    contents: &LineContents,
    plan: &GroupPlan,
    original: &[u8],
    (request, claims): (&LineGroupRequest, Option<&LogClaims>),
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let (search, threads) = (context.search, context.threads);
    let cells = StatisticsCells::of(&request.summary);
    let groups = plan.groups(contents);
    let Some(texts) = texts(contents, &groups, original) else { return Ok(None) };
    // Columns that are cut come first, then those that share a block.
    let columns = contents.columns().len();
    let of = |column: usize| contents.first_column + column;
    let (cut, mut whole): (Vec<usize>, Vec<usize>) =
        (0..columns).partition(|&column| plan.cut.get(of(column)) == Some(&true));
    let old_blocks = column_blocks(contents);
    // A reader of a column of a log needs some classes of columns only.
    let class = |column: usize| Some(claims?.classes.get(column)?.rank().saturating_sub(2));
    let block =
        |column: usize| (old_blocks.get(column), plan.blocks.get(of(column)), class(column));
    whole.sort_by_key(|&column| block(column));
    let order = [&cut[..], &whole].concat();
    let ordered = contents.with_column_order(&order)?;
    let mut runs: Vec<Range<usize>> = Vec::new();
    for run in whole.chunk_by(|&one, &other| block(one) == block(other)) {
        let start = runs.last().map_or(cut.len(), |run| run.end);
        runs.push(start..start + run.len());
    }
    let builder = Builder { contents: &ordered, groups: &groups, search, threads };
    let mut metadata = GroupsMetadata {
        groups: texts.iter().map(|text| text.stated).collect(),
        ..GroupsMetadata::default()
    };
    let mut bodies: Vec<(&'static str, Body)> = Vec::new();
    let mut next_list = 0;
    for stream in ordered.layout {
        let content = ordered.stream(stream.name);
        let mut parts = StreamParts { crc: Some(crc32(&content)), parts: Vec::new() };
        if stream.has_parts() {
            let list = ordered.lists.get(next_list);
            let is_cut = plan.cut.get(next_list).copied().unwrap_or_default();
            next_list += 1;
            if let Some(list) = list {
                parts.parts = counts(list, &groups);
                if is_cut {
                    parts.crc = None;
                    let blocks = builder.list_blocks(list, b"")?;
                    bodies.push((stream.name, Body::xz(xz::checked_stream(&blocks))));
                }
            }
        } else if matches!(stream.role, StreamRole::Values { .. })
            && (!cut.is_empty() || ordered.codec == Codec::Json)
            && !content.is_empty()
        {
            parts.crc = None;
            bodies.push((stream.name, builder.values(cut.len(), &runs)?));
        }
        metadata.streams.push(parts);
    }
    for column in 0..columns {
        let list = ordered.lists.get(ordered.first_column + column);
        let parts = list.map(|list| counts(list, &groups)).unwrap_or_default();
        metadata.columns.push(ColumnParts { is_cut: column < cut.len(), parts });
    }
    for source in ordered.sources()? {
        let tokens = groups.iter().skip(1).map(|runs| {
            let list = ordered.lists.get(ordered.first_column + source);
            let token = list.and_then(|list| list.element_before(runs.start)).unwrap_or_default();
            Bytes::copy_from_slice(bare(token))
        });
        metadata.last.push((source, tokens.collect()));
    }
    if statistics(&texts, &cells, plan.archive_bytes, &mut metadata).is_err() {
        return Ok(None);
    }
    let content = metadata.content(ordered.layout);
    let rest: Vec<&(&'static str, Bytes)> = ordered
        .streams
        .iter()
        .filter(|(name, _)| bodies.iter().all(|(made, _)| made != name))
        .collect();
    let fitted = parallel::map(&rest, threads, |(_, content)| Body::fitted(content, search))?;
    bodies.extend(rest.iter().map(|(name, _)| *name).zip(fitted));
    let mut streams = vec![Stream::small(GROUPS, &content, Layout::Reference)?];
    if let Some(claims) = claims {
        let classes = match ordered.codec {
            Codec::JsonDoc => log_slots::reordered(&claims.classes, &order),
            _ => claims.classes.clone(),
        };
        let lines: Option<Vec<usize>> =
            texts.iter().map(|text| usize::try_from(text.stated.lines).ok()).collect();
        let metadata = claims.metadata(classes, &lines.unwrap_or_default(), [0; 2]);
        streams.push(Stream::small(LOG, &metadata.content(), Layout::Reference)?);
    }
    for &(name, _) in &ordered.streams {
        if let Some(made) = bodies.iter().position(|(known, _)| *known == name) {
            streams.push(Stream { name: name.into(), body: bodies.swap_remove(made).1 });
        }
    }
    Ok(Some(streams))
}

/// Returns a token without its quotes, as rules use it (§7.3).
fn bare(token: &[u8]) -> &[u8] {
    match token {
        [b'"', inner @ .., _] => inner,
        _ => token,
    }
}

fn counts(list: &List, groups: &[Range<usize>]) -> Vec<u64> {
    groups.iter().map(|runs| list.count(runs.clone())).collect()
}

/// The text of a group.
struct Text<'a> {
    stated: GroupText,
    text: &'a [u8],
}

/// Cuts a text into groups; `None` if it has other lines.
fn texts<'a>(
    contents: &LineContents,
    groups: &[Range<usize>],
    original: &'a [u8],
) -> Option<Vec<Text<'a>>> {
    let mut newlines = memchr::memchr_iter(b'\n', original).map(|newline| newline + 1);
    let (mut texts, mut start, mut line) = (Vec::new(), 0, 0);
    for runs in groups {
        let last = (runs.end * contents.run_lines).min(contents.lines);
        let lines = last - line;
        let end = newlines.nth(lines.checked_sub(1)?);
        let end = if last == contents.lines { original.len() } else { end? };
        let text = original.get(start..end)?;
        let stated = GroupText { lines: lines as u64, bytes: text.len() as u64, crc: crc32(text) };
        texts.push(Text { stated, text });
        (start, line) = (end, last);
    }
    Some(texts)
}

/// Collects the statistics of all groups, and adds them to the metadata.
fn statistics(
    texts: &[Text<'_>],
    cells: &StatisticsCells,
    archive_bytes: usize,
    metadata: &mut GroupsMetadata,
) -> Result<()> {
    let mut builder = TableStatisticsBuilder::new(texts.len(), cells.kinds.iter().copied());
    for (group, text) in texts.iter().enumerate() {
        cells.for_each(text.text, |path, cell| {
            builder.push(group, path, cell);
            Ok(())
        })?;
    }
    let indexed = cells.kinds.iter().filter(|&&kind| kind == StatisticsKind::Texts).count();
    let max_bytes = archive_bytes / FILTER_DIVISOR / indexed.max(1);
    let mut out = Vec::new();
    builder.put(&vec![Some(max_bytes); cells.kinds.len()], &mut out);
    metadata.paths.clone_from(&cells.paths);
    metadata.statistics = out.into();
    Ok(())
}

/// Compresses lists into blocks.
struct Builder<'a> {
    contents: &'a LineContents,
    groups: &'a [Range<usize>],
    search: &'a SearchParams,
    threads: usize,
}

impl Builder<'_> {
    /// Returns a block for the part of each group; `after` follows the last part.
    fn list_blocks(&self, list: &List, after: &[u8]) -> Result<Vec<Block>> {
        let sample = middle_run(list.content.len(), SAMPLE_BYTES);
        let tuning = self.tuning(list.content.get(sample).unwrap_or_default())?;
        let numbers: Vec<usize> = (0..self.groups.len()).collect();
        parallel::map(&numbers, self.threads, |&group| {
            let runs = self.groups.get(group).cloned().unwrap_or_default();
            let part = list.part(runs);
            if group + 1 == self.groups.len() && !after.is_empty() {
                return Block::new(&[part, after].concat(), tuning);
            }
            Block::new(part, tuning)
        })
    }

    /// Returns the best tuning for some bytes.
    fn tuning(&self, sample: &[u8]) -> Result<Tuning> {
        let mut best = (f64::INFINITY, Tuning::flat(3));
        for &tuning in TUNINGS {
            let cost = self.search.rough_estimate(sample, tuning)?;
            if cost < best.0 {
                best = (cost, tuning);
            }
        }
        Ok(best.1.with_effort(self.search.effort))
    }

    /// Returns `values`: the blocks of the columns that are cut, which come first, and a block
    /// for each run of other columns.
    fn values(&self, cut: usize, runs: &[Range<usize>]) -> Result<Body> {
        let columns = self.contents.columns();
        let gap = self.contents.gap();
        let mut blocks = Vec::new();
        for (column, list) in columns.iter().enumerate().take(cut) {
            let after = if column + 1 < columns.len() { gap } else { b"" };
            blocks.extend(self.list_blocks(list, after)?);
        }
        let whole = parallel::map(runs, self.threads, |run| {
            let lists = columns.get(run.clone()).unwrap_or_default();
            let mut content =
                lists.iter().map(|list| &list.content[..]).collect::<Vec<_>>().join(gap);
            if run.end < columns.len() {
                content.extend_from_slice(gap);
            }
            if content.is_empty() {
                return Ok(None);
            }
            fitted_block(&content, self.search).map(Some)
        })?;
        blocks.extend(whole.into_iter().flatten());
        Ok(Body::xz(xz::checked_stream(&blocks)))
    }
}
