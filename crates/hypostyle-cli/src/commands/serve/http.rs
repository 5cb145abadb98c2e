//! A small HTTP server for files: `GET` and `HEAD`, with byte ranges.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::time::Duration;

use hypostyle::{ByteSource, FileSource};

/// The longest line of a request, and the most lines.
const MAX_LINE_BYTES: u64 = 16 << 10;
const MAX_LINES: usize = 200;

/// How long a connection may wait for the next request.
const IDLE: Duration = Duration::from_secs(60);

/// How long a refused client may take to close.
const LINGER: Duration = Duration::from_secs(1);

/// Bytes that are read from a file at once.
const PIECE_BYTES: u64 = 1 << 20;

/// What a path of the server has.
pub(super) enum Content {
    /// Bytes in memory, and their type.
    Page(Vec<u8>, &'static str),
    /// A file, and its type.
    File(FileSource, &'static str),
    /// Another path of the server.
    Elsewhere(String),
}

impl Content {
    /// Opens a file.
    pub(super) fn file(file: File, kind: &'static str) -> io::Result<Self> {
        Ok(Self::File(FileSource::try_new(file)?, kind))
    }
}

/// A request without a body.
struct Request {
    is_head: bool,
    path: String,
    host: String,
    range: Option<String>,
    closes: bool,
}

/// Answers the requests of a connection until it is closed.
///
/// `find` returns the content of a path, `None` for a path that was not named. Only requests to
/// one of `hosts` are answered: a page of another site cannot make a browser ask under its name.
pub(super) fn answer(
    stream: TcpStream,
    hosts: &[String],
    find: &dyn Fn(&str) -> Option<io::Result<Content>>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_nodelay(true)?;
    let mut input = BufReader::new(stream.try_clone()?);
    let mut out = stream;
    loop {
        let request = match read_request(&mut input) {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(()),
            Err(err) if err.kind() == io::ErrorKind::InvalidData => {
                return refuse(&mut out, "400 Bad Request");
            }
            Err(err) => return Err(err),
        };
        if !hosts.contains(&request.host) {
            return refuse(&mut out, "403 Forbidden");
        }
        match find(&request.path) {
            None => respond(&mut out, &request, "404 Not Found", "", b"not found\n")?,
            Some(Err(_)) => respond(&mut out, &request, "500 Internal Server Error", "", b"")?,
            Some(Ok(Content::Elsewhere(path))) => {
                respond(&mut out, &request, "302 Found", &format!("Location: {path}\r\n"), b"")?;
            }
            Some(Ok(Content::Page(bytes, kind))) => {
                let kind = format!("Content-Type: {kind}\r\n");
                respond(&mut out, &request, "200 OK", &kind, &bytes)?;
            }
            Some(Ok(Content::File(file, kind))) => send_file(&mut out, &request, &file, kind)?,
        }
        if request.closes {
            return Ok(());
        }
    }
}

fn refuse(out: &mut TcpStream, status: &str) -> io::Result<()> {
    write!(out, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    // Closing with input unread resets the connection, and the client may lose the answer.
    out.shutdown(Shutdown::Write)?;
    out.set_read_timeout(Some(LINGER))?;
    let _ = io::copy(&mut out.take(MAX_LINE_BYTES), &mut io::sink());
    Ok(())
}

fn respond(
    out: &mut TcpStream,
    request: &Request,
    status: &str,
    headers: &str,
    body: &[u8],
) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nCache-Control: no-store\r\n\r\n",
        body.len()
    );
    out.write_all(head.as_bytes())?;
    if request.is_head { Ok(()) } else { out.write_all(body) }
}

fn send_file(
    out: &mut TcpStream,
    request: &Request,
    file: &FileSource,
    kind: &str,
) -> io::Result<()> {
    let size = file.size();
    let headers = format!("Content-Type: {kind}\r\nAccept-Ranges: bytes\r\n");
    let (status, range, place) = match request.range.as_deref().map(|text| parse_range(text, size))
    {
        None => ("200 OK", 0..size, String::new()),
        Some(Some(range)) => {
            let place =
                format!("Content-Range: bytes {}-{}/{size}\r\n", range.start, range.end - 1);
            ("206 Partial Content", range, place)
        }
        Some(None) => {
            let place = format!("Content-Range: bytes */{size}\r\n");
            return respond(out, request, "416 Range Not Satisfiable", &place, b"");
        }
    };
    let len = range.end - range.start;
    write!(out, "HTTP/1.1 {status}\r\n{headers}{place}Content-Length: {len}\r\n\r\n")?;
    if request.is_head {
        return Ok(());
    }
    let mut at = range.start;
    while at < range.end {
        let len = (range.end - at).min(PIECE_BYTES);
        let piece = file.read(at, usize::try_from(len).unwrap_or_default())?;
        out.write_all(&piece)?;
        at += len;
    }
    Ok(())
}

/// Parses one range of bytes; `None` if the file does not have it.
fn parse_range(text: &str, size: u64) -> Option<Range<u64>> {
    let (first, last) = text.trim().strip_prefix("bytes=")?.split_once('-')?;
    let range = match (first.trim(), last.trim()) {
        ("", last) => size.saturating_sub(last.parse().ok()?)..size,
        (first, "") => first.parse().ok()?..size,
        (first, last) => {
            let end = last.parse::<u64>().ok()?.checked_add(1)?;
            first.parse().ok()?..end.min(size)
        }
    };
    (range.start < range.end).then_some(range)
}

/// Reads the head of a request; `None` at the end of the connection.
fn read_request(input: &mut impl BufRead) -> io::Result<Option<Request>> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let line = read_line(input)?;
    if line.is_empty() {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let is_head = match words.next() {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(invalid()),
    };
    let target = words.next().ok_or_else(invalid)?;
    let path = target.split(['?', '#']).next().unwrap_or_default().to_owned();
    let mut closes = words.next() != Some("HTTP/1.1");
    let (mut host, mut range) = (String::new(), None);
    for _ in 0..MAX_LINES {
        let line = read_line(input)?;
        if line.is_empty() {
            return Ok(Some(Request { is_head, path, host, range, closes }));
        }
        let Some((name, value)) = line.split_once(':') else { return Err(invalid()) };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "host" => host = value.to_owned(),
            "range" => range = Some(value.to_owned()),
            "connection" => closes |= value.eq_ignore_ascii_case("close"),
            // A request with a body is not one for a file.
            "content-length" if value != "0" => return Err(invalid()),
            "transfer-encoding" => return Err(invalid()),
            _ => {}
        }
    }
    Err(invalid())
}

/// Reads a line without its end; an empty one at the end of the input.
fn read_line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    let read = input.take(MAX_LINE_BYTES).read_line(&mut line)?;
    if read > 0 && !line.ends_with('\n') {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed_and_cut_at_the_end() {
        assert_eq!(parse_range("bytes=0-9", 100), Some(0..10));
        assert_eq!(parse_range("bytes=90-200", 100), Some(90..100));
        assert_eq!(parse_range("bytes=-5", 100), Some(95..100));
        assert_eq!(parse_range("bytes=7-", 100), Some(7..100));
        for bad in ["bytes=100-", "bytes=9-8", "lines=0-1", "bytes=0-1,3-4", "bytes=-0"] {
            assert_eq!(parse_range(bad, 100), None, "{bad}");
        }
    }
}
