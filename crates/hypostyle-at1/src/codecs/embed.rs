//! embed: an array of elements of one width (§7.8).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | width uv, header lp, elements uv |
//! | `data` | all first bytes of the elements, then all second bytes, ... |

#![deny(clippy::arithmetic_side_effects)]

use super::context::DecodeContext;
use super::entry::CodecEntry;
use crate::output::Output;
use hypostyle_core::error::Result;

const STREAMS: [&str; 2] = ["meta", "data"];
/// The largest width of an element in bytes.
const MAX_WIDTH: u64 = 32;
/// The number of elements that are assembled at a time.
const BATCH_ELEMENTS: usize = 4 << 10;

pub(super) static ENTRY: CodecEntry = CodecEntry::new(decode);

/// Writes the header and the elements.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = context.streams(&STREAMS)?;
    let mut meta = streams.read("meta");
    let width = meta.uv("element width")?;
    if !(1..=MAX_WIDTH).contains(&width) {
        return Err(meta.malformed_at(0, "element width", format!("{width} is not in 1..=32")));
    }
    let header = meta.lp("header")?;
    let start = meta.offset();
    let count = meta.uv("element count")?;
    let data = streams.bytes("data");
    if width.checked_mul(count) != Some(data.len() as u64) {
        let why = format!("{count} elements of {width} bytes, but `data` has {} bytes", data.len());
        return Err(meta.malformed_at(start, "element count", why));
    }
    out.put(header)?;
    // Both fit a `usize`: the width is small, and the data is in memory.
    let (width, count) = (usize::try_from(width).unwrap_or(1), usize::try_from(count).unwrap_or(0));
    let mut batch = vec![0; BATCH_ELEMENTS.min(count).saturating_mul(width)];
    for from in (0..count).step_by(BATCH_ELEMENTS) {
        let len = BATCH_ELEMENTS.min(count.saturating_sub(from));
        let elements = batch.get_mut(..len.saturating_mul(width)).unwrap_or_default();
        for (byte, plane) in data.chunks_exact(count).enumerate() {
            let plane = plane.get(from..).unwrap_or_default();
            for (to, from) in elements.iter_mut().skip(byte).step_by(width).zip(plane) {
                *to = *from;
            }
        }
        out.put(elements)?;
    }
    Ok(())
}
