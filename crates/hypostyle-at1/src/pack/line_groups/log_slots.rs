//! Says on which slots the columns of a log depend, and orders columns by that (§7.11).

use bytes::Bytes;

use super::LineStreams;
use super::contents::renumbered_ids;
use crate::codec::Codec;
use crate::log_columns::{LOG, LogClaims, SlotClass};
use crate::pack::context::EncodeContext;
use crate::pack::line_group_request::LineGroupRequest;
use crate::pack::options::Layout;
use crate::pack::stream_set::{Stream, size};
use hypostyle_core::compress::xz;
use hypostyle_core::error::Result;
use hypostyle_core::limits::Limits;
use hypostyle_core::text::TextKind;
use hypostyle_core::wire::put;

/// The part of an archive that the stream may take: one in so many.
const STREAMS_PER_ARCHIVE: usize = 256;

/// The classes that a template needs, and those that a time needs, have lower ranks.
const END_RANKS: [u8; 2] = [2, 4];

/// Finds out what the columns of a log depend on, and moves the columns of `values` that they
/// need to the front; `None` if the text is not a log, or if nobody asks for it.
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
        let mut order: Vec<usize> = (0..claims.classes.len()).collect();
        let class = |column: usize| claims.classes.get(column).copied().unwrap_or_default();
        order.sort_by_key(|&column| class(column).rank());
        let classes = reordered(&claims.classes, &order);
        reorder(streams, &order)?;
        claims.classes = classes;
    }
    Ok(Some(claims))
}

/// Returns the classes of columns in another order.
pub(super) fn reordered(classes: &[SlotClass], order: &[usize]) -> Vec<SlotClass> {
    order.iter().filter_map(|&column| classes.get(column).copied()).collect()
}

/// Changes the order of the columns of records.
fn reorder(streams: &mut LineStreams, order: &[usize]) -> Result<()> {
    let index = streams.content("value_index").to_vec();
    let lengths = crate::log_columns::column_lengths(&index)?;
    let mut starts = Vec::with_capacity(lengths.len());
    let mut start = 0;
    for &len in &lengths {
        starts.push(start..start + len);
        start += len;
    }
    let mut numbers = vec![0_u64; order.len()];
    let (mut index, mut values) = (Vec::new(), Vec::new());
    put::uv(&mut index, order.len() as u64);
    for (new, &old) in order.iter().enumerate() {
        if let Some(number) = numbers.get_mut(old) {
            *number = new as u64;
        }
        let place = starts.get(old).cloned().unwrap_or_default();
        put::uv(&mut index, place.len() as u64);
        values.extend_from_slice(streams.content("values").get(place).unwrap_or_default());
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
        let lengths = crate::log_columns::column_lengths(contents.content("value_index"))?;
        for (start, rank) in starts.iter_mut().zip(END_RANKS) {
            let columns = claims.classes.iter().zip(&lengths);
            let needed = columns.filter(|(class, _)| class.rank() < rank);
            let len = needed.map(|(_, len)| len).sum();
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
