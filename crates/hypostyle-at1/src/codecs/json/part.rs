//! Decodes some consecutive lines, with all members of their objects or some of them (§7.10).

#![deny(clippy::arithmetic_side_effects)]

use super::{MAX_DEPTH, Nest, Tape, TapeStreams, TokenColumns, bare, rules};
use crate::codecs::line_flags::Joiner;
use crate::output::Output;
use crate::streams::StreamCursor;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::wire::put;

/// Consecutive lines: their parts of the streams, and the streams that all lines share.
#[derive(Debug)]
pub(crate) struct JsonPart<'a> {
    pub(crate) flags: &'a [u8],
    /// The verbatim lines; `None` if there are none.
    pub(crate) verbatim: Option<&'a [u8]>,
    pub(crate) tape: &'a [u8],
    pub(crate) keys: &'a [u8],
    pub(crate) rules: &'a [u8],
    /// The tokens of each column; `None` if there are none, or if they are not needed.
    pub(crate) columns: Vec<Option<&'a [u8]>>,
    /// The columns whose last token before the lines is known, and the token without quotes.
    pub(crate) last: Vec<(usize, &'a [u8])>,
    /// Whether the last line has a newline.
    pub(crate) trailing: bool,
}

/// Which members of objects are wanted, and which columns they need.
#[derive(Debug)]
pub(crate) struct MemberSelection {
    /// For each key whether its members are wanted.
    keys: Vec<bool>,
    /// For each column whether a wanted member refers to it.
    pub(crate) columns: Vec<bool>,
}

impl JsonPart<'_> {
    /// Writes the lines; with a selection, objects have the wanted members only.
    pub(crate) fn decode(
        &self,
        selection: Option<&MemberSelection>,
        limit: u64,
        out: &mut Output<'_>,
    ) -> Result<()> {
        let columns = TokenColumns::of(self.columns.iter().copied());
        let streams = TapeStreams {
            tape: StreamCursor::new("tape", self.tape),
            keys: StreamCursor::new("keyvocab", self.keys),
            rules: StreamCursor::new("rules", self.rules),
        };
        let mut tape = Tape::new(streams, columns, limit)?;
        for &(column, token) in &self.last {
            if let Some(last) = tape.last.get_mut(column) {
                *last = token;
            }
        }
        let mut verbatim = self.verbatim.map(|lines| StreamCursor::new("verbatim", lines).lines());
        let mut joiner = Joiner::default();
        for &flag in self.flags {
            joiner.next(out)?;
            match (flag, &mut verbatim, selection) {
                (0, Some(verbatim), _) => out.put(verbatim.line("verbatim line")?)?,
                (0, None, _) => return Err(too_few("verbatim lines")),
                (_, _, None) => tape.put_value(out)?,
                (_, _, Some(selection)) => tape.put_members(selection, out)?,
            }
        }
        if self.trailing {
            out.byte(b'\n')?;
        }
        if !tape.tape.is_empty() || verbatim.is_some_and(|mut lines| lines.next().is_some()) {
            return Err(too_many());
        }
        match tape.columns.unfinished() {
            Some(_) => Err(too_many()),
            None => Ok(()),
        }
    }
}

fn too_few(what: &'static str) -> Error {
    Error::malformed(what, "are fewer than the lines of the group need")
}

fn too_many() -> Error {
    Error::malformed("line group", "its parts have more values than its lines need")
}

impl Tape<'_> {
    /// Writes a line; if it is an object, with the wanted members only.
    fn put_members(&mut self, selection: &MemberSelection, out: &mut Output<'_>) -> Result<()> {
        let mut ahead = self.tape.clone();
        if ahead.u8("value")? != 1 {
            return self.put_value(out);
        }
        self.tape = ahead;
        let members = self.tape.count(3, "member count")?;
        out.byte(b'{')?;
        let mut is_first = true;
        for _ in 0..members {
            let mut ahead = self.tape.clone();
            let key = ahead.size("key")?;
            if selection.keys.get(key).copied().unwrap_or_default() {
                if !is_first {
                    out.byte(b',')?;
                }
                is_first = false;
                self.put_key(out)?;
                self.put_value(out)?;
            } else {
                self.tape = ahead;
                self.skip_value(selection)?;
            }
        }
        out.byte(b'}')
    }

    /// Moves over a value, and over its tokens in columns that other members need.
    fn skip_value(&mut self, selection: &MemberSelection) -> Result<()> {
        let (columns, last) = (&mut self.columns, &mut self.last);
        walk(&mut self.tape, &mut self.open, |step| {
            if let Step::Leaf(column) = step
                && selection.columns.get(column).copied().unwrap_or_default()
            {
                let token = columns.next_of(column)?;
                if let Some(last) = last.get_mut(column) {
                    *last = bare(token);
                }
            }
            Ok(())
        })
    }
}

/// A scalar on a tape.
enum Step {
    /// A token of a column.
    Leaf(usize),
    /// A string that a rule builds.
    Rule(usize),
}

/// Moves over one value and reports its scalars.
fn walk(
    tape: &mut StreamCursor<'_>,
    open: &mut Vec<Nest>,
    mut each: impl FnMut(Step) -> Result<()>,
) -> Result<()> {
    open.clear();
    loop {
        let start = tape.offset();
        match tape.u8("value")? {
            0 => each(Step::Leaf(tape.size("column")?))?,
            3 => each(Step::Rule(tape.size("rule")?))?,
            tag @ (1 | 2) => {
                let object = tag == 1;
                let left = tape.count(if object { 3 } else { 2 }, "element count")?;
                if open.len() >= MAX_DEPTH {
                    let why = format!("more than {MAX_DEPTH} objects and arrays are open");
                    return Err(tape.malformed_at(start, "value", why));
                }
                open.push(Nest { object, left });
            }
            other => {
                let why = format!("{other} is not 0, 1, 2 or 3");
                return Err(tape.malformed_at(start, "value", why));
            }
        }
        loop {
            let Some(nest) = open.last_mut() else { return Ok(()) };
            if let Some(left) = nest.left.checked_sub(1) {
                nest.left = left;
                if nest.object {
                    tape.size("key")?;
                }
                break;
            }
            open.pop();
        }
    }
}

/// Finds the columns that the wanted members of the lines of a tape refer to.
///
/// `is_wanted` says for each key whether its members are wanted.
pub(crate) fn reached_columns(
    tape: &[u8],
    rules: &[u8],
    columns: usize,
    is_wanted: Vec<bool>,
) -> Result<MemberSelection> {
    let rules = self::rules(StreamCursor::new("rules", rules), columns)?;
    let mut selection = MemberSelection { keys: is_wanted, columns: vec![false; columns] };
    let MemberSelection { keys, columns } = &mut selection;
    let mut tape = StreamCursor::new("tape", tape);
    let mut open = Vec::new();
    let mut mark = |column: usize| {
        if let Some(is_reached) = columns.get_mut(column) {
            *is_reached = true;
        }
    };
    let mut reach = |step: Step| {
        match step {
            Step::Leaf(column) => mark(column),
            Step::Rule(rule) => {
                let rule = rules.get(rule).map(|rule| rule.rest.as_slice()).unwrap_or_default();
                rule.iter().for_each(|&(source, _)| mark(source));
            }
        }
        Ok(())
    };
    while !tape.is_empty() {
        let mut ahead = tape.clone();
        if ahead.u8("value")? != 1 {
            walk(&mut tape, &mut open, &mut reach)?;
            continue;
        }
        tape = ahead;
        for _ in 0..tape.count(3, "member count")? {
            let key = tape.size("key")?;
            if keys.get(key).copied().unwrap_or_default() {
                walk(&mut tape, &mut open, &mut reach)?;
            } else {
                walk(&mut tape, &mut open, |_| Ok(()))?;
            }
        }
    }
    Ok(selection)
}

/// Returns the columns that rules refer to, in ascending order.
pub(crate) fn rule_sources(rules: &[u8], columns: usize) -> Result<Vec<usize>> {
    let rules = self::rules(StreamCursor::new("rules", rules), columns)?;
    let mut sources: Vec<usize> =
        rules.iter().flat_map(|rule| &rule.rest).map(|&(source, _)| source).collect();
    sources.sort_unstable();
    sources.dedup();
    Ok(sources)
}

/// Counts the tokens of each column that the lines of a tape take, one line after the other.
pub(crate) struct TapeCounter<'a> {
    tape: StreamCursor<'a>,
    open: Vec<Nest>,
    /// The tokens so far.
    pub(crate) tokens: Vec<u64>,
}

impl<'a> TapeCounter<'a> {
    /// Starts before the first line of a tape.
    pub(crate) fn new(tape: &'a [u8], columns: usize) -> Self {
        let tape = StreamCursor::new("tape", tape);
        Self { tape, open: Vec::new(), tokens: vec![0; columns] }
    }

    /// Counts the next line.
    pub(crate) fn next_line(&mut self) -> Result<()> {
        let tokens = &mut self.tokens;
        walk(&mut self.tape, &mut self.open, |step| {
            if let Step::Leaf(column) = step
                && let Some(count) = tokens.get_mut(column)
            {
                *count = count.saturating_add(1);
            }
            Ok(())
        })
    }

    /// Returns the bytes of the tape so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.tape.offset()
    }
}

/// Returns a tape whose columns have other numbers: column `c` becomes `numbers[c]`.
pub(crate) fn renumbered_tape(tape: &[u8], numbers: &[u64]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(tape.len());
    let mut cursor = StreamCursor::new("tape", tape);
    let mut open: Vec<Nest> = Vec::new();
    while !cursor.is_empty() {
        let tag = cursor.u8("value")?;
        out.push(tag);
        match tag {
            0 => {
                let column = cursor.size("column")?;
                put::uv(&mut out, numbers.get(column).copied().unwrap_or_default());
            }
            1 | 2 => {
                let left = cursor.size("element count")?;
                put::uv(&mut out, left as u64);
                open.push(Nest { object: tag == 1, left });
            }
            _ => put::uv(&mut out, cursor.uv("rule")?),
        }
        while let Some(nest) = open.last_mut() {
            if let Some(left) = nest.left.checked_sub(1) {
                nest.left = left;
                if nest.object {
                    put::uv(&mut out, cursor.uv("key")?);
                }
                break;
            }
            open.pop();
        }
    }
    Ok(out)
}

/// Returns rules whose columns have other numbers.
pub(crate) fn renumbered_rules(rules: &[u8], numbers: &[u64]) -> Result<Vec<u8>> {
    let rules = self::rules(StreamCursor::new("rules", rules), numbers.len())?;
    let mut out = Vec::new();
    put::uv(&mut out, rules.len() as u64);
    for rule in rules {
        put::uv(&mut out, (rule.rest.len() as u64).saturating_add(1));
        put::lp(&mut out, rule.first);
        rule.rest.iter().for_each(|(_, literal)| put::lp(&mut out, literal));
        put::uv(&mut out, rule.rest.len() as u64);
        for (source, _) in rule.rest {
            put::uv(&mut out, numbers.get(source).copied().unwrap_or_default());
        }
    }
    Ok(out)
}
