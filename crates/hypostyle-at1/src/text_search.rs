//! The text of an archive for a search, without the parts that cannot match.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use super::archive_text::ArchiveText;
use super::container::{Extent, Method, in_at1};
use super::frames::FrameReader;
use super::line_groups::LineGroups;
use super::row_groups::source::StreamDirectory;
use super::table_metadata::{FrameSize, TableMetadata};
use super::text_filter::{FILTER, FilterCheck, TextFilter};
use super::unpack::Unpacker;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::line_search::{Required, TextPart, TextParts, TimeRange};
use hypostyle_core::predicate::PruningStatistics;
use hypostyle_core::text::{RowPosition, TextKind, TextSource, log};

/// The parts of a text that may have what is searched for.
#[derive(Debug)]
struct FilteredText {
    archive: Arc<FrameReader>,
    /// The sizes of the frames of a streaming archive.
    frames: Vec<FrameSize>,
    parts: VecDeque<Part>,
    skipped: u64,
}

/// A part that is to be searched.
#[derive(Debug)]
enum Part {
    Group(Arc<LineGroups>, usize, RowPosition),
    /// A frame: where its text starts, and its bytes.
    Frame(RowPosition, u64),
}

/// Returns the parts of a text that its filters do not exclude; `None` if that is all of it, as
/// far as can be told.
pub(super) fn parts(
    archive: &Arc<FrameReader>,
    metadata: Option<&TableMetadata>,
    required: &Required,
    times: &TimeRange,
) -> Result<Option<Box<dyn TextParts>>> {
    let Some(metadata) = metadata.filter(|_| *required != Required::Nothing || !times.is_all())
    else {
        return Ok(None);
    };
    let found = if archive.container().chunk_lines.is_some() {
        frames(archive, &metadata.frames, required)
    } else {
        whole(archive, metadata, required, times)
    };
    let found = found.map_err(in_at1)?;
    Ok(found.map(|(parts, skipped)| {
        let (archive, frames) = (archive.clone(), metadata.frames.clone());
        let text = FilteredText { archive, frames, parts: parts.into(), skipped };
        Box::new(text) as Box<dyn TextParts>
    }))
}

/// Parts that are searched, and the bytes of those that are not.
type Chosen = Option<(Vec<Part>, u64)>;

/// Chooses line groups, or nothing at all.
fn whole(
    archive: &Arc<FrameReader>,
    metadata: &TableMetadata,
    required: &Required,
    times: &TimeRange,
) -> Result<Chosen> {
    let Some(extent) = archive.container().first(archive.source())? else { return Ok(None) };
    let filter = filter_of(archive, extent)?;
    let may_contain = |part: usize| {
        let Some(filter) = &filter else { return true };
        required.may_hold(&mut |literal: &[u8]| filter.may_contain(part, literal))
    };
    if filter.as_ref().is_some_and(|filter| filter.parts() == 1) {
        let bytes = metadata.summary.as_ref().map_or(0, |summary| summary.bytes);
        return Ok((!may_contain(0)).then_some((Vec::new(), bytes)));
    }
    let Some(groups) = LineGroups::open(archive, metadata.checksums.as_ref())? else {
        return Ok(None);
    };
    if filter.as_ref().is_some_and(|filter| filter.parts() != groups.len()) {
        return Err(Error::malformed("filter", "has other parts than the text").in_stream(FILTER));
    }
    let names = log::COLUMNS.map(str::to_owned);
    let is_log = metadata.format.kind == TextKind::Log && metadata.checksums.is_some();
    let may_match = |part: usize| {
        let pruning = groups.pruning(part, &names);
        let bounds = pruning.texts("time").filter(|_| is_log);
        bounds.is_none_or(|bounds| times.may_overlap(bounds.min, bounds.max)) && may_contain(part)
    };
    let (mut parts, mut skipped) = (Vec::new(), 0_u64);
    let chosen: Vec<bool> = (0..groups.len()).map(may_match).collect();
    let groups = Arc::new(groups);
    for (group, (position, is_chosen)) in groups.positions().into_iter().zip(chosen).enumerate() {
        if is_chosen {
            parts.push(Part::Group(groups.clone(), group, position));
        } else {
            let range = groups.text_range(group).unwrap_or_default();
            skipped = skipped.saturating_add(range.end.saturating_sub(range.start));
        }
    }
    Ok((skipped > 0).then_some((parts, skipped)))
}

/// Chooses frames.
fn frames(archive: &Arc<FrameReader>, sizes: &[FrameSize], required: &Required) -> Result<Chosen> {
    let extents = archive.extents()?;
    if extents.len() != sizes.len() {
        return Ok(None);
    }
    let (mut parts, mut skipped) = (Vec::new(), 0_u64);
    let mut position = RowPosition::default();
    for (extent, size) in extents.into_iter().zip(sizes) {
        let may_match = filter_of(archive, extent)?.is_none_or(|filter| {
            let mut may_contain = |literal: &[u8]| filter.may_contain(0, literal);
            filter.parts() != 1 || required.may_hold(&mut may_contain)
        });
        match parts.last_mut() {
            _ if !may_match => skipped = skipped.saturating_add(size.bytes),
            // A line of a frame without a filter may go on in the next one.
            Some(Part::Frame(start, bytes))
                if start.offset.saturating_add(*bytes) == position.offset =>
            {
                *bytes = bytes.saturating_add(size.bytes);
            }
            _ => parts.push(Part::Frame(position, size.bytes)),
        }
        position.offset = position.offset.saturating_add(size.bytes);
        position.line = position.line.saturating_add(size.newlines);
        position.row = position.line;
    }
    Ok((skipped > 0).then_some((parts, skipped)))
}

/// Returns the filter of a frame, if it has one.
fn filter_of(archive: &FrameReader, extent: Extent) -> Result<Option<TextFilter>> {
    if extent.method == Method::Raw {
        return Ok(None);
    }
    let directory = StreamDirectory::places(archive, extent)?;
    let place = directory.as_ref().and_then(|directory| directory.unread(FILTER));
    place.map_or(Ok(None), |place| TextFilter::load(archive, place))
}

/// Compares all filters of an archive with its text.
///
/// # Errors
///
/// Fails if a filter excludes a string that the text has, and if the text cannot be decoded.
pub(super) fn check(archive: &Arc<FrameReader>, metadata: Option<&TableMetadata>) -> Result<()> {
    for extent in archive.extents()? {
        let Some(filter) = filter_of(archive, extent)? else { continue };
        let mut sizes = vec![u64::MAX];
        if filter.parts() != 1 {
            let checksums = metadata.and_then(|metadata| metadata.checksums.as_ref());
            let groups = LineGroups::open(archive, checksums)?;
            let Some(groups) = groups.filter(|groups| groups.len() == filter.parts()) else {
                let err = Error::malformed("filter", "has other parts than the text");
                return Err(err.in_stream(FILTER));
            };
            let bytes = |group| {
                groups.text_range(group).map_or(0, |range| range.end.saturating_sub(range.start))
            };
            sizes = (0..groups.len()).map(bytes).collect();
        }
        let mut check = CheckedText { check: filter.check(), sizes: sizes.into() };
        Unpacker::new(archive).frame(extent, &mut check)?;
        check.check.end_part()?;
    }
    Ok(())
}

/// Compares the text of a frame with its filter, as it is decoded.
struct CheckedText<'a> {
    check: FilterCheck<'a>,
    /// Bytes that are left of each part from the current one on.
    sizes: VecDeque<u64>,
}

impl io::Write for CheckedText<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        while self.sizes.len() > 1 && self.sizes.front() == Some(&0) {
            self.sizes.pop_front();
            self.check.end_part()?;
        }
        let left = self.sizes.front().copied().unwrap_or(u64::MAX);
        let len = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        // The last part goes on to the end of the text.
        let len = if self.sizes.len() == 1 { bytes.len() } else { len };
        self.check.piece(bytes.get(..len).unwrap_or_default());
        if let Some(left) = self.sizes.front_mut() {
            *left = left.saturating_sub(len as u64);
        }
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TextParts for FilteredText {
    fn next_part(&mut self) -> Result<Option<TextPart>> {
        let Some(part) = self.parts.pop_front() else { return Ok(None) };
        Ok(Some(match part {
            Part::Group(groups, group, start) => {
                let text = groups.text(group).map_err(in_at1)?;
                TextPart { start, text: Box::new(io::Cursor::new(text)) }
            }
            Part::Frame(start, bytes) => {
                // Frames before the part are passed by their sizes.
                let text = ArchiveText::new(self.archive.clone(), self.frames.clone(), None);
                let text = text.open(start.offset)?;
                TextPart { start, text: Box::new(io::Read::take(text, bytes)) }
            }
        }))
    }

    fn skipped_bytes(&self) -> u64 {
        self.skipped
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use hypostyle_core::line_search::{
        FoundLine, LineMatcher, LinePattern, LineSearcher, LineSink, PartBlocks, PatternOptions,
    };
    use hypostyle_core::options::ReadOptions;
    use hypostyle_core::scan::Table;
    use hypostyle_core::source::RangeCache;
    use hypostyle_core::text::{LineBlock, TextOptions};

    use super::*;
    use crate::pack::{Choice, PackOptions, pack, pack_stream};
    use crate::{Archive, Codec};

    /// A log whose first and last lines have words of their own.
    fn log() -> String {
        let mut text = String::new();
        for n in 0..26_000_u64 {
            let noise = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
            let word = match n {
                100 => "xylophone",
                25_900 => "quartz",
                _ => "received",
            };
            writeln!(
                text,
                "2024-05-06 10:{:02}:{:02} INFO block blk_{noise} {word} from 10.0.{}.{}",
                n / 600 % 60,
                n / 10 % 60,
                noise % 7,
                noise % 250
            )
            .unwrap();
        }
        text
    }

    #[derive(Default)]
    struct Numbers(Vec<u64>);

    impl LineSink for Numbers {
        fn line(&mut self, line: &FoundLine<'_>) -> Result<()> {
            self.0.push(line.number);
            Ok(())
        }

        fn gap(&mut self) -> Result<()> {
            Ok(())
        }
    }

    /// Returns the numbers of the lines that match, and the bytes that were left out.
    fn searched(archive: &Archive, pattern: &str) -> (Vec<u64>, u64) {
        let pattern = LinePattern::new(&[pattern], PatternOptions::default()).unwrap();
        searched_by(archive, &LineMatcher::new(pattern))
    }

    fn searched_by(archive: &Archive, matcher: &LineMatcher) -> (Vec<u64>, u64) {
        let mut blocks =
            PartBlocks::new(archive.search(&matcher.required(), matcher.times()).unwrap());
        let (mut searcher, mut found) = (LineSearcher::new(matcher), Numbers::default());
        while let Some(block) = blocks.next(LineBlock::default()).unwrap() {
            let _ = searcher.search(&block, &mut found).unwrap();
        }
        (found.0, blocks.skipped_bytes())
    }

    #[test]
    fn groups_and_frames_that_cannot_match_are_left_out() {
        let text = log();
        let options =
            PackOptions::default().with_name(Some("a.log")).with_codec(Choice::Only(Codec::Log));
        let grouped = options.clone().with_rows_per_group(std::num::NonZeroUsize::new(13_000));
        let (in_groups, _) = pack(text.as_bytes(), &grouped).unwrap();
        let mut in_frames = Vec::new();
        let framed = options.clone().with_chunk_lines(25_000);
        pack_stream(text.as_bytes(), &mut in_frames, &framed, |_, _| {}).unwrap();
        let (unfiltered, _) = pack(text.as_bytes(), &grouped.with_index(false)).unwrap();
        for (archive, is_filtered, has_groups) in
            [(in_groups, true, true), (in_frames, true, false), (unfiltered, false, false)]
        {
            let bytes = Arc::new(bytes::Bytes::from(archive));
            let source = Arc::new(RangeCache::over(bytes));
            let archive = Archive::open(source.clone(), &ReadOptions::default()).unwrap();
            archive.check_filters().unwrap();
            for pattern in [
                "xylophone",
                "quartz",
                "quartz|xylophone",
                "no such words",
                "quartz.*xylophone",
                "10\\.0\\.3\\.77$",
                "[a-z]+ from",
            ] {
                let (found, skipped) = searched(&archive, pattern);
                let alone = LinePattern::new(&[pattern], PatternOptions::default()).unwrap();
                let lines = (1..).zip(text.lines());
                let want: Vec<u64> = lines
                    .filter(|(_, line)| alone.is_match(line.as_bytes()))
                    .map(|(number, _)| number)
                    .collect();
                assert_eq!(found, want, "{pattern}");
                // The last frame is too short to have a filter.
                let is_left_out = match pattern {
                    "no such words" => is_filtered,
                    "xylophone" => has_groups,
                    "quartz" => is_filtered,
                    _ => skipped > 0,
                };
                assert_eq!(skipped > 0, is_left_out, "{pattern}");
                assert!(is_filtered || skipped == 0);
            }
            // The statistics of a group also tell its times.
            let any = LinePattern::new(&["."], PatternOptions::default()).unwrap();
            let late = TimeRange::new(Some("2024-05-06 10:43:10"), None).unwrap();
            let (found, skipped) = searched_by(&archive, &LineMatcher::new(any).within(late));
            let late = text.lines().skip(25_900).count() as u64;
            assert_eq!(found, (25_901..25_901 + late).collect::<Vec<u64>>());
            assert_eq!(skipped > 0, has_groups);
            // A condition of a scan leaves out the same groups.
            let table = archive.table(Some("a.log"), &TextOptions::default()).unwrap();
            let table = Table::new(table, source);
            for (filter, rows, is_left_out) in [
                ("line like '%xylophone%'", 1, has_groups),
                ("line ilike '%XYLOPHONE%'", 1, has_groups),
                ("line like '%no such words%'", 0, has_groups),
                ("line like '%received%'", 25_998, false),
                ("line not like '%received%'", 2, false),
            ] {
                let scan = table.scan().columns(["line"]).filter(filter.parse().unwrap());
                let mut batches = scan.batches().unwrap();
                let mut found = 0;
                while let Some(batch) = batches.next_batch().unwrap() {
                    found += batch.num_rows();
                }
                assert_eq!(found, rows, "{filter}");
                let stats = batches.stats();
                assert_eq!(stats.row_groups_read < stats.row_groups, is_left_out, "{filter}");
            }
        }
    }
}
