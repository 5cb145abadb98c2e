//! Decodes some columns of a table without decompressing the others (§5.6).
//!
//! Our writer puts each column into an xz block of its own, and the index of the xz stream
//! says where it is. So this module builds the streams of a table with fewer columns: the
//! chunks of the projection, the chunks that these derive from, and metadata to match.
//! Tables that this cannot handle are decoded as a whole.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use bytes::Bytes;

use super::table::{STREAMS, columns, meta, placed, quotes};
use super::{kind, rows};
use crate::codecs::context::DecodeContext;
use crate::codecs::entry::Projection;
use crate::fields::{self, Dialect};
use crate::output::Output;
use crate::streams::{Backend, CompressedStream, StreamCursor, Streams};
use hypostyle_core::compress::xz;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::wire::put;

/// The stream with the number of fields in each column.
pub(crate) const FIELDS: &str = "hyp.fields";

/// Returns the number of fields in each column: one, unless the archive says otherwise.
///
/// Decoding does not depend on the stream, so a truncated one is ignored.
pub(crate) fn widths(streams: &Streams, columns: usize) -> Vec<usize> {
    let mut stream = streams.read(FIELDS);
    let widths: Result<Vec<usize>> = (0..columns).map(|_| stream.size("field count")).collect();
    widths.unwrap_or_else(|_| vec![1; columns])
}

/// Finds the columns that contain fields of these names; `None` if the whole table must be
/// decoded.
pub(crate) fn find(context: &DecodeContext<'_>, names: &[String]) -> Result<Option<Projection>> {
    let wanted = [&STREAMS[..5], &["quotemodes", "header", FIELDS]].concat();
    let streams = context.streams(&wanted)?;
    let meta = meta(&streams, context)?;
    let rows = usize::try_from(meta.rows).unwrap_or(usize::MAX);
    let Some(modes) = streams.bytes("row_modes").get(..rows) else { return Ok(None) };
    let mut counts = streams.read("fieldcounts");
    let mut simple = meta.has_header
        && !meta.delimiter.is_empty()
        && modes.iter().all(|&mode| mode != 0)
        && streams.bytes("quotemodes").iter().all(|&mode| mode <= 1);
    for _ in 0..rows {
        simple = simple && counts.size("field count")? == meta.columns;
    }
    let widths = widths(&streams, meta.columns);
    let dialect = Dialect { delimiter: meta.delimiter.to_vec(), quotes: true };
    let header = dialect.fields(streams.bytes("header"));
    let fields = widths.iter().fold(0_usize, |sum, &width| sum.saturating_add(width));
    if !simple || fields != header.len() {
        return Ok(None);
    }
    let mut columns = Vec::new();
    let mut kept = Vec::new();
    let mut found = 0;
    let mut rest = &header[..];
    for (column, &width) in widths.iter().enumerate() {
        let (own, others) = rest.split_at_checked(width).unwrap_or((rest, &[]));
        rest = others;
        let named = |field: &&&[u8]| names.iter().any(|name| *name == fields::name(field));
        let matches = own.iter().filter(named).count();
        if matches > 0 {
            columns.push(column);
            kept.extend_from_slice(own);
            found += matches;
        }
    }
    // The import of the whole table reports names that are missing or ambiguous.
    if found != names.len() || columns.is_empty() {
        return Ok(None);
    }
    Ok(Some(Projection { columns, header: kept.join(meta.delimiter) }))
}

/// Writes the rows of one frame, with the columns of the projection only.
pub(crate) fn decode(
    projection: &Projection,
    context: &DecodeContext<'_>,
    out: &mut Output<'_>,
) -> Result<()> {
    let streams = context.streams(&["meta", "coltypes", "quotemodes", "col_index"])?;
    let whole = meta(&streams, context)?;
    let types = streams.bytes("coltypes");
    let kind_of = |column: usize| types.get(column).copied().unwrap_or_default();
    let places = chunk_ranges(&streams, whole.columns)?;
    let mut values = ValuesStream::new(context);
    let mut chunks: BTreeMap<usize, Bytes> = BTreeMap::new();
    let mut wanted = projection.columns.clone();
    while let Some(column) = wanted.pop() {
        if chunks.contains_key(&column) {
            continue;
        }
        let place = places.get(column).cloned().unwrap_or_default();
        let chunk = values.get(place, context).map_err(|err| placed(err, column))?;
        if kind_of(column) == kind::DERIVED {
            let source = StreamCursor::new("values", &chunk).size("source column")?;
            // A source that comes later is refused when the chunk is decoded.
            wanted.extend(Some(source).filter(|&source| source < column));
        }
        chunks.insert(column, chunk);
    }
    let projected = projected_streams(&chunks, &streams, kind_of)?;
    let projected_meta = meta(&projected, context)?;
    let all = columns(&projected, &projected_meta, context)?;
    let quoted = quotes(&projected, &all, context)?;
    let (mut kept, mut marks) = (Vec::new(), Vec::new());
    for ((column, decoded), quotes) in chunks.keys().zip(all).zip(quoted) {
        if projection.columns.contains(column) {
            kept.push(decoded);
            marks.push(quotes);
        }
    }
    let rows = usize::try_from(whole.rows).unwrap_or(usize::MAX);
    let count = {
        let mut count = Vec::new();
        put::uv(&mut count, kept.len() as u64);
        count
    };
    let lines = Streams::of([
        ("row_modes", context.streams(&["row_modes"])?.shared("row_modes")),
        ("fieldcounts", count.repeat(rows).into()),
        ("header", projection.header.clone().into()),
    ]);
    rows::write(&lines, &whole, &kept, &marks, context, out)
}

/// Returns the range of each chunk in `values`.
pub(super) fn chunk_ranges(streams: &Streams, columns: usize) -> Result<Vec<Range<u64>>> {
    let mut lengths = streams.read("col_index");
    let mut start = 0_u64;
    let mut places = Vec::with_capacity(columns);
    for index in 0..columns {
        let len = lengths.uv("chunk length").map_err(|err| err.in_column(index, ""))?;
        let end = start.saturating_add(len);
        places.push(start..end);
        start = end;
    }
    Ok(places)
}

/// Builds the streams of a table with these chunks only, and renumbers the sources of derived
/// columns.
fn projected_streams(
    chunks: &BTreeMap<usize, Bytes>,
    streams: &Streams,
    kind_of: impl Fn(usize) -> u8,
) -> Result<Streams> {
    let (mut types, mut modes) = (Vec::new(), Vec::new());
    let (mut index, mut values) = (Vec::new(), Vec::new());
    let quotes = streams.bytes("quotemodes");
    for (&column, chunk) in chunks {
        types.push(kind_of(column));
        modes.push(quotes.get(column).copied().unwrap_or_default());
        let before = values.len();
        if kind_of(column) == kind::DERIVED {
            let mut stream = StreamCursor::new("values", chunk);
            let source = stream.size("source column")?;
            let place = chunks.keys().position(|&column| column == source);
            // A source without a chunk stays out of range, and is refused for that.
            put::uv(&mut values, place.unwrap_or(usize::MAX) as u64);
            values.extend_from_slice(stream.rest());
        } else {
            values.extend_from_slice(chunk);
        }
        put::uv(&mut index, (values.len() - before) as u64);
    }
    // Only the number of columns changes, which is the last field.
    let mut stream = streams.read("meta");
    let mut meta = Vec::new();
    put::uv(&mut meta, stream.uv("row count")?);
    meta.push(stream.u8("trailing")?);
    meta.push(stream.u8("has header")?);
    put::lp(&mut meta, stream.lp("delimiter")?);
    put::uv(&mut meta, chunks.len() as u64);
    Ok(Streams::of([
        ("meta", meta.into()),
        ("coltypes", types.into()),
        ("col_index", index.into()),
        ("values", values.into()),
        ("quotemodes", modes.into()),
    ]))
}

/// The stream `values`, decompressed block by block as needed.
struct ValuesStream<'a> {
    packed: Option<&'a CompressedStream>,
    blocks: Option<xz::Blocks<'a>>,
    decompressed: BTreeMap<usize, Vec<u8>>,
    whole: Option<Bytes>,
}

impl<'a> ValuesStream<'a> {
    fn new(context: &'a DecodeContext<'a>) -> Self {
        let packed = context.compressed("values");
        let blocks = packed.filter(|packed| packed.backend == Backend::Xz);
        let blocks = blocks.and_then(|packed| xz::Blocks::find(&packed.bytes));
        Self { packed, blocks, decompressed: BTreeMap::new(), whole: None }
    }

    fn get(&mut self, place: Range<u64>, context: &DecodeContext<'_>) -> Result<Bytes> {
        let truncated = || Error::malformed("chunk length", "runs past the end of `values`");
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let Some(blocks) = &self.blocks else {
            let whole = match (&self.whole, self.packed) {
                (Some(whole), _) => whole.clone(),
                (None, Some(packed)) => {
                    packed.decompress(context.limits, context.threads, context.deviations)?
                }
                (None, None) => Bytes::new(),
            };
            self.whole = Some(whole.clone());
            let place = size(place.start)..size(place.end);
            return whole.get(place.clone()).map(|_| whole.slice(place)).ok_or_else(truncated);
        };
        let mut chunk = Vec::new();
        let mut start = 0_u64;
        for index in 0..blocks.len() {
            let end = start.saturating_add(blocks.raw(index));
            let here = place.start.max(start)..place.end.min(end);
            if !here.is_empty() {
                let part = match self.decompressed.entry(index) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(fresh) => fresh.insert(blocks.decompress(index, context.limits)?),
                };
                let here = size(here.start - start)..size(here.end - start);
                chunk.extend_from_slice(part.get(here).ok_or_else(truncated)?);
            }
            start = end;
        }
        if place.end > start {
            return Err(truncated());
        }
        Ok(chunk.into())
    }
}
