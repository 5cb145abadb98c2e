//! qjson2: JSON Lines of several templates in row groups (§6.3).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | lines uv, trailing u8, templates uv |
//! | `line_map` | per line uv: 0 verbatim, else one more than its template |
//! | `verbatim` | list of the other lines |
//! | `t0:meta`, `t0:template`, … | a complete qjson set for each template |

use super::context::DecodeContext;
use super::entry::{CodecEntry, GroupedCodec};
use super::line_flags::{Joiner, trailing};
use super::{groups, qjson};
use crate::description::FrameInfo;
use crate::output::Output;
use crate::streams::{LineList, StreamCursor};
use hypostyle_core::error::Result;

/// The largest number of templates; the vendor's decoder has the same limit.
const MAX_TEMPLATES: usize = 64;

pub(super) static ENTRY: CodecEntry = CodecEntry {
    describe: Some(describe),
    groups: Some(GroupedCodec { delimited: false, line_map: true, prefixes }),
    ..CodecEntry::new(decode)
};

/// Returns the prefix of the stream names of each template.
fn prefixes(context: &DecodeContext<'_>) -> Result<Vec<String>> {
    let streams = context.streams(&["meta"])?;
    let mut meta = streams.read("meta");
    meta.uv("line count")?;
    meta.u8("trailing")?;
    Ok((0..count(&mut meta)?).map(prefix).collect())
}

/// Returns the prefix of the stream names of one template.
fn prefix(template: usize) -> String {
    format!("t{template}:")
}

fn count(meta: &mut StreamCursor<'_>) -> Result<usize> {
    let at = meta.clone();
    let templates = meta.size("template count")?;
    if templates > MAX_TEMPLATES {
        return Err(at.malformed("template count", format!("{templates} is over {MAX_TEMPLATES}")));
    }
    Ok(templates)
}

/// Returns whether lines are decoded from a stream.
fn is_needed(name: &str) -> bool {
    match name.split_once(':') {
        None => matches!(name, "meta" | "line_map" | "verbatim"),
        Some((_, name)) => groups::STREAMS.contains(&name),
    }
}

fn describe(context: &DecodeContext<'_>) -> Result<Vec<FrameInfo>> {
    groups::describe(&prefixes(context)?, false, context)
}

/// Writes the lines of one frame.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = context.decompress(is_needed)?;
    let mut meta = streams.read("meta");
    let lines = meta.uv("line count")?;
    let trailing = trailing(meta.u8("trailing")?, false, context)?;
    let templates = count(&mut meta)?;
    // The lines of each template are decoded into memory, and then merged by the line map.
    // All templates share one limit.
    let mut left = context.limits.output_bytes.min(context.limits.read_bytes);
    let mut texts = Vec::with_capacity(templates);
    for template in 0..templates {
        let mut text = Vec::new();
        let limits = context.limits.clone().with_output_bytes(left);
        let mut part = Output::new(&mut text, false, &limits);
        qjson::decode_table(&streams, &prefix(template), context, &mut part)?;
        left = left.saturating_sub(part.finish(None)?);
        texts.push(text);
    }
    let names: Vec<String> = (0..templates).map(|template| format!("t{template}:lines")).collect();
    let mut template_lines: Vec<LineList<'_>> = names
        .iter()
        .zip(&texts)
        .map(|(name, text)| StreamCursor::new(name, text).lines())
        .collect();
    let mut map = streams.read("line_map");
    let mut verbatim = streams.read("verbatim").lines();
    let mut joiner = Joiner::default();
    for _ in 0..lines {
        let at = map.clone();
        let choice = map.size("template of a line")?;
        let line = match choice.checked_sub(1) {
            None => verbatim.line("verbatim line")?,
            Some(template) => match template_lines.get_mut(template) {
                Some(lines) => lines.line("line of a template")?,
                None => {
                    let why =
                        format!("{template} is out of range: the frame has {templates} templates");
                    return Err(at.malformed("template of a line", why));
                }
            },
        };
        joiner.next(out)?;
        out.put(line)?;
    }
    if trailing && lines > 0 {
        out.byte(b'\n')?;
    }
    Ok(())
}
