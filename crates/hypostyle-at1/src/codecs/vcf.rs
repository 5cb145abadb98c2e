//! vcf: variant calls with many samples (§7.6).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | lines uv, trailing u8, samples uv, pos_delta u8, usual token lp, other tokens uv, lp each |
//! | `flags` | a byte per line: 0 verbatim, else structured |
//! | `chrom`, `id`, `ref`, `alt`, `qual`, `filter`, `info`, `format` | lists, one element per structured line |
//! | `pos` | list likewise, or differences sv if pos_delta is set |
//! | `gt` | per structured line: uv, and so many (step uv, token uv) of unusual samples |
//! | `verbatim` | list |

#![deny(clippy::arithmetic_side_effects)]

use super::context::DecodeContext;
use super::deltas::{Deltas, decimal};
use super::entry::CodecEntry;
use super::line_flags::{Joiner, Modes, flag, pick, trailing};
use crate::output::Output;
use crate::streams::{LineList, StreamCursor, Streams};
use hypostyle_core::error::Result;

const STREAMS: [&str; 13] = [
    "meta", "flags", "chrom", "pos", "id", "ref", "alt", "qual", "filter", "info", "format", "gt",
    "verbatim",
];
/// The columns after the position.
const COLUMNS: [&str; 7] = ["id", "ref", "alt", "qual", "filter", "info", "format"];
/// The approximate number of bytes of usual samples that are written at a time.
const RUN_BYTES: usize = 4 << 10;

pub(super) static ENTRY: CodecEntry = CodecEntry::new(decode);

/// Writes the lines of one frame.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = context.streams(&STREAMS)?;
    let mut meta = streams.read("meta");
    let lines = meta.uv("line count")?;
    let trailing = trailing(meta.u8("trailing")?, false, context)?;
    let samples = meta.uv("sample count")?;
    let deltas = flag(meta.u8("pos_delta")?, "the form of positions", "meta", context)?;
    let mut samples = Samples::parse(samples, &mut meta, &streams)?;
    let mut positions = if deltas {
        Positions::Deltas(Deltas::new(&streams, "pos"))
    } else {
        Positions::Text(streams.read("pos").lines())
    };
    let mut chroms = streams.read("chrom").lines();
    let mut columns = COLUMNS.map(|name| (name, streams.read(name).lines()));
    let mut flags = Modes::new(&streams, "flags");
    let mut verbatim = streams.read("verbatim").lines();
    let mut joiner = Joiner::default();
    for _ in 0..lines {
        joiner.next(out)?;
        if !flags.structured(context)? {
            out.put(verbatim.line("verbatim line")?)?;
            continue;
        }
        out.put(chroms.line("chrom")?)?;
        out.byte(b'\t')?;
        positions.put(context, out)?;
        for (name, column) in &mut columns {
            out.byte(b'\t')?;
            out.put(column.line(name)?)?;
        }
        samples.put_line(out)?;
    }
    if trailing {
        out.byte(b'\n')?;
    }
    Ok(())
}

#[derive(Debug)]
enum Positions<'a> {
    Text(LineList<'a>),
    Deltas(Deltas<'a>),
}

impl Positions<'_> {
    fn put(&mut self, context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
        match self {
            Self::Text(lines) => out.put(lines.line("pos")?),
            Self::Deltas(deltas) => {
                decimal(deltas.next("pos", context)?, out.buffer());
                Ok(())
            }
        }
    }
}

/// The samples of a line, most of which have the usual token.
#[derive(Debug)]
struct Samples<'a> {
    count: u64,
    usual: &'a [u8],
    /// A tab and the usual token, repeated.
    run: Vec<u8>,
    tokens: Vec<&'a [u8]>,
    gt: StreamCursor<'a>,
}

impl<'a> Samples<'a> {
    fn parse(count: u64, meta: &mut StreamCursor<'a>, streams: &'a Streams) -> Result<Self> {
        let usual = meta.lp("usual token")?;
        let others = meta.count(1, "token count")?;
        let tokens = (0..others).map(|_| meta.lp("token")).collect::<Result<_>>()?;
        let mut once = vec![b'\t'];
        once.extend_from_slice(usual);
        let times = RUN_BYTES.checked_div(once.len()).unwrap_or(0).max(1);
        Ok(Self { count, usual, run: once.repeat(times), tokens, gt: streams.read("gt") })
    }

    /// Writes a tab and a token for each sample; without samples, a tab.
    fn put_line(&mut self, out: &mut Output<'_>) -> Result<()> {
        let named = self.gt.count(2, "number of unusual samples")?;
        // The file only states the number of samples, so check their smallest size against
        // the limit before writing them.
        let usual = self.count.saturating_sub(named as u64);
        let min_bytes = usual.saturating_mul(self.usual.len() as u64).saturating_add(self.count);
        out.reserve(min_bytes)?;
        if self.count == 0 && named == 0 {
            return out.byte(b'\t');
        }
        let mut done = 0;
        let mut index = 0_u64;
        let mut pending: Option<(u64, &[u8])> = None;
        for _ in 0..named {
            let start = self.gt.offset();
            let step = self.gt.uv("step")?;
            index = match index.checked_add(step) {
                Some(index) if index < self.count => index,
                _ => {
                    let why = format!("leads past the last of {} samples", self.count);
                    return Err(self.gt.malformed_at(start, "step", why));
                }
            };
            let token = *pick(&mut self.gt, &self.tokens, "token")?;
            // A sample that is named twice takes the later token.
            match pending.replace((index, token)) {
                Some((earlier, token)) if earlier != index => {
                    done = self.put_upto(done, earlier, token, out)?;
                }
                _ => {}
            }
        }
        if let Some((last, token)) = pending {
            done = self.put_upto(done, last, token, out)?;
        }
        self.put_usual(self.count.saturating_sub(done), out)
    }

    /// Writes usual samples from `done` on, and then the one at `index`.
    fn put_upto(&self, done: u64, index: u64, token: &[u8], out: &mut Output<'_>) -> Result<u64> {
        self.put_usual(index.saturating_sub(done), out)?;
        out.byte(b'\t')?;
        out.put(token)?;
        Ok(index.saturating_add(1))
    }

    fn put_usual(&self, samples: u64, out: &mut Output<'_>) -> Result<()> {
        let each = self.usual.len().saturating_add(1);
        let in_run = self.run.len().checked_div(each).unwrap_or(1).max(1) as u64;
        let mut left = samples;
        while let Some(after) = left.checked_sub(in_run) {
            out.put(&self.run)?;
            left = after;
        }
        // Less than a run, so it fits a `usize`.
        let rest = usize::try_from(left).unwrap_or(0).saturating_mul(each);
        out.put(self.run.get(..rest).unwrap_or_default())
    }
}
