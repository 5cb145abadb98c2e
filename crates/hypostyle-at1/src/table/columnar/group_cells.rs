//! Decodes the columns of one row group of a frame (§5.7).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::claims::Claims;
use super::frame::{ColumnarFrame, DecompressedBlocks};
use super::piece_cache::PieceCache;
use crate::codecs::columnar::column::DecodedColumn;
use crate::codecs::columnar::group_directory::{ColumnPieces, CutColumn, GroupDirectory};
use crate::codecs::columnar::pieces::{self, PieceSums};
use crate::codecs::columnar::sections::{GroupStates, RowGroups, unfit};
use crate::frames::FrameReader;
use crate::row_buffer::PaddedDict;
use hypostyle_core::error::{ColumnRef, Error, ErrorKind, Result};

/// The piece of a column that is decoded as a whole.
const WHOLE: usize = usize::MAX;

/// Bytes of decoded pieces that a table keeps for the next row groups, at least.
const CACHE_BYTES: usize = 32 << 20;

/// Bytes of dictionaries that a table keeps; more than one row group needs any of them.
const DICTIONARY_BYTES: usize = 64 << 20;

/// What the row groups of a table share, by frame.
#[derive(Debug)]
pub(super) struct SharedPieces {
    /// Pieces of several row groups, by frame, column and piece.
    columns: PieceCache<(usize, usize, usize), Arc<DecodedColumn>>,
    /// Blocks of several row groups, by frame and block.
    blocks: PieceCache<(usize, usize), Bytes>,
    /// Dictionaries and maps, by frame and column.
    dictionaries: PieceCache<(usize, usize), Dictionary>,
    /// The pieces that are being decoded, by frame, column and piece.
    decoding: Claims<(usize, usize, usize)>,
}

/// The entries of a dictionary or a map.
#[derive(Clone, Debug)]
pub(super) struct Dictionary {
    pub(super) entries: Arc<PaddedDict>,
    /// The rank of each entry by first appearance, if a derived column needs it.
    ranks: Option<Arc<Vec<u32>>>,
}

impl SharedPieces {
    pub(super) fn new() -> Self {
        Self {
            columns: PieceCache::new(CACHE_BYTES),
            blocks: PieceCache::new(CACHE_BYTES),
            dictionaries: PieceCache::new(DICTIONARY_BYTES),
            decoding: Claims::default(),
        }
    }
}

/// Some cells of a column.
#[derive(Clone, Debug)]
pub(super) struct GroupCells {
    pub(super) column: Arc<DecodedColumn>,
    pub(super) cells: Range<usize>,
}

impl GroupCells {
    /// Returns a column of a dictionary without cells.
    pub(super) fn of_entries(entries: &Arc<PaddedDict>) -> Self {
        let column = DecodedColumn::Dict { ids: Vec::new(), entries: entries.clone() };
        Self { column: Arc::new(column), cells: 0..0 }
    }
}

/// Decodes columns of one row group.
pub(super) struct GroupDecoder<'a> {
    pub(super) archive: &'a FrameReader,
    pub(super) shared: &'a SharedPieces,
    pub(super) frame: &'a ColumnarFrame,
    /// The number of the frame in the archive, and of the row group in the frame.
    pub(super) place: (usize, usize),
    pub(super) threads: usize,
}

/// The columns and blocks of a row group that were decoded so far.
#[derive(Debug, Default)]
pub(super) struct DecodedGroup {
    blocks: DecompressedBlocks,
    columns: BTreeMap<usize, GroupCells>,
}

impl GroupDecoder<'_> {
    /// Returns columns of the archive, and decodes those that are not decoded yet.
    ///
    /// # Errors
    ///
    /// Names the row group and the column that cannot be decoded.
    pub(super) fn decode(
        &self,
        columns: &[usize],
        decoded: &mut DecodedGroup,
    ) -> Result<BTreeMap<usize, GroupCells>> {
        self.decode_columns(columns, decoded).map_err(|err| {
            let group = self.place.1;
            let has_groups = self.frame.directory.is_some();
            if has_groups { in_groups(err, &(group..group.saturating_add(1))) } else { err }
        })
    }

    fn decode_columns(
        &self,
        columns: &[usize],
        decoded: &mut DecodedGroup,
    ) -> Result<BTreeMap<usize, GroupCells>> {
        let mut missing: Vec<usize> = columns
            .iter()
            .copied()
            .filter(|column| !decoded.columns.contains_key(column))
            .collect();
        while !missing.is_empty() {
            let keys: Vec<_> = missing.iter().map(|&column| self.key(column)).collect();
            let claim = self.shared.decoding.take(&keys, self.threads.max(1));
            let is_mine = |&column: &usize| claim.has(&self.key(column));
            let mine: Vec<usize> = missing.iter().copied().filter(is_mine).collect();
            let blocks: Vec<usize> = mine.iter().flat_map(|&it| self.blocks(it)).collect();
            self.decompress(&blocks, decoded)?;
            for column in mine {
                self.column(column, decoded)?;
            }
            missing.retain(|column| !is_mine(column));
        }
        // The blocks are decoded, and a column that is read later has others.
        decoded.blocks.clear();
        let found = columns
            .iter()
            .filter_map(|column| decoded.columns.get(column).map(|cells| (*column, cells.clone())));
        Ok(found.collect())
    }

    /// Returns the key of the piece that a column of the row group is decoded from.
    fn key(&self, column: usize) -> (usize, usize, usize) {
        let (frame, group) = self.place;
        let piece = match (&self.frame.directory, self.frame.pieces(column)) {
            (Some(directory), ColumnPieces::Cut(cut)) => {
                let main = cut.spans.len().saturating_sub(1);
                cut.piece_of(main, group, directory.groups).0
            }
            // The cells of a derived column are those of the row group.
            (Some(_), ColumnPieces::Derived { .. }) => group,
            _ => WHOLE,
        };
        (frame, column, piece)
    }

    /// Returns the entries of a dictionary, if the column has one.
    pub(super) fn dictionary(&self, column: usize) -> Result<Option<Dictionary>> {
        let mut decoded = DecodedGroup::default();
        let blocks: Vec<usize> = self.frame.dictionary_blocks(column).collect();
        self.decompress(&blocks, &mut decoded)?;
        match self.frame.pieces(column) {
            ColumnPieces::Cut(cut) if cut.head_blocks() > 0 => {
                self.head(column, cut, &decoded).map(Some)
            }
            ColumnPieces::Derived { source } => self.map(column, *source, &decoded).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the blocks that a column of the row group is decoded from, without those that
    /// other row groups have left.
    pub(super) fn blocks(&self, column: usize) -> Vec<usize> {
        let of_column = self.frame.blocks(column);
        let (frame, group) = self.place;
        let Some(directory) = &self.frame.directory else { return of_column.collect() };
        let groups = directory.groups;
        match self.frame.pieces(column) {
            ColumnPieces::Whole => {
                let is_known = self.shared.columns.get(&(frame, column, WHOLE)).is_some();
                if is_known { Vec::new() } else { of_column.collect() }
            }
            ColumnPieces::Derived { source } => {
                let mut blocks = self.blocks(*source);
                if self.shared.dictionaries.get(&(frame, column)).is_none() {
                    blocks.extend(of_column);
                }
                blocks
            }
            ColumnPieces::Cut(cut) => {
                let (main, of_main) =
                    cut.piece_of(cut.spans.len().saturating_sub(1), group, groups);
                if self.shared.columns.get(&(frame, column, main)).is_some() {
                    return Vec::new();
                }
                let mut blocks = Vec::new();
                let is_known = self.shared.dictionaries.get(&(frame, column)).is_some();
                if !is_known {
                    blocks.extend(of_column.start..of_column.start + cut.head_blocks());
                }
                for section in 0..cut.spans.len() {
                    let (first, _) = cut.piece_of(section, of_main.start, groups);
                    let last = of_main.end.saturating_sub(1);
                    let (last, _) = cut.piece_of(section, last, groups);
                    let block = |piece| of_column.start + cut.block_of(section, piece, groups);
                    let blocks_of_section = (first..=last).map(block);
                    blocks.extend(
                        blocks_of_section
                            .filter(|&block| self.shared.blocks.get(&(frame, block)).is_none()),
                    );
                }
                blocks
            }
        }
    }

    fn decompress(&self, blocks: &[usize], decoded: &mut DecodedGroup) -> Result<()> {
        self.frame.decompress(blocks, self.archive, self.threads, &mut decoded.blocks)
    }

    /// Decodes a column whose blocks are decompressed.
    fn column(&self, column: usize, decoded: &mut DecodedGroup) -> Result<GroupCells> {
        if let Some(cells) = decoded.columns.get(&column) {
            return Ok(cells.clone());
        }
        let cells = match (&self.frame.directory, self.frame.pieces(column)) {
            (Some(directory), ColumnPieces::Cut(cut)) => {
                self.cut_column(column, cut, directory, decoded)
            }
            (Some(_), ColumnPieces::Derived { source }) => self.derived(column, *source, decoded),
            _ => self.whole(column, decoded),
        };
        let cells = cells.map_err(|err| self.frame.in_column(err, column))?;
        decoded.columns.insert(column, cells.clone());
        Ok(cells)
    }

    /// Keeps a piece for other row groups.
    ///
    /// All pieces of one row group are in memory together, so that room for all of them takes
    /// no more. Without it, each row group would decode the same large pieces again.
    fn keep(&self, key: (usize, usize, usize), piece: &Arc<DecodedColumn>, decoded: &DecodedGroup) {
        let others = decoded.columns.values().map(|cells| cells.column.memory());
        let bytes = piece.memory();
        self.shared.columns.reserve(others.fold(bytes, usize::saturating_add));
        self.shared.columns.insert(key, piece.clone(), bytes);
    }

    /// Decodes a whole column, and returns its cells of the row group.
    fn whole(&self, column: usize, decoded: &mut DecodedGroup) -> Result<GroupCells> {
        let (frame, group) = self.place;
        let groups = self.frame.groups();
        let cells = groups.before(group)..groups.before(group + 1);
        let key = (frame, column, WHOLE);
        if let Some(column) = self.shared.columns.get(&key) {
            return Ok(GroupCells { column, cells });
        }
        let blocks: Vec<usize> = self.frame.blocks(column).collect();
        self.decompress(&blocks, decoded)?;
        let chunk = self.frame.chunk(column, &decoded.blocks)?;
        let source = match self.frame.layout.source(column, &chunk)? {
            Some(source) => {
                let whole = self.whole(source, decoded);
                Some(whole.map_err(|err| self.frame.in_column(err, source))?)
            }
            None => None,
        };
        let source = source.as_ref().map(|source| source.column.as_ref());
        let whole = Arc::new(self.frame.decode_whole(column, &chunk, source, self.archive)?);
        if whole.cells() < groups.cells {
            let why = format!("has {} cells for {} rows", whole.cells(), groups.cells);
            return Err(Error::malformed("column", why));
        }
        if groups.count() > 1 {
            self.keep(key, &whole, decoded);
        }
        Ok(GroupCells { column: whole, cells })
    }

    /// Decodes the piece of a cut column that has the row group.
    fn cut_column(
        &self,
        column: usize,
        cut: &CutColumn,
        directory: &GroupDirectory,
        decoded: &mut DecodedGroup,
    ) -> Result<GroupCells> {
        let (frame, group) = self.place;
        let groups = directory.groups;
        let main = cut.spans.len().saturating_sub(1);
        let (piece, of_piece) = cut.piece_of(main, group, groups);
        let first = groups.before(of_piece.start);
        let cells = groups.before(group) - first..groups.before(group + 1) - first;
        let key = (frame, column, piece);
        if let Some(column) = self.shared.columns.get(&key) {
            return Ok(GroupCells { column, cells });
        }
        let count = groups.cells_between(of_piece.start, of_piece.end);
        let is_last = of_piece.end >= groups.count();
        let sums = |sums: &[i64]| PieceSums {
            before: sums.get(piece).copied().unwrap_or_default(),
            after: sums.get(piece + 1).copied().unwrap_or_default(),
        };
        let content = |section: usize, piece: usize, decoded: &DecodedGroup| {
            let block = self.frame.blocks(column).start + cut.block_of(section, piece, groups);
            match decoded.blocks.get(&block) {
                Some(content) => Ok(content.clone()),
                None => self
                    .shared
                    .blocks
                    .get(&(frame, block))
                    .ok_or_else(|| Error::internal("a block that was not decompressed")),
            }
        };
        let missing = self.blocks(column);
        self.decompress(&missing, decoded)?;
        let whole = match &cut.state {
            GroupStates::Text => pieces::text(&content(0, piece, decoded)?, count, is_last)?,
            GroupStates::Sums { scale, sums: all } => {
                let mut deltas = content(0, piece, decoded)?;
                if let (Some(scale), 0) = (scale, piece) {
                    deltas = pieces::without_scale(&deltas, *scale)?;
                }
                pieces::deltas(&deltas, *scale, count, sums(all))?
            }
            GroupStates::Dict => {
                let dictionary = self.head(column, cut, decoded)?;
                pieces::indexes(&content(0, piece, decoded)?, count, &dictionary.entries)?
            }
            GroupStates::Planes { min, width } => {
                let mut planes = Vec::new();
                for section in 0..usize::from(*width) {
                    let mut plane = content(section, piece, decoded)?;
                    if (section, piece) == (0, 0) {
                        plane = pieces::without_minimum(&plane, groups.cells, *min, *width)?;
                    }
                    planes.push(plane);
                }
                let planes: Vec<&[u8]> = planes.iter().map(AsRef::as_ref).collect();
                pieces::planes(&planes, *min, count)?
            }
            GroupStates::Mixed { scale, sums: all, exceptions } => {
                let part_of_bits = |part: usize| {
                    let bits = content(0, part, decoded)?;
                    self.share(column, cut, (0, part), directory, &bits);
                    match part {
                        0 => pieces::without_subtype(&bits, *scale, groups.cells),
                        _ => Ok(bits),
                    }
                };
                let bits = bits(cut, &of_piece, groups, part_of_bits)?;
                let before = |group: usize| exceptions.get(group).copied().unwrap_or_default();
                let last = of_piece.end.saturating_sub(1);
                let (from, _) = cut.piece_of(1, of_piece.start, groups);
                let (to, _) = cut.piece_of(1, last, groups);
                let mut list = Vec::new();
                for part in from..=to {
                    let mut content = content(1, part, decoded)?;
                    self.share(column, cut, (1, part), directory, &content);
                    if part == 0 {
                        let count = before(groups.count());
                        content = pieces::without_exception_count(&content, count)?;
                    }
                    list.extend_from_slice(&content);
                }
                let first = before(cut.piece_of(1, of_piece.start, groups).1.start);
                let listed = before(cut.piece_of(1, last, groups).1.end) - first;
                let wanted = before(of_piece.start) - first..before(of_piece.end) - first;
                let exceptions = pieces::exceptions(&list, wanted, listed)?;
                let deltas = content(2, piece, decoded)?;
                pieces::mixed(bits, count, exceptions, &deltas, *scale, sums(all))?
            }
        };
        let whole = Arc::new(whole);
        if of_piece.len() > 1 {
            self.keep(key, &whole, decoded);
        }
        Ok(GroupCells { column: whole, cells })
    }

    /// Keeps a block of several row groups.
    fn share(
        &self,
        column: usize,
        cut: &CutColumn,
        (section, piece): (usize, usize),
        directory: &GroupDirectory,
        content: &Bytes,
    ) {
        if cut.spans.get(section).is_some_and(|&span| span > 1) {
            let block =
                self.frame.blocks(column).start + cut.block_of(section, piece, directory.groups);
            self.shared.blocks.insert((self.place.0, block), content.clone(), content.len());
        }
    }

    /// Returns the dictionary of a cut column, whose head is decompressed or known.
    fn head(&self, column: usize, cut: &CutColumn, decoded: &DecodedGroup) -> Result<Dictionary> {
        let key = (self.place.0, column);
        if let Some(known) = self.shared.dictionaries.get(&key) {
            return Ok(known);
        }
        let block = self.frame.blocks(column).start;
        let Some(head) = decoded.blocks.get(&block) else {
            return Err(Error::internal("a dictionary that was not decompressed"));
        };
        let (cells, entries) = pieces::dictionary(head)?;
        if cells != self.frame.groups().cells {
            return Err(unfit("a dictionary has another number of cells"));
        }
        let ranks = cut.order.ranks(entries.len())?;
        // Cells are numbered by their text, so that equal entries would share a number.
        if let Some(ranks) = &ranks
            && pieces::has_twins(&entries, ranks)
        {
            return Err(unfit("two entries in the order are the same"));
        }
        let dictionary = Dictionary { entries, ranks: ranks.map(Arc::new) };
        self.shared.dictionaries.insert(key, dictionary.clone(), dictionary.memory());
        Ok(dictionary)
    }

    /// Returns the map of a derived column whose chunk is decompressed or known.
    fn map(&self, column: usize, source: usize, decoded: &DecodedGroup) -> Result<Dictionary> {
        let key = (self.place.0, column);
        if let Some(known) = self.shared.dictionaries.get(&key) {
            return Ok(known);
        }
        let chunk = self.frame.chunk(column, &decoded.blocks)?;
        let (found, entries) = pieces::map(&chunk)?;
        if found != source {
            return Err(unfit("a derived column has another source"));
        }
        let ranks = Some(Arc::new(pieces::ranks_of_map(&entries)));
        let dictionary = Dictionary { entries, ranks };
        self.shared.dictionaries.insert(key, dictionary.clone(), dictionary.memory());
        Ok(dictionary)
    }

    /// Decodes a derived column from the cells of its source in the row group.
    fn derived(
        &self,
        column: usize,
        source: usize,
        decoded: &mut DecodedGroup,
    ) -> Result<GroupCells> {
        let blocks = self.blocks(column);
        self.decompress(&blocks, decoded)?;
        let map = self.map(column, source, decoded)?;
        let ranks = match self.frame.pieces(source) {
            ColumnPieces::Whole => None,
            ColumnPieces::Cut(cut) if cut.head_blocks() == 0 => None,
            ColumnPieces::Cut(cut) => {
                self.column(source, decoded)?;
                self.head(source, cut, decoded)?.ranks
            }
            ColumnPieces::Derived { source: before } => {
                self.column(source, decoded)?;
                self.map(source, *before, decoded)?.ranks
            }
        };
        let Some(ranks) = ranks else { return self.whole(column, decoded) };
        let GroupCells { column: source, cells } = self.column(source, decoded)?;
        let Some((ids, _)) = source.dictionary() else { return self.whole(column, decoded) };
        let ids = ids.get(cells).unwrap_or_default();
        let derived = pieces::derived(ids, &ranks, &map.entries)?;
        let cells = 0..ids.len();
        Ok(GroupCells { column: Arc::new(derived), cells })
    }
}

impl Dictionary {
    fn memory(&self) -> usize {
        let ranks = self.ranks.as_ref().map_or(0, |ranks| ranks.len() * size_of::<u32>());
        self.entries.memory() + ranks
    }
}

/// Adds row groups to an error about damage.
pub(super) fn in_groups(err: Error, groups: &Range<usize>) -> Error {
    let (what, why) = match err.kind() {
        ErrorKind::Malformed { what, why } => (*what, why.to_string()),
        ErrorKind::Truncated { what, needed, left } => {
            (*what, format!("needs {needed} bytes, {left} left"))
        }
        _ => return err,
    };
    let groups = match groups.end.saturating_sub(groups.start) {
        0 | 1 => format!("group {}", groups.start),
        _ => format!("groups {} to {}", groups.start, groups.end - 1),
    };
    let mut placed = Error::malformed(what, format!("{why} (row {groups})"));
    if let Some(stream) = err.stream() {
        placed = placed.in_stream(stream);
    }
    if let Some(ColumnRef { index, name }) = err.column() {
        placed = placed.in_column(*index, name);
    }
    match err.offset() {
        Some(offset) => placed.at(offset),
        None => placed,
    }
}

/// Returns the bits of the numbers of some row groups; `content` returns a piece of the bitmap.
fn bits(
    cut: &CutColumn,
    wanted: &Range<usize>,
    groups: RowGroups,
    content: impl Fn(usize) -> Result<Bytes>,
) -> Result<Bytes> {
    let (from, _) = cut.piece_of(0, wanted.start, groups);
    let (to, _) = cut.piece_of(0, wanted.end.saturating_sub(1), groups);
    let span = cut.spans.first().copied().unwrap_or(1).max(1);
    let mut bits = Vec::new();
    for part in from..=to {
        let content = content(part)?;
        let of_part = part * span..(part * span).saturating_add(span).min(groups.count());
        let byte = |group: usize| groups.before(group).div_ceil(8);
        if content.len() != byte(of_part.end) - byte(of_part.start) {
            return Err(unfit("a piece of a bitmap has another number of bits"));
        }
        let start = byte(wanted.start.max(of_part.start)) - byte(of_part.start);
        let end = byte(wanted.end.min(of_part.end)) - byte(of_part.start);
        bits.extend_from_slice(content.get(start..end).unwrap_or_default());
    }
    Ok(bits.into())
}
