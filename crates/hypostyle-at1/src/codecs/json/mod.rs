//! json: a compact JSON value on each line, as a tape (§7.3).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | lines uv, trailing u8 |
//! | `flags` | a byte per line: 0 verbatim, else structured |
//! | `verbatim` | list |
//! | `keyvocab` | list of keys, with their quotes |
//! | `value_index` | columns uv, length uv of each |
//! | `values` | a list of tokens per column, one byte between neighbours |
//! | `rules` | rules uv; each: literals uv, lp each, sources uv, column uv each |
//! | `tape` | a value per structured line |
//!
//! ```text
//! value = 00 column uv                        the next token of the column
//!       | 01 members uv, (key uv, value)*     object
//!       | 02 elements uv, value*              array
//!       | 03 rule uv                          a string of literals and earlier tokens
//! ```

#![deny(clippy::arithmetic_side_effects)]

mod part;

pub(crate) use part::{
    JsonPart, TapeCounter, reached_columns, renumbered_rules, renumbered_tape, rule_sources,
};

use super::context::DecodeContext;
use super::entry::CodecEntry;
use super::line_flags::{Joiner, Modes, pick, trailing};
use super::token_columns::TokenColumns;
use crate::output::Output;
use crate::streams::StreamCursor;
use hypostyle_core::error::{ErrorKind, Result};

const STREAMS: [&str; 8] =
    ["meta", "flags", "verbatim", "keyvocab", "value_index", "values", "rules", "tape"];
/// The largest number of open objects and arrays.
const MAX_DEPTH: usize = 8192;

pub(super) static ENTRY: CodecEntry = CodecEntry::new(decode);

/// Writes the lines of one frame.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = context.streams(&STREAMS)?;
    let mut meta = streams.read("meta");
    let lines = meta.uv("line count")?;
    let trailing = trailing(meta.u8("trailing")?, true, context)?;
    let columns = TokenColumns::parse(&streams, 1)?;
    streams.charge_lines::<&[u8]>("keyvocab", "keys")?;
    streams.charge::<&[u8]>(columns.len(), "columns")?;
    // A rule has at least two bytes, and each of its literals and sources one.
    streams.charge::<Rule<'_>>(streams.bytes("rules").len(), "rules")?;
    let parts = TapeStreams {
        tape: streams.read("tape"),
        keys: streams.read("keyvocab"),
        rules: streams.read("rules"),
    };
    let mut tape = Tape::new(parts, columns, context.limits.output_bytes)?;
    let mut flags = Modes::new(&streams, "flags");
    let mut verbatim = streams.read("verbatim").lines();
    let mut joiner = Joiner::default();
    for _ in 0..lines {
        joiner.next(out)?;
        if flags.structured(context)? {
            tape.put_value(out)?;
        } else {
            out.put(verbatim.line("verbatim line")?)?;
        }
    }
    if trailing {
        out.byte(b'\n')?;
    }
    Ok(())
}

/// The tape, and the streams that it refers to.
#[derive(Debug)]
struct Tape<'a> {
    tape: StreamCursor<'a>,
    keys: Vec<&'a [u8]>,
    columns: TokenColumns<'a>,
    rules: Vec<Rule<'a>>,
    /// The last token of each column, without its quotes.
    last: Vec<&'a [u8]>,
    /// The open objects and arrays.
    open: Vec<Nest>,
    /// The number of sources that derived values may still refer to.
    sources_left: u64,
    sources_limit: u64,
}

/// How a derived value is built: literals with a source between each two.
#[derive(Debug)]
struct Rule<'a> {
    first: &'a [u8],
    /// A column, and the literal that follows its last token.
    rest: Vec<(usize, &'a [u8])>,
}

/// An open object or array.
#[derive(Debug)]
struct Nest {
    object: bool,
    /// The number of members or elements that follow.
    left: usize,
}

/// The streams that a tape consists of, besides the columns.
struct TapeStreams<'a> {
    tape: StreamCursor<'a>,
    keys: StreamCursor<'a>,
    rules: StreamCursor<'a>,
}

impl<'a> Tape<'a> {
    fn new(streams: TapeStreams<'a>, columns: TokenColumns<'a>, limit: u64) -> Result<Self> {
        let rules = rules(streams.rules, columns.len())?;
        Ok(Self {
            tape: streams.tape,
            keys: streams.keys.lines().collect(),
            last: vec![&[]; columns.len()],
            columns,
            rules,
            open: Vec::new(),
            sources_left: limit,
            sources_limit: limit,
        })
    }

    /// Writes the next value: that of a line, or a member of it.
    fn put_value(&mut self, out: &mut Output<'_>) -> Result<()> {
        self.open.clear();
        loop {
            if self.put_start(out)? {
                continue;
            }
            // The value may have been the last of its object or array, and so on outwards.
            while let Some(nest) = self.open.last_mut() {
                if let Some(left) = nest.left.checked_sub(1) {
                    nest.left = left;
                    out.byte(b',')?;
                    if nest.object {
                        self.put_key(out)?;
                    }
                    break;
                }
                out.byte(if nest.object { b'}' } else { b']' })?;
                self.open.pop();
            }
            if self.open.is_empty() {
                return Ok(());
            }
        }
    }

    /// Writes a scalar, or the start of an object or array and returns `true`.
    fn put_start(&mut self, out: &mut Output<'_>) -> Result<bool> {
        let start = self.tape.offset();
        match self.tape.u8("value")? {
            0 => {
                let (column, token) = self.columns.token(&mut self.tape)?;
                if let Some(last) = self.last.get_mut(column) {
                    *last = bare(token);
                }
                out.put(token)?;
                Ok(false)
            }
            // A member is a key and a value, which take at least three bytes.
            1 => {
                let members = self.tape.count(3, "member count")?;
                self.open(true, members, start, out)
            }
            2 => {
                let elements = self.tape.count(2, "element count")?;
                self.open(false, elements, start, out)
            }
            3 => {
                self.put_derived(out)?;
                Ok(false)
            }
            other => {
                let why = format!("{other} is not 0, 1, 2 or 3");
                Err(self.tape.malformed_at(start, "value", why))
            }
        }
    }

    /// Opens an object or an array; returns `false` if it is empty.
    fn open(
        &mut self,
        object: bool,
        count: usize,
        start: u64,
        out: &mut Output<'_>,
    ) -> Result<bool> {
        if self.open.len() >= MAX_DEPTH {
            let why = format!("more than {MAX_DEPTH} objects and arrays are open");
            return Err(self.tape.malformed_at(start, "value", why));
        }
        let Some(left) = count.checked_sub(1) else {
            out.put(if object { b"{}" } else { b"[]" })?;
            return Ok(false);
        };
        out.byte(if object { b'{' } else { b'[' })?;
        self.open.push(Nest { object, left });
        if object {
            self.put_key(out)?;
        }
        Ok(true)
    }

    fn put_key(&mut self, out: &mut Output<'_>) -> Result<()> {
        out.put(pick(&mut self.tape, &self.keys, "key")?)?;
        out.byte(b':')
    }

    fn put_derived(&mut self, out: &mut Output<'_>) -> Result<()> {
        let rule = pick(&mut self.tape, &self.rules, "rule")?;
        // Two bytes of tape can refer to any number of empty sources, so the output limit
        // does not bound the time.
        let sources = rule.rest.len() as u64;
        let Some(left) = self.sources_left.checked_sub(sources) else {
            let (what, limit) = ("number of sources of derived values", self.sources_limit);
            let asked = limit.saturating_sub(self.sources_left).saturating_add(sources);
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        };
        self.sources_left = left;
        out.byte(b'"')?;
        out.put(rule.first)?;
        for (source, literal) in &rule.rest {
            out.put(self.last.get(*source).copied().unwrap_or_default())?;
            out.put(literal)?;
        }
        out.byte(b'"')
    }
}

/// Returns a token without its quotes.
fn bare(token: &[u8]) -> &[u8] {
    match token {
        [b'"', inner @ .., _] => inner,
        _ => token,
    }
}

fn rules(mut stream: StreamCursor<'_>, columns: usize) -> Result<Vec<Rule<'_>>> {
    // A rule has at least two counts.
    let count = stream.count(2, "rule count")?;
    let mut rules = Vec::with_capacity(count);
    for _ in 0..count {
        let literals = stream.count(1, "literal count")?;
        let list = (0..literals).map(|_| stream.lp("literal")).collect::<Result<Vec<_>>>()?;
        let start = stream.offset();
        let sources = stream.count(1, "source count")?;
        let (Some((first, after)), true) =
            (list.split_first(), sources.checked_add(1) == Some(literals))
        else {
            let why = format!("{sources} sources do not fit between {literals} literals");
            return Err(stream.malformed_at(start, "source count", why));
        };
        let mut rest = Vec::with_capacity(sources);
        for literal in after {
            let start = stream.offset();
            let source = stream.uv("source")?;
            let column = usize::try_from(source).ok().filter(|&column| column < columns);
            let Some(column) = column else {
                let why = format!("{source} is not below {columns}, the number of columns");
                return Err(stream.malformed_at(start, "source", why));
            };
            rest.push((column, *literal));
        }
        rules.push(Rule { first, rest });
    }
    Ok(rules)
}
