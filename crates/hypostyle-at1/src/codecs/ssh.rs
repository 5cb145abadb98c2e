//! ssh: the lines of sshd in an auth log (§7.2).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | lines uv, trailing u8 |
//! | `flags` | a byte per line: 0 verbatim, 1 plain message, 2 templated message |
//! | `months`, `days`, `times`, `hosts` | lists, one element per line of flag 1 or 2 |
//! | `pids` | uv per line of flag 1 or 2 |
//! | `template_ids` | template uv per line of flag 2 |
//! | `templates` | list; `<*>` marks a hole |
//! | `vars` | list, one element per line of flag 2: the parts, byte 0 between them |
//! | `rawmsgs` | list, one element per line of flag 1 |
//! | `verbatim` | list |

use memchr::memmem;

use super::context::DecodeContext;
use super::deltas::decimal;
use super::entry::CodecEntry;
use super::line_flags::{Joiner, pick, trailing};
use crate::output::Output;
use crate::streams::LineList;
use hypostyle_core::error::Result;

const STREAMS: [&str; 12] = [
    "meta",
    "flags",
    "months",
    "days",
    "times",
    "hosts",
    "pids",
    "template_ids",
    "templates",
    "vars",
    "rawmsgs",
    "verbatim",
];
/// The text that marks a hole in a template.
pub(crate) const HOLE: &[u8] = b"<*>";

pub(super) static ENTRY: CodecEntry = CodecEntry::new(decode);

/// Writes the lines of one frame.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = context.streams(&STREAMS)?;
    let mut meta = streams.read("meta");
    let lines = meta.uv("line count")?;
    let trailing = trailing(meta.u8("trailing")?, false, context)?;
    streams.charge_lines::<Template>("templates", "templates")?;
    let holes = memmem::find_iter(streams.bytes("templates"), HOLE).count();
    streams.charge::<usize>(holes, "holes of templates")?;
    let templates = Templates::parse(streams.read("templates").lines());
    let mut flags = streams.read("flags");
    let mut months = streams.read("months").lines();
    let mut days = streams.read("days").lines();
    let mut times = streams.read("times").lines();
    let mut hosts = streams.read("hosts").lines();
    let mut pids = streams.read("pids");
    let mut ids = streams.read("template_ids");
    let mut vars = streams.read("vars").lines();
    let mut messages = streams.read("rawmsgs").lines();
    let mut verbatim = streams.read("verbatim").lines();
    let mut joiner = Joiner::default();
    for _ in 0..lines {
        joiner.next(out)?;
        let at = flags.offset();
        let flag = flags.u8("flag")?;
        match flag {
            0 => {
                out.put(verbatim.line("verbatim line")?)?;
                continue;
            }
            1 | 2 => {}
            other => {
                let why = format!("{other} is not 0, 1 or 2");
                return Err(flags.malformed_at(at, "flag", why));
            }
        }
        out.put(months.line("month")?)?;
        out.byte(b' ')?;
        out.put(days.line("day")?)?;
        out.byte(b' ')?;
        out.put(times.line("time")?)?;
        out.byte(b' ')?;
        out.put(hosts.line("host")?)?;
        out.put(b" sshd[")?;
        decimal(i128::from(pids.uv("process")?), out.buffer());
        out.put(b"]: ")?;
        if flag == 1 {
            out.put(messages.line("message")?)?;
        } else {
            let template = pick(&mut ids, &templates.list, "template")?;
            templates.put(*template, vars.line("variables")?, out)?;
        }
    }
    if trailing {
        out.byte(b'\n')?;
    }
    Ok(())
}

/// The templates, with the text between their holes joined.
///
/// A line may have fewer parts than its template has holes. The text after its last part is
/// then one slice of `text`, however many holes are in it.
#[derive(Debug, Default)]
struct Templates {
    /// The text between the holes of all templates.
    text: Vec<u8>,
    /// The offsets of the holes in `text`.
    holes: Vec<usize>,
    list: Vec<Template>,
}

/// The ranges of a template in `text` and `holes`.
#[derive(Clone, Copy, Debug)]
struct Template {
    text: (usize, usize),
    holes: (usize, usize),
}

impl Templates {
    fn parse(lines: LineList<'_>) -> Self {
        let mut all = Self::default();
        for line in lines {
            let start = (all.text.len(), all.holes.len());
            let mut from = 0;
            for hole in memmem::find_iter(line, HOLE) {
                all.text.extend_from_slice(line.get(from..hole).unwrap_or_default());
                all.holes.push(all.text.len());
                from = hole.saturating_add(HOLE.len());
            }
            all.text.extend_from_slice(line.get(from..).unwrap_or_default());
            all.list.push(Template {
                text: (start.0, all.text.len()),
                holes: (start.1, all.holes.len()),
            });
        }
        all
    }

    /// Writes a message; missing parts are empty, and surplus parts are dropped.
    fn put(&self, template: Template, vars: &[u8], out: &mut Output<'_>) -> Result<()> {
        let Template { text: (mut from, end), holes: (first, last) } = template;
        let holes = self.holes.get(first..last).unwrap_or_default();
        for (&hole, part) in holes.iter().zip(vars.split(|&byte| byte == 0)) {
            out.put(self.text.get(from..hole).unwrap_or_default())?;
            out.put(part)?;
            from = hole;
        }
        out.put(self.text.get(from..end).unwrap_or_default())
    }
}
