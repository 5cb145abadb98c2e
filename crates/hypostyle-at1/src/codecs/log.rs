//! log: lines of any log, as templates with holes (§7.1).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | lines uv, trailing u8 |
//! | `templates` | list; byte 0 marks a hole |
//! | `flags` | a byte per line: 0 verbatim, else structured |
//! | `tids` | template uv per structured line |
//! | `vars` | list, one element per hole, for the whole file |
//! | `verbatim` | list |

use super::context::DecodeContext;
use super::entry::{CodecEntry, TableRows};
use super::line_flags::{Joiner, Modes, pick, trailing};
use super::log_rows::put_row;
use crate::output::Output;
use hypostyle_core::error::Result;

const STREAMS: [&str; 6] = ["meta", "templates", "flags", "tids", "vars", "verbatim"];

pub(super) static ENTRY: CodecEntry =
    CodecEntry { rows: TableRows::LogLines(rows), ..CodecEntry::new(decode) };

/// Writes the lines of one frame.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let mut joiner = Joiner::default();
    let trailing = for_each_line(context, |line| {
        joiner.next(out)?;
        match line {
            Line::Verbatim(text) => out.put(text),
            Line::Structured { parts, vars, .. } => {
                let mut vars = vars.iter();
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        out.put(vars.next().copied().unwrap_or_default())?;
                    }
                    out.put(part)?;
                }
                Ok(())
            }
        }
    })?;
    if trailing {
        out.byte(b'\n')?;
    }
    Ok(())
}

/// Writes an object for each line, with its template and variables.
fn rows(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let mut whole = Vec::new();
    for_each_line(context, |line| match line {
        Line::Verbatim(text) => put_row(None, text, &[], out),
        Line::Structured { template, parts, vars } => {
            whole.clear();
            for (index, part) in parts.iter().enumerate() {
                let var = index.checked_sub(1).and_then(|before| vars.get(before));
                whole.extend_from_slice(var.copied().unwrap_or_default());
                whole.extend_from_slice(part);
            }
            put_row(Some(template), &whole, vars, out)
        }
    })?;
    Ok(())
}

/// A line of a log.
enum Line<'a> {
    Verbatim(&'a [u8]),
    Structured { template: usize, parts: &'a [&'a [u8]], vars: &'a [&'a [u8]] },
}

/// Calls `each` with every line; returns whether the last one ends with a newline.
fn for_each_line(
    context: &DecodeContext<'_>,
    mut each: impl FnMut(Line<'_>) -> Result<()>,
) -> Result<bool> {
    let streams = context.streams(&STREAMS)?;
    let mut meta = streams.read("meta");
    let lines = meta.uv("line count")?;
    let trailing = trailing(meta.u8("trailing")?, false, context)?;
    let templates: Vec<Vec<&[u8]>> = streams
        .read("templates")
        .lines()
        .map(|template| template.split(|&byte| byte == 0).collect())
        .collect();
    let mut flags = Modes::new(&streams, "flags");
    let mut tids = streams.read("tids");
    let mut all_vars = streams.read("vars").lines();
    let mut verbatim = streams.read("verbatim").lines();
    let mut vars = Vec::new();
    for _ in 0..lines {
        if !flags.structured(context)? {
            each(Line::Verbatim(verbatim.line("verbatim line")?))?;
            continue;
        }
        let mut peek = tids.clone();
        let parts = pick(&mut tids, &templates, "template")?;
        let template = peek.size("template")?;
        vars.clear();
        for _ in 1..parts.len() {
            vars.push(all_vars.line("variable")?);
        }
        each(Line::Structured { template, parts, vars: &vars })?;
    }
    Ok(trailing)
}
