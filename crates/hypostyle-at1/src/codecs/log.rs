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
use super::entry::CodecEntry;
use super::line_flags::{Joiner, Modes, pick, trailing};
use crate::output::Output;
use hypostyle_core::error::Result;

const STREAMS: [&str; 6] = ["meta", "templates", "flags", "tids", "vars", "verbatim"];

pub(super) static ENTRY: CodecEntry = CodecEntry::new(decode);

/// Writes the lines of one frame.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
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
    let mut vars = streams.read("vars").lines();
    let mut verbatim = streams.read("verbatim").lines();
    let mut joiner = Joiner::default();
    for _ in 0..lines {
        joiner.next(out)?;
        if !flags.structured(context)? {
            out.put(verbatim.line("verbatim line")?)?;
            continue;
        }
        for (index, part) in pick(&mut tids, &templates, "template")?.iter().enumerate() {
            if index > 0 {
                out.put(vars.line("variable")?)?;
            }
            out.put(part)?;
        }
    }
    if trailing {
        out.byte(b'\n')?;
    }
    Ok(())
}

/// Returns the templates of one frame with the number of lines of each; a hole is a byte 0.
///
/// # Errors
///
/// Fails for damaged streams.
pub(crate) fn template_counts(context: &DecodeContext<'_>) -> Result<Vec<(Vec<u8>, u64)>> {
    let streams = context.streams(&["meta", "templates", "flags", "tids"])?;
    let lines = streams.read("meta").uv("line count")?;
    let mut found: Vec<(Vec<u8>, u64)> =
        streams.read("templates").lines().map(|template| (template.to_vec(), 0)).collect();
    let places: Vec<usize> = (0..found.len()).collect();
    let mut flags = Modes::new(&streams, "flags");
    let mut tids = streams.read("tids");
    for _ in 0..lines {
        if flags.structured(context)? {
            let place = *pick(&mut tids, &places, "template")?;
            found.get_mut(place).into_iter().for_each(|(_, count)| *count += 1);
        }
    }
    Ok(found)
}
