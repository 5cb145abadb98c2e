//! Writes the streams of a columnar table (§5).

use std::ops::Range;

use crate::cell_syntax::Syntax;
use crate::codecs::FIELDS;
use crate::codecs::columnar::group_directory::{GROUPS, verbatim_before};
use crate::codecs::kind;
use crate::fields::Dialect;
use crate::pack::context::EncodeContext;
use crate::pack::grouping::Grouping;
use crate::pack::lines::split_final_newline;
use crate::pack::options::Layout;
use crate::pack::row_syntax::RowSyntax;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream, size};
use crate::pack::tables::column::ChunkType;
use crate::pack::tables::dialect;
use crate::pack::tables::encoded_column::EncodedColumn;
use crate::pack::tables::field_statistics::{self, DividedColumn};
use crate::pack::tables::objects::ObjectFields;
use crate::pack::tables::plan::{ColumnEncoding, PlannedColumn, TablePlan, TablePlanner};
use crate::pack::tables::row_groups::{self, GroupedColumns};
use crate::pack::tables::split::SplitRows;
use crate::table::field_values::CellFields;
use hypostyle_core::compress::xz::encode::{self as xz, Block, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// Columns whose blocks are smaller than this may share a block with their neighbours.
const SHARED_BLOCK_BYTES: usize = 1 << 10;

/// The directory of a single row group may take one part in so many of the columns.
const COLUMNS_PER_DIRECTORY: usize = 100;

/// The directory may have one byte more for so many bytes of columns if it then takes less time to
/// decompress.
const COLUMNS_PER_QUICK_BYTE: usize = 2048;

/// Maximum bytes of the cells of a table that is planned again if its columns repeat
/// themselves: the sample of a larger table does not show that.
const MAX_REPLANNED_BYTES: usize = 4 << 20;

/// A text that was split into rows, to be written as columns.
pub(in crate::pack) struct ColumnarTable<'a> {
    pub(in crate::pack) rows: SplitRows<'a>,
    pub(in crate::pack) delimiter: &'a [u8],
    pub(in crate::pack) header: Option<&'a [u8]>,
    /// The values in the fields, if the rows are JSON objects.
    pub(in crate::pack) objects: Option<ObjectFields>,
    /// Whether the text ends with a newline.
    pub(in crate::pack) trailing: bool,
    pub(in crate::pack) dict_tail: DictTail,
}

/// Row groups with their description.
struct DescribedGroups {
    /// The blocks of each column, in order; `None` for one that is not cut.
    blocks: Vec<Option<Vec<Block>>>,
    stream: Stream,
}

/// Columns after those of the rows: similar dictionary chunks (§5.2.5), which are
/// compressed together.
#[derive(Debug, Default)]
pub(in crate::pack) struct DictTail {
    pub(in crate::pack) chunks: Vec<Vec<u8>>,
}

/// Encodes a text by the cells of its table; returns `None` if it is not a table of cells.
pub(in crate::pack) fn table_streams(
    text: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let Some((dialect, header)) = table_dialect(context) else { return Ok(None) };
    split_streams(text, &dialect, header, true, context)
}

/// Encodes a text by the fields that make it smallest; returns `None` if it has no fields,
/// or if its fields are the cells of its table.
pub(in crate::pack) fn streams(
    text: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let Some(dialect) = dialect::find(text)? else { return Ok(None) };
    // Readers parse the header as CSV, even if another dialect splits the rows better.
    let quotes = Syntax::of_delimiter(&dialect.delimiter) == Syntax::Csv;
    // The first one of several objects is a row as any other.
    let header = context.table != Some(RowSyntax::Objects)
        && dialect::has_header(text, &Dialect { quotes, ..dialect.clone() });
    if table_dialect(context) == Some((dialect.clone(), header)) {
        return Ok(None);
    }
    split_streams(text, &dialect, header, false, context)
}

/// Returns the dialect of the table, and whether the text starts with its header.
fn table_dialect(context: &EncodeContext<'_>) -> Option<(Dialect, bool)> {
    match context.table? {
        RowSyntax::Delimited { delimiter, header, .. } => {
            Some((Dialect { delimiter: vec![delimiter], quotes: true }, header))
        }
        RowSyntax::Objects => None,
    }
}

/// Encodes the fields of a text; returns `None` if it has no rows, or unless it is a table, no
/// rows of several fields.
fn split_streams(
    text: &[u8],
    dialect: &Dialect,
    header: bool,
    is_table: bool,
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let (lines, trailing) = split_final_newline(text);
    let (header, body) = match memchr::memchr(b'\n', lines).filter(|_| header) {
        Some(end) => (lines.get(..end), lines.get(end + 1..).unwrap_or_default()),
        None => (None, lines),
    };
    let rows = match is_table {
        true => SplitRows::of_table(body, dialect),
        false => SplitRows::new(body, dialect),
    };
    let width = match context.table {
        Some(RowSyntax::Delimited { width, .. }) if is_table => width,
        _ => None,
    };
    let rows = rows.filter(|rows| width.is_none_or(|width| width == rows.width));
    let Some(mut rows) = rows else { return Ok(None) };
    let objects = match (context.table, context.grouping) {
        (Some(RowSyntax::Objects), Some(_)) => ObjectFields::find(&mut rows),
        _ => None,
    };
    // Row groups of other cells than those of the table would serve no query.
    let grouping = context.grouping.filter(|_| is_table || objects.is_some());
    let context = &EncodeContext { grouping, ..*context };
    let (delimiter, dict_tail) = (&dialect.delimiter, DictTail::default());
    let table = ColumnarTable { rows, delimiter, header, objects, trailing, dict_tail };
    table.best(context).map(Some)
}

impl ColumnarTable<'_> {
    /// Returns the streams of the search of the context, or of its second search if they
    /// are smaller.
    pub(in crate::pack) fn best(&self, context: &EncodeContext<'_>) -> Result<Vec<Stream>> {
        let tail = self.dict_tail.block(context.search)?;
        let mut best = self.streams(context.search, tail.as_ref(), context)?;
        if let Some(search) = context.second_search {
            let second = self.streams(search, tail.as_ref(), context)?;
            if size(&second) < size(&best) {
                best = second;
            }
        }
        Ok(best)
    }

    /// Plans the columns with a search, and returns their streams.
    fn streams(
        &self,
        search: &SearchParams,
        tail: Option<&Block>,
        context: &EncodeContext<'_>,
    ) -> Result<Vec<Stream>> {
        let rows = &self.rows;
        let grouping =
            context.grouping.filter(|_| rows.missing == 0 && self.dict_tail.chunks.is_empty());
        let is_divided = grouping.is_some();
        let (best, repeats) = self.planned(search, grouping, is_divided, tail, context)?;
        if !repeats || rows.cell_bytes > MAX_REPLANNED_BYTES {
            return Ok(best);
        }
        let (whole, _) = self.planned(search, grouping, false, tail, context)?;
        Ok(if size(&whole) < size(&best) { whole } else { best })
    }

    /// Plans the columns, as columns that are cut into row groups or that stay whole; returns
    /// their streams, and whether a column repeats itself so much that it should stay whole.
    fn planned(
        &self,
        search: &SearchParams,
        grouping: Option<Grouping>,
        is_divided: bool,
        tail: Option<&Block>,
        context: &EncodeContext<'_>,
    ) -> Result<(Vec<Stream>, bool)> {
        let rows = &self.rows;
        let plan = TablePlanner::new(rows, search, is_divided, context.threads).plan()?;
        (context.report_estimate)(plan.estimate + tail.map_or(0, Block::cost));
        let mut encoded = encode_columns(&plan, search, context.threads)?;
        // A value in quotes would lose them.
        let has_quotes = plan.columns.iter().any(|column| column.encoder().quoted);
        let grouping = grouping.filter(|_| self.objects.is_none() || !has_quotes);
        let fields: Vec<Range<usize>> =
            plan.columns.iter().map(|column| column.encoder().cells.fields.clone()).collect();

        let mut meta = Vec::new();
        put::uv(&mut meta, rows.modes.len() as u64);
        meta.push(self.trailing.into());
        meta.push(self.header.is_some().into());
        put::lp(&mut meta, self.delimiter);
        let tail_chunks = &self.dict_tail.chunks;
        let width = encoded.len() + tail_chunks.len();
        put::uv(&mut meta, width as u64);
        let mut index = Vec::new();
        for chunk in encoded.iter().map(|column| &column.chunk).chain(tail_chunks) {
            put::uv(&mut index, chunk.len() as u64);
        }
        let mut types: Vec<u8> = encoded.iter().map(|column| column.type_id).collect();
        types.resize(width, kind::DICT);
        let mut quotes: Vec<u8> = encoded.iter().map(|column| column.quoted.into()).collect();
        quotes.resize(width, 0);
        let small = |name, content: &[u8]| Stream::small(name, content, search.layout);
        let grouped = match grouping {
            Some(grouping) => {
                if search.is_quick() {
                    // A zstd frame cannot be cut, so that xz takes its place.
                    encoded.iter_mut().for_each(EncodedColumn::compress_quickly);
                }
                row_groups::divide(&mut encoded, rows.len(), grouping, context.threads)?
            }
            None => None,
        };
        // One row group of objects has the columns of the table, too.
        let grouped = match (grouped, grouping) {
            (None, Some(_)) if self.objects.is_some() => {
                Some(row_groups::undivided(&encoded, rows.len()))
            }
            (grouped, _) => grouped,
        };
        let described = match grouped {
            Some(grouped) => self.described(grouped, &plan, &encoded, search, context)?,
            None => None,
        };
        let (blocks, directory) = match described {
            Some(DescribedGroups { blocks, stream }) => (blocks, Some(stream)),
            None => (encoded.iter().map(|_| None).collect(), None),
        };
        let values = self.values(&mut encoded, blocks, directory.is_some(), tail, context)?;
        let mut streams = vec![
            small("meta", &meta)?,
            small("row_modes", &rows.modes)?,
            small("fieldcounts", &field_counts(rows, &fields, tail_chunks.len()))?,
            small("coltypes", &types)?,
            small("col_index", &index)?,
            Stream { name: "values".into(), body: values },
            small("quotemodes", &quotes)?,
            small("quotebits", &[])?,
            small("verbatim", &rows.verbatim())?,
            small("header", self.header.unwrap_or_default())?,
        ];
        // Decoders skip streams that they do not know.
        let has_delimiter = !self.delimiter.is_empty();
        if search.layout == Layout::Reference && has_delimiter && fields.len() < rows.width {
            let mut widths = Vec::new();
            fields.iter().for_each(|fields| put::uv(&mut widths, fields.len() as u64));
            streams.push(small(FIELDS, &widths)?);
        }
        // A reader needs it before the other streams.
        streams.splice(0..0, directory);
        Ok((streams, encoded.iter().any(|column| column.repeats)))
    }

    /// Describes the row groups; returns `None` if a single one is not worth its description.
    fn described(
        &self,
        grouped: GroupedColumns,
        plan: &TablePlan<'_>,
        encoded: &[EncodedColumn],
        search: &SearchParams,
        context: &EncodeContext<'_>,
    ) -> Result<Option<DescribedGroups>> {
        let GroupedColumns { blocks, mut directory } = grouped;
        directory.verbatim = verbatim_before(&self.rows.modes, directory.groups);
        let fields: Vec<Range<usize>> =
            plan.columns.iter().map(|column| column.encoder().cells.fields.clone()).collect();
        let templates = self.objects.as_ref();
        let templates = templates.map(|objects| objects.of_columns(&fields, self.delimiter));
        let delimiter = self.delimiter.first().copied().unwrap_or_default();
        let (mut sizes, mut divided) = (Vec::new(), Vec::new());
        for (index, (column, encoded)) in plan.columns.iter().zip(encoded).enumerate() {
            let own = blocks.get(index).into_iter().flatten().flatten();
            let own: usize = own.map(Block::cost).sum();
            let of_source = encoded.source.and_then(|source| sizes.get(source));
            let size = own + of_source.copied().unwrap_or(0);
            sizes.push(size);
            let fields = match templates.as_ref().and_then(|templates| templates.get(index)) {
                Some(template) => CellFields::Objects(template),
                None => {
                    let width = fields.get(index).map_or(1, Range::len);
                    CellFields::Delimited { delimiter, width }
                }
            };
            divided.push(DividedColumn { encoder: column.encoder(), encoded, fields, size });
        }
        field_statistics::describe(&divided, &mut directory)?;
        directory.templates = templates;
        let content = directory.content();
        let mut body = Body::fitted(&content, search)?;
        if search.layout == Layout::Reference {
            // Every query reads all of it.
            body = body.or_quick(&content, plan.estimate / COLUMNS_PER_QUICK_BYTE)?;
        }
        let is_small = body.bytes.len() * COLUMNS_PER_DIRECTORY <= plan.estimate;
        let is_worth_it = directory.groups.count() > 1 || is_small || context.must_serve;
        let stream = Stream { name: GROUPS.into(), body };
        Ok(is_worth_it.then_some(DescribedGroups { blocks, stream }))
    }

    /// Returns the stream `values`: the chunks of all columns, as the given blocks if they
    /// are cut.
    fn values(
        &self,
        encoded: &mut [EncodedColumn],
        cut: Vec<Option<Vec<Block>>>,
        is_checked: bool,
        tail: Option<&Block>,
        context: &EncodeContext<'_>,
    ) -> Result<Body> {
        let search = context.search;
        if search.is_quick() && !is_checked {
            let chunks = encoded.iter().map(|column| &column.chunk).chain(&self.dict_tail.chunks);
            let chunks: Vec<&[u8]> = chunks.map(Vec::as_slice).collect();
            return Ok(Body::zstd(zstd::compress(&chunks.concat(), search.zstd_level)?));
        }
        let whole: Vec<usize> = (0..encoded.len())
            .filter(|&index| cut.get(index).is_none_or(Option::is_none))
            .collect();
        let compressed = parallel::map(&whole, context.threads, |&index| {
            encoded.get(index).map(EncodedColumn::compressed).transpose()
        })?;
        for (&index, block) in whole.iter().zip(compressed) {
            if let Some(column) = encoded.get_mut(index) {
                column.block = block;
            }
        }
        let mut blocks = Vec::new();
        let mut start = 0;
        for (index, cut) in cut.into_iter().enumerate() {
            if let Some(cut) = cut {
                blocks.extend(shared_blocks(encoded.get(start..index).unwrap_or_default())?);
                blocks.extend(cut);
                start = index + 1;
            }
        }
        blocks.extend(shared_blocks(encoded.get(start..).unwrap_or_default())?);
        blocks.extend(tail.cloned());
        // A reader of some columns finds damage by the checks of their blocks.
        let has_parts = blocks.len() > 1 && search.layout == Layout::Reference;
        let stream = match is_checked || has_parts {
            true => xz::checked_stream(&blocks),
            false => xz::stream(&blocks),
        };
        Ok(Body::xz(stream))
    }
}

impl DictTail {
    /// Compresses the chunks as one block; returns `None` if there is none, or for zstd.
    fn block(&self, search: &SearchParams) -> Result<Option<Block>> {
        if self.chunks.is_empty() || search.is_quick() {
            return Ok(None);
        }
        let tuning = Tuning::flat(0).with_effort(search.effort);
        Block::new(&self.chunks.concat(), tuning).map(Some)
    }
}

/// Returns the stream `fieldcounts`: the number of cells of each row.
fn field_counts(rows: &SplitRows<'_>, columns: &[Range<usize>], tail: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let count = match rows.missing {
            0 => columns.len(),
            _ => {
                let fields = rows.fields(row);
                columns.iter().take_while(|column| column.start < fields).count()
            }
        };
        put::uv(&mut out, (count + tail) as u64);
    }
    out
}

/// Encodes every column in each of its planned encodings, and keeps the smallest.
fn encode_columns(
    plan: &TablePlan<'_>,
    search: &SearchParams,
    threads: usize,
) -> Result<Vec<EncodedColumn>> {
    // The largest columns come first, so that no thread starts one of them last.
    let mut order: Vec<(usize, &PlannedColumn<'_>)> = plan.columns.iter().enumerate().collect();
    let work = |column: &PlannedColumn<'_>| {
        let encoder = column.encoder();
        match column.encodings.first() {
            Some(ColumnEncoding::Standalone(ChunkType::Text, _)) => encoder.text_len(),
            _ => encoder.cells.distinct() * 8 + encoder.cells.len(),
        }
    };
    order.sort_by_key(|(_, column)| std::cmp::Reverse(work(column)));
    let encoded = parallel::map(&order, threads, |(index, column)| {
        Ok(encode_column(column, search)?.map(|encoded| (*index, encoded)))
    })?;
    let mut encoded: Vec<(usize, EncodedColumn)> = encoded.into_iter().flatten().collect();
    encoded.sort_by_key(|&(index, _)| index);
    Ok(encoded.into_iter().map(|(_, column)| column).collect())
}

/// Encodes a column in each of its planned encodings, and returns the smallest.
///
/// With zstd the first encoding is used, because chunks are compressed together.
fn encode_column(
    column: &PlannedColumn<'_>,
    search: &SearchParams,
) -> Result<Option<EncodedColumn>> {
    let encoder = column.encoder();
    let (quoted, estimate) = (encoder.quoted, column.estimate);
    let mut best: Option<EncodedColumn> = None;
    for encoding in &column.encodings {
        let (type_id, chunk, tuning, source) = match encoding {
            ColumnEncoding::Standalone(chunk_type, tuning) => {
                (chunk_type.id(), encoder.chunk(*chunk_type), *tuning, None)
            }
            ColumnEncoding::Derived { source, map, tuning } => {
                (kind::DERIVED, encoder.derived(*source, map), *tuning, Some(*source))
            }
        };
        let (block, repeats) = (None, false);
        let mut encoded =
            EncodedColumn { type_id, quoted, chunk, block, estimate, tuning, source, repeats };
        if search.is_quick() || column.encodings.len() == 1 {
            return Ok(Some(encoded));
        }
        encoded.block = Some(Block::new(&encoded.chunk, tuning)?);
        if best.as_ref().is_none_or(|best| encoded.cost() < best.cost()) {
            best = Some(encoded);
        }
    }
    Ok(best)
}

/// Returns the blocks of `values`: one per column, but small neighbours share one where
/// that is smaller.
fn shared_blocks(columns: &[EncodedColumn]) -> Result<Vec<Block>> {
    let is_small = |column: &EncodedColumn| column.cost() < SHARED_BLOCK_BYTES;
    let mut blocks = Vec::new();
    for run in columns.chunk_by(|one, other| is_small(one) && is_small(other)) {
        let apart: usize = run.iter().map(EncodedColumn::cost).sum();
        if run.len() > 1 {
            let chunks: Vec<&[u8]> = run.iter().map(|column| &column.chunk[..]).collect();
            let largest = run.iter().max_by_key(|column| column.cost());
            let tuning = largest.map_or(Tuning::flat(1), |column| column.tuning);
            let together = Block::new(&chunks.concat(), tuning)?;
            if together.cost() < apart {
                blocks.push(together);
                continue;
            }
        }
        blocks.extend(run.iter().filter_map(|column| column.block.clone()));
    }
    Ok(blocks)
}
