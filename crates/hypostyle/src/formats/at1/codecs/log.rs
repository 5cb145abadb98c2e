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

use super::{Job, Joiner, Modes, pick, trailing};
use crate::error::Result;
use crate::formats::at1::output::Output;

const STREAMS: [&str; 6] = ["meta", "templates", "flags", "tids", "vars", "verbatim"];

/// Writes the lines of one frame.
pub(super) fn decode(job: &Job<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = job.streams(&STREAMS)?;
    let mut meta = streams.read("meta");
    let lines = meta.uv("line count")?;
    let trailing = trailing(meta.u8("trailing")?, false, job)?;
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
        if !flags.structured(job)? {
            out.put(verbatim.line("verbatim line")?)?;
            continue;
        }
        let parts = pick(&mut tids, &templates, "template")?;
        for (index, part) in parts.iter().enumerate() {
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
