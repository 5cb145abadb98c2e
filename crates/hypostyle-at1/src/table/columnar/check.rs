//! Compares what a frame states about its row groups with its columns (§5.7).

use std::collections::BTreeSet;

use super::cell_check::ColumnCheck;
use super::frame::{ColumnarFrame, DecompressedBlocks};
use super::group_cells::{GroupDecoder, SharedPieces, in_groups};
use crate::codecs::columnar::group_directory::{
    ColumnPieces, CutColumn, EntryOrder, GROUPS, GroupDirectory, verbatim_before,
};
use crate::codecs::columnar::pieces;
use crate::codecs::columnar::sections::{ChunkSections, GroupStates, unfit};
use crate::codecs::columnar::values::dictionary_indexes;
use crate::container::{Extent, Method};
use crate::frames::FrameReader;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::parallel;

/// Checks the row groups of every frame: each block, and what the directory states about it.
///
/// # Errors
///
/// A stream other than `values` and `hyp.groups` is damaged.
pub(crate) fn check_groups(archive: &FrameReader) -> Result<Vec<Error>> {
    let mut found = Vec::new();
    for extent in archive.extents()? {
        if extent.method == Method::Raw {
            continue;
        }
        match FrameCheck::read(archive, extent) {
            Ok(Some(mut check)) => {
                check.columns()?;
                found.append(&mut check.found);
            }
            Ok(None) => {}
            Err(err) if err.stream() == Some(GROUPS) => found.push(err),
            Err(err) => return Err(err),
        }
    }
    Ok(found)
}

/// A frame that is being checked.
struct FrameCheck<'a> {
    archive: &'a FrameReader,
    frame: ColumnarFrame,
    shared: SharedPieces,
    threads: usize,
    found: Vec<Error>,
    /// The blocks that cannot be decompressed.
    damaged: BTreeSet<usize>,
}

impl<'a> FrameCheck<'a> {
    /// Reads a frame, and checks its lines; `None` if it has no row groups.
    fn read(archive: &'a FrameReader, extent: Extent) -> Result<Option<Self>> {
        let Some(mut frame) = ColumnarFrame::read(archive, extent)? else { return Ok(None) };
        let Some(directory) = &frame.directory else { return Ok(None) };
        let groups = directory.groups;
        let Some(lines) = ColumnarFrame::read_lines(archive, extent)? else { return Ok(None) };
        let mut found = Vec::new();
        if lines.layout.is_ragged || lines.layout.structured != groups.cells {
            found.push(unfit("some rows do not have a cell of every column").in_stream(GROUPS));
        } else if verbatim_before(&lines.layout.modes, groups) != directory.verbatim {
            found.push(unfit("they state other verbatim lines").in_stream(GROUPS));
        }
        frame.name_columns(lines.names(&frame));
        let (shared, damaged) = (SharedPieces::new(), BTreeSet::new());
        Ok(Some(Self { archive, frame, shared, threads: lines.threads, found, damaged }))
    }

    fn directory(&self) -> Result<&GroupDirectory> {
        let directory = self.frame.directory.as_ref();
        directory.ok_or_else(|| Error::internal("row groups without a directory"))
    }

    fn decoder(&self, group: usize) -> GroupDecoder<'_> {
        let (archive, shared, frame) = (self.archive, &self.shared, &self.frame);
        GroupDecoder { archive, shared, frame, place: (0, group), threads: 1 }
    }

    /// Checks all columns.
    ///
    /// # Errors
    ///
    /// The source fails. All else is found.
    fn columns(&mut self) -> Result<()> {
        for column in 0..self.frame.layout.columns.len() {
            if let Some(blocks) = self.blocks(column)?
                && let Err(err) = self.chunk(column, &blocks)
            {
                self.found.push(self.frame.in_column(damage(err)?, column));
            }
            match self.cells(column) {
                Ok(errors) => self.found.extend(errors),
                Err(err) => {
                    let err = damage(err)?;
                    self.found.extend(self.is_new(&err).then_some(err));
                }
            }
        }
        Ok(())
    }

    /// Returns whether an error is not about a block that was found to be damaged before.
    fn is_new(&self, err: &Error) -> bool {
        let mut starts = self.damaged.iter().map(|&block| self.frame.range(block).start);
        err.offset().is_none_or(|offset| starts.all(|start| start != offset))
    }

    /// Decompresses the blocks of a column; `None` if some of them are damaged.
    fn blocks(&mut self, column: usize) -> Result<Option<DecompressedBlocks>> {
        let blocks: Vec<usize> = self.frame.blocks(column).collect();
        let done = parallel::map(&blocks, self.threads, |&block| {
            let mut one = DecompressedBlocks::new();
            Ok(match self.frame.decompress(&[block], self.archive, 1, &mut one) {
                Ok(()) => Ok(one),
                Err(err) => Err(damage(err)?),
            })
        })?;
        let mut all = Some(DecompressedBlocks::new());
        for (nth, (&block, done)) in blocks.iter().zip(done).enumerate() {
            match done {
                Ok(one) => all.iter_mut().for_each(|all| all.extend(one.clone())),
                Err(err) => {
                    all = None;
                    // Columns that are not cut may share a block.
                    if self.damaged.insert(block) {
                        let directory = self.directory()?;
                        let cut = directory.columns.get(column).and_then(ColumnPieces::cut);
                        let err = match cut {
                            Some(cut) => in_groups(err, &cut.groups_of(nth, directory.groups)),
                            None => err,
                        };
                        self.found.push(err);
                    }
                }
            }
        }
        Ok(all)
    }

    /// Compares the chunk of a column with the restart points that are stated for it.
    fn chunk(&self, column: usize, blocks: &DecompressedBlocks) -> Result<()> {
        let directory = self.directory()?;
        let Some(ColumnPieces::Cut(cut)) = directory.columns.get(column) else { return Ok(()) };
        let groups = directory.groups;
        let chunk = self.frame.chunk(column, blocks)?;
        let kind = self.frame.layout.columns.get(column).map_or(u8::MAX, |stored| stored.kind);
        let Some(sections) = ChunkSections::of(kind, &chunk, groups)? else {
            return Err(unfit("the chunk does not have the cells of its row groups"));
        };
        let wanted = piece_lengths(cut, &sections);
        for (nth, (wanted, content)) in wanted.iter().zip(blocks.values()).enumerate() {
            if *wanted != content.len() {
                let of_block = cut.groups_of(nth, groups);
                return Err(in_groups(unfit("a piece does not end where they end"), &of_block));
            }
        }
        let span = cut.spans.last().copied().unwrap_or(1);
        let state = sections.state.by_piece(span, groups);
        if let Some(what) = difference(&cut.state, &state, span) {
            return Err(unfit(what));
        }
        if cut.order == EntryOrder::Unknown {
            return Ok(());
        }
        let entries = pieces::dictionary_of_chunk(&chunk)?;
        let found = EntryOrder::of(&dictionary_indexes(&chunk)?);
        let ranks = found.ranks(entries.len())?.unwrap_or_default();
        if cut.order != found || pieces::has_twins(&entries, &ranks) {
            return Err(unfit("entries of the dictionary first appear in another order"));
        }
        Ok(())
    }

    /// Compares the cells of a column with its sets and statistics; returns what does not fit.
    fn cells(&self, column: usize) -> Result<Vec<Error>> {
        let directory = self.directory()?;
        let entries = self.decoder(0).dictionary(column)?.map(|dictionary| dictionary.entries);
        let check = ColumnCheck::new(&self.frame, directory, column, entries.as_deref());
        let mut found = check.wrong_sets();
        let groups: Vec<usize> = (0..directory.groups.count()).collect();
        let errors = parallel::map(&groups, self.threads, |&group| {
            let cells = self.decoder(group).decode(&[column], &mut Default::default());
            let checked = cells.and_then(|cells| match cells.get(&column) {
                Some(cells) => check.group(group, cells),
                None => Err(Error::internal("a column that was not decoded")),
            });
            match checked {
                Ok(errors) => Ok(errors),
                Err(err) => {
                    let err = damage(err)?;
                    Ok(Vec::from_iter(self.is_new(&err).then_some(err)))
                }
            }
        })?;
        found.extend(errors.into_iter().flatten());
        Ok(found)
    }
}

/// Returns an error about the archive; fails with any other.
fn damage(err: Error) -> Result<Error> {
    match err.kind() {
        ErrorKind::Io(_) | ErrorKind::Internal(_) => Err(err),
        _ => Ok(err),
    }
}

/// Returns the bytes of the head and of each piece of a chunk.
fn piece_lengths(cut: &CutColumn, sections: &ChunkSections) -> Vec<usize> {
    let head = (cut.head_blocks() > 0).then_some(sections.head);
    let pieces = cut.spans.iter().zip(&sections.borders).flat_map(|(&span, borders)| {
        let last = borders.len().saturating_sub(1);
        let border = move |group: usize| borders.get(group.min(last)).copied().unwrap_or_default();
        (0..last)
            .step_by(span.max(1))
            .map(move |group| border(group.saturating_add(span)).saturating_sub(border(group)))
    });
    head.into_iter().chain(pieces).collect()
}

/// Returns how a stated state differs from the one of the chunk.
fn difference(stated: &GroupStates, found: &GroupStates, span: usize) -> Option<String> {
    let sums_differ = |stated: &[i64], found: &[i64]| {
        let at = (0..found.len()).find(|&at| stated.get(at) != found.get(at));
        let group = at?.saturating_mul(span);
        Some(format!("the sum before row group {group} is wrong"))
    };
    let scale_differs = |stated: &Option<u8>, found: &Option<u8>| {
        (stated != found).then(|| "the scale of the column is wrong".to_owned())
    };
    match (stated, found) {
        (GroupStates::Dict, GroupStates::Dict) => None,
        (
            GroupStates::Sums { scale, sums },
            GroupStates::Sums { scale: true_scale, sums: true_sums },
        ) => scale_differs(scale, true_scale).or_else(|| sums_differ(sums, true_sums)),
        (
            GroupStates::Mixed { scale, sums, exceptions },
            GroupStates::Mixed { scale: true_scale, sums: true_sums, exceptions: true_exceptions },
        ) => scale_differs(scale, true_scale).or_else(|| sums_differ(sums, true_sums)).or_else(
            || {
                let pairs = exceptions.iter().zip(true_exceptions);
                let group = pairs.take_while(|(stated, found)| stated == found).count();
                let why = || {
                    let group = group.saturating_sub(1);
                    format!("the number of exceptions of row group {group} is wrong")
                };
                (exceptions != true_exceptions).then(why)
            },
        ),
        _ => (stated != found).then(|| "the values before the first cell are wrong".to_owned()),
    }
}
