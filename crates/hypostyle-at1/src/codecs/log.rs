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

use std::ops::Range;

use memchr::memchr2_iter;

use super::context::DecodeContext;
use super::entry::CodecEntry;
use super::line_flags::{Joiner, Modes, pick, trailing};
use crate::output::Output;
use crate::streams::Streams;
use hypostyle_core::error::{ErrorKind, Result};

const STREAMS: [&str; 6] = ["meta", "templates", "flags", "tids", "vars", "verbatim"];

pub(super) static ENTRY: CodecEntry = CodecEntry::new(decode);

/// The templates, as the parts between their holes.
struct Templates<'a> {
    parts: Vec<&'a [u8]>,
    /// The range of each template in `parts`.
    list: Vec<Range<u32>>,
}

impl<'a> Templates<'a> {
    fn parse(streams: &'a Streams) -> Result<Self> {
        let text = streams.bytes("templates");
        let parts = memchr2_iter(b'\n', 0, text).count().saturating_add(1);
        streams.charge::<&[u8]>(parts, "templates")?;
        streams.charge_lines::<Range<u32>>("templates", "templates")?;
        if u32::try_from(parts).is_err() {
            let (what, asked, limit) = ("templates", parts as u64, u64::from(u32::MAX));
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        let (mut parts, mut list) = (Vec::with_capacity(parts), Vec::new());
        for template in streams.read("templates").lines() {
            let start = u32::try_from(parts.len()).unwrap_or(u32::MAX);
            parts.extend(template.split(|&byte| byte == 0));
            list.push(start..u32::try_from(parts.len()).unwrap_or(u32::MAX));
        }
        Ok(Self { parts, list })
    }

    fn parts(&self, template: &Range<u32>) -> &[&'a [u8]] {
        let place = template.start as usize..template.end as usize;
        self.parts.get(place).unwrap_or_default()
    }
}

/// Writes the lines of one frame.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = context.streams(&STREAMS)?;
    let mut meta = streams.read("meta");
    let lines = meta.uv("line count")?;
    let trailing = trailing(meta.u8("trailing")?, false, context)?;
    let templates = Templates::parse(&streams)?;
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
        let template = pick(&mut tids, &templates.list, "template")?;
        for (index, part) in templates.parts(template).iter().enumerate() {
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
