//! Lines of a log as templates and what fills their holes (§7.1).

use crate::pack::context::EncodeContext;
use crate::pack::lines::{ended, text_start};
use crate::pack::logs::log_templates::Mined;
use crate::pack::newline_list::NewlineList;
use crate::pack::stream_set::{Body, Stream};
use crate::pack::tables::dialect;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Lines that are enough to be a log.
const LINES: usize = 8;

/// Whether content may be the lines of a log: text in lines that is neither a table
/// nor JSON Lines.
pub(in crate::pack) fn suits(content: &[u8]) -> bool {
    let Some(start) = text_start(content) else { return false };
    memchr::memchr_iter(b'\n', start).take(LINES).count() == LINES
        && !start.starts_with(b"{")
        && !dialect::is_table(content)
}

/// The streams of a log; `None` if its lines have no templates.
pub(in crate::pack) fn streams(
    text: &[u8],
    job: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let (lines, trailing) = ended(text);
    let lines = || lines.split(|&byte| byte == b'\n');
    let mined = Mined::new(lines());
    if mined.templates.is_empty() {
        return Ok(None);
    }
    let mut templates = Vec::new();
    for template in &mined.templates {
        templates.push(template.parts.join(&0));
    }
    let (mut flags, mut tids, mut holes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut vars, mut verbatim) = (NewlineList::default(), NewlineList::default());
    for (line, id) in lines().zip(&mined.ids) {
        let template = id.and_then(|id| mined.templates.get(id as usize));
        flags.push(template.is_some().into());
        let (Some(id), Some(template)) = (id, template) else {
            verbatim.push(line);
            continue;
        };
        put::uv(&mut tids, (*id).into());
        template.holes(line, &mut holes);
        for &(from, to) in &holes {
            vars.push(line.get(from..to).unwrap_or_default());
        }
    }
    let mut meta = Vec::new();
    put::uv(&mut meta, mined.ids.len() as u64);
    meta.push(trailing.into());
    let streams = [
        ("meta", meta),
        ("flags", flags),
        ("templates", templates.join(&b'\n')),
        ("tids", tids),
        ("vars", vars.bytes),
        ("verbatim", verbatim.bytes),
    ];
    Body::all(streams, job).map(Some)
}
