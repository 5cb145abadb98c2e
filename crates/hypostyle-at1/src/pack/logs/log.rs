//! Encodes the lines of a log as templates and variables with codec log (§7.1).

use crate::codec::Codec;
use crate::pack::context::EncodeContext;
use crate::pack::line_groups::LineStreams;
use crate::pack::lines::{split_final_newline, text_start};
use crate::pack::logs::log_templates::LogTemplates;
use crate::pack::newline_list::NewlineList;
use crate::pack::stream_set::Stream;
use crate::pack::tables::dialect;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Lines from which a text may be a log.
const MIN_LINES: usize = 8;

/// Returns whether content may be a log: text in lines that is neither a table nor JSON Lines.
pub(in crate::pack) fn suits(content: &[u8]) -> bool {
    let Some(start) = text_start(content) else { return false };
    memchr::memchr_iter(b'\n', start).take(MIN_LINES).count() == MIN_LINES
        && !start.starts_with(b"{")
        && !dialect::is_table(content)
}

/// Encodes a log; returns `None` if its lines share no templates.
pub(in crate::pack) fn streams(
    text: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let (lines, trailing) = split_final_newline(text);
    let lines = || lines.split(|&byte| byte == b'\n');
    let found = LogTemplates::find(lines());
    if found.templates.is_empty() {
        return Ok(None);
    }
    let templates: Vec<Vec<u8>> = found.templates.iter().map(|it| it.literals.join(&0)).collect();
    let (mut flags, mut tids, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let (mut vars, mut verbatim) = (NewlineList::default(), NewlineList::default());
    for (line, &id) in lines().zip(&found.ids) {
        let Some((id, template)) = found.get(id) else {
            flags.push(0);
            verbatim.push(line);
            continue;
        };
        flags.push(1);
        put::uv(&mut tids, id.into());
        template.values(line, &mut values);
        for &(from, to) in &values {
            vars.push(line.get(from..to).unwrap_or_default());
        }
    }
    let mut meta = Vec::new();
    put::uv(&mut meta, found.ids.len() as u64);
    meta.push(trailing.into());
    let streams = vec![
        ("meta", meta),
        ("flags", flags),
        ("templates", templates.join(&b'\n')),
        ("tids", tids),
        ("vars", vars.bytes),
        ("verbatim", verbatim.bytes),
    ];
    LineStreams::new(Codec::Log, streams).encode(text, context).map(Some)
}
