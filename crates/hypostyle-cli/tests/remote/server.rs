//! An HTTP server that serves ranges, counts requests, and fails on demand.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// A server on the loopback interface. Its threads end with the process.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, ServedFile>,
    redirects: BTreeMap<String, String>,
    requests: Vec<Request>,
    /// What the next requests meet with.
    faults: VecDeque<Fault>,
    manners: Manners,
    /// Requests that are being answered, and the most of these at a time.
    in_flight: usize,
    most_in_flight: usize,
}

#[derive(Clone)]
struct ServedFile {
    content: Arc<Vec<u8>>,
    tag: Option<String>,
    /// The file after so many requests.
    next: Option<(usize, Arc<Vec<u8>>, String)>,
}

/// How a server answers all requests.
#[derive(Clone, Copy, Default)]
pub(crate) struct Manners {
    /// Sends whole files.
    pub(crate) no_ranges: bool,
    /// Takes `bytes=-5` for a mistake.
    pub(crate) no_suffixes: bool,
    /// Says `bytes 0-9/*`.
    pub(crate) hides_size: bool,
    /// Sends the bytes before those of the range.
    pub(crate) shifts: bool,
    /// Sends bodies in chunks, without a length.
    pub(crate) chunks: bool,
    /// Ignores `If-Match`.
    pub(crate) ignores_conditions: bool,
    /// Does not say when a file was modified.
    pub(crate) hides_time: bool,
    /// Waits before each response.
    pub(crate) delay: Duration,
}

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Status(u16),
    /// The connection ends after half of the body.
    HalfBody,
    /// The body in chunks ends well, but too early.
    HalfChunks,
    /// The connection ends before the response.
    Reset,
    /// Nothing comes for this long.
    Stall(Duration),
    /// Nothing comes for this long after half of the body.
    StallBody(Duration),
}

/// A request that was answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) range: Option<String>,
    pub(crate) authorization: Option<String>,
    pub(crate) if_match: Option<String>,
    /// Bytes of the body that was sent.
    pub(crate) bytes: usize,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = Self { address: listener.local_addr().unwrap(), state: Arc::default() };
        let state = server.state.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, state) = (stream.unwrap(), state.clone());
                // A client that disconnects is no failure.
                thread::spawn(move || drop(serve(stream, &state)));
            }
        });
        server
    }

    /// Serves a file at a path such as `/a.csv`, with a tag.
    pub(crate) fn with(self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.put(path, content, Some("\"one\""));
        self
    }

    pub(crate) fn put(&self, path: &str, content: impl Into<Vec<u8>>, tag: Option<&str>) {
        let (content, tag) = (Arc::new(content.into()), tag.map(str::to_owned));
        self.lock().files.insert(path.to_owned(), ServedFile { content, tag, next: None });
    }

    /// Redirects a path to another URL.
    pub(crate) fn redirect(&self, path: &str, url: String) {
        self.lock().redirects.insert(path.to_owned(), url);
    }

    /// Replaces a file after some more requests for it.
    pub(crate) fn replace_after(&self, requests: usize, path: &str, content: &[u8], tag: &str) {
        let next = (requests, Arc::new(content.to_vec()), tag.to_owned());
        self.lock().files.get_mut(path).unwrap().next = Some(next);
    }

    pub(crate) fn set(&self, manners: Manners) {
        self.lock().manners = manners;
    }

    pub(crate) fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        self.lock().faults.extend(faults);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the requests since the last call.
    pub(crate) fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.lock().requests)
    }

    /// Returns the most requests that were answered at the same time.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.lock().most_in_flight
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// Returns the bytes of the bodies of requests.
pub(crate) fn bytes_of(requests: &[Request]) -> usize {
    requests.iter().map(|request| request.bytes).sum()
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut out = stream;
    loop {
        let mut request = Request::default();
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        request.method = words.next().unwrap_or_default();
        request.target = words.next().unwrap_or_default();
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            let value = Some(value.trim().to_owned());
            match name.to_ascii_lowercase().as_str() {
                "range" => request.range = value,
                "authorization" => request.authorization = value,
                "if-match" => request.if_match = value,
                _ => {}
            }
        }
        {
            let mut state = state.lock().unwrap();
            state.in_flight += 1;
            state.most_in_flight = state.most_in_flight.max(state.in_flight);
        }
        let answered = answer(request, &mut out, state);
        state.lock().unwrap().in_flight -= 1;
        if !answered? {
            return Ok(());
        }
    }
}

/// Answers a request, and returns whether the connection goes on.
fn answer(mut request: Request, out: &mut TcpStream, state: &Mutex<State>) -> io::Result<bool> {
    let path = request.target.split('?').next().unwrap_or_default().to_owned();
    let (file, fault, manners) = {
        let mut state = state.lock().unwrap();
        let fault = state.faults.pop_front();
        let file = state.files.get_mut(&path).map(|file| {
            match file.next.take() {
                Some((0, content, tag)) => (file.content, file.tag) = (content, Some(tag)),
                Some((left, content, tag)) => file.next = Some((left - 1, content, tag)),
                None => {}
            }
            file.clone()
        });
        (file, fault, state.manners)
    };
    thread::sleep(manners.delay);
    let note = |request: Request| state.lock().unwrap().requests.push(request);
    match fault {
        Some(Fault::Status(status)) => {
            note(request);
            write!(out, "HTTP/1.1 {status} Injected\r\nContent-Length: 4\r\n\r\noops")?;
            return Ok(true);
        }
        Some(Fault::Reset) => {
            note(request);
            return Ok(false);
        }
        Some(Fault::Stall(time)) => thread::sleep(time),
        _ => {}
    }
    let redirect = state.lock().unwrap().redirects.get(&path).cloned();
    if let Some(url) = redirect {
        note(request);
        write!(out, "HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n")?;
        return Ok(true);
    }
    let Some(ServedFile { content, tag, .. }) = file else {
        note(request);
        write!(out, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
        return Ok(true);
    };
    if request.if_match.is_some() && request.if_match != tag && !manners.ignores_conditions {
        note(request);
        write!(out, "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n")?;
        return Ok(true);
    }
    let size = content.len();
    let range = request.range.clone().filter(|_| !manners.no_ranges);
    let mut range = match range.as_deref().map(|range| within(range, size, manners)) {
        None => None,
        Some(Some(range)) => Some(range),
        Some(None) => {
            note(request);
            let place = format!("Content-Range: bytes */{size}\r\n");
            write!(out, "HTTP/1.1 416 No\r\n{place}Content-Length: 0\r\n\r\n")?;
            return Ok(true);
        }
    };
    let mut headers = String::new();
    if !manners.hides_time {
        headers += "Last-Modified: Wed, 01 Jan 2025 00:00:00 GMT\r\n";
    }
    if let Some(tag) = &tag {
        headers += &format!("ETag: {tag}\r\n");
    }
    if manners.shifts {
        range = range.map(|(start, end)| (start.saturating_sub(1), end - 1));
    }
    if let Some((start, end)) = range {
        let size = if manners.hides_size { "*".to_owned() } else { size.to_string() };
        headers += &format!("Content-Range: bytes {start}-{}/{size}\r\n", end - 1);
    }
    let status = if range.is_some() { "206 Partial Content" } else { "200 OK" };
    let (start, end) = range.unwrap_or((0, size));
    let body = if request.method == "HEAD" { &[] } else { &content[start..end] };
    let sent = match fault {
        Some(Fault::HalfBody | Fault::StallBody(_) | Fault::HalfChunks) => &body[..body.len() / 2],
        _ => body,
    };
    request.bytes = sent.len();
    note(request);
    let has_chunks =
        (manners.chunks || matches!(fault, Some(Fault::HalfChunks))) && !body.is_empty();
    if has_chunks {
        write!(out, "HTTP/1.1 {status}\r\n{headers}Transfer-Encoding: chunked\r\n\r\n")?;
        for chunk in sent.chunks(10_000) {
            write!(out, "{:x}\r\n", chunk.len())?;
            out.write_all(chunk)?;
            out.write_all(b"\r\n")?;
        }
        out.write_all(b"0\r\n\r\n")?;
        return Ok(true);
    }
    write!(out, "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", end - start)?;
    out.write_all(sent)?;
    if let Some(Fault::StallBody(time)) = fault {
        thread::sleep(time);
        out.write_all(&body[sent.len()..])?;
    }
    Ok(!matches!(fault, Some(Fault::HalfBody)))
}

/// Returns the bytes that a range has of a file.
fn within(range: &str, size: usize, manners: Manners) -> Option<(usize, usize)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    if first.is_empty() {
        let count: usize = last.parse().ok().filter(|_| !manners.no_suffixes && size > 0)?;
        return Some((size.saturating_sub(count), size));
    }
    let first: usize = first.parse().ok()?;
    let end = last.parse::<usize>().map_or(size, |last| size.min(last + 1));
    (first < end).then_some((first, end))
}
