//! Lines of sshd in an auth log (§7.2).

use crate::codecs::ssh::HOLE;
use crate::pack::context::EncodeContext;
use crate::pack::lines::ended;
use crate::pack::logs::log_templates::Mined;
use crate::pack::newline_list::NewlineList;
use crate::pack::stream_set::{Body, Stream};
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// What is between the values of a line.
const BETWEEN: u8 = 0;

/// Lines at the start of content by which it is judged.
const LOOKED_AT: usize = 200;

/// A line taken apart.
struct Line<'a> {
    month: &'a [u8],
    day: &'a [u8],
    time: &'a [u8],
    host: &'a [u8],
    pid: u64,
    message: &'a [u8],
}

impl<'a> Line<'a> {
    /// `None` if it is no line of sshd, or would not be printed as it is.
    fn parse(line: &'a [u8]) -> Option<Self> {
        let (month, rest) = word(line)?;
        // A day of one digit has a space before it.
        let padding = rest.iter().take_while(|&&byte| byte == b' ').count();
        let (day, _) = word(rest.get(padding..)?)?;
        let (day, rest) = rest.split_at_checked(padding + day.len())?;
        let (time, rest) = word(rest.strip_prefix(b" ")?)?;
        let (host, rest) = word(rest)?;
        let rest = rest.strip_prefix(b"sshd[")?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = rest.split_at_checked(digits)?;
        let pid: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        // A zero before it would not come back.
        if digits.len() > 1 && digits.starts_with(b"0") {
            return None;
        }
        Some(Self { month, day, time, host, pid, message: rest.strip_prefix(b"]: ")? })
    }
}

/// What stands before the next space, and what after it.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b' ', text)?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// Whether most lines at the start are those of sshd.
pub(in crate::pack) fn suits(content: &[u8]) -> bool {
    let lines = || content.split(|&byte| byte == b'\n').take(LOOKED_AT);
    lines().filter(|line| Line::parse(line).is_some()).count() * 2 > lines().count()
}

/// The streams of an auth log; `None` if sshd wrote none of its lines.
pub(in crate::pack) fn streams(
    text: &[u8],
    job: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let (lines, trailing) = ended(text);
    let lines = || lines.split(|&byte| byte == b'\n').map(|line| (line, Line::parse(line)));
    // A message that holds what marks a hole has no template.
    let plain = |message: &[u8]| memchr::memmem::find(message, HOLE).is_none();
    let mined = lines().filter_map(|(_, line)| Some(line?.message));
    let mined = Mined::new(mined.map(|message| if plain(message) { message } else { b"\0" }));
    if mined.ids.is_empty() {
        return Ok(None);
    }
    let [mut months, mut days, mut times, mut hosts] = <[NewlineList; 4]>::default();
    let [mut vars, mut messages, mut verbatim] = <[NewlineList; 3]>::default();
    let [mut flags, mut pids, mut tids] = <[Vec<u8>; 3]>::default();
    let mut holes = Vec::new();
    let mut ids = mined.ids.iter();
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
        let id = ids.next().copied().flatten();
        let template = id.and_then(|id| mined.templates.get(id as usize));
        let (Some(id), Some(template)) = (id, template) else {
            flags.push(1);
            messages.push(line.message);
            continue;
        };
        flags.push(2);
        put::uv(&mut tids, id.into());
        template.holes(line.message, &mut holes);
        let value = |&(from, to): &(usize, usize)| line.message.get(from..to).unwrap_or_default();
        vars.push(&holes.iter().map(value).collect::<Vec<_>>().join(&BETWEEN));
    }
    let templates: Vec<Vec<u8>> = mined.templates.iter().map(|it| it.parts.join(HOLE)).collect();
    let mut meta = Vec::new();
    put::uv(&mut meta, flags.len() as u64);
    meta.push(trailing.into());
    let streams = [
        ("meta", meta),
        ("flags", flags),
        ("months", months.bytes),
        ("days", days.bytes),
        ("times", times.bytes),
        ("hosts", hosts.bytes),
        ("pids", pids),
        ("template_ids", tids),
        ("templates", templates.join(&b'\n')),
        ("vars", vars.bytes),
        ("rawmsgs", messages.bytes),
        ("verbatim", verbatim.bytes),
    ];
    Body::all(streams, job).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_are_printed_as_they_are_are_taken_apart() {
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
            let parsed = Line::parse(line.as_bytes());
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
