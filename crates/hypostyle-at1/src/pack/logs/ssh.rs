//! Encodes the lines of sshd in an auth log with codec ssh (§7.2).

use crate::codec::Codec;
use crate::codecs::ssh::HOLE;
use crate::pack::context::EncodeContext;
use crate::pack::line_groups::LineStreams;
use crate::pack::lines::split_final_newline;
use crate::pack::logs::log_templates::{LogTemplates, ValueRange};
use crate::pack::newline_list::NewlineList;
use crate::pack::stream_set::Stream;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Separates the values of a line.
const VALUE_SEPARATOR: u8 = 0;

/// Lines at the start by which content is judged.
const SAMPLE_LINES: usize = 200;

/// The fields of a line that sshd wrote.
struct SshdLine<'a> {
    month: &'a [u8],
    day: &'a [u8],
    time: &'a [u8],
    host: &'a [u8],
    pid: u64,
    message: &'a [u8],
}

impl<'a> SshdLine<'a> {
    /// Parses a line; returns `None` if sshd did not write it, or if the decoder would print
    /// its fields differently.
    fn parse(line: &'a [u8]) -> Option<Self> {
        let (month, rest) = split_word(line)?;
        // Spaces pad a day of one digit and belong to it.
        let padding = rest.iter().take_while(|&&byte| byte == b' ').count();
        let (day, _) = split_word(rest.get(padding..)?)?;
        let (day, rest) = rest.split_at_checked(padding + day.len())?;
        let (time, rest) = split_word(rest.strip_prefix(b" ")?)?;
        let (host, rest) = split_word(rest)?;
        let rest = rest.strip_prefix(b"sshd[")?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = rest.split_at_checked(digits)?;
        let pid: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        // The process is stored as a number, which loses leading zeros.
        if digits.len() > 1 && digits.starts_with(b"0") {
            return None;
        }
        Some(Self { month, day, time, host, pid, message: rest.strip_prefix(b"]: ")? })
    }
}

/// Splits a text at its first space.
fn split_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b' ', text)?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// Returns whether sshd wrote most lines at the start.
pub(in crate::pack) fn suits(content: &[u8]) -> bool {
    let lines = || content.split(|&byte| byte == b'\n').take(SAMPLE_LINES);
    lines().filter(|line| SshdLine::parse(line).is_some()).count() * 2 > lines().count()
}

/// Encodes an auth log; returns `None` if sshd wrote none of its lines.
pub(in crate::pack) fn streams(
    text: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let (lines, trailing) = split_final_newline(text);
    let lines = || lines.split(|&byte| byte == b'\n').map(|line| (line, SshdLine::parse(line)));
    // A message that contains the marker of holes has no template: a byte 0 sees to that.
    let has_marker = |message: &[u8]| memchr::memmem::find(message, HOLE).is_some();
    let messages = lines().filter_map(|(_, line)| Some(line?.message));
    let messages = messages.map(|message| if has_marker(message) { b"\0" } else { message });
    let found = LogTemplates::find(messages);
    if found.ids.is_empty() {
        return Ok(None);
    }
    let [mut months, mut days, mut times, mut hosts] = <[NewlineList; 4]>::default();
    let [mut vars, mut raw_messages, mut verbatim] = <[NewlineList; 3]>::default();
    let [mut flags, mut pids, mut template_ids] = <[Vec<u8>; 3]>::default();
    let mut values = Vec::new();
    let mut ids = found.ids.iter();
    for (text, line) in lines() {
        let Some(line) = line else {
            flags.push(0);
            verbatim.push(text);
            continue;
        };
        months.push(line.month);
        days.push(line.day);
        times.push(line.time);
        hosts.push(line.host);
        put::uv(&mut pids, line.pid);
        let Some((id, template)) = found.get(ids.next().copied().flatten()) else {
            flags.push(1);
            raw_messages.push(line.message);
            continue;
        };
        flags.push(2);
        put::uv(&mut template_ids, id.into());
        template.values(line.message, &mut values);
        let value = |&(from, to): &ValueRange| line.message.get(from..to).unwrap_or_default();
        vars.push(&values.iter().map(value).collect::<Vec<_>>().join(&VALUE_SEPARATOR));
    }
    let templates: Vec<Vec<u8>> = found.templates.iter().map(|it| it.literals.join(HOLE)).collect();
    let mut meta = Vec::new();
    put::uv(&mut meta, flags.len() as u64);
    meta.push(trailing.into());
    let streams = vec![
        ("meta", meta),
        ("flags", flags),
        ("months", months.bytes),
        ("days", days.bytes),
        ("times", times.bytes),
        ("hosts", hosts.bytes),
        ("pids", pids),
        ("template_ids", template_ids),
        ("templates", templates.join(&b'\n')),
        ("vars", vars.bytes),
        ("rawmsgs", raw_messages.bytes),
        ("verbatim", verbatim.bytes),
    ];
    LineStreams::new(Codec::Ssh, streams).encode(text, context).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_print_unchanged_are_parsed() {
        for (line, want) in [
            ("Dec 10 06:55:46 LabSZ sshd[24200]: Invalid user x", true),
            ("Dec  9 06:55:46 LabSZ sshd[0]: ", true),
            ("    sshd[1]: ", false),
            ("Dec 10 06:55:46 LabSZ sshd[024]: x", false),
            ("Dec 10 06:55:46 LabSZ sshd[]: x", false),
            ("Dec 10 06:55:46 LabSZ sshd[99999999999999999999]: x", false),
            ("Dec 10 06:55:46 LabSZ sshd[1] x", false),
            ("Dec 10 06:55:46 LabSZ CRON[1]: x", false),
            ("", false),
        ] {
            let parsed = SshdLine::parse(line.as_bytes());
            assert_eq!(parsed.is_some(), want, "{line}");
            if let Some(it) = parsed {
                let heads = [it.month, it.day, it.time, it.host];
                let mut printed = heads.join(&b' ');
                printed.extend_from_slice(format!(" sshd[{}]: ", it.pid).as_bytes());
                printed.extend_from_slice(it.message);
                assert_eq!(printed, line.as_bytes());
            }
        }
    }
}
