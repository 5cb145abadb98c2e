//! Decompresses the blocks that a query reads, and does nothing else with them.

use std::num::NonZeroUsize;
use std::ops::Range;

use bytes::Bytes;
use hypostyle::formats::at1::{Archive, Codec};
use hypostyle::{Limits, ReadOptions};
use hypostyle_core::compress::xz::RemoteBlocks;
use hypostyle_core::compress::{xz, zstd};

use super::bench_query::{QueriedTable, Query, open};
use crate::Result;

/// The blocks that a query reads, still compressed.
#[derive(Debug)]
pub(super) enum QueriedBlocks {
    /// Blocks of a codec with row groups of its own.
    Tagged(Vec<Bytes>),
    /// Blocks of the xz stream of codec columnar, with their numbers.
    Xz(RemoteBlocks, Vec<(usize, Bytes)>),
}

impl QueriedBlocks {
    /// Finds the blocks: those of the tested columns in all row groups that statistics do not
    /// exclude, and those of the projected columns in row groups with matching rows.
    ///
    /// Returns `None` if a checksum covers several blocks, so that they are not read one by one.
    pub(super) fn of(source_table: &QueriedTable, query: &Query) -> Result<Option<Self>> {
        let source = source_table.source()?;
        let table = open(source.clone(), &source_table.name, Some(NonZeroUsize::MIN))?;
        let schema = table.schema()?;
        // Readers leave out the ranges of blocks that they keep, so that the one that is asked
        // for ranges reads nothing.
        let fresh = open(source.clone(), &source_table.name, Some(NonZeroUsize::MIN))?;
        let (reader, pruning) = (fresh.reader()?, table.reader()?);
        let mut projected: Vec<usize> = match &query.columns {
            Some(names) => {
                let found = names.iter().map(|name| schema.index_of(name));
                found.collect::<std::result::Result<_, _>>()?
            }
            None => (0..schema.fields().len()).collect(),
        };
        let filter = query.filter.as_ref().map(|filter| filter.bind(&schema)).transpose()?;
        if let Some(filter) = &filter {
            pruning.load_statistics(filter.columns())?;
        }
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut end = 0;
        for group in 0..reader.row_groups() {
            let rows = end..end + reader.row_group_rows(group);
            end = rows.end;
            let has_match = match (&filter, query.row) {
                (Some(filter), _) => {
                    let statistics = pruning.pruning_statistics(group);
                    if statistics.is_some_and(|it| !filter.may_match(it.as_ref())) {
                        continue;
                    }
                    ranges.extend(reader.ranges(group, filter.columns()));
                    let scan = query.scan(&table).rows(rows).limit(1);
                    scan.batches()?.next_batch()?.is_some()
                }
                (None, Some(row)) => rows.contains(&row),
                (None, None) => true,
            };
            if has_match {
                let tested = filter.as_ref().map_or(&[][..], |filter| filter.columns());
                projected.retain(|column| !tested.contains(column));
                ranges.extend(reader.ranges(group, &projected));
            }
        }
        // Row groups may share a block.
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup();
        let read = |range: &Range<u64>| -> Result<Bytes> {
            Ok(source.read(range.start, usize::try_from(range.end - range.start)?)?)
        };
        let archive = Archive::open(source.clone(), &ReadOptions::default())?;
        if archive.codec() == Codec::Columnar {
            let frames = archive.frames()?;
            let streams = frames.first().map(|frame| &frame.streams[..]).unwrap_or_default();
            let values = streams.iter().find(|stream| stream.name == "values");
            let values = values.ok_or("the archive has no values")?;
            let at = values.offset;
            let found = RemoteBlocks::find(values.stored, |range| {
                Ok(source.read(
                    at + range.start,
                    usize::try_from(range.end - range.start).unwrap_or(0),
                )?)
            })?;
            let Some(blocks) = found else { return Ok(None) };
            let mut pieces = Vec::new();
            for (number, range) in (0..blocks.len()).map(|number| (number, blocks.range(number))) {
                let place = at + range.start..at + range.end;
                if ranges.contains(&place) {
                    pieces.push((number, read(&place)?));
                }
            }
            return Ok(Some(Self::Xz(blocks, pieces)));
        }
        let mut blocks = Vec::new();
        for range in &ranges {
            let block = read(range)?;
            if decompress(&block).is_err() {
                return Ok(None);
            }
            blocks.push(block);
        }
        Ok(Some(Self::Tagged(blocks)))
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Tagged(blocks) => blocks.is_empty(),
            Self::Xz(_, blocks) => blocks.is_empty(),
        }
    }

    /// Decompresses all blocks on one thread.
    pub(super) fn decompress(&self) -> Result<()> {
        match self {
            Self::Tagged(blocks) => blocks.iter().try_for_each(decompress),
            Self::Xz(stream, blocks) => {
                let limits = Limits::default();
                for (number, bytes) in blocks {
                    std::hint::black_box(stream.decompress(*number, bytes, &limits)?);
                }
                Ok(())
            }
        }
    }
}

/// Decompresses a block: the number of its compressor, then the compressed bytes.
fn decompress(block: &Bytes) -> Result<()> {
    let (tag, packed) = block.split_first().ok_or("an empty block")?;
    let limits = Limits::default();
    let (_, used) = match tag {
        1 => zstd::decompress(packed, &limits)?,
        _ => xz::decompress(packed, &limits, 1)?,
    };
    if used == packed.len() { Ok(()) } else { Err("several blocks".into()) }
}
