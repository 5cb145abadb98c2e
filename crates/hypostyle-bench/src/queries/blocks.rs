//! Decompresses the blocks that a query reads, and does nothing else with them.

use std::num::NonZeroUsize;
use std::ops::Range;

use bytes::Bytes;
use hypostyle::Limits;
use hypostyle_core::compress::{xz, zstd};

use super::bench_query::{QueriedTable, Query, open};
use crate::Result;

/// The blocks that a query reads, still compressed.
#[derive(Debug)]
pub(super) struct QueriedBlocks(Vec<Bytes>);

impl QueriedBlocks {
    /// Finds the blocks: those of the tested columns in all row groups that statistics do not
    /// exclude, and those of the projected columns in row groups with matching rows.
    ///
    /// Returns `None` if a checksum covers several blocks, so that they are not read one by one.
    pub(super) fn of(source_table: &QueriedTable, query: &Query) -> Result<Option<Self>> {
        let source = source_table.source()?;
        let table = open(source.clone(), &source_table.name, Some(NonZeroUsize::MIN))?;
        let (reader, schema) = (table.reader()?, table.schema()?);
        let mut projected: Vec<usize> = match &query.columns {
            Some(names) => {
                let found = names.iter().map(|name| schema.index_of(name));
                found.collect::<std::result::Result<_, _>>()?
            }
            None => (0..schema.fields().len()).collect(),
        };
        let filter = query.filter.as_ref().map(|filter| filter.bind(&schema)).transpose()?;
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut end = 0;
        for group in 0..reader.row_groups() {
            let rows = end..end + reader.row_group_rows(group);
            end = rows.end;
            let has_match = match (&filter, query.row) {
                (Some(filter), _) => {
                    let statistics = reader.pruning_statistics(group);
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
        let mut blocks = Vec::new();
        for range in ranges {
            let block = source.read(range.start, usize::try_from(range.end - range.start)?)?;
            if decompress(&block).is_err() {
                return Ok(None);
            }
            blocks.push(block);
        }
        Ok(Some(Self(blocks)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Decompresses all blocks on one thread.
    pub(super) fn decompress(&self) -> Result<()> {
        self.0.iter().try_for_each(decompress)
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
