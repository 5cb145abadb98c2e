//! The stream `hyp.groups`: the row groups of a columnar frame and their restart points (§5.7).

use std::ops::Range;

use bytes::Bytes;

use super::cell_template::CellTemplate;
use super::kind::{DEC, DERIVED, DICT, INT, NUMEXC, SHUF, TEXT};
use super::sections::{GroupStates, RowGroups, unfit};
pub(crate) use crate::group_statistics::GROUPS;
use crate::streams::StreamCursor;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::wire::{crc32, put};

/// The version of a stream without templates.
const VERSION: u8 = 1;
/// The version of a stream that may have templates.
const OBJECTS_VERSION: u8 = 2;

/// The flag of a frame with verbatim lines.
const VERBATIM: u8 = 1;
/// The flag of a frame whose structured lines are JSON objects.
const OBJECTS: u8 = 2;

/// Orders of the entries of a dictionary.
const NO_ORDER: u8 = 0;
const FIRST_APPEARANCE: u8 = 1;
const LISTED: u8 = 2;

/// The row groups of a frame, and where decoding can start in each column.
#[derive(Debug, PartialEq)]
pub(crate) struct GroupDirectory {
    pub(crate) groups: RowGroups,
    /// The verbatim lines before the first structured line of each row group but the first;
    /// `None` if there are none at all.
    pub(crate) verbatim: Option<Vec<usize>>,
    /// The values in the cells of each column, if the structured lines are JSON objects.
    pub(crate) templates: Option<Vec<CellTemplate>>,
    /// How each column is stored.
    pub(crate) columns: Vec<ColumnPieces>,
    /// The values that occur in each row group, by column and field; empty for a column that
    /// cannot have them.
    pub(crate) sets: Vec<Vec<Option<ValueSets>>>,
    /// The statistics of the fields, as they are stored.
    pub(crate) statistics: Bytes,
}

/// How a column is stored.
#[derive(Debug, PartialEq)]
pub(crate) enum ColumnPieces {
    /// As a whole.
    Whole,
    /// As a map of the cells of another column.
    Derived {
        /// The column that it is derived from.
        source: usize,
    },
    /// In pieces.
    Cut(CutColumn),
}

impl ColumnPieces {
    /// Returns the pieces, if the column is cut.
    pub(crate) fn cut(&self) -> Option<&CutColumn> {
        match self {
            Self::Cut(cut) => Some(cut),
            _ => None,
        }
    }
}

/// A column that is cut into pieces.
#[derive(Debug, PartialEq)]
pub(crate) struct CutColumn {
    /// The row groups of each piece, for each section.
    pub(crate) spans: Vec<usize>,
    /// The state at the start of each row group; for sums, of each piece, and after the last.
    pub(crate) state: GroupStates,
    pub(crate) order: EntryOrder,
}

/// What is known about the order in which the entries of a dictionary first appear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum EntryOrder {
    #[default]
    Unknown,
    /// The entries are in that order.
    FirstAppearance,
    /// The indexes of the entries in that order.
    Listed(Vec<u32>),
}

impl EntryOrder {
    /// Returns the order of the entries that these indexes name.
    pub(crate) fn of(indexes: &[u32]) -> Self {
        let most = indexes.iter().copied().max().map_or(0, |most| most as usize + 1);
        let mut seen = vec![false; most];
        let mut order = Vec::new();
        for &index in indexes {
            if let Some(seen) = seen.get_mut(index as usize)
                && !*seen
            {
                *seen = true;
                order.push(index);
            }
        }
        let is_identity = order.iter().enumerate().all(|(rank, &index)| rank == index as usize);
        if is_identity { Self::FirstAppearance } else { Self::Listed(order) }
    }

    /// Returns the rank of each of `entries` by first appearance, `u32::MAX` for one without;
    /// `None` if the order is not known.
    ///
    /// # Errors
    ///
    /// Fails if an entry has two ranks, or an entry that does not exist has one.
    pub(crate) fn ranks(&self, entries: usize) -> Result<Option<Vec<u32>>> {
        let indexes = match self {
            Self::Unknown => return Ok(None),
            Self::FirstAppearance => {
                return Ok(Some((0..entries).filter_map(|it| u32::try_from(it).ok()).collect()));
            }
            Self::Listed(indexes) => indexes,
        };
        let mut ranks = vec![u32::MAX; entries];
        for (rank, &index) in (0..).zip(indexes) {
            match ranks.get_mut(index as usize) {
                Some(place) if *place == u32::MAX => *place = rank,
                _ => return Err(unfit("an entry has no place, or two, in the order")),
            }
        }
        Ok(Some(ranks))
    }
}

/// The values of a field that occur in each row group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueSets {
    /// The number of distinct values in the dictionary.
    pub(crate) values: usize,
    /// A bitmap for each row group, one after the other.
    pub(crate) bitmaps: Bytes,
}

impl ValueSets {
    /// Returns the bitmap of a row group.
    pub(crate) fn of_group(&self, group: usize) -> Option<&[u8]> {
        let len = self.values.div_ceil(8);
        let start = len.checked_mul(group)?;
        self.bitmaps.get(start..start.checked_add(len)?)
    }
}

impl CutColumn {
    /// Returns the number of pieces of a section.
    pub(crate) fn pieces(&self, section: usize, groups: RowGroups) -> usize {
        self.spans.get(section).map_or(0, |&span| groups.count().div_ceil(span.max(1)))
    }

    /// Returns the number of xz blocks, the head included.
    pub(crate) fn blocks(&self, groups: RowGroups) -> usize {
        let pieces: usize = (0..self.spans.len()).map(|it| self.pieces(it, groups)).sum();
        pieces + self.head_blocks()
    }

    /// Returns the number of xz blocks of the head.
    pub(crate) fn head_blocks(&self) -> usize {
        usize::from(matches!(self.state, GroupStates::Dict))
    }

    /// Returns the piece of a section that has a row group, and its row groups.
    pub(crate) fn piece_of(
        &self,
        section: usize,
        group: usize,
        groups: RowGroups,
    ) -> (usize, Range<usize>) {
        let span = self.spans.get(section).copied().unwrap_or(1).max(1);
        let piece = group / span;
        let first = piece * span;
        (piece, first..first.saturating_add(span).min(groups.count()))
    }

    /// Returns the row groups of one of the xz blocks of the column; all of them for the head.
    pub(crate) fn groups_of(&self, block: usize, groups: RowGroups) -> Range<usize> {
        let Some(mut piece) = block.checked_sub(self.head_blocks()) else {
            return 0..groups.count();
        };
        for (section, &span) in self.spans.iter().enumerate() {
            match piece.checked_sub(self.pieces(section, groups)) {
                Some(after) => piece = after,
                None => return self.piece_of(section, piece.saturating_mul(span), groups).1,
            }
        }
        0..groups.count()
    }

    /// Returns the place of a piece among the xz blocks of the column.
    pub(crate) fn block_of(&self, section: usize, piece: usize, groups: RowGroups) -> usize {
        let before: usize = (0..section).map(|it| self.pieces(it, groups)).sum();
        self.head_blocks() + before + piece
    }
}

impl GroupDirectory {
    /// Returns the content of the stream.
    pub(crate) fn content(&self) -> Vec<u8> {
        let verbatim = if self.verbatim.is_some() { VERBATIM } else { 0 };
        let mut out = match self.templates {
            None => vec![VERSION, verbatim],
            Some(_) => vec![OBJECTS_VERSION, verbatim | OBJECTS],
        };
        put::uv(&mut out, self.groups.cells as u64);
        put::uv(&mut out, self.groups.rows as u64);
        let mut last = 0;
        for &verbatim in self.verbatim.iter().flatten() {
            put::uv(&mut out, verbatim.saturating_sub(last) as u64);
            last = verbatim;
        }
        self.templates.iter().flatten().for_each(|template| template.put(&mut out));
        for column in &self.columns {
            match column {
                ColumnPieces::Whole => put::uv(&mut out, 0),
                ColumnPieces::Derived { source } => {
                    put::uv(&mut out, 0);
                    put::uv(&mut out, *source as u64);
                }
                ColumnPieces::Cut(column) => column.put(&mut out),
            }
        }
        for sets in self.sets.iter().flatten() {
            out.push(sets.is_some().into());
            if let Some(sets) = sets {
                put::uv(&mut out, sets.values as u64);
                out.extend_from_slice(&sets.bitmaps);
            }
        }
        out.extend_from_slice(&self.statistics);
        let sum = crc32(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// Reads the stream of a frame with columns of these types and numbers of fields; `None`
    /// for a version that is not known.
    ///
    /// # Errors
    ///
    /// Fails if the stream is malformed.
    pub(crate) fn read(content: &Bytes, kinds: &[u8], widths: &[usize]) -> Result<Option<Self>> {
        let known_flags = match content.first() {
            Some(&VERSION) => VERBATIM,
            Some(&OBJECTS_VERSION) => VERBATIM | OBJECTS,
            Some(_) => return Ok(None),
            None => 0,
        };
        let Some((body, sum)) = content.split_last_chunk::<4>() else {
            return Err(unfit("the stream is cut off").in_stream(GROUPS));
        };
        if crc32(body) != u32::from_le_bytes(*sum) {
            return Err(unfit("the checksum of the stream is wrong").in_stream(GROUPS));
        }
        let mut stream = StreamCursor::new(GROUPS, body);
        stream.u8("version")?;
        let at = stream.clone();
        let flags = stream.u8("flags")?;
        if flags & !known_flags != 0 {
            return Err(at.malformed("flags", format!("{flags} has unknown bits")));
        }
        let cells = stream.size("cell count")?;
        let at = stream.clone();
        let rows = stream.size("rows of a row group")?;
        if rows == 0 || !rows.is_multiple_of(8) {
            return Err(at.malformed("rows of a row group", "are not a multiple of 8"));
        }
        let groups = RowGroups { cells, rows };
        // A column that is not cut has no state, and a piece may have all row groups. So the
        // stream does not back their number, which the caller must bound before it allocates.
        let mut verbatim = None;
        if flags & VERBATIM != 0 {
            let (mut before, mut all) = (0_usize, Vec::new());
            for _ in 1..groups.count() {
                before = before.saturating_add(stream.size("verbatim lines")?);
                all.push(before);
            }
            verbatim = Some(all);
        }
        let mut templates = None;
        if flags & OBJECTS != 0 {
            let read = kinds.iter().map(|_| CellTemplate::read(&mut stream));
            templates = Some(read.collect::<Result<Vec<_>>>()?);
        }
        let column = |(index, &kind)| ColumnPieces::read(&mut stream, kind, index, groups);
        let columns = kinds.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        let mut sets = Vec::with_capacity(columns.len());
        for (column, &width) in widths.iter().enumerate() {
            let width = match &templates {
                Some(templates) => templates.get(column).map_or(0, CellTemplate::values),
                None => width,
            };
            let fields = if has_dictionary(&columns, column) { width } else { 0 };
            let mut of_column = Vec::new();
            for _ in 0..fields {
                of_column.push(ValueSets::read(&mut stream, content, groups)?);
            }
            sets.push(of_column);
        }
        let statistics = content.slice_ref(stream.rest());
        Ok(Some(Self { groups, verbatim, templates, columns, sets, statistics }))
    }
}

impl GroupDirectory {
    /// Returns the template of the cells of a column, if the lines are objects.
    pub(crate) fn template(&self, column: usize) -> Option<&CellTemplate> {
        self.templates.as_ref()?.get(column)
    }
}

/// Returns whether a stream of this content states several row groups.
pub(crate) fn has_several_groups(content: &[u8]) -> Result<bool> {
    let mut stream = StreamCursor::new(GROUPS, content);
    stream.u8("version")?;
    stream.u8("flags")?;
    let cells = stream.size("cell count")?;
    Ok(cells > stream.size("rows of a row group")?)
}

/// Returns the verbatim lines before the first structured line of each row group but the
/// first; `None` if there are none at all. Lines of mode 0 are verbatim.
pub(crate) fn verbatim_before(modes: &[u8], groups: RowGroups) -> Option<Vec<usize>> {
    if !modes.contains(&0) {
        return None;
    }
    let structured = modes.iter().enumerate().filter(|(_, mode)| **mode != 0);
    let firsts = structured.map(|(line, _)| line).enumerate().step_by(groups.rows).skip(1);
    Some(firsts.map(|(cell, line)| line - cell).collect())
}

/// Returns whether a column has a dictionary, or a map of the entries of one, so that its
/// fields may have sets.
pub(crate) fn has_dictionary(columns: &[ColumnPieces], column: usize) -> bool {
    let is_dict = |column: &ColumnPieces| column.cut().is_some_and(|cut| cut.head_blocks() > 0);
    match columns.get(column) {
        Some(ColumnPieces::Derived { source }) => columns.get(*source).is_some_and(is_dict),
        Some(column) => is_dict(column),
        None => false,
    }
}

impl ValueSets {
    fn read(
        stream: &mut StreamCursor<'_>,
        content: &Bytes,
        groups: RowGroups,
    ) -> Result<Option<Self>> {
        let at = stream.clone();
        match stream.u8("sets")? {
            0 => Ok(None),
            1 => {
                let values = stream.size("value count")?;
                let len = values.div_ceil(8).saturating_mul(groups.count());
                let bitmaps = content.slice_ref(stream.take(len, "sets")?);
                Ok(Some(Self { values, bitmaps }))
            }
            other => Err(at.malformed("sets", format!("{other} is neither 0 nor 1"))),
        }
    }
}

impl ColumnPieces {
    fn read(
        stream: &mut StreamCursor<'_>,
        kind: u8,
        column: usize,
        groups: RowGroups,
    ) -> Result<Self> {
        let at = stream.clone();
        let span = stream.size("row groups of a piece")?;
        match (span, kind) {
            (0, DERIVED) => {
                let at = stream.clone();
                let source = stream.size("source column")?;
                if source >= column {
                    return Err(at.malformed("source column", "is not before the column"));
                }
                Ok(Self::Derived { source })
            }
            (0, _) => Ok(Self::Whole),
            (_, DERIVED) => Err(at.malformed("row groups of a piece", "of a derived column")),
            _ => CutColumn::read(stream, kind, span, groups).map(Self::Cut),
        }
    }
}

impl CutColumn {
    fn put(&self, out: &mut Vec<u8>) {
        let span = |section: usize| self.spans.get(section).copied().unwrap_or(1) as u64;
        put::uv(out, span(self.spans.len().saturating_sub(1)));
        match &self.state {
            GroupStates::Text => {}
            GroupStates::Sums { scale, sums } => {
                out.extend(scale);
                put_sums(sums, out);
            }
            GroupStates::Mixed { scale, sums, exceptions } => {
                out.push(u8::from(scale.is_some()));
                out.extend(scale);
                put::uv(out, span(0));
                put::uv(out, span(1));
                for pair in exceptions.windows(2) {
                    let [before, after] = pair else { continue };
                    put::uv(out, after.saturating_sub(*before) as u64);
                }
                put_sums(sums, out);
            }
            GroupStates::Planes { min, width } => {
                put::sv(out, *min);
                out.push(*width);
            }
            GroupStates::Dict => match &self.order {
                EntryOrder::Unknown => out.push(NO_ORDER),
                EntryOrder::FirstAppearance => out.push(FIRST_APPEARANCE),
                EntryOrder::Listed(indexes) => {
                    out.push(LISTED);
                    put::uv(out, indexes.len() as u64);
                    indexes.iter().for_each(|&index| put::uv(out, index.into()));
                }
            },
        }
    }

    fn read(
        stream: &mut StreamCursor<'_>,
        kind: u8,
        span: usize,
        groups: RowGroups,
    ) -> Result<Self> {
        let count = groups.count();
        let pieces = count.div_ceil(span);
        let mut order = EntryOrder::default();
        let (spans, state) = match kind {
            TEXT => (vec![span], GroupStates::Text),
            INT | DEC => {
                let scale = (kind == DEC).then(|| scale(stream)).transpose()?;
                (vec![span], GroupStates::Sums { scale, sums: read_sums(stream, pieces)? })
            }
            NUMEXC => {
                let at = stream.clone();
                let scale = match stream.u8("subtype")? {
                    0 => None,
                    1 => Some(scale(stream)?),
                    other => {
                        return Err(at.malformed("subtype", format!("{other} is neither 0 nor 1")));
                    }
                };
                let mut spans = Vec::with_capacity(3);
                for _ in 0..2 {
                    let at = stream.clone();
                    match stream.size("row groups of a piece")? {
                        0 => return Err(at.malformed("row groups of a piece", "are 0")),
                        span => spans.push(span),
                    }
                }
                spans.push(span);
                let mut exceptions = vec![0];
                let mut before = 0_usize;
                for group in 0..count {
                    let at = stream.clone();
                    let here = stream.size("exceptions")?;
                    if here > groups.cells_between(group, group + 1) {
                        return Err(at.malformed("exceptions", "are more than the cells"));
                    }
                    before = before.saturating_add(here);
                    exceptions.push(before);
                }
                let sums = read_sums(stream, pieces)?;
                (spans, GroupStates::Mixed { scale, sums, exceptions })
            }
            DICT => {
                let at = stream.clone();
                order = match stream.u8("order")? {
                    NO_ORDER => EntryOrder::Unknown,
                    FIRST_APPEARANCE => EntryOrder::FirstAppearance,
                    LISTED => {
                        let count = stream.count(1, "entry count")?;
                        let index = |_| -> Result<u32> {
                            let at = stream.clone();
                            let index = stream.uv("index")?;
                            u32::try_from(index).map_err(|_| at.malformed("index", "is too large"))
                        };
                        EntryOrder::Listed((0..count).map(index).collect::<Result<_>>()?)
                    }
                    other => return Err(at.malformed("order", format!("{other} is over 2"))),
                };
                // The head has the number of entries.
                (vec![span], GroupStates::Dict)
            }
            SHUF => {
                let at = stream.clone();
                let min = i64::try_from(stream.sv("minimum")?);
                let min = min.map_err(|_| at.malformed("minimum", "has more than 64 bits"))?;
                let at = stream.clone();
                let width = stream.u8("width")?;
                if !(1..=8).contains(&width) {
                    return Err(at.malformed("width", format!("{width} is not 1 to 8")));
                }
                (vec![span; width.into()], GroupStates::Planes { min, width })
            }
            other => return Err(Error::malformed("column type", format!("{other} is unknown"))),
        };
        Ok(Self { spans, state, order })
    }
}

fn scale(stream: &mut StreamCursor<'_>) -> Result<u8> {
    let at = stream.clone();
    match stream.u8("scale")? {
        scale @ 0..=18 => Ok(scale),
        scale => Err(at.malformed("scale", format!("{scale} is over 18"))),
    }
}

/// Appends the sum after each piece.
///
/// Differences would be shorter, but then a wrong one would shift all sums after it alike, and
/// a reader of later pieces could not tell.
fn put_sums(sums: &[i64], out: &mut Vec<u8>) {
    sums.iter().skip(1).for_each(|&sum| put::sv(out, sum));
}

fn read_sums(stream: &mut StreamCursor<'_>, pieces: usize) -> Result<Vec<i64>> {
    let mut sums = vec![0];
    for _ in 0..pieces {
        let at = stream.clone();
        let sum = i64::try_from(stream.sv("sum")?);
        sums.push(sum.map_err(|_| at.malformed("sum", "has more than 64 bits"))?);
    }
    Ok(sums)
}
