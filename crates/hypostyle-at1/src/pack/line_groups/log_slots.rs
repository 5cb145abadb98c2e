//! Says on which slots the columns of a log depend, and orders columns by that (§7.11).

use std::ops::Range;

use bytes::Bytes;

use super::LineStreams;
use super::contents::renumbered_ids;
use crate::codec::Codec;
use crate::log_columns::{LOG, LogClaims, LogColumn, SlotClass, column_lengths};
use crate::pack::context::EncodeContext;
use crate::pack::line_group_request::LineGroupRequest;
use crate::pack::options::Layout;
use crate::pack::stream_set::{Stream, size};
use hypostyle_core::compress::xz;
use hypostyle_core::compress::xz::encode::Tuning;
use hypostyle_core::error::Result;
use hypostyle_core::limits::Limits;
use hypostyle_core::text::TextKind;
use hypostyle_core::wire::put;

/// The part of an archive that the stream may take: one in so many.
const STREAMS_PER_ARCHIVE: usize = 256;

/// Columns of at most so many bytes are compressed in several orders.
const MAX_COMPARED_BYTES: usize = 512 << 10;

/// The rank of the columns that neither templates nor times depend on. Next to each other, those
/// with elements of about the same length took 1 to 2 % less.
const LAST_RANK: u8 = 4;

/// Orders of the ranks of columns.
const RANK_ORDERS: [[u8; 5]; 2] = [[0, 1, 2, 3, LAST_RANK], [2, 3, 0, 1, LAST_RANK]];

/// Finds out what the columns of a log depend on, and moves the columns of `values` that they
/// need to the front; `None` if the text is not a log, or if the caller does not want it.
pub(super) fn claims(
    streams: &mut LineStreams,
    text: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<LogClaims>> {
    let is_log = |request: &LineGroupRequest| request.summary.format.kind == TextKind::Log;
    // zstd cannot be read from its start alone.
    if !context.lines.is_some_and(is_log) || context.search.is_quick() {
        return Ok(None);
    }
    let stream = |name: &str| {
        let found = streams.streams.iter().find(|(known, _)| *known == name);
        found.map(|(_, content)| Bytes::copy_from_slice(content)).unwrap_or_default()
    };
    let Some(mut claims) = LogClaims::find(streams.codec, stream, text)? else {
        return Ok(None);
    };
    if streams.codec == Codec::JsonDoc {
        let order = best_order(streams, &claims.classes, context)?;
        claims.classes = reordered(&claims.classes, &order);
        reorder(streams, &order)?;
    }
    Ok(Some(claims))
}

/// Returns the classes of columns in another order.
pub(super) fn reordered(classes: &[SlotClass], order: &[usize]) -> Vec<SlotClass> {
    order.iter().filter_map(|&column| classes.get(column).copied()).collect()
}

/// Returns the order of the columns of records that makes them smallest, among those in which
/// the columns that templates and times depend on come first.
fn best_order(
    streams: &LineStreams,
    classes: &[SlotClass],
    context: &EncodeContext<'_>,
) -> Result<Vec<usize>> {
    let columns = columns(streams)?;
    let widths: Vec<usize> = columns.iter().map(|column| width(streams, column)).collect();
    let is_small = streams.content("values").len() <= MAX_COMPARED_BYTES;
    let mut best: Option<(f64, Vec<usize>)> = None;
    for ranks in RANK_ORDERS.iter().take(if is_small { RANK_ORDERS.len() } else { 1 }) {
        let mut order: Vec<usize> = (0..classes.len()).collect();
        let rank = |column: usize| classes.get(column).copied().unwrap_or_default().rank();
        order.sort_by_key(|&column| {
            let width = widths.get(column).filter(|_| rank(column) == LAST_RANK);
            (ranks.iter().position(|&it| it == rank(column)), width)
        });
        let cost = match is_small {
            true => {
                let values = joined(streams, &columns, &order);
                context.search.rough_estimate(&values, Tuning::flat(3))?
            }
            false => 0.0,
        };
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, order));
        }
    }
    Ok(best.map(|(_, order)| order).unwrap_or_default())
}

/// Returns the bytes of an element of a column, in the mean.
fn width(streams: &LineStreams, column: &Range<usize>) -> usize {
    let content = streams.content("values").get(column.clone()).unwrap_or_default();
    let elements = memchr::memchr_iter(b'\n', content).count() + 1;
    (content.len() + elements / 2) / elements
}

/// Returns the places of the columns of records in `values`.
fn columns(streams: &LineStreams) -> Result<Vec<Range<usize>>> {
    let mut start = 0;
    let place = |len: usize| {
        let place = start..start + len;
        start = place.end;
        place
    };
    Ok(column_lengths(streams.content("value_index"))?.into_iter().map(place).collect())
}

/// Returns the columns of records in another order.
fn joined(streams: &LineStreams, columns: &[Range<usize>], order: &[usize]) -> Vec<u8> {
    let column = |&old: &usize| streams.content("values").get(columns.get(old)?.clone());
    order.iter().filter_map(column).collect::<Vec<_>>().concat()
}

/// Changes the order of the columns of records.
fn reorder(streams: &mut LineStreams, order: &[usize]) -> Result<()> {
    let columns = columns(streams)?;
    let mut values = joined(streams, &columns, order);
    let mut numbers = vec![0_u64; order.len()];
    let mut index = Vec::new();
    put::uv(&mut index, order.len() as u64);
    for (new, &old) in order.iter().enumerate() {
        if let Some(number) = numbers.get_mut(old) {
            *number = new as u64;
        }
        put::uv(&mut index, columns.get(old).map_or(0, ExactSizeIterator::len) as u64);
    }
    let ids = renumbered_ids(streams.content("colids"), &numbers)?;
    for (name, content) in &mut streams.streams {
        match *name {
            "value_index" => *content = std::mem::take(&mut index),
            "values" => *content = std::mem::take(&mut values),
            "colids" => content.clone_from(&ids),
            _ => {}
        }
    }
    Ok(())
}

/// Adds the stream to the streams of an archive without groups, if it pays.
pub(super) fn add_to_whole(
    streams: &mut Vec<Stream>,
    contents: &LineStreams,
    claims: &LogClaims,
    request: &LineGroupRequest,
) -> Result<()> {
    let Ok(lines) = usize::try_from(request.summary.rows) else { return Ok(()) };
    let mut starts = [0; 2];
    let values = streams.iter().find(|stream| stream.name == "values");
    if let Some(values) = values.filter(|values| xz::is_xz(&values.body.bytes)) {
        let columns = columns(contents)?;
        for (start, column) in starts.iter_mut().zip([LogColumn::Template, LogColumn::Time]) {
            let columns = claims.classes.iter().zip(&columns);
            let needed = columns.filter(|(class, _)| column.reads(**class));
            let len = needed.map(|(_, place)| place.end).max().unwrap_or_default();
            let limits = Limits::default().with_block_bytes(u64::MAX);
            *start = xz::decompress_start(&values.body.bytes, len, &limits)?.1 as u64;
        }
    }
    let metadata = claims.metadata(claims.classes.clone(), &[lines], starts);
    let stream = Stream::small(LOG, &metadata.content(), Layout::Reference)?;
    if request.rows.is_some() || stream.written_size() * STREAMS_PER_ARCHIVE <= size(streams) {
        streams.insert(0, stream);
    }
    Ok(())
}
